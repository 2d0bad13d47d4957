//! Which stalls are accepted: those of lines that are named, and a number of others.

use std::fmt;
use std::path::Path;

use super::looked::Stall;
use tinygram_report::units::counted;

/// A line of a program: `client.py:40`, or with folders before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    file: String,
    line: u32,
}

impl Line {
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let numbered = |text: &str| {
            let (file, line) = text.rsplit_once(':')?;
            Some((file.to_owned(), line.parse::<u32>().ok()?))
        };
        let place = numbered(text.trim_start_matches("./"));
        // With a column behind the line the line would be part of the file's name.
        let place = place.filter(|(file, _)| !file.is_empty() && numbered(file).is_none());
        let (file, line) = place.ok_or("accepted: FILE:LINE, such as client.py:40")?;
        Ok(Self { file, line })
    }

    /// Returns whether a place is this line. Its path may have more folders before.
    fn is(&self, (file, line): &(String, u32)) -> bool {
        *line == self.line && Path::new(file).ends_with(&self.file)
    }
}

/// What is to be accepted.
#[derive(Clone)]
pub(super) struct Accept {
    /// The lines whose stalls are accepted, however many.
    pub(super) lines: Vec<Line>,
    /// How many other stalls are accepted.
    pub(super) max_holds: u64,
}

/// What is accepted of the stalls that were found.
pub(super) struct Accepted {
    accept: Accept,
    /// How many stalls there are.
    stalls: u64,
    /// How many of them are at no line that is accepted.
    others: u64,
}

impl Accepted {
    pub(super) fn of(accept: Accept, stalls: &[Stall]) -> Self {
        let mut accepted = Self {
            accept,
            stalls: stalls.iter().map(|stall| stall.times).sum(),
            others: 0,
        };
        let others = stalls.iter().filter(|stall| !accepted.by_line(stall));
        accepted.others = others.map(|stall| stall.times).sum();
        accepted
    }

    /// Returns whether all lines that may have written what was held are accepted.
    fn by_line(&self, stall: &Stall) -> bool {
        let is_accepted = |place| self.accept.lines.iter().any(|line| line.is(place));
        !stall.elsewhere && !stall.places.is_empty() && stall.places.iter().all(is_accepted)
    }

    /// Returns whether a stall is accepted. Of more than are accepted by number, none is: nothing tells them apart.
    pub(super) fn is(&self, stall: &Stall) -> bool {
        self.refused() == 0 || self.by_line(stall)
    }

    /// Returns how many stalls are not accepted.
    pub(super) fn refused(&self) -> u64 {
        match self.others > self.accept.max_holds {
            true => self.others,
            false => 0,
        }
    }
}

/// Says how many stalls there are, and how many of them are accepted.
impl fmt::Display for Accepted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&counted(self.stalls, "connection stall"))?;
        match self.stalls - self.refused() {
            _ if self.stalls == 0 => Ok(()),
            0 if self.accept.max_holds > 0 => {
                write!(f, ", none accepted (--max-holds {})", self.accept.max_holds)
            }
            0 => Ok(()),
            all if all == self.stalls => f.write_str(", accepted"),
            some => write!(f, ", {some} accepted"),
        }
    }
}

#[cfg(test)]
mod tests {
    use tinygram_stalls::{Case, Kind, Side};

    use super::*;

    fn stall(times: u64, places: &[(&str, u32)]) -> Stall {
        let places = places
            .iter()
            .map(|(file, line)| ((*file).to_owned(), *line));
        Stall {
            said: String::new(),
            times,
            cost_ns: 0,
            case: Case::new(Kind::WriteWriteRead, Side::Server),
            places: places.collect(),
            elsewhere: false,
        }
    }

    fn accepted(lines: &[&str], max_holds: u64, stalls: &[Stall]) -> Accepted {
        let accept = Accept {
            lines: lines.iter().map(|line| Line::read(line).unwrap()).collect(),
            max_holds,
        };
        Accepted::of(accept, stalls)
    }

    #[test]
    fn a_number_accepts_all_or_none() {
        let stalls = [stall(4, &[]), stall(2, &[])];
        let within = accepted(&[], 6, &stalls);
        assert!(within.is(&stalls[0]) && within.refused() == 0);
        assert_eq!(within.to_string(), "6 connection stalls, accepted");
        let beyond = accepted(&[], 5, &stalls);
        assert!(!beyond.is(&stalls[0]) && beyond.refused() == 6);
        assert_eq!(
            beyond.to_string(),
            "6 connection stalls, none accepted (--max-holds 5)"
        );
        assert_eq!(accepted(&[], 5, &[]).to_string(), "0 connection stalls");
    }

    #[test]
    fn a_line_accepts_what_it_writes_and_nothing_else() {
        let stalls = [
            stall(4, &[("/home/her/app/client.py", 40)]),
            stall(2, &[("/home/her/app/client.py", 41)]),
        ];
        for line in ["client.py:40", "app/client.py:40", "./app/client.py:40"] {
            let one = accepted(&[line], 0, &stalls);
            assert!(one.is(&stalls[0]) && !one.is(&stalls[1]), "{line}");
            assert_eq!(one.to_string(), "6 connection stalls, 4 accepted");
        }
        // It is no line of another file whose name ends alike, nor of a line that may be another.
        assert_eq!(accepted(&["nt.py:40"], 0, &stalls).refused(), 6);
        let either = [stall(1, &[("client.py", 40), ("client.py", 41)])];
        assert_eq!(accepted(&["client.py:40"], 0, &either).refused(), 1);
        let both = accepted(&["client.py:40", "client.py:41"], 0, &either);
        assert_eq!(both.refused(), 0);
        let unknown = [Stall {
            elsewhere: true,
            ..stall(1, &[("client.py", 40)])
        }];
        assert_eq!(accepted(&["client.py:40"], 0, &unknown).refused(), 1);
        // The number counts the others.
        assert_eq!(accepted(&["client.py:40"], 2, &stalls).refused(), 0);
    }

    #[test]
    fn what_is_no_line_is_refused() {
        for text in [
            "client.py",
            ":40",
            "./:40",
            "client.py:",
            "client.py:forty",
            "client.py:40:12",
        ] {
            assert!(Line::read(text).is_err(), "{text}");
        }
    }
}
