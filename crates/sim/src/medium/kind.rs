//! The named media, with the physical parameters of each.

use tinygram_engine::Duration;

use super::{Ethernet, Fddi, Medium, PointToPoint, Wire};
use crate::dice::{Dice, Purpose};

/// A kind of medium.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MediumKind {
    /// 10 Mbit/s, MSS 1460.
    Ethernet,
    /// Ethernet through a switch: both directions at once, no collisions.
    EthernetFullDuplex,
    /// 100 Mbit/s, MSS 4312.
    Fddi,
    /// A full-duplex line with this rate, framed as Ethernet.
    PointToPoint {
        /// Bits per second.
        bits_per_second: u64,
    },
}

/// The propagation time between hosts on a LAN (fitted to Mogul & Minshall's tables; of minor
/// effect).
const PROPAGATION: Duration = Duration::from_micros(10);

impl MediumKind {
    /// Returns its name in tables.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Ethernet => "ethernet",
            Self::EthernetFullDuplex => "ethernet-full-duplex",
            Self::Fddi => "fddi",
            Self::PointToPoint { .. } => "point-to-point",
        }
    }

    /// Returns the raw rate.
    #[must_use]
    pub fn bits_per_second(&self) -> u64 {
        match self {
            Self::Ethernet | Self::EthernetFullDuplex => 10_000_000,
            Self::Fddi => 100_000_000,
            Self::PointToPoint { bits_per_second } => *bits_per_second,
        }
    }

    /// Returns the MSS that Mogul & Minshall used on it (section 7); Ethernet's if they did not use
    /// it.
    #[must_use]
    pub fn usual_mss(&self) -> u16 {
        match self {
            Self::Ethernet | Self::EthernetFullDuplex | Self::PointToPoint { .. } => 1460,
            Self::Fddi => 4312,
        }
    }

    /// Returns its physical parameters.
    #[must_use]
    pub fn wire(&self) -> Wire {
        // TCP and IP headers are 40 octets.
        let (overhead, least) = match self {
            // Preamble 8, header 14, trailer 4, gap 12; a frame has at least 64 octets besides
            // preamble and gap.
            Self::Ethernet | Self::EthernetFullDuplex | Self::PointToPoint { .. } => (40 + 38, 84),
            // Preamble 8, delimiters and status 3, frame control 1, addresses 12, LLC and SNAP 8,
            // trailer 4.
            Self::Fddi => (40 + 36, 0),
        };
        Wire::new(self.bits_per_second(), overhead, least, PROPAGATION)
    }

    /// Returns a medium of this kind that is shared as the real one is; its random numbers start
    /// from `seed`.
    #[must_use]
    pub fn shared(&self, seed: u64) -> Medium {
        match self {
            Self::Ethernet => Medium::Ethernet(Ethernet::new(
                self.wire(),
                Dice::new(seed, Purpose::Backoff),
            )),
            Self::Fddi => Medium::Fddi(Fddi::new(self.wire())),
            Self::EthernetFullDuplex | Self::PointToPoint { .. } => self.full_duplex(),
        }
    }

    /// Returns a full-duplex medium with this rate and these frames.
    #[must_use]
    pub fn full_duplex(&self) -> Medium {
        Medium::PointToPoint(PointToPoint::new(self.wire()))
    }
}
