//! Plays a script against a connection and reports where they first differ.
//!
//! Timers that are due at a line's time fire before the line. A segment that left must be the next
//! line; a line that does not begin with `>` means that nothing left before it.

use std::collections::VecDeque;

use tinygram_engine::connection::{Connection, Wrote};
use tinygram_engine::sender::send_policy::{BlockedOn, SendPolicy};
use tinygram_engine::{Duration, Events, Instant, Outbox, Segment};

use crate::failure::{Failure, Parted, Played, same};
use crate::notation::{Wire, notation};
use crate::script::{Call, Claim, Ends, Event, Number, Returned, Script, What};
use crate::setup::{Instead, Stage, stage};

/// The events that a script can name.
pub(crate) const NEWS: [(&str, Events); 7] = [
    ("READABLE", Events::READABLE),
    ("WRITABLE", Events::WRITABLE),
    ("CONNECTED", Events::CONNECTED),
    ("PEER-CLOSED", Events::PEER_CLOSED),
    ("CLOSED", Events::CLOSED),
    ("RESET", Events::RESET),
    ("TIMED-OUT", Events::TIMED_OUT),
];

/// More wake-ups than this at one instant are a busy loop: the engine has nine timers.
const WAKEUPS_AT_ONE_INSTANT: u32 = 9;

/// Plays `script`.
pub(crate) fn play(script: &Script, instead: Instead<'_>) -> Result<(), Failure> {
    let staged = stage(&script.setup, instead).map_err(|refused| Failure {
        line: refused.line,
        text: refused.why,
        expected: "a setting as scenarios/README.md lists them".into(),
        got: "something else".into(),
    })?;
    let mut player = Player::new(staged);
    for event in &script.events {
        player.at(event).map_err(|parted| parted.at(event))?;
    }
    match script.events.last() {
        None => Ok(()),
        Some(last) => player.end().map_err(|parted| parted.at(last)),
    }
}

struct Player {
    connection: Connection,
    peer_window: u32,
    now: Instant,
    /// The time of the previous event, from which relative times count.
    base: Instant,
    outbox: Outbox,
    left: VecDeque<(Instant, Segment)>,
    news: Events,
    threads: Vec<Thread>,
}

struct Thread {
    name: String,
    /// Whether it wrote since it last slept.
    wrote: bool,
    asleep: Option<Asleep>,
}

/// A call that sleeps.
#[derive(Clone)]
struct Asleep {
    in_call: InCall,
    result: Option<Returned>,
    wakes: Option<Instant>,
    line: usize,
    text: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum InCall {
    Read { max: u64 },
    Write { len: u64, more: bool },
}

impl Player {
    fn new(staged: Stage) -> Self {
        Self {
            connection: staged.connection,
            peer_window: staged.peer_window,
            now: Instant::ZERO,
            base: Instant::ZERO,
            outbox: Outbox::new(),
            left: VecDeque::new(),
            news: Events::default(),
            threads: Vec::new(),
        }
    }

    fn at(&mut self, event: &Event) -> Played {
        let from = if event.relative {
            self.base
        } else {
            Instant::ZERO
        };
        let time = from + event.at;
        self.base = time;
        if let What::Leaves(wire) = &event.what {
            return self.leaves(time, wire);
        }
        while self.due(time) {
            self.wake_up()?;
        }
        self.nothing_left()?;
        self.now = time;
        match &event.what {
            What::Leaves(_) => unreachable!("left above"),
            What::Arrives(wire) => {
                let segment = wire.segment(self.peer_window);
                self.connection.on_segment(time, &segment, &mut self.outbox);
                self.collect()
            }
            What::Call(thread, call) => self.call(thread, call, event),
            What::Claim(claim) => self.claim(claim),
        }
    }

    fn end(&mut self) -> Played {
        self.nothing_left()?;
        let due = self.threads.iter().filter_map(|t| t.asleep.as_ref());
        match due.into_iter().find(|asleep| asleep.wakes.is_some()) {
            None => Ok(()),
            Some(asleep) => Err(Parted {
                expected: "the call returns".into(),
                got: "the script ends and the thread still sleeps".into(),
                elsewhere: Some((asleep.line, asleep.text.clone())),
            }),
        }
    }

    fn leaves(&mut self, time: Instant, wire: &Wire) -> Played {
        while self.left.is_empty() && self.due(time) {
            self.wake_up()?;
        }
        let expected = format!("{time} {}", describe(wire));
        match self.left.pop_front() {
            Some((at, segment)) if at == time && wire.describes(&segment) => {
                self.now = time;
                Ok(())
            }
            Some((at, segment)) => Err(Parted::new(expected, left(at, &segment))),
            None => Err(Parted::new(expected, self.nothing())),
        }
    }

    fn nothing_left(&self) -> Played {
        match self.left.front() {
            None => Ok(()),
            Some((at, segment)) => Err(Parted::new(
                "nothing leaves before this line",
                left(*at, segment),
            )),
        }
    }

