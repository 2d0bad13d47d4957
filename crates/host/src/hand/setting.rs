//! The options that can be set on a live socket, and their values.

use std::fmt;
use std::ops::Index;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::tick;
use crate::knob::Knob;

/// An option of a TCP socket that the kernel lets a sweep set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SocketOption {
    /// `TCP_NODELAY`: whether short segments leave while others are unacknowledged.
    Nodelay,
    /// `TCP_BPF_DELACK_MAX`: the longest that this end delays an acknowledgment. Two ticks of the kernel's
    /// clock at least, 200 ms at most.
    DelackMax,
    /// `TCP_NOTSENT_LOWAT`: how many unsent octets the socket takes before it says that it is full; 0 stands for
    /// the namespace's setting.
    NotsentLowat,
    /// `TCP_CONGESTION`: the congestion control, by name.
    Congestion,
    /// `TCP_CORK`: whether short segments wait until it is taken off, for 200 ms at most. The kernel takes it from a
    /// descriptor alone, so the program's is copied for an instant (`pidfd_getfd`).
    Cork,
}

impl SocketOption {
    /// Every option.
    pub const ALL: [Self; 5] = [
        Self::Nodelay,
        Self::DelackMax,
        Self::NotsentLowat,
        Self::Congestion,
        Self::Cork,
    ];

    /// Returns the name on the command line and in the journal.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Nodelay => "nodelay",
            Self::DelackMax => "delack-max",
            Self::NotsentLowat => "notsent-lowat",
            Self::Congestion => "congestion",
            Self::Cork => "cork",
        }
    }

    /// Returns the number that `bpf_setsockopt` takes.
    #[must_use]
    pub(crate) fn number(self) -> u32 {
        match self {
            Self::Nodelay => 1,
            Self::DelackMax => 1003,
            Self::NotsentLowat => 25,
            Self::Congestion => 13,
            Self::Cork => 3,
        }
    }

    /// Returns whether it takes a copy of the program's descriptor. Connections to come cannot be given it.
    #[must_use]
    pub fn takes_descriptor(self) -> bool {
        self == Self::Cork
    }

    /// Returns a value of this option in words.
    #[must_use]
    pub fn show(self, value: &Raw) -> String {
        match self {
            Self::Nodelay | Self::Cork => if value.number() == 0 { "off" } else { "on" }.to_owned(),
            Self::DelackMax => {
                let bound = tick() * value.number();
                format!("{} ms", bound.as_millis())
            }
            Self::NotsentLowat if matches!(value.number(), 0 | u32::MAX) => "unset".to_owned(),
            Self::NotsentLowat => format!("{} B", value.number()),
            Self::Congestion => value.name(),
        }
    }
}

/// The value of each option that a socket has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Values([Raw; SocketOption::ALL.len()]);

impl Values {
    /// Takes the value of each.
    pub(super) fn of(value: impl FnMut(SocketOption) -> Raw) -> Self {
        Self(SocketOption::ALL.map(value))
    }
}

impl Index<SocketOption> for Values {
    type Output = Raw;

    fn index(&self, option: SocketOption) -> &Raw {
        &self.0[option as usize]
    }
}

/// [`Values`] finds each option by its number: `ALL` has them in that order.
const _: () = {
    let mut index = 0;
    while index < SocketOption::ALL.len() {
        assert!(SocketOption::ALL[index] as usize == index);
        index += 1;
    }
};

impl fmt::Display for SocketOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An option with the value that it is to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The option.
    pub option: SocketOption,
    /// Its value.
    pub value: Raw,
}

impl Setting {
    /// Reads `OPTION=VALUE`, as in `nodelay=on` and `delack-max=8ms`.
    ///
    /// # Errors
    ///
    /// Says in one line what is wrong and what is accepted.
    pub fn parse(text: &str) -> Result<Self, String> {
        let Some((name, value)) = text.split_once('=') else {
            return Err(format!(
                "{text}: accepted is OPTION=VALUE, as in nodelay=on"
            ));
        };
        let option = SocketOption::ALL
            .into_iter()
            .find(|option| option.name() == name)
            .ok_or_else(|| {
                let of_sockets = SocketOption::ALL.map(SocketOption::name).join(", ");
                let knobs = Knob::ALL.map(Knob::name).join(", ");
                format!("{text}: there is no option {name}; accepted are {of_sockets}, {knobs}")
            })?;
        let value = match option {
            SocketOption::Nodelay | SocketOption::Cork => on_or_off(value),
            SocketOption::DelackMax => delack_max(value),
            SocketOption::NotsentLowat => notsent_lowat(value),
            SocketOption::Congestion => congestion(value),
        };
        let value = value.map_err(|accepted| format!("{text}: accepted: {accepted}"))?;
        Ok(Self { option, value })
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.option, self.option.show(&self.value))
    }
}

fn on_or_off(text: &str) -> Result<Raw, String> {
    match text {
        "on" | "1" => Ok(Raw::of(1)),
        "off" | "0" => Ok(Raw::of(0)),
        _ => Err("on or off".to_owned()),
    }
}

