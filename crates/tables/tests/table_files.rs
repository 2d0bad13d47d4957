//! Writes files of tables and reads them back with the crates that define the formats.
#![cfg(feature = "arrow")]

use arrow_ipc::reader::FileReader;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use tinygram_tables::{Encoding, Kind, Rows, Value, batch, schemas};

/// Returns two rows for a table: a full one, and one with null in every nullable column.
fn rows_of(table: &'static tinygram_tables::Table) -> Rows {
    let mut rows = Rows::of(table);
    for with_all in [true, false] {
        rows.push(table.columns.iter().map(|column| {
            let value = match column.kind {
                _ if column.nullable && !with_all => Value::Null,
                Kind::Text => "ä".into(),
                Kind::Bool => true.into(),
                Kind::Int => 7_u64.into(),
                Kind::Float => 0.5.into(),
                Kind::Time => Value::time_ns(1_700_000_000_123_456_789),
                Kind::Texts => vec!["a".to_owned(), String::new()].into(),
                Kind::Ints => Vec::<u64>::new().into(),
            };
            (column.name, value)
        }));
    }
    rows
}

#[test]
fn every_table_comes_back_from_either_file_as_it_was() {
    for table in schemas::ALL {
        let rows = rows_of(table);
        let parquet = Encoding::Parquet.of(&rows).expect("memory takes it");
        let reader = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(parquet))
            .and_then(ParquetRecordBatchReaderBuilder::build);
        let read: Vec<_> = reader.expect("it is Parquet").map(Result::unwrap).collect();
        assert_eq!(read[0].columns(), batch(&rows).columns(), "{}", table.name);

        let arrow = Encoding::Arrow.of(&rows).expect("memory takes it");
        let reader = FileReader::try_new(std::io::Cursor::new(arrow), None);
        let read: Vec<_> = reader.expect("it is Arrow").map(Result::unwrap).collect();
        assert_eq!(read, [batch(&rows)]);
        let schema = read[0].schema();
        assert_eq!(schema.metadata()["tinygram.schema"], table.id());
    }
}

#[test]
fn a_table_without_rows_is_a_file_with_its_schema() {
    for table in schemas::ALL {
        for encoding in [Encoding::Parquet, Encoding::Arrow] {
            assert!(
                !encoding
                    .of(&Rows::of(table))
                    .expect("memory takes it")
                    .is_empty()
            );
        }
    }
}
