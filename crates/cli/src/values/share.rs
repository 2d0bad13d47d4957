//! Shares of a whole: `1%` or `0.01`.

/// Parses a share of at least 0 and less than 1, as a fraction.
pub(crate) fn share(typed: &str) -> Result<f64, String> {
    let refused = |why: &str| format!("{why}; accepted: a share below 100% such as 1% or 0.01");
    let (digits, per) = match typed.strip_suffix('%') {
        Some(digits) => (digits, 100.0),
        None => (typed, 1.0),
    };
    if digits.is_empty() || !digits.chars().all(|c| c.is_ascii_digit() || c == '.') {
        return Err(refused("not a share"));
    }
    let count: f64 = digits.parse().map_err(|_| refused("not a share"))?;
    if count / per < 1.0 {
        Ok(count / per)
    } else {
        Err(refused("nothing would arrive"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn per_cent_and_fractions_say_the_same() {
        assert_eq!(share("1%"), Ok(0.01));
        assert_eq!(share("0.01"), Ok(0.01));
        assert_eq!(share("0"), Ok(0.0));
        assert_eq!(share("0.5%"), Ok(0.005));
    }

    #[test]
    fn a_refusal_says_what_is_accepted() {
        for typed in ["", "%", "1", "100%", "-1%", "one", "1e-3", "NaN"] {
            let line = share(typed).unwrap_err();
            assert!(line.contains("such as 1% or 0.01"), "{typed}: {line}");
        }
    }
}
