//! The contract between BPF programs and who loads them: what C's headers declare, and what the compiled object has in
//! its type information (BTF). A crate's tests hold their own structures and numbers beside it.

use std::collections::BTreeMap;

/// Lists a structure's fields with their offsets and sizes, and its size. `FIELD as NAME` gives the name that C has for it.
macro_rules! layout {
    ($record:ty, $($field:ident $(as $name:literal)?),* $(,)?) => {
        $crate::contract::Layout {
            fields: vec![$($crate::contract::Field {
                name: [$($name,)? stringify!($field)][0].to_owned(),
                offset: std::mem::offset_of!($record, $field),
                size: $crate::contract::size_of_field(|record: &$record| &record.$field),
            }),*],
            size: size_of::<$record>(),
        }
    };
}
pub(crate) use layout;

/// The fields of a structure, and its size in octets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) fields: Vec<Field>,
    pub(crate) size: usize,
}

/// A field of a structure; offset and size in octets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) offset: usize,
    pub(crate) size: usize,
}

/// Returns the size of the field that `of` takes out of a structure.
pub(crate) fn size_of_field<T, F>(of: fn(&T) -> &F) -> usize {
    let _ = of;
    size_of::<F>()
}

/// What C says.
pub(crate) struct Contract {
    header: String,
    /// The structures of the object. The compiler keeps those that a map or a function names.
    object: BTreeMap<String, Layout>,
}

impl Contract {
    /// Reads the text of the headers and an object made from them.
    pub(crate) fn new(headers: &[&str], object: &[u8]) -> Self {
        Self {
            header: headers.concat(),
            object: structures(section(object, ".BTF").expect("an object with type information")),
        }
    }

    /// Checks that a structure has C's fields at C's offsets and C's size, in the header and in the object.
    #[track_caller]
    pub(crate) fn has(&self, name: &str, ours: &Layout) {
        let differences = self.differences(name, ours);
        assert!(differences.is_empty(), "{}", differences.join("\n"));
    }

    /// Says where a structure differs from C's.
    pub(crate) fn differences(&self, name: &str, ours: &Layout) -> Vec<String> {
        let declared = self.declared(name);
        let compiled = self.object.get(name);
        [("the header", Some(&declared)), ("the object", compiled)]
            .into_iter()
            .filter_map(|(place, layout)| layout.map(|layout| (place, layout)))
            .filter(|(_, layout)| *layout != ours)
            .map(|(place, layout)| format!("{name}: in {place} {layout:?}, here {ours:?}"))
            .collect()
    }

    /// Returns whether the object has a structure of this name, too.
    pub(crate) fn is_compiled(&self, name: &str) -> bool {
        self.object.contains_key(name)
    }

    /// Returns the names of the header's constants that begin so, in their order.
    pub(crate) fn names(&self, prefix: &str) -> Vec<&str> {
        let names = self.constants().into_iter().map(|(name, _)| name);
        names.filter(|name| name.starts_with(prefix)).collect()
    }

    /// Returns a constant of the header.
    #[track_caller]
    pub(crate) fn number(&self, name: &str) -> usize {
        let found = self.constants().into_iter().find(|(it, _)| *it == name);
        let (_, value) = found.unwrap_or_else(|| panic!("no constant {name}"));
        value.unwrap_or_else(|| panic!("{name} is no plain number"))
    }

    /// Returns the constants of the header with their values; none for a value that is no plain number.
    fn constants(&self) -> Vec<(&str, Option<usize>)> {
        let mut all = Vec::new();
        for rest in self.header.split("enum").skip(1) {
            let body = rest
                .split_once('{')
                .and_then(|(_, rest)| rest.split_once('}'));
            let mut next = Some(0);
            let lines = body.map_or("", |(body, _)| body).lines();
            let code = lines.filter_map(|line| line.split("/*").next());
            for constant in code.flat_map(|line| line.split(',')).map(str::trim) {
                let (name, value) = match constant.split_once('=') {
                    Some((name, value)) => (name.trim(), number(value.trim())),
                    None => (constant, next),
                };
                if !name.is_empty() && name.chars().all(is_of_a_name) {
                    all.push((name, value));
                    next = value.map(|value| value + 1);
                }
            }
        }
        all
    }

