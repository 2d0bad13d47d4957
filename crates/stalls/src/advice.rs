//! Advice: what can be changed, on which side, and with what effort.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::net::IpAddr;

use crate::case::Case;
use crate::cure::Cure;
use crate::kind::Kind;
use crate::pieces::Pieces;
use crate::protocol::Protocol;
use crate::remedy_table;
use crate::side::Side;
use crate::timeout::Timeout;

/// The steps that help, those of least effort first; for both ends if both can do something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// The steps. One of them is enough.
    pub steps: Vec<Step>,
    /// A step that seems to help and does not, or is impossible here, if there is one.
    pub caution: Option<&'static str>,
}

/// One change that helps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The side that makes the change.
    pub side: Side,
    /// What the change does.
    pub cure: Cure,
    /// The effort of making it.
    pub effort: Effort,
    /// What to write or set.
    pub text: String,
}

/// The effort of a change, the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effort {
    /// A setting of the program, made by an administrator.
    ProgramSetting,
    /// One line of the program's source.
    OneLine,
    /// A setting of the host, for all its connections on a route or an interface.
    HostSetting,
    /// A change to how the program writes.
    Rewrite,
}

impl Effort {
    /// Returns the name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ProgramSetting => "program-setting",
            Self::OneLine => "one-line",
            Self::HostSetting => "host-setting",
            Self::Rewrite => "rewrite",
        }
    }
}

impl Advice {
    /// Returns the advice for a case.
    #[must_use]
    pub fn of(case: &Case) -> Self {
        let mut steps = senders(case);
        steps.extend(without_interim_answer(case));
        if case.kind.waits_for_delayed_ack() {
            steps.extend(receivers(case));
        }
        steps.sort_by_key(|step| step.effort);
        Self {
            steps,
            caution: caution(case),
        }
    }

    /// Returns the advice for a case whose sender is the reader's own code. The sender's steps come first, and TCP_NODELAY
    /// is the last of them: what writes a message in pieces is the cause, and TCP_NODELAY makes a packet of each.
    #[must_use]
    pub fn for_own_code(case: &Case) -> Self {
        let mut advice = Self::of(case);
        let last = |step: &Step| (step.side != case.sender, step.cure == Cure::NoDelay);
        advice.steps.sort_by_key(last);
        advice
    }

    /// Returns the steps that a side can take, those of least effort first.
    pub fn by(&self, side: Side) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(move |step| step.side == side)
    }
}

/// Writes one paragraph: the steps, then the caution.
impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, step) in self.steps.iter().enumerate() {
            let or = if number == 0 { "" } else { "; or " };
            write!(f, "{or}{}: {}", step.side, step.text)?;
        }
        match self.caution {
            Some(caution) => write!(f, ". {caution}"),
            None => Ok(()),
        }
    }
}

/// Returns the cure in a few words, for a headline.
#[must_use]
pub fn headline(case: &Case) -> String {
    let (sender, blame) = (case.sender, case.blame);
    match case.kind {
        Kind::WriteWriteRead | Kind::NagleRoundTrip if case.pieces == Pieces::Pipelined => {
            format!("TCP_NODELAY on the {sender}")
        }
        Kind::WriteWriteRead | Kind::NagleRoundTrip if case.pieces == Pieces::OneMessage => {
            format!("write once, or TCP_NODELAY on the {sender}")
        }
        Kind::WriteWriteRead | Kind::NagleRoundTrip => {
            format!("one write, if it is one message, or TCP_NODELAY on the {sender}")
        }
        Kind::OddFullShortFinal => {
            format!("TCP_NODELAY on the {sender}, or a stack with Minshall's rule")
        }
        Kind::BufferTearing => {
            format!("a larger stream buffer on the {sender}, or TCP_NODELAY there")
        }
        Kind::ShortInitialSegment => {
            format!("a larger initial window on the {sender}, and a full first segment")
        }
        Kind::SlowStartDelayedAck => match case.timeout {
            Timeout::No => format!("a larger initial window on the {sender}"),
            Timeout::Perhaps => format!(
                "immediate ACKs on the {}, or a larger initial window on the {sender}",
                sender.other()
            ),
            Timeout::Yes => format!("immediate ACKs on the {}, or less loss", sender.other()),
        },
        Kind::SmallBuffer => format!(
            "a larger buffer on the {blame}; {}",
            nodelay_and_buffer(case)
        ),
        Kind::IdleRestart => format!("tcp_slow_start_after_idle=0 on the {sender}"),
        Kind::CorkHeld => format!("uncork after each message on the {sender}"),
        Kind::TinygramFlood => format!(
            "gather and write once on the {sender}; TCP_NODELAY makes a flood and does not cure it"
        ),
    }
}

