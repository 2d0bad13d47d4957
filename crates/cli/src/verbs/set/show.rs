//! The sentences and the JSON document of `set`.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;
use tinygram_host::follow::Rules;
use tinygram_host::hand::Setting;
use tinygram_host::scope::{Found, LeftOut};
use tinygram_remedy::apply::Applied;
use tinygram_remedy::apply::knobs::{Shared, Turned};
use tinygram_remedy::follow::Followed;
use tinygram_report::{Document, json};

use super::changes::Changes;
use super::ends;
use super::knobs::Turn;
use super::plan::Set;
use super::programs::{self, Program};
use crate::outcome::plain;
use tinygram_report::units::counted;

/// Says that no socket is meant.
pub(super) fn nothing(plan: &Set, found: &Found) -> String {
    let sought: Vec<_> = plan.scope.targets.iter().map(ToString::to_string).collect();
    let sought = match sought.is_empty() {
        true => "this network namespace".to_owned(),
        false => sought.join(", "),
    };
    let left_out = left_out(found.left_out);
    format!(
        "no connection of {sought} was found among {} sockets; nothing was changed{left_out}",
        found.seen
    )
}

pub(super) fn would(
    plan: &Set,
    found: &Found,
    rules: Option<&Rules>,
    turns: &[Turn],
    as_json: bool,
) -> String {
    if as_json {
        return json(&Document {
            schema: "tinygram.set/1",
            parameters: Parameters::of(plan),
            results: Planned {
                meant: MeantRow::of(found, rules),
                knobs: turns.iter().map(|turn| knob_row(turn, None)).collect(),
            },
        });
    }
    let mut text = headline(plan, found);
    for setting in &plan.settings {
        let has = |owned: &&tinygram_host::scope::Owned| {
            owned.socket.values[setting.option] == setting.value
        };
        let already = found.sockets.iter().filter(has).count();
        let _ = writeln!(
            text,
            "  {setting}: would change {}, {already} have it already",
            found.sockets.len() - already
        );
    }
    for turn in turns {
        let _ = writeln!(text, "  {}: {}", where_to(turn), touches(&turn.shared));
    }
    text + &to_come(rules) + "Nothing was changed (--dry-run).\n"
}

/// Says what was found, what was changed, and what could not be.
pub(super) fn did(
    plan: &Set,
    found: &Found,
    rules: Option<&Rules>,
    changes: &Changes,
    as_json: bool,
) -> String {
    let (applied, turned) = (&changes.applied, &changes.turned);
    if as_json {
        let settings = plan.settings.iter().zip(applied);
        return json(&Document {
            schema: "tinygram.set/1",
            parameters: Parameters::of(plan),
            results: Changed {
                meant: MeantRow::of(found, rules),
                settings: settings
                    .map(|(setting, applied)| row(setting, applied))
                    .collect(),
                knobs: turned
                    .iter()
                    .map(|(turn, turned)| knob_row(turn, Some(turned)))
                    .collect(),
            },
        });
    }
    let mut text = headline(plan, found);
    for (setting, applied) in plan.settings.iter().zip(applied) {
        let _ = write!(text, "  {setting}: {} changed", applied.count());
        for (before, count) in &applied.changed {
            let _ = write!(text, ", {count} from {}", setting.option.show(before));
        }
        if applied.already > 0 {
            let _ = write!(text, "; {} had it already", applied.already);
        }
        if applied.gone > 0 {
            let _ = write!(text, "; {} closed meanwhile", applied.gone);
        }
        for (error, count) in &applied.refused {
            let _ = write!(text, "; {count} not changed ({})", reason(*error));
        }
        if applied.set_meanwhile > 0 {
            let _ = write!(
                text,
                "; {} left alone, for their program set them meanwhile",
                applied.set_meanwhile
            );
        }
        text.push('\n');
    }
    for (turn, turned) in turned {
        let _ = writeln!(text, "  {}", did_turn(turn, turned));
    }
    text += &to_come(rules);
    if rules.is_some() {
        let until = plan.lasting.map(|length| format!("after {length:?}, or "));
        let _ = writeln!(text, "Put back {}at Ctrl-C.", until.unwrap_or_default());
        return text;
    }
    let ids = changes.ids();
    match (plan.lasting, ids.as_slice()) {
        (_, []) => {}
        (Some(length), _) => {
            let _ = writeln!(text, "Put back after {length:?}, or at Ctrl-C.");
        }
        (None, ids) => {
            let undo = ids.iter().map(|id| format!("tinygram set --undo {id}"));
            let _ = writeln!(
                text,
                "To put it back: {}",
                undo.collect::<Vec<_>>().join("; ")
            );
        }
    }
    text
}

