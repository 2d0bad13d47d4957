//! Reads the tables of a Go program: which function, file and line an address belongs to.
//!
//! The format is that of `debug/gosym` and `runtime/symtab.go` of Go 1.20 and newer. The file is
//! somebody else's, so nothing in it is taken for granted: what cannot be read is not known.

use std::ops::Deref;

/// The tables, in `S`.
pub(super) struct Table<S> {
    octets: S,
    /// The trees of inlined calls.
    trees: Option<S>,
    /// The address at which the code begins.
    text: u64,
    quantum: u32,
    functions: usize,
    /// Where in `octets` the tables begin: of names, of compilation units, of files, of values by
    /// address, and of functions.
    names: usize,
    units: usize,
    files: usize,
    values: usize,
    entries: usize,
}

/// What a program says of an address.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::site) struct Place<'a> {
    /// The function, with its package.
    pub(in crate::site) function: &'a str,
    /// The source file.
    pub(in crate::site) file: Option<&'a str>,
    /// The line in it.
    pub(in crate::site) line: Option<u32>,
}

/// A function: where its code begins, from the beginning of all code on, and its description in
/// `octets`.
#[derive(Clone, Copy)]
struct Function {
    entry: u32,
    at: usize,
}

impl<S: Deref<Target = [u8]>> Table<S> {
    /// Returns `None` if the octets do not begin as those of Go 1.20 and newer do.
    pub(super) fn of(octets: S, trees: Option<S>, text: u64) -> Option<Self> {
        let header: &[u8; 8] = octets.first_chunk()?;
        let quantum = u32::from(header[6]);
        if header[..6] != MAGIC || header[7] != 8 || quantum == 0 {
            return None;
        }
        let word = |index: usize| {
            let at = 8 + 8 * index;
            let word = octets.get(at..at + 8)?;
            usize::try_from(u64::from_le_bytes(word.try_into().ok()?)).ok()
        };
        Some(Self {
            functions: word(0)?,
            names: word(3)?,
            units: word(4)?,
            files: word(5)?,
            values: word(6)?,
            entries: word(7)?,
            trees,
            text,
            quantum,
            octets,
        })
    }