/// Returns the clause that says whether TCP_NODELAY ends a deadlock of buffers, as `tinygram
/// deadlock` does: it helps if all that the buffer holds, which then leaves at once, is at least
/// the two full segments that the receiver acknowledges.
fn nodelay_and_buffer(case: &Case) -> &'static str {
    let enough = case.flight.saturating_add(case.held) >= case.mss.saturating_mul(2);
    match case.leaves_a_short_one() && enough {
        true => "TCP_NODELAY helps only if more than one flight fits into it",
        false => "TCP_NODELAY does not help",
    }
}

impl Case {
    /// Returns true if what is held is less than a segment: then Nagle's algorithm is what holds it.
    fn leaves_a_short_one(&self) -> bool {
        self.held > 0 && self.mss > 0 && self.held < self.mss
    }
}

fn senders(case: &Case) -> Vec<Step> {
    let side = case.sender;
    let step = |cure, effort, text: &str| Step {
        side,
        cure,
        effort,
        text: text.to_owned(),
    };
    let write_once = step(
        Cure::WriteOnce,
        Effort::Rewrite,
        "write the message once (one buffer, writev, or cork and uncork around it)",
    );
    let if_once = step(
        Cure::WriteOnce,
        Effort::Rewrite,
        "if both pieces are one message, write it once (one buffer, writev, or cork and uncork around it)",
    );
    let no_delay = step(
        Cure::NoDelay,
        Effort::OneLine,
        "set TCP_NODELAY on the socket",
    );
    let mut steps = match case.kind {
        Kind::ShortInitialSegment | Kind::SlowStartDelayedAck => initial_window(case),
        Kind::WriteWriteRead | Kind::NagleRoundTrip => match case.pieces {
            Pieces::Pipelined => vec![no_delay],
            Pieces::OneMessage => vec![no_delay, write_once],
            Pieces::Unknown => vec![no_delay, if_once],
        },
        Kind::OddFullShortFinal => vec![no_delay],
        Kind::BufferTearing => vec![
            step(
                Cure::Buffer,
                Effort::OneLine,
                "give the stream a buffer that holds the whole message",
            ),
            no_delay,
        ],
        Kind::SmallBuffer => vec![buffer(case)],
        Kind::IdleRestart => vec![
            step(
                Cure::InitialWindow,
                Effort::HostSetting,
                "`sysctl net.ipv4.tcp_slow_start_after_idle=0`",
            ),
            step(
                Cure::InitialWindow,
                Effort::Rewrite,
                "keep the connection busy",
            ),
        ],
        Kind::CorkHeld => vec![step(
            Cure::WriteOnce,
            Effort::OneLine,
            match (case.protocol, side) {
                (Some(Protocol::Http), Side::Server) => {
                    "end each message: TCP_CORK off, or send its last piece without MSG_MORE (if it is nginx: tcp_nodelay on with tcp_nopush)"
                }
                _ => "end each message: TCP_CORK off, or send its last piece without MSG_MORE",
            },
        )],
        Kind::TinygramFlood => vec![step(
            Cure::WriteOnce,
            Effort::Rewrite,
            "gather what is written between two waits and write it once (a buffered stream flushed when the program blocks, MSG_MORE, or autocorking)",
        )],
    };
    let known = protocols(case);
    steps.splice(0..0, known);
    steps
}

/// Returns what enlarges the window with which a sender begins. Behind a timeout it is small whatever is set.
fn initial_window(case: &Case) -> Vec<Step> {
    let step = |cure, effort, text: &str| Step {
        side: case.sender,
        cure,
        effort,
        text: text.to_owned(),
    };
    let text = match case.loopback {
        true => INITIAL_WINDOW_HERE.to_owned(),
        false => to_peer(INITIAL_WINDOW, case.receiver_address),
    };
    let larger = step(Cure::InitialWindow, Effort::HostSetting, &text);
    let whole = step(
        Cure::WriteOnce,
        Effort::Rewrite,
        "write header and body together so that the first segment is full",
    );
    match case.kind {
        Kind::ShortInitialSegment => vec![larger, whole],
        _ if case.timeout == Timeout::Yes => Vec::new(),
        _ => vec![larger],
    }
}

/// Returns what is known to help with the protocol.
fn protocols(case: &Case) -> Vec<Step> {
    let fits = |cure| match case.kind {
        Kind::WriteWriteRead | Kind::NagleRoundTrip | Kind::TinygramFlood => true,
        // The message is written whole.
        Kind::OddFullShortFinal => cure == Cure::NoDelay,
        _ => false,
    };
    let Some(protocol) = case.protocol else {
        return Vec::new();
    };
    let effort = match remedy_table::are_settings(protocol) {
        true => Effort::ProgramSetting,
        false => Effort::OneLine,
    };
    let remedies = remedy_table::of(protocol, case).filter(|remedy| fits(remedy.cure));
    remedies
        .map(|remedy| Step {
            side: case.sender,
            cure: remedy.cure,
            effort,
            text: format!("{protocol}: {}", remedy.text),
        })
        .collect()
}

