use core::fmt;

/// How sure a finding is. A surer tier compares greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// It fits, and a check leaves another cause possible. It is shown with its frames and not counted among the
    /// stalls.
    Possible,
    /// An accident would produce as much in at most five of a hundred such connections, or in twenty of a hundred
    /// where nobody delayed the ACK. book/src/evidence/diagnose.md has how many are right on random captures.
    Likely,
    /// An accident would produce as much in at most one of a thousand such connections.
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

    /// Returns true if the tier is certain or likely, so that the finding accuses a side.
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