/// Says which knob is meant, and where.
fn where_to(turn: &Turn) -> String {
    match &turn.route {
        Some(route) => format!("{} for the route {route}", turn.setting),
        None => format!(
            "{} in network namespace {}",
            turn.setting, turn.namespace.inode
        ),
    }
}

/// Says how many connections a knob touches.
fn touches(shared: &Shared) -> String {
    let all = counted((shared.meant + shared.others) as u64, "connection");
    match shared.others {
        0 => format!("touches {all}, all of them meant, and those to come"),
        others => format!("touches {all}, {others} of them not meant, and those to come"),
    }
}

/// Says what became of a knob.
fn did_turn(turn: &Turn, turned: &Turned) -> String {
    let place = where_to(turn);
    let show = |value: Option<u32>| value.map(|value| turn.setting.knob.show(value));
    match (&turned.refused, turned.id, show(turned.before)) {
        (Some(why), ..) => format!("{place}: not changed ({why})"),
        (None, None, _) => format!("{place}: it was so already"),
        (None, Some(_), before) => format!(
            "{place}: was {}; {}",
            before.unwrap_or_default(),
            touches(&turn.shared)
        ),
    }
}

fn knob_row(turn: &Turn, turned: Option<&Turned>) -> KnobRow {
    let knob = turn.setting.knob;
    KnobRow {
        option: knob.name(),
        value: knob.show(turn.setting.value),
        network_namespace: turn.namespace.inode,
        route: turn.route.as_ref().map(ToString::to_string),
        connections: turn.shared.meant,
        other_connections: turn.shared.others,
        change: turned.and_then(|turned| turned.id),
        before: turned
            .and_then(|turned| turned.before)
            .map(|before| knob.show(before)),
        refused: turned.and_then(|turned| turned.refused.clone()),
    }
}

/// Says which connections to come are followed.
fn to_come(rules: Option<&Rules>) -> String {
    let Some(rules) = rules else {
        return String::new();
    };
    let names = programs::few(rule_names(rules));
    match names.is_empty() {
        true => "No connection to come is known to be meant.\n".to_owned(),
        false => format!("Connections to come, too: {names}.\n"),
    }
}

fn rule_names(rules: &Rules) -> Vec<String> {
    rules.all.iter().map(ToString::to_string).collect()
}

/// Says what became of the connections that were followed.
pub(super) fn followed(followed: &Followed) -> String {
    let mut text = format!(
        "{} came: {} set",
        counted(followed.opened as u64, "connection"),
        counted(followed.set as u64, "option")
    );
    if followed.left_alone > 0 {
        let _ = write!(
            text,
            ", {} left alone, for their program had set them",
            followed.left_alone
        );
    }
    for (error, count) in &followed.refused {
        let _ = write!(text, ", {count} not set ({})", reason(*error));
    }
    if followed.lost > 0 {
        let _ = write!(
            text,
            "; {} more were missed, for too many came at once",
            followed.lost
        );
    }
    text
}

/// `12 connections: nginx (431) (12)`, what was left out, and of which connections both ends are meant.
fn headline(plan: &Set, found: &Found) -> String {
    let whose = programs::in_words(&found.sockets);
    let colon = if whose.is_empty() { "" } else { ": " };
    format!(
        "{}{colon}{whose}{}\n{}",
        counted(found.sockets.len() as u64, "connection"),
        left_out(found.left_out),
        ends::in_words(&plan.scope, &found.sockets)
    )
}

