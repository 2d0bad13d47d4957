//! A record batch as a file's content.

use std::error::Error;

use arrow_ipc::writer::FileWriter;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

use crate::Encoding;
use crate::batch::batch;
use crate::rows::Rows;

pub(crate) fn encoded(encoding: Encoding, rows: &Rows) -> Result<Vec<u8>, Box<dyn Error>> {
    let batch = batch(rows);
    let mut file = Vec::new();
    match encoding {
        Encoding::Parquet => {
            let schema = KeyValue::new("tinygram.schema".to_owned(), rows.table().id());
            let properties = WriterProperties::builder()
                .set_compression(Compression::SNAPPY)
                .set_created_by(concat!("tinygram ", env!("CARGO_PKG_VERSION")).to_owned())
                .set_key_value_metadata(Some(vec![schema]))
                .build();
            let mut writer = ArrowWriter::try_new(&mut file, batch.schema(), Some(properties))?;
            writer.write(&batch)?;
            writer.close()?;
        }
        Encoding::Arrow => {
            let mut writer = FileWriter::try_new(&mut file, &batch.schema())?;
            writer.write(&batch)?;
            writer.finish()?;
        }
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use arrow_ipc::reader::FileReader;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    use super::*;
    use crate::rows::Value;
    use crate::schemas;

    /// A row for each table, full, and one with nothing where there may be nothing.
    fn rows_of(table: &'static crate::Table) -> Rows {
        use crate::Kind;
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
            let parquet = encoded(Encoding::Parquet, &rows).expect("memory takes it");
            let reader = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(parquet))
                .and_then(ParquetRecordBatchReaderBuilder::build);
            let read: Vec<_> = reader.expect("it is Parquet").map(Result::unwrap).collect();
            assert_eq!(read[0].columns(), batch(&rows).columns(), "{}", table.name);

            let arrow = encoded(Encoding::Arrow, &rows).expect("memory takes it");
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
                    !encoded(encoding, &Rows::of(table))
                        .expect("memory takes it")
                        .is_empty()
                );
            }
        }
    }
}
