//! The policies that are measured: those of a socket, and the engine's own rules.

use tinygram_engine::sender::send_policy::{NAGLIM_DEFAULT, Registered, SendPolicy};
use tinygram_kernel::BpfPolicy;
use tinygram_naglemark::{Policy, SocketPolicy};
use tinygram_papers::mogul::tables::VARIANTS;

use super::{REAL, refused};
use crate::outcome::Failure;
use crate::verbs::naglemark::args::{Args, BackendName, Chosen};

/// Returns the given policies, each once; the paper's eleven if none is given.
pub(super) fn of_the_paper(typed: &[Chosen]) -> Result<Vec<&'static Registered>, Failure> {
    let all = || SendPolicy::LIST.iter();
    if typed.is_empty() {
        return Ok(all()
            .filter(|entry| VARIANTS.contains(&entry.label))
            .collect());
    }
    let mut named = Vec::new();
    for choice in typed {
        match *choice {
            Chosen::All => named.extend(all()),
            Chosen::One(entry) => named.push(entry),
            Chosen::Socket(policy) => {
                return refused(format!(
                    "--policy {}: what a socket is told, so it needs --backend {REAL}, or --hosts linux-veth or linux-tun",
                    policy.name()
                ));
            }
        }
    }
    Ok(each_once(named, |entry| entry.name))
}

/// A policy of the engine, or one that any socket can be told.
#[derive(Clone, Copy)]
pub(super) enum OnSocket {
    Ours(&'static Registered),
    Told(SocketPolicy),
}

impl OnSocket {
    fn name(self) -> &'static str {
        match self {
            Self::Ours(entry) => entry.name,
            Self::Told(policy) => policy.name(),
        }
    }

    pub(super) fn policy(self, naglim: Option<u32>) -> Policy {
        match self {
            Self::Ours(entry) => ours(entry, naglim),
            Self::Told(policy) => policy.into(),
        }
    }

    pub(super) fn entry(self) -> Option<&'static Registered> {
        match self {
            Self::Ours(entry) => Some(entry),
            Self::Told(_) => None,
        }
    }
}

/// Returns the given policies, each once. If none is given: all of the engine's that every backend knows if the stack
/// or the kernel under BPF is measured without the kernel as it is, otherwise those of a socket.
pub(super) fn of_sockets(
    typed: &[Chosen],
    backends: &[BackendName],
) -> Result<Vec<OnSocket>, Failure> {
    let has = |backend| backends.contains(&backend);
    let (has_kernel, has_bpf) = (has(BackendName::Kernel), has(BackendName::Bpf));
    let known = |entry: &&Registered| !has_bpf || BpfPolicy::named(entry.name).is_some();
    let told = || SocketPolicy::ALL.into_iter().map(OnSocket::Told);
    let ours = || SendPolicy::LIST.iter().filter(known).map(OnSocket::Ours);
    let mut policies = Vec::new();
    for choice in typed {
        match choice {
            Chosen::All if has_kernel => policies.extend(told()),
            Chosen::All => policies.extend(told().chain(ours())),
            Chosen::Socket(policy) => policies.push(OnSocket::Told(*policy)),
            Chosen::One(entry) if has_kernel => {
                let names = SocketPolicy::ALL.map(SocketPolicy::name).join(", ");
                return refused(format!(
                    "--policy {}: the kernel's sockets cannot be told this (accepted with --backend kernel: \
                     {names}, all)",
                    entry.name
                ));
            }
            Chosen::One(entry) if !known(entry) => {
                let names: Vec<_> = ours().chain(told()).map(OnSocket::name).collect();
                return refused(format!(
                    "--policy {}: there is no BPF of it (the book: kernel; accepted with --backend bpf: {}, all)",
                    entry.name,
                    names.join(", ")
                ));
            }
            Chosen::One(entry) => policies.push(OnSocket::Ours(entry)),
        }
    }
    if !policies.is_empty() {
        return Ok(each_once(policies, OnSocket::name));
    }
    Ok(match (has(BackendName::Stack) || has_bpf) && !has_kernel {
        true => ours().collect(),
        false => told().collect(),
    })
}

/// Returns the limit, if NAGLIM is measured.
pub(super) fn naglim(
    args: &Args,
    mut variants: impl Iterator<Item = &'static Registered>,
) -> Result<Option<u32>, Failure> {
    let is_measured = variants.any(|variant| variant.name == NAGLIM);
    match args.naglim {
        Some(_) if !is_measured => {
            refused("--naglim belongs to --policy naglim, which is not measured".into())
        }
        Some(limit) => u32::try_from(limit)
            .map(Some)
            .or_else(|_| refused("--naglim: more than 1G".into())),
        None => Ok(is_measured.then_some(NAGLIM_DEFAULT)),
    }
}

/// Returns a fresh policy, with NAGLIM's limit if it is NAGLIM.
pub(super) fn ours(entry: &Registered, naglim: Option<u32>) -> Policy {
    match naglim {
        Some(limit) if entry.name == NAGLIM => {
            Policy::engine(entry.label, SendPolicy::naglim(limit))
        }
        _ => entry.into(),
    }
}

/// Keeps the first item of each name, in order.
fn each_once<T: Copy>(items: Vec<T>, name: fn(T) -> &'static str) -> Vec<T> {
    let mut kept: Vec<T> = Vec::new();
    for item in items {
        if !kept.iter().any(|one| name(*one) == name(item)) {
            kept.push(item);
        }
    }
    kept
}

/// The only policy with a number of its own.
const NAGLIM: &str = "naglim";
