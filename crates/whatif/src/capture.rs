//! What a capture allows. It shows segments and no writes: a run of full segments with the short one behind it counts as
//! a write. What `diagnose` finds held by the sender was written right behind the segment before it.

use std::collections::{BTreeMap, BTreeSet};

use tinygram_diagnose::{Analyzer, CapturePoint, ConnectionReport, Parameters, Report};
use tinygram_engine::Duration;
use tinygram_stalls::{Side, Tier};
use tinygram_wire::capture::{CaptureError, Reader};
use tinygram_wire::decode;
use tinygram_wire::endpoint::Endpoint;

use crate::conversation::of_both_ends;
use crate::guess::{ROUND_TRIPS, round_trips};
use crate::prediction::{Service, Subject};
use crate::rules::Rules;
use crate::seen::{End, Read, Sent, Unwrapper, Write};

/// What was read of a capture.
#[derive(Debug)]
pub struct Captured {
    /// The conversations that can be played again: one service if the round trip of each was measured, else one for each guess
    /// of those that were not.
    pub services: Vec<Service>,
    /// The connections with data.
    pub connections: usize,
    /// From the first segment to the last, in seconds.
    pub seconds: f64,
}

/// Reads a capture twice: for what `diagnose` says of it, and for its segments. `open` opens it.
///
/// # Errors
///
/// Returns what opening returns, or why it is no capture, or where it is damaged.
pub fn read<S: std::io::Read + 'static>(
    open: impl Fn() -> std::io::Result<S>,
    seed: u64,
) -> Result<Captured, CaptureError> {
    let mut analyzer = Analyzer::new(Parameters::default());
    analyzer.read(open()?, 1)?;
    let report = analyzer.finish();
    let held: BTreeSet<u64> = report
        .findings
        .iter()
        .filter(|finding| finding.kind.is_stall() && finding.tier() != Tier::Possible)
        .filter_map(|finding| finding.frames.last())
        .map(|held| held.frame)
        .collect();
    let mut flows: BTreeMap<[Endpoint; 2], Flow> = BTreeMap::new();
    let mut reader = Reader::new(open()?)?;
    while let Some(frame) = reader.next_frame()? {
        let Some(segment) = decode::segment(&frame) else {
            continue;
        };
        let mut ends = [segment.source, segment.destination];
        ends.sort_unstable();
        let from = usize::from(ends[0] != segment.source);
        let flow = flows.entry(ends).or_default();
        flow.add(from, &segment, frame.time_ns, held.contains(&frame.number));
    }
    let subject = |connection: &ConnectionReport, guess| {
        let mut ends = [connection.client, connection.server];
        ends.sort_unstable();
        flows.get(&ends)?.subject(connection, &report, guess)
    };
    let service = |guess| Service {
        subjects: report
            .connections
            .iter()
            .filter_map(|connection| subject(connection, guess))
            .collect(),
        tick_ns: TICK_NS,
        seed,
    };
    let is_guessed = |connection: &ConnectionReport| {
        let is_bounded = !connection.rtt_measured && connection.rtt_ns.is_some();
        is_bounded && subject(connection, 0).is_some()
    };
    let guesses = match report.connections.iter().any(is_guessed) {
        true => ROUND_TRIPS,
        false => 1,
    };
    Ok(Captured {
        services: (0..guesses).map(service).collect(),
        connections: report.connections.len(),
        seconds: (report.summary.last_ns - report.summary.first_ns) as f64 / 1e9,
    })
}

/// The segments of a connection.
#[derive(Default)]
struct Flow {
    /// By the end that sent them, the lower address first.
    segments: [Vec<Segment>; 2],
    /// Whether its first segment opens it.
    opened: bool,
    numbers: [Option<Unwrapper>; 2],
}

/// A segment with data.
#[derive(Clone, Copy)]
struct Segment {
    at_ns: u64,
    length: u64,
    end: u64,
    /// What its sender had received.
    received: u64,
    held: bool,
}

impl Segment {
    fn start(&self) -> u64 {
        self.end - self.length
    }
}

impl Flow {
    fn add(&mut self, from: usize, segment: &decode::Segment, time_ns: i64, held: bool) {
        let is_syn = segment.flags.has(tinygram_engine::Flags::SYN);
        if self.numbers == [None; 2] {
            self.opened = is_syn;
        }
        let first = segment.seq.wrapping_add(u32::from(is_syn));
        let own = self.numbers[from].get_or_insert_with(|| Unwrapper::around(first));
        let mut own = *own;
        let start = own.offset(first);
        if segment.flags.has(tinygram_engine::Flags::ACK) {
            self.numbers[1 - from].get_or_insert_with(|| Unwrapper::around(segment.ack));
        }
        if segment.payload == 0 {
            return;
        }
        self.numbers[from] = Some(own);
        let received = self.numbers[1 - from].map_or(0, |mut peer| peer.offset(segment.ack));
        self.segments[from].push(Segment {
            at_ns: u64::try_from(time_ns).unwrap_or(0),
            length: segment.payload.into(),
            end: start + u64::from(segment.payload),
            received,
            held,
        });
    }

