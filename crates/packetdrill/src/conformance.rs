//! Suites of scripts: lists them, runs them, and compares the outcomes with the expected ones.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::commands;
use crate::conditions;
use crate::settings::SETTINGS_FILE;

/// The TCP that is tested.
#[derive(Clone, Debug)]
pub enum Under {
    /// This project's: the shared object with the given settings.
    Ours {
        /// The shared object.
        object: PathBuf,
        /// Its settings (`--so_flags`).
        flags: String,
    },
    /// The running kernel's, in a network namespace per script. Needs root.
    Kernel,
}

/// How a suite is run.
#[derive(Clone, Debug)]
pub struct Run {
    /// packetdrill's program.
    pub packetdrill: PathBuf,
    /// The TCP that is tested.
    pub under: Under,
    /// Further arguments for packetdrill.
    pub arguments: Vec<String>,
    /// The names for which `#ifdef` holds in scripts, under [`Under::Ours`].
    pub defined: Vec<String>,
    /// How many scripts run at once.
    pub jobs: usize,
    /// The program that replaces the scripts' commands under [`Under::Ours`]: this one.
    pub program: PathBuf,
    /// A folder for files that are needed while it runs.
    pub scratch: PathBuf,
}

/// The outcome of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Everything happened as the script says.
    Pass,
    /// The first difference, in packetdrill's words.
    Fail(String),
}

/// The time limit in seconds; no script needs that much.
const TIME_LIMIT: &str = "60";

/// Returns the scripts below a folder, as paths relative to it, in order.
///
/// # Errors
///
/// If a folder cannot be read.
pub fn scripts(root: &Path) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "pkt") {
                let relative = path.strip_prefix(root).expect("below the root");
                found.push(relative.to_string_lossy().into_owned());
            }
        }
    }
    found.sort();
    Ok(found)
}

impl Run {
    /// Runs all scripts; returns the outcomes by path.
    ///
    /// # Errors
    ///
    /// If packetdrill cannot be run, or the scratch folder cannot be written.
    pub fn all(&self, root: &Path, scripts: &[String]) -> io::Result<BTreeMap<String, Outcome>> {
        let commands = self.scratch.join("commands");
        commands::install(&commands, &self.program)?;
        let (next, outcomes) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..self.jobs.max(1))
                .map(|_| {
                    scope.spawn(|| {
                        while let Some(script) = scripts.get(next.fetch_add(1, Relaxed)) {
                            let outcome = self.one(root, script, &commands)?;
                            let mut outcomes = outcomes.lock().expect("no worker panics");
                            outcomes.insert(script.clone(), outcome);
                        }
                        Ok(())
                    })
                })
                .collect();
            workers
                .into_iter()
                .try_for_each(|worker| worker.join().expect("no worker panics"))
        })
        .map(|()| outcomes.into_inner().expect("no worker panics"))
    }

    fn one(&self, root: &Path, script: &str, commands: &Path) -> io::Result<Outcome> {
        let path = fs::canonicalize(root.join(script))?;
        let folder = path.parent().expect("a file stands in a folder");
        let stem = script.replace('/', "+");
        let mut command = match &self.under {
            Under::Kernel => {
                let mut command = Command::new("timeout");
                command.args([TIME_LIMIT, "unshare", "--net"]);
                command.arg(&self.packetdrill);
                command.args(&self.arguments).arg(&path);
                command
            }
            Under::Ours { object, flags } => {
                let settings = self.scratch.join(format!("{stem}.settings"));
                fs::write(&settings, "")?;
                // What a script writes to the running kernel's parameters goes to this stack's
                // settings instead.
                let copy = self.scratch.join(&stem);
                let text = fs::read_to_string(&path)?;
                let text = match conditions::resolved(&text, &self.defined) {
                    Ok(text) => text,
                    Err(unbalanced) => return Ok(Outcome::Fail(format!("{script}: {unbalanced}"))),
                };
                fs::write(&copy, commands::redirected(&text))?;
                // The device's MTU, which packetdrill does not pass on.
                let mtu = text.lines().find_map(|line| line.strip_prefix("--mtu="));
                let mtu = mtu.map(|mtu| format!(",mtu={}", mtu.trim()));
                let flags = format!("{flags}{}", mtu.unwrap_or_default());
                let mut paths = vec![commands.to_path_buf()];
                paths.extend(std::env::split_paths(
                    &std::env::var_os("PATH").unwrap_or_default(),
                ));
                let mut command = Command::new("timeout");
                command.arg(TIME_LIMIT).arg(&self.packetdrill);
                command
                    .arg(format!("--so_filename={}", object.display()))
                    .arg(format!("--so_flags={flags}"))
                    .args(&self.arguments)
                    .arg(&copy)
                    .env(
                        "PATH",
                        std::env::join_paths(paths).map_err(io::Error::other)?,
                    )
                    .env("LD_PRELOAD", object)
                    .env(SETTINGS_FILE, settings);
                command
            }
        };
        let output = command.current_dir(folder).stdin(Stdio::null()).output()?;
        if output.status.success() {
            return Ok(Outcome::Pass);
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let mut first = said
            .lines()
            .find(|line| !line.trim().is_empty())
            .map_or_else(|| output.status.to_string(), str::to_owned);
        let copy = self.scratch.join(&stem);
        first = first.replace(&copy.display().to_string(), script);
        first = first.replace(&path.display().to_string(), script);
        Ok(Outcome::Fail(first))
    }
}

