//! The list of policies that there are as BPF.

/// A send policy as BPF, or an ACK policy that holds nothing.
#[derive(Debug, PartialEq, Eq)]
pub struct BpfPolicy {
    /// Its name, as everywhere in the project.
    pub name: &'static str,
    /// A number that a user may choose, if it has one.
    pub parameter: Option<Parameter>,
    /// Whether it must be told of each arriving segment, which takes ECN.
    pub(crate) needs_events: bool,
    /// Whether it is told of arriving and of read data, by tracepoints.
    pub(crate) sees_queues: bool,
    pub(crate) object: &'static [u8],
}

/// A policy's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name and unit in words.
    pub meaning: &'static str,
    /// Its default.
    pub default: u32,
    /// The name of the constant in the policy's source.
    pub(crate) constant: &'static str,
}

impl BpfPolicy {
    /// Returns the policy with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::all().find(|policy| policy.name == name)
    }

    /// Returns the send policies, and then the ACK policies.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        Self::LIST.iter().chain(Self::ACKS)
    }

    /// The ACK policies.
    pub const ACKS: &'static [Self] = &[
        Self::of("first-of-turn", object!("first_of_turn")),
        Self {
            needs_events: true,
            ..Self::of("every-segment", object!("every_segment"))
        },
    ];

    /// The send policies, in the order of `tinygram policies`.
    pub const LIST: &'static [Self] = &[
        Self::of("nagle", object!("nagle")),
        Self::of("off", object!("off")),
        Self::of("minshall", object!("minshall")),
        Self::of("msmv", object!("msmv")),
        Self::of("eom", object!("eom")),
        Self::of("e+m", object!("e_m")),
        Self::of("min+more", object!("min_more")),
        Self::of("e+m+m", object!("e_m_m")),
        Self::of("borman", object!("borman")),
        Self::of("strict-nagle", object!("strict_nagle")),
        Self::of("liberal-nagle", object!("liberal_nagle")),
        Self::of("doupnik", object!("doupnik")),
        Self::of("doupnik-liberal", object!("doupnik_liberal")),
        Self::of("mss-outstanding", object!("mss_outstanding")),
        Self {
            parameter: Some(Parameter {
                meaning: "the limit in octets; 1 is TCP_NODELAY",
                default: 65_535,
                constant: "limit",
            }),
            ..Self::of("naglim", object!("naglim"))
        },
        Self {
            parameter: Some(Parameter {
                meaning: "the interval in microseconds",
                default: 100,
                constant: "interval_us",
            }),
            ..Self::of("timed-coalescing", object!("timed_coalescing"))
        },
        Self {
            sees_queues: true,
            ..Self::of("toggle", object!("toggle"))
        },
    ];

    const fn of(name: &'static str, object: &'static [u8]) -> Self {
        Self {
            name,
            parameter: None,
            needs_events: false,
            sees_queues: false,
            object,
        }
    }

    /// Returns whether it paces, which a base that paces, too, would undo.
    pub(crate) fn paces(&self) -> bool {
        self.name == "timed-coalescing"
    }
}

/// The object of a policy's source in `bpf/`; nothing on a system that could not load it.
macro_rules! object {
    ($stem:literal) => {{
        #[cfg(target_os = "linux")]
        static OBJECT: &Aligned<[u8]> =
            &Aligned(*include_bytes!(concat!("../bpf/", $stem, ".bpf.o")));
        #[cfg(not(target_os = "linux"))]
        static OBJECT: &Aligned<[u8]> = &Aligned([]);
        &OBJECT.0
    }};
}
use object;

/// Octets at an address as an object's structures want it.
#[repr(align(8))]
struct Aligned<T: ?Sized>(T);

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_source_is_in_the_list() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("bpf");
        let files = fs::read_dir(folder).unwrap().flatten();
        let stems: BTreeSet<_> = files
            .filter_map(|file| {
                Some(
                    file.file_name()
                        .to_str()?
                        .strip_suffix(".bpf.c")?
                        .to_owned(),
                )
            })
            .collect();
        let listed: BTreeSet<_> = BpfPolicy::all()
            .map(|policy| policy.name.replace(['+', '-'], "_"))
            .collect();
        assert_eq!(stems, listed);
    }
}
