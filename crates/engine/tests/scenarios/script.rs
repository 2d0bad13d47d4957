//! The notation: what a script says, line by line. See `scenarios/README.md` for the whole of it.

use std::fmt;
use std::path::Path;

use tinygram_engine::sender::send_policy::Why;
use tinygram_engine::{Duration, Flags, Offset, Options, Segment, Span, State, Timestamps};

/// A script as it was read.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    /// The folder and the file's stem: `minshall/odd_full`. Also the name of the test.
    pub(crate) name: String,
    pub(crate) setup: Setup,
    pub(crate) events: Vec<Event>,
}

/// The lines before the first time stamp: `word value ...`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Setup {
    pub(crate) settings: Vec<Setting>,
}

#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) line: usize,
    pub(crate) key: String,
    pub(crate) values: Vec<String>,
}

/// A line with a time stamp.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) line: usize,
    pub(crate) text: String,
    /// Whether `at` counts from the event before.
    pub(crate) relative: bool,
    pub(crate) at: Duration,
    pub(crate) what: What,
}

/// What happens, or must have happened, at an event's time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// `> P. 1:101(100) ack 1`: this leaves.
    Leaves(Wire),
    /// `< . 1:1(0) ack 101 win 1000`: this arrives.
    Arrives(Wire),
    /// An application call, by a thread.
    Call(ThreadName, Call),
    /// A claim about the connection.
    Claim(Claim),
}

/// `main` where a line names none.
pub(crate) type ThreadName = String;

/// How a call ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ends {
    /// It returns at once.
    AtOnce,
    /// It sleeps and returns after this time: `+0...+.2 read 100`.
    After(Duration),
    /// It sleeps, for as long as the script lasts: `+0... read 100`.
    Open,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Write {
        len: u64,
        more: bool,
        /// `write 100 nonblocking = 60`.
        nonblocking: bool,
        /// `= N` octets, or `= refused`.
        result: Option<Returned>,
        ends: Ends,
    },
    Read {
        max: u64,
        result: Option<Returned>,
        ends: Ends,
    },
    /// The thread is about to sleep on something that is not this socket's buffers.
    Poll,
    Nodelay(bool),
    Cork(bool),
    Device {
        busy: bool,
    },
    Policy(String),
    Listen,
    Connect,
    Close,
    Abort,
    /// The application closes and has gone.
    Abandon,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Returned {
    Octets(u64),
    Refused,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    State(State),
    /// `hold 1:101 Unacknowledged`; `hold none`.
    Hold(Option<(Offset, Why)>),
    /// `event CLOSED`: told since the last claim about events.
    Event(&'static str),
    /// `cwnd 4000`, and so on.
    Number(Number, u64),
    /// `shifts 14 4`: Snd.Wind.Shift and Rcv.Wind.Shift.
    Shifts(u64, u64),
    /// `wakeup +1.0`: from now; `wakeup never`.
    Wakeup(Option<Duration>),
}

/// What a claim can compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    Cwnd,
    Ssthresh,
    Buffered,
    Readable,
    RtoMillis,
    Mss,
}

/// A segment in a script; what the script leaves out is not compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wire {
    pub(crate) flags: Flags,
    pub(crate) seq: Offset,
    pub(crate) len: u32,
    pub(crate) ack: Option<Offset>,
    pub(crate) window: Option<u32>,
    pub(crate) mss: Option<u16>,
    /// What stands in `<...>` besides.
    pub(crate) options: Option<Options>,
}

/// A script that cannot be read.
#[derive(Debug)]
pub(crate) struct Unreadable {
    pub(crate) line: usize,
    pub(crate) why: String,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.why)
    }
}

impl Script {
    /// Reads `text`, the contents of the script called `name`.
    pub(crate) fn parse(name: &str, text: &str) -> Result<Self, Unreadable> {
        let mut setup = Setup::default();
        let mut events = Vec::new();
        for (index, whole) in text.lines().enumerate() {
            let line = index + 1;
            let text = whole.split("//").next().unwrap_or_default().trim();
            if text.is_empty() {
                continue;
            }
            let refused = |why| Unreadable { line, why };
            let timed = text.starts_with(|c: char| c == '+' || c == '.' || c.is_ascii_digit());
            if timed {
                events.push(event(line, text).map_err(refused)?);
            } else if events.is_empty() {
                let mut words = text.split_whitespace().map(String::from);
                let key = words.next().unwrap_or_default();
                let values = words.collect();
                setup.settings.push(Setting { line, key, values });
            } else {
                return Err(refused("a setting after the first event".into()));
            }
        }
        let name = name.into();
        Ok(Self {
            name,
            setup,
            events,
        })
    }

