//! BYTES-CONSUMED and WINDOW-35: BSD acknowledges when the application has read instead of when
//! data arrives: after a read, if the window's right edge can move far enough.

use super::{AckVerdict, AckView, Arrival, Rule};

/// How far is far enough. One condition that holds suffices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BytesConsumed {
    /// Whether two maximum-sized segments count (RFC 1122's rule as BSD implements it) ...
    pub two_segments: bool,
    /// ... but only if the read left nothing behind (SunOS; Moldeklev & Gunningberg, section 2.2).
    pub only_when_drained: bool,
    /// This share of the receive buffer counts, in whole percent; 35 in 4.3BSD, 50 in 4.4BSD.
    pub percent: u64,
}

impl BytesConsumed {
    /// 4.4BSD and Tru64 UNIX.
    pub const BSD: Self = Self {
        two_segments: true,
        only_when_drained: false,
        percent: 50,
    };
    /// 4.3BSD and SunOS 4.1.
    pub const SUN_OS: Self = Self {
        two_segments: true,
        only_when_drained: true,
        percent: 35,
    };
    /// The 35 % window update rule alone.
    pub const WINDOW_35: Self = Self {
        two_segments: false,
        only_when_drained: false,
        percent: 35,
    };
}

impl Rule for BytesConsumed {
    fn on_arrival(&mut self, _: &Arrival, _: &AckView) -> AckVerdict {
        AckVerdict::Delay
    }

    #[inline]
    fn on_read(&mut self, view: &AckView) -> AckVerdict {
        let advance = view.advance();
        let segments = self.two_segments
            && advance >= 2 * u64::from(view.mss)
            && (!self.only_when_drained || view.unread == 0);
        if segments || advance * 100 >= self.percent * view.capacity.max(1) {
            AckVerdict::Now
        } else {
            AckVerdict::Nothing
        }
    }
}
