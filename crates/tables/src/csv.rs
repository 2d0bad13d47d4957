//! Rows as CSV (RFC 4180, with `\n` line ends): for spreadsheets, and for people.

use crate::rows::{Rows, Value};

impl Rows {
    /// Returns the rows as CSV, the columns' names first. A null is empty, a time is that of RFC 3339 in
    /// UTC, the items of a list are separated by `; `. Text that a spreadsheet would take for a formula
    /// begins with an apostrophe.
    #[must_use]
    pub fn to_csv(&self) -> String {
        let names = self.table().columns.iter().map(|it| it.name.to_owned());
        let mut text = line(names);
        for row in self.rows() {
            text += &line(row.iter().map(cell));
        }
        text
    }
}

fn line(cells: impl Iterator<Item = String>) -> String {
    let cells: Vec<_> = cells.map(|it| quoted(&it)).collect();
    cells.join(",") + "\n"
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Text(text) => harmless(text),
        Value::Bool(is) => is.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Time(microseconds) => time(*microseconds),
        Value::Texts(texts) => harmless(&texts.join("; ")),
        Value::Ints(numbers) => {
            let numbers: Vec<_> = numbers.iter().map(i64::to_string).collect();
            numbers.join("; ")
        }
    }
}

/// Returns text that no spreadsheet runs as a formula, whatever a file is called.
fn harmless(text: &str) -> String {
    match text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        true => format!("'{text}"),
        false => text.to_owned(),
    }
}

fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

/// Returns a time as RFC 3339 writes it: `2026-11-24T09:26:46.010308Z`.
fn time(microseconds: i64) -> String {
    let (days, of_day) = (microseconds.div_euclid(DAY), microseconds.rem_euclid(DAY));
    let (year, month, day) = date(days);
    let (seconds, fraction) = (of_day / 1_000_000, of_day % 1_000_000);
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    format!(
        "{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{:02}.{fraction:06}Z",
        seconds % 60
    )
}

/// Returns the Gregorian date of a day, counted from 1970-01-01. Years begin in March here, so that the
/// leap day is a year's last.
fn date(days: i64) -> (i64, i64, i64) {
    let since_0000_03_01 = days + 719_468;
    let era = since_0000_03_01.div_euclid(DAYS_OF_400_YEARS);
    let of_era = since_0000_03_01.rem_euclid(DAYS_OF_400_YEARS);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day)
}

/// Microseconds.
const DAY: i64 = 86_400_000_000;
const DAYS_OF_400_YEARS: i64 = 146_097;

#[cfg(test)]
mod tests {
    use super::{date, harmless, quoted, time};

    #[test]
    fn times_are_those_of_the_calendar() {
        assert_eq!(time(0), "1970-01-01T00:00:00.000000Z");
        assert_eq!(time(-1), "1969-12-31T23:59:59.999999Z");
        assert_eq!(time(951_782_400_000_000), "2000-02-29T00:00:00.000000Z");
        assert_eq!(time(1_764_000_000_123_456), "2025-11-24T16:00:00.123456Z");
    }

    #[test]
    fn each_day_follows_the_one_before() {
        let mut before = date(-800_000);
        for day in -799_999..800_000 {
            let (year, month, day) = date(day);
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let lengths = [
                31,
                if leap { 29 } else { 28 },
                31,
                30,
                31,
                30,
                31,
                31,
                30,
                31,
                30,
                31,
            ];
            assert!((1..=lengths[month as usize - 1]).contains(&day));
            let (y, m, d) = before;
            let next = match (m, d) {
                (12, 31) => (y + 1, 1, 1),
                _ if (year, month) == (y, m) => (y, m, d + 1),
                _ => (y, m + 1, 1),
            };
            assert_eq!((year, month, day), next);
            before = next;
        }
    }

    #[test]
    fn text_is_neither_markup_nor_formula() {
        assert_eq!(quoted("a,b"), "\"a,b\"");
        assert_eq!(quoted("say \"no\"\n"), "\"say \"\"no\"\"\n\"");
        assert_eq!(harmless("=cmd|' /C calc'!A0"), "'=cmd|' /C calc'!A0");
        assert_eq!(harmless("plain"), "plain");
    }
}