    /// Returns why nothing left, as far as the connection can tell.
    fn nothing(&self) -> String {
        let mut text = String::from("nothing");
        if let Some(hold) = self.connection.sender().hold() {
            text += &format!("; {:?} holds what starts at {}", hold.why, hold.start);
        }
        if let Some((at, reason)) = self.connection.next_wakeup_reason() {
            text += &format!("; next timer {at} ({reason:?})");
        }
        text
    }

    /// Returns whether a timer is due by `time`.
    fn due(&self, time: Instant) -> bool {
        self.connection.next_wakeup().is_some_and(|at| at <= time)
    }

    fn wake_up(&mut self) -> Played {
        self.now = self
            .connection
            .next_wakeup()
            .unwrap_or(self.now)
            .max(self.now);
        for _ in 0..WAKEUPS_AT_ONE_INSTANT {
            self.connection.on_wakeup(self.now, &mut self.outbox);
            self.collect()?;
            if !self.due(self.now) {
                return Ok(());
            }
        }
        let reason = self
            .connection
            .next_wakeup_reason()
            .map(|(_, reason)| reason);
        Err(Parted::new(
            "a timer that fired is over",
            format!("{reason:?} wants to be woken for ever"),
        ))
    }

    /// Takes the connection's output and wakes the threads that it concerns.
    fn collect(&mut self) -> Played {
        let now = self.now;
        let segments = self.outbox.segments.drain(..);
        self.left.extend(segments.map(|segment| (now, segment)));
        let news = self.outbox.take_events();
        self.news.add(news);
        let over = [Events::RESET, Events::CLOSED, Events::TIMED_OUT];
        let over = over.into_iter().any(|gone| news.has(gone));
        let readable = news.has(Events::READABLE) || news.has(Events::PEER_CLOSED) || over;
        let writable = news.has(Events::WRITABLE) || over;
        for index in 0..self.threads.len() {
            let in_call = self.threads[index].asleep.as_ref().map(|a| a.in_call);
            match in_call {
                Some(InCall::Read { max }) if readable => {
                    self.connection.reader_resumes();
                    self.read(index, max)?;
                }
                Some(InCall::Write { len, more }) if writable => {
                    self.connection.write_resume(now);
                    self.write(index, len, more)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    #[expect(
        clippy::too_many_lines,
        reason = "one arm for each call of the notation"
    )]
    fn call(&mut self, thread: &str, call: &Call, event: &Event) -> Played {
        let now = self.now;
        let index = self.thread(thread);
        if self.threads[index].asleep.is_some() {
            return Err(Parted::new("the thread is awake", "it sleeps in a call"));
        }
        let asleep = |in_call, result, ends| Asleep {
            in_call,
            result,
            wakes: match ends {
                Ends::AtOnce => Some(now),
                Ends::After(length) => Some(now + length),
                Ends::Open => None,
            },
            line: event.line,
            text: event.text.clone(),
        };
        match *call {
            Call::Write {
                len,
                more,
                nonblocking: true,
                result,
                ..
            } => {
                let copied = self.connection.write(now, len, more, &mut self.outbox);
                self.threads[index].wrote |= copied > 0;
                self.collect()?;
                let expected = result.unwrap_or(Returned::Octets(len));
                same(&expected, &Returned::Octets(copied))
            }
            Call::Write {
                len,
                more,
                result,
                ends,
                ..
            } => {
                let in_call = InCall::Write { len, more };
                self.threads[index].asleep = Some(asleep(in_call, result, ends));
                self.connection.write_begin(now, len);
                self.write(index, len, more)?;
                self.slept_as_said(index, ends)
            }
            Call::Read { max, result, ends } => {
                let in_call = InCall::Read { max };
                self.threads[index].asleep = Some(asleep(in_call, result, ends));
                self.read(index, max)?;
                self.slept_as_said(index, ends)
            }
            Call::ReadPart(max) => {
                let octets = self.connection.read_part(max);
                same(&max, &octets)
            }
            Call::Poll => self.block(index, BlockedOn::Elsewhere),
            Call::Nodelay(on) => {
                self.connection.set_nodelay(now, on, &mut self.outbox);
                self.collect()
            }
            Call::Cork(on) => {
                self.connection.set_cork(now, on, &mut self.outbox);
                self.collect()
            }
            Call::Device { busy } => {
                self.connection.set_device_busy(now, busy, &mut self.outbox);
                self.collect()
            }
            Call::DeviceFull { full } => {
                self.connection.set_device_full(now, full, &mut self.outbox);
                self.collect()
            }
            Call::Policy(ref name) => {
                let policy = SendPolicy::named(name)
                    .ok_or_else(|| Parted::new("a registered policy", name.as_str()))?;
                self.connection
                    .set_send_policy(now, policy, &mut self.outbox);
                self.collect()
            }
            Call::Listen => {
                self.connection.listen();
                Ok(())
            }
            Call::Connect => {
                self.connection.connect(now, &mut self.outbox);
                self.collect()
            }
            Call::Close => {
                self.connection.close(now, &mut self.outbox);
                self.collect()
            }
            Call::Abandon => {
                self.connection.abandon(now, &mut self.outbox);
                self.collect()
            }
            Call::Abort => {
                self.connection.abort(&mut self.outbox);
                self.collect()
            }
        }
    }

    fn thread(&mut self, name: &str) -> usize {
        let known = self.threads.iter().position(|thread| thread.name == name);
        known.unwrap_or_else(|| {
            self.threads.push(Thread {
                name: name.into(),
                wrote: false,
                asleep: None,
            });
            self.threads.len() - 1
        })
    }

    /// Continues the write under way until it ends or sleeps.
    fn write(&mut self, index: usize, len: u64, more: bool) -> Played {
        loop {
            self.threads[index].wrote = true;
            match self.connection.write_step(self.now, more, &mut self.outbox) {
                Wrote::Piece(_) => self.collect()?,
                Wrote::Last(_) => {
                    self.collect()?;
                    return self.returns(index, Returned::Octets(len));
                }
                Wrote::Sleeps => return self.block(index, BlockedOn::Write),
                Wrote::Refused => return self.returns(index, Returned::Refused),
            }
        }
    }

    fn read(&mut self, index: usize, max: u64) -> Played {
        let octets = self.connection.read(self.now, max, &mut self.outbox);
        self.collect()?;
        let over = self.connection.receiver().at_end() || !self.connection.state().synchronised();
        if octets == 0 && !over {
            return self.block(index, BlockedOn::Read);
        }
        self.returns(index, Returned::Octets(octets))
    }

    fn block(&mut self, index: usize, on: BlockedOn) -> Played {
        let wrote = std::mem::take(&mut self.threads[index].wrote);
        self.connection
            .app_blocks(self.now, on, wrote, &mut self.outbox);
        self.collect()
    }

    fn returns(&mut self, index: usize, got: Returned) -> Played {
        let asleep = self.threads[index].asleep.take();
        let asleep = asleep.expect("a call that returns was under way");
        let expected = match (asleep.result, asleep.in_call) {
            (Some(result), _) => Some(result),
            (None, InCall::Write { len, .. }) => Some(Returned::Octets(len)),
            (None, InCall::Read { .. }) => None,
        };
        let in_time = match asleep.wakes {
            Some(at) if at != self.now => Err(Parted::new(
                format!("the call returns at {at}"),
                format!("it returned at {}", self.now),
            )),
            _ => Ok(()),
        };
        in_time
            .and_then(|()| expected.map_or(Ok(()), |expected| same(&expected, &got)))
            .map_err(|parted| Parted {
                elsewhere: Some((asleep.line, asleep.text)),
                ..parted
            })
    }

    fn slept_as_said(&self, index: usize, ends: Ends) -> Played {
        match (self.threads[index].asleep.is_some(), ends) {
            (true, Ends::AtOnce) => Err(Parted::new("the call returns at once", "it sleeps")),
            (false, Ends::After(_) | Ends::Open) => {
                Err(Parted::new("the call sleeps", "it returned at once"))
            }
            _ => Ok(()),
        }
    }

    fn claim(&mut self, claim: &Claim) -> Played {
        let sender = self.connection.sender();
        match *claim {
            Claim::State(state) => same(&state, &self.connection.state()),
            Claim::Hold(expected) => {
                same(&expected, &sender.hold().map(|hold| (hold.start, hold.why)))
            }
            Claim::Event(name) => {
                let news = std::mem::take(&mut self.news);
                let told = NEWS.iter().filter(|(_, one)| news.has(*one));
                let told: Vec<_> = told.map(|(name, _)| *name).collect();
                match told.contains(&name) {
                    true => Ok(()),
                    false => Err(Parted::new(name, format!("{told:?}"))),
                }
            }
            Claim::Number(number, expected) => {
                let got = match number {
                    Number::Cwnd => sender.vars().cwnd,
                    Number::Mss => u64::from(sender.vars().mss),
                    Number::Ssthresh => sender.vars().ssthresh,
                    Number::Buffered => sender.buffered(),
                    Number::Readable => self.connection.receiver().readable(),
                    Number::RtoMillis => sender.rtt().rto().as_nanos() / 1_000_000,
                };
                same(&expected, &got)
            }
            Claim::Shifts(send, receive) => same(
                &(send, receive),
                &(
                    u64::from(self.connection.send_window_shift()),
                    u64::from(self.connection.receive_window_shift()),
                ),
            ),
            Claim::Wakeup(expected) => {
                let at = self.connection.next_wakeup();
                let got = at.map(|at| at.since(self.now));
                let show = |length: Option<Duration>| {
                    length.map_or("never".into(), |length| format!("+{length}"))
                };
                match expected == got {
                    true => Ok(()),
                    false => Err(Parted::new(show(expected), show(got))),
                }
            }
        }
    }
}

fn left(at: Instant, segment: &Segment) -> String {
    format!("{at} {}", notation(segment))
}

/// Describes what a script asks of a segment, omitting what it leaves open.
fn describe(wire: &Wire) -> String {
    let full = notation(&wire.segment(0));
    match wire.window {
        Some(_) => full,
        None => full.replace(" win 0", ""),
    }
}
