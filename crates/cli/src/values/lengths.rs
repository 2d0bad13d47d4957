//! Message lengths: a series `100..100000/100`, one length `12289`, or `random:1..100000`.

use serde::Serialize;

use super::size;

/// The lengths of a run's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lengths {
    Series(Series),
    Random(Random),
}

/// Fixed increments, in bytes; the trial types s and S.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Series {
    pub(crate) from: u64,
    /// The last length is the last step that does not pass this.
    pub(crate) to: u64,
    pub(crate) step: u64,
}

/// Uniformly distributed, both ends possible, in bytes; the trial types r and R.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Random {
    pub(crate) from: u64,
    pub(crate) to: u64,
}

impl Series {
    /// How many lengths it has; at least one.
    pub(crate) fn count(&self) -> u64 {
        (self.to - self.from) / self.step + 1
    }
}

/// Reads one of the two.
pub(crate) fn lengths(typed: &str) -> Result<Lengths, String> {
    let refused = |why: &str| {
        format!(
            "{why}; accepted: a series such as 100..100000/100, one length such as 12289, or random:1..100000"
        )
    };
    let bytes = |part: &str| size(part).map_err(|_| refused("not message lengths"));
    let range = |text: &str| -> Result<(u64, u64), String> {
        let (from, to) = match text.split_once("..") {
            Some((from, to)) => (bytes(from)?, bytes(to)?),
            None => (bytes(text)?, bytes(text)?),
        };
        if from > to {
            return Err(refused("an empty series"));
        }
        Ok((from, to))
    };
    if let Some(text) = typed.strip_prefix("random:") {
        let (from, to) = range(text)?;
        return Ok(Lengths::Random(Random { from, to }));
    }
    let (text, step) = match typed.split_once('/') {
        Some((text, step)) => (text, bytes(step)?),
        None => (typed, 1),
    };
    let (from, to) = range(text)?;
    Ok(Lengths::Series(Series { from, to, step }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_series_has_a_thousand_lengths() {
        let series = Series {
            from: 100,
            to: 100_000,
            step: 100,
        };
        assert_eq!(lengths("100..100000/100"), Ok(Lengths::Series(series)));
        assert_eq!(series.count(), 1000);
    }

    #[test]
    fn one_length_is_a_series_of_one() {
        let Ok(Lengths::Series(one)) = lengths("12289") else {
            panic!("12289 is a series");
        };
        assert_eq!((one.from, one.count()), (12_289, 1));
    }

    #[test]
    fn random_lengths_have_two_ends() {
        let ends = Random {
            from: 1,
            to: 65_536,
        };
        assert_eq!(lengths("random:1..64K"), Ok(Lengths::Random(ends)));
    }

    #[test]
    fn a_refusal_says_what_is_accepted() {
        for typed in [
            "",
            "..",
            "1..",
            "200..100",
            "1..9/0",
            "0..9",
            "random:",
            "random:9..1",
            "a..b",
        ] {
            let line = lengths(typed).unwrap_err();
            assert!(
                line.contains("accepted: a series such as"),
                "{typed}: {line}"
            );
        }
    }
}
