//! The meaning of the arguments, checked before any work.

use std::time::Duration;

use serde::Serialize;
use tinygram_engine::connection::Config;
use tinygram_engine::profile::{Profile, Sizes};
use tinygram_engine::sender::send_policy::Registered;
use tinygram_engine::socket::copy_rule::CopyRule;

use super::args::{Args, Mclbytes};
use crate::echoed::{milliseconds, profile_name};
use crate::files::Input;
use crate::flags::Processors;
use crate::outcome::Failure;

/// A run. It serialises as the `parameters` of the JSON document: everything that the results
/// depend on, and nothing else.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Plan {
    #[serde(serialize_with = "names")]
    pub(super) logs: Vec<Input>,
    /// The MSS, in bytes.
    pub(super) mss: Vec<u16>,
    /// MCLBYTES, in bytes; absent if the test for it is ignored.
    pub(super) mclbytes: Vec<Option<u64>>,
    /// The bytes added to each body.
    pub(super) header_bytes: u64,
    /// Absent if nothing is simulated.
    pub(super) cost: Option<CostPlan>,
    #[serde(skip)]
    pub(super) processors: Processors,
}

/// What is simulated.
#[derive(Clone, Debug, Serialize)]
pub(super) struct CostPlan {
    #[serde(serialize_with = "profile_name")]
    pub(super) profile: &'static Profile,
    #[serde(serialize_with = "policy_names")]
    pub(super) policies: Vec<&'static Registered>,
    /// The copying units of the kernel, in bytes; `None` for a kernel without them.
    #[serde(rename = "simulated_mclbytes")]
    pub(super) clusters: Vec<Option<u64>>,
    pub(super) rate_bits_per_second: u64,
    #[serde(rename = "rtt_ms", serialize_with = "milliseconds")]
    pub(super) rtt: Duration,
}

impl Plan {
    pub(super) fn from(args: &Args) -> Result<Self, Failure> {
        let mut policies = match args.policy.is_empty() {
            true => usual_policies(args.profile),
            false => args.policy.clone(),
        };
        keep_first(&mut policies, |one, other| one.name == other.name);
        let mut mss = args.mss.clone();
        keep_first(&mut mss, PartialEq::eq);
        let mut mclbytes: Vec<_> = args.mclbytes.iter().map(|Mclbytes(bytes)| *bytes).collect();
        keep_first(&mut mclbytes, PartialEq::eq);
        let clusters = clusters(args.profile, &mclbytes);
        if mclbytes.is_empty() {
            mclbytes = vec![None, Some(4096), Some(8192)];
        }
        let cost = CostPlan {
            profile: args.profile,
            policies,
            clusters,
            rate_bits_per_second: args.rate,
            rtt: args.rtt,
        };
        Ok(Self {
            logs: Input::all(&args.logs, "access logs")?,
            mss,
            mclbytes,
            header_bytes: args.header_bytes,
            cost: (!args.no_cost).then_some(cost),
            processors: args.processors,
        })
    }

    /// Returns the bytes that the server writes for a body of this many octets.
    pub(super) fn message(&self, body: u64) -> u64 {
        body.saturating_add(self.header_bytes)
    }
}

/// Returns the stack's own policy, and those that the paper compares it with.
fn usual_policies(profile: &'static Profile) -> Vec<&'static Registered> {
    let own = as_shipped(profile).sender.policy.registered();
    let paper = ["nagle", "minshall", "dldet", "off"].into_iter();
    own.into_iter()
        .chain(paper.filter_map(Registered::named))
        .collect()
}

/// Returns the copying units of the simulated kernel: the given ones if it copies in units,
/// otherwise its own.
fn clusters(profile: &'static Profile, typed: &[Option<u64>]) -> Vec<Option<u64>> {
    let CopyRule::Mclbytes(own) = as_shipped(profile).copy_rule else {
        return vec![None];
    };
    let typed: Vec<_> = typed.iter().copied().filter(Option::is_some).collect();
    match typed.is_empty() {
        true => vec![Some(own.cluster)],
        false => typed,
    }
}

/// Returns a stack's rules; the buffer sizes do not matter.
fn as_shipped(profile: &Profile) -> Config {
    profile.config(&Sizes {
        mss: 1460,
        send_buffer: 1 << 16,
        receive_buffer: 1 << 16,
    })
}

/// Keeps the first of equal items, in order.
fn keep_first<T>(list: &mut Vec<T>, equal: impl Fn(&T, &T) -> bool) {
    let mut kept: Vec<T> = Vec::with_capacity(list.len());
    for item in list.drain(..) {
        if !kept.iter().any(|earlier| equal(earlier, &item)) {
            kept.push(item);
        }
    }
    *list = kept;
}

fn names<S: serde::Serializer>(logs: &[Input], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(logs.iter().map(Input::name))
}

fn policy_names<S: serde::Serializer>(
    policies: &[&Registered],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(policies.iter().map(|policy| policy.name))
}
