//! Whole numbers within bounds.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Returns a parser for numbers in `range`.
pub(crate) fn count<T>(range: RangeInclusive<T>) -> impl Fn(&str) -> Result<T, String> + Clone
where
    T: Copy + Display + FromStr + PartialOrd,
{
    move |typed| {
        let number = typed.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| {
            format!(
                "accepted: a whole number from {} to {}",
                range.start(),
                range.end()
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_outside_and_other_words_are_refused() {
        let parse = count(1_u16..=1024);
        assert_eq!(parse("1024"), Ok(1024));
        for typed in ["0", "1025", "70000", "-1", "x", "", "1.5"] {
            assert_eq!(
                parse(typed),
                Err("accepted: a whole number from 1 to 1024".into()),
                "{typed}"
            );
        }
    }
}
