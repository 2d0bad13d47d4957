//! Message lengths: a series `100..100000/100`, one length `12289`, or `random:1..100000`.

use tinygram_naglemark::{Lengths, Random, Series};

use super::size;

/// One of the two kinds of lengths, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TypedLengths {
    /// Each length of a series once.
    Series(Series),
    /// Random lengths, as many as in the paper.
    Random(Random),
}

/// Parses either kind.
pub(crate) fn lengths(typed: &str) -> Result<TypedLengths, String> {
    let refused = |why: &str| {
        format!(
            "{why}; accepted: a series such as 100..100000/100, one length such as 12289, or random:1..100000"
        )
    };
    let bytes = |part: &str| -> Result<u32, String> {
        let bytes = size(part).ok().and_then(|bytes| u32::try_from(bytes).ok());
        bytes.ok_or_else(|| refused("not message lengths"))
    };
    let range = |text: &str| -> Result<(u32, u32), String> {
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
        return Ok(TypedLengths::Random(Random {
            from,
            to,
            ..Lengths::PAPER.random
        }));
    }
    let (text, step) = match typed.split_once('/') {
        Some((text, step)) => (text, bytes(step)?),
        None => (typed, 1),
    };
    let (from, to) = range(text)?;
    Ok(TypedLengths::Series(Series {
        from,
        to,
        step,
        transfers: (to - from) / step + 1,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_series_has_a_thousand_lengths() {
        let series = Lengths::PAPER.series;
        assert_eq!(series.transfers, 1000);
        assert_eq!(lengths("100..100000/100"), Ok(TypedLengths::Series(series)));
    }

    #[test]
    fn one_length_is_a_series_of_one() {
        let Ok(TypedLengths::Series(one)) = lengths("12289") else {
            panic!("12289 is a series");
        };
        assert_eq!((one.from, one.transfers), (12_289, 1));
    }

    #[test]
    fn random_lengths_have_two_ends() {
        let ends = Random {
            from: 1,
            to: 65_536,
            ..Lengths::PAPER.random
        };
        assert_eq!(lengths("random:1..64K"), Ok(TypedLengths::Random(ends)));
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
