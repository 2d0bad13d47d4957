//! What Python gives to read: bytes, a path, or something that opens.

use std::fs::File;
use std::io::{self, Cursor, Read};

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use tinygram::embedded::Given;

/// Bytes are read where they stand, a path without the interpreter; anything else is called, and what it
/// returns is read and closed.
pub(crate) fn given(py: Python<'_>, name: String, source: Py<PyAny>) -> Given {
    let bytes = source.extract::<PyBackedBytes>(py).ok();
    let path = source.extract::<String>(py).ok();
    Given {
        name,
        open: Box::new(move || {
            Ok(match (bytes, path) {
                (Some(bytes), _) => Box::new(Cursor::new(bytes)),
                (None, Some(path)) => Box::new(File::open(path)?),
                (None, None) => Box::new(Opened::of(&source)?),
            })
        }),
    }
}

/// An open file of Python's.
struct Opened {
    file: Py<PyAny>,
    chunk: Option<PyBackedBytes>,
    used: usize,
}

impl Opened {
    fn of(open: &Py<PyAny>) -> io::Result<Self> {
        let file = Python::attach(|py| open.call0(py).map_err(|error| failed(py, &error)))?;
        Ok(Self {
            file,
            chunk: None,
            used: 0,
        })
    }
}

impl Read for Opened {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = self.chunk.as_ref().map_or(0, |chunk| chunk.len() - self.used);
        if left == 0 {
            let chunk = Python::attach(|py| {
                let read = self.file.call_method1(py, "read", (CHUNK_BYTES,));
                let chunk = read.and_then(|chunk| Ok(chunk.extract::<PyBackedBytes>(py)?));
                chunk.map_err(|error| failed(py, &error))
            })?;
            (self.chunk, self.used) = (Some(chunk), 0);
        }
        let Some(chunk) = &self.chunk else {
            return Ok(0);
        };
        let count = into.len().min(chunk.len() - self.used);
        into[..count].copy_from_slice(&chunk[self.used..self.used + count]);
        self.used += count;
        Ok(count)
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        // Nothing was written: what closing says does not matter.
        Python::attach(|py| {
            let _ = self.file.call_method0(py, "close");
        });
    }
}

/// An exception as an error of reading, of the same kind.
fn failed(py: Python<'_>, error: &PyErr) -> io::Error {
    use pyo3::exceptions::{PyFileNotFoundError, PyPermissionError};
    let kind = if error.is_instance_of::<PyFileNotFoundError>(py) {
        io::ErrorKind::NotFound
    } else if error.is_instance_of::<PyPermissionError>(py) {
        io::ErrorKind::PermissionDenied
    } else {
        io::ErrorKind::Other
    };
    io::Error::new(kind, error.to_string())
}

/// Asked for at a time: the interpreter's lock is taken once for so many.
const CHUNK_BYTES: usize = 1 << 20;
