//! The hand, as the verbs that set options use it: opened, or refused in one line.

use tinygram_host::hand::Hand;
use tinygram_host::lacking::Lacking;

use crate::exit::Failure;

pub(crate) fn open() -> Result<Hand, Failure> {
    Hand::open().map_err(|lacking| refused(&lacking))
}

/// Says what it takes to set other programs' sockets.
pub(crate) fn refused(lacking: &Lacking) -> Failure {
    match lacking {
        Lacking::Privilege(missing) => Failure::Input(format!(
            "not permitted to set other programs' sockets: it takes root, or CAP_NET_ADMIN and {missing}"
        )),
        other => Failure::Input(other.to_string()),
    }
}

pub(crate) fn walking(error: std::io::Error) -> Failure {
    Failure::Io {
        doing: "walking over the sockets".to_owned(),
        error,
    }
}
