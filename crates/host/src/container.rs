//! Reads what a control group stands for: a container, a pod or a unit.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::text::plain;

/// What a control group stands for. A name is `None` where it is not known ([`crate::names::Names`]).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Container {
    /// A Docker container.
    Docker {
        /// Its ID.
        id: Id,
        /// Its name.
        name: Option<String>,
    },
    /// Podman's.
    Podman {
        /// Its ID.
        id: Id,
        /// Its name.
        name: Option<String>,
    },
    /// A container of containerd's or CRI-O's outside Kubernetes.
    Containerd {
        /// Its ID.
        id: Id,
    },
    /// A pod of Kubernetes'.
    Pod {
        /// The pod's UID.
        uid: String,
        /// The container in it; `None` if the control group is the pod's own.
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<Id>,
        /// The pod's namespace in Kubernetes.
        namespace: Option<String>,
        /// The pod's name.
        pod: Option<String>,
        /// The container's name in the pod.
        container: Option<String>,
    },
    /// A systemd unit.
    Unit {
        /// Its name.
        name: String,
    },
}

/// A container's ID of 64 hexadecimal digits. It is shown, and serialized, as its first twelve.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(String);

impl Id {
    /// Reads an ID.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let is_id = text.len() == FULL && text.bytes().all(|octet| octet.is_ascii_hexdigit());
        is_id.then(|| Self(text.to_owned()))
    }

    /// Returns all digits.
    #[must_use]
    pub fn full(&self) -> &str {
        &self.0
    }

    /// Returns the first twelve digits.
    #[must_use]
    pub fn short(&self) -> &str {
        &self.0[..SHORT]
    }

    /// Returns whether this is what a person typed for it: twelve digits or more of its beginning.
    #[must_use]
    pub fn is_typed(&self, text: &str) -> bool {
        text.len() >= SHORT && self.0.starts_with(text)
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.short())
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.short())
    }
}

impl Container {
    /// Reads a control group's path. Names of pods and containers are not in it.
    #[must_use]
    pub fn of(path: &str) -> Option<Self> {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let id = parts.iter().rev().find_map(|part| container_id(part));
        // From the inside: a node of a test cluster is itself a container, with the pods' groups below its own.
        if let Some(uid) = parts.iter().rev().find_map(|part| pod_uid(part)) {
            return Some(Self::Pod {
                uid,
                id: id.map(|(_, id)| id),
                namespace: None,
                pod: None,
                container: None,
            });
        }
        if let Some((runtime, id)) = id {
            let under_docker = parts.contains(&"docker");
            return Some(match runtime {
                "docker" => Self::Docker { id, name: None },
                "" if under_docker => Self::Docker { id, name: None },
                "libpod" => Self::Podman { id, name: None },
                _ => Self::Containerd { id },
            });
        }
        let unit = parts.iter().rev().find(|part| part.ends_with(".service"))?;
        // The unit of a user's service manager does not say which service it is.
        (!unit.starts_with("user@")).then(|| Self::Unit { name: plain(unit) })
    }

    /// Returns the container's ID; `None` for a unit, and for a pod whose path names no container.
    #[must_use]
    pub fn id(&self) -> Option<&Id> {
        match self {
            Self::Docker { id, .. } | Self::Podman { id, .. } | Self::Containerd { id } => Some(id),
            Self::Pod { id, .. } => id.as_ref(),
            Self::Unit { .. } => None,
        }
    }

