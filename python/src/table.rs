use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use tinygram_tables::arrow_array::ffi::FFI_ArrowSchema;
use tinygram_tables::arrow_array::ffi_stream::FFI_ArrowArrayStream;
use tinygram_tables::arrow_array::{RecordBatch, RecordBatchIterator};
use tinygram_tables::{Rows, batch};

/// Rows with a schema, for whatever reads Arrow.
#[pyclass(frozen, module = "tinygram")]
pub(crate) struct Table {
    id: String,
    about: &'static str,
    batch: RecordBatch,
}

impl Table {
    pub(crate) fn of(rows: &Rows) -> Self {
        Self {
            id: rows.table().id(),
            about: rows.table().about,
            batch: batch(rows),
        }
    }
}

#[pymethods]
impl Table {
    /// Arrow's PyCapsule protocol. No schema but the table's own is given, whichever is requested.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// The schema alone.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.batch.schema().as_ref())
            .map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// Name and version of the schema, such as `tinygram.findings/1`.
    #[getter]
    fn schema_id(&self) -> &str {
        &self.id
    }

    /// What a row is.
    #[getter]
    fn about(&self) -> &str {
        self.about
    }

    /// The columns, in order.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        let schema = self.batch.schema();
        schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// How many rows there are.
    #[getter]
    fn num_rows(&self) -> usize {
        self.batch.num_rows()
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// The first rows, as notebooks show them.
    fn _repr_html_(slf: Bound<'_, Self>) -> PyResult<String> {
        let shown = slf.py().import("tinygram._shown")?;
        shown.call_method1("html", (slf,))?.extract()
    }

    fn __repr__(&self) -> String {
        format!(
            "<tinygram.Table {}: {} rows x {} columns>",
            self.id,
            self.batch.num_rows(),
            self.batch.num_columns()
        )
    }
}
