//! Names of pods and containers, from the files that kubelet and the runtimes keep on the host.
//!
//! A control group has IDs alone. kubelet keeps the logs of a container in
//! `/var/log/pods/NAMESPACE_POD_UID/CONTAINER/` and a link to them at
//! `/var/log/containers/POD_NAMESPACE_CONTAINER-ID.log`, whatever the runtime. No request to the cluster is needed.
//!
//! What is in these folders is not believed: a name that Kubernetes could not have given is no name, and a name that
//! two entries contradict is not known.

mod kubelet;
mod runtime;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;
use std::time::Duration;

use crate::container::Container;
use crate::pace::Pace;
use crate::root::Root;

/// The names of a host's containers.
#[derive(Default)]
pub struct Names {
    root: Root,
    pods: Cached<kubelet::Pods>,
    links: Cached<kubelet::Links>,
    podman: Cached<runtime::Podman>,
}

/// What was read of a folder. It is read anew if something is not found, at a bounded pace.
struct Cached<T> {
    known: T,
    pace: Pace,
}

impl<T: Default> Default for Cached<T> {
    fn default() -> Self {
        Self {
            known: T::default(),
            pace: Pace::default(),
        }
    }
}

impl Names {
    /// Returns the names of the host with this root.
    #[must_use]
    pub fn below(root: Root) -> Self {
        Self {
            root,
            ..Self::default()
        }
    }

    /// Returns whether there is a folder from which names of pods can be read.
    #[must_use]
    pub fn knows_pods(&self) -> bool {
        [kubelet::PODS, kubelet::LINKS]
            .iter()
            .any(|folder| self.root.join(folder).is_dir())
    }

    /// Gives a container its names, as far as they are known.
    pub fn give(&mut self, container: &mut Container) {
        if !container.lacks_a_name() {
            return;
        }
        match container {
            Container::Docker { id, name } => {
                let of_pod = self.link(id.full());
                match of_pod.and_then(|link| self.pod_of(&link, id)) {
                    Some(pod) => *container = pod,
                    None => *name = runtime::docker(&self.root, id),
                }
            }
            Container::Podman { id, name } => *name = self.of_podman(id.full()),
            Container::Containerd { id } => {
                let of_pod = self.link(id.full());
                if let Some(pod) = of_pod.and_then(|link| self.pod_of(&link, id)) {
                    *container = pod;
                }
            }
            Container::Pod {
                uid,
                id,
                namespace,
                pod,
                container,
            } => {
                let link = id.as_ref().and_then(|id| self.link(id.full()));
                let named = match self.pod(uid) {
                    Some(told) => told.known(),
                    // Where the folders of pods cannot be read, the link's own target may tell.
                    None => link
                        .as_ref()
                        .filter(|link| link.uid.as_deref() == Some(uid))
                        .map(|link| link.pod.clone()),
                };
                let Some(named) = named else { return };
                *container = match link {
                    Some(link) if link.pod == named => Some(link.container),
                    Some(_) => None,
                    None if id.is_some() => kubelet::only_container(&self.root, &named, uid),
                    None => None,
                };
                (*namespace, *pod) = (Some(named.namespace), Some(named.name));
            }
            Container::Unit { .. } => {}
        }
    }

    fn pod(&mut self, uid: &str) -> Option<Told<kubelet::Pod>> {
        let root = &self.root;
        let read = || kubelet::Pods::read(root);
        self.pods.find(read, |pods| pods.by_uid.get(uid))
    }

    fn link(&mut self, id: &str) -> Option<kubelet::Link> {
        let root = &self.root;
        let read = || kubelet::Links::read(root);
        let link = self.links.find(read, |links| links.by_id.get(id))?;
        let mut link = link.known()?;
        link.look(root, id);
        Some(link)
    }

    fn of_podman(&mut self, id: &str) -> Option<String> {
        let root = &self.root;
        let read = || runtime::Podman::read(root);
        self.podman
            .find(read, |podman| podman.by_id.get(id))?
            .known()
    }

    /// Returns a container whose control group does not show its pod, as one of the pod that its log is of.
    fn pod_of(&self, link: &kubelet::Link, id: &crate::container::Id) -> Option<Container> {
        Some(Container::Pod {
            uid: link.uid.clone()?,
            id: Some(id.clone()),
            namespace: Some(link.pod.namespace.clone()),
            pod: Some(link.pod.name.clone()),
            container: Some(link.container.clone()),
        })
    }
}

impl std::fmt::Debug for Names {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Names").field(&self.root).finish()
    }
}

impl<T> Cached<T> {
    /// Finds what is told, after another look if it is not.
    fn find<V: Clone>(
        &mut self,
        read: impl FnOnce() -> T,
        known: impl Fn(&T) -> Option<&Told<V>>,
    ) -> Option<Told<V>> {
        if known(&self.known).is_none()
            && let Some(new) = self.pace.look(BREAK, read)
        {
            self.known = new;
        }
        known(&self.known).cloned()
    }
}

/// What one entry tells, or that two tell different things.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Told<T> {
    Once(T),
    Contradicted,
}

impl<T> Told<T> {
    fn known(self) -> Option<T> {
        match self {
            Self::Once(value) => Some(value),
            Self::Contradicted => None,
        }
    }
}

/// Adds what an entry tells, unless there are too many entries already.
fn tell<K: Hash + Eq, V: PartialEq>(map: &mut HashMap<K, Told<V>>, key: K, value: V) {
    let is_full = map.len() >= MOST_ENTRIES;
    match map.entry(key) {
        Entry::Occupied(mut told) => {
            if *told.get() != Told::Once(value) {
                told.insert(Told::Contradicted);
            }
        }
        Entry::Vacant(_) if is_full => {}
        Entry::Vacant(place) => {
            place.insert(Told::Once(value));
        }
    }
}

/// Returns the names of the entries of a folder, of which there may be very many.
fn entries(folder: &std::path::Path) -> impl Iterator<Item = String> {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    entries
        .take(MOST_READ)
        .filter_map(|entry| entry.file_name().into_string().ok())
}

/// A node has some hundred pods; the logs of a pod that ended stay for a while.
const MOST_ENTRIES: usize = 20_000;
const MOST_READ: usize = 100_000;
/// Between two looks for what is not known.
const BREAK: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests;