    /// Returns the container's name, if it is known: in its pod, or the one that its runtime gave it.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Docker { name, .. } | Self::Podman { name, .. } => name.as_deref(),
            Self::Pod { container, .. } => container.as_deref(),
            Self::Containerd { .. } | Self::Unit { .. } => None,
        }
    }

    /// Returns the pod's name, if it is one and its name is known.
    #[must_use]
    pub fn pod(&self) -> Option<&str> {
        match self {
            Self::Pod { pod, .. } => pod.as_deref(),
            _ => None,
        }
    }

    /// Returns the pod's namespace in Kubernetes, if it is a pod and its names are known.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        match self {
            Self::Pod { namespace, .. } => namespace.as_deref(),
            _ => None,
        }
    }

    /// Returns whether it has a name that is not known.
    #[must_use]
    pub fn lacks_a_name(&self) -> bool {
        match self {
            Self::Docker { name, .. } | Self::Podman { name, .. } => name.is_none(),
            Self::Pod {
                id, pod, container, ..
            } => pod.is_none() || (id.is_some() && container.is_none()),
            // A container of containerd's may be one of a pod's, whose group the path does not show.
            Self::Containerd { .. } => true,
            Self::Unit { .. } => false,
        }
    }

    /// Returns whether a word means it: a name or an ID of its.
    #[must_use]
    pub fn is_named(&self, word: &str) -> bool {
        let is_whole = match self {
            Self::Pod { uid, .. } => uid == word,
            Self::Unit { name } => name == word,
            _ => false,
        };
        is_whole
            || [self.pod(), self.name()].contains(&Some(word))
            || self.id().is_some_and(|id| id.is_typed(word))
    }
}

impl fmt::Display for Container {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Docker { id, name } => runs(f, "docker", id, name.as_deref()),
            Self::Podman { id, name } => runs(f, "podman", id, name.as_deref()),
            Self::Containerd { id } => write!(f, "container {id}"),
            Self::Pod {
                uid,
                id,
                namespace,
                pod,
                container,
            } => {
                match (namespace, pod) {
                    (Some(namespace), Some(pod)) => write!(f, "pod {namespace}/{pod}")?,
                    _ => write!(f, "pod {uid} (name unknown)")?,
                }
                match (container, id) {
                    (Some(container), _) => write!(f, ", container {container}"),
                    (None, Some(id)) if pod.is_some() => {
                        write!(f, ", container {id} (name unknown)")
                    }
                    (None, Some(id)) => write!(f, ", container {id}"),
                    (None, None) => Ok(()),
                }
            }
            Self::Unit { name } => f.write_str(name),
        }
    }
}

fn runs(f: &mut fmt::Formatter<'_>, runtime: &str, id: &Id, name: Option<&str>) -> fmt::Result {
    match name {
        Some(name) => write!(f, "{runtime} {name} ({id})"),
        None => write!(f, "{runtime} {id} (name unknown)"),
    }
}

/// `docker-3f….scope`, `cri-containerd-3f….scope`, `3f…`, and `kubepods-….slice:cri-containerd:3f…` where the drivers
/// of kubelet and containerd differ: the runtime's name and the ID.
fn container_id(part: &str) -> Option<(&str, Id)> {
    let part = part.strip_suffix(".scope").unwrap_or(part);
    let (runtime, digits) = part.rsplit_once(['-', ':']).unwrap_or(("", part));
    Some((runtime, Id::parse(digits)?))
}

/// `pod8f0b…` as the cgroupfs driver has it, `kubepods-burstable-pod8f0b_….slice` as systemd's.
fn pod_uid(part: &str) -> Option<String> {
    let part = part.split(':').next().unwrap_or(part);
    let part = part.strip_suffix(".slice").unwrap_or(part);
    let uid = match part.rfind("-pod") {
        // `kubelet-kubepods-…` in a node that is itself a container.
        Some(at) if part.contains("kubepods") => &part[at + 4..],
        _ => part.strip_prefix("pod")?,
    };
    is_uid(uid).then(|| uid.replace('_', "-"))
}

/// Returns whether this is a pod's UID: kubelet's own pods have a hash in its place.
pub(crate) fn is_uid(text: &str) -> bool {
    let plain = text
        .bytes()
        .all(|octet| octet.is_ascii_hexdigit() || b"-_".contains(&octet));
    plain && (32..=36).contains(&text.len())
}

