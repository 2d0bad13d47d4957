//! Plain columns: tables without rules, for lists whose rows are lines.

use anstyle::Style;

use super::Ink;
use super::styles::{BOLD, styled};

/// The columns of a table.
#[derive(Clone, Copy, Debug)]
pub struct Columns<const N: usize> {
    /// What stands above each.
    pub headings: [&'static str; N],
    /// Which are aligned left: words are, and numbers are not.
    pub left: [bool; N],
}

impl<const N: usize> Columns<N> {
    /// Returns the headings and the rows as lines. If they are wider than `width`, each goes on in a further line, all
    /// of them from the same column on.
    #[must_use]
    pub fn lines(&self, rows: &[[String; N]], width: usize) -> Vec<String> {
        let widths = self.widths(rows);
        let mut pieces: Vec<Vec<usize>> = vec![Vec::new()];
        let mut taken = 0;
        for (at, cell) in widths.iter().enumerate() {
            if taken > INDENT && taken + cell > width {
                pieces.push(Vec::new());
                taken = INDENT;
            }
            taken += cell + GAP;
            pieces.last_mut().expect("at least one").push(at);
        }
        let line = |cells: &[String; N]| {
            let lines = pieces.iter().enumerate().map(|(nth, columns)| {
                let indent = if nth == 0 { 0 } else { INDENT };
                format!("{:indent$}{}", "", self.line(cells, columns, &widths))
            });
            lines.collect::<Vec<_>>().join("\n")
        };
        let headings = self.headings.map(str::to_owned);
        std::iter::once(&headings).chain(rows).map(line).collect()
    }

    /// Returns the headings and the rows, each in one line of at most `width`. Columns are left out in the order of
    /// `least`, the least important first, until the others fit, but never all; then the first that is left is cut, and at
    /// last the lines are. With ink, the headings are bold, and the last column, where it is not cut, has the style `last`.
    #[must_use]
    pub fn fitted(
        &self,
        rows: &[[String; N]],
        width: usize,
        least: &[usize],
        (ink, last): (Ink, Style),
    ) -> Vec<String> {
        let mut widths = self.widths(rows);
        let mut columns: Vec<usize> = (0..N).collect();
        let needed = |columns: &[usize], widths: &[usize; N]| {
            let cells = columns.iter().map(|&at| widths[at] + GAP);
            cells.sum::<usize>().saturating_sub(GAP)
        };
        for out in least {
            if columns.len() == 1 || needed(&columns, &widths) <= width {
                break;
            }
            columns.retain(|at| at != out);
        }
        let over = needed(&columns, &widths).saturating_sub(width);
        let first = columns.first().copied();
        if let Some(first) = first {
            let narrowest = if columns.len() == 1 { 0 } else { NARROWEST };
            let width = widths[first];
            widths[first] = width.saturating_sub(over).max(narrowest.min(width));
        }
        let fitted = |cells: &[String; N]| {
            let mut cells = cells.clone();
            if let Some(first) = first {
                cells[first] = cut(&cells[first], widths[first]);
            }
            cut(&self.line(&cells, &columns, &widths), width)
        };
        let headings = fitted(&self.headings.map(str::to_owned));
        let mut lines = vec![styled(&headings, BOLD, ink)];
        for row in rows {
            let line = fitted(row);
            let ends = row.last().filter(|_| columns.last() == Some(&(N - 1)));
            lines.push(match ends.and_then(|end| line.strip_suffix(end.as_str())) {
                Some(rest) => format!("{rest}{}", styled(&line[rest.len()..], last, ink)),
                None => line,
            });
        }
        lines
    }

    fn widths(&self, rows: &[[String; N]]) -> [usize; N] {
        let mut widths = self.headings.map(str::len);
        for row in rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        widths
    }

