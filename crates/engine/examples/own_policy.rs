//! Defines a send policy with a memory: it allows a number of unacknowledged runts, while Nagle
//! allows one and TCP_NODELAY any number. Prints how many segments each of the three policies sends
//! for the same writes, and for which reasons it held how often. The policy names itself and its reason.
//!
//! ```console
//! $ cargo run -p tinygram-engine --example own_policy
//! ```

use std::collections::VecDeque;

use tinygram_engine::connection::InvalidConfig;
use tinygram_engine::profile::{Profile, Sizes};
use tinygram_engine::sender::send_policy::{
    Because, Moment, Offer, Rule, SendPolicy, Vars, Verdict, Why,
};
use tinygram_engine::{Connection, Duration, Instant, Offset, Outbox, Segment};

/// Allows this many unacknowledged runts.
#[derive(Clone, Debug)]
struct AtMost {
    runts: usize,
    /// The ends of those that were sent, the oldest first.
    outstanding: VecDeque<Offset>,
}

impl AtMost {
    fn new(runts: usize) -> Self {
        Self {
            runts,
            outstanding: VecDeque::new(),
        }
    }
}

impl Rule for AtMost {
    fn name(&self) -> &str {
        "at-most"
    }

    /// Names the reason `Own(0)` below.
    fn reason(&self, _: u8) -> &str {
        "enough-runts-under-way"
    }

    /// Pure, because it may be asked twice about one runt.
    fn decide(&self, _: &Offer, vars: &Vars) -> Verdict {
        if vars.idle() {
            Verdict::Send(Because::Idle)
        } else if self.outstanding.len() < self.runts {
            Verdict::Send(Because::NoSmallOutstanding)
        } else {
            Verdict::hold(Why::Own(0))
        }
    }

    /// Updates the memory.
    fn observe(&mut self, moment: Moment, vars: &Vars) {
        match moment {
            Moment::Sent {
                span, short: true, ..
            } => self.outstanding.push_back(span.end),
            Moment::AckArrived => self.outstanding.retain(|end| *end > vars.una),
            _ => {}
        }
    }
}

fn main() -> Result<(), InvalidConfig> {
    let policies = [
        SendPolicy::Nagle,
        SendPolicy::custom(AtMost::new(3)),
        SendPolicy::Off,
    ];
    println!(
        "{:>8} {:>9} {:>12}  held",
        "policy", "segments", "last arrives"
    );
    for policy in policies {
        let name = policy.to_string();
        let (typing, last) = keystrokes(policy)?;
        let segments = typing.sender().counters().data_segments;
        let holds = typing.sender().holds();
        let held: Vec<_> = holds
            .map(|(reason, times)| format!("{times} {reason}"))
            .collect();
        println!("{name:>8} {segments:>9} {last:>10} s  {}", held.join(", "));
    }
    Ok(())
}

/// Writes a hundred octets, one every 5 ms, to a peer that is 25 ms away. Returns the end that wrote,
/// and when the last of them arrived.
fn keystrokes(policy: SendPolicy) -> Result<(Connection, Instant), InvalidConfig> {
    const DELAY: Duration = Duration::from_millis(25);
    const EVERY: Duration = Duration::from_millis(5);
    let sizes = Sizes {
        mss: 1460,
        send_buffer: 65_536,
        receive_buffer: 65_536,
    };
    let typing = Profile::LINUX_6
        .builder(sizes)
        .send_policy(policy)
        .build()?;
    let reading = Profile::LINUX_6.builder(sizes).build()?;
    let mut ends = [&typing, &reading].map(|config| Connection::established(config, 65_536));
    let mut line: VecDeque<(Instant, usize, Segment)> = VecDeque::new();
    let (mut now, mut key) = (Instant::ZERO, Instant::ZERO);
    let (mut typed, mut read, mut out) = (0, 0, Outbox::new());
    while read < 100 {
        let keys = (typed < 100).then_some(key);
        let arrival = line.front().map(|(at, ..)| *at);
        let timers = ends.iter().filter_map(Connection::next_wakeup);
        now = timers.chain(arrival).chain(keys).min().unwrap_or(now);
        let end = if let Some((_, end, segment)) = line.pop_front_if(|(at, ..)| *at == now) {
            ends[end].on_segment(now, &segment, &mut out);
            end
        } else if keys == Some(now) {
            typed += ends[0].write(now, 1, false, &mut out);
            key += EVERY;
            0
        } else {
            let end = usize::from(ends[0].next_wakeup() != Some(now));
            ends[end].on_wakeup(now, &mut out);
            end
        };
        if end == 1 {
            read += ends[1].read(now, u64::MAX, &mut out);
        }
        line.extend(out.segments.drain(..).map(|it| (now + DELAY, 1 - end, it)));
    }
    let [typing, _] = ends;
    Ok((typing, now))
}
