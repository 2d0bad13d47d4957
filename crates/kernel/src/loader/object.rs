//! A policy's object, made ready for the running kernel: constants set, maps made, addresses and functions put in.

use std::collections::{HashMap, HashSet};
use std::ffi::CString;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;

use aya_obj::Object;
use aya_obj::btf::{Btf, BtfFeatures};
use aya_obj::generated::{bpf_insn, bpf_map_type};
use aya_obj::maps::Map;
use tinygram_host::lacking::Lacking;

use super::kernel_types::{KernelTypes, Kind};
use super::sys::{self, MapToMake, Types};

/// The object with its maps.
pub(crate) struct Ready {
    maps: HashMap<String, OwnedFd>,
    programs: HashMap<String, Vec<bpf_insn>>,
    btf: OwnedFd,
    pub(crate) license: CString,
}

/// A constant of the source, and the octets that it is to have.
pub(crate) type Constant<'a> = (&'a str, &'a [u8]);

impl Ready {
    pub(crate) fn new(
        octets: &[u8],
        constants: &[Constant<'_>],
        types: &KernelTypes,
    ) -> Result<Self, Lacking> {
        let mut object = Object::parse(octets).map_err(|error| Lacking::of(&error))?;
        let constants = constants
            .iter()
            .map(|(name, value)| (*name, (*value, true)));
        object
            .patch_map_data(constants.collect())
            .map_err(|error| Lacking::of(&error))?;
        object
            .relocate_btf(kernel()?)
            .map_err(|error| Lacking::of(&error))?;
        let btf = load_btf(&mut object)?;
        let maps = make_maps(&object, btf.as_fd())?;
        let places = object.maps.clone();
        let places = places
            .iter()
            .map(|(name, map)| (name.as_str(), maps[name].as_raw_fd(), map));
        object
            .relocate_maps(places, &HashSet::new())
            .map_err(|error| Lacking::of(&error))?;
        let mut programs = HashMap::new();
        for (name, program) in &object.programs {
            let mut instructions = object.functions[&program.function_key()]
                .instructions
                .clone();
            call_the_kernels_functions(&mut instructions, types);
            programs.insert(name.clone(), instructions);
        }
        Ok(Self {
            maps,
            programs,
            btf,
            license: object.license,
        })
    }

    pub(crate) fn instructions(&self, name: &str) -> &[bpf_insn] {
        &self.programs[name]
    }

    /// Returns the types of the object, as the kernel has them.
    pub(crate) fn btf(&self) -> BorrowedFd<'_> {
        self.btf.as_fd()
    }

    pub(crate) fn map(&self, name: &str) -> BorrowedFd<'_> {
        self.maps[name].as_fd()
    }
}

/// Returns the running kernel's types, which take long to read.
fn kernel() -> Result<&'static Btf, Lacking> {
    static KERNEL: OnceLock<Option<Btf>> = OnceLock::new();
    let read = KERNEL.get_or_init(|| Btf::from_sys_fs().ok());
    read.as_ref().ok_or_else(Lacking::types)
}

fn load_btf(object: &mut Object) -> Result<OwnedFd, Lacking> {
    // Every kernel with links for struct_ops has all kinds of types.
    let features = BtfFeatures::new(true, true, true, true, true, true, true, true);
    let btf = object.fixup_and_sanitize_btf(&features);
    let octets = btf.map_err(|error| Lacking::of(&error))?.map(Btf::to_bytes);
    sys::load_btf(&octets.unwrap_or_default()).map_err(|error| Lacking::of(&error))
}

fn make_maps(object: &Object, btf: BorrowedFd<'_>) -> Result<HashMap<String, OwnedFd>, Lacking> {
    let made = object.maps.iter().map(|(name, map)| {
        let made = make_map(name, map, btf);
        made.map(|made| (name.clone(), made))
            .map_err(|error| Lacking::of(&error))
    });
    made.collect()
}

fn make_map(name: &str, map: &Map, btf: BorrowedFd<'_>) -> std::io::Result<OwnedFd> {
    let types = match map {
        Map::Btf(map) => Types::Object {
            btf,
            key: map.def.btf_key_type_id,
            value: map.def.btf_value_type_id,
        },
        Map::Legacy(_) => Types::None,
    };
    let constants = map.data();
    let made = sys::make_map(&MapToMake {
        name: name.trim_start_matches('.'),
        map_type: match constants.is_empty() {
            true => map.map_type(),
            false => bpf_map_type::BPF_MAP_TYPE_ARRAY as u32,
        },
        key_octets: map.key_size(),
        value_octets: map.value_size(),
        entries: map.max_entries(),
        flags: match constants.is_empty() {
            true => map.map_flags(),
            false => READ_ONLY_TO_PROGRAMS,
        },
        types,
    })?;
    if !constants.is_empty() {
        // Frozen, so that the verifier knows the values and leaves out what they exclude.
        sys::update(made.as_fd(), 0, constants)?;
        sys::freeze(made.as_fd())?;
    }
    Ok(made)
}

/// Puts the kernel's numbers in place of ours. Where the kernel has no such function, the verifier finds that the call is
/// never reached, or refuses the program.
fn call_the_kernels_functions(instructions: &mut [bpf_insn], types: &KernelTypes) {
    let of_two_words = |insn: &bpf_insn| insn.code == LOAD_OF_TWO_WORDS;
    let mut is_second = false;
    for insn in instructions {
        // The second word of a constant has a number, too, that may be anything.
        if std::mem::replace(&mut is_second, of_two_words(insn))
            || insn.code != CALL
            || insn.src_reg() != 0
        {
            continue;
        }
        let Some(index) = insn.imm.checked_sub(OWN_NUMBERS) else {
            continue;
        };
        let function = usize::try_from(index)
            .ok()
            .and_then(|index| FUNCTIONS.get(index));
        if let Some(function) = function {
            insn.set_src_reg(CALLS_A_KERNEL_FUNCTION);
            insn.off = 0;
            insn.imm = types
                .number(Kind::Function, function)
                .unwrap_or(0)
                .cast_signed();
        }
    }
}

/// The kernel's functions that `bpf/base.h` names, in its order.
pub(crate) const FUNCTIONS: [&str; 19] = [
    "cubictcp_init",
    "cubictcp_recalc_ssthresh",
    "cubictcp_cong_avoid",
    "cubictcp_state",
    "cubictcp_cwnd_event",
    "cubictcp_acked",
    "tcp_reno_ssthresh",
    "tcp_reno_cong_avoid",
    "tcp_reno_undo_cwnd",
    "bbr_init",
    "bbr_main",
    "bbr_sndbuf_expand",
    "bbr_undo_cwnd",
    "bbr_cwnd_event",
    "bbr_ssthresh",
    "bbr_min_tso_segs",
    "bbr_set_state",
    "cubictcp_cwnd_event_tx_start",
    "bbr_cwnd_event_tx_start",
];

/// `KERNEL_FUNCTIONS` of `bpf/base.h`.
const OWN_NUMBERS: i32 = 0x7f00_0000;
const LOAD_OF_TWO_WORDS: u8 = 0x18;
const CALL: u8 = 0x85;
const CALLS_A_KERNEL_FUNCTION: u8 = 2; // BPF_PSEUDO_KFUNC_CALL
const READ_ONLY_TO_PROGRAMS: u32 = 1 << 7; // BPF_F_RDONLY_PROG
