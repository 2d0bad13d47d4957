//! The notation of a script, line by line. `scenarios/README.md` describes all of it.

use std::fmt;
use std::path::Path;

use tinygram_engine::sender::send_policy::Why;
use tinygram_engine::{Duration, Offset, State};

use crate::notation::{Wire, wire};

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
    /// `read 1000 part`: so much of a read that goes on is copied.
    ReadPart(u64),
    /// The thread is about to sleep on something that is not this socket's buffers.
    Poll,
    Nodelay(bool),
    Cork(bool),
    DeviceFull {
        full: bool,
    },
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
        ["read", max, "part"] => Call::ReadPart(number(max)?),
        ["poll"] => Call::Poll,
        ["nodelay", word] => Call::Nodelay(on(word)?),
        ["cork", word] => Call::Cork(on(word)?),
        ["device", "full"] => Call::DeviceFull { full: true },
        ["device", "not-full"] => Call::DeviceFull { full: false },
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
            let mut known = Why::ALL.iter().copied();
            let why = known
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
