//! How a script writes a segment: `P. 1:101(100) ack 1 win 1000 <mss 1460,sackOK>`.

use tinygram_engine::queues::{QueueCounter, QueueCounters};
use tinygram_engine::{Flags, Offset, Options, Segment, Span, Timestamps};

use crate::script::number;

/// A segment in a script; what the script leaves out is not compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wire {
    pub(crate) flags: Flags,
    pub(crate) seq: Offset,
    pub(crate) len: u32,
    pub(crate) ack: Option<Offset>,
    pub(crate) window: Option<u32>,
    /// What stands in `<...>`.
    pub(crate) options: Option<Options>,
}

/// `P. 1:101(100) ack 1 win 1000 <mss 1460,sackOK>`.
pub(crate) fn wire(text: &str) -> Result<Wire, String> {
    let (text, listed) = match text.split_once('<') {
        None => (text, None),
        Some((text, rest)) => {
            let listed = rest.trim_end().strip_suffix('>');
            (text, Some(listed.ok_or("`<` without `>`")?))
        }
    };
    let mut words = text.split_whitespace();
    let flags = flags(words.next().ok_or("flags are missing")?)?;
    let range = words.next().ok_or("START:END(LENGTH) is missing")?;
    let (seq, len) = (|| {
        let (start, rest) = range.split_once(':')?;
        let (end, len) = rest.strip_suffix(')')?.split_once('(')?;
        let (start, end): (u64, u64) = (start.parse().ok()?, end.parse().ok()?);
        let len: u32 = len.parse().ok()?;
        (start + u64::from(len) == end).then_some((Offset::new(start), len))
    })()
    .ok_or_else(|| format!("`{range}` is not START:END(LENGTH)"))?;
    let (mut ack, mut window) = (None, None);
    while let Some(word) = words.next() {
        let value = number(words.next().unwrap_or_default())?;
        match word {
            "ack" => ack = Some(Offset::new(value)),
            "win" => window = Some(value as u32),
            _ => return Err(format!("`{word}` is neither ack nor win")),
        }
    }
    if flags.has(Flags::ACK) != ack.is_some() {
        return Err("the flag `.` and `ack N` go together".into());
    }
    let options = listed.map(options).transpose()?;
    Ok(Wire {
        flags,
        seq,
        len,
        ack,
        window,
        options,
    })
}

fn flags(letters: &str) -> Result<Flags, String> {
    letters.chars().try_fold(Flags::NONE, |flags, letter| {
        Ok(flags.with(match letter {
            'F' => Flags::FIN,
            'S' => Flags::SYN,
            'R' => Flags::RST,
            'P' => Flags::PSH,
            '.' => Flags::ACK,
            'E' => Flags::ECE,
            'W' => Flags::CWR,
            't' => Flags::ECT,
            'c' => Flags::CE,
            _ => return Err(format!("`{letter}` is none of F S R P . E W t c")),
        }))
    })
}

impl Wire {
    /// The segment that arrives; a window that is not named is `window`.
    pub(crate) fn segment(&self, window: u32) -> Segment {
        Segment {
            seq: self.seq,
            ack: self.ack.unwrap_or_default(),
            len: self.len,
            window: self.window.unwrap_or(window),
            flags: self.flags,
            options: self.options.map(without_mss_0).unwrap_or_default(),
        }
    }

    /// Whether `segment` is what the script says.
    pub(crate) fn describes(&self, segment: &Segment) -> bool {
        self.flags == segment.flags
            && self.seq == segment.seq
            && self.len == segment.len
            && self.ack.is_none_or(|ack| ack == segment.ack)
            && self.window.is_none_or(|window| window == segment.window)
            && self.options.is_none_or(|options| {
                // The MSS and timestamps may be left out.
                let options = Options {
                    mss: options.mss.or(segment.options.mss),
                    timestamps: options.timestamps.or(segment.options.timestamps),
                    ..options
                };
                without_mss_0(options) == segment.options
            })
    }
}

/// `mss 0` says that there is no such option.
fn without_mss_0(options: Options) -> Options {
    Options {
        mss: options.mss.filter(|mss| *mss > 0),
        ..options
    }
}

