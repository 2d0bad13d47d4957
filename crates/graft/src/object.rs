//! The object that is put into programs: its octets, and where its parts are.

use object::read::elf::{ElfFile64, ProgramHeader};
use object::{Endianness, Object as _, ObjectSymbol, elf};

/// The compiled code of `inside/`, as the command carries it.
static CARRIED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/inside.so"));

/// The object, ready to be loaded at any address.
#[derive(Clone, Debug)]
pub struct Object {
    /// Code and constants.
    pub octets: Vec<u8>,
    /// The offset of the stub for Go's `Syscall6`.
    pub go_syscall: u64,
    /// The offset of the stub for Go's `runtime.futex`.
    pub go_futex: u64,
    /// The offset of the stub for Go's `runtime.usleep`.
    pub go_usleep: u64,
    /// The offset of the stub for musl's `__syscall_cp_c`.
    pub musl_syscall: u64,
    /// The offset of the stub for what calls musl's `__syscall_cp_asm`.
    pub musl_cancellable: u64,
    /// The offset of the stub for glibc's places.
    pub glibc_syscall: u64,
    cells: usize,
}

/// What the stubs must know, as addresses in the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cells {
    /// [`crate::layout::Shared`].
    pub shared: u64,
    /// Go's `Syscall6`: its SYSCALL.
    pub syscall: u64,
    /// What follows it.
    pub syscall_made: u64,
    /// Go's `runtime.futex`: what follows the replaced instruction.
    pub futex: u64,
    /// The SYSCALL of musl's `__syscall_cp_c`, or `__syscall_cp_asm`.
    pub musl: u64,
    /// C: the address of a word that is 0 in a child that was forked.
    pub alive: u64,
    /// Go's `runtime.usleep`: what follows the replaced instruction.
    pub usleep: u64,
}

impl Object {
    /// Reads the carried object. It is of our own making, so whatever is wrong with it is our bug;
    /// `None` on platforms it is not built for.
    #[must_use]
    pub fn carried() -> Option<Self> {
        let file = ElfFile64::<Endianness>::parse(CARRIED).ok()?;
        let endian = file.endian();
        let code = file.elf_program_headers().iter().find(|header| {
            header.p_type(endian) == elf::PT_LOAD && header.p_flags(endian) & elf::PF_X != 0
        })?;
        assert_eq!(code.p_vaddr(endian), 0, "loaded from its first octet on");
        let symbol = |name| {
            let mut symbols = file.dynamic_symbols();
            symbols
                .find(|symbol| symbol.name() == Ok(name))
                .map(|symbol| symbol.address())
        };
        Some(Self {
            octets: code.data(endian, CARRIED).ok()?.to_vec(),
            go_syscall: symbol("graft_go_syscall")?,
            go_futex: symbol("graft_go_futex")?,
            go_usleep: symbol("graft_go_usleep")?,
            musl_syscall: symbol("graft_musl_syscall")?,
            musl_cancellable: symbol("graft_musl_cancellable")?,
            glibc_syscall: symbol("graft_glibc_syscall")?,
            cells: symbol("graft_cells")? as usize,
        })
    }

    /// Returns the octets with the cells filled in.
    #[must_use]
    pub fn with(&self, cells: Cells) -> Vec<u8> {
        let mut octets = self.octets.clone();
        let words = [
            cells.shared,
            cells.syscall,
            cells.syscall_made,
            cells.futex,
            cells.musl,
            cells.alive,
            cells.usleep,
        ];
        for (index, word) in words.into_iter().enumerate() {
            let at = self.cells + index * 8;
            octets[at..at + 8].copy_from_slice(&word.to_le_bytes());
        }
        octets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cells_are_where_the_stubs_read_them() {
        let object = Object::carried().expect("built for this platform");
        let filled = object.with(Cells {
            shared: 1,
            syscall: 2,
            syscall_made: 3,
            futex: 4,
            musl: 5,
            alive: 6,
            usleep: 7,
        });
        let changed = object
            .octets
            .iter()
            .zip(&filled)
            .filter(|(before, after)| before != after);
        assert_eq!(changed.count(), 7);
    }

    /// What is put into a program must stand by itself: nothing to relocate, nothing to write.
    #[test]
    fn the_object_needs_no_loader() {
        let file = ElfFile64::<Endianness>::parse(CARRIED).unwrap();
        assert_eq!(file.dynamic_relocations().into_iter().flatten().count(), 0);
        let endian = file.endian();
        let written = file.elf_program_headers().iter().filter(|header| {
            header.p_type(endian) == elf::PT_LOAD && header.p_flags(endian) & elf::PF_W != 0
        });
        // The dynamic section, which nobody reads.
        assert!(written.map(|header| header.p_memsz(endian)).sum::<u64>() < 512);
    }
}
