//! A policy of the library user's own.

use std::fmt;
use std::sync::Arc;

use super::{Offer, Rule, Vars, Verdict};

/// A user's decision: pure, as every policy's.
pub type Decide = dyn Fn(&Offer, &Vars) -> Verdict + Send + Sync;

/// A policy that asks a function. What it wants to remember it can read from [`Vars`].
#[derive(Clone)]
pub struct Custom(Arc<Decide>);

impl Custom {
    /// A policy that answers as `decide` does.
    pub fn new(decide: impl Fn(&Offer, &Vars) -> Verdict + Send + Sync + 'static) -> Self {
        Self(Arc::new(decide))
    }
}

impl Rule for Custom {
    fn decide(&self, offer: &Offer, vars: &Vars) -> Verdict {
        (self.0)(offer, vars)
    }

    /// What the function looks at, nobody knows.
    fn heeds_blocking(&self) -> bool {
        true
    }
}

impl fmt::Debug for Custom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Custom")
    }
}
