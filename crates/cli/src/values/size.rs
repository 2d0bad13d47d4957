//! Sizes in bytes: `4096`, `4K`, `4KiB`. As in the papers, a K is 1024.

/// Parses a size of at least one byte.
pub(crate) fn size(typed: &str) -> Result<u64, String> {
    let refused =
        |why: &str| format!("{why}; accepted: bytes such as 4096, 4K or 4KiB, 1M or 1MiB");
    let digits = typed.trim_end_matches(|c: char| !c.is_ascii_digit());
    let factor: u64 = match typed[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        _ => return Err(refused("not a size")),
    };
    let count: u64 = digits.parse().map_err(|_| refused("not a size"))?;
    match count.checked_mul(factor) {
        Some(0) => Err(refused("a size of nothing")),
        Some(bytes) if bytes <= MAX => Ok(bytes),
        _ => Err(refused("more than 1G")),
    }
}

/// The largest buffer or message that makes sense: RFC 7323's largest window.
const MAX: u64 = 1 << 30;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_a_size() {
        for typed in ["4096", "4K", "4k", "4KiB", "4kib", "4096B"] {
            assert_eq!(size(typed), Ok(4096), "{typed}");
        }
        assert_eq!(size("1M"), Ok(1 << 20));
        assert_eq!(size("1"), Ok(1));
        assert_eq!(size("1G"), Ok(1 << 30));
    }

    #[test]
    fn a_refusal_says_what_is_accepted() {
        for typed in [
            "",
            "K",
            "4KB",
            "-1",
            "4.5K",
            "4 K",
            "0",
            "2G",
            "99999999999999999999",
            "٤",
        ] {
            let line = size(typed).unwrap_err();
            assert!(
                line.contains("accepted: bytes such as 4096, 4K"),
                "{typed}: {line}"
            );
        }
    }
}
