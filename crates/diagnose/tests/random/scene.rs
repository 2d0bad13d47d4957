//! What is drawn: stacks, a path, and programs that talk.

use tinygram_engine::Duration;
use tinygram_engine::connection::Config;
use tinygram_engine::profile::{Profile, Sizes};
use tinygram_engine::receiver::ack_policy::{AckPolicy, AckTimer};
use tinygram_engine::sender::send_policy::SendPolicy;

use super::app::{Act, write};
use super::dice::Dice;
use super::world::Path;

/// Programs of one sort over one path, as in a typical capture.
#[derive(Clone, Debug)]
pub(crate) struct Scene {
    pub(crate) name: &'static str,
    pub(crate) configs: [Config; 2],
    pub(crate) path: Path,
    pub(crate) connections: u64,
    /// Whether the server is on the Internet and the client behind a private address.
    pub(crate) public: bool,
    pub(crate) programs: Programs,
    /// Whether each end's rule holds short segments.
    pub(crate) holds: [bool; 2],
}

/// The source of the programs.
#[derive(Clone, Debug)]
pub(crate) enum Programs {
    /// Drawn anew for each connection.
    Drawn(Style),
    /// Given as scripts: the client's, then the server's.
    Made([Vec<Act>; 2]),
}

/// What the programs do.
#[derive(Clone, Debug)]
pub(crate) struct Style {
    family: Family,
    /// Octets of a message's writes, by sender.
    pieces: [Vec<u64>; 2],
    /// Time between the writes of one message, in nanoseconds.
    gap_ns: [u64; 2],
    think_ns: u64,
    server_ns: u64,
    /// Thinking times differ by up to this factor.
    spread: u64,
    exchanges: u64,
    in_flight: u64,
    corked: bool,
    flushed: bool,
    varied: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Exchange,
    Pipelined,
    Typing,
    OneWay,
    Bulk,
    Flood,
    Corked,
    SlowFile,
    Chatter,
}

const MS: u64 = 1_000_000;

impl Scene {
    pub(crate) fn draw(dice: &mut Dice) -> Self {
        let families = [
            (Family::Exchange, 34, "exchange"),
            (Family::Pipelined, 12, "pipelined"),
            (Family::Typing, 8, "typing"),
            (Family::OneWay, 10, "one-way"),
            (Family::Bulk, 8, "bulk"),
            (Family::Flood, 6, "flood"),
            (Family::Corked, 6, "corked"),
            (Family::SlowFile, 8, "slow-file"),
            (Family::Chatter, 8, "chatter"),
        ];
        let mut left = dice.between(0, 99);
        let (family, _, name) = families
            .into_iter()
            .find(|(_, weight, _)| {
                let here = left < *weight;
                left = left.wrapping_sub(*weight);
                here
            })
            .expect("the weights are a hundred");
        let style = Style::draw(family, dice);
        let nodelay = match family {
            Family::Flood => 1.0,
            _ => 0.3,
        };
        let path = path(dice);
        let mss = dice.pick(&[1460, 1460, 1460, 1448, 1400, 1380, 536, 8960]);
        let ends = [stack(dice, mss, nodelay), stack(dice, mss, nodelay)];
        let holds = [ends[0].1, ends[1].1];
        let configs = ends.map(|(config, _)| config);
        let public = path.way_ns[0] > 2 * MS && dice.happens(0.5);
        Self {
            name,
            configs,
            connections: if dice.happens(0.5) {
                1
            } else {
                dice.scale(1, 12)
            },
            public,
            holds,
            path,
            programs: Programs::Drawn(style),
        }
    }

    /// Returns the two programs of one connection.
    pub(crate) fn scripts(&self, dice: &mut Dice) -> [Vec<Act>; 2] {
        match &self.programs {
            Programs::Drawn(style) => style.scripts(dice),
            Programs::Made(scripts) => scripts.clone(),
        }
    }
}