    /// Returns the functions at an address, the innermost of inlined calls first.
    pub(super) fn places(&self, address: u64) -> Vec<Place<'_>> {
        let mut places = Vec::new();
        let at = address.checked_sub(self.text).map(u32::try_from);
        if let Some(Ok(at)) = at
            && let Some(function) = self.function(at)
        {
            self.add(function, at, &mut places);
        }
        places
    }

    fn add<'a>(&'a self, function: Function, mut at: u32, places: &mut Vec<Place<'a>>) {
        while places.len() < MOST_INLINED {
            let (file, line) = (self.file(function, at), self.line(function, at));
            let inlined = self.inlined(function, at);
            let name = match inlined {
                Some((name, _)) => Some(name),
                None => self.field(function, NAME).and_then(|name| self.name(name)),
            };
            let Some(name) = name else { return };
            places.push(Place {
                function: name,
                file,
                line,
            });
            match inlined {
                Some((_, caller)) => at = caller,
                None => return,
            }
        }
    }

    /// Returns the function whose code is at `at`, counted from the beginning of all code.
    fn function(&self, at: u32) -> Option<Function> {
        let entry = |index: usize| self.number(self.entries.checked_add(index.checked_mul(8)?)?);
        // Behind the last function stands the end of its code.
        let (mut low, mut high) = (0, self.functions);
        if !(entry(low)?..entry(high)?).contains(&at) {
            return None;
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            match entry(middle)? <= at {
                true => low = middle,
                false => high = middle,
            }
        }
        let described = self.entries.checked_add(low.checked_mul(8)?)?;
        let described = self.number(described.checked_add(4)?)?;
        Some(Function {
            entry: entry(low)?,
            at: self.entries.checked_add(described as usize)?,
        })
    }

    fn line(&self, function: Function, at: u32) -> Option<u32> {
        let values = self.field(function, LINES)?;
        u32::try_from(self.value(values, function.entry, at)?).ok()
    }

    fn file(&self, function: Function, at: u32) -> Option<&str> {
        let values = self.field(function, FILES)?;
        let file = u32::try_from(self.value(values, function.entry, at)?).ok()?;
        let unit = self.field(function, UNIT)?.checked_add(file)?;
        let name = self.number(self.units.checked_add(4 * unit as usize)?)?;
        self.text(self.files, name)
    }

    fn name(&self, at: u32) -> Option<&str> {
        self.text(self.names, at)
    }

    /// Returns the inlined function at `at`, and where its caller calls it.
    fn inlined(&self, function: Function, at: u32) -> Option<(&str, u32)> {
        let trees = self.trees.as_ref()?;
        let values = self.field(function, VALUES_COUNT)? as usize;
        let others = *self.octets.get(function.at.checked_add(OTHERS_COUNT)?)?;
        if values <= TREE_INDEX || usize::from(others) <= TREE {
            return None;
        }
        let values_at = FIELDS + 4 * TREE_INDEX;
        let index = self.value(self.field(function, values_at)?, function.entry, at)?;
        let tree = self.field(function, FIELDS.checked_add(4 * values)? + 4 * TREE)?;
        // The tree's entries have 16 octets: its kind, the name, and the call in its caller.
        let entry = usize::try_from(index).ok()?.checked_mul(16)?;
        let entry = entry.checked_add(usize::try_from(tree).ok()?)?;
        let name = self.name(number(trees, entry.checked_add(4)?)?)?;
        let caller = number(trees, entry.checked_add(8)?)?;
        Some((name, function.entry.checked_add(caller)?))
    }

    /// Returns the value at `at` from a table of values by address; `None` if it has none there.
    fn value(&self, values: u32, entry: u32, at: u32) -> Option<i32> {
        if values == 0 {
            return None;
        }
        let mut octets = self
            .octets
            .get(self.values.checked_add(values as usize)?..)?;
        let (mut value, mut until, mut is_first) = (-1_i32, entry, true);
        loop {
            let step = varint(&mut octets)?;
            if step == 0 && !is_first {
                return None;
            }
            is_first = false;
            let step = (step >> 1) ^ (step & 1).wrapping_neg();
            value = value.wrapping_add(step.cast_signed());
            until = until.checked_add(varint(&mut octets)?.checked_mul(self.quantum)?)?;
            if at < until {
                return (value >= 0).then_some(value);
            }
        }
    }

    /// Returns a number of a function's description.
    fn field(&self, function: Function, offset: usize) -> Option<u32> {
        self.number(function.at.checked_add(offset)?)
    }

    fn number(&self, at: usize) -> Option<u32> {
        number(&self.octets, at)
    }

    /// Returns the text at `at` of the table that begins at `table`; it ends with a zero.
    fn text(&self, table: usize, at: u32) -> Option<&str> {
        let octets = self.octets.get(table.checked_add(at as usize)?..)?;
        let octets = &octets[..octets.len().min(MOST_TEXT)];
        let end = octets.iter().position(|&octet| octet == 0)?;
        let text = std::str::from_utf8(&octets[..end]).ok()?;
        (!text.is_empty()).then_some(text)
    }
}

fn number(octets: &[u8], at: usize) -> Option<u32> {
    let octets = octets.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(octets.try_into().ok()?))
}

