//! The hooks: every C library function through which a program writes, reads, waits, or changes
//! what its descriptors are. Each asks the keeper one question and does as it is told.

pub(crate) mod descriptors;
pub(crate) mod jumps;
pub(crate) mod listed;
pub(crate) mod options;
pub(crate) mod process;
pub(crate) mod read;
pub(crate) mod stdio;
pub(crate) mod wait;
pub(crate) mod write;
