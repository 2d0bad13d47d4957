//! Encodes a record batch as the content of a file.

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