/// The reason class of an expected failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// The script tests something that is not part of TCP, or not of this system.
    NotApplicable,
    /// The script expects another system's behaviour, and this stack differs on purpose.
    Difference,
    /// The script needs something that is not built.
    Missing,
    /// This stack is wrong.
    Bug,
}

impl Class {
    const NAMES: [(&'static str, Self); 4] = [
        ("not applicable", Self::NotApplicable),
        ("difference", Self::Difference),
        ("missing", Self::Missing),
        ("bug", Self::Bug),
    ];

    /// Returns the name in the list of expectations.
    #[must_use]
    pub fn name(self) -> &'static str {
        let known = Self::NAMES.iter().find(|(_, class)| *class == self);
        known.expect("all have names").0
    }
}

/// The reason why a list of expectations cannot be read; lines are counted from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Misread {
    /// A script comes before any reason.
    #[error("line {line}: a script before any reason")]
    NoReason {
        /// The line of the script.
        line: u32,
    },
    /// A script has a reason already.
    #[error("line {line}: {script} stands there twice")]
    Twice {
        /// The line where it is listed again.
        line: u32,
        /// Its path.
        script: String,
    },
    /// A line is neither a reason nor a script.
    #[error(
        "line {line}: neither CLASS: REASON with a class of {}, nor an indented path",
        Class::NAMES.map(|(name, _)| name).join(", ")
    )]
    Neither {
        /// The line.
        line: u32,
    },
}

/// Scripts that are expected to fail, with their reasons.
#[derive(Clone, Debug, Default)]
pub struct Expectations {
    /// Class and reason, in the order of the list.
    reasons: Vec<(Class, String)>,
    /// The index of each script's reason.
    scripts: BTreeMap<String, usize>,
}

