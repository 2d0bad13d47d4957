use pyo3::exceptions::PyRuntimeError;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyIterator, PyList};
use tinygram_tables::arrow_array::cast::AsArray;
use tinygram_tables::arrow_array::ffi::FFI_ArrowSchema;
use tinygram_tables::arrow_array::ffi_stream::FFI_ArrowArrayStream;
use tinygram_tables::arrow_array::types::{Float64Type, Int64Type, TimestampMicrosecondType};
use tinygram_tables::arrow_array::{Array, RecordBatch, RecordBatchIterator};
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

    /// The rows, each a dictionary, or the first so many: for who has neither pyarrow nor Polars.
    #[pyo3(signature = (most=None))]
    fn rows<'py>(&self, py: Python<'py>, most: Option<usize>) -> PyResult<Bound<'py, PyList>> {
        let names = self.column_names();
        let rows = PyList::empty(py);
        for at in 0..self.num_rows().min(most.unwrap_or(usize::MAX)) {
            let row = PyDict::new(py);
            for (name, column) in names.iter().zip(self.batch.columns()) {
                row.set_item(name, value(py, column, at)?)?;
            }
            rows.append(row)?;
        }
        Ok(rows)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.rows(py, None)?.try_iter()
    }

    /// The first rows as text.
    fn __str__(slf: Bound<'_, Self>) -> PyResult<String> {
        let shown = slf.py().import("tinygram._shown")?;
        shown.call_method1("text", (slf,))?.extract()
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

/// Returns one cell as Python's own: text, a number, a truth value, a time with its zone, a list, or None.
fn value<'py>(py: Python<'py>, column: &dyn Array, at: usize) -> PyResult<Bound<'py, PyAny>> {
    if column.is_null(at) {
        return Ok(py.None().into_bound(py));
    }
    if let Some(texts) = column.as_string_opt::<i32>() {
        return texts.value(at).into_bound_py_any(py);
    }
    if let Some(flags) = column.as_boolean_opt() {
        return flags.value(at).into_bound_py_any(py);
    }
    if let Some(numbers) = column.as_primitive_opt::<Int64Type>() {
        return numbers.value(at).into_bound_py_any(py);
    }
    if let Some(numbers) = column.as_primitive_opt::<Float64Type>() {
        return numbers.value(at).into_bound_py_any(py);
    }
    if let Some(times) = column.as_primitive_opt::<TimestampMicrosecondType>() {
        let datetime = py.import("datetime")?;
        let zone = datetime.getattr("timezone")?.getattr("utc")?;
        let epoch = datetime
            .getattr("datetime")?
            .call_method1("fromtimestamp", (0, zone))?;
        let since = datetime.call_method1("timedelta", (0, 0, times.value(at)))?;
        return epoch.add(since);
    }
    let lists = column.as_list::<i32>().value(at);
    let items: PyResult<Vec<_>> = (0..lists.len())
        .map(|item| value(py, &lists, item))
        .collect();
    Ok(PyList::new(py, items?)?.into_any())
}
