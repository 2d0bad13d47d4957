//! Connections of which both ends are on this host and are meant: each end counts, and each is changed.

use std::collections::BTreeSet;

use tinygram_host::scope::{Owned, Scope};
use tinygram_host::target::Target;

use super::programs;
use tinygram_report::units::counted;

/// Returns how many connections have both ends among these sockets.
pub(super) fn both(sockets: &[Owned]) -> usize {
    of_both(sockets).len() / 2
}

/// Says which ends these are, and how to mean one of them; nothing if there are none.
pub(super) fn in_words(scope: &Scope, sockets: &[Owned]) -> String {
    let ends = of_both(sockets);
    if ends.is_empty() {
        return String::new();
    }
    let connections = counted(ends.len() as u64 / 2, "connection");
    let said = format!("  both ends of {connections} are on this host and are meant");
    let at = |end: &&Owned, port| end.socket.local.port() == port;
    let is_there = |port: &u16| ends.iter().any(|end| at(end, *port));
    let Some(port) = scope.targets.iter().filter_map(port).find(is_there) else {
        return format!("{said}; --peer means one of them\n");
    };
    let (here, there): (Vec<_>, Vec<_>) = ends.iter().copied().partition(|end| at(end, port));
    format!(
        "{said}: at port {port} {}, at the other end {}\n  \
         (--peer :{port} means the other end alone; the name or ID of a process means its own ends)\n",
        programs::in_words(here),
        programs::in_words(there)
    )
}

/// Returns the sockets whose peer is among them.
fn of_both(sockets: &[Owned]) -> Vec<&Owned> {
    let ends = |owned: &Owned| {
        let socket = &owned.socket;
        (socket.netns, socket.local, socket.remote)
    };
    let all: BTreeSet<_> = sockets.iter().map(ends).collect();
    let has_peer = |owned: &&Owned| {
        let (netns, local, remote) = ends(owned);
        all.contains(&(netns, remote, local))
    };
    sockets.iter().filter(has_peer).collect()
}

/// Returns the port that a target may be.
fn port(target: &Target) -> Option<u16> {
    match target {
        Target::Number(number) => u16::try_from(*number).ok(),
        Target::Port(port) => Some(*port),
        Target::Within(_, Some(what)) => port(what),
        _ => None,
    }
}
