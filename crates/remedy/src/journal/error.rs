//! Why a journal cannot be used.

use std::io;

/// The reason why the journal cannot be used, in one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The system refused.
    #[error("the journal {path}: {doing}: {error}")]
    Io {
        /// The file or folder.
        path: String,
        /// What was tried.
        doing: &'static str,
        /// The system's answer.
        error: io::Error,
    },
    /// Somebody else could have written it.
    #[error("the journal {path} is not to be trusted: {why}")]
    Untrusted {
        /// The file or folder.
        path: String,
        /// Why.
        why: String,
    },
}

impl JournalError {
    /// Returns whether it may not be used by this user.
    #[must_use]
    pub fn is_of_privilege(&self) -> bool {
        matches!(self, Self::Io { error, .. } if error.kind() == io::ErrorKind::PermissionDenied)
    }
}
