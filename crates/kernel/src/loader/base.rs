//! The kernel's own congestion controls, which do all that is not holding.

use std::fmt;

/// A congestion control of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// CUBIC (RFC 9438), Linux's usual one.
    Cubic,
    /// Reno (RFC 5681).
    Reno,
    /// BBR, version 1.
    Bbr,
}

impl Base {
    /// All of them, in the order of `enum base` in `bpf/base.h`.
    pub const ALL: [Self; 3] = [Self::Cubic, Self::Reno, Self::Bbr];

    /// Returns the kernel's name for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cubic => "cubic",
            Self::Reno => "reno",
            Self::Bbr => "bbr",
        }
    }

    /// Returns its number in `enum base`.
    pub(crate) const fn number(self) -> u32 {
        self as u32
    }

    /// Returns the members of `struct tcp_congestion_ops` that a policy on this base has.
    pub(crate) fn members(self) -> impl Iterator<Item = &'static str> {
        let own: &[&str] = match self {
            Self::Cubic => &["cong_avoid", "set_state", "cwnd_event"],
            Self::Reno => &["cong_avoid", "set_state"],
            Self::Bbr => &["cong_control", "set_state", "cwnd_event", "sndbuf_expand"],
        };
        OF_ALL.iter().chain(own).copied()
    }
}

impl fmt::Display for Base {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What the frame needs itself.
const OF_ALL: [&str; 7] = [
    "init",
    "release",
    "ssthresh",
    "undo_cwnd",
    "min_tso_segs",
    "in_ack_event",
    "pkts_acked",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Contract;
    use crate::policy::BpfPolicy;

    #[test]
    fn each_has_the_number_of_c() {
        let c = Contract::new(
            &[include_str!("../../bpf/base.h")],
            BpfPolicy::LIST[0].object,
        );
        let ours = Base::ALL.map(|base| {
            let name = format!("BASE_{}", base.name().to_uppercase());
            assert_eq!(c.number(&name), base.number() as usize, "{base}");
            name
        });
        assert_eq!(c.names("BASE_"), ours);
    }
}
