//! NAGLIM: Solaris's `tcp_naglim_def`, the number of octets that are gathered (Davids).

use super::{Because, Offer, Rule, Vars, Verdict, Why};

/// The default of `tcp_naglim_def`, in octets: as large as any MSS, which makes it Nagle's plain
/// rule.
pub const DEFAULT_LIMIT: u32 = 65_535;

/// A runt leaves when the connection is idle or the runt has reached the limit.
#[derive(Clone, Copy, Debug)]
pub struct Naglim {
    /// The limit in octets; the smaller of this and the MSS counts. 1 is TCP_NODELAY.
    pub limit: u32,
}

impl Default for Naglim {
    fn default() -> Self {
        Self {
            limit: DEFAULT_LIMIT,
        }
    }
}

impl Rule for Naglim {
    fn decide(&self, offer: &Offer, vars: &Vars) -> Verdict {
        if vars.idle() {
            Verdict::Send(Because::Idle)
        } else if offer.span.len() >= u64::from(self.limit.min(vars.mss)) {
            Verdict::Send(Because::Enough)
        } else {
            Verdict::hold(Why::BelowLimit)
        }
    }
}
