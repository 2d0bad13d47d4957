//! The responses that the paper's model delays, by their length alone (section 3.3, Table 1).
//!
//! "A message would be delayed if its length is between (2 * N + 1) * MSS and (2 * N + 2) * MSS,
//! exclusive, for N >= 0": an odd number of full segments, then a short one (OF+SFS). Two
//! exceptions come from BSD's idle test, which is made once per call of `tcp_output`: what reaches
//! the send buffer in one piece while nothing is unacknowledged leaves whole, its short end
//! included. Messages shorter than MCLBYTES are copied in one piece, and those shorter than two
//! segments "are never delayed".

/// What a response's length is compared with. Application buffer and socket buffer are assumed to
/// be "large enough to hold the entire message".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vulnerability {
    /// The maximum segment size, in octets; at least 1.
    pub mss: u16,
    /// The kernel's copying unit in octets; `None` if the test for it is ignored.
    pub mclbytes: Option<u64>,
}

impl Vulnerability {
    /// Returns whether a response of `length` octets is vulnerable to OF+SFS.
    #[must_use]
    pub const fn is_delayed(self, length: u64) -> bool {
        let pair = 2 * self.mss as u64;
        let in_one_piece = match self.mclbytes {
            Some(mclbytes) => length < mclbytes,
            None => false,
        };
        length >= pair && !in_one_piece && length % pair > self.mss as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the delayed share of the lengths of naglemark's sequential trials, in per mille.
    fn delayed_per_mille(mss: u16, mclbytes: Option<u64>) -> usize {
        let vulnerability = Vulnerability { mss, mclbytes };
        let lengths = (100..=100_000).step_by(100);
        lengths
            .filter(|length| vulnerability.is_delayed(*length))
            .count()
    }

    #[test]
    fn shares_of_the_sequential_lengths() {
        assert_eq!(delayed_per_mille(1460, None), 475);
        assert_eq!(delayed_per_mille(1460, Some(8192)), 452);
        assert_eq!(delayed_per_mille(4312, None), 439);
    }

    #[test]
    fn no_modelled_mclbytes_reaches_two_segments_on_fddi() {
        for mclbytes in [4096, 8192] {
            assert_eq!(delayed_per_mille(4312, Some(mclbytes)), 439);
        }
    }

    #[test]
    fn both_ends_of_an_interval_are_exclusive() {
        let ethernet = Vulnerability {
            mss: 1460,
            mclbytes: None,
        };
        let delayed = |length| ethernet.is_delayed(length);
        assert!(!delayed(1461), "shorter than two segments");
        assert!(!delayed(3 * 1460));
        assert!(delayed(3 * 1460 + 1));
        assert!(delayed(4 * 1460 - 1));
        assert!(!delayed(4 * 1460));
        assert!(!delayed(4 * 1460 + 1));
    }

    #[test]
    fn messages_shorter_than_mclbytes_leave_in_one_piece() {
        let clustered = Vulnerability {
            mss: 1460,
            mclbytes: Some(4381),
        };
        assert!(clustered.is_delayed(4381), "not shorter than MCLBYTES");
        let clustered = Vulnerability {
            mclbytes: Some(4382),
            ..clustered
        };
        assert!(!clustered.is_delayed(4381));
    }
}