/// A segment as a script writes it, all of it.
pub(crate) fn notation(segment: &Segment) -> String {
    let letters = [
        (Flags::FIN, 'F'),
        (Flags::SYN, 'S'),
        (Flags::RST, 'R'),
        (Flags::PSH, 'P'),
        (Flags::ACK, '.'),
        (Flags::ECE, 'E'),
        (Flags::CWR, 'W'),
        (Flags::ECT, 't'),
        (Flags::CE, 'c'),
    ];
    let flags: String = letters
        .iter()
        .filter(|(flag, _)| segment.flags.has(*flag))
        .map(|(_, letter)| letter)
        .collect();
    let (seq, len) = (segment.seq, segment.len);
    let mut text = format!("{flags} {seq}:{}({len})", seq + u64::from(len));
    if segment.flags.has(Flags::ACK) {
        text += &format!(" ack {}", segment.ack);
    }
    text += &format!(" win {}", segment.window);
    let options = list_options(&segment.options);
    if !options.is_empty() {
        text += &format!(" <{}>", options.join(","));
    }
    text
}

/// `mss 1460,sackOK,wscale 7,TS val 5 ecr 3,sack 3:4 7:9`.
fn options(text: &str) -> Result<Options, String> {
    let mut options = Options::default();
    for option in text.split(',') {
        let words: Vec<_> = option.split_whitespace().collect();
        match words.as_slice() {
            ["mss", octets] => options.mss = Some(number(octets)? as u16),
            ["sackOK"] => options.sack_permitted = true,
            ["wscale", shift] => options.window_scale = Some(number(shift)? as u8),
            ["TS", "val", value, "ecr", echo] => {
                options.timestamps = Some(Timestamps {
                    value: number(value)? as u32,
                    echo: number(echo)? as u32,
                });
            }
            ["sack", blocks @ ..] if !blocks.is_empty() => {
                for block in blocks {
                    let (start, end) = block
                        .split_once(':')
                        .ok_or_else(|| format!("`{block}` is not START:END"))?;
                    let (start, end) = (number(start)?, number(end)?);
                    let block = Span::new(Offset::new(start), Offset::new(end));
                    if !options.sack.push(block) {
                        return Err("more than four SACK blocks".into());
                    }
                }
            }
            ["countersOK"] => options.counters_permitted = true,
            ["counters", unacknowledged, unread, delayed] => {
                options.counters = Some(QueueCounters {
                    unacknowledged: counter(unacknowledged)?,
                    unread: counter(unread)?,
                    delayed: counter(delayed)?,
                });
            }
            _ => {
                let known = "mss N, sackOK, wscale N, TS val N ecr N, sack START:END ..., countersOK, \
                             counters AREA/OCTETS AREA/OCTETS AREA/OCTETS";
                return Err(format!("`{}` is none of {known}", option.trim()));
            }
        }
    }
    Ok(options)
}

/// `7/100`.
fn counter(text: &str) -> Result<QueueCounter, String> {
    let (area, left) = text
        .split_once('/')
        .ok_or_else(|| format!("`{text}` is not AREA/OCTETS"))?;
    let [area, left] = [number(area)? as u32, number(left)? as u32];
    Ok(QueueCounter { area, left })
}

fn list_options(options: &Options) -> Vec<String> {
    let mut listed = Vec::new();
    if let Some(mss) = options.mss {
        listed.push(format!("mss {mss}"));
    }
    if options.sack_permitted {
        listed.push("sackOK".into());
    }
    if let Some(timestamps) = options.timestamps {
        listed.push(timestamps.to_string());
    }
    if let Some(shift) = options.window_scale {
        listed.push(format!("wscale {shift}"));
    }
    if !options.sack.is_empty() {
        let blocks = options.sack.iter().map(|block| format!(" {block}"));
        listed.push(format!("sack{}", blocks.collect::<String>()));
    }
    if options.counters_permitted {
        listed.push("countersOK".into());
    }
    if let Some(counters) = options.counters {
        listed.push(counters.to_string());
    }
    listed
}
