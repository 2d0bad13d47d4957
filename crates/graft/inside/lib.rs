//! The code that is put into a program: the rule of `coalesce` between the program and the kernel.
//!
//! It is compiled by `build.rs` into an object of its own, without the standard library, without
//! floating-point registers and without writable data. [`entry`] and [`entry_c`] are where the program's system calls
//! arrive, by the [`stubs`]; [`writes`] decides about what goes out, [`reads`] and [`waits`] when what is held must
//! leave, [`sockets`] knows what a descriptor is. All state is in [`layout::Shared`].
//!
//! Nothing here allocates, locks or panics, and nothing uses more than 400 octets of stack: a goroutine's stack is
//! small, and the caller does not know that we are here.

#![no_std]
#![no_main]
#![cfg_attr(
    not(target_arch = "x86_64"),
    allow(dead_code, reason = "only Go programs have stubs elsewhere")
)]

mod bound;
mod call;
mod cells;
mod counts;
mod entry;
#[cfg(target_arch = "x86_64")]
mod entry_c;
mod flush;
#[cfg(target_arch = "x86_64")]
mod in_c;
mod kernel;
#[allow(dead_code, reason = "the command uses the rest")]
mod layout;
mod machine;
mod monitor;
mod peers;
mod reads;
mod rules;
mod sockets;
mod stubs;
mod table;
mod thread;
mod waits;
mod watchdog;
mod writes;

use core::panic::PanicInfo;

/// Is never called: nothing here can panic, and `build.rs` refuses an object in which this remains.
#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    machine::trap()
}