    fn line(&self, cells: &[String; N], columns: &[usize], widths: &[usize; N]) -> String {
        let mut line = String::new();
        for &at in columns {
            let (cell, width) = (&cells[at], widths[at]);
            line += &match self.left[at] {
                true => format!("{cell:<width$}"),
                false => format!("{cell:>width$}"),
            };
            line += "  ";
        }
        line.trim_end().to_owned()
    }
}

/// Returns `text` in at most `width` characters.
#[must_use]
pub fn cut(text: &str, width: usize) -> String {
    match text.chars().count() > width {
        true => text
            .chars()
            .take(width.saturating_sub(1))
            .chain(['…'])
            .take(width)
            .collect(),
        false => text.to_owned(),
    }
}

/// Between two columns.
const GAP: usize = 2;
/// Before what goes on.
const INDENT: usize = 4;
/// What is left of a column that is cut.
const NARROWEST: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: Columns<4> = Columns {
        headings: ["NAME", "PEER", "COUNT", "TOTAL"],
        left: [true, true, false, false],
    };

    const PLAIN: (Ink, Style) = (Ink::Plain, Style::new());

    fn rows() -> [[String; 4]; 2] {
        [
            ["a-long-name[4242]", "10.0.0.1", "7", "280.1 ms"],
            ["b", "2001:db8::1", "12345", "1.5 s"],
        ]
        .map(|row| row.map(str::to_owned))
    }

    #[test]
    fn a_table_that_is_too_wide_goes_on_at_the_same_column() {
        assert_eq!(
            COLUMNS.lines(&rows(), 40),
            [
                "NAME               PEER         COUNT\n       TOTAL",
                "a-long-name[4242]  10.0.0.1         7\n    280.1 ms",
                "b                  2001:db8::1  12345\n       1.5 s",
            ]
        );
        assert!(
            COLUMNS
                .lines(&rows(), usize::MAX)
                .iter()
                .all(|row| !row.contains('\n'))
        );
    }

    #[test]
    fn a_screen_leaves_out_what_matters_least_and_then_cuts_the_first() {
        let lines = COLUMNS.fitted(&rows(), 36, &[1, 2], PLAIN);
        assert_eq!(lines[1], "a-long-name[4242]      7  280.1 ms");
        let lines = COLUMNS.fitted(&rows(), 20, &[1, 2], PLAIN);
        assert_eq!(lines[1], "a-long-na…  280.1 ms");
        for width in (0..=30).chain([40, 60]) {
            let lines = COLUMNS.fitted(&rows(), width, &[1, 2], PLAIN);
            assert!(
                lines.iter().all(|line| line.chars().count() <= width),
                "{lines:?}"
            );
        }
    }

    #[test]
    fn a_column_is_left_whatever_may_be_left_out() {
        let lines = COLUMNS.fitted(&rows(), 3, &[1, 2, 0, 3], PLAIN);
        assert_eq!(lines, ["TO…", "28…", "1.…"]);
        let lines = COLUMNS.fitted(&rows(), 3, &[3, 2, 1, 0, 0], PLAIN);
        assert_eq!(lines, ["NA…", "a-…", "b"]);
    }

    #[test]
    fn headings_are_bold_and_the_last_column_has_its_own_style_while_it_is_whole() {
        let dim = (Ink::Styled, Style::new().dimmed());
        let lines = COLUMNS.fitted(&rows(), 20, &[1, 2], dim);
        assert_eq!(lines[0], "\u{1b}[1mNAME           TOTAL\u{1b}[0m");
        assert_eq!(lines[1], "a-long-na…  \u{1b}[2m280.1 ms\u{1b}[0m");
        let lines = COLUMNS.fitted(&rows(), 12, &[1, 2], dim);
        assert_eq!(lines[1], "a-long-…  2…");
        // A column that happens to end like the one that is left out.
        let rows = [["b", "x", "7", "7"].map(str::to_owned)];
        let lines = COLUMNS.fitted(&rows, 12, &[3, 1], dim);
        assert_eq!(lines[1], "b         7");
    }
}
