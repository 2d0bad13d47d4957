//! Plays a conversation through the engine.

use tinygram_engine::receiver::ack_policy::Jiffies;
use tinygram_engine::{Duration, Instant};
use tinygram_sim::costs::{ComesIn, HostCosts};
use tinygram_sim::medium::{ImpairmentRules, Medium, MediumFrame, PointToPoint, Side, Wire};
use tinygram_sim::observer::Observer;
use tinygram_sim::{Opening, World, WorldConfig};

use crate::conversation::{Act, Conversation, Yardstick};
use crate::lateness::HostLoad;
use crate::player::{Line, Part, Player};
use crate::rules::{Both, Path};

/// A turn as it was played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Played {
    /// How long it took, in nanoseconds.
    pub length_ns: u64,
    /// From its beginning to that of the next, in nanoseconds.
    pub cycle_ns: u64,
    /// The segments with data that both ends sent until the next turn began.
    pub segments: u32,
    /// The segments of all kinds.
    pub packets: u32,
    /// By end, the most segments with data that it sent within a round trip.
    pub in_flight: [u32; 2],
}

/// What differs between the runs of one conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chance {
    /// The length of a tick of the kernel's clock, in nanoseconds.
    pub tick_ns: u64,
    /// When the first tick is, in nanoseconds.
    pub phase_ns: u64,
    /// How late programs read what has arrived.
    pub host: HostLoad,
    /// What decides how late a program reads, where that is drawn.
    pub draw: u64,
}

/// Plays a conversation with these rules, and returns its turns; `None` if it does not come to its end.
#[must_use]
pub fn play(conversation: &Conversation, rules: &Both, chance: Chance) -> Option<Vec<Played>> {
    // What was seen from the middle is played twice: the first lap brings both ends into the state that they have in the
    // middle (quick ACKs used up, windows grown).
    let laps = if conversation.is_whole { 1 } else { 2 };
    let path = path(conversation, chance);
    let line = Line::default();
    let programs = [0, 1].map(|end| {
        let mut acts = in_laps(conversation, end, laps);
        if rules[end].gathers {
            acts = gathered(&acts);
        }
        let part = Part {
            end,
            acts,
            expects: conversation.totals[1 - end] * laps,
            nodelay: rules[end].nodelay,
            lateness: conversation.lateness[end].clone(),
            host: chance.host,
            one_way: path.one_way,
            draw: chance.draw,
        };
        vec![Player::new(part, line.clone())]
    });
    let config = WorldConfig {
        medium: Medium::PointToPoint(PointToPoint::new(Wire::new(
            RATE,
            HEADERS,
            0,
            Duration::ZERO,
        ))),
        impairment: ImpairmentRules {
            delay: path.one_way,
            ..ImpairmentRules::NONE
        },
        costs: [COSTS; 2],
        seed: 0,
    };
    let mut world = World::watched(config, programs, Counts::default());
    world.connect(
        Opening::Established,
        [0, 1].map(|end| rules[end].clone().on(path).config(path)),
    );
    let until =
        Instant::ZERO + Duration::from_nanos(conversation.longest_ns().saturating_mul(laps));
    world.run(until);
    let measured = match conversation.yardstick {
        Yardstick::Answer | Yardstick::End(0) => Side::Client,
        Yardstick::End(_) => Side::Server,
    };
    let run = Run {
        player: world.host(measured).programs().next()?,
        frames: &world.observer().frames,
        round_trip: path.clock.round_trip,
    };
    turns(conversation, laps, rules, &run)
}

/// What a run left.
#[derive(Clone, Copy)]
struct Run<'a> {
    /// The end at which turns are measured.
    player: &'a Player,
    frames: &'a [SentFrame],
    round_trip: Duration,
}

/// Reads the last lap's turns off what the player of the end at which they are measured noted.
fn turns(
    conversation: &Conversation,
    laps: u64,
    rules: &Both,
    run: &Run<'_>,
) -> Option<Vec<Played>> {
    let Run {
        player,
        frames,
        round_trip,
    } = *run;
    let (end, host) = (player.end(), player.host());
    let mut acts = in_laps(conversation, end, laps);
    let places = places(&acts, rules[end].gathers);
    if rules[end].gathers {
        acts = gathered(&acts);
    }
    let earlier = conversation.acts[end].len() * (laps as usize - 1);
    let read_earlier = conversation.totals[1 - end] * (laps - 1);
    let is_answer = conversation.yardstick == Yardstick::Answer;
    let mut played = Vec::with_capacity(conversation.turns.len());
    for turn in &conversation.turns {
        let place = |index: usize| places[earlier + index];
        let began = *player.wrote.get(place(turn.first))?;
        let next = match turn.next {
            Some(next) => *player.wrote.get(place(next))?,
            None => over(conversation, laps, player)?,
        };
        let read = player.had_read(read_earlier + turn.end)?;
        let late = player.lateness(read, read_earlier + turn.end, turn.late);
        let call = match is_answer {
            true => Duration::ZERO,
            false => Duration::from_nanos(host.takes(acts[place(turn.first)].call_ns)),
        };
        let between = |at: Instant| frames.partition_point(|frame| frame.at < at);
        let of_turn = &frames[between(began)..between(next).max(between(began))];
        let counts =
            |frame: &&SentFrame| frame.has_data && (is_answer || frame.from.index() == end);
        played.push(Played {
            length_ns: (read + late).since(began + call).as_nanos(),
            cycle_ns: next.since(began).as_nanos(),
            segments: of_turn.iter().filter(counts).count() as u32,
            packets: of_turn.len() as u32,
            in_flight: [0, 1].map(|end| in_flight(of_turn, end, round_trip)),
        });
    }
    Some(played)
}

