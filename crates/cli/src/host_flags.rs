//! Flags of the verbs that ask or change this host, and what they mean there.

use std::path::PathBuf;

use tinygram_host::names::Names;
use tinygram_host::place::Place;
use tinygram_host::root::Root;
use tinygram_host::target::Target;

use crate::flags::Places;

/// Where what is changed on this host is written down.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct JournalFolder {
    /// The folder of the journal
    #[arg(
        id = "journal", long, value_name = "FOLDER", default_value_os_t = tinygram_remedy::journal::folder(), hide = true
    )]
    pub(crate) folder: PathBuf,
}

impl Places {
    /// Returns the root of the host's files.
    pub(crate) fn root(&self) -> Result<Root, String> {
        match &self.host_root {
            Some(folder) => Root::at(folder).map_err(|said| format!("--host-root: {said}")),
            None => Ok(Root::default()),
        }
    }

    /// Reads what was typed for targets, each within these places.
    pub(crate) fn targets(&self, typed: &[String]) -> Result<Vec<Target>, String> {
        let place = Place::parse(&self.namespace, &self.pod, &self.container)?;
        let root = self.root()?;
        if place.is_of_pods() && !Names::below(root.clone()).knows_pods() {
            return Err(format!(
                "{place}: no names of pods can be read, for there is no var/log/pods below {}; accepted is --host-root \
                 with the folder at which the root of a node of Kubernetes is mounted",
                root.path().display()
            ));
        }
        Target::all(typed, &place, &root)
    }
}
