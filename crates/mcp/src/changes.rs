//! Changes: each is a process, `tinygram set ... --for LENGTH`, which has it in the journal, and puts it back when its time
//! is over, when it is asked to, and when this server ends, however that ends.

use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use crate::Allowed;
use crate::refusal::Refusal;
use crate::run::{Call, Keep, Program, Running};
use crate::untrusted::name;

/// What may be changed, and what this server has changed.
pub(crate) struct Changes {
    allowed: Allowed,
    made: Mutex<Vec<Made>>,
}

/// A change, and the process that has it.
struct Made {
    numbers: Vec<u64>,
    wanted: Wanted,
    running: Running,
    out: BufReader<tokio::process::ChildStdout>,
}

/// What is to be changed.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) target: String,
    pub(crate) setting: String,
    pub(crate) lasting: Duration,
    /// Connections to come, too.
    pub(crate) follows: bool,
}

/// A change of this server that is in force.
pub(crate) struct OfServer {
    /// Those that the journal has given it.
    pub(crate) numbers: Vec<u64>,
    pub(crate) wanted: Wanted,
}

impl Changes {
    pub(crate) fn new(allowed: Allowed) -> Self {
        Self {
            allowed,
            made: Mutex::default(),
        }
    }

    /// Returns how long a change may last.
    pub(crate) fn longest(&self) -> Duration {
        self.allowed.longest
    }

    /// Makes a change, and returns the document of `tinygram set` about it, with the changes' numbers.
    pub(crate) async fn make(
        &self,
        program: &Program,
        wanted: Wanted,
        stop: &CancellationToken,
    ) -> Result<(Vec<u64>, String), Refusal> {
        self.check(&wanted)?;
        let mut made = self.made.lock().await;
        made.retain_mut(|one| one.running.goes_on());
        if made.len() >= MOST_CHANGES {
            return Err(Refusal::asked(format!(
                "{MOST_CHANGES} changes of this server are in force; accepted once one is over, or undone"
            )));
        }
        let mut running = Running::start(program.command(&self.call(&wanted)))
            .map_err(|error| Refusal::failed(VERB, -1, &crate::plain(&error)))?;
        let Some(out) = running.out() else {
            return Err(Refusal::Cancelled);
        };
        let mut out = BufReader::new(out);
        let read = tokio::select! {
            read = tokio::time::timeout(program.longest(), document(&mut out)) => read,
            () = stop.cancelled() => {
                running.end().await;
                return Err(Refusal::Cancelled);
            }
        };
        let Ok(read) = read else {
            running.end().await;
            return Err(Refusal::TooLong {
                verb: VERB,
                seconds: program.longest().as_secs(),
                instead: "nothing is left changed",
            });
        };
        let text = read.map_err(|error| Refusal::failed(VERB, -1, &crate::plain(&error)))?;
        let numbers = numbers(&text);
        // Where connections to come are followed, its process stays, whatever those that are open have.
        if numbers.is_empty() && (text.is_empty() || !wanted.follows) {
            return match text.is_empty() {
                // It has ended by itself and says why.
                true => {
                    let said = running.wait_and_read(Keep::End).await;
                    let (code, line) =
                        said.map_or((-1, String::new()), |said| (said.code, said.line));
                    Err(Refusal::failed(VERB, code, &line))
                }
                // Nothing had another value.
                false => {
                    running.end().await;
                    Ok((numbers, text))
                }
            };
        }
        made.push(Made {
            numbers: numbers.clone(),
            wanted,
            running,
            out,
        });
        Ok((numbers, text))
    }

    /// Puts a change back, and returns the document of `tinygram set` about it.
    pub(crate) async fn undo(&self, number: u64) -> Result<String, Refusal> {
        let mut made = self.made.lock().await;
        made.retain_mut(|one| one.running.goes_on());
        let Some(index) = made.iter().position(|one| one.numbers.contains(&number)) else {
            let numbers: Vec<_> = made
                .iter()
                .flat_map(|one| &one.numbers)
                .map(ToString::to_string)
                .collect();
            return Err(Refusal::asked(format!(
                "change {number}: none of this server's that is in force (accepted: {})",
                match numbers.is_empty() {
                    true => "none is in force".to_owned(),
                    false => numbers.join(", "),
                }
            )));
        };
        let mut one = made.remove(index);
        one.put_back()
            .await
            .map_err(|error| Refusal::failed(VERB, -1, &crate::plain(&error)))
    }

