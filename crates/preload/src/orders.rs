//! What this process was told by the command, and the rules in force.

use std::sync::OnceLock;

use crate::live::LIVE;
use crate::page::Page;
use crate::settings::MAX_ONLY;
use crate::traces::Traces;
use tinygram_coalesce::{Only, Policy, Rules};

/// What this process was told; it does not change.
pub(crate) struct Orders {
    pub(crate) only: [Option<Only>; MAX_ONLY],
    pub(crate) page: Option<&'static Page>,
    /// The place for traces of waiting writes, under `observe`.
    pub(crate) traces: Option<&'static Traces>,
}

impl Orders {
    /// Returns the policy in force, which may be switched while the program runs.
    #[inline(always)]
    pub(crate) fn policy(&self) -> Policy {
        LIVE.policy()
    }

    /// Returns the rules in force.
    #[inline(always)]
    pub(crate) fn rules(&self) -> Rules {
        LIVE.rules()
    }
}

static ORDERS: OnceLock<Orders> = OnceLock::new();

/// Stores the orders; returns false if they were stored before.
pub(crate) fn give(orders: Orders) -> bool {
    ORDERS.set(orders).is_ok()
}

/// Returns what this process was told. Called only for known descriptors, so never before [`give`].
#[inline(always)]
pub(crate) fn orders() -> Option<&'static Orders> {
    ORDERS.get()
}

/// Returns the statistics page, if there is one.
pub(crate) fn page() -> Option<&'static Page> {
    orders()?.page
}
