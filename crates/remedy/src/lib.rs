//! What is changed on a host, and how it is put back: the [`journal`] has it before [`apply`] does it,
//! or [`follow`] for connections to come. [`look`] says what stalls, [`split`] which connections have a remedy when, and
//! [`proof`] whether it ended the stalls; [`foresee`] says beforehand what it would do. Nothing here prints.

#![cfg(target_os = "linux")]

pub mod apply;
pub mod follow;
pub mod foresee;
pub mod journal;
pub mod look;
pub mod proof;
pub mod remedy;
pub mod split;
pub mod trial;
