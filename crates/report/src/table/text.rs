//! Tables in a terminal, with rules only where they separate something.

use anstyle::Style;
use tabled::builder::Builder;
use tabled::settings::formatting::AlignmentStrategy;
use tabled::settings::object::{Columns, Object, Rows};
use tabled::settings::style::{HorizontalLine, VerticalLine};
use tabled::settings::themes::Theme;
use tabled::settings::{Alignment, Modify, Padding, Span, Style as Rules};

use super::styles::{BOLD, DIM, styled};
use super::{Align, Ink, Table};

impl Table {
    /// Returns the table within `width` columns, with a final newline.
    ///
    /// A table that is too wide is broken between groups of columns into panels, one beneath the
    /// other, each of which repeats the first column. If a single group is still too wide, its
    /// widest columns are wrapped between words; and if these became too narrow to be read, each row is a
    /// list, with an entry a line.
    pub fn to_text(&self, width: usize, ink: Ink) -> String {
        let mut text = String::new();
        if !self.title.is_empty() {
            let hanging = between_words(width).subsequent_indent("  ");
            for line in textwrap::wrap(&self.title, hanging) {
                text += &styled(&line, BOLD, ink);
                text += "\n";
            }
        }
        let panels = self.panels(width);
        if !text.is_empty() && !panels.is_empty() {
            text += "
";
        }
        text += &panels
            .iter()
            .map(|panel| self.panel(panel, width, ink))
            .collect::<Vec<_>>()
            .join("\n");
        for note in &self.notes {
            text += "\n";
            let hanging = between_words(width)
                .initial_indent(" ")
                .subsequent_indent("   ");
            text += &textwrap::fill(note, hanging);
        }
        if !self.notes.is_empty() {
            text += "\n";
        }
        text
    }

    /// Returns the columns of each panel, so that each panel fits, as runs of column numbers.
    fn panels(&self, width: usize) -> Vec<Vec<usize>> {
        if self.columns.is_empty() {
            return Vec::new();
        }
        let mut panels: Vec<Vec<usize>> = Vec::new();
        let mut current = vec![0];
        for (_, start, end) in self.groups() {
            let mut wider = current.clone();
            wider.extend(start..end);
            if current.len() > 1 && !fits(&self.draw(&wider, usize::MAX, Ink::Plain), width) {
                panels.push(std::mem::replace(&mut current, vec![0]));
                current.extend(start..end);
            } else {
                current = wider;
            }
        }
        panels.push(current);
        panels
    }

    /// Draws one panel; its widest entries are wrapped as far as necessary.
    fn panel(&self, columns: &[usize], width: usize, ink: Ink) -> String {
        let narrow_enough = |&limit: &usize| fits(&self.draw(columns, limit, Ink::Plain), width);
        let limit = [usize::MAX]
            .into_iter()
            .chain((NARROWEST..WIDEST).rev())
            .find(narrow_enough);
        match limit {
            Some(limit) => self.draw(columns, limit, ink),
            None => self.lists(columns, width, ink),
        }
    }

    /// Returns each row as a list: its name, and beneath it the other entries, each behind its heading.
    fn lists(&self, columns: &[usize], width: usize, ink: Ink) -> String {
        let mut text = String::new();
        for row in &self.rows {
            for (at, &c) in columns.iter().enumerate() {
                let entry = &row[c];
                if at == 0 {
                    text += &format!(" {}\n", styled(&entry.text, BOLD, ink));
                    continue;
                }
                if entry.text.is_empty() {
                    continue;
                }
                let beside = entry.beside.as_deref().unwrap_or_default();
                let line = format!("{}: {} {beside}", self.columns[c].head, entry.text);
                let hanging = between_words(width)
                    .initial_indent("   ")
                    .subsequent_indent("     ");
                text += &textwrap::fill(line.trim_end(), hanging);
                text.push('\n');
            }
        }
        text
    }

