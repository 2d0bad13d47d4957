//! The reasons why the kernel takes no BPF programs, and what would help.

use std::error::Error;
use std::fs;
use std::path::Path;

/// The reason why the kernel cannot be asked, in one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Lacking {
    /// The kernel has no type information.
    #[error(
        "the kernel has no type information of its own (/sys/kernel/btf/vmlinux): it takes Linux 5.4 or newer built with CONFIG_DEBUG_INFO_BTF"
    )]
    Btf,
    /// Its type information is not in sight.
    #[error(
        "the kernel's type information (BTF, /sys/kernel/btf/vmlinux) is not in sight: /sys is not mounted here"
    )]
    NoSys,
    /// A tracepoint is missing.
    #[error("this kernel has no tracepoint {0}: it takes Linux {1} or newer")]
    Tracepoint(&'static str, &'static str),
    /// The kernel lets no program walk over its sockets.
    #[error(
        "this kernel lets no BPF program walk over its TCP sockets (bpf_iter_tcp): it takes Linux 5.19 or newer"
    )]
    Walk,
    /// Not allowed.
    #[error("not permitted to load BPF programs: it takes root, or {0}")]
    Privilege(String),
    /// Anything else.
    #[error("BPF: {0}")]
    Other(String),
}

impl Lacking {
    /// Returns why the kernel's type information cannot be read.
    #[must_use]
    pub fn types() -> Self {
        match Path::new("/sys/kernel").exists() {
            true => Self::Btf,
            false => Self::NoSys,
        }
    }

    /// Returns the root cause of `error`, because that is what a person can act on.
    #[must_use]
    pub fn of(error: &(dyn Error + 'static)) -> Self {
        let mut cause: &(dyn Error + 'static) = error;
        loop {
            if let Some(io) = cause.downcast_ref::<std::io::Error>()
                && io.kind() == std::io::ErrorKind::PermissionDenied
                && let Some(missing) = missing_capabilities()
            {
                return Self::Privilege(missing);
            }
            match cause.source() {
                Some(deeper) => cause = deeper,
                None => break,
            }
        }
        // The verifier's report has many lines; its last words give the reason for the refusal.
        let text = error.to_string();
        let mut lines = text.lines().filter(|line| !line.trim().is_empty());
        let first = lines.next().unwrap_or_default().to_owned();
        let complaint = lines.rfind(|line| {
            !line.starts_with("processed ")
                && !line.starts_with("stack depth")
                && !line.starts_with("verification time")
        });
        let root = cause.to_string();
        let complaint = complaint.or_else(|| (!first.contains(&root)).then_some(root.as_str()));
        Self::Other(complaint.map_or(first.clone(), |last| format!("{first} ({})", last.trim())))
    }
}

/// Returns the capabilities that this process lacks; `None` if it has all.
fn missing_capabilities() -> Option<String> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let effective = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))?;
    let effective = u64::from_str_radix(effective.trim(), 16).ok()?;
    let has = |bit: u32| effective & (1 << bit) != 0;
    if has(CAP_SYS_ADMIN) {
        return None;
    }
    let needed = [(CAP_BPF, "CAP_BPF"), (CAP_PERFMON, "CAP_PERFMON")];
    let missing: Vec<_> = needed
        .iter()
        .filter(|(bit, _)| !has(*bit))
        .map(|(_, name)| *name)
        .collect();
    (!missing.is_empty()).then(|| missing.join(" and "))
}

const CAP_SYS_ADMIN: u32 = 21;
const CAP_PERFMON: u32 = 38;
const CAP_BPF: u32 = 39;
