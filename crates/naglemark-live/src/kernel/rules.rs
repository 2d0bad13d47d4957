//! The send policies that the kernel is given for a trial, as BPF.

use std::sync::{Arc, Mutex, PoisonError};

use tinygram_engine::sender::send_policy::{Registered, SendPolicy};
use tinygram_kernel::{Base, BpfPolicy, Loaded};
use tinygram_naglemark::{Error, Policy};

/// The policies of the engine that the kernel can be given. One at a time is in the kernel: the programs of others
/// would cost each write a little.
pub(crate) struct Rules {
    policies: Vec<Policy>,
    loaded: Option<Given>,
    now: Now,
}

/// A policy that is in the kernel, and what it was asked for by.
struct Given {
    label: String,
    limit: Option<u32>,
    _loaded: Loaded,
}

/// The name under which the policy of the present trial is registered, for the thread that answers.
#[derive(Clone, Default)]
pub(crate) struct Now(Arc<Mutex<Option<String>>>);

impl Rules {
    /// Returns rules of which none is in the kernel yet.
    pub(crate) fn of(policies: &[Policy]) -> Self {
        Self {
            policies: policies.to_vec(),
            loaded: None,
            now: Now::default(),
        }
    }

    pub(super) fn policies(&self) -> &[Policy] {
        &self.policies
    }

    pub(crate) fn now(&self) -> Now {
        self.now.clone()
    }

    /// Gives the kernel a policy if it is one of the engine's, and takes away the one before.
    pub(crate) fn prepare(&mut self, wanted: &Policy) -> Result<(), Error> {
        let Policy::Engine { label, policy } = wanted else {
            return Ok(());
        };
        let limit = match policy {
            SendPolicy::Naglim { limit } => Some(*limit),
            _ => None,
        };
        if matches!(&self.loaded, Some(given) if given.label == *label && given.limit == limit) {
            return Ok(());
        }
        let entry = registered(label).and_then(in_kernel);
        let entry = entry.ok_or_else(|| Error::policy(NAME, wanted))?;
        self.withdraw();
        let loaded = Loaded::load(entry, Base::Cubic, limit)
            .map_err(|lacking| Error::failed(format!("loading {label}"), lacking))?;
        self.now.is(Some(loaded.name().to_owned()));
        self.loaded = Some(Given {
            label: label.to_string(),
            limit,
            _loaded: loaded,
        });
        Ok(())
    }

    /// Gives the kernel the engine's policy among these, which is one at most, and takes away any other.
    pub(crate) fn prepare_only<'a>(
        &mut self,
        wanted: impl Iterator<Item = &'a Policy>,
    ) -> Result<(), Error> {
        let mut engines = wanted.filter(|it| matches!(it, Policy::Engine { .. }));
        let Some(first) = engines.next() else {
            self.withdraw();
            return Ok(());
        };
        match engines.find(|it| it.label() != first.label()) {
            Some(second) => Err(Error::policy("bpf beside another one", second)),
            None => self.prepare(first),
        }
    }

    fn withdraw(&mut self) {
        self.now.is(None);
        self.loaded = None;
    }
}

impl Now {
    fn is(&self, name: Option<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = name;
    }

    pub(crate) fn name(&self) -> Option<String> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// Returns the policy that the kernel can be given for one of the engine's.
#[must_use]
pub fn in_kernel(entry: &Registered) -> Option<&'static BpfPolicy> {
    BpfPolicy::named(entry.name)
}

fn registered(label: &str) -> Option<&'static Registered> {
    SendPolicy::LIST.iter().find(|entry| entry.label == label)
}

/// The name, in outcomes, of the backend whose kernel can be given policies.
pub(crate) const NAME: &str = "bpf";
