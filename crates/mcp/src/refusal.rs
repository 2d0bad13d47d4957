//! Why a tool gives no answer: one sentence.

use serde_json::{Value, json};

use crate::untrusted::{Said, said};

/// Why a tool gives no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    /// The question cannot be asked so: what is wrong, and what is accepted.
    #[error("{0}")]
    Asked(String),
    /// The program could not do it. Its sentence may contain names of files, or a line of a log.
    #[error("tinygram {verb} could not do it (exit code {code}): {}", said.sentence)]
    Failed {
        verb: &'static str,
        code: i32,
        said: Said,
    },
    /// The server's process may not do it: what is missing, in the program's own words.
    #[error("tinygram {verb}: {sentence}")]
    Lacking {
        verb: &'static str,
        sentence: String,
    },
    /// It took longer than a tool may take.
    #[error(
        "tinygram {verb} was ended after {seconds} s, which is the longest that a tool may take here; {instead}"
    )]
    TooLong {
        verb: &'static str,
        seconds: u64,
        instead: &'static str,
    },
    /// The client has cancelled the call, or the server ends.
    #[error("the call was cancelled")]
    Cancelled,
    /// A fault of ours.
    #[error("tinygram {verb} gave an answer that this server cannot read: {why}")]
    Unreadable { verb: &'static str, why: String },
}

impl Refusal {
    pub(crate) fn asked(sentence: impl Into<String>) -> Self {
        Self::Asked(sentence.into())
    }

    /// Returns what a program's last line on standard error says.
    pub(crate) fn failed(verb: &'static str, code: i32, line: &str) -> Self {
        let said = said(line);
        // Words of the program and names of capabilities alone, nothing that others chose.
        match said.sentence.starts_with(LACKING) {
            true => Self::Lacking {
                verb,
                sentence: said.sentence,
            },
            false => Self::Failed { verb, code, said },
        }
    }

    /// Returns the refusal as the client gets it: what others may have written stands in a field of its own.
    pub(crate) fn document(&self) -> Value {
        match self {
            Self::Failed { verb, code, said } => json!({
                "error": format!("tinygram {verb} could not do it (exit code {code})"),
                "untrusted": said,
            }),
            other => json!({ "error": other.to_string() }),
        }
    }
}

/// How the program begins to say that it lacks rights.
const LACKING: &str = "not permitted to ";
