//! Which policies are measured: what a socket can be told, and on the simulator and the stack our own.

use super::super::super::args::{Args, BackendName, Chosen};
use super::super::super::plan::{self, distinct, refused};
use super::super::policy::Policy;
use crate::exit::Failure;

/// The policies that were typed, each once. Without any: all of ours where the stack is measured and
/// no kernel beside it, and what a socket can be told otherwise.
pub(super) fn chosen(typed: &[Chosen], backends: &[BackendName]) -> Result<Vec<Policy>, Failure> {
    let has_kernel = backends.contains(&BackendName::Kernel);
    let mut policies = Vec::new();
    for choice in typed {
        match choice {
            Chosen::All if has_kernel => policies.extend(Policy::OPTIONS),
            Chosen::All => policies.extend(Policy::OPTIONS.into_iter().chain(Policy::ours())),
            Chosen::Linux(policy) => policies.push(*policy),
            Chosen::One(entry) if has_kernel => {
                let names = Policy::OPTIONS.map(Policy::name).join(", ");
                return refused(format!(
                    "--policy {}: the kernel's sockets cannot be told this (accepted with --backend kernel: \
                     {names}, all)",
                    entry.name
                ));
            }
            Chosen::One(entry) => policies.push(Policy::Ours(entry)),
        }
    }
    if !policies.is_empty() {
        return Ok(distinct(&policies));
    }
    Ok(
        match backends.contains(&BackendName::Stack) && !has_kernel {
            true => Policy::ours().collect(),
            false => Policy::OPTIONS.into(),
        },
    )
}

/// The limit, where NAGLIM is measured.
pub(super) fn naglim(args: &Args, policies: &[Policy]) -> Result<Option<u32>, Failure> {
    let ours = policies.iter().filter_map(|policy| match policy {
        Policy::Ours(entry) => Some(*entry),
        _ => None,
    });
    plan::naglim(args, ours)
}
