//! Copy rules: how a kernel moves a `write` into the send buffer, in which pieces, and when it
//! sleeps instead.
//!
//! The pieces matter because the sender decides after every one of them; this is where buffers are
//! torn (Mogul & Minshall, section 3.1; Crowcroft et al. 1992).

mod custom;
mod linux;
mod mclbytes;
mod sunos;
mod whole_write;

use core::fmt;

pub use custom::Custom;
pub use linux::Linux;
pub use mclbytes::Mclbytes;
pub use sunos::SunOs;
pub use whole_write::WholeWrite;

/// What a copy rule may look at, in octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyView {
    /// The part of the write that is not copied yet.
    pub remaining: u64,
    /// What is in the send buffer now, sent or not.
    pub buffered: u64,
    /// The size of the send buffer.
    pub capacity: u64,
    /// What was copied since the last round began (for example after a sleep).
    pub copied_this_round: u64,
    /// The free space when this round began. Kernels do not look again before it is used up.
    pub space_at_round: u64,
}

impl CopyView {
    /// Returns the present free space.
    #[must_use]
    pub fn space(&self) -> u64 {
        self.capacity.saturating_sub(self.buffered)
    }
}

/// What a kernel does next in a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Copy this many octets (at least one) and let the sender decide.
    Copy(u64),
    /// This round's space is used up: begin a new round with the present free space.
    NewRound,
    /// Sleep until an acknowledgment frees space.
    Sleep,
}

/// A copy rule. It is pure: a kernel that copies remembers nothing between two pieces except what
/// [`CopyView`] holds.
pub trait Rule {
    /// Returns the next step. `view.remaining` is at least 1.
    ///
    /// [`Step::Copy`] takes from 1 to `view.remaining` octets; the connection panics if a user's
    /// own rule returns another number. After [`Step::NewRound`] the rule is asked again at once,
    /// with a new `space_at_round` and nothing copied in the round; a rule that then returns it
    /// again never ends.
    fn step(&self, view: &CopyView) -> Step;

    /// Returns whether a sleeping writer is woken when an acknowledgment has freed something, so
    /// that `space` octets of `capacity` are free. Most kernels wake it at every one ("sowwakeup").
    fn wakes(&self, space: u64, capacity: u64) -> bool {
        let _ = (space, capacity);
        true
    }
}

/// The copying behaviour of a kernel. Each file of this folder defines one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CopyRule {
    /// BSD's `sosend`: clusters of MCLBYTES.
    Mclbytes(Mclbytes),
    /// SunOS 4.1: pieces of at most 4096 octets, in clusters of 1 KiB.
    SunOs(SunOs),
    /// The whole write at once, as far as there is space.
    WholeWrite(WholeWrite),
    /// As `WholeWrite`, but a writer sleeps until a third of the buffer is free.
    Linux(Linux),
    /// A rule that a user of the library defines.
    Custom(Custom),
}

impl CopyRule {
    /// Returns a rule that a user of the library defines; it may be a `static` or leaked from a box.
    pub const fn custom<T: Rule + fmt::Debug + Sync>(rule: &'static T) -> Self {
        Self::Custom(Custom::new(rule))
    }
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
