//! What kubelet's folders of logs tell.

use std::collections::HashMap;

use super::{Told, entries, tell};
use crate::container::{Id, is_uid};
use crate::root::Root;

/// Where the folders of pods are, one for each: `NAMESPACE_POD_UID`.
pub(super) const PODS: &str = "/var/log/pods";
/// Where the links to logs are, one for each container: `POD_NAMESPACE_CONTAINER-ID.log`.
pub(super) const LINKS: &str = "/var/log/containers";

/// A pod's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pod {
    pub(super) namespace: String,
    pub(super) name: String,
}

/// The folders of pods.
#[derive(Default)]
pub(super) struct Pods {
    pub(super) by_uid: HashMap<String, Told<Pod>>,
}

impl Pods {
    pub(super) fn read(root: &Root) -> Self {
        let mut pods = Self::default();
        for entry in entries(&root.join(PODS)) {
            if let Some((pod, uid)) = pod(&entry) {
                tell(&mut pods.by_uid, uid, pod);
            }
        }
        pods
    }
}

/// A container's link to its log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) pod: Pod,
    pub(super) container: String,
    /// The pod's UID, once it was looked for.
    pub(super) uid: Option<String>,
}

/// The links to logs.
#[derive(Default)]
pub(super) struct Links {
    pub(super) by_id: HashMap<String, Told<Link>>,
}

impl Links {
    pub(super) fn read(root: &Root) -> Self {
        let mut links = Self::default();
        for entry in entries(&root.join(LINKS)) {
            if let Some((link, id)) = link(&entry) {
                tell(&mut links.by_id, id.full().to_owned(), link);
            }
        }
        links
    }
}

impl Link {
    /// Looks at which pod's folder the link leads to.
    pub(super) fn look(&mut self, root: &Root, id: &str) {
        let Pod { namespace, name } = &self.pod;
        let file = format!("{LINKS}/{name}_{namespace}_{}-{id}.log", self.container);
        let Ok(target) = root.join(&file).read_link() else {
            return;
        };
        let folders = target.iter().filter_map(|part| part.to_str());
        let led = folders.filter_map(pod).find(|(led, _)| *led == self.pod);
        self.uid = led.map(|(_, uid)| uid);
    }
}

/// Returns the name of the container of a pod that has had one alone.
pub(super) fn only_container(root: &Root, pod: &Pod, uid: &str) -> Option<String> {
    let Pod { namespace, name } = pod;
    let folder = root.join(&format!("{PODS}/{namespace}_{name}_{uid}"));
    let mut names = entries(&folder);
    let first = names.next().filter(|name| is_label(name))?;
    names.next().is_none().then_some(first)
}

/// Reads `NAMESPACE_POD_UID`. Neither name can have an underscore.
fn pod(entry: &str) -> Option<(Pod, String)> {
    let mut parts = entry.split('_');
    let (namespace, name, uid) = (parts.next()?, parts.next()?, parts.next()?);
    let is_well =
        parts.next().is_none() && is_label(namespace) && is_subdomain(name) && is_uid(uid);
    let pod = Pod {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    };
    is_well.then(|| (pod, uid.to_owned()))
}

/// Reads `POD_NAMESPACE_CONTAINER-ID.log`.
fn link(entry: &str) -> Option<(Link, Id)> {
    let (rest, id) = entry.strip_suffix(".log")?.rsplit_once('-')?;
    let id = Id::parse(id)?;
    let mut parts = rest.split('_');
    let (name, namespace, container) = (parts.next()?, parts.next()?, parts.next()?);
    let is_well =
        parts.next().is_none() && is_label(namespace) && is_subdomain(name) && is_label(container);
    let link = Link {
        pod: Pod {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        },
        container: container.to_owned(),
        uid: None,
    };
    is_well.then_some((link, id))
}

/// Returns whether this is a name of a namespace or a container: a label as in RFC 1123, section 2.1.
fn is_label(text: &str) -> bool {
    is_part(text) && text.len() <= 63
}

/// Returns whether this is a name of a pod: parts with points between them.
fn is_subdomain(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_part)
}

fn is_part(text: &str) -> bool {
    let plain = |octet: u8| octet.is_ascii_lowercase() || octet.is_ascii_digit();
    let octets = text.as_bytes();
    octets.iter().all(|&octet| plain(octet) || octet == b'-')
        && octets.first().is_some_and(|&octet| plain(octet))
        && octets.last().is_some_and(|&octet| plain(octet))
}
