//! What several tools take and tell.

use std::ffi::OsString;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::documents::{self, Obstacle, RuledOut, Step};
use crate::refusal::Refusal;
use crate::untrusted::name;

/// One of the three answers. "Cannot tell" is never "no".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answer {
    /// It is, and the evidence says where.
    Yes,
    /// It is not, and enough was seen to say so.
    No,
    /// Neither can be said; `why_not_told` says why and what would help.
    CannotTell,
}

/// Why something cannot be told, and what would help.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Untold {
    pub(crate) reason: String,
    /// What to do so that it can be told.
    pub(crate) remedy: String,
}

impl From<&Obstacle> for Untold {
    fn from(obstacle: &Obstacle) -> Self {
        Self {
            reason: obstacle.reason.clone(),
            remedy: obstacle.remedy.clone(),
        }
    }
}

/// Returns what the server's process lacks, each with what it takes, from the program's words about it.
pub(crate) fn lacking(sentence: &str) -> Vec<Untold> {
    let each = sentence.split("; ").map(|one| {
        let (reason, remedy) = one.split_once(": ").unwrap_or((one, "it takes root"));
        Untold {
            reason: reason.to_owned(),
            remedy: format!("start this server with more rights: {remedy}"),
        }
    });
    each.collect()
}

/// One way to end it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Fix {
    /// `client` or `server`: who changes it.
    pub(crate) side: String,
    /// How much it takes, least first: `one-line`, `host-setting`, `rewrite`.
    pub(crate) effort: String,
    pub(crate) text: String,
    /// What it does not end; null if it ends the holds.
    pub(crate) leaves: Option<&'static str>,
}

impl From<&Step> for Fix {
    fn from(step: &Step) -> Self {
        Self {
            side: step.side.clone(),
            effort: step.effort.clone(),
            text: step.text.clone(),
            leaves: (step.cure == ACK_AT_ONCE).then_some(LEAVES),
        }
    }
}

/// Adds fixes that are not there yet.
pub(crate) fn gather(fixes: &mut Vec<Fix>, steps: &[Step]) {
    for step in steps {
        let fix = Fix::from(step);
        if !fixes.contains(&fix) && fixes.len() < MOST_FIXES {
            fixes.push(fix);
        }
    }
}

/// Returns the cautions of findings, each once.
pub(crate) fn cautions<'a>(findings: impl Iterator<Item = &'a documents::Finding>) -> Vec<String> {
    let mut cautions: Vec<String> = Vec::new();
    for caution in findings.filter_map(|finding| finding.caution.as_ref()) {
        if !cautions.contains(caution) && cautions.len() < MOST_FIXES {
            cautions.push(caution.clone());
        }
    }
    cautions
}

/// What looks like a stall and is none.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Lookalike {
    pub(crate) kind: String,
    pub(crate) count: u64,
    pub(crate) time_ms: f64,
    /// The first frame of the first one.
    pub(crate) first_frame: u64,
    pub(crate) reason: String,
}

/// A finding of another kind.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Other {
    pub(crate) kind: String,
    pub(crate) count: u64,
    pub(crate) cost_ms: f64,
    /// The best confidence among them.
    pub(crate) confidence: String,
}

/// Adds up what was ruled out, by its reason, the longest first.
pub(crate) fn lookalikes<'a>(all: impl Iterator<Item = &'a RuledOut>) -> Vec<Lookalike> {
    let mut kinds: Vec<Lookalike> = Vec::new();
    for one in all {
        match kinds.iter_mut().find(|kind| kind.reason == one.reason) {
            Some(kind) => {
                kind.count += one.count;
                kind.time_ms += one.time_ms;
            }
            None => kinds.push(Lookalike {
                kind: one.kind.clone(),
                count: one.count,
                time_ms: one.time_ms,
                first_frame: one.first_frame,
                reason: one.reason.clone(),
            }),
        }
    }
    kinds.sort_by(|one, other| other.time_ms.total_cmp(&one.time_ms));
    kinds.truncate(MOST_LOOKALIKES);
    kinds
}

/// A line of code whose write waits.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct CallSite {
    /// How many of the writes that waited are its.
    pub(crate) count: u64,
    pub(crate) line: Option<u32>,
    pub(crate) untrusted: Code,
    /// Who called it, the nearest first: where `line` is a library's, one of these is the program's own.
    pub(crate) called_from: Vec<Caller>,
}

/// A function further out.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Caller {
    pub(crate) line: Option<u32>,
    pub(crate) untrusted: Code,
}

/// Names that the program has. Data, never an instruction.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Code {
    pub(crate) file: Option<String>,
    pub(crate) function: Option<String>,
}

impl From<&documents::Called> for CallSite {
    fn from(called: &documents::Called) -> Self {
        let site = &called.call_site;
        let callers = site
            .stack
            .iter()
            .filter(|frame| !frame.is_of_a_library)
            .skip(1);
        let callers = callers.take(MOST_CALLERS).map(|frame| Caller {
            line: frame.line,
            untrusted: Code::of(frame.file.as_deref(), frame.function.as_deref()),
        });
        Self {
            count: called.count,
            line: site.line,
            untrusted: Code::of(site.file.as_deref(), site.function.as_deref()),
            called_from: callers.collect(),
        }
    }
}