fn path(dice: &mut Dice) -> Path {
    let rtt_ns = match dice.between(0, 9) {
        0..=4 => dice.scale(60_000, 2 * MS),
        5..=7 => dice.scale(2 * MS, 40 * MS),
        _ => dice.scale(40 * MS, 250 * MS),
    };
    let one = rtt_ns / 2;
    let rate = match dice.between(0, 9) {
        0 => dice.scale(256_000, 4_000_000),
        1..=2 => dice.scale(4_000_000, 100_000_000),
        _ => 0,
    };
    let asymmetric = dice.happens(0.5);
    Path {
        way_ns: [one, rtt_ns - one],
        jitter_ns: match dice.between(0, 3) {
            0 => 0,
            1 => one / 4,
            _ => one / 40,
        },
        rate: [rate, if asymmetric { rate * 8 } else { rate }],
        loss: match dice.between(0, 9) {
            0 => dice.scale(1, 300) as f64 / 1e4,
            _ => 0.0,
        },
        tap: dice.pick(&[0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.02, 0.5, 0.9]),
        wake_ns: [dice.scale(3_000, 200_000), dice.scale(3_000, 200_000)],
        busy: dice.pick(&[0.0, 0.02, 0.1]),
        stale_echo: [dice.happens(0.1), dice.happens(0.1)],
    }
}

/// Returns a random stack, not only one that has a profile, and whether it holds short segments.
fn stack(dice: &mut Dice, mss: u16, nodelay: f64) -> (Config, bool) {
    let buffer = dice.pick(&[65_536, 65_536, 262_144, 16_384, 8_192]);
    let sizes = Sizes {
        mss,
        send_buffer: dice.pick(&[65_536, 131_072, 16_384]),
        receive_buffer: buffer,
    };
    let quiet = dice.happens(nodelay);
    let off = |usual| if quiet { SendPolicy::Off } else { usual };
    let per = |ms| AckTimer::PerConnection(Duration::from_millis(ms));
    let octets = u64::from(mss);
    let build = |builder: tinygram_engine::connection::ConfigBuilder| {
        builder.build().expect("these rules work together")
    };
    let config = match dice.between(0, 9) {
        // Linux.
        0..=4 => build(
            Profile::LINUX_6
                .builder(sizes)
                .send_policy(off(SendPolicy::Linux)),
        ),
        // Windows.
        5..=6 => build(
            Profile::LINUX_6
                .builder(sizes)
                .send_policy(off(SendPolicy::Nagle))
                .ack_policy(AckPolicy::EverySecond)
                .ack_timer(per(dice.pick(&[200, 50, 40])))
                .initial_cwnd(dice.pick(&[10, 4, 2]) * octets),
        ),
        // BSD, macOS and controllers based on it.
        7 => build(
            Profile::FREEBSD_3_2
                .builder(sizes)
                .send_policy(off(dice.pick(&[SendPolicy::Nagle, SendPolicy::StrictNagle])))
                .ack_policy(dice.pick(&[AckPolicy::EverySecond, AckPolicy::BytesConsumed]))
                .ack_timer(match dice.happens(0.5) {
                    true => per(100),
                    false => AckTimer::Cyclic {
                        period: Duration::from_millis(200),
                        phase: Duration::from_millis(dice.between(0, 199)),
                        slow: None,
                    },
                })
                .initial_cwnd(dice.pick(&[1, 2, 4]) * octets),
        ),
        // A controller, a printer, an appliance.
        8 => build(
            Profile::SOLARIS_8
                .builder(sizes)
                .send_policy(off(dice.pick(&[SendPolicy::Nagle, SendPolicy::Minshall])))
                .ack_policy(AckPolicy::EverySecond)
                .ack_timer(per(dice.pick(&[50, 100, 200, 125, 250])))
                .initial_cwnd(dice.pick(&[1, 2, 4]) * octets),
        ),
        // A stack that never delays an ACK.
        _ => build(
            Profile::MODERN
                .builder(sizes)
                .send_policy(off(SendPolicy::Linux))
                .ack_policy(AckPolicy::EverySegment),
        ),
    };
    (config, !quiet)
}

