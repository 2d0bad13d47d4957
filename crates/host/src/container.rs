//! Reads what a control group stands for: a container, a pod or a unit.

use serde::Serialize;

/// What a control group stands for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Container {
    /// A Docker container, by the first twelve digits of its ID.
    Docker {
        /// The number.
        id: String,
    },
    /// Podman's.
    Podman {
        /// The number.
        id: String,
    },
    /// A container of containerd's or CRI-O's outside Kubernetes.
    Containerd {
        /// The number.
        id: String,
    },
    /// A pod of Kubernetes'.
    Pod {
        /// The pod's UID.
        uid: String,
        /// The container in it.
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<String>,
    },
    /// A systemd unit.
    Unit {
        /// Its name.
        name: String,
    },
}

impl Container {
    /// Reads a control group's path.
    #[must_use]
    pub fn of(path: &str) -> Option<Self> {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let id = parts.iter().rev().find_map(|part| container_id(part));
        if let Some(uid) = parts.iter().find_map(|part| pod_uid(part)) {
            return Some(Self::Pod {
                uid,
                id: id.map(|(_, id)| id),
            });
        }
        if let Some((runtime, id)) = id {
            let under_docker = parts.contains(&"docker");
            return Some(match runtime {
                "docker" => Self::Docker { id },
                "" if under_docker => Self::Docker { id },
                "libpod" => Self::Podman { id },
                _ => Self::Containerd { id },
            });
        }
        let unit = parts.iter().rev().find(|part| part.ends_with(".service"))?;
        // The unit of a user's service manager does not say which service it is.
        (!unit.starts_with("user@")).then(|| Self::Unit {
            name: (*unit).to_owned(),
        })
    }

    /// Returns the first twelve digits of the container's ID; `None` for a unit, and for a pod whose path
    /// names no container.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        match self {
            Self::Docker { id } | Self::Podman { id } | Self::Containerd { id } => Some(id),
            Self::Pod { id, .. } => id.as_deref(),
            Self::Unit { .. } => None,
        }
    }
}

impl std::fmt::Display for Container {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Docker { id } => write!(f, "docker {id}"),
            Self::Podman { id } => write!(f, "podman {id}"),
            Self::Containerd { id } => write!(f, "container {id}"),
            Self::Pod { uid, id: Some(id) } => write!(f, "pod {uid}, container {id}"),
            Self::Pod { uid, id: None } => write!(f, "pod {uid}"),
            Self::Unit { name } => f.write_str(name),
        }
    }
}

/// `docker-3f….scope`, `cri-containerd-3f….scope`, `3f…`: the runtime's name and the short number.
fn container_id(part: &str) -> Option<(&str, String)> {
    let part = part.strip_suffix(".scope").unwrap_or(part);
    let (runtime, digits) = part.rsplit_once('-').unwrap_or(("", part));
    let is_id = digits.len() == 64 && digits.bytes().all(|octet| octet.is_ascii_hexdigit());
    is_id.then(|| (runtime, digits[..12].to_owned()))
}

/// `pod8f0b…` as the cgroupfs driver has it, `kubepods-burstable-pod8f0b_….slice` as systemd's.
fn pod_uid(part: &str) -> Option<String> {
    let part = part.strip_suffix(".slice").unwrap_or(part);
    let uid = match part.rfind("-pod") {
        Some(at) if part.starts_with("kubepods") => &part[at + 4..],
        _ => part.strip_prefix("pod")?,
    };
    let plain = uid
        .bytes()
        .all(|octet| octet.is_ascii_hexdigit() || b"-_".contains(&octet));
    (plain && uid.len() >= 32).then(|| uid.replace('_', "-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "3fa1b2c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f80";

    #[test]
    fn control_groups_name_their_container() {
        let shown = |path: String| Container::of(&path).map(|container| container.to_string());
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(shown(format!("/docker/{ID}")), some("docker 3fa1b2c4d5e6"));
        assert_eq!(
            shown(format!("/system.slice/docker-{ID}.scope")),
            some("docker 3fa1b2c4d5e6")
        );
        assert_eq!(
            shown(format!("/machine.slice/libpod-{ID}.scope")),
            some("podman 3fa1b2c4d5e6")
        );
        assert_eq!(
            shown(format!("/default/{ID}")),
            some("container 3fa1b2c4d5e6")
        );
        let uid = "8f0b6d52-1c2d-4e3f-9a8b-7c6d5e4f3a2b";
        assert_eq!(
            shown(format!("/kubepods/burstable/pod{uid}/{ID}")),
            some(&format!("pod {uid}, container 3fa1b2c4d5e6"))
        );
        let slice = format!("kubepods-besteffort-pod{}.slice", uid.replace('-', "_"));
        assert_eq!(
            shown(format!(
                "/kubepods.slice/kubepods-besteffort.slice/{slice}/cri-containerd-{ID}.scope"
            )),
            some(&format!("pod {uid}, container 3fa1b2c4d5e6"))
        );
        assert_eq!(
            shown("/system.slice/nginx.service".into()),
            some("nginx.service")
        );
        assert_eq!(
            shown("/user.slice/user-1000.slice/user@1000.service/app.slice/x.scope".into()),
            None
        );
        assert_eq!(shown("/".into()), None);
    }
}