fn delack_max(text: &str) -> Result<Raw, String> {
    let least = tick() * 2;
    let accepted = || {
        format!(
            "milliseconds from {} (two ticks of this kernel's clock) to {}, as in 8ms",
            least.as_millis(),
            MOST_DELACK.as_millis()
        )
    };
    let digits = text.strip_suffix("ms").ok_or_else(accepted)?;
    let length = digits.trim().parse().map(Duration::from_millis);
    let length = length
        .ok()
        .filter(|length| (least..=MOST_DELACK).contains(length))
        .ok_or_else(accepted)?;
    let ticks = length.as_nanos().div_ceil(tick().as_nanos());
    Ok(Raw::of(u32::try_from(ticks).unwrap_or(u32::MAX)))
}

fn notsent_lowat(text: &str) -> Result<Raw, String> {
    let accepted = "octets from 1 to 2147483647, as in 16384 or 16K, or unset";
    if text == "unset" {
        return Ok(Raw::of(0));
    }
    let (digits, unit) = match text.strip_suffix(['K', 'k']) {
        Some(digits) => (digits, 1024),
        None => (text, 1),
    };
    digits
        .parse::<u32>()
        .ok()
        .and_then(|number| number.checked_mul(unit))
        .filter(|octets| (1..=i32::MAX.cast_unsigned()).contains(octets))
        .map(Raw::of)
        .ok_or_else(|| accepted.to_owned())
}

fn congestion(text: &str) -> Result<Raw, String> {
    let available = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    let available = available.unwrap_or_default();
    let is_known = available.split_whitespace().any(|name| name == text);
    // A module that is not loaded yet is not listed; a sweep cannot load it either.
    (is_known && text.len() < 16)
        .then(|| Raw::named(text))
        .ok_or_else(|| {
            format!(
                "a congestion control of this kernel: {}",
                available.trim().replace(' ', ", ")
            )
        })
}

/// A value as the kernel keeps it (`union value` in `bpf/hand.h`): a number, or a name of up to 15 octets.
#[repr(C, align(8))]
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Raw([u8; 16]);

impl Raw {
    /// Returns the value that is a number.
    #[must_use]
    pub fn of(number: u32) -> Self {
        let mut octets = [0; 16];
        octets[..4].copy_from_slice(&number.to_ne_bytes());
        Self(octets)
    }

    pub(super) fn named(name: &str) -> Self {
        let mut octets = [0; 16];
        octets[..name.len()].copy_from_slice(name.as_bytes());
        Self(octets)
    }

    /// Returns the name before the first zero.
    pub(super) fn name_in(mut octets: [u8; NAME_LENGTH]) -> Self {
        let end = octets.iter().position(|octet| *octet == 0);
        octets[end.unwrap_or(NAME_LENGTH)..].fill(0);
        Self(octets)
    }

    /// Returns the value's number.
    #[must_use]
    pub fn number(&self) -> u32 {
        u32::from_ne_bytes(self.0[..4].try_into().expect("four octets"))
    }

    /// Returns the value's name.
    #[must_use]
    pub fn name(&self) -> String {
        text(&self.0)
    }
}

/// Thirty-two digits, as the journal has it.
impl From<Raw> for String {
    fn from(raw: Raw) -> Self {
        format!("{:032x}", u128::from_be_bytes(raw.0))
    }
}

impl TryFrom<String> for Raw {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let is_long_enough =
            text.len() == 32 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
        let value = is_long_enough
            .then(|| u128::from_str_radix(&text, 16).ok())
            .flatten();
        let value = value.ok_or_else(|| format!("{text}: not thirty-two hexadecimal digits"))?;
        Ok(Self(value.to_be_bytes()))
    }
}

impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.number(), self.name())
    }
}

/// Returns the text before the first zero.
pub(super) fn text(octets: &[u8]) -> String {
    let end = octets.iter().position(|octet| *octet == 0);
    String::from_utf8_lossy(&octets[..end.unwrap_or(octets.len())]).into_owned()
}

/// `NAME_LENGTH` of `bpf/hand.h`.
pub(super) const NAME_LENGTH: usize = 16;
/// `TCP_DELACK_MAX`.
const MOST_DELACK: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_and_shown() {
        let shown = |text: &str| Setting::parse(text).map(|setting| setting.to_string());
        assert_eq!(shown("nodelay=on"), Ok("nodelay=on".into()));
        assert_eq!(shown("nodelay=0"), Ok("nodelay=off".into()));
        assert_eq!(shown("delack-max=40ms"), Ok("delack-max=40 ms".into()));
        assert_eq!(
            shown("notsent-lowat=16K"),
            Ok("notsent-lowat=16384 B".into())
        );
        for bad in [
            "nodelay",
            "nodelay=maybe",
            "delack-max=1ms",
            "delack-max=201ms",
            "delack-max=8",
            "notsent-lowat=0",
            "notsent-lowat=9999999K",
            "congestion=no-such",
            "maxseg=500",
            "",
        ] {
            let said = shown(bad).expect_err(bad);
            assert!(said.contains("accepted"), "{said}");
        }
    }
}