    /// Returns a structure of the header, laid out by C's rules.
    #[track_caller]
    pub(crate) fn declared(&self, name: &str) -> Layout {
        let found = self.body("struct", name);
        self.laid_out(found.unwrap_or_else(|| panic!("no struct {name}")))
            .0
    }

    fn body(&self, kind: &str, name: &str) -> Option<&str> {
        let (_, rest) = self.header.split_once(&format!("\n{kind} {name} {{\n"))?;
        Some(rest.split_once("\n}")?.0)
    }

    /// Returns the layout of the fields that follow each other, and their alignment.
    fn laid_out(&self, body: &str) -> (Layout, usize) {
        let (mut fields, mut end, mut widest) = (Vec::new(), 0_usize, 1);
        for (of, field, count) in declarations(body) {
            let (size, align) = self.measure(of);
            end = end.next_multiple_of(align);
            let size = size * self.times(count);
            fields.push(Field {
                name: field.to_owned(),
                offset: end,
                size,
            });
            end += size;
            widest = widest.max(align);
        }
        let size = end.next_multiple_of(widest);
        (Layout { fields, size }, widest)
    }

    /// Returns how many a field has, which is a number or a constant's name.
    fn times(&self, count: Option<&str>) -> usize {
        count.map_or(1, |it| number(it).unwrap_or_else(|| self.number(it)))
    }

    /// Returns the size and the alignment of a type.
    fn measure(&self, of: &str) -> (usize, usize) {
        match of {
            "u8" | "char" => return (1, 1),
            "u16" => return (2, 2),
            "u32" | "s32" => return (4, 4),
            "u64" => return (8, 8),
            // An address of IPv6.
            "struct in6_addr" => return (16, 4),
            _ => {}
        }
        let (kind, name) = of.split_once(' ').unwrap_or_else(|| panic!("a type {of}"));
        let body = self.body(kind, name).unwrap_or_else(|| panic!("no {of}"));
        if kind == "struct" {
            let (layout, align) = self.laid_out(body);
            return (layout.size, align);
        }
        let members = declarations(body).map(|(of, _, count)| {
            let (size, align) = self.measure(of);
            (size * self.times(count), align)
        });
        members.fold((0, 1), |(size, widest), (of_member, align)| {
            (size.max(of_member), widest.max(align))
        })
    }
}

/// Returns the type, the name and the count of each declared field, one a line.
fn declarations(body: &str) -> impl Iterator<Item = (&str, &str, Option<&str>)> {
    let lines = body.lines().filter_map(|line| line.split_once(';'));
    lines.map(|(declared, _)| {
        let (of, field) = declared.trim().rsplit_once(' ').expect("a type and a name");
        match field.strip_suffix(']').and_then(|it| it.split_once('[')) {
            Some((field, count)) => (of, field, Some(count)),
            None => (of, field, None),
        }
    })
}

fn is_of_a_name(one: char) -> bool {
    one == '_' || one.is_ascii_alphanumeric()
}