    /// Where it stands, relative to the repository's root.
    pub(crate) fn path(&self) -> String {
        Path::new("scenarios")
            .join(&self.name)
            .with_extension("pkt")
            .display()
            .to_string()
    }
}

fn event(line: usize, text: &str) -> Result<Event, String> {
    let (time, rest) = text.split_once(char::is_whitespace).ok_or("only a time")?;
    let (start, ends) = match time.split_once("...") {
        None => (time, Ends::AtOnce),
        Some((start, "")) => (start, Ends::Open),
        Some((start, end)) => {
            let end = end.strip_prefix('+').ok_or("an end is written ...+TIME")?;
            (start, Ends::After(seconds(end)?))
        }
    };
    let relative = start.starts_with('+');
    let at = seconds(start.trim_start_matches('+'))?;
    let what = what(rest.trim(), ends)?;
    Ok(Event {
        line,
        text: text.into(),
        relative,
        at,
        what,
    })
}

fn what(text: &str, ends: Ends) -> Result<What, String> {
    let may_sleep = |call: &Call| matches!(call, Call::Read { .. } | Call::Write { .. });
    let parsed = if let Some(rest) = text.strip_prefix('>') {
        What::Leaves(wire(rest)?)
    } else if let Some(rest) = text.strip_prefix('<') {
        What::Arrives(wire(rest)?)
    } else {
        let (thread, rest) = match text.strip_prefix('@') {
            Some(named) => named.split_once(' ').ok_or("a thread and no call")?,
            None => ("main", text),
        };
        let words: Vec<_> = rest.split_whitespace().collect();
        match claim(&words)? {
            Some(claim) => What::Claim(claim),
            None => What::Call(thread.into(), call(&words, ends)?),
        }
    };
    match &parsed {
        What::Call(_, call) if may_sleep(call) => {}
        _ if ends == Ends::AtOnce => {}
        _ => return Err("only read and write can sleep".into()),
    }
    Ok(parsed)
}

fn call(words: &[&str], ends: Ends) -> Result<Call, String> {
    let (words, result) = match words {
        [front @ .., "=", result] => (front, Some(returned(result)?)),
        _ => (words, None),
    };
    let on = |word: &str| match word {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(format!("`{word}` is neither on nor off")),
    };
    let plain = match words {
        ["write", len, flags @ ..] => {
            let known = |flag: &&str| ["more", "nonblocking"].contains(flag);
            if let Some(flag) = flags.iter().find(|flag| !known(flag)) {
                return Err(format!("`{flag}` is neither more nor nonblocking"));
            }
            return Ok(Call::Write {
                len: number(len)?,
                more: flags.contains(&"more"),
                nonblocking: flags.contains(&"nonblocking"),
                result,
                ends,
            });
        }
        ["read"] => {
            let max = u64::MAX;
            return Ok(Call::Read { max, result, ends });
        }
        ["read", max] => {
            let max = number(max)?;
            return Ok(Call::Read { max, result, ends });
        }
        ["poll"] => Call::Poll,
        ["nodelay", word] => Call::Nodelay(on(word)?),
        ["cork", word] => Call::Cork(on(word)?),
        ["device", "busy"] => Call::Device { busy: true },
        ["device", "free"] => Call::Device { busy: false },
        ["policy", name] => Call::Policy((*name).into()),
        ["listen"] => Call::Listen,
        ["connect"] => Call::Connect,
        ["close"] => Call::Close,
        ["abort"] => Call::Abort,
        ["abandon"] => Call::Abandon,
        _ => return Err(format!("`{}` is no call and no claim", words.join(" "))),
    };
    match result {
        None => Ok(plain),
        Some(_) => Err("only read and write give a result".into()),
    }
}

fn claim(words: &[&str]) -> Result<Option<Claim>, String> {
    Ok(Some(match words {
        ["state", name] => Claim::State(state(name)?),
        ["hold", "none"] => Claim::Hold(None),
        ["hold", start, why] => {
            let why = Why::ALL
                .into_iter()
                .find(|known| format!("{known:?}") == *why)
                .ok_or_else(|| format!("`{why}` is not one of {:?}", Why::ALL))?;
            Claim::Hold(Some((Offset::new(number(start)?), why)))
        }
        ["event", name] => {
            let known = super::play::NEWS.iter().find(|news| news.0 == *name);
            Claim::Event(known.ok_or_else(|| format!("no event `{name}`"))?.0)
        }
        ["shifts", send, receive] => Claim::Shifts(number(send)?, number(receive)?),
        ["wakeup", "never"] => Claim::Wakeup(None),
        ["wakeup", time] => Claim::Wakeup(Some(seconds(time.trim_start_matches('+'))?)),
        ["cwnd", octets] => Claim::Number(Number::Cwnd, number(octets)?),
        ["ssthresh", octets] => Claim::Number(Number::Ssthresh, number(octets)?),
        ["buffered", octets] => Claim::Number(Number::Buffered, number(octets)?),
        ["readable", octets] => Claim::Number(Number::Readable, number(octets)?),
        ["mss", octets] => Claim::Number(Number::Mss, number(octets)?),
        ["rto", millis] => {
            let millis = millis.strip_suffix("ms").ok_or("rto in ms: `rto 1000ms`")?;
            Claim::Number(Number::RtoMillis, number(millis)?)
        }
        _ => return Ok(None),
    }))
}

