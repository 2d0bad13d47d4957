//! An outcome's rows as tables: a grid as in the paper, or a line each.

use tinygram_papers::experiment::{Layout, Outcome, Row, Status};
use tinygram_papers::value::{PaperValue, Tolerance};
use tinygram_papers::{Source, Standard};
use tinygram_report::{Align, Column, Entry, Table};

use super::words;

/// Returns the tables of the rows that are compared with the paper, in the rows' order. Rows whose
/// cells have the same part names share a table.
pub(super) fn tables(outcome: &Outcome) -> Vec<Table> {
    of_rows(outcome, |row| row.standard.is_some())
}

/// Returns the tables of what the paper does not contain.
pub(super) fn beyond(outcome: &Outcome) -> Vec<Table> {
    of_rows(outcome, |row| row.standard.is_none())
}

fn of_rows(outcome: &Outcome, wanted: impl Fn(&Row) -> bool) -> Vec<Table> {
    let mut tables = Vec::new();
    for rows in kinds(outcome.rows.iter().filter(|row| wanted(row))) {
        match outcome.layout {
            Layout::Grid { down, across } if has_all(rows[0], down) && has_all(rows[0], across) => {
                tables.extend(grids(&rows, down, across));
            }
            _ => tables.push(list(&rows)),
        }
    }
    tables
}

/// Groups rows by the part names of their cells.
fn kinds<'a>(rows: impl Iterator<Item = &'a Row>) -> Vec<Vec<&'a Row>> {
    grouped(rows, |row| {
        row.cell.iter().map(|(name, _)| *name).collect::<Vec<_>>()
    })
}

fn has_all(row: &Row, names: &[&str]) -> bool {
    names
        .iter()
        .all(|name| row.cell.iter().any(|(own, _)| own == name))
}

/// Returns a line for each row: its cell, the paper's value, the reproduced value, and the
/// tolerance.
fn list(rows: &[&Row]) -> Table {
    let names = rows[0].cell.iter();
    let mut columns: Vec<Column> = names
        .map(|(name, _)| Column::words(words::key(name)))
        .collect();
    let is_text = |row: &&&Row| matches!(row.reproduced, PaperValue::Text(_));
    let align = match rows.iter().any(|row| is_text(&row)) {
        true => Align::Left,
        false => Align::Right,
    };
    for head in ["paper", "ours", "allowed"] {
        columns.push(Column::new(head, align));
    }
    columns.push(Column::words("verdict"));
    let line = |row: &&Row| {
        let mut line: Vec<Entry> = row
            .cell
            .iter()
            .map(|(_, value)| Entry::new(words::part(value)))
            .collect();
        line.push(Entry::new(printed(row)));
        line.push(Entry {
            text: row.reproduced.to_string(),
            tone: words::tone(row.status()),
            weight: weight(row),
            ..Entry::default()
        });
        line.push(Entry::new(allowed(row)));
        line.push(Entry::new(verdict(row)));
        line
    };
    Table {
        columns,
        rows: rows.iter().map(line).collect(),
        ..Table::default()
    }
}

/// Returns a grid for each set of values of the cells' other parts.
fn grids(rows: &[&Row], down: &[&str], across: &[&str]) -> Vec<Table> {
    let others = |row: &Row| -> Vec<String> {
        let is_other = |name: &str| !down.contains(&name) && !across.contains(&name);
        let others = row.cell.iter().filter(|(name, _)| is_other(name));
        others
            .map(|(name, value)| format!("{}: {}", words::key(name), words::part(value)))
            .collect()
    };
    let sets = grouped(rows.iter().copied(), |row| others(row));
    sets.iter()
        .map(|rows| grid(others(rows[0]).join(", "), rows, down, across))
        .collect()
}

