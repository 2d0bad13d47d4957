//! Quantities in a form for people.

/// Returns a size in bytes as the papers print it: `4K` for whole kibibytes, otherwise the number.
pub fn size(bytes: u64) -> String {
    const KIB: u64 = 1 << 10;
    const MIB: u64 = 1 << 20;
    match bytes {
        b if b >= MIB && b % MIB == 0 => format!("{}M", b / MIB),
        b if b >= KIB && b % KIB == 0 => format!("{}K", b / KIB),
        b => b.to_string(),
    }
}

/// Returns a count with thousands separators: `1,234,567`.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns a number with its noun: `1 write`, `20 writes`.
pub fn counted(count: u64, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        count => format!("{count} {noun}s"),
    }
}

/// Returns `ms` milliseconds after midnight as the time of day: `01:02:03.004`. Whole days are left
/// out.
pub fn clock(ms: f64) -> String {
    const DAY: i64 = 86_400_000;
    let ms = (ms.floor() as i64).rem_euclid(DAY);
    format!(
        "{:02}:{:02}:{:02}.{:03}",
        ms / 3_600_000,
        ms / 60_000 % 60,
        ms / 1_000 % 60,
        ms % 1_000
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_as_in_the_papers() {
        let spelled: Vec<_> = [1, 1023, 1024, 1460, 4096, 131_072, 1 << 20, 0]
            .map(size)
            .into();
        assert_eq!(
            spelled,
            ["1", "1023", "1K", "1460", "4K", "128K", "1M", "0"]
        );
    }

    #[test]
    fn thousands_stand_apart() {
        assert_eq!(
            [0, 999, 1000, 1_234_567].map(grouped),
            ["0", "999", "1,000", "1,234,567"]
        );
    }

    #[test]
    fn a_day_begins_again_at_midnight() {
        assert_eq!(
            [0.0, 3_723_004.9, 86_400_000.0, -1.0].map(clock),
            [
                "00:00:00.000",
                "01:02:03.004",
                "00:00:00.000",
                "23:59:59.999"
            ]
        );
    }
}
