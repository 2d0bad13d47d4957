//! Table A.1 and Figure A.1: a transfer with S=16k and R=32k, step by step.

use tinygram_engine::{Duration, Instant, Offset};
use tinygram_sim::World;
use tinygram_sim::host::Socket;
use tinygram_sim::medium::{MediumFrame, Side};
use tinygram_sim::observer::Observer;
use tinygram_sim::workload::bulk::Bulk;

use super::hosts::{CALL, RULES, parameters};
use super::published::{Line, ReceiverStep, SenderStep, TABLE_A1};
use super::transfer::on_atm;
use crate::experiment::{
    Class, Effort, Layout, Origin, Outcome, Parameter, Plot, PlotMark, PlotSeries, Row, Trace,
};
use crate::standard::Standard;
use crate::value::{PaperValue, Tolerance};

/// The buffers of the example, in octets.
const SEND_BUFFER: u64 = 16 << 10;
const RECEIVE_BUFFER: u64 = 32 << 10;
/// The octets of the table's eleven writes.
const WRITTEN: u64 = 11 * CALL;
/// The time of the tick: in the third round, between the reading of 3084 octets and the arrival of
/// the next 9204, as in the table's line 21.
const PHASE: Duration = Duration::from_millis(20);
/// The line from which on, after the first whole round, the table depends on the time of the tick,
/// which is fitted.
const AFTER_A_ROUND: u8 = 13;
/// The lines up to this one depend on when the reader first gets the processor.
const SETTLED: u8 = 6;
/// The first segment whose arrival does not depend on it: line 7's.
const SETTLED_ARRIVAL: usize = 2;
const FIRST_READ: &str = "our reader takes the first 4096 octets alone, while the paper's reader \
     finds 13300; in both cases all data is acknowledged before line 7, and from there on nothing \
     differs";

pub(super) fn table(_: &Effort) -> Outcome {
    let walk = walk(WRITTEN, Duration::from_secs(3));
    let mut parameters = parameters();
    parameters.retain(|parameter| {
        !matches!(
            parameter.name,
            "transfer" | "jitter of each cost" | "phase of the tick"
        )
    });
    parameters.push(Parameter {
        name: "written",
        value: format!("{WRITTEN} octets"),
        origin: Origin::Paper("the table's eleven writes"),
    });
    parameters.push(Parameter {
        name: "tick",
        value: "20 ms after the first write, and every 200 ms".into(),
        origin: Origin::Fitted("the table's line 21, which puts the tick between lines 20 and 24"),
    });
    Outcome {
        rules: RULES.to_vec(),
        parameters,
        rows: rows(&walk),
        layout: Layout::List,
        plots: plots(&self::walk(u64::MAX, Duration::from_millis(1400))),
        traces: vec![Trace {
            title: "Table A.1: S=16k, R=32k".into(),
            hosts: ["sender", "receiver"],
            sent: walk.frames,
        }],
        notes: vec![
            "Three misprints are corrected before the comparison: 5180 in line 5 should be 5108 \
             (13300 - 8192), 9204 in line 24's receive buffer should be 1012 (9204 - 8192, as in \
             lines 11 and 17), and 4096 in line 50's receive buffer should be 8192."
                .into(),
            "The paper has no lines 36 and 37. Its lines 27, 32, 39 and 44 are not compared: in \
             them the writer calls write and sleeps at once, which is not a step of either side."
                .into(),
            "The plots begin when the first segment leaves and go on for longer than the table. \
             In both, the tick comes at line 21 of the table."
                .into(),
        ],
    }
}

/// Observes both ends.
#[derive(Clone, Debug, Default)]
struct Walk {
    sender: Vec<SenderStep>,
    receiver: Vec<ReceiverStep>,
    /// Octets that each of the receiver's ACKs acknowledged.
    acks: Vec<u64>,
    frames: Vec<(Side, MediumFrame)>,
    /// The number of frames that were seen at the time of the last job.
    seen: usize,
    written: Offset,
    una: Offset,
    nxt: Offset,
    read: Offset,
    acked: Offset,
}

fn walk(octets: u64, until: Duration) -> Walk {
    walked((SEND_BUFFER, RECEIVE_BUFFER), PHASE, octets, until)
}

/// Returns what a tap sees until `until` of an endless transfer between these buffers, in octets,
/// with the first tick at this phase.
pub(super) fn frames(
    buffers: (u64, u64),
    phase: Duration,
    until: Duration,
) -> Vec<(Side, MediumFrame)> {
    walked(buffers, phase, u64::MAX, until).frames
}

fn walked((send, receive): (u64, u64), phase: Duration, octets: u64, until: Duration) -> Walk {
    let mut transfer = on_atm(send, receive).at_phase(phase);
    // A single run, to be followed step by step, without random elements.
    transfer.costs.jitter_percent = 0;
    let ends = [
        Bulk::Writer {
            left: octets,
            write: CALL,
        },
        // It waits for more, so the last ACK is the timer's.
        Bulk::Reader {
            missing: u64::MAX,
            read: CALL,
        },
    ];
    let begin = Offset::FIRST;
    let watching = Walk {
        written: begin,
        una: begin,
        nxt: begin,
        read: begin,
        acked: begin,
        ..Walk::default()
    };
    let mut world: World<Bulk, Walk> = transfer.between(ends, watching);
    world.run(Instant::ZERO + until);
    world.observer().clone()
}

impl Observer for Walk {
    fn sent(&mut self, from: Side, frame: &MediumFrame) {
        self.frames.push((from, *frame));
    }

    fn ran(&mut self, _: Instant, side: Side, sockets: &[Socket]) {
        let new = self.frames[self.seen..].to_vec();
        self.seen = self.frames.len();
        match side {
            Side::Client => self.sender_ran(&sockets[0], &new),
            Side::Server => self.receiver_ran(&sockets[0], &new),
        }
    }
}

