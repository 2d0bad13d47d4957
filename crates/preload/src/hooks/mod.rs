//! The hooks: every C library function through which a program writes, reads, waits, or changes its
//! descriptors. Each hook asks the keeper one question and follows the answer.

#![expect(
    clippy::undocumented_unsafe_blocks,
    reason = "one reason for all: a hook gives the C library what its own caller gave it, under the same contract"
)]

pub(crate) mod descriptors;
pub(crate) mod jumps;
pub(crate) mod listed;
pub(crate) mod options;
pub(crate) mod process;
pub(crate) mod read;
pub(crate) mod stdio;
pub(crate) mod wait;
pub(crate) mod write;
