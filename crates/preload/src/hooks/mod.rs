//! The hooks: every C library function through which a program writes, reads, waits, or changes its
//! descriptors. Each hook asks the keeper one question and follows the answer.

pub(crate) mod descriptors;
pub(crate) mod jumps;
pub(crate) mod listed;
pub(crate) mod options;
pub(crate) mod process;
pub(crate) mod read;
pub(crate) mod stdio;
pub(crate) mod wait;
pub(crate) mod write;
