//! What the files of Docker and Podman tell.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{Told, tell};
use crate::container::Id;
use crate::root::Root;

/// Returns the name of one of Docker's containers.
pub(super) fn docker(root: &Root, id: &Id) -> Option<String> {
    #[derive(Deserialize)]
    struct Config {
        #[serde(rename = "Name")]
        name: String,
    }
    let file = format!("/var/lib/docker/containers/{}/config.v2.json", id.full());
    let config: Config = json(&root.join(&file))?;
    let name = config.name.trim_start_matches('/');
    is_name(name).then(|| name.to_owned())
}

/// The containers of root's Podman.
#[derive(Default)]
pub(super) struct Podman {
    pub(super) by_id: HashMap<String, Told<String>>,
}

impl Podman {
    pub(super) fn read(root: &Root) -> Self {
        #[derive(Deserialize)]
        struct Container {
            id: String,
            #[serde(default)]
            names: Vec<String>,
        }
        let mut podman = Self::default();
        for driver in DRIVERS {
            for file in FILES {
                let path = format!("/var/lib/containers/storage/{driver}-containers/{file}");
                let containers: Vec<Container> = json(&root.join(&path)).unwrap_or_default();
                for container in containers {
                    let name = container.names.into_iter().find(|name| is_name(name));
                    if let (Some(id), Some(name)) = (Id::parse(&container.id), name) {
                        tell(&mut podman.by_id, id.full().to_owned(), name);
                    }
                }
            }
        }
        podman
    }
}

fn json<T: DeserializeOwned>(path: &Path) -> Option<T> {
    let mut text = Vec::new();
    let file = File::open(path).ok()?;
    file.take(LONGEST).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

/// Returns whether this is a name that both runtimes accept: `[a-zA-Z0-9][a-zA-Z0-9_.-]*`.
fn is_name(text: &str) -> bool {
    let is_well = |octet: u8| octet.is_ascii_alphanumeric() || b"_.-".contains(&octet);
    (1..=253).contains(&text.len())
        && text.bytes().all(is_well)
        && text.as_bytes()[0].is_ascii_alphanumeric()
}

/// The drivers of storage, and the files of the containers that stay and of those that go with the next start.
const DRIVERS: [&str; 2] = ["overlay", "vfs"];
const FILES: [&str; 2] = ["containers.json", "volatile-containers.json"];
/// The longest file that is read, in octets.
const LONGEST: u64 = 16 << 20;
