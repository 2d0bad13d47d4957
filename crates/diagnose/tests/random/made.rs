//! Conversations made for the kinds that random draws seldom produce: genuine ones and lookalikes,
//! over the engine's profiles.

use tinygram_engine::Duration;
use tinygram_engine::connection::{Config, ConfigBuilder};
use tinygram_engine::profile::{Profile, Sizes};
use tinygram_engine::receiver::ack_policy::{AckPolicy, AckTimer};
use tinygram_engine::sender::send_policy::SendPolicy;

use super::app::{Act, write};
use super::dice::Dice;
use super::scene::{Programs, Scene};
use super::world::Path;

const MS: u64 = 1_000_000;

/// Whether a conversation is of the kind, with the result of the first forty captures; a worse
/// result fails.
pub(crate) enum Sort {
    /// How many held segments are found, as this kind or another.
    Is { found: usize },
    /// How many captures are accused although nothing is held.
    Seems { accused: usize },
}

/// A sort of conversation.
pub(crate) struct Shape {
    /// The kind that it is, or resembles.
    pub(crate) kind: &'static str,
    pub(crate) sort: Sort,
    pub(crate) name: &'static str,
    draw: fn(&mut Dice) -> Talk,
}

/// What one end sends and how the other takes it.
struct Talk {
    sender: fn(ConfigBuilder, u64) -> ConfigBuilder,
    mss: u16,
    send_buffer: u64,
    /// Octets that the reader sends first; 0 if it does not.
    asked: u64,
    acts: Vec<Act>,
    reader: Vec<Act>,
}

pub(crate) const SHAPES: [Shape; 13] = [
    Shape {
        kind: "small-buffer",
        sort: Sort::Is { found: 66 },
        name: "a send buffer of few segments",
        draw: small_send_buffer,
    },
    Shape {
        kind: "small-buffer",
        sort: Sort::Seems { accused: 0 },
        name: "blocks, each answered",
        draw: block_by_block,
    },
    Shape {
        kind: "small-buffer",
        sort: Sort::Seems { accused: 0 },
        name: "blocks on a clock",
        draw: blocks_on_a_clock,
    },
    Shape {
        kind: "cork-held",
        sort: Sort::Is { found: 223 },
        name: "a tail that nobody uncorks",
        draw: corked_tail,
    },
    Shape {
        kind: "cork-held",
        sort: Sort::Seems { accused: 9 },
        name: "a tail that is read from a disk",
        draw: slow_tail,
    },
    Shape {
        kind: "short-initial-segment",
        sort: Sort::Is { found: 8 },
        name: "a header, and a window of one segment",
        draw: short_initial,
    },
    Shape {
        kind: "short-initial-segment",
        sort: Sort::Seems { accused: 2 },
        name: "a header, and a slow file",
        draw: header_and_file,
    },
    Shape {
        kind: "slow-start-delayed-ack",
        sort: Sort::Is { found: 44 },
        name: "a window of one segment",
        draw: one_segment,
    },
    Shape {
        kind: "slow-start-delayed-ack",
        sort: Sort::Seems { accused: 0 },
        name: "a program that grows",
        draw: growing_program,
    },
    Shape {
        kind: "tinygram-flood",
        sort: Sort::Is { found: 40 },
        name: "many small writes",
        draw: flood,
    },
    Shape {
        kind: "tinygram-flood",
        sort: Sort::Is { found: 40 },
        name: "single octets among large writes",
        draw: flood_among_large,
    },
    Shape {
        kind: "tinygram-flood",
        sort: Sort::Seems { accused: 0 },
        name: "small questions, each answered",
        draw: questions,
    },
    Shape {
        kind: "tinygram-flood",
        sort: Sort::Seems { accused: 0 },
        name: "small writes, seldom",
        draw: seldom,
    },
];

impl Shape {
    /// Returns a conversation of this sort, between two stacks that have a profile.
    pub(crate) fn draw(&self, dice: &mut Dice) -> Scene {
        let mut talk = (self.draw)(dice);
        let from_server = talk.asked > 0;
        let sizes = Sizes {
            mss: talk.mss,
            send_buffer: talk.send_buffer,
            receive_buffer: 65_536,
        };
        let profiles = [
            Profile::SUNOS_4_1,
            Profile::TRU64_4,
            Profile::FREEBSD_3_2,
            Profile::UNIXWARE_7,
            Profile::SOLARIS_7,
            Profile::SOLARIS_8,
            Profile::LINUX_6,
        ];
        let mss = u64::from(talk.mss);
        let sender = (talk.sender)(dice.pick(&profiles).builder(sizes), mss);
        let sender = sender.build().expect("these rules work together");
        let reader = reader(dice, talk.mss);
        let holds = !matches!(sender.sender.policy, SendPolicy::Off);
        talk.acts.push(Act::Close);
        talk.reader.push(Act::Close);
        let (mut configs, mut scripts) = ([sender, reader], [talk.acts, talk.reader]);
        let mut all_hold = [holds, true];
        if from_server {
            configs.reverse();
            scripts.reverse();
            all_hold.reverse();
        }
        Scene {
            name: self.name,
            configs,
            path: path(dice),
            connections: 1,
            public: false,
            programs: Programs::Made(scripts),
            holds: all_hold,
        }
    }
}