impl Walk {
    fn sender_ran(&mut self, socket: &Socket, sent: &[(Side, MediumFrame)]) {
        let vars = socket.connection().sender().vars();
        let (buffered, unacked) = (vars.buffered(), vars.outstanding());
        if vars.una > self.una {
            let data: u64 = sent
                .iter()
                .map(|(_, frame)| u64::from(frame.segment.len))
                .sum();
            self.sender.push(SenderStep::Acked {
                octets: vars.una.since(self.una),
                buffered,
                unacked: unacked - data,
            });
            if data > 0 {
                self.sender.push(SenderStep::Sent {
                    octets: data,
                    buffered,
                    unacked,
                });
            }
        }
        if vars.written > self.written {
            let octets = vars.written.since(self.written);
            self.sender.push(SenderStep::Copied {
                octets,
                buffered,
                unacked,
            });
        }
        self.una = vars.una;
        self.written = vars.written;
    }

    fn receiver_ran(&mut self, socket: &Socket, sent: &[(Side, MediumFrame)]) {
        let receiver = socket.connection().receiver();
        let unread = receiver.readable();
        if receiver.nxt() > self.nxt {
            self.receiver.push(ReceiverStep::Arrived { unread });
        }
        if receiver.read_up_to() > self.read {
            let octets = receiver.read_up_to().since(self.read);
            self.receiver.push(ReceiverStep::Read { octets, unread });
        }
        for (_, frame) in sent {
            self.acks.push(frame.segment.ack.since(self.acked));
            self.acked = frame.segment.ack;
        }
        self.nxt = receiver.nxt();
        self.read = receiver.read_up_to();
    }

    /// Returns the receiver's steps from line 7 on.
    fn settled_receiver(&self) -> &[ReceiverStep] {
        let arrivals = self.receiver.iter().enumerate();
        let mut places = arrivals.filter(|(_, step)| matches!(step, ReceiverStep::Arrived { .. }));
        let place = places
            .nth(SETTLED_ARRIVAL)
            .map_or(self.receiver.len(), |(place, _)| place);
        &self.receiver[place..]
    }
}

/// Returns a row for each line of the table, with this run's next steps beside its own.
fn rows(walk: &Walk) -> Vec<Row> {
    let mut sender = walk.sender.iter();
    let mut acks = walk.acks.iter();
    let mut early = walk.receiver.iter();
    let mut settled = walk.settled_receiver().iter();
    let mut rows = Vec::new();
    for line in TABLE_A1 {
        let receiver = if line.number <= SETTLED {
            &mut early
        } else {
            &mut settled
        };
        let ours = Line {
            number: line.number,
            sender: line.sender.and_then(|_| sender.next().copied()),
            ack: line.ack.and_then(|_| acks.next().copied()),
            receiver: [0, 1]
                .map(|place| line.receiver[place].and_then(|_| receiver.next().copied())),
        };
        let class = if ours != *line && line.number <= SETTLED {
            Class::KnownMismatch(FIRST_READ)
        } else if line.number >= AFTER_A_ROUND {
            Class::Fitted
        } else {
            Class::Rules
        };
        rows.push(Row {
            cell: vec![("line", PaperValue::Count(line.number.into()))],
            standard: Some(Standard::printed(PaperValue::Text(line.to_string()))),
            reproduced: PaperValue::Text(ours.to_string()),
            tolerance: Tolerance::Exact,
            class,
        });
    }
    let left = sender.count() + acks.count() + settled.count();
    rows.push(Row {
        cell: vec![(
            "measure",
            PaperValue::Text("our steps that are not in the table".into()),
        )],
        standard: Some(Standard::derived(PaperValue::Count(0))),
        reproduced: PaperValue::Count(left as u64),
        tolerance: Tolerance::Exact,
        class: Class::Fitted,
    });
    rows
}

/// Figure A.1: (a) up to the deadlock and beyond, (b) the first rounds, (c) the tick.
fn plots(walk: &Walk) -> Vec<Plot> {
    let parts = [
        (
            "Figure A.1 (a): the transfer up to the deadlock and beyond",
            0.0,
            1400.0,
        ),
        ("Figure A.1 (b): the initial flow of segments", 0.0, 30.0),
        (
            "Figure A.1 (c): the acknowledgment that the timer generated",
            16.0,
            230.0,
        ),
    ];
    parts
        .map(|(title, from, to)| Plot {
            title: title.into(),
            x: "time (ms)",
            y: "sequence (octets)",
            series: vec![
                series(
                    walk,
                    Side::Client,
                    "data segment's end",
                    PlotMark::Dots,
                    (from, to),
                ),
                series(
                    walk,
                    Side::Server,
                    "acknowledgment",
                    PlotMark::Crosses,
                    (from, to),
                ),
            ],
        })
        .into()
}

fn series(
    walk: &Walk,
    side: Side,
    name: &str,
    mark: PlotMark,
    (from, to): (f64, f64),
) -> PlotSeries {
    let at = |frame: &MediumFrame| frame.at.since(Instant::ZERO).as_millis_f64();
    let point = |frame: &MediumFrame| {
        let end = match side {
            Side::Client => frame.segment.end(),
            Side::Server => frame.segment.ack,
        };
        (at(frame), end.since(Offset::FIRST) as f64)
    };
    let frames = walk.frames.iter().filter(|(from, _)| *from == side);
    PlotSeries {
        name: name.into(),
        mark,
        points: frames
            .map(|(_, frame)| point(frame))
            .filter(|(at, _)| (from..=to).contains(at))
            .collect(),
    }
}
