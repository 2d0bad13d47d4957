//! Davids' traces: 500 octets in 50 writes, under Nagle's rule with a limit.

use std::time::Duration;

use tinygram_naglemark_live::{Heard, Piece, Talk};
use tinygram_papers::Standard;
use tinygram_papers::davids::published::{Published, TRACES};
use tinygram_papers::davids::trace::{AckClock, Parameters};
use tinygram_papers::experiment::{Effort, Outcome};
use tinygram_papers::value::PaperValue;

use super::{ETHERNET_MTU, Here, in_kernel, ours, text};

/// Ethernet's rate in bits per second; the article gives none.
const RATE: u64 = 10_000_000;
/// Longer than Linux delays an acknowledgment.
const REST: Duration = Duration::from_millis(250);
/// Linux acknowledges at once while a connection is new.
const WARM_UP: usize = 3;
const OWN_CLOCK: &str = "its clock of acknowledgments ticks every 50 ms; Linux's timer takes 40 ms or more from the data on, and has no \
                         tick";

pub(in super::super) fn run(effort: &Effort) -> Outcome {
    let mut here = Here::over(Some(RATE), Duration::ZERO, ETHERNET_MTU, effort.seed);
    for published in &TRACES {
        trace(&mut here, published);
    }
    let parameters = vec![
        ours("link", "10 Mbit/s, no delay", "the article gives no rate"),
        ours(
            "ACK clock",
            "Linux's delayed acknowledgments",
            "40 to 200 ms, by the times between segments; no free-running tick",
        ),
    ];
    let notes = vec![
        "The limit is that of the policy naglim. A reader that only reads acknowledges each small segment at once on Linux, so that \
         the rule holds nothing for long; the article's receiver delayed all of them."
            .into(),
        "In a conversation an acknowledgment comes after 40 ms instead of at a tick of 200 ms: where the article's trace waits for several \
         of them more packets leave here, and the last octets wait less. Without the rule (traces 3 and 4) every write is a packet, on any clock."
            .into(),
    ];
    here.outcome(parameters, notes)
}

fn trace(here: &mut Here, published: &Published) {
    let slow = matches!(published.parameters.ack_clock, AckClock::Cyclic { period, .. } if period.as_millis_f64() < 200.0);
    if slow {
        let cell = vec![
            ("trace", PaperValue::Count(published.trace.into())),
            ("measure", text("data")),
        ];
        return here.cannot(cell, None, OWN_CLOCK);
    }
    for reader in [Reader::ONLY_READS, Reader::CONVERSES] {
        reader.trace(here, published);
    }
}

/// What the end that reads has done before. Linux delays acknowledgments of small segments only in a conversation.
struct Reader {
    name: &'static str,
    rest: Duration,
}

impl Reader {
    /// It has been silent for so long that the connection counts as one-way again.
    const ONLY_READS: Self = Self {
        name: "only reads",
        rest: REST,
    };
    /// It has answered within the time that an acknowledgment is delayed.
    const CONVERSES: Self = Self {
        name: "in a conversation",
        rest: Duration::from_millis(5),
    };

    fn trace(&self, here: &mut Here, published: &Published) {
        let cell = |measure: &str| {
            vec![
                ("trace", PaperValue::Count(published.trace.into())),
                ("reader", text(self.name)),
                ("measure", text(measure)),
            ]
        };
        let heard = here.talk(&talk(&published.parameters, self.rest));
        let last = heard.map(|mut heard| heard.pop().expect("an answer"));
        let count = |of: &dyn Fn(&Heard) -> u64| {
            last.as_ref()
                .map(|it| PaperValue::Count(of(it)))
                .map_err(Clone::clone)
        };
        let printed =
            |count: Option<u64>| count.map(|count| Standard::printed(PaperValue::Count(count)));
        let (data, acks) = (count(&|it| it.data_segments), count(&|it| it.acks));
        let packets = count(&|it| it.data_segments + it.acks);
        let sending = last
            .as_ref()
            .map_err(Clone::clone)
            .map(|it| PaperValue::Number(it.spread().as_secs_f64() * 1000.0, 1));
        here.row(cell("data"), printed(published.data), data);
        here.row(cell("ACKs"), printed(published.acks), acks);
        here.row(cell("packets"), printed(published.packets), packets);
        let printed_ms = published
            .sending_ms
            .map(|ms| Standard::printed(PaperValue::Number(ms, 0)));
        here.row(cell("sending [ms]"), printed_ms, sending);
    }
}

fn talk(parameters: &Parameters, rest: Duration) -> Talk {
    let apart =
        Duration::from_nanos(parameters.generating.as_nanos() / u64::from(parameters.writes - 1));
    let piece = |at: u32| Piece {
        pause: if at == 0 { Duration::ZERO } else { apart },
        octets: parameters.write as usize,
    };
    Talk {
        policy: Some(in_kernel("naglim")),
        parameter: Some(parameters.naglim),
        request: 1,
        answers: vec![(0..parameters.writes).map(piece).collect(); WARM_UP + 1],
        rest,
        linger: REST,
        ..Talk::default()
    }
}