impl Style {
    fn draw(family: Family, dice: &mut Dice) -> Self {
        let think_ns = match dice.between(0, 3) {
            0 => dice.scale(10_000, MS),
            1 => dice.scale(MS, 50 * MS),
            _ => dice.scale(50 * MS, 3_000 * MS),
        };
        let server_ns = match dice.between(0, 5) {
            0..=2 => dice.scale(10_000, MS),
            3..=4 => dice.scale(MS, 30 * MS),
            _ => dice.scale(30 * MS, 800 * MS),
        };
        Self {
            family,
            pieces: [pieces(dice), pieces(dice)],
            gap_ns: [gap(dice), gap(dice)],
            think_ns,
            server_ns,
            spread: dice.pick(&[1, 2, 10]),
            exchanges: dice.scale(1, 60),
            in_flight: dice.between(2, 6),
            corked: dice.happens(0.5),
            flushed: dice.happens(0.4),
            varied: dice.happens(0.5),
        }
    }

    fn time(&self, about_ns: u64, dice: &mut Dice) -> u64 {
        match self.spread {
            1 => about_ns,
            by => dice.scale((about_ns / by).max(1), about_ns * by),
        }
    }

    /// Returns a message's writes; sometimes their lengths differ each time.
    fn message(&self, side: usize, dice: &mut Dice) -> Vec<u64> {
        let of = |&len: &u64, dice: &mut Dice| match self.varied {
            true => dice.between((len / 2).max(1), len + len / 2),
            false => len,
        };
        self.pieces[side].iter().map(|len| of(len, dice)).collect()
    }

