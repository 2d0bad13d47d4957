//! Workloads: programs that the papers ran, and the kinds of program they argue about.

pub mod naglemark;
