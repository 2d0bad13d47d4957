//! TCP options (RFC 9293, section 3.2; RFC 7323; RFC 2018; RFC 6994).

use tinygram_engine::Timestamps;
use tinygram_engine::options::{Blocks, TcpOptions};
use tinygram_engine::queues::{QueueCounter, QueueCounters};

/// SACK blocks as on the wire: the left edge, and the right edge, which is not included.
pub type SackBlocks = Blocks<u32>;

/// All options of one segment that the engine knows, as on the wire. A window scale is the shift as
/// it was sent (up to 255; more than 14 means 14).
pub type Options = TcpOptions<u32>;

/// The space for options in a header, in octets.
pub const ROOM: usize = 40;

/// One option of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcpOption {
    /// Kind 2: maximum segment size, in octets.
    Mss(u16),
    /// Kind 3: window scale, a shift as it was sent (up to 255; more than 14 means 14).
    WindowScale(u8),
    /// Kind 4: the sender understands SACK.
    SackPermitted,
    /// Kind 5: the octets that arrived out of order.
    Sack(SackBlocks),
    /// Kind 8.
    Timestamps(Timestamps),
    /// Kind 253 with [`COUNTERS_EXID`] and nothing else: the sender understands queue counters.
    CountersPermitted,
    /// The same with 24 octets: area and octets of what is unacknowledged, unread, and not acknowledged by the sender.
    Counters(QueueCounters),
    /// Any other kind, or one of the above with a wrong length.
    Other(u8),
}

/// Returns the options in these octets, one after the other. The list ends at the first damaged
/// option.
#[inline]
pub fn read(octets: &[u8]) -> impl Iterator<Item = TcpOption> + '_ {
    Walk(octets)
}

struct Walk<'a>(&'a [u8]);

impl Iterator for Walk<'_> {
    type Item = TcpOption;

    #[inline]
    fn next(&mut self) -> Option<TcpOption> {
        loop {
            match *self.0 {
                [] | [END, ..] => return None,
                [NOP, ref rest @ ..] => self.0 = rest,
                [kind, ..] => {
                    let len = usize::from(*self.0.get(1)?);
                    let value = self.0.get(2..len)?;
                    self.0 = &self.0[len..];
                    return Some(one(kind, value));
                }
            }
        }
    }
}

fn one(kind: u8, value: &[u8]) -> TcpOption {
    match (kind, value) {
        (MSS, &[a, b]) => TcpOption::Mss(u16::from_be_bytes([a, b])),
        (WINDOW_SCALE, &[shift]) => TcpOption::WindowScale(shift),
        (SACK_PERMITTED, []) => TcpOption::SackPermitted,
        (SACK, blocks) if blocks.len() >= 8 => {
            let block = |octets| (be32(octets, 0), be32(octets, 4));
            TcpOption::Sack(blocks.chunks_exact(8).map(block).collect())
        }
        (TIMESTAMPS, stamps) if stamps.len() == 8 => TcpOption::Timestamps(Timestamps {
            value: be32(stamps, 0),
            echo: be32(stamps, 4),
        }),
        (EXPERIMENT, [a, b, value @ ..]) if [*a, *b] == COUNTERS_EXID.to_be_bytes() => {
            experiment(value)
        }
        _ => TcpOption::Other(kind),
    }
}

/// Reads what follows the experiment's identifier.
fn experiment(value: &[u8]) -> TcpOption {
    let counter = |at: usize| QueueCounter {
        area: be32(value, at),
        left: be32(value, at + 4),
    };
    match value.len() {
        0 => TcpOption::CountersPermitted,
        24 => TcpOption::Counters(QueueCounters {
            unacknowledged: counter(0),
            unread: counter(8),
            delayed: counter(16),
        }),
        _ => TcpOption::Other(EXPERIMENT),
    }
}

/// Reads all options. If an option comes twice, the last one counts.
#[must_use]
#[inline]
pub fn read_all(octets: &[u8]) -> Options {
    match usual(octets) {
        Some(timestamps) => Options {
            timestamps,
            ..Options::default()
        },
        None => gather(octets),
    }
}

/// Returns the timestamps, or that there are none, if there is no other option but NOPs before them: so it is
/// in nearly every segment of a modern stack. Returns `None` if there may be other options.
#[expect(clippy::inline_always, reason = "a few comparisons, for each segment")]
#[inline(always)]
pub(crate) fn usual(octets: &[u8]) -> Option<Option<Timestamps>> {
    if octets.is_empty() {
        return Some(None);
    }
    let octets: &[u8; 12] = octets.try_into().ok()?;
    let (begun, stamps) = octets.split_at(4);
    (begun == [NOP, NOP, TIMESTAMPS, 10]).then(|| {
        Some(Timestamps {
            value: be32(stamps, 0),
            echo: be32(stamps, 4),
        })
    })
}

