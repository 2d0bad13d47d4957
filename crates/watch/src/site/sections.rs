//! Parts of a program's file that stay mapped: what framehop needs to unwind, and Go's tables.

use std::ops::{Deref, Range};
use std::rc::Rc;

use framehop::ModuleSectionInfo;
use memmap2::Mmap;
use object::{Object, ObjectSection, ObjectSegment};

/// The sections of a file that framehop needs.
pub(super) struct Sections {
    file: Rc<Mmap>,
    /// The address at which this mapping begins according to the file.
    pub(super) address_of_map: u64,
    /// The address at which the file begins according to itself.
    pub(super) base: u64,
}

impl Sections {
    /// Returns the sections of `file`, whose part at `offset` is mapped.
    pub(super) fn of(file: &Rc<Mmap>, offset: u64) -> Option<Self> {
        let object = object::File::parse(&***file).ok()?;
        let segment = object.segments().find(|segment| {
            let (start, length) = segment.file_range();
            // A mapping begins at a page boundary, a segment anywhere in the page.
            (start & !PAGE_MASK..start + length).contains(&offset) && executes(segment)
        })?;
        let address_of_map = segment.address() - segment.file_range().0 + offset;
        Some(Self {
            file: Rc::clone(file),
            address_of_map,
            base: object.relative_address_base(),
        })
    }
}

fn executes<'a>(segment: &impl ObjectSegment<'a>) -> bool {
    segment.permissions().executable()
}

impl ModuleSectionInfo<Section> for Sections {
    fn base_svma(&self) -> u64 {
        self.base
    }

    fn section_svma_range(&mut self, name: &[u8]) -> Option<Range<u64>> {
        let object = object::File::parse(&**self.file).ok()?;
        let section = object.section_by_name_bytes(name)?;
        Some(section.address()..section.address() + section.size())
    }

    fn section_data(&mut self, name: &[u8]) -> Option<Section> {
        let object = object::File::parse(&**self.file).ok()?;
        let (start, length) = object.section_by_name_bytes(name)?.file_range()?;
        let range = usize::try_from(start).ok()?..usize::try_from(start + length).ok()?;
        Section::of(&self.file, range)
    }
}

/// A part of a file in memory.
pub(super) struct Section {
    file: Rc<Mmap>,
    range: Range<usize>,
}

impl Section {
    /// Returns a part of `file`; `None` if the file ends before it does.
    pub(super) fn of(file: &Rc<Mmap>, range: Range<usize>) -> Option<Self> {
        file.get(range.clone())?;
        Some(Self {
            file: Rc::clone(file),
            range,
        })
    }
}

impl Deref for Section {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.file[self.range.clone()]
    }
}

const PAGE_MASK: u64 = 4095;
