//! Reads lines into one buffer and lends them: no allocation per line, and no more memory than the
//! longest line needs.

use std::io::{self, Read};

use memchr::{memchr, memchr_iter};

/// A line, or the reason why there is none.
pub(crate) enum Piece<'a> {
    /// A line without its line feed.
    Line(&'a [u8]),
    /// The beginning of a line longer than [`LONGEST`]; the rest is passed over.
    TooLong(&'a [u8]),
}

/// Passes every line of `source` to `take` in order, the last one with or without its line feed.
///
/// # Errors
/// Returns the error of reading `source`; the lines before the error have been handed over.
pub(crate) fn each(source: &mut impl Read, mut take: impl FnMut(Piece<'_>)) -> io::Result<()> {
    let mut buffer = vec![0; LONGEST];
    let mut filled = 0;
    let mut passing_over = false;
    loop {
        let read = match source.read(&mut buffer[filled..]) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let searched = filled;
        filled += read;
        let mut start = 0;
        if passing_over {
            let end = memchr(b'\n', &buffer[..filled]);
            passing_over = end.is_none() && read > 0;
            start = end.map_or(filled, |end| end + 1);
        }
        let fresh = searched.max(start);
        for end in memchr_iter(b'\n', &buffer[fresh..filled]) {
            take(Piece::Line(&buffer[start..fresh + end]));
            start = fresh + end + 1;
        }
        if read == 0 {
            if start < filled {
                take(Piece::Line(&buffer[start..filled]));
            }
            return Ok(());
        }
        if start == 0 && filled == buffer.len() {
            take(Piece::TooLong(&buffer));
            passing_over = true;
            start = filled;
        }
        buffer.copy_within(start..filled, 0);
        filled -= start;
    }
}

/// The longest line, in octets. No server writes longer ones, because servers limit a request's
/// header fields to far less.
pub(crate) const LONGEST: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that returns a few octets at a time.
    struct Trickle<'a>(&'a [u8], usize);

    impl Read for Trickle<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let len = self.1.min(into.len());
            (&mut self.0).read(&mut into[..len])
        }
    }

    fn lines(text: &[u8], at_a_time: usize) -> Vec<(bool, Vec<u8>)> {
        let mut all = Vec::new();
        each(&mut Trickle(text, at_a_time), |piece| {
            all.push(match piece {
                Piece::Line(line) => (true, line.to_vec()),
                Piece::TooLong(line) => (false, line.to_vec()),
            });
        })
        .expect("memory is readable");
        all
    }

    proptest::proptest! {
        #[test]
        fn lines_are_those_of_the_text(text in "[ab\n]{0,200}", at_a_time in 1..50_usize) {
            let expected: Vec<_> = text.lines().map(|line| (true, line.into())).collect();
            proptest::prop_assert_eq!(lines(text.as_bytes(), at_a_time), expected);
        }
    }

    #[test]
    fn a_line_without_end_is_handed_over_once_and_the_next_ones_are_whole() {
        let mut text = vec![b'x'; 3 * LONGEST + 7];
        text.extend(b"\nsecond\nthird");
        for at_a_time in [1000, LONGEST / 3, usize::MAX] {
            let read = lines(&text, at_a_time);
            let [(whole, first), (true, second), (true, third)] = &read[..] else {
                panic!("{} lines", read.len());
            };
            assert!(!whole && first.len() == LONGEST, "{at_a_time}");
            assert_eq!((&second[..], &third[..]), (&b"second"[..], &b"third"[..]));
        }
    }
}