fn left_out(left_out: LeftOut) -> String {
    let mut text = String::new();
    for (count, words) in [
        (
            left_out.ssh,
            "of SSH left out (name ssh, sshd or port 22 to include them)",
        ),
        (left_out.own, "of this process left out"),
        (
            left_out.made_elsewhere,
            "not matched: a process of another control group made them",
        ),
    ] {
        if count > 0 {
            let _ = write!(text, "; {count} {words}");
        }
    }
    text
}

fn reason(error: i32) -> String {
    plain(&std::io::Error::from_raw_os_error(error))
}

fn row(setting: &Setting, applied: &Applied) -> SettingRow {
    let before = applied.changed.iter();
    SettingRow {
        option: setting.option.name(),
        value: setting.option.show(&setting.value),
        changes: applied.ids.clone(),
        changed: applied.count(),
        before: before
            .map(|(value, count)| (setting.option.show(value), *count))
            .collect(),
        already: applied.already,
        closed: applied.gone,
        set_meanwhile: applied.set_meanwhile,
        refused: applied
            .refused
            .iter()
            .map(|(error, count)| (reason(*error), *count))
            .collect(),
        sweep_ms: applied.swept.as_secs_f64() * 1000.0,
    }
}

#[derive(Serialize)]
struct Parameters {
    targets: Vec<String>,
    all: bool,
    settings: Vec<String>,
    lasting_s: Option<f64>,
    follow: bool,
    dry_run: bool,
}

impl Parameters {
    fn of(plan: &Set) -> Self {
        Self {
            targets: plan.scope.targets.iter().map(ToString::to_string).collect(),
            all: plan.scope.all,
            settings: (plan.settings.iter().map(ToString::to_string))
                .chain(plan.knobs.iter().map(ToString::to_string))
                .collect(),
            lasting_s: plan.lasting.map(|length| length.as_secs_f64()),
            follow: plan.follows,
            dry_run: plan.is_dry,
        }
    }
}

#[derive(Serialize)]
struct Planned {
    #[serde(flatten)]
    meant: MeantRow,
    knobs: Vec<KnobRow>,
}

/// What is meant: the sockets that were found, and those to come.
#[derive(Serialize)]
struct MeantRow {
    sockets: usize,
    /// Of how many connections both ends are among the sockets.
    both_ends: usize,
    programs: Vec<Program>,
    left_out: LeftOutRow,
    #[serde(skip_serializing_if = "Option::is_none")]
    follows: Option<Vec<String>>,
}

impl MeantRow {
    fn of(found: &Found, rules: Option<&Rules>) -> Self {
        Self {
            sockets: found.sockets.len(),
            both_ends: ends::both(&found.sockets),
            programs: programs::of(&found.sockets),
            left_out: found.left_out.into(),
            follows: rules.map(rule_names),
        }
    }
}

#[derive(Serialize)]
struct Changed {
    #[serde(flatten)]
    meant: MeantRow,
    settings: Vec<SettingRow>,
    knobs: Vec<KnobRow>,
}

#[derive(Serialize)]
struct LeftOutRow {
    ssh: usize,
    own: usize,
    made_elsewhere: usize,
}

impl From<LeftOut> for LeftOutRow {
    fn from(left_out: LeftOut) -> Self {
        let LeftOut {
            ssh,
            own,
            made_elsewhere,
        } = left_out;
        Self {
            ssh,
            own,
            made_elsewhere,
        }
    }
}

#[derive(Serialize)]
struct KnobRow {
    option: &'static str,
    value: String,
    network_namespace: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    route: Option<String>,
    connections: usize,
    other_connections: usize,
    change: Option<u64>,
    before: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
}

#[derive(Serialize)]
struct SettingRow {
    option: &'static str,
    value: String,
    changes: Vec<u64>,
    changed: usize,
    before: BTreeMap<String, usize>,
    already: usize,
    closed: usize,
    set_meanwhile: usize,
    refused: BTreeMap<String, usize>,
    /// How long the sweep over the sockets took.
    sweep_ms: f64,
}