impl Expectations {
    /// Parses a list: `CLASS: REASON` begins a group, followed by the paths of its scripts, each
    /// indented; `#` begins a comment.
    ///
    /// # Errors
    ///
    /// The line that cannot be read, and what is accepted.
    pub fn parse(text: &str) -> Result<Self, Misread> {
        let mut list = Self::default();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.split('#').next().unwrap_or_default();
            if line.trim().is_empty() {
                continue;
            }
            if line.starts_with(char::is_whitespace) {
                let Some(reason) = list.reasons.len().checked_sub(1) else {
                    return Err(Misread::NoReason { line: number });
                };
                let script = line.trim().to_owned();
                if list.scripts.insert(script.clone(), reason).is_some() {
                    return Err(Misread::Twice {
                        line: number,
                        script,
                    });
                }
                continue;
            }
            let class = line.split_once(": ").and_then(|(name, reason)| {
                let known = Class::NAMES.iter().find(|(known, _)| *known == name)?;
                Some((known.1, reason.trim().to_owned()))
            });
            let Some(reason) = class else {
                return Err(Misread::Neither { line: number });
            };
            list.reasons.push(reason);
        }
        Ok(list)
    }

    /// Returns the reason why a script is expected to fail, if there is one.
    #[must_use]
    pub fn of(&self, script: &str) -> Option<&(Class, String)> {
        self.scripts.get(script).map(|at| &self.reasons[*at])
    }

    /// Returns the differences from what was expected, one line each, including scripts of the list
    /// that were not run.
    #[must_use]
    pub fn surprises(&self, outcomes: &BTreeMap<String, Outcome>, partial: bool) -> Vec<String> {
        let mut surprises = Vec::new();
        for (script, outcome) in outcomes {
            match (self.of(script), outcome) {
                (None, Outcome::Fail(why)) => surprises.push(format!("{script} fails: {why}")),
                (Some((class, _)), Outcome::Pass) => surprises.push(format!(
                    "{script} passes, and is expected to fail ({})",
                    class.name()
                )),
                _ => {}
            }
        }
        if !partial {
            let unknown = self
                .scripts
                .keys()
                .filter(|one| !outcomes.contains_key(*one));
            surprises
                .extend(unknown.map(|one| format!("{one} is expected to fail and is not there")));
        }
        surprises
    }

    /// Returns how many scripts passed, and how many failed for each reason, as a Markdown table.
    #[must_use]
    pub fn summary(&self, outcomes: &BTreeMap<String, Outcome>) -> String {
        let passed = outcomes
            .values()
            .filter(|one| **one == Outcome::Pass)
            .count();
        let mut text = String::from("| outcome | scripts | why |\n|---|--:|---|\n");
        let _ = writeln!(text, "| pass | {passed} | |");
        let mut order: Vec<usize> = (0..self.reasons.len()).collect();
        order.sort_by_key(|at| self.reasons[*at].0);
        for at in order {
            let failed = self.scripts.iter().filter(|(script, reason)| {
                **reason == at && matches!(outcomes.get(*script), Some(Outcome::Fail(_)))
            });
            let (count, (class, reason)) = (failed.count(), &self.reasons[at]);
            if count > 0 {
                let _ = writeln!(text, "| {} | {count} | {reason} |", class.name());
            }
        }
        text
    }
}

/// Returns one line per script: its outcome under this stack and, if that was run, under the
/// kernel.
#[must_use]
pub fn table(
    ours: &BTreeMap<String, Outcome>,
    kernel: Option<&BTreeMap<String, Outcome>>,
    expected: &Expectations,
) -> String {
    let word = |outcome: Option<&Outcome>| match outcome {
        Some(Outcome::Pass) => "pass",
        Some(Outcome::Fail(_)) => "fail",
        None => "",
    };
    let mut text = String::from("| script | tinygram | kernel | why |\n|---|---|---|---|\n");
    for (script, outcome) in ours {
        let why = match (outcome, expected.of(script)) {
            (Outcome::Fail(_), Some((class, reason))) => format!("{}: {reason}", class.name()),
            _ => String::new(),
        };
        let kernel = word(kernel.and_then(|kernel| kernel.get(script)));
        let _ = writeln!(
            text,
            "| {script} | {} | {kernel} | {why} |",
            word(Some(outcome))
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "difference: the order of options\n  a/one.pkt  # first\n  b.pkt\n\nmissing: MD5\n\tc.pkt\n";

    fn outcomes(list: &[(&str, bool)]) -> BTreeMap<String, Outcome> {
        let outcome = |pass| match pass {
            true => Outcome::Pass,
            false => Outcome::Fail("x".into()),
        };
        list.iter()
            .map(|(name, pass)| ((*name).into(), outcome(*pass)))
            .collect()
    }

    #[test]
    fn only_what_was_not_expected_is_a_surprise() {
        let list = Expectations::parse(LIST).unwrap();
        let all = [
            ("a/one.pkt", false),
            ("b.pkt", false),
            ("c.pkt", false),
            ("d.pkt", true),
        ];
        assert_eq!(list.surprises(&outcomes(&all), false), Vec::<String>::new());
        let some = [("a/one.pkt", true), ("c.pkt", false), ("d.pkt", false)];
        assert_eq!(
            list.surprises(&outcomes(&some), false),
            [
                "a/one.pkt passes, and is expected to fail (difference)",
                "d.pkt fails: x",
                "b.pkt is expected to fail and is not there",
            ]
        );
        assert_eq!(list.surprises(&outcomes(&some), true).len(), 2);
    }

    #[test]
    fn a_list_that_is_not_understood_is_refused_with_its_line() {
        let wrong = |text| Expectations::parse(text).unwrap_err().to_string();
        assert!(wrong("  a.pkt\n").starts_with("line 1: a script before"));
        assert!(wrong("perhaps: b\n").starts_with("line 1: neither"));
        assert!(wrong("bug: b\n a.pkt\n a.pkt\n").starts_with("line 3: a.pkt stands"));
    }
}
