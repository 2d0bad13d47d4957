//! Turns a played scene into frames of a capture, with the truth about them.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use tinygram_engine::sender::send_policy::Why;
use tinygram_engine::{Flags, Instant};
use tinygram_wire::capture::{Frame, LinkType};
use tinygram_wire::encode::{Path, encode};
use tinygram_wire::sequence::Numbering;
use tinygram_wire::sequence::Sequence;

use super::dice::Dice;
use super::scene::Scene;
use super::world::{self, Call, Cause, Kept, Run, Seen};

/// A frame's bytes and time.
pub(crate) struct Record {
    pub(crate) time_ns: i64,
    pub(crate) bytes: Vec<u8>,
    pub(crate) wire_len: u32,
}

/// The truth about a segment that left late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Truth {
    /// Held by a rule or by a cork, and a program waited.
    Stall(&'static str),
    /// Held by a rule, and a program waited; but the wire would look the same if the congestion
    /// window had been used up.
    Unknowable(&'static str),
    /// Held, but no program waited for it.
    Unwatched,
    /// Held, but too briefly to matter, or so that the wire does not show it for certain.
    Neutral,
}

/// One segment that left late.
#[derive(Clone, Debug)]
pub(crate) struct Late {
    /// The frame of the segment in the capture.
    pub(crate) frame: u64,
    pub(crate) truth: Truth,
    pub(crate) cost_ns: i64,
    /// Whether the data before it was a message of its own.
    pub(crate) pipelined: bool,
}

pub(crate) struct Capture {
    pub(crate) name: &'static str,
    pub(crate) seed: u64,
    pub(crate) records: Vec<Record>,
    pub(crate) late: Vec<Late>,
    /// Whether it has a flood; `None` if opinions may differ.
    pub(crate) floods: Option<bool>,
}

/// Returns the capture of a seed.
pub(crate) fn of(seed: u64) -> Capture {
    let mut dice = Dice::new(seed);
    let scene = Scene::draw(&mut dice);
    of_scene(&scene, seed, &mut dice)
}

/// Returns the capture of a scene.
pub(crate) fn of_scene(scene: &Scene, seed: u64, dice: &mut Dice) -> Capture {
    let mut frames: Vec<(usize, Seen)> = Vec::new();
    let mut runs = Vec::new();
    for number in 0..scene.connections as usize {
        let mut own = dice.part();
        let scripts = scene.scripts(&mut own);
        let begins = own.between(1, 2_000_000_000);
        let mut run = world::play(
            &scene.configs,
            scripts,
            scene.path.clone(),
            own,
            begins,
            60_000_000_000,
        );
        frames.extend(run.seen.drain(..).map(|seen| (number, seen)));
        runs.push(run);
    }
    frames.sort_by_key(|(_, seen)| seen.time_ns);
    frames.truncate(MOST_FRAMES);
    let late = late(scene, &runs, &frames);
    Capture {
        name: scene.name,
        seed,
        records: records(scene, &frames),
        late,
        floods: floods(scene, &runs),
    }
}

/// Returns whether a program that holds nothing floods: it does if it writes little, again and
/// again, right after it has written. What it writes between two reads counts for certain. Answers
/// to requests that arrived together, and short segments that a rule holds too briefly to join any,
/// leave it open.
fn floods(scene: &Scene, runs: &[Run]) -> Option<bool> {
    let mut perhaps = false;
    for (end, calls) in runs.iter().flat_map(|run| run.calls.iter().enumerate()) {
        let close = |pair: &&[Call]| pair[1].at_ns - pair[0].at_ns < MERGE_NS;
        let mean = calls.iter().map(|c| c.len).sum::<u64>() / calls.len().max(1) as u64;
        let any = calls.windows(2).filter(close).count();
        let own = |pair: &&[Call]| close(pair) && !pair[1].read_between;
        let of_one = calls.windows(2).filter(own).count();
        if !scene.holds[end] && of_one >= 60 && 2 * of_one > calls.len() && mean <= 60 {
            return Some(true);
        }
        perhaps |= any >= 40 && 3 * any > calls.len() && mean <= 200;
    }
    (!perhaps).then_some(false)
}

fn late(scene: &Scene, runs: &[Run], frames: &[(usize, Seen)]) -> Vec<Late> {
    let mut late = Vec::new();
    for (number, run) in runs.iter().enumerate() {
        for kept in &run.kept {
            let frame = frames
                .iter()
                .position(|(of, seen)| *of == number && seen.packet == kept.packet);
            let Some(at) = frame else { continue };
            let before = run.writes[kept.from]
                .iter()
                .any(|(offset, _)| *offset == kept.start);
            late.push(Late {
                frame: at as u64 + 1,
                truth: truth(scene, run, kept),
                cost_ns: (kept.left_ns - kept.since_ns) as i64,
                pipelined: before && scene.name == "pipelined",
            });
        }
    }
    late.sort_by_key(|l| l.frame);
    late
}

fn truth(scene: &Scene, run: &Run, kept: &Kept) -> Truth {
    let rtt_ns = scene.path.way_ns[0] + scene.path.way_ns[1];
    let waited_ns = kept.left_ns - kept.since_ns;
    let arrived_ns = run.arrivals[kept.packet];
    // A segment held by a rule and then filled up by later writes was in the end held by a window.
    let filled = kept.why.is_some() && kept.len >= kept.mss;
    if kept.disturbed || filled || arrived_ns == u64::MAX {
        return Truth::Neutral;
    }
    let reads = &run.apps[1 - kept.from].reads;
    let readers = reads
        .iter()
        .filter(|read| read.from < kept.end && read.to > kept.start);
    // If the last octet that a reader waits for was written only after the held segment left, the
    // hold delayed nobody.
    let writes = &run.writes[kept.from];
    let written_ns = |octet: u64| {
        let write = writes.iter().find(|(end, _)| *end >= octet);
        write.map_or(u64::MAX, |(_, at)| *at)
    };
    let watched = readers.clone().any(|read| {
        read.answers && read.since_ns < arrived_ns && written_ns(read.to) <= kept.left_ns
    });
    let answered = readers.clone().any(|read| read.answers);
    let nagle = matches!(
        kept.why,
        Some(Why::Unacknowledged | Why::SmallUnacknowledged)
    );
    let beyond_ns = waited_ns.saturating_sub(rtt_ns);
    // A typist watches the echo, and in chatter it is unknown who waits for whom.
    let unknown = matches!(scene.name, "typing" | "chatter");
    let stall = |kind| match (watched, answered || unknown) {
        (true, _) => Truth::Stall(kind),
        (false, true) => Truth::Neutral,
        (false, false) => Truth::Unwatched,
    };
    match (kept.cause, nagle) {
        (Cause::DelayedAck, true) if beyond_ns >= LATE_NS => stall("held"),
        (Cause::Ack { with_data: false }, true)
            if waited_ns >= 25_000_000 && rtt_ns >= 25_000_000 =>
        {
            match (kept.window_unknown, stall("round-trip")) {
                (true, Truth::Stall(kind)) => Truth::Unknowable(kind),
                (_, truth) => truth,
            }
        }
        // Data corked from its first octet leaves no trace of the cork.
        (Cause::Timer, false) if reads.iter().any(|read| read.from == kept.start) => Truth::Neutral,
        (Cause::Timer, false)
            if matches!(kept.why, Some(Why::Corked | Why::MoreToCome))
                && waited_ns >= 150_000_000 =>
        {
            stall("cork")
        }
        (Cause::DelayedAck, false) if kept.why.is_none() && beyond_ns >= LATE_NS => {
            let buffer = kept.full_buffer || kept.wnd <= kept.flight + u64::from(kept.mss);
            stall(if buffer { "buffer" } else { "window" })
        }
        _ => Truth::Neutral,
    }
}

/// Writes closer together than this could share a segment.
const MERGE_NS: u64 = 10_000_000;
/// A shorter delay does not count.
const LATE_NS: u64 = 20_000_000;

fn records(scene: &Scene, frames: &[(usize, Seen)]) -> Vec<Record> {
    let mut records = Vec::with_capacity(frames.len());
    let mut scales = vec![[None; 2]; scene.connections as usize];
    let mut packet = Vec::new();
    for (number, seen) in frames {
        let ends = ends(scene, *number);
        let path = Path::new(ends[seen.from], ends[1 - seen.from]).expect("one family");
        let segment = &seen.segment;
        let mut shift = 0;
        if segment.flags.has(Flags::SYN) {
            scales[*number][seen.from] = segment.options.window_scale;
        } else if let [Some(a), Some(b)] = scales[*number] {
            shift = [a, b][seen.from];
        }
        let base = [17_u32, 99].map(|n| (*number as u32 + n).wrapping_mul(0x9e37_79b9));
        let numbering = Numbering {
            data: Sequence::new(base[seen.from]),
            acks: Sequence::new(base[1 - seen.from]),
            window_shift: shift,
        };
        let payload = vec![b'x'; segment.len as usize];
        encode(&path, &numbering, segment, &payload, &mut packet);
        if scene.public && seen.from == 1 && scene.path.tap < 1.0 {
            packet[8] = 52;
        }
        let mut bytes = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
        bytes.extend_from_slice(&packet);
        let wire_len = bytes.len() as u32;
        bytes.truncate(SNAP);
        let at = Instant::from_nanos(seen.time_ns).as_nanos() as i64;
        records.push(Record {
            time_ns: EPOCH_NS + at / 1_000 * 1_000,
            bytes,
            wire_len,
        });
    }
    records
}

fn ends(scene: &Scene, number: usize) -> [SocketAddr; 2] {
    let server = match scene.public {
        true => Ipv4Addr::new(93, 184, 216, 34),
        false => Ipv4Addr::new(10, 1, 0, 2),
    };
    // Behind a NAT, private addresses are not seen.
    let client = match scene.public && scene.path.tap > 0.1 {
        true => Ipv4Addr::new(151, 101, 1, 140),
        false => Ipv4Addr::new(10, 0, 0, 7),
    };
    let client = SocketAddrV4::new(client, 40_000 + number as u16);
    [client, SocketAddrV4::new(server, 7_001)].map(SocketAddr::V4)
}

impl Record {
    pub(crate) fn frame(&self, number: u64) -> Frame<'_> {
        Frame {
            number,
            time_ns: self.time_ns,
            link: LinkType::ETHERNET,
            data: &self.bytes,
            wire_len: self.wire_len,
        }
    }
}

const EPOCH_NS: i64 = 1_700_000_000_000_000_000;
const SNAP: usize = 96;
const MOST_FRAMES: usize = 20_000;