    /// Returns what is played; `guess` says which round trip is taken where none was measured.
    fn subject(
        &self,
        connection: &ConnectionReport,
        report: &Report,
        guess: usize,
    ) -> Option<Subject> {
        let client = usize::from(connection.client > connection.server);
        let segments = [&self.segments[client], &self.segments[1 - client]];
        let most_ns = u64::try_from(connection.rtt_ns.unwrap_or(0)).unwrap_or(0);
        let rtt_ns = match connection.rtt_measured {
            true => most_ns,
            false => round_trips(most_ns)[guess],
        };
        // How far each end is from where the capture was taken.
        let away = match connection.capture_point {
            CapturePoint::NearClient => [0, rtt_ns / 2],
            CapturePoint::NearServer => [rtt_ns / 2, 0],
            CapturePoint::Between | CapturePoint::Unknown => [rtt_ns / 4; 2],
        };
        let mss = connection
            .directions
            .iter()
            .map(|direction| direction.mss)
            .max()?;
        let mss = u16::try_from(mss).unwrap_or(u16::MAX - 12);
        let ends = [0, 1].map(|end| seen(segments[end], segments[1 - end], away[end], mss));
        let conversation = of_both_ends([&ends[0], &ends[1]], mss, self.opened)?;
        let rules = [Side::Client, Side::Server].map(|side| rules(connection, report, side));
        Some(Subject {
            conversation,
            rules,
            meant: [true; 2],
            netns: [0, 1],
        })
    }
}

/// Returns what would have been seen at an end that is `away_ns` from where the capture was taken.
fn seen(own: &[Segment], peers: &[Segment], away_ns: u64, mss: u16) -> End {
    let mut end = End::default();
    for segment in own {
        let at_ns = segment.at_ns.saturating_sub(away_ns);
        end.sent.push(Sent {
            at_ns,
            length: segment.length,
            end: segment.end,
        });
        let goes_on = end.writes.last().is_some_and(|last: &Write| {
            last.length.is_multiple_of(u64::from(mss.max(1)))
                && at_ns.saturating_sub(last.at_ns) < ONE_WRITE_NS
                && last.read_until >= segment.received
                && segment.start() <= last.end
        });
        match end.writes.last_mut() {
            Some(last) if goes_on && segment.end > last.end => {
                last.length += segment.end - last.end;
                last.end = segment.end;
            }
            // Sent again.
            Some(last) if segment.end <= last.end => {}
            last => {
                let (at_ns, read_until, start) = match last {
                    None => (at_ns, segment.received, segment.start()),
                    Some(last) => {
                        // A segment may begin with what was sent before, and one that was overtaken acknowledges less.
                        let (start, read) = (segment.start().max(last.end), last.read_until);
                        match segment.held {
                            true => (last.at_ns + 1, read, start),
                            false => (at_ns.max(last.at_ns), segment.received.max(read), start),
                        }
                    }
                };
                end.writes.push(Write {
                    at_ns,
                    length: segment.end - start,
                    end: segment.end,
                    read_until,
                    more: false,
                });
            }
        }
    }
    let reads = peers.iter().map(|segment| Read {
        at_ns: segment.at_ns + away_ns,
        length: segment.length,
        end: segment.end,
        late_ack_ns: None,
    });
    end.reads = reads.collect();
    end
}

/// Returns the rules of an end, as far as the capture shows them: a sender that held nothing seems to have `TCP_NODELAY`.
fn rules(connection: &ConnectionReport, report: &Report, side: Side) -> Rules {
    let holds = report
        .findings
        .iter()
        .any(|finding| finding.connection == connection.id && finding.sender == side);
    let peers = &connection.directions[usize::from(side == Side::Client)];
    let shipped = Rules::default();
    // A direction's timer is that of the end that receives it.
    let bound = peers
        .ack_timer_ns
        .and_then(|timer| u64::try_from(timer).ok())
        .filter(|timer| *timer + TICK_NS < SHIPPED_TIMER_NS)
        .map(|timer| Duration::from_nanos(timer / TICK_NS * TICK_NS));
    Rules {
        nodelay: !holds,
        delack_max: bound.map_or(shipped.delack_max, |bound| {
            bound.max(Duration::from_nanos(2 * TICK_NS))
        }),
        ..shipped
    }
}

/// Segments so close behind a full one belong to one write.
const ONE_WRITE_NS: u64 = 1_000_000;
/// A tick at 250 Hz, which most kernels have; a capture does not say.
const TICK_NS: u64 = 4_000_000;
/// `TCP_DELACK_MIN`: a shorter timer has a bound.
const SHIPPED_TIMER_NS: u64 = 40_000_000;
