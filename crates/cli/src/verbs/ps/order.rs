//! The order in which connections, or processes, are shown.

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Sort {
    /// By process and addresses; of processes (--summary) those with the most connections first
    Process,
    /// Most data segments sent first
    Segments,
    /// Fewest bytes per segment first
    Small,
    /// Longest round trip first
    Rtt,
    /// Most bytes sent first
    Bytes,
}

/// The figures for sorting, of a connection or of all connections of a process.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Figures {
    pub(super) segments: u64,
    pub(super) bytes: u64,
    pub(super) rtt_us: u64,
}

impl Sort {
    /// Sorts `all` into this order; equal items keep their order.
    pub(super) fn order<T>(self, all: &mut [T], figures: impl Fn(&T) -> Figures) {
        let falling = std::cmp::Reverse::<u64>;
        match self {
            Self::Process => {}
            Self::Segments => all.sort_by_key(|one| falling(figures(one).segments)),
            Self::Small => all.sort_by(|a, b| {
                let size = |one| figures(one).bytes_per_segment().unwrap_or(f64::INFINITY);
                size(a).total_cmp(&size(b))
            }),
            Self::Rtt => all.sort_by_key(|one| falling(figures(one).rtt_us)),
            Self::Bytes => all.sort_by_key(|one| falling(figures(one).bytes)),
        }
    }
}

impl Figures {
    /// Returns the payload per data segment; `None` if none was sent.
    pub(super) fn bytes_per_segment(self) -> Option<f64> {
        (self.segments > 0).then(|| self.bytes as f64 / self.segments as f64)
    }
}