/// Returns a host that delays its ACKs by one of the usual timers.
fn reader(dice: &mut Dice, mss: u16) -> Config {
    let sizes = Sizes {
        mss,
        send_buffer: 65_536,
        receive_buffer: 65_536,
    };
    let timer = Duration::from_millis(dice.pick(&[40, 50, 100, 200]));
    let profiles = [Profile::FREEBSD_3_2, Profile::SOLARIS_8, Profile::LINUX_6];
    dice.pick(&profiles)
        .builder(sizes)
        .ack_policy(AckPolicy::EverySecond)
        .ack_timer(AckTimer::PerConnection(timer))
        .build()
        .expect("these rules work together")
}

fn path(dice: &mut Dice) -> Path {
    let rtt_ns = match dice.between(0, 3) {
        0 => dice.scale(2 * MS, 30 * MS),
        _ => dice.scale(60_000, 2 * MS),
    };
    Path {
        way_ns: [rtt_ns / 2, rtt_ns - rtt_ns / 2],
        jitter_ns: rtt_ns / 80,
        rate: [0; 2],
        loss: 0.0,
        tap: dice.pick(&[0.0, 0.0, 1.0, 1.0, 0.5]),
        wake_ns: [dice.scale(3_000, 200_000), dice.scale(3_000, 200_000)],
        busy: dice.pick(&[0.0, 0.02]),
        stale_echo: [false; 2],
    }
}

fn as_it_is(builder: ConfigBuilder, _: u64) -> ConfigBuilder {
    builder
}

/// Returns a sender that holds nothing.
fn hasty(builder: ConfigBuilder, mss: u64) -> ConfigBuilder {
    builder.send_policy(SendPolicy::Off).initial_cwnd(10 * mss)
}

fn of_one_segment(builder: ConfigBuilder, mss: u64) -> ConfigBuilder {
    builder.initial_cwnd(mss)
}

/// Only Linux has MSG_MORE.
fn corking(builder: ConfigBuilder, _: u64) -> ConfigBuilder {
    builder.send_policy(SendPolicy::Linux)
}

impl Talk {
    fn of(sender: fn(ConfigBuilder, u64) -> ConfigBuilder) -> Self {
        Self {
            sender,
            mss: 1_460,
            send_buffer: 65_536,
            asked: 0,
            acts: Vec::new(),
            reader: Vec::new(),
        }
    }

    /// The server sends: it answers each request.
    fn answers(mut self, dice: &mut Dice, times: u64, answer: &[Act]) -> Self {
        self.asked = 60;
        let octets = octets(answer);
        for _ in 0..times {
            self.reader.push(Act::Think(dice.scale(MS, 200 * MS)));
            self.reader.push(write(60));
            self.reader.push(Act::Read(octets));
            self.acts.push(Act::Read(60));
            self.acts.extend_from_slice(answer);
        }
        self
    }

    /// The client sends: it writes, and is told when all of it was read.
    fn tells(mut self, dice: &mut Dice, times: u64, message: &[Act]) -> Self {
        let octets = octets(message);
        for _ in 0..times {
            self.acts.push(Act::Think(dice.scale(MS, 200 * MS)));
            self.acts.extend_from_slice(message);
            self.acts.push(Act::Read(20));
            self.reader.push(Act::Read(octets));
            self.reader.push(write(20));
        }
        self
    }

    /// One of the two, at random.
    fn either(self, dice: &mut Dice, times: u64, message: &[Act]) -> Self {
        match dice.happens(0.5) {
            true => self.answers(dice, times, message),
            false => self.tells(dice, times, message),
        }
    }
}

fn octets(acts: &[Act]) -> u64 {
    let of = |act: &Act| match act {
        Act::Write { len, .. } => *len,
        _ => 0,
    };
    acts.iter().map(of).sum()
}

fn small_send_buffer(dice: &mut Dice) -> Talk {
    let (mss, buffer) = dice.pick(&[
        (1_460, 4_096),
        (1_460, 2_048),
        (8_960, 16_384),
        (8_960, 8_192),
        (1_460, 1_460),
    ]);
    let message = [write(dice.scale(40_000, 200_000))];
    let times = dice.between(1, 3);
    let mut talk = Talk::of(as_it_is).either(dice, times, &message);
    (talk.mss, talk.send_buffer) = (mss, buffer);
    talk
}

