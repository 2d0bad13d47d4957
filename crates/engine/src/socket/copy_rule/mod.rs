//! How a kernel moves a `write` into the send buffer: in which pieces, and when it sleeps instead.
//!
//! The pieces matter because the sender decides after every one of them; this is where buffers
//! are torn (Mogul & Minshall, section 3.1; Crowcroft et al. 1992).

mod custom;
mod linux;
mod mclbytes;
mod sunos;
mod whole_write;

pub use custom::Custom;
pub use linux::Linux;
pub use mclbytes::Mclbytes;
pub use sunos::SunOs;
pub use whole_write::WholeWrite;

/// What a copy rule may look at. All in octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyView {
    /// What the application still wants to write.
    pub remaining: u64,
    /// What is in the send buffer now, sent or not.
    pub buffered: u64,
    /// The size of the send buffer.
    pub capacity: u64,
    /// What was copied since the rule was last asked from the start (after a sleep, say).
    pub copied_this_round: u64,
    /// The free space when this round began; kernels do not look again before it is used up.
    pub space_at_round: u64,
}

impl CopyView {
    /// Free space now.
    #[must_use]
    pub fn space(&self) -> u64 {
        self.capacity.saturating_sub(self.buffered)
    }
}

/// What a kernel does next with a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Copy this many octets (at least one) and let the sender decide.
    Copy(u64),
    /// This round's space is used up: look at the buffer afresh.
    NewRound,
    /// Sleep until an acknowledgment frees space.
    Sleep,
}

/// A copy rule: pure, for a kernel that copies remembers nothing between two pieces but what
/// [`CopyView`] says.
pub trait Rule {
    /// Returns what happens next. `view.remaining` is at least 1.
    ///
    /// [`Step::Copy`] takes from 1 to `view.remaining` octets; the connection panics if a rule of the
    /// library user's own says something else. [`Step::NewRound`] asks again at once, with
    /// `space_at_round` renewed and nothing copied in the round; a rule that says so again then never
    /// ends.
    fn step(&self, view: &CopyView) -> Step;

    /// Returns whether a writer that sleeps is woken when an acknowledgment has freed something, so that
    /// `space` octets of `capacity` are free. Most kernels wake it at every one ("sowwakeup").
    fn wakes(&self, space: u64, capacity: u64) -> bool {
        let _ = (space, capacity);
        true
    }
}

/// A kernel's habit. Each file of this folder is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CopyRule {
    /// BSD's `sosend`: clusters of MCLBYTES.
    Mclbytes(Mclbytes),
    /// SunOS 4.1: pieces of at most 4096 octets, in clusters of 1 KiB.
    SunOs(SunOs),
    /// The whole write at once, as far as there is space.
    WholeWrite(WholeWrite),
    /// The same, but a writer sleeps until a third of the buffer is free.
    Linux(Linux),
    /// The library user's own.
    Custom(Custom),
}

impl Rule for CopyRule {
    fn step(&self, view: &CopyView) -> Step {
        match self {
            Self::Mclbytes(rule) => rule.step(view),
            Self::SunOs(rule) => rule.step(view),
            Self::WholeWrite(rule) => rule.step(view),
            Self::Linux(rule) => rule.step(view),
            Self::Custom(rule) => rule.step(view),
        }
    }

    fn wakes(&self, space: u64, capacity: u64) -> bool {
        match self {
            Self::Mclbytes(rule) => rule.wakes(space, capacity),
            Self::SunOs(rule) => rule.wakes(space, capacity),
            Self::WholeWrite(rule) => rule.wakes(space, capacity),
            Self::Linux(rule) => rule.wakes(space, capacity),
            Self::Custom(rule) => rule.wakes(space, capacity),
        }
    }
}