/// Returns a step for the client of a server that answers twice. It may have asked the server to say first that it will
/// take the body (RFC 9110, section 10.1.1).
fn without_interim_answer(case: &Case) -> Option<Step> {
    let answers = case.kind.is_stall()
        && case.sender == Side::Server
        && case.protocol == Some(Protocol::Http)
        && case.pieces == Pieces::Pipelined;
    answers.then(|| Step {
        side: Side::Client,
        cure: Cure::Gather,
        effort: Effort::OneLine,
        text: "HTTP: if the first answer is `100 Continue`, do not send `Expect: 100-continue` \
               (curl: -H 'Expect:')"
            .to_owned(),
    })
}

fn buffer(case: &Case) -> Step {
    let option = match case.blame == case.sender {
        true => "SO_SNDBUF",
        false => "SO_RCVBUF",
    };
    let size = match case.mss > 0 && case.flight >= 3 * case.mss {
        true => "several times that",
        false => "three segments at least",
    };
    Step {
        side: case.blame,
        cure: Cure::Buffer,
        effort: Effort::OneLine,
        text: format!(
            "do not set {option}, or set it to {size}; {}",
            nodelay_and_buffer(case)
        ),
    }
}

fn receivers(case: &Case) -> Vec<Step> {
    let side = case.sender.other();
    let step = |effort, text: &str| Step {
        side,
        cure: Cure::QuickAck,
        effort,
        text: text.to_owned(),
    };
    let at_once = to_peer(ACK_AT_ONCE, case.sender_address);
    vec![
        step(
            Effort::HostSetting,
            match case.loopback {
                true => ACK_AT_ONCE_HERE,
                false => &at_once,
            },
        ),
        step(
            Effort::Rewrite,
            "set TCP_QUICKACK before each read (once is not enough), or TCP_DELACK_MAX_US where Linux has it",
        ),
    ]
}

/// Returns a text with the address of the other end in the line about its route, if it is known.
fn to_peer(text: &str, address: Option<IpAddr>) -> String {
    match address {
        None => text.to_owned(),
        Some(IpAddr::V4(address)) => text.replace(PEER, &address.to_string()),
        // `change` does not take a lifetime as it is printed.
        Some(IpAddr::V6(address)) => text
            .replace("ip route", "ip -6 route")
            .replace(PEER, &format!("{address} | sed 's/ expires [^ ]*//'")),
    }
}

fn caution(case: &Case) -> Option<&'static str> {
    match case.kind {
        Kind::WriteWriteRead | Kind::NagleRoundTrip if case.pieces == Pieces::Pipelined => Some(
            "Each piece is a message of its own, and more than one is in flight: they cannot be written \
             once unless the program has them at the same time",
        ),
        Kind::WriteWriteRead | Kind::NagleRoundTrip => Some(
            "TCP_NODELAY sends each write as a packet of its own and is the wrong cure where a message is \
             many small writes",
        ),
        Kind::OddFullShortFinal => Some(
            "The message is written whole, and Nagle's original rule still holds its tail; a stack with \
             Minshall's form (Linux) needs nothing",
        ),
        Kind::SlowStartDelayedAck => match case.timeout {
            Timeout::No => None,
            Timeout::Perhaps => Some(
                "The data came so late that its first segments may have been lost before. If a retransmission \
                 timeout has cut the window to one segment, a larger initial window does not help",
            ),
            Timeout::Yes => Some(
                "A retransmission timeout had cut the window to one segment (RFC 5681, section 3.1): a larger \
                 initial window does not help. What helps is less loss",
            ),
        },
        Kind::TinygramFlood => Some("TCP_NODELAY is what makes a flood and not what cures it"),
        _ => None,
    }
}

/// Stands for the address of the other end. `fibmatch` tells the route that the kernel takes there; where `show to match`
/// has it among several depends on the family and the networks.
const PEER: &str = "PEER";
const INITIAL_WINDOW: &str = "raise the initial window (`ip route change $(ip route get fibmatch PEER) \
                              initcwnd 10`, RFC 6928)";
/// The same where both ends are one host: of its own routes not every one can be changed so.
const INITIAL_WINDOW_HERE: &str = "raise the initial window (RFC 6928)";
// The sysctl came with commit 562b1fdf061b in Linux 6.7; some later stable kernels of 6.6 have it, too.
const ACK_AT_ONCE: &str = "acknowledge at once. Linux: `ip route change $(ip route get fibmatch PEER) quickack 1`, \
     or `sysctl net.ipv4.tcp_pingpong_thresh=255` (6.7 and later); Windows: TcpAckFrequency = 1 for the \
     interface (DWORD, then reboot); a controller: its vendor's setting for delayed ACKs";
/// The same where both ends are one host, through its loopback device.
const ACK_AT_ONCE_HERE: &str =
    "acknowledge at once. Linux: `sysctl net.ipv4.tcp_pingpong_thresh=255` (6.7 and later)";

#[cfg(test)]
mod tests;
