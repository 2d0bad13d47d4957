//! A loaded policy as everybody can see it: the map `tinygram_bpf`, by which `tinygram bpf --list` finds it.

use std::io;
use std::os::fd::AsFd;

use aya_obj::generated::bpf_link_type;
use tinygram_host::record::{self, Pod};

use super::sys::{self, Kind};

/// A loaded policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The policy's name.
    pub policy: String,
    /// The base's name.
    pub base: String,
    /// The name under which it is registered (`TCP_CONGESTION`).
    pub registered: String,
    /// The process that loaded it.
    pub loader_pid: u32,
    /// When that process began, in the kernel's ticks since the machine was started.
    pub loader_began: u64,
    /// What became of sockets so far.
    pub counts: Counts,
    /// The control groups, by the inodes of their folders, whose new connections get it.
    pub groups: Vec<u64>,
    /// Whether it is registered still. If not, connections that have it keep it until they close or are given something
    /// else, and no other gets it.
    pub is_registered: bool,
}

/// What became of sockets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Connections that were given the policy because of their control group.
    pub chosen: u64,
    /// Connections that the kernel refused it for.
    pub refused: u64,
    /// Connections that were given back what they had.
    pub given_back: u64,
    /// Connections that have the policy now.
    pub holders: u64,
}

/// Returns the policies that are in the kernel, whoever loaded them.
///
/// # Errors
///
/// Returns what the kernel refuses: it takes CAP_SYS_ADMIN to list what others loaded.
pub fn list() -> io::Result<Vec<Run>> {
    let mut runs = Vec::new();
    for (number, octets) in maps()? {
        if let Some(mut run) = Run::read(&octets) {
            run.groups = groups(number)?;
            run.is_registered = is_registered(&run.registered)?;
            // What nobody has and nobody can get is about to go.
            if run.is_registered || run.counts.holders > 0 {
                runs.push(run);
            }
        }
    }
    Ok(runs)
}

impl Run {
    pub(crate) fn write(&self) -> Vec<u8> {
        let record = RunRecord {
            policy: padded(&self.policy),
            base: padded(&self.base),
            registered: padded(&self.registered),
            loader_began: self.loader_began,
            loader_pid: self.loader_pid,
            unused: 0,
            chosen: 0,
            refused: 0,
            given_back: 0,
            holders: 0,
        };
        record::octets(&record).to_vec()
    }

    pub(crate) fn read(octets: &[u8]) -> Option<Self> {
        let record: RunRecord = record::read(octets)?;
        Some(Self {
            policy: text(&record.policy)?,
            base: text(&record.base)?,
            registered: text(&record.registered)?,
            loader_began: record.loader_began,
            loader_pid: record.loader_pid,
            counts: Counts {
                chosen: record.chosen,
                refused: record.refused,
                given_back: record.given_back,
                holders: record.holders,
            },
            groups: Vec::new(),
            is_registered: false,
        })
    }
}

/// `struct run` of `bpf/run.h`.
#[repr(C)]
#[derive(Clone, Copy)]
struct RunRecord {
    policy: [u8; 24],
    base: [u8; 8],
    registered: [u8; 16],
    loader_began: u64,
    loader_pid: u32,
    unused: u32,
    chosen: u64,
    refused: u64,
    given_back: u64,
    holders: u64,
}

// SAFETY: it is `repr(C)`, has no padding, and any octets are a valid value of it.
unsafe impl Pod for RunRecord {}

/// Returns the text before the first zero, if it is one.
fn text(field: &[u8]) -> Option<String> {
    let text = field.split(|octet| *octet == 0).next()?;
    std::str::from_utf8(text).ok().map(str::to_owned)
}

/// Returns a text with zeros behind it; what is too long is cut.
fn padded<const LENGTH: usize>(text: &str) -> [u8; LENGTH] {
    let mut field = [0; LENGTH];
    let kept = text.len().min(LENGTH);
    field[..kept].copy_from_slice(&text.as_bytes()[..kept]);
    field
}

/// Returns the maps with the name that ours have, by their numbers, each with its contents.
fn maps() -> io::Result<Vec<(u32, Vec<u8>)>> {
    let mut found = Vec::new();
    let mut number = 0;
    while let Some(next) = sys::next_number(Kind::Map, number)? {
        number = next;
        // It may be gone by now.
        let Ok(map) = sys::open(Kind::Map, number) else {
            continue;
        };
        let info = sys::map_info(map.as_fd())?;
        let is_ours = info.name.map(|octet| octet as u8) == padded(MAP);
        if is_ours && info.value_size as usize == OCTETS {
            let mut octets = vec![0; OCTETS];
            sys::look_up(map.as_fd(), 0, &mut octets)?;
            found.push((number, octets));
        }
    }
    Ok(found)
}

/// Returns the control groups to which a program is attached that uses this map.
fn groups(map: u32) -> io::Result<Vec<u64>> {
    let mut groups = Vec::new();
    let mut number = 0;
    while let Some(next) = sys::next_number(Kind::Link, number)? {
        number = next;
        let Ok(link) = sys::open(Kind::Link, number) else {
            continue;
        };
        let info = sys::link_info(link.as_fd())?;
        if info.type_ != bpf_link_type::BPF_LINK_TYPE_CGROUP as u32 {
            continue;
        }
        let Ok(program) = sys::open(Kind::Program, info.prog_id) else {
            continue;
        };
        if sys::maps_of(program.as_fd())?.contains(&map) {
            // SAFETY: the kernel wrote this variant, as the link's type says.
            groups.push(unsafe { info.__bindgen_anon_1.cgroup.cgroup_id });
        }
    }
    Ok(groups)
}

/// Returns whether the kernel has a congestion control with this name.
fn is_registered(name: &str) -> io::Result<bool> {
    let all = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")?;
    Ok(all.split_whitespace().any(|listed| listed == name))
}

/// The name of the map with one `struct run` (`bpf/run.h`).
pub(crate) const MAP: &str = "tinygram_bpf";
pub(crate) const OCTETS: usize = size_of::<RunRecord>();

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Contract, layout};
    use crate::policy::BpfPolicy;

    #[test]
    fn a_run_has_the_fields_of_c_at_the_same_offsets() {
        let run = layout!(
            RunRecord,
            policy,
            base,
            registered,
            loader_began,
            loader_pid,
            unused,
            chosen,
            refused,
            given_back,
            holders
        );
        for policy in BpfPolicy::all() {
            let c = Contract::new(&[include_str!("../../bpf/run.h")], policy.object);
            c.has("run", &run);
            assert!(c.is_compiled("run"), "{}", policy.name);
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let run = Run {
            policy: "mss-outstanding".into(),
            base: "cubic".into(),
            registered: "tg_1f_0".into(),
            loader_pid: 31,
            loader_began: 1 << 40,
            counts: Counts::default(),
            groups: Vec::new(),
            is_registered: false,
        };
        assert_eq!(Run::read(&run.write()), Some(run));
    }

    #[test]
    fn another_map_is_not_read() {
        assert_eq!(Run::read(&[0xff; OCTETS]), None);
        assert_eq!(Run::read(&[0; 40]), None);
    }
}
