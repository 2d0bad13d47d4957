//! What `bpf` is to do.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use tinygram_kernel::{Base, BpfPolicy};

use super::Args;

pub(super) enum Plan {
    List,
    Hold(Hold),
}

/// A policy, and who gets it.
pub(super) struct Hold {
    pub(super) policy: &'static BpfPolicy,
    pub(super) base: Base,
    /// The policy's number, if another than its default is wanted.
    pub(super) parameter: Option<u32>,
    pub(super) of: Of,
}

/// Whose connections get the policy.
pub(super) enum Of {
    /// A program's, which is run.
    Program(Vec<OsString>),
    /// A control group's, for this long or until Ctrl-C.
    Group(PathBuf, Option<Duration>),
}

impl Plan {
    pub(super) fn of(args: &Args) -> Result<Self, String> {
        let Some(policy) = args.policy else {
            return Ok(Self::List);
        };
        Ok(Self::Hold(Hold {
            policy,
            base: args.base,
            parameter: parameter(policy, args)?,
            of: match &args.cgroup {
                Some(folder) => Of::Group(folder.clone(), args.lasting),
                None => Of::Program(args.command.clone()),
            },
        }))
    }
}

fn parameter(policy: &BpfPolicy, args: &Args) -> Result<Option<u32>, String> {
    let belongs = |flag: &str, owner: &str| match policy.name == owner {
        true => Ok(()),
        false => Err(format!(
            "{flag} belongs to --policy {owner}; {} has no such number",
            policy.name
        )),
    };
    if let Some(octets) = args.naglim {
        belongs("--naglim", "naglim")?;
        return Ok(Some(u32::try_from(octets).unwrap_or(u32::MAX)));
    }
    let Some(interval) = args.interval else {
        return Ok(None);
    };
    belongs("--interval", "timed-coalescing")?;
    let us = interval.as_micros();
    match u32::try_from(us)
        .ok()
        .filter(|us| (1..=1_000_000).contains(us))
    {
        Some(us) => Ok(Some(us)),
        None => Err("--interval: accepted are times from 1us to 1s".to_owned()),
    }
}
