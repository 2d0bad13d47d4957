//! Converts rows to an Arrow record batch.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{
    BooleanBuilder, Float64Builder, Int64Builder, ListBuilder, StringBuilder,
    TimestampMicrosecondBuilder,
};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};

use crate::rows::{Rows, Value};
use crate::schema::{Column, Kind, Table};

/// Returns Arrow's schema of a table. The schema's metadata have the key `tinygram.schema`, and
/// each field's metadata have `about`.
#[must_use]
pub fn schema(table: &Table) -> SchemaRef {
    let fields: Vec<_> = table.columns.iter().map(field).collect();
    let metadata = HashMap::from([("tinygram.schema".to_owned(), table.id())]);
    Arc::new(Schema::new(fields).with_metadata(metadata))
}

/// Returns rows as one record batch.
#[must_use]
pub fn batch(rows: &Rows) -> RecordBatch {
    let columns = rows.table().columns.iter().enumerate();
    let arrays = columns.map(|(at, column)| {
        let cells = rows.rows().iter().map(|row| &row[at]);
        array(column.kind, cells)
    });
    let options = RecordBatchOptions::new().with_row_count(Some(rows.rows().len()));
    RecordBatch::try_new_with_options(schema(rows.table()), arrays.collect(), &options)
        .expect("rows are checked against their table when they are taken")
}

fn field(column: &Column) -> Field {
    let list = |item| DataType::List(Arc::new(Field::new("item", item, true)));
    let kind = match column.kind {
        Kind::Text => DataType::Utf8,
        Kind::Bool => DataType::Boolean,
        Kind::Int => DataType::Int64,
        Kind::Float => DataType::Float64,
        Kind::Time => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        Kind::Texts => list(DataType::Utf8),
        Kind::Ints => list(DataType::Int64),
    };
    let about = HashMap::from([("about".to_owned(), column.about.to_owned())]);
    Field::new(column.name, kind, column.nullable).with_metadata(about)
}

/// Appends each cell: its content if it has the column's kind, else null.
macro_rules! filled {
    ($builder:expr, $cells:expr, $kind:path, $content:ident => $append:expr) => {{
        let mut builder = $builder;
        for cell in $cells {
            match cell {
                $kind($content) => $append(&mut builder, $content),
                _ => builder.append_null(),
            }
        }
        Arc::new(builder.finish())
    }};
}

fn array<'a>(kind: Kind, cells: impl Iterator<Item = &'a Value>) -> ArrayRef {
    match kind {
        Kind::Text => filled!(StringBuilder::new(), cells, Value::Text, text =>
            |to: &mut StringBuilder, text| to.append_value(text)),
        Kind::Bool => filled!(BooleanBuilder::new(), cells, Value::Bool, it =>
            |to: &mut BooleanBuilder, it: &bool| to.append_value(*it)),
        Kind::Int => filled!(Int64Builder::new(), cells, Value::Int, number =>
            |to: &mut Int64Builder, number: &i64| to.append_value(*number)),
        Kind::Float => filled!(Float64Builder::new(), cells, Value::Float, number =>
            |to: &mut Float64Builder, number: &f64| to.append_value(*number)),
        Kind::Time => {
            let builder = TimestampMicrosecondBuilder::new().with_timezone("UTC");
            filled!(builder, cells, Value::Time, us =>
                |to: &mut TimestampMicrosecondBuilder, us: &i64| to.append_value(*us))
        }
        Kind::Texts => {
            filled!(ListBuilder::new(StringBuilder::new()), cells, Value::Texts, texts =>
            |to: &mut ListBuilder<StringBuilder>, texts: &Vec<String>| {
                to.append_value(texts.iter().map(Some));
            })
        }
        Kind::Ints => filled!(ListBuilder::new(Int64Builder::new()), cells, Value::Ints, numbers =>
        |to: &mut ListBuilder<Int64Builder>, numbers: &Vec<i64>| {
            to.append_value(numbers.iter().copied().map(Some));
        }),
    }
}
