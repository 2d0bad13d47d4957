//! Names functions and lines of Go programs that have no symbols (`go build -ldflags="-s -w"`,
//! `strip`), by the tables that each Go program carries for its own tracebacks.
//!
//! Go's linker puts these tables into the section `.gopclntab`. Where the code begins, and where
//! the trees of inlined calls begin, stands in the linker's `moduledata` (`runtime/symtab.go`).

mod table;

use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use memmap2::Mmap;
use object::elf::{R_AARCH64_RELATIVE, R_X86_64_RELATIVE};
use object::{Object, ObjectSection, RelocationFlags, SectionKind};

pub(super) use table::Place;
use table::Table;

use super::sections::Section;

/// The tables of one Go program.
pub(super) struct Go(Table<Section>);

impl Go {
    /// Returns the tables in a program's file; `None` if it is not a Go program, or if its Go is
    /// older than 1.20.
    pub(super) fn of(file: &Rc<Mmap>) -> Option<Self> {
        let object = object::File::parse(&***file).ok()?;
        let section = SECTIONS
            .iter()
            .find_map(|name| object.section_by_name_bytes(name))?;
        let tables = Section::of(file, range(&section)?)?;
        let module = ModuleData::of(&object, section.address());
        let text = match &module {
            Some(module) => module.text,
            // The linker's own code begins there, unless the program has C in it, too.
            None => object.section_by_name_bytes(b".text")?.address(),
        };
        let trees = module.and_then(|module| from(&object, file, module.trees));
        Table::of(tables, trees, text).map(Self)
    }

    /// Returns the functions at an address of the file, the innermost of inlined calls first.
    pub(super) fn places(&self, address: u64) -> Vec<Place<'_>> {
        self.0.places(address)
    }
}

/// What is needed of the linker's `moduledata`: two addresses.
struct ModuleData {
    text: u64,
    trees: u64,
}

impl ModuleData {
    /// Finds it by its first word, which is the address of `.gopclntab`.
    fn of(object: &object::File<'_>, tables: u64) -> Option<Self> {
        let relocated = relocated(object);
        let by_relocation = relocated
            .iter()
            .filter(|&(_, &word)| word == tables)
            .map(|(&at, _)| at);
        let mut candidates: Vec<u64> = by_relocation.collect();
        for section in data(object) {
            let octets = section.data().unwrap_or(&[]);
            let words = octets.chunks_exact(WORD).enumerate();
            candidates.extend(
                words
                    .filter(|(_, word)| *word == tables.to_le_bytes())
                    .map(|(index, _)| section.address() + (index * WORD) as u64),
            );
        }
        let word = |at: u64, index: usize| {
            let at = at.checked_add((index * WORD) as u64)?;
            match relocated.get(&at) {
                Some(&word) => Some(word),
                None => data(object).find_map(|section| {
                    let octets = section.data_range(at, WORD as u64).ok()??;
                    Some(u64::from_le_bytes(octets.try_into().ok()?))
                }),
            }
        };
        candidates.into_iter().find_map(|at| {
            let text = word(at, TEXT)?;
            let is_code = object.sections().any(|section| {
                section.kind() == SectionKind::Text
                    && (section.address()..section.address() + section.size()).contains(&text)
            });
            let trees = word(at, TREES)?;
            is_code.then_some(Self { text, trees })
        })
    }
}

/// Returns the words that become known when a position-independent program is loaded, by their
/// addresses.
fn relocated(object: &object::File<'_>) -> BTreeMap<u64, u64> {
    let relocations = object.dynamic_relocations().into_iter().flatten();
    relocations
        .filter(|(_, relocation)| match relocation.flags() {
            RelocationFlags::Elf { r_type } => RELATIVE.contains(&r_type),
            _ => false,
        })
        .map(|(at, relocation)| (at, relocation.addend().cast_unsigned()))
        .collect()
}

/// Returns the sections that may have the `moduledata`.
fn data<'a, 'b>(object: &'a object::File<'b>) -> impl Iterator<Item = object::Section<'b, 'a>> {
    let kinds = [SectionKind::Data, SectionKind::ReadOnlyData];
    let may = move |section: &object::Section<'_, '_>| {
        kinds.contains(&section.kind())
            && section
                .name()
                .is_ok_and(|name| !SECTIONS.contains(&name.as_bytes()))
    };
    object.sections().filter(may)
}

/// Returns the file's octets from an address to the end of its section.
fn from(object: &object::File<'_>, file: &Rc<Mmap>, address: u64) -> Option<Section> {
    object.sections().find_map(|section| {
        let within = usize::try_from(address.checked_sub(section.address())?).ok()?;
        let range = range(&section)?;
        (within < range.len()).then(|| Section::of(file, range.start + within..range.end))?
    })
}

fn range(section: &object::Section<'_, '_>) -> Option<Range<usize>> {
    let (start, length) = section.file_range()?;
    let end = start.checked_add(length)?;
    Some(usize::try_from(start).ok()?..usize::try_from(end).ok()?)
}

/// The second is the name in position-independent programs of Go before 1.26.
const SECTIONS: [&[u8]; 2] = [b".gopclntab", b".data.rel.ro.gopclntab"];
const WORD: usize = 8;
/// The words `text` and `gofunc` of `moduledata`, the same from Go 1.20 on.
const TEXT: usize = 22;
const TREES: usize = 40;
const RELATIVE: [u32; 2] = [R_X86_64_RELATIVE, R_AARCH64_RELATIVE];