/// `P. 1:101(100) ack 1 win 1000 <mss 1460,sackOK>`.
fn wire(text: &str) -> Result<Wire, String> {
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
    let (mss, options) = match listed.map(options).transpose()? {
        None => (None, None),
        Some((mss, options)) => (mss, Some(options)),
    };
    Ok(Wire {
        flags,
        seq,
        len,
        ack,
        window,
        mss,
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
            _ => return Err(format!("`{letter}` is none of F S R P .")),
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
            mss: self.mss.unwrap_or_default(),
            flags: self.flags,
            options: self.options.unwrap_or_default(),
        }
    }

    /// Whether `segment` is what the script says.
    pub(crate) fn describes(&self, segment: &Segment) -> bool {
        self.flags == segment.flags
            && self.seq == segment.seq
            && self.len == segment.len
            && self.ack.is_none_or(|ack| ack == segment.ack)
            && self.window.is_none_or(|window| window == segment.window)
            && self.mss.is_none_or(|mss| mss == segment.mss)
            && self.options.is_none_or(|options| {
                // Timestamps may be left out.
                let timestamps = options.timestamps.or(segment.options.timestamps);
                let options = Options {
                    timestamps,
                    ..options
                };
                options == segment.options
            })
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
    let options = list_options(segment.mss, &segment.options);
    if !options.is_empty() {
        text += &format!(" <{}>", options.join(","));
    }
    text
}

/// `mss 1460,sackOK,wscale 7,TS val 5 ecr 3,sack 3:4 7:9`.
fn options(text: &str) -> Result<(Option<u16>, Options), String> {
    let (mut mss, mut options) = (None, Options::default());
    for option in text.split(',') {
        let words: Vec<_> = option.split_whitespace().collect();
        match words.as_slice() {
            ["mss", octets] => mss = Some(number(octets)? as u16),
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
            _ => {
                let known = "mss N, sackOK, wscale N, TS val N ecr N, sack START:END ...";
                return Err(format!("`{}` is none of {known}", option.trim()));
            }
        }
    }
    Ok((mss, options))
}

fn list_options(mss: u16, options: &Options) -> Vec<String> {
    let mut listed = Vec::new();
    if mss != 0 {
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
    listed
}

fn returned(word: &str) -> Result<Returned, String> {
    match word {
        "refused" => Ok(Returned::Refused),
        octets => Ok(Returned::Octets(number(octets)?)),
    }
}

fn state(name: &str) -> Result<State, String> {
    use State::{
        CloseWait, Closed, Closing, Established, FinWait1, FinWait2, LastAck, Listen, SynReceived,
        SynSent, TimeWait,
    };
    let all = [
        ("CLOSED", Closed),
        ("LISTEN", Listen),
        ("SYN-SENT", SynSent),
        ("SYN-RECEIVED", SynReceived),
        ("ESTABLISHED", Established),
        ("FIN-WAIT-1", FinWait1),
        ("FIN-WAIT-2", FinWait2),
        ("CLOSE-WAIT", CloseWait),
        ("CLOSING", Closing),
        ("LAST-ACK", LastAck),
        ("TIME-WAIT", TimeWait),
    ];
    all.into_iter()
        .find(|(known, _)| *known == name)
        .map(|(_, state)| state)
        .ok_or_else(|| format!("no state `{name}`"))
}

/// `1.5`, `.02`, `0`: seconds, to the nanosecond.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    let refused = || format!("`{text}` is not a time in seconds");
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.len() > 9 {
        return Err(refused());
    }
    let digits = |text: &str| match text {
        "" => Ok(0),
        text => text.parse::<u64>().map_err(|_| refused()),
    };
    let nanos = digits(fraction)? * 10_u64.pow(9 - fraction.len() as u32);
    Ok(Duration::from_nanos(digits(whole)? * 1_000_000_000 + nanos))
}

/// A decimal number of octets.
pub(crate) fn number(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| format!("`{text}` is not a number"))
}