fn grid(title: String, rows: &[&Row], down: &[&str], across: &[&str]) -> Table {
    let lines = distinct(rows.iter().map(|row| parts(row, down)));
    let heads = distinct(rows.iter().map(|row| parts(row, across)));
    let names = |keys: &[&str]| keys.iter().map(|key| words::key(key)).collect::<Vec<_>>();
    let (outer, inner) = across.split_at(across.len() - 1);
    // A single name across is the heading of all columns; with several, each group has its value.
    let corner = format!(
        "{} \\ {}",
        names(down).join(" / "),
        names(inner).join(" / ")
    );
    let over_it = names(if outer.is_empty() { &[] } else { outer }).join(" / ");
    let mut columns = vec![Column::words(corner).in_group(over_it)];
    columns.extend(heads.iter().map(|head| {
        let (outer, inner) = head.split_at(outer.len());
        Column::numbers(inner.join(" / ")).in_group(outer.join(" / "))
    }));
    let entry = |line: &[String], head: &[String]| {
        let is_it = |row: &&&Row| parts(row, down) == line && parts(row, across) == head;
        rows.iter()
            .find(is_it)
            .map_or_else(|| Entry::new("-"), |row| compared(row))
    };
    let row = |line: &Vec<String>| {
        let mut row = vec![Entry::new(line.join(" / "))];
        let is_printed = |row: &&Row| row.source() == Some(Source::Printed);
        if rows.iter().any(is_printed) {
            row[0].beside = Some("  paper".into());
        }
        row.extend(heads.iter().map(|head| entry(line, head)));
        row
    };
    Table {
        title,
        rows: lines.iter().map(row).collect(),
        columns,
        notes: Vec::new(),
    }
}

/// Returns the reproduced value with its sign, and the value that it is held to beside it.
fn compared(row: &Row) -> Entry {
    let status = row.status();
    Entry {
        text: format!("{} {}", row.reproduced, words::sign(status))
            .trim_end()
            .into(),
        // As wide as the reproduced value with its sign, so that digits are aligned.
        beside: words::standard(row).map(|value| format!("{value}  ")),
        tone: words::tone(status),
        weight: weight(row),
        opens: None,
    }
}

/// Returns the result of a row in words, and the reason, if it is known.
fn verdict(row: &Row) -> String {
    let status = row.status();
    let word = format!("{} {}", words::sign(status), words::status(status));
    match words::reason(row) {
        Some(why) if status == Status::KnownMismatch => format!("{word}: {why}"),
        _ => word.trim().to_owned(),
    }
}

/// Returns the value that the paper prints.
fn printed(row: &Row) -> String {
    match &row.standard {
        Some(it) if it.source == Source::Printed => it.value.to_string(),
        _ => "-".into(),
    }
}

/// Returns how far the value may be from the paper's; or the wanted value, if the paper does not
/// print it.
fn allowed(row: &Row) -> String {
    let Some(Standard { value, source }) = &row.standard else {
        return "-".into();
    };
    match (source, row.tolerance) {
        (Source::Printed, tolerance) => words::tolerance(tolerance),
        (Source::Derived, Tolerance::Exact | Tolerance::Unbounded) => format!("wanted {value}"),
        (Source::Derived, range @ Tolerance::Between(..)) => {
            format!("wanted {}", words::tolerance(range))
        }
        (Source::Derived, tolerance) => format!("wanted {value} {}", words::tolerance(tolerance)),
        (Source::Bound, _) => format!("at most {}", row.most()),
    }
}

/// Returns how much of its tolerance a row uses: 0 for nothing, 1 for all of it or more.
fn weight(row: &Row) -> f64 {
    let numbers = row.held_to().and_then(PaperValue::number);
    let (Some(paper), Some(ours)) = (numbers, row.reproduced.number()) else {
        return match row.status() {
            Status::KnownMismatch | Status::Miss => 1.0,
            _ => 0.0,
        };
    };
    match row.status() {
        Status::KnownMismatch | Status::Miss => 1.0,
        _ => words::allowed(row.tolerance, paper).map_or(0.0, |(low, high)| {
            let room = if ours < paper {
                paper - low
            } else {
                high - paper
            };
            if room > 0.0 {
                ((ours - paper).abs() / room).clamp(0.0, 1.0)
            } else {
                0.0
            }
        }),
    }
}

fn parts(row: &Row, names: &[&str]) -> Vec<String> {
    let part = |name: &&str| {
        let of_it = row.cell.iter().find(|(own, _)| own == name);
        of_it.map_or_else(String::new, |(_, value)| words::part(value))
    };
    names.iter().map(part).collect()
}

/// Groups items with equal keys, in order of first appearance.
fn grouped<T, K: PartialEq>(items: impl Iterator<Item = T>, key: impl Fn(&T) -> K) -> Vec<Vec<T>> {
    let mut groups: Vec<(K, Vec<T>)> = Vec::new();
    for item in items {
        let own = key(&item);
        match groups.iter_mut().find(|(key, _)| *key == own) {
            Some((_, group)) => group.push(item),
            None => groups.push((own, vec![item])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

fn distinct<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut kept = Vec::new();
    for item in items {
        if !kept.contains(&item) {
            kept.push(item);
        }
    }
    kept
}
