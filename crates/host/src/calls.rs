//! Where the ends of writes and reads are seen: at the kernel's tracepoints, or, on older kernels, where its functions return.

use aya::programs::Program;
use aya::{Btf, Ebpf};
use aya_obj::btf::BtfKind;

use crate::lacking::{Lacking, missing};
use crate::release::release;

/// Where the ends of writes and reads are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calls {
    /// At tracepoints, `sock_send_length` and `sock_recv_length`: Linux 6.3.
    Tracepoints,
    /// Where `tcp_sendmsg`, `tcp_sendpage` and `tcp_recvmsg` return: Linux 6.1 and 6.2, if its functions can be traced.
    Returns,
}

impl Calls {
    /// Returns the better one that the kernel with these types has.
    ///
    /// # Errors
    ///
    /// It has neither.
    pub fn of(btf: &Btf) -> Result<Self, Lacking> {
        let has_tracepoints = TRACEPOINTS
            .iter()
            .all(|tracepoint| has_tracepoint(btf, tracepoint));
        match has_tracepoints {
            true => Ok(Self::Tracepoints),
            false if RETURNS_SINCE <= release() && has_functions(btf) => Ok(Self::Returns),
            false => Err(Lacking::Calls),
        }
    }
}

/// Returns whether the kernel with these types has the tracepoint.
#[must_use]
pub fn has_tracepoint(btf: &Btf, tracepoint: &str) -> bool {
    let name = format!("btf_trace_{tracepoint}");
    btf.id_by_type_name_kind(&name, BtfKind::Typedef).is_ok()
}

fn has_functions(btf: &Btf) -> bool {
    let has = |name: &&str| btf.id_by_type_name_kind(name, BtfKind::Func).is_ok();
    FUNCTIONS.iter().all(has)
}

/// Loads a program of the object and attaches it `at` its tracepoint, or where its function returns. It stays as long as the object.
///
/// # Errors
///
/// Returns what the kernel or the privileges lack, in one line.
pub fn attach(object: &mut Ebpf, name: &str, at: &str, btf: &Btf) -> Result<(), Lacking> {
    match object.program_mut(name) {
        Some(Program::BtfTracePoint(program)) => program
            .load(at, btf)
            .and_then(|()| program.attach().map(drop))
            .map_err(|error| Lacking::of(&error)),
        Some(Program::FExit(program)) => program
            .load(at, btf)
            .map_err(|error| Lacking::of(&error))
            // Functions cannot be traced here.
            .and_then(|()| program.attach().map(drop).map_err(|_| Lacking::Calls)),
        _ => Err(missing(name)),
    }
}

const TRACEPOINTS: [&str; 2] = ["sock_send_length", "sock_recv_length"];
const FUNCTIONS: [&str; 3] = ["tcp_sendmsg", "tcp_sendpage", "tcp_recvmsg"];
/// Their parameters are as `bpf/returns.h` says since 5.19; no kernel before this one was tried.
const RETURNS_SINCE: (u32, u32) = (6, 1);
