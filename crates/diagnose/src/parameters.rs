/// What may be set about an analysis.
#[derive(Clone, Debug)]
pub struct Parameters {
    /// Most connections kept at once; beyond it the longest silent one is judged and let go.
    /// About 580 bytes each.
    pub connection_limit: usize,
    /// Number of the first connection: several captures in one report count on.
    pub first_connection: u32,
    /// Most findings kept with their details; beyond it they are counted only.
    pub finding_limit: usize,
    /// Most connections listed in the report, those with findings first to stay.
    pub listed_limit: usize,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            connection_limit: 131_072,
            first_connection: 0,
            finding_limit: 100_000,
            listed_limit: 10_000,
        }
    }
}