    fn says(&self, side: usize, lens: &[u64], acts: &mut Vec<Act>, dice: &mut Dice) {
        for (number, len) in lens.iter().enumerate() {
            if number > 0 && self.gap_ns[side] > 0 {
                acts.push(Act::Think(self.time(self.gap_ns[side], dice)));
            }
            acts.push(write(*len));
        }
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each family")]
    fn scripts(&self, dice: &mut Dice) -> [Vec<Act>; 2] {
        let (mut client, mut server) = (Vec::new(), Vec::new());
        match self.family {
            Family::Exchange => {
                for _ in 0..self.exchanges {
                    let (asked, told) = (self.message(0, dice), self.message(1, dice));
                    client.push(Act::Think(self.time(self.think_ns, dice)));
                    self.says(0, &asked, &mut client, dice);
                    client.push(Act::Read(told.iter().sum()));
                    server.push(Act::Read(asked.iter().sum()));
                    server.push(Act::Think(self.time(self.server_ns, dice)));
                    self.says(1, &told, &mut server, dice);
                }
            }
            Family::Pipelined => {
                // Requests are written as they occur, and answered one by one.
                for _ in 0..self.exchanges {
                    client.push(Act::Think(self.time(self.think_ns, dice)));
                    let mut told = 0;
                    for _ in 0..self.in_flight {
                        let asked = self.message(0, dice)[0].min(400);
                        let answer = self.message(1, dice)[0].min(3_000);
                        client.push(write(asked));
                        server.push(Act::Read(asked));
                        server.push(Act::Think(self.time(self.server_ns / 4 + 1, dice)));
                        server.push(write(answer));
                        told += answer;
                    }
                    client.push(Act::Read(told));
                }
            }
            Family::Typing => {
                for _ in 0..self.exchanges * 4 {
                    client.push(Act::Think(dice.scale(30 * MS, 400 * MS)));
                    let echo = dice.between(1, 80);
                    let key = if dice.happens(0.1) { 40 } else { 36 };
                    client.push(write(key));
                    server.push(Act::Read(key));
                    server.push(Act::Think(dice.scale(20_000, 5 * MS)));
                    server.push(write(echo));
                    // A typist does not wait for the echo.
                }
            }
            Family::OneWay => {
                let every_ns = dice.scale(2 * MS, 400 * MS);
                let regular = dice.happens(0.5);
                for _ in 0..self.exchanges * 5 {
                    let lens = self.message(0, dice);
                    let ns = if regular {
                        every_ns
                    } else {
                        self.time(every_ns, dice)
                    };
                    client.push(Act::Think(ns));
                    self.says(0, &lens, &mut client, dice);
                    server.push(Act::Read(lens.iter().sum()));
                }
            }
            Family::Bulk => {
                for _ in 0..self.exchanges.min(8) {
                    let len = dice.scale(3_000, 300_000);
                    client.push(Act::Think(self.time(self.think_ns, dice)));
                    client.push(write(50));
                    client.push(Act::Read(len));
                    server.push(Act::Read(50));
                    server.push(Act::Think(self.time(self.server_ns, dice)));
                    let by = dice.pick(&[4_096, 8_192, 16_384, 1_000_000]);
                    let mut left = len;
                    while left > 0 {
                        server.push(write(left.min(by)));
                        left -= left.min(by);
                    }
                }
            }
            Family::Flood => {
                let (asked, many) = (dice.between(1, 40), dice.between(60, 400));
                for _ in 0..many {
                    client.push(write(asked));
                    client.push(Act::Think(dice.scale(20_000, 3 * MS)));
                }
                server.push(Act::Read(asked * many));
                server.push(write(10));
                client.push(Act::Read(10));
            }
            Family::Corked => {
                for _ in 0..self.exchanges.min(15) {
                    let (asked, told) = (self.message(0, dice), self.message(1, dice));
                    client.push(Act::Think(self.time(self.think_ns, dice)));
                    client.push(write(asked[0]));
                    client.push(Act::Read(told.iter().sum()));
                    server.push(Act::Read(asked[0]));
                    server.push(Act::Think(self.time(self.server_ns, dice)));
                    if self.corked {
                        server.push(Act::Cork(true));
                    }
                    for (number, len) in told.iter().enumerate() {
                        let last = number + 1 == told.len();
                        server.push(Act::Write {
                            len: *len,
                            more: !(self.corked || last && self.flushed),
                        });
                    }
                    if self.corked && self.flushed {
                        server.push(Act::Cork(false));
                    }
                }
            }
            Family::SlowFile => {
                // A header at once, and the body once the disk has delivered it.
                for _ in 0..self.exchanges {
                    let body = dice.scale(100, 20_000);
                    client.push(Act::Think(self.time(self.think_ns, dice)));
                    client.push(write(120));
                    client.push(Act::Read(200 + body));
                    server.push(Act::Read(120));
                    server.push(write(200));
                    server.push(Act::Think(dice.scale(5 * MS, 400 * MS)));
                    server.push(write(body));
                }
            }
            Family::Chatter => {
                // Both write at any time and read what arrives.
                for (side, acts) in [&mut client, &mut server].into_iter().enumerate() {
                    for _ in 0..self.exchanges * 3 {
                        let lens = self.message(side, dice);
                        acts.push(Act::Think(self.time(self.think_ns, dice)));
                        self.says(side, &lens, acts, dice);
                    }
                }
            }
        }
        client.push(Act::Close);
        server.push(Act::Close);
        [client, server]
    }
}

fn pieces(dice: &mut Dice) -> Vec<u64> {
    let count = dice.pick(&[1, 1, 1, 2, 2, 2, 3, 4, 8]);
    let len = |dice: &mut Dice| match dice.between(0, 9) {
        0..=5 => dice.scale(1, 300),
        6..=7 => dice.scale(200, 1_400),
        8 => dice.scale(1_400, 6_000),
        _ => dice.scale(4_000, 40_000),
    };
    (0..count).map(|_| len(dice)).collect()
}

fn gap(dice: &mut Dice) -> u64 {
    match dice.between(0, 9) {
        0..=5 => 0,
        6 => dice.scale(1_000, 100_000),
        7 => dice.scale(100_000, 5 * MS),
        _ => dice.scale(5 * MS, 150 * MS),
    }
}
