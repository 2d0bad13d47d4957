//! What the Python package asks of tinygram: tables by Arrow's C interface, and the command line itself.
//!
//! The work runs on a thread of its own without the interpreter's lock; the thread that asked waits, hears
//! of Ctrl-C, and calls the caller's `progress`.

mod heard;
mod source;
mod table;

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyo3::exceptions::{
    PyFileNotFoundError, PyOSError, PyPermissionError, PyRuntimeError, PyValueError,
};
use pyo3::prelude::*;
use tinygram::embedded::{self, Counted, Error, Given, Listener};
use tinygram_tables::{Rows, schemas};

use heard::Heard;
use source::given;
use table::Table;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Table>()?;
    module.add_function(wrap_pyfunction!(tables, module)?)?;
    module.add_function(wrap_pyfunction!(responses, module)?)?;
    module.add_function(wrap_pyfunction!(prevalence_of, module)?)?;
    module.add_function(wrap_pyfunction!(streams, module)?)?;
    module.add_function(wrap_pyfunction!(empty, module)?)?;
    module.add_function(wrap_pyfunction!(main, module)?)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}

/// A table with its name.
type Named = (&'static str, Table);
/// Tables, and what the command line would have said beside them.
type Answer = (Vec<Named>, Vec<String>);

/// Does what is typed as on the command line, and gives its tables. `sources` are read in place of
/// files: each a name with bytes, or with a function that opens something with `read`.
#[pyfunction]
#[pyo3(signature = (typed, sources, progress=None))]
fn tables(
    py: Python<'_>,
    typed: Vec<String>,
    sources: Vec<(String, Py<PyAny>)>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Answer> {
    let names = sources.iter().map(|(name, _)| name.as_str());
    let own = Own::of(&typed, names);
    let given: Vec<_> = sources
        .into_iter()
        .map(|(name, source)| given(py, name, source))
        .collect();
    listened_to(py, progress, own, move |listener| {
        embedded::tables(&typed, given, listener)
    })
}

/// Counts the responses of one range of a log: the table `responses`.
#[pyfunction]
#[pyo3(signature = (log, offset, source, progress=None))]
fn responses(
    py: Python<'_>,
    log: String,
    offset: u64,
    source: Py<PyAny>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Answer> {
    let own = Own::of(&[], [log.as_str()]);
    let given: Given = given(py, log, source);
    listened_to(py, progress, own, move |listener| {
        embedded::responses(given, offset, listener)
    })
}

/// What `prevalence` says of logs that were counted in parts: the rows of tables `responses`.
#[pyfunction]
#[pyo3(signature = (typed, counted, progress=None))]
fn prevalence_of(
    py: Python<'_>,
    typed: Vec<String>,
    counted: Vec<(String, String, u64, i64)>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Answer> {
    let names = counted.iter().map(|(log, ..)| log.as_str());
    let own = Own::of(&typed, names);
    let counted = counted.into_iter().map(|(log, what, bytes, count)| Counted {
        log,
        what,
        bytes,
        count,
    });
    let counted: Vec<_> = counted.collect();
    listened_to(py, progress, own, move |listener| {
        embedded::prevalence_of(&typed, &counted, listener)
    })
}

/// Which captures of these names belong together, in order: each alone, or the files of one ring buffer.
#[pyfunction]
fn streams(names: Vec<String>) -> Vec<Vec<String>> {
    embedded::streams(&names)
}

/// A table of this name without rows, for its schema.
#[pyfunction]
fn empty(name: &str) -> PyResult<Table> {
    let table = schemas::named(name).ok_or_else(|| {
        let names: Vec<_> = schemas::ALL.iter().map(|table| table.name).collect();
        PyValueError::new_err(format!("no table {name:?} (accepted: {})", names.join(", ")))
    })?;
    Ok(Table::of(&Rows::of(table)))
}

/// The command line; returns its exit code.
#[pyfunction]
fn main(typed: Vec<std::ffi::OsString>) -> u8 {
    tinygram::main(typed)
}

/// Runs `work` on a thread of its own, and gives what came of it.
fn listened_to(
    py: Python<'_>,
    progress: Option<Py<PyAny>>,
    own: Own,
    work: impl FnOnce(Arc<dyn Listener>) -> Result<Vec<Rows>, Error> + Send + 'static,
) -> PyResult<Answer> {
    let heard = Arc::new(Heard::default());
    let listener: Arc<dyn Listener> = heard.clone();
    let (into, done) = channel();
    std::thread::Builder::new()
        .name("tinygram".to_owned())
        .stack_size(STACK_BYTES)
        .spawn(move || into.send(work(listener)))?;
    // Only one thread waits; the lock says so to the compiler.
    let done = Mutex::new(done);
    let waited = |patience: Duration| {
        py.detach(|| {
            let done = done.lock().unwrap_or_else(PoisonError::into_inner);
            done.recv_timeout(patience)
        })
    };
    loop {
        match waited(PATIENCE) {
            Ok(Ok(rows)) => {
                // Work that is done before anybody looked has come somewhere, too.
                heard.report(py, progress.as_ref())?;
                // Each table's rows are let go before the next one's become Arrow data.
                let named = rows.into_iter().map(|rows| (rows.table().name, Table::of(&rows)));
                return Ok((named.collect(), heard.remarks()));
            }
            Ok(Err(error)) => return Err(exception(error, &own)),
            Err(RecvTimeoutError::Timeout) => {
                let told = py.check_signals().and_then(|()| heard.report(py, progress.as_ref()));
                if let Err(wanted) = told {
                    heard.call_off();
                    // The work ends at its next step; what it holds is let go then.
                    let _ = waited(FAREWELL);
                    return Err(wanted);
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err(
                    "tinygram ended unexpectedly; what it said is on standard error",
                ));
            }
        }
    }
}

/// The command line's words, under the type that Python has for them. They speak of arguments.
fn exception(error: Error, own: &Own) -> PyErr {
    use std::io::ErrorKind;
    match error {
        Error::Input(line) => PyValueError::new_err(own.of_arguments(&line)),
        Error::Io(line, error) => match error.kind() {
            ErrorKind::NotFound => PyFileNotFoundError::new_err(line),
            ErrorKind::PermissionDenied => PyPermissionError::new_err(line),
            _ => PyOSError::new_err(line),
        },
        Error::CalledOff => PyRuntimeError::new_err("called off"),
    }
}

/// What the caller wrote: file names and values. They stay as they are, whatever they look like.
struct Own(Vec<String>);

impl Own {
    /// Gathers what is no flag in what is typed, and the names of sources.
    fn of<'a>(typed: &'a [String], names: impl IntoIterator<Item = &'a str>) -> Self {
        let words = typed.iter().filter_map(|word| match word.strip_prefix("--") {
            Some(flag) => flag.split_once('=').map(|(_, value)| value),
            None => Some(word.as_str()),
        });
        let own = words.chain(names).filter(|it| it.contains("--"));
        Self(own.map(str::to_owned).collect())
    }

    /// Returns a line about flags as one about arguments.
    fn of_arguments(&self, line: &str) -> String {
        let first = self.0.iter().filter_map(|own| Some((line.find(own.as_str())?, own)));
        // Of those that begin at one place the longest.
        match first.min_by_key(|(at, own)| (*at, std::cmp::Reverse(own.len()))) {
            Some((at, own)) => {
                let rest = self.of_arguments(&line[at + own.len()..]);
                of_arguments(&line[..at]) + own + &rest
            }
            None => of_arguments(line),
        }
    }
}

/// A line about flags as one about arguments: `--connection-limit` is `connection_limit` here.
fn of_arguments(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find("--") {
        let (before, flag) = rest.split_at(at);
        let name: String = flag[2..]
            .chars()
            .take_while(|c| c.is_ascii_lowercase() || *c == '-')
            .collect();
        let name = name.trim_end_matches('-');
        out.push_str(before);
        let is_flag = !name.is_empty() && !before.ends_with(|c: char| c.is_alphanumeric());
        let end = if is_flag { 2 + name.len() } else { 2 };
        match is_flag {
            true => match name {
                // `_typed.py` has the same names the other way round.
                "from" | "to" => out.extend([name, "_s"]),
                "no-cost" => out.push_str("cost=False"),
                _ => out.push_str(&name.replace('-', "_")),
            },
            false => out.push_str("--"),
        }
        rest = &flag[end..];
    }
    out + rest
}

/// How often Ctrl-C is looked for, and progress told.
const PATIENCE: Duration = Duration::from_millis(50);
/// How long is waited for work that was called off.
const FAREWELL: Duration = Duration::from_secs(2);
/// As a program's main thread has.
const STACK_BYTES: usize = 8 << 20;