    /// Returns what of this server is in force, and gives each change the numbers that the journal has of its process by now:
    /// connections that came since have one of their own.
    pub(crate) async fn in_force(&self, journal: &[(u64, Option<u64>)]) -> Vec<OfServer> {
        let mut made = self.made.lock().await;
        made.retain_mut(|one| one.running.goes_on());
        for one in made.iter_mut() {
            let pid = one.running.pid().map(u64::from);
            let its = journal.iter().filter(|(_, of)| of.is_some() && *of == pid);
            for (number, _) in its {
                if !one.numbers.contains(number) {
                    one.numbers.push(*number);
                }
            }
        }
        made.iter()
            .map(|one| OfServer {
                numbers: one.numbers.clone(),
                wanted: one.wanted.clone(),
            })
            .collect()
    }

    /// Puts everything back, as the server ends.
    pub(crate) async fn put_all_back(&self) {
        let mut made = self.made.lock().await;
        for mut one in made.drain(..).rev() {
            let _ = one.put_back().await;
        }
    }

    /// Returns the command that lists what is in force.
    pub(crate) fn listing(&self) -> Call<'static> {
        let mut options = vec!["--list".into(), "--json".into()];
        options.extend(self.journal());
        Call {
            verb: VERB,
            options,
            words: Vec::new(),
            file: None,
            keep: Keep::All,
            instead: "ask again",
        }
    }

    /// Returns where the journal is, as the commands take it.
    pub(crate) fn journal(&self) -> [std::ffi::OsString; 2] {
        ["--journal".into(), self.allowed.journal.clone().into()]
    }

    fn call(&self, wanted: &Wanted) -> Call<'static> {
        let length = format!("{}ms", wanted.lasting.as_millis());
        let mut options = vec!["--json".into(), "--for".into(), length.into()];
        if wanted.follows {
            options.push("--follow".into());
        }
        options.extend(self.journal());
        Call {
            verb: VERB,
            options,
            words: vec![wanted.target.clone().into(), wanted.setting.clone().into()],
            file: None,
            keep: Keep::All,
            instead: "",
        }
    }

    /// Refuses in one sentence what is not allowed, and says what is.
    fn check(&self, wanted: &Wanted) -> Result<(), Refusal> {
        let Allowed {
            targets,
            settings,
            longest,
            ..
        } = &self.allowed;
        let is_allowed = targets.contains(&wanted.target)
            && settings.contains(&wanted.setting)
            && (LEAST..=*longest).contains(&wanted.lasting);
        match is_allowed {
            true => Ok(()),
            false => Err(Refusal::asked(format!(
                "{} on {} for {} s is not allowed; this server may set {} on {}, for {} to {} s",
                name(&wanted.setting),
                name(&wanted.target),
                wanted.lasting.as_secs_f64(),
                settings.join(" or "),
                targets.join(" or "),
                LEAST.as_secs_f64(),
                longest.as_secs_f64()
            ))),
        }
    }
}

impl Made {
    /// Ends the process, which puts back what it set, and returns what it says about that.
    async fn put_back(&mut self) -> std::io::Result<String> {
        self.running.end().await;
        let mut said = String::new();
        (&mut self.out)
            .take(MOST_SAID)
            .read_to_string(&mut said)
            .await?;
        Ok(said)
    }
}

/// Reads one document: its last line is a brace alone. Empty: the process has ended and said nothing.
async fn document(out: &mut BufReader<tokio::process::ChildStdout>) -> std::io::Result<String> {
    let mut text = String::new();
    let mut lines = out.take(MOST_SAID);
    loop {
        let begun = text.len();
        let count = lines.read_line(&mut text).await?;
        if count == 0 || text[begun..].trim_end() == "}" {
            return Ok(text);
        }
    }
}

/// Returns the numbers that the journal has given.
fn numbers(document: &str) -> Vec<u64> {
    let document: serde_json::Value = serde_json::from_str(document).unwrap_or_default();
    let settings = document["settings"].as_array().into_iter().flatten();
    let of_sockets =
        settings.flat_map(|setting| setting["changes"].as_array().cloned().unwrap_or_default());
    let knobs = document["knobs"].as_array().into_iter().flatten();
    let of_knobs = knobs.map(|knob| knob["change"].clone());
    of_sockets
        .chain(of_knobs)
        .filter_map(|number| number.as_u64())
        .collect()
}

const VERB: &str = "set";
/// The shortest that `tinygram set --for` takes.
const LEAST: Duration = Duration::from_millis(500);
/// The most changes of a server at a time.
const MOST_CHANGES: usize = 8;
/// The most that is read of what a process says about a change, in octets.
const MOST_SAID: u64 = 1 << 20;
