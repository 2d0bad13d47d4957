//! How a script fails: where it and the connection differ.

use std::fmt;

use crate::script::Event;

/// The place where script and connection differ.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) line: usize,
    pub(crate) text: String,
    pub(crate) expected: String,
    pub(crate) got: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "line {}: {}", self.line, self.text)?;
        writeln!(f, "  expected: {}", self.expected)?;
        write!(f, "  got:      {}", self.got)
    }
}

/// A failure whose line is not known yet.
pub(crate) struct Parted {
    pub(crate) expected: String,
    pub(crate) got: String,
    /// The line that made the claim, if it is not the one being played.
    pub(crate) elsewhere: Option<(usize, String)>,
}

impl Parted {
    pub(crate) fn new(expected: impl Into<String>, got: impl Into<String>) -> Self {
        Self {
            expected: expected.into(),
            got: got.into(),
            elsewhere: None,
        }
    }

    pub(crate) fn at(self, event: &Event) -> Failure {
        let here = (event.line, event.text.clone());
        let (line, text) = self.elsewhere.unwrap_or(here);
        Failure {
            line,
            text,
            expected: self.expected,
            got: self.got,
        }
    }
}

pub(crate) type Played = Result<(), Parted>;

pub(crate) fn same<T: PartialEq + fmt::Debug>(expected: &T, got: &T) -> Played {
    match expected == got {
        true => Ok(()),
        false => Err(Parted::new(format!("{expected:?}"), format!("{got:?}"))),
    }
}
