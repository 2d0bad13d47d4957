/// A table's schema: a name, a version and the columns.
///
/// The version grows when a column changes its meaning or goes away, not when one is added at the end.
#[derive(Debug, PartialEq, Eq)]
pub struct Table {
    /// The name, such as `findings`.
    pub name: &'static str,
    /// The version; the first is 1.
    pub version: u32,
    /// What a row stands for.
    pub about: &'static str,
    /// The columns, in order.
    pub columns: &'static [Column],
}

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// The name; it ends with the unit, if there is one.
    pub name: &'static str,
    /// The kind of value that it holds.
    pub kind: Kind,
    /// Whether a row may be null here.
    pub nullable: bool,
    /// What it means, its range, and what null means.
    pub about: &'static str,
}

/// The kind of value that a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// UTF-8.
    Text,
    /// True or false.
    Bool,
    /// 64 bits, signed.
    Int,
    /// 64 bits.
    Float,
    /// Microseconds since 1970, UTC.
    Time,
    /// A list of texts.
    Texts,
    /// A list of whole numbers.
    Ints,
}

impl Table {
    /// Returns the value of `tinygram.schema` in files: name and version, such as
    /// `tinygram.findings/1`.
    #[must_use]
    pub fn id(&self) -> String {
        format!("tinygram.{}/{}", self.name, self.version)
    }
}

impl Kind {
    /// Returns Arrow's name of the type.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "utf8",
            Self::Bool => "bool",
            Self::Int => "int64",
            Self::Float => "float64",
            Self::Time => "timestamp[us, UTC]",
            Self::Texts => "list<utf8>",
            Self::Ints => "list<int64>",
        }
    }
}

/// Returns a column that every row fills.
pub(crate) const fn always(name: &'static str, kind: Kind, about: &'static str) -> Column {
    Column {
        name,
        kind,
        nullable: false,
        about,
    }
}

/// Returns a column that a row may leave empty.
pub(crate) const fn perhaps(name: &'static str, kind: Kind, about: &'static str) -> Column {
    Column {
        name,
        kind,
        nullable: true,
        about,
    }
}

/// Joins groups of columns (those that several tables share, and a table's own): `N` columns in
/// all.
pub(crate) const fn joined<const N: usize>(groups: &[&[Column]]) -> [Column; N] {
    let mut all = [groups[0][0]; N];
    let (mut group, mut column, mut at) = (0, 0, 0);
    while group < groups.len() {
        if column < groups[group].len() {
            all[at] = groups[group][column];
            at += 1;
            column += 1;
        } else {
            group += 1;
            column = 0;
        }
    }
    assert!(at == N);
    all
}
