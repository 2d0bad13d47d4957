//! The knobs of namespaces and routes that a command turns, and how many connections each touches.

use tinygram_host::hand::Hand;
use tinygram_host::knob::KnobSetting;
use tinygram_host::namespace::Namespace;
use tinygram_host::route::RouteKey;
use tinygram_host::scope::Found;
use tinygram_remedy::apply::knobs::{self, Shared};

use super::plan::Set;
use crate::hand::walking;
use crate::outcome::Failure;

/// A knob of a namespace or of one of its routes.
pub(super) struct Turn {
    pub(super) namespace: Namespace,
    pub(super) setting: KnobSetting,
    pub(super) route: Option<RouteKey>,
    /// Whose connections it touches.
    pub(super) shared: Shared,
}

/// Finds the knobs that the command means.
pub(super) fn turns(hand: &mut Hand, plan: &Set, found: &Found) -> Result<Vec<Turn>, Failure> {
    let mut turns = Vec::new();
    for setting in &plan.knobs {
        let namespaces = match setting.knob.is_of_route() {
            true => &found.namespaces,
            false if found.named.is_empty() => return Err(unnamed(plan, *setting)),
            false => &found.named,
        };
        for namespace in namespaces {
            turns.extend(turns_in(hand, found, namespace, *setting).map_err(walking)?);
        }
    }
    Ok(turns)
}

fn turns_in(
    hand: &mut Hand,
    found: &Found,
    namespace: &Namespace,
    setting: KnobSetting,
) -> std::io::Result<Vec<Turn>> {
    let mut sockets = namespace.within(|| hand.sockets())??;
    sockets.retain(|socket| !socket.listens());
    let is_meant = |cookie: u64| {
        let mut meant = found.sockets.iter();
        meant.any(|owned| owned.socket.cookie == cookie)
    };
    let turn = |route, shared| Turn {
        namespace: namespace.clone(),
        setting,
        route,
        shared,
    };
    if !setting.knob.is_of_route() {
        let meant = sockets
            .iter()
            .filter(|socket| is_meant(socket.cookie))
            .count();
        let others = sockets.len() - meant;
        return Ok(vec![turn(None, Shared { meant, others })]);
    }
    let routes = knobs::routes(namespace, &sockets, |socket| is_meant(socket.cookie))?;
    let all = routes.into_iter();
    Ok(all
        .map(|(route, shared)| turn(Some(route), shared))
        .collect())
}

/// Says that a namespace's knob asks for a target that names a namespace.
fn unnamed(plan: &Set, setting: KnobSetting) -> Failure {
    let targets: Vec<_> = plan.scope.targets.iter().map(ToString::to_string).collect();
    Failure::Input(format!(
        "{setting} holds for every connection of a network namespace, and {} names none: accepted are a process, a unit, a \
         container or a control group in it, or --all for this one",
        targets.join(", ")
    ))
}
