//! A live source of either kind with its judge, which reports findings as they come.

use std::time::Duration;

use crate::finding::Finding;
use crate::judge::{Excused, Judge};
use crate::seen::{Seen, SeenEnd};
use crate::{kernel, packets};

/// The choice of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The kernel if it can be asked, else packets.
    Best,
    /// The kernel alone.
    Kernel,
    /// Packets alone.
    Packets,
}

/// An open source.
pub struct Live {
    from: Origin,
    judge: Judge,
    /// The reason why the kernel is not asked, if packets replace it.
    instead: Option<kernel::Lacking>,
}

enum Origin {
    Kernel(Box<kernel::Source>),
    Packets(Box<packets::Source>),
}

/// The reason why no source can be opened, in one line.
#[derive(Debug, thiserror::Error)]
pub enum NoSource {
    /// The kernel cannot be asked.
    #[error("{0}")]
    Kernel(#[from] kernel::Lacking),
    /// Packets cannot be read.
    #[error("{0}")]
    Packets(#[from] packets::NoPackets),
    /// Neither source can be used.
    #[error("{0}; {1}")]
    Both(kernel::Lacking, packets::NoPackets),
}

impl Live {
    /// Opens the chosen source. Packets come from `interface` alone, or from all interfaces.
    ///
    /// # Errors
    ///
    /// Returns what the kernel or the privileges lack.
    pub fn open(
        choice: Choice,
        options: &kernel::SourceOptions,
        interface: Option<&str>,
    ) -> Result<Self, NoSource> {
        let (from, instead) = match choice {
            Choice::Kernel => (
                Origin::Kernel(Box::new(kernel::Source::open(options)?)),
                None,
            ),
            Choice::Packets => (
                Origin::Packets(Box::new(packets::Source::open(interface)?)),
                None,
            ),
            Choice::Best => match kernel::Source::open(options) {
                Ok(source) => (Origin::Kernel(Box::new(source)), None),
                Err(lacking) => match packets::Source::open(interface) {
                    Ok(source) => (Origin::Packets(Box::new(source)), Some(lacking)),
                    Err(packets) => return Err(NoSource::Both(lacking, packets)),
                },
            },
        };
        Ok(Self {
            from,
            judge: Judge::default(),
            instead,
        })
    }

    /// Passes new findings to `found`, after at most `patience`.
    pub fn poll(&mut self, patience: Duration, mut found: impl FnMut(Finding)) {
        match &mut self.from {
            Origin::Kernel(source) => {
                let judge = &mut self.judge;
                source.poll(patience, |event| judge.take(event, &mut found));
            }
            Origin::Packets(source) => source.poll(patience, found),
        }
    }

    /// Judges what is still open, because nothing more will come.
    pub fn finish(&mut self, found: impl FnMut(Finding)) {
        match &mut self.from {
            Origin::Kernel(_) => self.judge.finish(found),
            Origin::Packets(source) => source.finish(found),
        }
    }

    /// Returns how much was seen of all connections; of packets, once it is finished.
    #[must_use]
    pub fn seen(&self) -> Seen {
        match &self.from {
            Origin::Kernel(source) => source.seen(),
            Origin::Packets(source) => source.seen(),
        }
    }

    /// Returns what was seen of single connections since the last call. See [`kernel::SourceOptions::by_connection`].
    pub fn sights(&mut self) -> Vec<SeenEnd> {
        match &mut self.from {
            Origin::Kernel(source) => source.sights(),
            Origin::Packets(source) => source.sights(),
        }
    }

    /// Returns the connections that have not ended; packets do not tell them apart.
    #[must_use]
    pub fn open_sights(&self) -> Vec<SeenEnd> {
        match &self.from {
            Origin::Kernel(source) => source.open_sights(),
            Origin::Packets(_) => Vec::new(),
        }
    }

    /// Returns the source's name in the output: `kernel` or `packets`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self.from {
            Origin::Kernel(_) => "kernel",
            Origin::Packets(_) => "packets",
        }
    }

    /// Returns a text that names the source, and says why it is not the kernel if the kernel was
    /// preferred.
    #[must_use]
    pub fn describe(&self) -> String {
        match (&self.from, &self.instead) {
            (Origin::Kernel(source), _) => {
                format!("asking the kernel (BPF, {})", source.hooks().name())
            }
            (Origin::Packets(_), None) => "reading packets".to_owned(),
            (Origin::Packets(_), Some(lacking)) => {
                format!("reading packets, as the kernel cannot be asked ({lacking})")
            }
        }
    }

    /// Returns whether findings know which side is the server: from the handshake, or from who listens.
    #[must_use]
    pub fn knows_sides(&self) -> bool {
        matches!(self.from, Origin::Packets(_))
    }

    /// Returns how many events or packets found no room, plus the findings whose connection was
    /// unknown.
    pub fn lost(&mut self) -> u64 {
        match &mut self.from {
            Origin::Kernel(source) => source.lost(),
            Origin::Packets(source) => source.dropped() + source.unplaced(),
        }
    }

    /// Returns the counts of what was seen but is nobody's fault. The packets source counts nothing
    /// here.
    #[must_use]
    pub fn excused(&self) -> &Excused {
        &self.judge.excused
    }
}
