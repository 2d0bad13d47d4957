//! What the loader needs to know of the running kernel's types: numbers by name, and where members are.
//!
//! The kernel's BTF is a list of types; a type's number is its place in it
//! (<https://docs.kernel.org/bpf/btf.html>). One look at all of them finds the names that are wanted.

use std::collections::HashMap;
use std::fs;

use tinygram_host::lacking::Lacking;

/// Types of the kernel, by kind and name.
pub(crate) struct KernelTypes {
    numbers: HashMap<(Kind, &'static str), u32>,
    structures: HashMap<&'static str, Structure>,
}

/// The kinds of types that are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Structure,
    Function,
    /// A type's other name; `btf_trace_NAME` is how tracepoints are known.
    Alias,
}

/// A structure.
#[derive(Clone, Debug, Default)]
pub(crate) struct Structure {
    pub(crate) octets: u32,
    members: Vec<(String, u32)>,
}

impl Structure {
    /// Returns a member's place in the list, and its offset in octets.
    pub(crate) fn member(&self, name: &str) -> Option<(u32, usize)> {
        let at = self.members.iter().position(|(member, _)| member == name)?;
        let place = u32::try_from(at).ok()?;
        Some((place, self.members[at].1 as usize / 8))
    }
}

impl KernelTypes {
    /// Looks for these names in the running kernel.
    pub(crate) fn read(wanted: &[(Kind, &'static str)]) -> Result<Self, Lacking> {
        let octets = fs::read("/sys/kernel/btf/vmlinux").map_err(|_| Lacking::types())?;
        Self::parse(&octets, wanted).ok_or_else(Lacking::types)
    }

    /// Returns a type's number.
    pub(crate) fn number(&self, kind: Kind, name: &'static str) -> Option<u32> {
        self.numbers.get(&(kind, name)).copied()
    }

    /// Returns a structure's members and size.
    pub(crate) fn structure(&self, name: &str) -> Option<&Structure> {
        self.structures.get(name)
    }

    fn parse(octets: &[u8], wanted: &[(Kind, &'static str)]) -> Option<Self> {
        let word = |at: usize| {
            octets
                .get(at..at + 4)?
                .try_into()
                .ok()
                .map(u32::from_ne_bytes)
        };
        let header = word(4)? as usize;
        let (types_at, types_octets) = (header + word(8)? as usize, word(12)? as usize);
        let strings_at = header + word(16)? as usize;
        let text = |offset: u32| {
            let tail = octets.get(strings_at + offset as usize..)?;
            let end = tail.iter().position(|octet| *octet == 0)?;
            std::str::from_utf8(&tail[..end]).ok()
        };
        let mut found = Self {
            numbers: HashMap::new(),
            structures: HashMap::new(),
        };
        let (mut at, mut number) = (types_at, 0);
        while at < types_at + types_octets {
            number += 1;
            let (name, info, size) = (word(at)?, word(at + 4)?, word(at + 8)?);
            let (kind, count) = (info >> 24 & 0x1f, info as usize & 0xffff);
            let body = at + HEAD_OCTETS;
            at = body + body_octets(kind, count)?;
            let Some(kind) = Kind::of(kind) else { continue };
            let Some(name) = text(name).filter(|name| !name.is_empty()) else {
                continue;
            };
            let is_it = |(wanted, its): &&(Kind, &'static str)| *wanted == kind && *its == name;
            let Some(&(kind, name)) = wanted.iter().find(is_it) else {
                continue;
            };
            found.numbers.entry((kind, name)).or_insert(number);
            if kind == Kind::Structure {
                let member = |index: usize| {
                    let at = body + index * MEMBER_OCTETS;
                    // The lower 24 bits, in structures with bit fields.
                    Some((text(word(at)?)?.to_owned(), word(at + 8)? & 0x00ff_ffff))
                };
                let members = (0..count).map(member).collect::<Option<_>>()?;
                let structure = Structure {
                    octets: size,
                    members,
                };
                found.structures.entry(name).or_insert(structure);
            }
        }
        Some(found)
    }
}

impl Kind {
    fn of(number: u32) -> Option<Self> {
        match number {
            4 => Some(Self::Structure),
            8 => Some(Self::Alias),
            12 => Some(Self::Function),
            _ => None,
        }
    }
}

/// Returns how long a type is behind its first three words.
fn body_octets(kind: u32, count: usize) -> Option<usize> {
    Some(match kind {
        // int, var, declaration tag
        1 | 14 | 17 => 4,
        // pointer, forward, typedef, volatile, const, restrict, function, float, type tag
        2 | 7..=12 | 16 | 18 => 0,
        // array
        3 => 12,
        // structure, union, data section, enumeration of 64 bits
        4 | 5 | 15 | 19 => 12 * count,
        // enumeration, parameters
        6 | 13 => 8 * count,
        _ => return None,
    })
}

const HEAD_OCTETS: usize = 12;
const MEMBER_OCTETS: usize = 12;
