//! What of today's TCP a connection may use beyond RFC 9293's core: one switch each.

use super::{Connection, State};
use crate::options::Options;

/// The switches. A historic profile says [`Extensions::NONE`]; what needs the peer's consent is in
/// force once both SYNs have offered it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extensions {
    /// Windows beyond 65,535 octets (RFC 7323, section 2). The shift offered is the least with
    /// which the receive buffer can be announced whole.
    pub window_scaling: bool,
}

impl Extensions {
    /// TCP as it was before 1992.
    pub const NONE: Self = Self {
        window_scaling: false,
    };
    /// What Linux 6 has switched on as shipped.
    pub const LINUX_6: Self = Self {
        window_scaling: true,
    };
    /// All that is of use.
    pub const MODERN: Self = Self::LINUX_6;
}

/// What both SYNs offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Agreed {
    window_scaling: bool,
    /// Snd.Wind.Shift (RFC 7323, section 2.3).
    pub(super) send_window_shift: u8,
}

/// "If a Window Scale option is received with a shift.cnt value larger than 14, the TCP SHOULD log
/// the error but MUST use 14" (RFC 7323, section 2.3).
const GREATEST_SHIFT: u8 = 14;

impl Connection {
    /// The options of a SYN; one that answers another repeats only what that one offered
    /// (RFC 7323, section 1.3; RFC 2018, section 2).
    pub(super) fn syn_options(&self) -> Options {
        let answering = self.state == State::SynReceived;
        let scaling = self.extensions.window_scaling;
        Options {
            window_scale: (scaling && (!answering || self.agreed.window_scaling))
                .then(|| self.receiver.wanted_window_shift()),
            ..Options::default()
        }
    }

    /// The peer's SYN offers `options`.
    pub(super) fn agree(&mut self, options: &Options) {
        if self.extensions.window_scaling {
            self.agreed.window_scaling = options.window_scale.is_some();
            let shift = options.window_scale.unwrap_or(0);
            self.agreed.send_window_shift = shift.min(GREATEST_SHIFT);
            self.receiver
                .agree_on_scaling(options.window_scale.is_some());
        }
    }
}
