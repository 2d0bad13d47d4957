//! Puts the hold-and-flush rule of `tinygram run` into programs that no library can be loaded into:
//! Go programs, which call the kernel by themselves, and programs that a C library is linked into statically.
//!
//! The path: [`program`] reads the file and finds the places where its system calls pass (Go's two, and one where its monitor sleeps; musl's one,
//! glibc's forty; [`shape`]); [`launch`] starts the program, stops it before its first instruction and has [`plant`] put
//! the [`object`] and the jumps into it, and `refusal` says why the kernel does not let it; [`attach`] does the same with a program that runs, and [`detach`]
//! puts back what was there, by the [`journal`]; [`watchdog`] bounds, from outside, how long anything is held.
//! [`verify`] looks for calls elsewhere. What runs inside is in the folder `inside/`, compiled apart by `build.rs`; both sides share
//! [`layout::Shared`].

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

#[path = "../inside/layout.rs"]
pub mod layout;

pub mod attach;
mod contention;
pub mod detach;
mod glibc;
pub mod journal;
pub mod launch;
pub mod object;
pub mod plant;
pub mod program;
mod refusal;
pub mod shape;
pub mod shared;
mod slice;
mod threads;
mod trace;
mod tracee;
pub mod verify;
pub mod watchdog;
