//! The files that a policy takes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tinygram_coalesce::{Only, Rules};
use tinygram_preload::settings::{MAX_ONLY, Settings, VARIABLE};

use super::names;
use super::policy::Installed;
use crate::verbs::run::library;

/// Something that is to be written below the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    /// The path on the system, absolute.
    pub(super) path: PathBuf,
    pub(super) content: Content,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// A text that all may read.
    Text(String),
    /// The library of `run`.
    Library(&'static [u8]),
    /// A symbolic link to this.
    Link(PathBuf),
}

impl Content {
    /// Returns its octets; of a link, where it leads.
    pub(super) fn octets(&self) -> &[u8] {
        use std::os::unix::ffi::OsStrExt;
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Library(octets) => octets,
            Self::Link(target) => target.as_os_str().as_bytes(),
        }
    }
}

/// Returns the files of these policies, each once.
///
/// # Errors
///
/// Says in one line what is wrong and what is accepted.
pub(super) fn of(policies: &[Installed], program: &Path) -> Result<Vec<Item>, String> {
    let mut items: Vec<Item> = Vec::new();
    for policy in policies {
        let new = match policy {
            Installed::Run { unit, policy, only } => held(unit, *policy, only)?,
            Installed::Cure { target, watch } => cured(target, *watch, program)?,
        };
        for item in new {
            match items.iter().find(|other| other.path == item.path) {
                None => items.push(item),
                Some(other) if *other == item => {}
                Some(_) => {
                    return Err(format!(
                        "two policies write {}; accepted is one",
                        item.path.display()
                    ));
                }
            }
        }
    }
    Ok(items)
}

/// Returns the library in its fixed path.
///
/// # Errors
///
/// Says that there is none for this machine.
pub(super) fn the_library() -> Result<Item, String> {
    let (name, octets) = library::content()
        .ok_or_else(|| "the library needs Linux on x86_64 with glibc".to_owned())?;
    Ok(Item {
        path: Path::new(LIBRARIES).join(name),
        content: Content::Library(octets),
    })
}

/// Returns the two variables that load the library with these settings.
pub(super) fn variables(
    library: &Path,
    policy: tinygram_coalesce::Policy,
    only: &[Only],
) -> [(&'static str, String); 2] {
    let mut filters = [None; MAX_ONLY];
    for (slot, filter) in filters.iter_mut().zip(only) {
        *slot = Some(*filter);
    }
    let settings = Settings {
        rules: Rules {
            policy,
            ..Rules::default()
        },
        only: filters,
        stats: None,
    };
    [
        ("LD_PRELOAD", library.display().to_string()),
        (VARIABLE, settings.encode()),
    ]
}

/// Returns the library, and a drop-in that loads it into a service.
fn held(unit: &str, policy: tinygram_coalesce::Policy, only: &[Only]) -> Result<Vec<Item>, String> {
    let library = the_library()?;
    let mut text = format!("{MADE_BY}[Service]\n");
    for (name, value) in variables(&library.path, policy, only) {
        text += &format!(
            "Environment={}\n",
            names::quoted(&format!("{name}={value}"))?
        );
    }
    let drop_in = Item {
        path: Path::new(UNITS).join(format!("{unit}.d")).join(DROP_IN),
        content: Content::Text(text),
    };
    Ok(vec![library, drop_in])
}

/// Returns a service that cures a target while it stalls, and the link that starts it with the system.
fn cured(target: &str, watch: Duration, program: &Path) -> Result<Vec<Item>, String> {
    let name = names::curing(target);
    let program = program.to_str().unwrap_or_default();
    let seconds = format!("{}s", watch.as_secs());
    let words = [program, "cure", target, "--watch", &seconds].map(names::word);
    let words = words.into_iter().collect::<Result<Vec<_>, _>>()?;
    let text = format!(
        "{MADE_BY}[Unit]\n\
         Description=End the stalls of small TCP segments of {}\n\
         Documentation=man:tinygram(1)\n\
         After=network.target\n\n\
         [Service]\n\
         ExecStart={}\n\
         Restart=on-failure\n\
         RestartSec=30s\n\
         # Its exit codes 1 and 3 say that nothing was kept.\n\
         SuccessExitStatus=1 3\n\
         StateDirectory=tinygram\n\
         StateDirectoryMode=0700\n\
         NoNewPrivileges=yes\n\
         CapabilityBoundingSet=CAP_BPF CAP_PERFMON CAP_NET_ADMIN CAP_SYS_ADMIN CAP_SYS_PTRACE CAP_DAC_READ_SEARCH CAP_SYSLOG\n\n\
         [Install]\n\
         WantedBy=multi-user.target\n",
        names::plain(target),
        words.join(" "),
    );
    Ok(vec![
        Item {
            path: Path::new(UNITS).join(&name),
            content: Content::Text(text),
        },
        Item {
            path: Path::new(UNITS).join("multi-user.target.wants").join(&name),
            content: Content::Link(Path::new("..").join(&name)),
        },
    ])
}

/// Returns what a container's image takes.
pub(super) fn container(library: &Path, policy: tinygram_coalesce::Policy) -> String {
    let folder = library.parent().unwrap_or(Path::new("/")).display();
    let shown = library.display();
    let [(preload, path), (settings, value)] = variables(library, policy, &[]);
    format!(
        "# In a Dockerfile, with the library beside it (tinygram run --library-dir . -- true unpacks it here):\n\
         COPY {} {folder}/\n\
         ENV {preload}={path} {settings}={value}\n\n\
         # Or without another image, in a compose file:\n\
         services:\n\
         \x20 NAME:\n\
         \x20   volumes:\n\
         \x20     - {shown}:{shown}:ro\n\
         \x20   environment:\n\
         \x20     {preload}: {path}\n\
         \x20     {settings}: {value}\n\n\
         # It takes glibc in the image. Go programs, static ones and images with musl take a service on the host instead:\n\
         # tinygram install --cure CONTAINER\n",
        library.file_name().unwrap_or_default().display(),
    )
}

const MADE_BY: &str = "# Made by tinygram install. tinygram install --remove takes it out.\n";
const UNITS: &str = "/etc/systemd/system";
/// After a package's own, which have lower numbers by custom.
const DROP_IN: &str = "60-tinygram.conf";
/// A folder in which `run` looks for it, too.
const LIBRARIES: &str = "/usr/local/lib/tinygram";
