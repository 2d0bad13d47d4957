//! The small memories of the variants. Each is what one of the papers adds to a connection's state;
//! combinations such as E+M+M join two of them.

use super::{BlockedOn, Moment, Vars};
use crate::offset::Offset;

/// `TF_EOM`: the piece just copied ends a large write (Mogul & Minshall, section 5.3, figure 4).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EndOfMessage(bool);

impl EndOfMessage {
    pub(super) fn is_set(self) -> bool {
        self.0
    }

    pub(super) fn observe(&mut self, moment: Moment) {
        if let Moment::ChunkCopied {
            more_to_come,
            pieces_before,
            more_on_entry,
        } = moment
        {
            // Set only if the write was long enough to reach the sender in several pieces. A piece
            // with more to come clears it again.
            self.0 = !more_to_come && (pieces_before > 0 || more_on_entry);
        }
    }
}

/// `TF_SMALL_PREV`: whether the last segment sent was small (section 5.2).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PreviousSmall {
    set: bool,
    /// To the letter of section 5.2: "the socket buffer size" decides whether a buffer was torn.
    by_buffer_size: bool,
}

impl PreviousSmall {
    pub(super) fn to_the_letter() -> Self {
        Self {
            set: false,
            by_buffer_size: true,
        }
    }

    pub(super) fn is_set(self) -> bool {
        self.set
    }

    pub(super) fn observe(&mut self, moment: Moment, vars: &Vars) {
        if let Moment::Sent { short, .. } = moment {
            // Not set if tearing at a multiple of MCLBYTES made the segment small. The paper says
            // "the socket buffer size"; its results need the octets in the buffer (misprint).
            let size = if self.by_buffer_size {
                vars.capacity
            } else {
                vars.buffered()
            };
            self.set = short && !size.is_multiple_of(vars.cluster);
        }
    }
}

/// `snd_sml_add` and `snd_sml_snt`: where the last small segment ends (Minshall's draft, cited in
/// section 5.1 as two sequence number variables).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SmallMark {
    /// The end of the application's data when all of it was less than an MSS.
    added: Offset,
    /// The end of the last segment that was sent and ended there.
    sent: Offset,
    /// To the letter of section 5.1: any segment below the MSS is small.
    any_short: bool,
}

impl SmallMark {
    pub(super) fn to_the_letter() -> Self {
        Self {
            any_short: true,
            ..Self::default()
        }
    }

    /// Returns whether a small segment is unacknowledged.
    pub(super) fn outstanding(&self, vars: &Vars) -> bool {
        self.sent > vars.una
    }

    pub(super) fn observe(&mut self, moment: Moment, vars: &Vars) {
        match moment {
            Moment::ChunkCopied { .. } if vars.buffered() < u64::from(vars.mss) => {
                self.added = vars.written;
            }
            Moment::Sent {
                span, short: true, ..
            } if self.any_short || span.end == self.added => {
                self.sent = span.end;
            }
            _ => {}
        }
    }
}

/// `TF_DLDETCR`: the one-bit credit that a blocking thread leaves behind (section 5.6, figure 6).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BlockCredit(bool);

impl BlockCredit {
    /// Returns whether a runt may go because a thread waits for what it will bring. A writer that the
    /// acknowledgment at hand has woken waits no longer: 4.4BSD's `sowakeup` clears `SB_WAIT` before
    /// `tcp_output` runs.
    pub(super) fn covers(self, vars: &Vars) -> bool {
        let writer_waits = vars.writer_blocked && vars.writer_lacks_space;
        self.0 && (vars.reader_blocked || writer_waits)
    }

    pub(super) fn observe(&mut self, moment: Moment) {
        match moment {
            Moment::AppBlocks {
                on: BlockedOn::Read | BlockedOn::Write,
                ..
            } => self.0 = true,
            Moment::Sent {
                because: super::Because::Blocked,
                ..
            } => self.0 = false,
            _ => {}
        }
    }
}
