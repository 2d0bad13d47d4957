//! What `link` is to join, and how.

use std::ffi::OsString;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use serde::Serialize;
use tinygram_link::device::Addresses;
use tinygram_link::emulator::{Impairment, Rules};
use tinygram_link::veth::Offload;

use super::Args;
use crate::echoed::milliseconds;

pub(super) struct Plan {
    /// The names of the two namespaces; new ones are made if there are none.
    pub(super) between: Option<[String; 2]>,
    pub(super) how: How,
    /// What runs in the first namespace; the link stays until Ctrl-C if it is empty.
    pub(super) command: Vec<OsString>,
    pub(super) json: bool,
}

/// What joins them.
pub(super) enum How {
    Emulated(Emulation),
    Veth(Offload),
}

/// An emulated link, as the document echoes it.
#[derive(Clone, Copy, Serialize)]
pub(super) struct Emulation {
    #[serde(rename = "rate_bits_per_second")]
    rate: Option<u64>,
    #[serde(rename = "delay_ms", serialize_with = "milliseconds")]
    delay: Duration,
    #[serde(flatten)]
    impairment: Impairment,
    #[serde(rename = "reorder_by_ms", serialize_with = "milliseconds")]
    reorder_by: Duration,
    #[serde(rename = "queue_packets")]
    queue: u32,
    pub(super) mtu: u16,
    pub(super) seed: u64,
}

impl Plan {
    pub(super) fn of(args: &Args) -> Result<Self, String> {
        Ok(Self {
            between: between(&args.namespaces)?,
            how: match (args.veth, args.offload) {
                (true, true) => How::Veth(Offload::On),
                (true, false) => How::Veth(Offload::Off),
                (false, _) => How::Emulated(Emulation::of(args)),
            },
            command: args.command.clone(),
            json: args.json,
        })
    }
}

impl Emulation {
    fn of(args: &Args) -> Self {
        Self {
            rate: args.rate,
            delay: args.delay,
            impairment: args.impairment.into(),
            reorder_by: args.reorder_by,
            queue: args.queue,
            mtu: args.mtu,
            seed: args.seed,
        }
    }

    /// Returns what the emulator goes by.
    pub(super) fn rules(&self) -> Rules {
        Rules {
            rate: self.rate,
            delay: self.delay,
            impairment: self.impairment,
            reorder_by: self.reorder_by,
            queue: self.queue as usize,
        }
    }
}

fn between(typed: &[String]) -> Result<Option<[String; 2]>, String> {
    let [first, second] = typed else {
        return Ok(None);
    };
    if first == second {
        return Err(format!(
            "--namespaces {first} {second}: a link joins two namespaces, not one with itself"
        ));
    }
    Ok(Some([first.clone(), second.clone()]))
}

/// The addresses of the first end.
pub(super) const NEAR: Addresses = Addresses {
    v4: Ipv4Addr::new(10, 77, 0, 1),
    v6: Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 1),
};
/// The addresses of the second end.
pub(super) const FAR: Addresses = Addresses {
    v4: Ipv4Addr::new(10, 77, 0, 2),
    v6: Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 2),
};
