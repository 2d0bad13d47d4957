//! Plays every script of `scenarios/`: each is a test of its own with its file's name.
//!
//! A script of a policy must also fail under the plain rules, otherwise it would prove nothing. All
//! scripts of a policy together distinguish it from every other policy.

mod failure;
mod notation;
mod play;
mod script;
mod setup;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use tinygram_engine::receiver::ack_policy::AckPolicy;
use tinygram_engine::sender::send_policy::SendPolicy;

use notation::{notation, wire};
use play::play;
use script::{Script, What};
use setup::Instead;

/// What a script is about, as its folder says.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Subject {
    /// `scenarios/minshall`: the send policy of that name.
    Send(&'static str),
    /// `scenarios/ack/every-second`: the ACK policy of that name.
    Ack(&'static str),
    /// `scenarios/protocol/close`: no policy.
    Protocol,
}

/// Policies that differ only where a host has several connections, of which a script has one.
const SAME_FOR_ONE: [[&str; 2]; 1] = [["toggle", "toggle-host"]];

/// The plain rules; a script that passes under both says nothing about its policy.
const PLAIN_SEND: [&str; 2] = ["nagle", "off"];
const PLAIN_ACK: [&str; 2] = ["every-segment", "bytes-consumed"];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let scripts = match read_all() {
        Ok(scripts) => scripts,
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::FAILURE;
        }
    };
    let mut trials: Vec<_> = scripts.iter().cloned().map(one_script).collect();
    let sends = SendPolicy::LIST.iter().map(|entry| entry.name);
    let acks = AckPolicy::LIST.iter().map(|entry| entry.name);
    for subject in sends.map(Subject::Send).chain(acks.map(Subject::Ack)) {
        trials.push(told_apart(subject, &scripts));
    }
    trials.push(notation_is_read_as_written(scripts));
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Every script below `scenarios/`, in order of its name.
fn read_all() -> Result<Vec<(Subject, Script)>, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut files = Vec::new();
    collect(&root, &mut files)?;
    files.sort();
    files
        .iter()
        .map(|file| {
            let stem = file.strip_prefix(&root).expect("found below the root");
            let name = stem.with_extension("").display().to_string();
            let text = fs::read_to_string(file).map_err(|e| format!("{name}: {e}"))?;
            let script = Script::parse(&name, &text)
                .map_err(|refused| format!("scenarios/{name}.pkt, {refused}"))?;
            Ok((subject(&name)?, script))
        })
        .collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for entry in entries {
        let path = entry.map_err(|e| e.to_string())?.path();
        if path.is_dir() {
            // Those in packetdrill's own notation are for packetdrill (book/src/evidence/conformance.md).
            if !path.ends_with("scenarios/packetdrill") {
                collect(&path, files)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "pkt") {
            files.push(path);
        }
    }
    Ok(())
}

fn subject(name: &str) -> Result<Subject, String> {
    let stranger = || format!("scenarios/{name}.pkt stands in the folder of no policy");
    match name.split('/').collect::<Vec<_>>().as_slice() {
        ["protocol", ..] => Ok(Subject::Protocol),
        ["ack", folder, _] => AckPolicy::LIST
            .iter()
            .find(|entry| entry.name == *folder)
            .map(|entry| Subject::Ack(entry.name))
            .ok_or_else(stranger),
        [folder, _] => SendPolicy::LIST
            .iter()
            .find(|entry| entry.name == *folder)
            .map(|entry| Subject::Send(entry.name))
            .ok_or_else(stranger),
        _ => Err(stranger()),
    }
}

