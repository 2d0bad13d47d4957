//! Plain columns: tables without rules, for lists whose rows are lines.

use super::Ink;

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
    /// `least`, the least important first, until the others fit; then the first column is cut.
    #[must_use]
    pub fn fitted(
        &self,
        rows: &[[String; N]],
        width: usize,
        least: &[usize],
        ink: Ink,
    ) -> Vec<String> {
        let mut widths = self.widths(rows);
        let mut columns: Vec<usize> = (0..N).collect();
        let needed = |columns: &[usize], widths: &[usize; N]| {
            columns.iter().map(|&at| widths[at] + GAP).sum::<usize>() - GAP
        };
        for out in least {
            if needed(&columns, &widths) <= width {
                break;
            }
            columns.retain(|at| at != out);
        }
        let over = needed(&columns, &widths).saturating_sub(width);
        widths[0] = widths[0].saturating_sub(over).max(NARROWEST);
        let headings = self.line(&self.headings.map(str::to_owned), &columns, &widths);
        let mut lines = vec![match ink {
            Ink::Styled => format!("{BOLD}{headings}{PLAIN}"),
            Ink::Plain => headings,
        }];
        for row in rows {
            let mut cells = row.clone();
            cells[0] = cut(&cells[0], widths[0]);
            let line = self.line(&cells, &columns, &widths);
            // What it costs stands last.
            lines.push(match (ink, line.strip_suffix(row[N - 1].as_str())) {
                (Ink::Styled, Some(rest)) => format!("{rest}{COST}{}{PLAIN}", row[N - 1]),
                _ => line,
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
            .collect(),
        false => text.to_owned(),
    }
}

/// The style of headings, as a terminal takes it.
pub const BOLD: &str = "\x1b[1m";
/// The style of costs.
const COST: &str = "\x1b[33m";
/// The end of a style.
pub const PLAIN: &str = "\x1b[0m";
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
        let lines = COLUMNS.fitted(&rows(), 36, &[1, 2], Ink::Plain);
        assert_eq!(lines[1], "a-long-name[4242]      7  280.1 ms");
        let lines = COLUMNS.fitted(&rows(), 20, &[1, 2], Ink::Plain);
        assert_eq!(lines[1], "a-long-na…  280.1 ms");
        for width in [20, 30, 40, 60] {
            let lines = COLUMNS.fitted(&rows(), width, &[1, 2], Ink::Plain);
            assert!(
                lines.iter().all(|line| line.chars().count() <= width),
                "{lines:?}"
            );
        }
    }
}