/// Returns how many segments with data an end sent within a round trip at most.
fn in_flight(frames: &[SentFrame], end: usize, round_trip: Duration) -> u32 {
    let own = frames
        .iter()
        .filter(|frame| frame.has_data && frame.from.index() == end);
    let times: Vec<Instant> = own.map(|frame| frame.at).collect();
    let within = |(first, at): (usize, &Instant)| {
        times[first..].partition_point(|other| other.since(*at) < round_trip)
    };
    times.iter().enumerate().map(within).max().unwrap_or(0) as u32
}

/// Returns when the turn beyond the last one begins.
fn over(conversation: &Conversation, laps: u64, player: &Player) -> Option<Instant> {
    let last = conversation.totals[1 - player.end()] * laps;
    let read = player.had_read(last)?;
    let beyond = &conversation.beyond;
    let late = beyond
        .late
        .map_or(Duration::ZERO, |seen| player.lateness(read, last, seen));
    Some(read + late + Duration::from_nanos(beyond.gap_ns))
}

impl Conversation {
    /// Returns a time after which a run has gone wrong: a second beyond each write.
    fn longest_ns(&self) -> u64 {
        let acts = self.acts.iter().flatten();
        let all = acts.map(|act| act.gap_ns + act.call_ns + self.one_way_ns * 8 + 1_000_000_000);
        all.sum::<u64>() + self.beyond.gap_ns + 1_000_000_000
    }
}

/// Returns the acts of an end, as often as there are laps.
fn in_laps(conversation: &Conversation, end: usize, laps: u64) -> Vec<Act> {
    let expects = conversation.totals[1 - end];
    let lap = |lap: u64| {
        conversation.acts[end]
            .iter()
            .enumerate()
            .map(move |(index, act)| Act {
                after: act.after + lap * expects,
                gap_ns: match (end, index, lap) {
                    (0, 0, 1..) => conversation.beyond.gap_ns,
                    _ => act.gap_ns,
                },
                call_ns: match (end, index, lap) {
                    (0, 0, 1..) => conversation.beyond.call_ns,
                    _ => act.call_ns,
                },
                late: match (end, index, lap) {
                    (0, 0, 1..) => conversation.beyond.late,
                    _ => act.late,
                },
                ..*act
            })
    };
    (0..laps).flat_map(lap).collect()
}

/// Returns the acts with writes that follow each other at once as one (`writev`).
fn gathered(acts: &[Act]) -> Vec<Act> {
    let mut gathered: Vec<Act> = Vec::with_capacity(acts.len());
    for act in acts {
        match gathered.last_mut() {
            Some(last) if follows(act, last) => {
                last.length += act.length;
                last.gap_ns += act.gap_ns;
                last.call_ns = last.call_ns.max(act.call_ns);
                last.more = act.more;
            }
            _ => gathered.push(*act),
        }
    }
    gathered
}

/// Returns the place of each act among the gathered ones.
fn places(acts: &[Act], gathers: bool) -> Vec<usize> {
    let mut place = 0;
    (0..acts.len())
        .map(|index| {
            if index > 0 && !(gathers && follows(&acts[index], &acts[index - 1])) {
                place += 1;
            }
            place
        })
        .collect()
}

fn follows(act: &Act, last: &Act) -> bool {
    act.after == last.after && act.gap_ns < GATHERED_NS
}

fn path(conversation: &Conversation, chance: Chance) -> Path {
    let one_way_ns = chance.host.takes(conversation.one_way_ns);
    Path {
        mss: conversation.mss,
        one_way: Duration::from_nanos(one_way_ns),
        clock: Jiffies {
            tick: Duration::from_nanos(chance.tick_ns),
            phase: Duration::from_nanos(chance.phase_ns),
            round_trip: Duration::from_nanos(one_way_ns * 2),
        },
    }
}

/// The frames that were sent.
#[derive(Clone, Debug, Default)]
struct Counts {
    frames: Vec<SentFrame>,
}

#[derive(Clone, Copy, Debug)]
struct SentFrame {
    at: Instant,
    from: Side,
    has_data: bool,
}

impl Observer for Counts {
    fn sent(&mut self, from: Side, frame: &MediumFrame) {
        // Both hosts hand over frames in the order of time, but for those that wait for their device.
        self.frames.push(SentFrame {
            at: frame.at,
            from,
            has_data: frame.segment.len > 0,
        });
    }
}

/// What calls cost is in the gaps that were seen.
const COSTS: HostCosts = HostCosts {
    comes_in: ComesIn::Nothing,
    ..HostCosts::NONE
};
/// As fast as memory: what the line adds is in the time that a segment takes.
const RATE: u64 = 100_000_000_000;
/// Ethernet, IP, and TCP with timestamps.
const HEADERS: u64 = 66;
/// Writes closer than this could have been one.
const GATHERED_NS: u64 = 1_000_000;