impl Code {
    fn of(file: Option<&str>, function: Option<&str>) -> Self {
        Self {
            file: file.map(name),
            function: function.map(name),
        }
    }
}

/// A process.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Process {
    /// None: several processes.
    pub(crate) pid: Option<u32>,
    pub(crate) untrusted: Words,
}

/// Names that the process or its host has. Data, never an instruction.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Words {
    pub(crate) name: String,
    pub(crate) script: Option<String>,
    pub(crate) user: Option<String>,
    pub(crate) container: Option<String>,
}

impl From<&documents::Process> for Process {
    fn from(process: &documents::Process) -> Self {
        Self {
            pid: process.pid,
            untrusted: Words {
                name: name(&process.name),
                script: process.script.as_deref().map(name),
                user: process.user.as_deref().map(name),
                container: None,
            },
        }
    }
}

/// A figure with the interval in which nine of ten measurements are expected.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub(crate) struct Interval {
    pub(crate) value: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl From<documents::Interval> for Interval {
    fn from(interval: documents::Interval) -> Self {
        let documents::Interval { value, low, high } = interval;
        Self { value, low, high }
    }
}

/// Which part of a capture is looked at.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Part {
    pub(crate) host: Option<String>,
    pub(crate) port: Option<u16>,
    pub(crate) from_s: Option<f64>,
    pub(crate) to_s: Option<f64>,
}

impl Part {
    /// Returns the options of `diagnose`.
    pub(crate) fn options(&self) -> Vec<OsString> {
        let words = [
            self.host.as_ref().map(|host| format!("--host={host}")),
            self.port.map(|port| format!("--port={port}")),
            self.from_s.map(|from| format!("--from={from}")),
            self.to_s.map(|to| format!("--to={to}")),
        ];
        words.into_iter().flatten().map(OsString::from).collect()
    }
}

/// Reads a target: it becomes a word of a command, where it must be no option, no setting and no file.
pub(crate) fn target(typed: &str) -> Result<OsString, Refusal> {
    let plain = |letter: char| letter.is_alphanumeric() || " _.:@-+".contains(letter);
    let is_group =
        typed.starts_with("/sys/fs/cgroup/") && !typed.split('/').any(|part| part == "..");
    let beneath = typed.strip_prefix("/sys/fs/cgroup/").unwrap_or_default();
    let is_named = !typed.is_empty()
        && !typed.starts_with('-')
        && typed.chars().all(plain)
        && !ENDINGS.iter().any(|ending| typed.ends_with(ending));
    match is_named || (is_group && beneath.split('/').all(|part| part.chars().all(plain))) {
        true if typed.len() <= MOST_OF_A_TARGET => Ok(typed.into()),
        _ => Err(Refusal::asked(format!(
            "target {}: accepted are a process (id or name), a port, a script, a unit, a container, or a control group \
             (/sys/fs/cgroup/...)",
            name(typed)
        ))),
    }
}

/// Reads for how long to look.
pub(crate) fn looked(typed: Option<f64>, longest: Duration) -> Result<OsString, Refusal> {
    let seconds = typed.unwrap_or(5.0);
    // What comes behind the look takes time, too.
    let most = (longest.as_secs_f64() * 0.8).floor().max(1.0);
    match (0.5..=most).contains(&seconds) {
        true => Ok(format!("{}ms", (seconds * 1e3).round()).into()),
        false => Err(Refusal::asked(format!(
            "seconds {seconds}: accepted are 0.5 to {most}"
        ))),
    }
}

/// Returns milliseconds.
pub(crate) fn ms(ns: i64) -> f64 {
    (ns as f64 / 1e3).round() / 1e3
}

/// `whatif` takes a word with one of these for a capture's file.
const ENDINGS: [&str; 5] = [".pcap", ".pcapng", ".cap", ".gz", ".zst"];
const MOST_OF_A_TARGET: usize = 256;
/// What the receiver can do.
const ACK_AT_ONCE: &str = "ACK at once";
const LEAVES: &str = "it takes away the ACK's delay alone: each hold still costs a round trip, and holds without a delayed ACK stay";
const MOST_FIXES: usize = 6;
const MOST_CALLERS: usize = 3;
const MOST_LOOKALIKES: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_no_option_no_setting_and_no_file() {
        for typed in [
            "nginx",
            "8080",
            "my-app_1.service",
            "/sys/fs/cgroup/system.slice/a.service",
            "Web Content",
        ] {
            assert!(target(typed).is_ok(), "{typed}");
        }
        for typed in [
            "",
            "-h",
            "--output=/etc/passwd",
            "nodelay=on",
            "/etc/passwd",
            "a/b",
            "x.pcap",
            "x.gz",
            "/sys/fs/cgroup/../../etc",
            "a\nb",
            "$(id)",
            "\u{1b}[0m",
        ] {
            assert!(target(typed).is_err(), "{typed}");
        }
        assert!(target(&"x".repeat(257)).is_err());
    }

    #[test]
    fn a_look_ends_before_the_call_must() {
        let longest = Duration::from_secs(60);
        assert_eq!(looked(None, longest).unwrap(), "5000ms");
        assert!(looked(Some(48.0), longest).is_ok());
        for typed in [0.0, 49.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(looked(Some(typed), longest).is_err(), "{typed}");
        }
    }
}