    /// Draws the columns, with no entry wider than `limit`.
    fn draw(&self, columns: &[usize], limit: usize, ink: Ink) -> String {
        let mut builder = Builder::default();
        if self.is_grouped() {
            builder.push_record(
                columns
                    .iter()
                    .map(|&c| styled(&self.columns[c].group, BOLD, ink)),
            );
        }
        builder.push_record(
            columns
                .iter()
                .map(|&c| styled(&self.columns[c].head, BOLD, ink)),
        );
        for row in &self.rows {
            builder.push_record(columns.iter().map(|&c| {
                let entry = &row[c];
                let style = if entry.weight >= HEAVY {
                    BOLD
                } else {
                    Style::new()
                };
                let text = textwrap::fill(&entry.text, between_words(limit));
                let mut text = styled(&text, style, ink);
                if let Some(beside) = &entry.beside {
                    text += "\n";
                    text += &styled(beside, DIM, ink);
                }
                text
            }));
        }

        let heads = if self.is_grouped() { 2 } else { 1 };
        let mut table = builder.build();
        let mut theme = Theme::from_style(Rules::empty());
        theme.insert_horizontal_line(heads, HorizontalLine::full('─', '┼', '─', '─'));
        let mut previous = None;
        for (at, &c) in columns.iter().enumerate() {
            let group = (c > 0).then(|| self.columns[c].group.as_str());
            if at > 0 && group != previous {
                theme.insert_vertical_line(at, VerticalLine::new('│').intersection('┼'));
            }
            previous = group;
        }
        table
            .with(theme)
            .with(Padding::new(1, 1, 0, 0))
            .with(AlignmentStrategy::PerLine);
        for (at, &c) in columns.iter().enumerate() {
            if self.columns[c].align == Align::Right {
                table.with(Modify::new(Columns::one(at)).with(Alignment::right()));
            }
        }
        if self.is_grouped() {
            let mut at = 1;
            while at < columns.len() {
                let group = &self.columns[columns[at]].group;
                let run = columns[at..]
                    .iter()
                    .take_while(|&&c| self.columns[c].group == *group)
                    .count();
                if !group.is_empty() {
                    table.with(
                        Modify::new(Rows::first().intersect(Columns::one(at)))
                            .with(Span::column(run as isize))
                            .with(Alignment::center()),
                    );
                }
                at += run;
            }
        }
        let drawn = table.to_string();
        let lines: Vec<_> = drawn.lines().map(str::trim_end).collect();
        lines.join("\n") + "\n"
    }
}

/// Returns options that break lines only between words: names keep their hyphens and slashes.
fn between_words<'a>(width: usize) -> textwrap::Options<'a> {
    textwrap::Options::new(width)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .break_words(false)
}

fn fits(drawn: &str, width: usize) -> bool {
    drawn.lines().all(|line| line.chars().count() <= width)
}

/// Entries that must be wrapped get less than this width, and at least the next one.
const WIDEST: usize = 100;
const NARROWEST: usize = 16;
/// The weight from which an entry is bold.
const HEAVY: f64 = 0.5;

#[cfg(test)]
mod tests {
    use super::super::{Column, Entry};
    use super::*;

    fn table() -> Table {
        let words = "hold a runt while anything is unacknowledged";
        Table {
            columns: [
                "Policy",
                "What it does",
                "Where it is from",
                "What it needs to know",
            ]
            .map(Column::words)
            .into(),
            rows: [
                ["NAGLE", words, "section 3", ""],
                ["FLUSH-ON-BLOCK-EAGER", words, words, "a clock"],
            ]
            .map(|row| row.map(Entry::new).into())
            .into(),
            title:
                "Send policies: when a segment below the MSS may leave, and what each needs to know"
                    .into(),
            ..Table::default()
        }
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for width in 60..200 {
            let drawn = table().to_text(width, Ink::Plain);
            assert!(fits(&drawn, width), "{width}:\n{drawn}");
            for said in ["NAGLE", "FLUSH-ON-BLOCK-EAGER", "section 3", "a clock"] {
                assert!(drawn.contains(said), "{width}:\n{drawn}");
            }
        }
    }

    #[test]
    fn rows_whose_columns_would_be_too_narrow_are_lists() {
        assert_eq!(
            table().to_text(60, Ink::Plain),
            "Send policies: when a segment below the MSS may leave, and
  what each needs to know

 NAGLE
   What it does: hold a runt while anything is
     unacknowledged
   Where it is from: section 3
 FLUSH-ON-BLOCK-EAGER
   What it does: hold a runt while anything is
     unacknowledged
   Where it is from: hold a runt while anything is
     unacknowledged
   What it needs to know: a clock
"
        );
    }
}