/// The digits of an ID, and those that are shown.
const FULL: usize = 64;
const SHORT: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "3fa1b2c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f80";
    const UID: &str = "8f0b6d52-1c2d-4e3f-9a8b-7c6d5e4f3a2b";

    fn shown(path: &str) -> Option<String> {
        Container::of(path).map(|container| container.to_string())
    }

    /// The paths are those of the documented layouts of each runtime and driver.
    #[test]
    fn control_groups_tell_their_container() {
        let unnamed = |text: &str| Some(format!("{text} 3fa1b2c4d5e6 (name unknown)"));
        assert_eq!(shown(&format!("/docker/{ID}")), unnamed("docker"));
        let scope = format!("/system.slice/docker-{ID}.scope");
        assert_eq!(shown(&scope), unnamed("docker"));
        let scope = format!("/machine.slice/libpod-{ID}.scope");
        assert_eq!(shown(&scope), unnamed("podman"));
        let group = format!("/machine.slice/libpod-{ID}.scope/container");
        assert_eq!(shown(&group), unnamed("podman"));
        let plain = Some("container 3fa1b2c4d5e6".to_owned());
        assert_eq!(shown(&format!("/default/{ID}")), plain);
        let unit = Some("nginx.service".to_owned());
        assert_eq!(shown("/system.slice/nginx.service"), unit);
        let user = "/user.slice/user-1000.slice/user@1000.service/app.slice/x.scope";
        assert_eq!(shown(user), None);
        assert_eq!(shown("/"), None);
    }

    #[test]
    fn control_groups_of_kubelet_tell_the_pod_whatever_the_driver() {
        let slice = format!("kubepods-burstable-pod{}.slice", UID.replace('-', "_"));
        let kind = format!("/docker/{}", ID.replace('3', "4"));
        for path in [
            format!("/kubepods/burstable/pod{UID}/{ID}"),
            format!("/kubepods.slice/kubepods-burstable.slice/{slice}/cri-containerd-{ID}.scope"),
            format!("/kubepods.slice/kubepods-burstable.slice/{slice}/crio-{ID}.scope"),
            format!("/kubepods.slice/kubepods-burstable.slice/{slice}/crio-{ID}.scope/container"),
            format!("/kubepods.slice/kubepods-burstable.slice/{slice}/docker-{ID}.scope"),
            format!("/system.slice/containerd.service/{slice}:cri-containerd:{ID}"),
            format!("/../../{slice}/cri-containerd-{ID}.scope"),
            format!("{kind}/kubelet.slice/kubelet-{slice}/cri-containerd-{ID}.scope"),
            format!("{kind}/kubelet/kubepods/besteffort/pod{UID}/{ID}"),
        ] {
            let pod = format!("pod {UID} (name unknown), container 3fa1b2c4d5e6");
            assert_eq!(shown(&path), Some(pod), "{path}");
        }
        let hash = "0123456789abcdef0123456789abcdef";
        let kubelets = format!("/kubepods/burstable/pod{hash}/{ID}");
        assert!(shown(&kubelets).is_some_and(|shown| shown.contains(hash)));
    }

    #[test]
    fn a_unit_cannot_act_on_a_terminal() {
        let unit = "/user.slice/evil\u{1b}[2J\u{202e}.service";
        assert_eq!(
            shown(unit),
            Some("evil\u{fffd}[2J\u{fffd}.service".to_owned())
        );
    }

    #[test]
    fn a_word_means_a_name_or_an_id() {
        let container = Container::Pod {
            uid: UID.to_owned(),
            id: Id::parse(ID),
            namespace: Some("shop".to_owned()),
            pod: Some("cart-7d9f".to_owned()),
            container: Some("app".to_owned()),
        };
        for word in ["cart-7d9f", "app", &ID[..12], &ID[..20], ID, UID] {
            assert!(container.is_named(word), "{word}");
        }
        for word in ["pod", "shop", "cart", &ID[..11], "3"] {
            assert!(!container.is_named(word), "{word}");
        }
        assert_eq!(container.to_string(), "pod shop/cart-7d9f, container app");
    }
}
