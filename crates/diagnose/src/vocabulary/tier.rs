use std::fmt;

/// How sure a finding is. A higher tier compares greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// It fits, and was seen too seldom, or from too far away, to exclude accident. Shown with its
    /// frames, and not counted among the stalls.
    Possible,
    /// An accident would bring as much once in a hundred such connections at most.
    Likely,
    /// Once in a thousand at most.
    Certain,
}

impl Tier {
    /// All tiers, the surest first.
    pub const ALL: [Self; 3] = [Self::Certain, Self::Likely, Self::Possible];

    /// Returns the name in JSON, for example `certain`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Possible => "possible",
            Self::Likely => "likely",
            Self::Certain => "certain",
        }
    }

    /// Returns true if the finding accuses somebody: certain or likely.
    #[must_use]
    pub fn accuses(self) -> bool {
        self >= Self::Likely
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