impl Subject {
    /// Returns the line that the setup must contain for this subject.
    fn setting(&self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Send(name) => Some(("policy", name)),
            Self::Ack(name) => Some(("ack", name)),
            Self::Protocol => None,
        }
    }

    fn folder(&self) -> String {
        match self {
            Self::Send(name) => (*name).into(),
            Self::Ack(name) => format!("ack/{name}"),
            Self::Protocol => "protocol".into(),
        }
    }

    /// Returns this connection under another policy of the same kind.
    fn instead<'a>(&self, other: &'a str) -> Instead<'a> {
        match self {
            Self::Send(_) => Instead {
                send: Some(other),
                ..Instead::default()
            },
            Self::Ack(_) => Instead {
                ack: Some(other),
                ..Instead::default()
            },
            Self::Protocol => Instead::default(),
        }
    }

    /// Returns the other policies of the same kind.
    fn others(&self) -> Vec<&'static str> {
        let (mine, all): (_, Vec<_>) = match self {
            Self::Send(name) => (name, SendPolicy::LIST.iter().map(|e| e.name).collect()),
            Self::Ack(name) => (name, AckPolicy::LIST.iter().map(|e| e.name).collect()),
            Self::Protocol => return Vec::new(),
        };
        let alike = |name: &str| {
            let same = SAME_FOR_ONE.iter().find(|same| same.contains(mine));
            name == *mine || same.is_some_and(|same| same.contains(&name))
        };
        all.into_iter().filter(|name| !alike(name)).collect()
    }

    fn plain(&self) -> Vec<&'static str> {
        let plain = match self {
            Self::Send(_) => PLAIN_SEND,
            Self::Ack(_) => PLAIN_ACK,
            Self::Protocol => return Vec::new(),
        };
        let others = self.others();
        plain.into_iter().filter(|n| others.contains(n)).collect()
    }
}

/// Checks that the script passes, and that it fails under the plain rules.
fn one_script((subject, script): (Subject, Script)) -> Trial {
    Trial::test(script.name.clone(), move || {
        let repeat = format!(
            "repeat: cargo test -p tinygram-engine --test scenarios -- --exact {}",
            script.name
        );
        if let Some((key, name)) = subject.setting() {
            let says_so = script.setup.settings.iter().any(|setting| {
                setting.key == key && setting.values.first().is_some_and(|value| value == name)
            });
            if !says_so {
                let path = script.path();
                return Err(format!("{path} has no line `{key} {name}`").into());
            }
        }
        play(&script, Instead::default())
            .map_err(|failure| Failed::from(format!("{}, {failure}\n{repeat}", script.path())))?;
        let plain = subject.plain();
        let holds = |name: &&str| play(&script, subject.instead(name)).is_ok();
        if !plain.is_empty() && plain.iter().all(holds) {
            let (path, plain) = (script.path(), plain.join(" and "));
            return Err(format!("{path} holds under {plain}, too: it proves nothing").into());
        }
        Ok(())
    })
}

/// Checks that every segment of every script, written out in full, is parsed as the same segment.
fn notation_is_read_as_written(scripts: Vec<(Subject, Script)>) -> Trial {
    Trial::test("the notation is read as it is written", move || {
        let events = scripts.iter().flat_map(|(_, script)| &script.events);
        let segments = events.filter_map(|event| match &event.what {
            What::Leaves(wire) | What::Arrives(wire) => Some(wire.segment(1000)),
            What::Call(..) | What::Claim(_) => None,
        });
        for segment in segments {
            let written = notation(&segment);
            let read = wire(&written).map_err(|why| format!("{written}: {why}"))?;
            if read.segment(0) != segment || !read.describes(&segment) {
                return Err(format!("{written} is read as {}", notation(&read.segment(0))).into());
            }
        }
        Ok(())
    })
}

/// Checks that no other policy passes all scripts of this one.
fn told_apart(subject: Subject, scripts: &[(Subject, Script)]) -> Trial {
    let name = format!("{} differs from every other", subject.folder());
    let mine = scripts.iter().filter(|(other, _)| *other == subject);
    let mine: Vec<_> = mine.map(|(_, script)| script.clone()).collect();
    Trial::test(name, move || {
        if mine.is_empty() {
            return Err(format!("no script in scenarios/{}", subject.folder()).into());
        }
        let passes = |name: &&str| {
            mine.iter()
                .all(|script| play(script, subject.instead(name)).is_ok())
        };
        let same: Vec<_> = subject.others().into_iter().filter(passes).collect();
        match same.as_slice() {
            [] => Ok(()),
            same => Err(format!(
                "the scripts of scenarios/{} hold under {}, too",
                subject.folder(),
                same.join(", ")
            )
            .into()),
        }
    })
}
