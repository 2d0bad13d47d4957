//! Either source with its judge: findings as they come.

use std::time::Duration;

use crate::finding::Finding;
use crate::judge::{Excused, Judge};
use crate::{kernel, packets};

/// Which source is asked.
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
    /// Why the kernel is not asked, where packets stand in for it.
    instead: Option<kernel::Lacking>,
}

enum Origin {
    Kernel(Box<kernel::Source>),
    Packets(Box<packets::Source>),
}

/// Why no source can be opened, in one line.
#[derive(Debug, thiserror::Error)]
pub enum Lacking {
    /// The kernel cannot be asked.
    #[error("{0}")]
    Kernel(#[from] kernel::Lacking),
    /// Packets cannot be read.
    #[error("{0}")]
    Packets(#[from] packets::Lacking),
    /// Neither.
    #[error("{0}; {1}")]
    Both(kernel::Lacking, packets::Lacking),
}

impl Live {
    /// Opens the source of choice; packets of `interface` alone, or of all.
    ///
    /// # Errors
    ///
    /// What the kernel or the privileges lack.
    pub fn open(
        choice: Choice,
        options: &kernel::Options,
        interface: Option<&str>,
    ) -> Result<Self, Lacking> {
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
                    Err(packets) => return Err(Lacking::Both(lacking, packets)),
                },
            },
        };
        Ok(Self {
            from,
            judge: Judge::default(),
            instead,
        })
    }

    /// Hands over what is new, after `patience` at most.
    pub fn poll(&mut self, patience: Duration, mut found: impl FnMut(Finding)) {
        match &mut self.from {
            Origin::Kernel(source) => {
                let judge = &mut self.judge;
                source.poll(patience, |event| judge.take(event, &mut found));
            }
            Origin::Packets(source) => source.poll(patience, found),
        }
    }

    /// Judges what is still open: nothing more will come.
    pub fn finish(&mut self, found: impl FnMut(Finding)) {
        match &mut self.from {
            Origin::Kernel(_) => self.judge.finish(found),
            Origin::Packets(source) => source.finish(found),
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

    /// Returns what is asked, and why not the kernel where that was wished for.
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

    /// Returns whether findings say by the handshake which side is the server.
    #[must_use]
    pub fn knows_sides(&self) -> bool {
        matches!(self.from, Origin::Packets(_))
    }

    /// Events or packets for which there was no room, and findings that could not be placed.
    pub fn lost(&mut self) -> u64 {
        match &mut self.from {
            Origin::Kernel(source) => source.lost(),
            Origin::Packets(source) => source.dropped() + source.unplaced(),
        }
    }

    /// Returns what was seen and accuses nobody; of packets nothing is counted here.
    #[must_use]
    pub fn excused(&self) -> &Excused {
        &self.judge.excused
    }
}
