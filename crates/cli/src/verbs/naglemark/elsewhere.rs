//! The backends with real packets, where there is no Linux: they are refused.

use std::net::SocketAddr;

use tinygram_naglemark::load::LoadBackend;
use tinygram_naglemark::{Backend, Error, Plan, Policy};

use super::args::BackendName;
use super::args::costs::HostCosts;
use super::args::load::BackendName as Loaded;
use super::ends::{Ends, Path};
use crate::outcome::{Done, Failure};
use crate::system::needs_linux;

/// What joins two real ends: nothing does.
#[derive(Clone, Debug)]
pub(super) enum Joined {}

impl Joined {
    /// Refuses every path.
    pub(super) fn by(_: &Path<'_>) -> Result<Self, Failure> {
        Err(needs_linux(
            "naglemark --backend kernel, bpf or stack",
            "--backend sim",
        ))
    }

    pub(super) fn needs_namespaces(&self, _: BackendName) -> bool {
        match *self {}
    }

    pub(super) fn open(
        &self,
        _: BackendName,
        _: Ends,
        _: &Plan,
    ) -> Result<Option<Box<dyn Backend>>, Error> {
        match *self {}
    }
}

/// Asks for no right, for no namespaces are made here.
pub(super) fn acquire_privilege() -> Result<(), Failure> {
    Ok(())
}

/// Refuses to put a kernel under load.
pub(super) fn loaded(_: Loaded, _: &[Policy]) -> Result<Box<dyn LoadBackend>, Failure> {
    Err(needs_linux(
        "naglemark load --backend kernel or bpf",
        "--backend sim",
    ))
}

/// Refuses to measure.
pub(super) fn costs(_: usize, _: usize) -> Result<HostCosts, Failure> {
    Err(needs_linux("naglemark costs", "naglemark load"))
}

/// Refuses to answer.
pub(super) fn serve(_: SocketAddr) -> Result<Done, Failure> {
    Err(needs_linux("naglemark serve", "naglemark --backend sim"))
}