/// The program asks after each block whether it arrived; the other end takes its time.
fn block_by_block(dice: &mut Dice) -> Talk {
    let mut talk = Talk::of(hasty);
    let block = dice.pick(&[1_460, 4_096, 8_192, 2_920]);
    let think_ns = dice.scale(20 * MS, 250 * MS);
    for _ in 0..dice.between(8, 40) {
        talk.acts.extend([write(block), Act::Read(8)]);
        talk.reader
            .extend([Act::Read(block), Act::Think(think_ns), write(8)]);
    }
    talk
}

fn blocks_on_a_clock(dice: &mut Dice) -> Talk {
    let mut talk = Talk::of(hasty);
    let block = dice.pick(&[1_460, 4_096, 8_192, 2_920]);
    let every_ns = dice.pick(&[40 * MS, 41 * MS, 50 * MS, 100 * MS, 200 * MS]);
    for _ in 0..dice.between(20, 80) {
        talk.acts
            .extend([write(block), Act::Think(every_ns + dice.between(0, MS / 2))]);
        talk.reader.push(Act::Read(block));
    }
    talk
}

fn corked_tail(dice: &mut Dice) -> Talk {
    let message = [
        Act::Cork(true),
        write(dice.between(1_500, 6_000)),
        write(dice.between(1, 1_400)),
    ];
    let times = dice.between(3, 12);
    Talk::of(corking).either(dice, times, &message)
}

fn slow_tail(dice: &mut Dice) -> Talk {
    let slow_ns = dice.pick(&[200 * MS, 204 * MS, 210 * MS, 240 * MS]);
    let whole = 1_460 * dice.between(1, 4);
    let any = dice.between(1_000, 8_000);
    let first = dice.pick(&[4_096, 8_192, any, whole]);
    let message = [
        write(first),
        Act::Think(slow_ns),
        write(dice.between(1, 1_400)),
    ];
    let times = dice.between(3, 12);
    Talk::of(hasty).either(dice, times, &message)
}

fn short_initial(dice: &mut Dice) -> Talk {
    let message = [
        write(dice.between(50, 500)),
        write(dice.scale(10_000, 60_000)),
    ];
    Talk::of(of_one_segment).either(dice, 1, &message)
}

fn header_and_file(dice: &mut Dice) -> Talk {
    let disk_ns = dice.pick(&[40 * MS, 41 * MS, 50 * MS, 100 * MS, 200 * MS]) + dice.between(0, MS);
    let message = [
        write(dice.between(50, 500)),
        Act::Think(disk_ns),
        write(dice.scale(10_000, 60_000)),
    ];
    Talk::of(hasty).either(dice, 1, &message)
}

fn one_segment(dice: &mut Dice) -> Talk {
    let message = [write(dice.scale(10_000, 60_000))];
    Talk::of(of_one_segment).either(dice, 1, &message)
}

/// One segment, then two, then three, at the program's own pace.
fn growing_program(dice: &mut Dice) -> Talk {
    let pace_ns = dice.pick(&[40 * MS, 41 * MS, 50 * MS, 100 * MS, 200 * MS]) + dice.between(0, MS);
    let mut message = Vec::new();
    for count in 1..=4 {
        message.extend([write(1_460 * count), Act::Think(pace_ns)]);
    }
    Talk::of(hasty).either(dice, 1, &message)
}

fn flood(dice: &mut Dice) -> Talk {
    let mut message = Vec::new();
    let len = dice.between(1, 40);
    for _ in 0..dice.between(80, 400) {
        message.extend([write(len), Act::Think(dice.scale(20_000, 3 * MS))]);
    }
    Talk::of(hasty).either(dice, 1, &message)
}

fn flood_among_large(dice: &mut Dice) -> Talk {
    let mut message = vec![write(20_000)];
    for _ in 0..dice.between(80, 200) {
        message.extend([write(1), Act::Think(dice.scale(20_000, 2 * MS))]);
    }
    message.push(write(20_000));
    let times = dice.between(2, 4);
    Talk::of(hasty).either(dice, times, &message)
}

fn questions(dice: &mut Dice) -> Talk {
    let mut talk = Talk::of(hasty);
    for _ in 0..dice.between(100, 400) {
        talk.acts.extend([write(20), Act::Read(20)]);
        talk.reader.extend([Act::Read(20), write(20)]);
    }
    talk
}

fn seldom(dice: &mut Dice) -> Talk {
    let mut talk = Talk::of(hasty);
    for _ in 0..dice.between(60, 150) {
        talk.acts
            .extend([write(20), Act::Think(dice.scale(15 * MS, 200 * MS))]);
        talk.reader.push(Act::Read(20));
    }
    talk
}
