//! What the arguments mean, checked before any work.

use std::time::Duration;

use serde::Serialize;
use tinygram_engine::profile::Profile;
use tinygram_engine::sender::send_policy::Registered;

use super::args::{Args, Mclbytes};
use crate::exit::Failure;
use crate::files::Input;

/// One run. It serialises as the `parameters` of the JSON document: everything that the results
/// depend on, and nothing else.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Plan {
    #[serde(serialize_with = "names")]
    pub(super) logs: Vec<Input>,
    /// Bytes.
    pub(super) mss: Vec<u16>,
    /// Bytes; absent where the test for it is ignored.
    pub(super) mclbytes: Vec<Option<u64>>,
    /// Added to each body.
    pub(super) header_bytes: u64,
    /// Absent where nothing is simulated.
    pub(super) cost: Option<CostPlan>,
    #[serde(skip)]
    pub(super) threads: Option<u16>,
}

/// What is simulated.
#[derive(Clone, Debug, Serialize)]
pub(super) struct CostPlan {
    #[serde(serialize_with = "profile_name")]
    pub(super) profile: &'static Profile,
    #[serde(serialize_with = "policy_names")]
    pub(super) policies: Vec<&'static Registered>,
    pub(super) rate_bits_per_second: u64,
    #[serde(rename = "rtt_ms", serialize_with = "milliseconds")]
    pub(super) rtt: Duration,
}

impl Plan {
    pub(super) fn from(args: &Args) -> Result<Self, Failure> {
        let mut policies = args.policy.clone();
        keep_first(&mut policies, |one, other| one.name == other.name);
        let mut mss = args.mss.clone();
        keep_first(&mut mss, PartialEq::eq);
        let mut mclbytes: Vec<_> = args.mclbytes.iter().map(|Mclbytes(bytes)| *bytes).collect();
        keep_first(&mut mclbytes, PartialEq::eq);
        let cost = CostPlan {
            profile: args.profile,
            policies,
            rate_bits_per_second: args.rate,
            rtt: args.rtt,
        };
        Ok(Self {
            logs: Input::all(&args.logs, "access logs")?,
            mss,
            mclbytes,
            header_bytes: args.header_bytes,
            cost: (!args.no_cost).then_some(cost),
            threads: args.threads,
        })
    }

    /// What the server writes for a body of so many octets.
    pub(super) fn message(&self, body: u64) -> u64 {
        body.saturating_add(self.header_bytes)
    }
}

/// Keeps the first of equals, in order.
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

fn profile_name<S: serde::Serializer>(
    profile: &&'static Profile,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(profile.name)
}

fn policy_names<S: serde::Serializer>(
    policies: &[&Registered],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(policies.iter().map(|policy| policy.name))
}

fn milliseconds<S: serde::Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64() * 1e3)
}
