//! Asks the kernel: BPF programs report each hold.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tinygram_diagnose::{Kind, Tier};
use tinygram_watch::finding::{Facts, Finding, Part};
use tinygram_watch::judge::Judge;
use tinygram_watch::kernel::{Options, Source};
use tinygram_watch::who::Processes;

use super::{Looked, Stall};
use crate::exit::{Failure, plain};
use crate::supervise;
use crate::verbs::watch::sentence;

/// Returns what is asked of the kernel: every hold of the command's processes, with the stacks of
/// the writes.
pub(super) fn options() -> Options {
    Options {
        least_hold: Duration::ZERO,
        // Our own process: the command is its child, and so on.
        tree: Some(std::process::id()),
        stacks: STACKS,
        ..Options::default()
    }
}

/// Runs the command to its end.
pub(super) fn look(command: &[String], mut source: Source) -> Result<Looked, Failure> {
    let failed = |doing: &str| {
        let doing = format!("{doing} {}", command[0]);
        move |error| Failure::Io { doing, error }
    };
    let supervisor =
        supervise::stand_by().map_err(failed("listening for signals to pass on to"))?;
    let child = Command::new(&command[0]).args(&command[1..]).spawn();
    let child =
        child.map_err(|error| Failure::Input(format!("{}: {}", command[0], plain(&error))))?;

    let mut judge = Judge::default();
    let mut processes = Processes::default();
    let (mut stalls, mut case) = (Vec::new(), None);
    let (mut apart, mut prompt) = (0, 0);
    let ended = AtomicBool::new(false);
    let status = std::thread::scope(|scope| {
        let waits = scope.spawn(|| {
            let status = supervisor.wait(&child);
            ended.store(true, Ordering::Release);
            status
        });
        let mut last_look = false;
        while !last_look {
            last_look = ended.load(Ordering::Acquire);
            let mut found = Vec::new();
            source.poll(BREATH, |event| {
                judge.take(event, |finding| found.push(finding));
            });
            if last_look {
                judge.finish(|finding| found.push(finding));
            }
            for mut finding in found {
                finding.side = processes.side(&finding.process, &finding.connection);
                match weigh(&finding) {
                    Weight::Stall => {
                        let process = processes.of(&finding.process, finding.start_ns);
                        case.get_or_insert_with(|| finding.case());
                        stalls.push(Stall {
                            said: sentence::of(&finding, process),
                            times: 1,
                            place: place(&finding),
                        });
                    }
                    Weight::Apart => apart += 1,
                    Weight::Prompt => prompt += 1,
                    Weight::Nothing => {}
                }
            }
        }
        waits.join().expect("the waiting thread does not panic")
    })
    .map_err(failed("waiting for"))?;
    let lost = source.lost();
    Ok(Looked {
        status,
        stalls,
        case,
        apart,
        prompt,
        slower: judge.excused.slower,
        way: match lost {
            0 => "asked of the kernel (BPF)".to_owned(),
            lost => format!("asked of the kernel (BPF); {lost} events lost"),
        },
        blind: (lost > 0).then(|| format!("{lost} events were lost")),
    })
}

enum Weight {
    Stall,
    Apart,
    Prompt,
    Nothing,
}

/// Returns how a finding counts, by whether the process waited for its peer while the segment was
/// held.
fn weigh(finding: &Finding) -> Weight {
    match finding.facts {
        Facts::Held { slept, .. } if finding.part == Part::Sent => {
            match slept && finding.tier >= Tier::Likely {
                // Whether such a hold occurs depends on which of two threads is faster.
                true if finding.kind == Kind::NagleRoundTrip => Weight::Prompt,
                true => Weight::Stall,
                false => Weight::Apart,
            }
        }
        _ => Weight::Nothing,
    }
}

fn place(finding: &Finding) -> Option<(String, u32)> {
    let call = finding.call.as_ref()?;
    Some((call.file.clone()?, call.line?))
}

const BREATH: Duration = Duration::from_millis(50);
/// Per second and processor. Each is 32 kB of half a ring of 2 MB, which is emptied every 50 ms.
const STACKS: u32 = 512;
