//! Rates in bits per second: `10M`, `1.5Mbit`, `1Gbit/s`. As on every link, an M is 10^6.

/// Parses a rate of at least one bit per second.
pub(crate) fn rate(typed: &str) -> Result<u64, String> {
    let refused = || {
        "not a rate; accepted: bits per second such as 10M, 1.5Mbit or 1Gbit/s, from 1K to 1T"
            .to_owned()
    };
    let digits = typed.trim_end_matches(|c: char| !c.is_ascii_digit() && c != '.');
    let unit = typed[digits.len()..].to_ascii_lowercase();
    let unit = unit
        .strip_suffix("bit/s")
        .or_else(|| unit.strip_suffix("bit"))
        .unwrap_or(&unit);
    let factor = match unit {
        "" => 1.0,
        "k" => 1e3,
        "m" => 1e6,
        "g" => 1e9,
        "t" => 1e12,
        _ => return Err(refused()),
    };
    if digits.is_empty() || !digits.chars().all(|c| c.is_ascii_digit() || c == '.') {
        return Err(refused());
    }
    let count: f64 = digits.parse().map_err(|_| refused())?;
    let bits = (count * factor).round();
    if (1e3..=1e12).contains(&bits) {
        Ok(bits as u64)
    } else {
        Err(refused())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_a_rate() {
        for typed in ["10M", "10m", "10Mbit", "10Mbit/s", "10000000", "0.01G"] {
            assert_eq!(rate(typed), Ok(10_000_000), "{typed}");
        }
    }

    #[test]
    fn a_refusal_says_what_is_accepted() {
        for typed in ["", "M", "0", "10MB", "fast", "1e9", "2T", "-10M"] {
            let line = rate(typed).unwrap_err();
            assert!(line.contains("such as 10M"), "{typed}: {line}");
        }
    }
}
