//! The hand, as the verbs that set options use it: opened, or refused in one line.

use tinygram_host::hand::Hand;
use tinygram_host::lacking::{Lacking, takes};
use tinygram_host::root::Root;
use tinygram_host::target::Target;

use crate::outcome::Failure;
use crate::terminal::remark;

pub(crate) fn open() -> Result<Hand, Failure> {
    Hand::open().map_err(|lacking| refused(&lacking))
}

/// Lets the hand give way, from now on, to programs that set an option by themselves; says so where that is not to be had.
pub(crate) fn give_way(hand: &mut Hand, verb: &str) {
    if let Err(lacking) = hand.give_way() {
        remark(&format!(
            "tinygram {verb}: what programs set meanwhile cannot be seen ({lacking}); one that sets an equal value is not \
             noticed"
        ));
    }
}

/// Refuses targets that are all names or process IDs of nothing that runs.
pub(crate) fn refuse_nobody(targets: &[Target], root: &Root) -> Result<(), Failure> {
    let is_nobody = |target: &Target| target.names_nobody(root);
    if targets.is_empty() || !targets.iter().all(is_nobody) {
        return Ok(());
    }
    let sought = targets.iter().map(Target::sought);
    let sought: Vec<_> = sought
        .map(|it| it.trim_start_matches("a ").to_owned())
        .collect();
    Err(Failure::Input(format!(
        "there is no {} here; accepted are also a port, a process ID and a control group's path (tinygram ps lists what has \
         connections)",
        sought.join(", ")
    )))
}

/// Says what it takes to set other programs' sockets.
pub(crate) fn refused(lacking: &Lacking) -> Failure {
    match lacking {
        Lacking::Privilege(missing) => Failure::Input(format!(
            "not permitted to set other programs' sockets: {}",
            takes(&[&["CAP_NET_ADMIN"], missing.as_slice()].concat())
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
