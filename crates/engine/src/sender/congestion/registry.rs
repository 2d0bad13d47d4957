//! The one list of congestion control algorithms.

use core::fmt;

use super::{Ack, Control, Cubic, Reno, Window, custom::Custom};
use crate::registry::registry;

registry! { ($)
    /// A congestion control algorithm. The choice alone; a connection [installs](Self::install) it and
    /// keeps its memory.
    choice Congestion;
    /// A connection's algorithm with its memory.
    installed Installed;
    entry Registered;
    kind "congestion control";

    Reno {
        name: "reno",
        summary: "RFC 5681 as BSD has it, with the recovery of RFC 6582 or 6675",
        rule: Reno = Reno,
    }
    Cubic {
        name: "cubic",
        summary: "RFC 9438",
        rule: Cubic = Cubic::default(),
    }
    CubicLinux {
        name: "cubic-linux",
        summary: "RFC 9438, whose function Linux looks at 32 times a second",
        rule: Cubic = Cubic::linux(),
    }
}

impl Congestion {
    /// The names on a command line.
    pub const NAMES: [&str; 3] = ["reno", "cubic", "cubic-linux"];

    /// Returns an algorithm that a user of the library defines, which may have a memory.
    pub fn custom(rule: impl Control + Clone + fmt::Debug + Send + Sync + 'static) -> Self {
        Self::Custom(Custom::new(rule))
    }

    /// Returns its name; `custom` for a user's own.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.registered().map_or("custom", |entry| entry.name)
    }
}

impl Control for Installed {
    #[inline]
    fn on_ack(&mut self, window: Window<'_>, ack: &Ack) {
        dispatch!(self, control => control.on_ack(window, ack));
    }

    fn on_loss(&mut self, window: Window<'_>, flight: u64) {
        dispatch!(self, control => control.on_loss(window, flight));
    }

    fn on_timeout(&mut self, window: Window<'_>, flight: u64) {
        dispatch!(self, control => control.on_timeout(window, flight));
    }

    fn pacing_rate(&self) -> Option<u64> {
        dispatch!(self, control => control.pacing_rate())
    }

    fn least_burst(&self) -> Option<u64> {
        dispatch!(self, control => control.least_burst())
    }
}

/// An algorithm's entry in the list.
#[derive(Clone, Copy, Debug)]
pub struct Registered {
    /// The name on a command line.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Returns the choice.
    pub make: fn() -> Congestion,
}

impl Registered {
    fn is_called(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }
}
