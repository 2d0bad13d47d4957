//! Turns knobs of network namespaces and routes by way of the journal, and puts them back.

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;

use tinygram_host::hand::{Raw, Socket};
use tinygram_host::knob::{Knob, KnobSetting};
use tinygram_host::namespace::{self, Namespace};
use tinygram_host::route::{Route, RouteError, RouteKey};

use super::{ApplyError, Undone, Why};
use crate::journal::{About, Journal, JournalPlace};

/// What turning a knob did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turned {
    /// The route, if it is a route's knob.
    pub route: Option<RouteKey>,
    /// The inode of the network namespace.
    pub netns: u32,
    /// The change's number in the journal; `None` if it had the value already.
    pub id: Option<u64>,
    /// What it had before; `None` if that could not be read.
    pub before: Option<u32>,
    /// Why it was not changed.
    pub refused: Option<String>,
}

/// A route over which sockets that are meant send, and how many connections have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shared {
    /// The sockets that are meant.
    pub meant: usize,
    /// The other connections of the namespace.
    pub others: usize,
}

/// Turns the knob of a namespace or of one of its routes, after the journal has what it had.
///
/// # Errors
///
/// Returns what stopped it. What the journal has can be undone then.
pub fn set(
    journal: &mut Journal,
    namespace: &Namespace,
    setting: KnobSetting,
    route: Option<&RouteKey>,
    why: Why<'_>,
) -> Result<Turned, ApplyError> {
    let mut turned = Turned {
        route: route.cloned(),
        netns: namespace.inode,
        id: None,
        before: None,
        refused: None,
    };
    let place = JournalPlace {
        netns_cookie: namespace::cookie(namespace)?,
        route: route.cloned(),
    };
    let knob = setting.knob;
    let before = match namespace.within(|| read(knob, route))? {
        Ok(before) => before,
        Err(error) => {
            turned.refused = Some(error.to_string());
            return Ok(turned);
        }
    };
    turned.before = Some(before);
    // One that has the value through another change of ours keeps it when that one is undone.
    if before == setting.value && !journal.has_turned(knob.into(), &place) {
        return Ok(turned);
    }
    let to = Raw::of(setting.value);
    let id = journal.begin(knob, to, namespace.inode, why.command, why.is_temporary)?;
    journal.knob(id, place, Raw::of(before))?;
    if let Err(error) = namespace.within(|| write(knob, route, setting.value))? {
        turned.refused = Some(error.to_string());
        journal.undone(id)?;
    } else {
        turned.id = Some(id);
    }
    Ok(turned)
}

/// Puts a knob back, if it still has the value that was set.
pub(super) fn undo(
    journal: &mut Journal,
    id: u64,
    knob: Knob,
    about: &About,
) -> Result<Undone, ApplyError> {
    let mut undone = Undone::default();
    let has_place = journal
        .in_force()
        .any(|(other, entry)| other == id && entry.knob.is_some());
    match journal.release_knob(id)? {
        // The process was killed before it could announce the place; nothing was changed.
        None if !has_place => {}
        None => undone.left_to_later = 1,
        Some((place, before)) => match put_back(knob, about, &place, before.number())? {
            Did::Back => undone.back = 1,
            Did::Differs => undone.differ = 1,
            Did::Gone => undone.gone = 1,
            Did::Refused => undone.refused = 1,
        },
    }
    if undone.refused == 0 {
        journal.undone(id)?;
    }
    Ok(undone)
}

enum Did {
    Back,
    Differs,
    Gone,
    Refused,
}

fn put_back(knob: Knob, about: &About, place: &JournalPlace, before: u32) -> io::Result<Did> {
    let Some(namespace) = Namespace::find(about.netns) else {
        return Ok(Did::Gone);
    };
    // Another namespace may have its inode by now.
    if namespace::cookie(&namespace)? != place.netns_cookie {
        return Ok(Did::Gone);
    }
    let route = place.route.as_ref();
    namespace.within(|| match read(knob, route) {
        Err(RouteError::Gone) => Did::Gone,
        Err(_) => Did::Refused,
        Ok(value) if value != about.to.number() => Did::Differs,
        Ok(_) => match write(knob, route, before) {
            Ok(()) => Did::Back,
            Err(_) => Did::Refused,
        },
    })
}

/// Returns the value that a knob has there; `None` where it cannot be read, or the kernel has no such knob.
pub(crate) fn value(namespace: &Namespace, knob: Knob, route: Option<&RouteKey>) -> Option<u32> {
    namespace.within(|| read(knob, route)).ok()?.ok()
}

fn read(knob: Knob, route: Option<&RouteKey>) -> Result<u32, RouteError> {
    match route {
        Some(key) => Ok(Route::find(key)?.quickack().into()),
        None => Ok(knob.read()?),
    }
}

fn write(knob: Knob, route: Option<&RouteKey>, value: u32) -> Result<(), RouteError> {
    match route {
        Some(key) => Route::find(key)?.set_quickack(value != 0),
        None => Ok(knob.write(value)?),
    }
}

/// Returns the routes over which the sockets that `is_meant` names send, with how many connections have each. `sockets` are
/// all of the namespace. A destination without a route has none here.
///
/// # Errors
///
/// Returns what the system refuses.
pub fn routes(
    namespace: &Namespace,
    sockets: &[Socket],
    is_meant: impl Fn(&Socket) -> bool,
) -> io::Result<BTreeMap<RouteKey, Shared>> {
    let here = sockets
        .iter()
        .filter(|socket| socket.netns == namespace.inode && !socket.listens());
    let mut by_ends: BTreeMap<(IpAddr, IpAddr), Shared> = BTreeMap::new();
    for socket in here {
        let ends = (socket.local.ip(), socket.remote.ip());
        let shared = by_ends.entry(ends).or_insert(Shared {
            meant: 0,
            others: 0,
        });
        match is_meant(socket) {
            true => shared.meant += 1,
            false => shared.others += 1,
        }
    }
    let mut routes: BTreeMap<RouteKey, Shared> = BTreeMap::new();
    namespace.within(|| {
        for ((local, remote), count) in by_ends {
            let Ok(route) = Route::between(local, remote) else {
                continue;
            };
            let shared = routes.entry(route.key()).or_insert(Shared {
                meant: 0,
                others: 0,
            });
            shared.meant += count.meant;
            shared.others += count.others;
        }
    })?;
    routes.retain(|_, shared| shared.meant > 0);
    Ok(routes)
}
