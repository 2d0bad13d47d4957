//! The changes that are thought through: an option, a knob, or what a program would do otherwise.

use std::fmt;

use tinygram_engine::Duration;
use tinygram_engine::sender::send_policy::SendPolicy;

use crate::rules::Rules;

/// A change of an end's rules.
#[derive(Clone, Debug)]
pub enum Change {
    /// `TCP_NODELAY` on or off.
    Nodelay(bool),
    /// A bound of the delay of acknowledgments.
    DelackMax(Duration),
    /// `net.ipv4.tcp_pingpong_thresh` of a network namespace.
    Pingpong(u8),
    /// A route whose segments are acknowledged at once.
    Quickack(bool),
    /// `tinygram run`: flush-on-block.
    Run,
    /// Writes that follow each other are one call.
    Writev,
    /// Another send policy.
    Policy(SendPolicy),
}

/// What it takes to make a change, the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Needs {
    /// Root; the option of live sockets is set.
    Root,
    /// Root; every program of the network namespace, or behind the route, is affected.
    RootForAll,
    /// The program is started again.
    Restart,
    /// The program's source is changed.
    Rebuild,
    /// No kernel has it.
    Kernel,
}

/// What a change reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Single sockets.
    Sockets,
    /// All sockets of a network namespace.
    Namespace,
}

impl Change {
    /// Reads `OPTION=VALUE`, `run` or `writev`. `tick` is that of the kernel's clock.
    ///
    /// # Errors
    ///
    /// Says in one line what is wrong and what is accepted.
    pub fn parse(text: &str, tick: std::time::Duration) -> Result<Self, String> {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        let is_on = |value| match value {
            "on" | "1" => Ok(true),
            "off" | "0" => Ok(false),
            _ => Err(format!("{text}: accepted: on or off")),
        };
        match name {
            "nodelay" => is_on(value).map(Self::Nodelay),
            "quickack" => is_on(value).map(Self::Quickack),
            "delack-max" => delack_max(text, value, tick).map(Self::DelackMax),
            "pingpong" => value
                .parse()
                .ok()
                .filter(|count| *count > 0)
                .map(Self::Pingpong)
                .ok_or_else(|| format!("{text}: accepted: a number from 1 to 255")),
            "run" | "writev" if text.contains('=') => Err(format!("{text}: {name} takes no value")),
            "run" => Ok(Self::Run),
            "writev" => Ok(Self::Writev),
            _ => Err(format!(
                "{text}: there is no option {name}; accepted are nodelay, delack-max, pingpong and quickack with a \
                 value, run, and writev"
            )),
        }
    }

    /// Changes the rules of an end.
    pub fn apply(&self, rules: &mut Rules) {
        match self {
            Self::Nodelay(on) => rules.nodelay = *on,
            Self::DelackMax(bound) => rules.delack_max = *bound,
            Self::Pingpong(threshold) => rules.pingpong = *threshold,
            Self::Quickack(on) => rules.quickack = *on,
            Self::Writev => rules.gathers = true,
            Self::Run => {
                rules.policy = Some(SendPolicy::FlushOnBlock);
                rules.nodelay = false;
            }
            Self::Policy(policy) => {
                rules.policy = Some(policy.clone());
                rules.nodelay = false;
            }
        }
    }

    /// Returns what it takes.
    #[must_use]
    pub fn needs(&self) -> Needs {
        match self {
            Self::Nodelay(_) | Self::DelackMax(_) => Needs::Root,
            Self::Pingpong(_) | Self::Quickack(_) => Needs::RootForAll,
            Self::Run => Needs::Restart,
            Self::Writev => Needs::Rebuild,
            Self::Policy(_) => Needs::Kernel,
        }
    }

    /// Returns what it reaches.
    #[must_use]
    pub fn reach(&self) -> Reach {
        match self {
            Self::Pingpong(_) => Reach::Namespace,
            _ => Reach::Sockets,
        }
    }
}

impl Needs {
    /// Returns it in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::RootForAll => "root; all programs of the network namespace or route",
            Self::Restart => "a restart",
            Self::Rebuild => "a change of the program",
            Self::Kernel => "another kernel",
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let on = |on: &bool| if *on { "on" } else { "off" };
        match self {
            Self::Nodelay(is) => write!(f, "nodelay={}", on(is)),
            Self::DelackMax(bound) => write!(f, "delack-max={}ms", bound.as_nanos() / 1_000_000),
            Self::Pingpong(threshold) => write!(f, "pingpong={threshold}"),
            Self::Quickack(is) => write!(f, "quickack={}", on(is)),
            Self::Run => f.write_str("run"),
            Self::Writev => f.write_str("writev"),
            Self::Policy(policy) => write!(f, "policy {policy}"),
        }
    }
}

fn delack_max(text: &str, value: &str, tick: std::time::Duration) -> Result<Duration, String> {
    let least = tick * 2;
    let digits = value.strip_suffix("ms").unwrap_or("");
    let length = digits.parse().ok().map(std::time::Duration::from_millis);
    let length = length.filter(|length| (least..=MOST_DELACK).contains(length));
    let Some(length) = length else {
        return Err(format!(
            "{text}: accepted: milliseconds from {} (two ticks of this kernel's clock) to {}, as in 8ms",
            least.as_millis(),
            MOST_DELACK.as_millis()
        ));
    };
    // The kernel keeps it in ticks.
    let ticks = length.as_nanos().div_ceil(tick.as_nanos().max(1));
    Ok(Duration::from_nanos((ticks * tick.as_nanos()) as u64))
}

/// `TCP_DELACK_MAX`.
const MOST_DELACK: std::time::Duration = std::time::Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_change_is_named_with_what_is_accepted() {
        let tick = std::time::Duration::from_millis(4);
        for good in [
            "nodelay=on",
            "delack-max=8ms",
            "pingpong=255",
            "quickack=off",
            "run",
            "writev",
        ] {
            let change = Change::parse(good, tick).expect(good);
            assert_eq!(change.to_string(), good);
        }
        for bad in [
            "nodelay",
            "nodelay=maybe",
            "delack-max=7ms",
            "delack-max=201ms",
            "delack-max=8",
            "pingpong=0",
            "pingpong=256",
            "run=1",
            "cork=on",
            "=",
            "",
        ] {
            let said = Change::parse(bad, tick).expect_err(bad);
            assert!(
                said.contains("accepted") || said.contains("takes no value"),
                "{said}"
            );
        }
    }

    #[test]
    fn a_bound_is_kept_in_ticks() {
        let change = Change::parse("delack-max=9ms", std::time::Duration::from_millis(4));
        assert_eq!(change.expect("accepted").to_string(), "delack-max=12ms");
    }
}
