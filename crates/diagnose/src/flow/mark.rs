/// A moment in the capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// Frame number, counted over all files of the run.
    pub frame: u64,
    /// Nanoseconds since the epoch.
    pub time_ns: i64,
}
