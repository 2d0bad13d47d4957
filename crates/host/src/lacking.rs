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
    /// The ends of writes and reads are not seen.
    #[error(
        "this kernel does not show where writes and reads end: it takes Linux 6.3 or newer, or 6.1 built with CONFIG_FUNCTION_TRACER"
    )]
    Calls,
    /// The kernel lets no program walk over its sockets.
    #[error(
        "this kernel lets no BPF program walk over its TCP sockets and set their options (bpf_iter_tcp): it takes Linux 6.1 or newer"
    )]
    Walk,
    /// Not allowed.
    #[error("not permitted to load BPF programs: {}", takes(.0))]
    Privilege(Vec<&'static str>),
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

/// Says that the object has no such part: it is another version's.
pub(crate) fn missing(name: &str) -> Lacking {
    Lacking::Other(format!("{name} is not in the object"))
}

/// Says what a refused call takes, of these capabilities. Root may be without some, in a container: then it is those.
#[must_use]
pub fn takes(names: &[&'static str]) -> String {
    // SAFETY: no argument, cannot fail.
    let is_root = unsafe { libc::geteuid() } == 0;
    let lacks = |name: &str| !effective().is_some_and(|effective| has(effective, name));
    let missing: Vec<_> = names.iter().copied().filter(|name| lacks(name)).collect();
    match is_root && !missing.is_empty() {
        true => format!("this process is root's and lacks {}", missing.join(" and ")),
        false => format!("it takes root, or {}", names.join(" and ")),
    }
}

/// Returns the capabilities for BPF programs that this process lacks; `None` if it has all.
fn missing_capabilities() -> Option<Vec<&'static str>> {
    let effective = effective()?;
    if has(effective, "CAP_SYS_ADMIN") {
        return None;
    }
    let needed = ["CAP_BPF", "CAP_PERFMON"].into_iter();
    let missing: Vec<_> = needed.filter(|name| !has(effective, name)).collect();
    (!missing.is_empty()).then_some(missing)
}

/// Returns the capabilities in force, a bit for each.
fn effective() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let effective = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(effective.trim(), 16).ok()
}

fn has(effective: u64, name: &str) -> bool {
    let bit = CAPABILITIES.iter().find(|(known, _)| *known == name);
    bit.is_some_and(|(_, bit)| effective & (1 << bit) != 0)
}

/// Their bits, from linux/capability.h.
const CAPABILITIES: [(&str, u32); 6] = [
    ("CAP_NET_ADMIN", 12),
    ("CAP_NET_RAW", 13),
    ("CAP_SYS_PTRACE", 19),
    ("CAP_SYS_ADMIN", 21),
    ("CAP_PERFMON", 38),
    ("CAP_BPF", 39),
];