/// Takes a number of seven bits an octet from the front.
fn varint(octets: &mut &[u8]) -> Option<u32> {
    let mut number = 0_u32;
    for shift in (0..u32::BITS).step_by(7) {
        let (&octet, rest) = octets.split_first()?;
        *octets = rest;
        number |= u32::from(octet & 0x7f) << shift;
        if octet & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

/// 0xfffffff1, little endian, and two zeros: Go 1.20 and newer.
const MAGIC: [u8; 6] = [0xf1, 0xff, 0xff, 0xff, 0, 0];
/// Where a function's description (`_func`) has its numbers, in octets.
const NAME: usize = 4;
const FILES: usize = 20;
const LINES: usize = 24;
const VALUES_COUNT: usize = 28;
const UNIT: usize = 32;
/// How many further tables there are; an octet.
const OTHERS_COUNT: usize = 43;
/// The length of what is the same in all descriptions; the further tables follow.
const FIELDS: usize = 44;
/// `PCDATA_InlTreeIndex` and `FUNCDATA_InlTree`.
const TREE_INDEX: usize = 2;
const TREE: usize = 3;
const MOST_INLINED: usize = 32;
const MOST_TEXT: usize = 4096;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: u64 = 0x40_1000;

    /// One function of 0x40 octets, `main.handle`, whose lines are 10 up to 0x10 and 15 from there
    /// on. From 0x20 to 0x28 stands `main.send`, which is inlined and called at 0x0c.
    fn tables() -> (Vec<u8>, Vec<u8>) {
        let names = b"\0main.handle\0main.send\0\0";
        let units = 1_u32.to_le_bytes();
        let files = b"\0/srv/app/server.go\0";
        let values = [
            0, 2, 0x40, 0, 22, 0x10, 10, 0x30, 0, 0, 0x20, 2, 0x08, 1, 0x18, 0,
        ];
        let entries = [0_u32, 12, 0x40];
        let handle = [0, 1, 0, 0, 0, 1, 4, 3, 0, 9, 4 << 24, 0, 0, 9];
        let others = [u32::MAX, u32::MAX, u32::MAX, 0];
        let words = |words: &[u32]| words.iter().flat_map(|w| w.to_le_bytes()).collect();
        let mut body: Vec<u8> = Vec::new();
        let mut starts = Vec::new();
        let described: Vec<u8> = words(&[&entries[..], &handle, &others].concat());
        for part in [&names[..], &units, files, &values, &described] {
            starts.push((HEADER + body.len()) as u64);
            body.extend_from_slice(part);
        }
        let mut octets = [&MAGIC[..], &[1, 8]].concat();
        for word in [&[1, 1, 0], &starts[..]].concat() {
            octets.extend_from_slice(&word.to_le_bytes());
        }
        octets.extend(body);
        (octets, words(&[0, 13, 0x0c, 14]))
    }

    const HEADER: usize = 72;

    fn place(function: &str, line: u32) -> Place<'_> {
        Place {
            function,
            file: Some("/srv/app/server.go"),
            line: Some(line),
        }
    }

    #[test]
    fn an_address_has_its_function_and_line() {
        let (octets, trees) = tables();
        let table = Table::of(octets, Some(trees), TEXT).expect("a table");
        assert_eq!(table.places(TEXT), [place("main.handle", 10)]);
        assert_eq!(table.places(TEXT + 0x3f), [place("main.handle", 15)]);
        assert_eq!(table.places(TEXT + 0x40), []);
        assert_eq!(table.places(TEXT - 1), []);
    }

    #[test]
    fn an_inlined_function_comes_before_its_caller() {
        let (octets, trees) = tables();
        let table = Table::of(octets.clone(), Some(trees), TEXT).expect("a table");
        let both = [place("main.send", 15), place("main.handle", 10)];
        assert_eq!(table.places(TEXT + 0x22), both);
        // Without the trees the line is still right.
        let table = Table::of(octets, None, TEXT).expect("a table");
        assert_eq!(table.places(TEXT + 0x22), [place("main.handle", 15)]);
    }

    #[test]
    fn other_versions_are_not_read() {
        let (mut octets, _) = tables();
        octets[0] = 0xf0;
        assert!(Table::of(octets, None, TEXT).is_none());
        assert!(Table::of(Vec::new(), None, TEXT).is_none());
    }

    proptest! {
        #[test]
        fn a_broken_table_never_panics(
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
            length in any::<prop::sample::Index>(),
            addresses in prop::collection::vec(0_u64..0x60, 1..8),
        ) {
            let (mut octets, mut trees) = tables();
            let size = octets.len();
            for (index, to) in changes {
                let at = 8 + index.index(size + trees.len() - 8);
                match at < size {
                    true => octets[at] = to,
                    false => trees[at - size] = to,
                }
            }
            if length.index(4) == 0 {
                octets.truncate(8 + length.index(size - 8));
            }
            if let Some(table) = Table::of(octets, Some(trees), TEXT) {
                for address in addresses {
                    prop_assert!(table.places(TEXT + address).len() <= MOST_INLINED);
                }
                table.places(u64::MAX);
            }
        }
    }
}
