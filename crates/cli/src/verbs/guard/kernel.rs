//! Asks the kernel: BPF programs report each hold.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tinygram_stalls::thresholds::UNSEEN_TIMER_NS;
use tinygram_stalls::{Kind, Side};
use tinygram_watch::event::{Release, Timer};
use tinygram_watch::finding::{Facts, Finding, Part};
use tinygram_watch::judge::Judge;
use tinygram_watch::kernel::recording::Recording;
use tinygram_watch::kernel::{Source, SourceOptions};
use tinygram_watch::seen::Seen;
use tinygram_watch::site::CallSite;
use tinygram_watch::who::Processes;

use super::looked::{Looked, Replayed, Stall};
use crate::outcome::Failure;
use crate::supervise;
use crate::verbs::watch::sentence;

/// Returns what is asked of the kernel: every hold of the command's processes, with the stacks of
/// the writes.
pub(super) fn options() -> SourceOptions {
    SourceOptions {
        least_hold: Duration::ZERO,
        // Our own process: the command is its child, and so on.
        tree: Some(std::process::id()),
        stacks: STACKS,
        by_connection: true,
        ..SourceOptions::default()
    }
}

/// Runs the command to its end.
pub(super) fn look(command: &[String], mut source: Source) -> Result<Looked, Failure> {
    let mut program = Command::new(&command[0]);
    program.args(&command[1..]);
    let running = supervise::stand_by()?.start(program)?;

    let mut judge = judge(source.sees_timers());
    let mut tally = Weighed::default();
    let mut processes = Processes::default();
    let mut seen = Seen {
        writes: Some(0),
        ..Seen::default()
    };
    let ended = AtomicBool::new(false);
    let status = std::thread::scope(|scope| {
        let ended = &ended;
        let waits = scope.spawn(move || {
            let status = running.wait();
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
            for finding in found {
                tally.take(finding, &mut processes);
            }
            for sight in source.sights() {
                seen += sight.seen;
            }
        }
        waits.join().expect("the waiting thread does not panic")
    })?;
    for sight in source.open_sights() {
        seen += sight.seen;
    }
    let lost = source.lost();
    Ok(Looked {
        status,
        stalls: tally.stalls.into_iter().map(|(_, stall)| stall).collect(),
        apart: tally.apart,
        prompt: tally.prompt,
        slower: Some(judge.excused.slower),
        seen,
        segments_unknown: 0,
        way: match lost {
            0 => "asked of the kernel (BPF)".to_owned(),
            lost => format!("asked of the kernel (BPF); {lost} events lost"),
        },
        blind: (lost > 0).then(|| format!("{lost} events were lost")),
    })
}

/// Judges a recorded run again.
pub(super) fn replay(recording: Recording) -> Replayed {
    let mut judge = judge(recording.sees_timers);
    let mut tally = Weighed::default();
    // The processes have ended.
    let mut processes = Processes::default();
    let mut found = Vec::new();
    for event in recording.events {
        judge.take(event, |finding| found.push(finding));
    }
    judge.finish(|finding| found.push(finding));
    for finding in found {
        tally.take(finding, &mut processes);
    }
    Replayed {
        stalls: tally.stalls.into_iter().map(|(_, stall)| stall).collect(),
        apart: tally.apart,
        prompt: tally.prompt,
        is_cut: recording.is_cut,
    }
}

fn judge(sees_timers: bool) -> Judge {
    match sees_timers {
        true => Judge::that_sees_timers(),
        false => Judge::default(),
    }
}

/// The findings so far, weighed.
#[derive(Default)]
struct Weighed {
    /// One for each kind, process and line: a repeated stall is said once.
    stalls: Vec<(Habit, Stall)>,
    apart: u64,
    prompt: u64,
}

/// What is the same in a stall that is repeated.
struct Habit {
    kind: Kind,
    side: Side,
    process: String,
    /// The server's port.
    service: u16,
    call: Option<Arc<CallSite>>,
}

impl Habit {
    /// Returns whether this is the same habit; the line is not known of every write.
    fn is(&self, other: &Self) -> bool {
        let same_call = match (&self.call, &other.call) {
            (Some(one), Some(two)) => one.is_at(two),
            _ => true,
        };
        same_call
            && (self.kind, self.side, &self.process, self.service)
                == (other.kind, other.side, &other.process, other.service)
    }
}

impl Weighed {
    fn take(&mut self, mut finding: Finding, processes: &mut Processes) {
        finding.side = processes.side(&finding.process, &finding.connection);
        match weigh(&finding) {
            Weight::Stall => self.add(&finding, processes),
            Weight::Apart => self.apart += 1,
            Weight::Prompt => self.prompt += 1,
            Weight::Nothing => {}
        }
    }

    fn add(&mut self, finding: &Finding, processes: &mut Processes) {
        let process = processes.of(&finding.process, finding.start_ns);
        let service = match finding.side {
            Side::Server => finding.connection.local,
            Side::Client => finding.connection.remote,
        };
        let habit = Habit {
            kind: finding.kind,
            side: finding.side,
            process: process.name.clone(),
            service: service.port(),
            call: finding.call.clone(),
        };
        let mut stall = Stall {
            said: sentence::of(finding, process),
            times: 1,
            cost_ns: finding.cost.time_ns,
            case: finding.case(),
            places: place(finding).into_iter().collect(),
            elsewhere: finding.call.is_none(),
        };
        let Some(known) = self.stalls.iter_mut().find(|(known, _)| known.is(&habit)) else {
            self.stalls.push((habit, stall));
            return;
        };
        // The sentence that names the line is said.
        if precision(known.0.call.as_ref()) >= precision(habit.call.as_ref()) {
            (stall.said, stall.places) = (known.1.said.clone(), known.1.places.clone());
        } else {
            known.0.call = habit.call;
        }
        stall.times += known.1.times;
        stall.cost_ns += known.1.cost_ns;
        stall.elsewhere |= known.1.elsewhere;
        stall.case = known.1.case;
        known.1 = stall;
    }
}

enum Weight {
    Stall,
    Apart,
    Prompt,
    Nothing,
}

/// Returns how a finding counts, by whether the process waited for its peer while the segment was
/// held, and whether the peer's timer of delayed acknowledgments made it wait.
fn weigh(finding: &Finding) -> Weight {
    let Facts::Held {
        slept,
        timer,
        release,
        ..
    } = finding.facts
    else {
        return Weight::Nothing;
    };
    if finding.part != Part::Sent {
        return Weight::Nothing;
    }
    if !slept || !finding.tier.accuses() {
        return Weight::Apart;
    }
    let is_delayed = match timer {
        // Whether a hold of a round trip occurs depends on which of two threads is faster.
        _ if finding.kind == Kind::NagleRoundTrip => false,
        // Something else than an acknowledgment let it go.
        _ if release != Release::Ack => true,
        Timer::Expired => true,
        // The receiver's thread read late, on a busy machine, and acknowledged by that.
        Timer::DidNot => false,
        Timer::Unknown => finding.cost.time_ns >= UNSEEN_TIMER_NS,
    };
    match is_delayed {
        true => Weight::Stall,
        false => Weight::Prompt,
    }
}

/// Returns how precisely a write's place is known: 0 is not at all, 1 is its function, 2 its line.
fn precision(call: Option<&Arc<CallSite>>) -> u8 {
    call.map_or(0, |call| 1 + u8::from(call.line.is_some()))
}

fn place(finding: &Finding) -> Option<(String, u32)> {
    let call = finding.call.as_ref()?;
    Some((call.file.clone()?, call.line?))
}

const BREATH: Duration = Duration::from_millis(50);
/// Per second and processor. Each is 32 kB of half a ring of 2 MB, which is emptied every 50 ms.
const STACKS: u32 = 512;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verbs::watch::made;

    /// A stall of a write by this call: its function, and its line of client.py.
    fn stall(call: Option<(&str, Option<u32>)>) -> Finding {
        let (mut finding, _) = made::stall(std::process::id());
        finding.side = Side::Client;
        if let Facts::Held { slept, timer, .. } = &mut finding.facts {
            (*slept, *timer) = (true, Timer::Expired);
        }
        finding.call = call.map(|(function, line)| {
            Arc::new(CallSite {
                function: function.into(),
                file: Some("client.py".into()),
                line,
                stack: Vec::new(),
                unresolved: None,
            })
        });
        finding
    }

    /// It is said with the stalls whose line is known, and is not accepted with them: it may be another line's.
    #[test]
    fn a_stall_of_an_unknown_call_is_of_no_known_line() {
        let line = Some(("ask", Some(40)));
        let function = Some(("ask", None));
        for (calls, elsewhere) in [
            ([line, function], false),
            ([function, line], false),
            ([line, None], true),
            ([None, line], true),
        ] {
            let (mut tally, mut processes) = (Weighed::default(), Processes::default());
            for call in calls {
                tally.add(&stall(call), &mut processes);
            }
            let [(_, stall)] = &tally.stalls[..] else {
                panic!("{} stalls of {calls:?}", tally.stalls.len());
            };
            assert_eq!((stall.times, stall.elsewhere), (2, elsewhere), "{calls:?}");
            assert_eq!(stall.places, [("client.py".to_owned(), 40)], "{calls:?}");
        }
    }
}