/// Reads options of any kinds.
#[inline(never)]
pub(crate) fn gather(octets: &[u8]) -> Options {
    let mut all = Options::default();
    for option in read(octets) {
        match option {
            TcpOption::Mss(mss) => all.mss = Some(mss),
            TcpOption::WindowScale(shift) => all.window_scale = Some(shift),
            TcpOption::SackPermitted => all.sack_permitted = true,
            TcpOption::Sack(blocks) => all.sack = blocks,
            TcpOption::Timestamps(timestamps) => all.timestamps = Some(timestamps),
            TcpOption::CountersPermitted => all.counters_permitted = true,
            TcpOption::Counters(counters) => all.counters = Some(counters),
            TcpOption::Other(_) => {}
        }
    }
    all
}

/// Returns how many octets [`write()`] will take: a multiple of four, at most [`ROOM`].
#[must_use]
#[inline]
pub fn len(options: &Options) -> usize {
    let fixed = fixed_len(options) + counters_that_fit(options).map_or(0, |_| COUNTERS_LEN);
    match sack_that_fit(options, fixed) {
        0 => fixed,
        blocks => fixed + 4 + 8 * blocks,
    }
}

/// Returns how many octets all options but queue counters and SACK blocks take, each padded to four octets with NOPs as RFC
/// 7323, appendix A, does.
#[inline]
fn fixed_len(options: &Options) -> usize {
    4 * usize::from(options.mss.is_some())
        + 4 * usize::from(options.window_scale.is_some())
        // With timestamps, SACK-permitted takes the place of their two NOPs.
        + 4 * usize::from(options.sack_permitted && options.timestamps.is_none())
        + 12 * usize::from(options.timestamps.is_some())
        + 4 * usize::from(options.counters_permitted)
}

/// Returns the queue counters if they fit: beside all options of a SYN they do not.
#[inline]
fn counters_that_fit(options: &Options) -> Option<&QueueCounters> {
    let counters = options.counters.as_ref();
    counters.filter(|_| fixed_len(options) + COUNTERS_LEN <= ROOM)
}

/// Counts the blocks that fit: with timestamps three (RFC 2018, section 3), beside queue counters at most one.
#[inline]
fn sack_that_fit(options: &Options, fixed: usize) -> usize {
    let room = ROOM.saturating_sub(fixed + 4);
    options.sack.len().min(room / 8)
}

/// Writes the options to the beginning of `octets`.
///
/// # Panics
///
/// Panics if `octets` is shorter than [`len`] says.
#[inline]
pub fn write(options: &Options, octets: &mut [u8]) {
    let mut to = Writer { octets, at: 0 };
    if let Some(mss) = options.mss {
        let [high, low] = mss.to_be_bytes();
        to.put([MSS, 4, high, low]);
    }
    if let Some(timestamps) = options.timestamps {
        let before = match options.sack_permitted {
            true => [SACK_PERMITTED, 2],
            false => [NOP, NOP],
        };
        to.put([before[0], before[1], TIMESTAMPS, 10]);
        to.put(timestamps.value.to_be_bytes());
        to.put(timestamps.echo.to_be_bytes());
    } else if options.sack_permitted {
        to.put([NOP, NOP, SACK_PERMITTED, 2]);
    }
    if let Some(shift) = options.window_scale {
        to.put([NOP, WINDOW_SCALE, 3, shift]);
    }
    let [high, low] = COUNTERS_EXID.to_be_bytes();
    if options.counters_permitted {
        to.put([EXPERIMENT, 4, high, low]);
    }
    let counters = counters_that_fit(options);
    if let Some(counters) = counters {
        to.put([EXPERIMENT, COUNTERS_LEN as u8, high, low]);
        for counter in [counters.unacknowledged, counters.unread, counters.delayed] {
            to.put(counter.area.to_be_bytes());
            to.put(counter.left.to_be_bytes());
        }
    }
    let fixed = fixed_len(options) + counters.map_or(0, |_| COUNTERS_LEN);
    let blocks = sack_that_fit(options, fixed);
    if blocks > 0 {
        to.put([NOP, NOP, SACK, 2 + 8 * blocks as u8]);
        for (left, right) in options.sack.iter().take(blocks) {
            to.put(left.to_be_bytes());
            to.put(right.to_be_bytes());
        }
    }
}

struct Writer<'a> {
    octets: &'a mut [u8],
    at: usize,
}

impl Writer<'_> {
    #[inline]
    fn put(&mut self, four: [u8; 4]) {
        self.octets[self.at..self.at + 4].copy_from_slice(&four);
        self.at += 4;
    }
}

/// Reads a number. The caller has checked that the octets are there.
#[inline]
fn be32(octets: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([octets[at], octets[at + 1], octets[at + 2], octets[at + 3]])
}

const END: u8 = 0;
const NOP: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
/// The first of two kinds that are set apart for experiments (RFC 4727, section 2.1), which tell each other apart by the
/// identifier that follows (RFC 6994, section 3).
const EXPERIMENT: u8 = 253;
/// The identifier of queue counters: `tG`. It is not among those that IANA has registered, as RFC 6994, section 4, asks of what
/// leaves a test network.
pub const COUNTERS_EXID: u16 = 0x7447;
/// The octets of an option with queue counters.
const COUNTERS_LEN: usize = 28;