/// Reads a number as C writes it: `7`, `0x10` or `1 << 16`.
fn number(text: &str) -> Option<usize> {
    if let Some((one, by)) = text.split_once("<<") {
        return Some(number(one.trim())? << number(by.trim())?);
    }
    match text.strip_prefix("0x") {
        Some(digits) => usize::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Returns the section of this name of an ELF file of 64 bits.
fn section<'a>(elf: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let long = |at: usize| Some(u64::from_le_bytes(elf.get(at..at + 8)?.try_into().ok()?) as usize);
    let (table, count, names) = (long(40)?, short(elf, 60)?, short(elf, 62)?);
    let header = |index: usize| table + index * 64;
    let contents = |index: usize| {
        let at = long(header(index) + 24)?;
        elf.get(at..at + long(header(index) + 32)?)
    };
    let names = contents(names)?;
    let called = |index: &usize| Some(text(names, word(elf, header(*index))?)? == name);
    let found = (0..count).find(|index| called(index) == Some(true))?;
    contents(found)
}

/// Returns the named structures of type information, by the format of `linux/btf.h`.
fn structures(btf: &[u8]) -> BTreeMap<String, Layout> {
    let types = Types::read(btf);
    let structures = types
        .places
        .iter()
        .filter(|place| types.kind(**place) == STRUCT);
    let layouts = structures.map(|&place| {
        let fields = (0..types.count(place)).map(|index| {
            let member = place + HEAD + index * 12;
            Field {
                name: types.name(member),
                offset: types.at(member + 8) / 8,
                size: types.size(types.at(member + 4)),
            }
        });
        let fields = fields.collect();
        let size = types.at(place + 8);
        (types.name(place), Layout { fields, size })
    });
    layouts.collect()
}

/// The types of an object.
struct Types<'a> {
    btf: &'a [u8],
    names: usize,
    /// Where each begins; the first has the number 1.
    places: Vec<usize>,
}

impl<'a> Types<'a> {
    fn read(btf: &'a [u8]) -> Self {
        let at = |place: usize| word(btf, place).expect("whole");
        let head = at(4);
        let mut types = Self {
            btf,
            names: head + at(16),
            places: Vec::new(),
        };
        let mut place = head + at(8);
        let end = place + at(12);
        while place < end {
            types.places.push(place);
            let count = types.count(place);
            place += HEAD
                + match types.kind(place) {
                    INT | VAR | DECL_TAG => 4,
                    ARRAY => 12,
                    STRUCT | UNION | DATASEC | ENUM64 => 12 * count,
                    ENUM | FUNC_PROTO => 8 * count,
                    _ => 0,
                };
        }
        types
    }

    fn at(&self, place: usize) -> usize {
        word(self.btf, place).expect("whole")
    }

    fn kind(&self, place: usize) -> usize {
        self.at(place + 4) >> 24 & 31
    }

    fn count(&self, place: usize) -> usize {
        self.at(place + 4) & 0xffff
    }

    /// Returns the name whose offset is there.
    fn name(&self, place: usize) -> String {
        let name = text(&self.btf[self.names..], self.at(place));
        name.expect("a name").to_owned()
    }

    /// Returns the size of the type with this number.
    fn size(&self, number: usize) -> usize {
        let place = self.places[number - 1];
        match self.kind(place) {
            POINTER => 8,
            ARRAY => self.size(self.at(place + HEAD)) * self.at(place + HEAD + 8),
            TYPEDEF | VOLATILE | CONST | RESTRICT => self.size(self.at(place + 8)),
            _ => self.at(place + 8),
        }
    }
}

fn word(octets: &[u8], at: usize) -> Option<usize> {
    Some(u32::from_le_bytes(octets.get(at..at + 4)?.try_into().ok()?) as usize)
}

fn short(octets: &[u8], at: usize) -> Option<usize> {
    Some(u16::from_le_bytes(octets.get(at..at + 2)?.try_into().ok()?).into())
}

/// Returns the text that begins there and ends with a zero.
fn text(octets: &[u8], at: usize) -> Option<&str> {
    let text = octets.get(at..)?.split(|octet| *octet == 0).next()?;
    std::str::from_utf8(text).ok()
}

/// The octets that each type begins with.
const HEAD: usize = 12;
/// `BTF_KIND_…`.
const INT: usize = 1;
const POINTER: usize = 2;
const ARRAY: usize = 3;
const STRUCT: usize = 4;
const UNION: usize = 5;
const ENUM: usize = 6;
const TYPEDEF: usize = 8;
const VOLATILE: usize = 9;
const CONST: usize = 10;
const RESTRICT: usize = 11;
const FUNC_PROTO: usize = 13;
const VAR: usize = 14;
const DATASEC: usize = 15;
const DECL_TAG: usize = 17;
const ENUM64: usize = 19;
