//! Tables in a document: GitHub-flavoured Markdown pipe tables.

use super::{Align, Table};

impl Table {
    /// Returns the table as Markdown, with a final newline.
    ///
    /// Pipe tables have one line of headings, so each heading is preceded by its group.
    pub fn to_markdown(&self) -> String {
        let mut text = String::new();
        if !self.title.is_empty() {
            text += &format!("### {}\n\n", escaped(&self.title));
        }
        if self.columns.is_empty() {
            // A title with notes; each note has its blank line.
            text.truncate(text.trim_end().len() + 1);
        } else {
            text += &self.pipes();
        }
        for note in &self.notes {
            text += &format!("\n{}\n", escaped(note));
        }
        text
    }

    fn pipes(&self) -> String {
        let heads = self.columns.iter().map(|column| {
            let both = [column.group.as_str(), &column.head];
            escaped(both.join(" / ").trim_start_matches(" / "))
        });
        let mut text = line(heads);
        text += &line(self.columns.iter().map(|column| match column.align {
            Align::Left => "---".to_owned(),
            Align::Right => "---:".to_owned(),
        }));
        for row in &self.rows {
            text += &line(row.iter().map(|entry| match &entry.beside {
                Some(beside) => format!("{} ({})", escaped(&entry.text), escaped(beside)),
                None => escaped(&entry.text),
            }));
        }
        text
    }
}

fn line(cells: impl Iterator<Item = String>) -> String {
    format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
}

/// Escapes what Markdown would read as markup; text between two backticks is code here, too.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let paired = text.matches('`').count() / 2 * 2;
    let mut ticks = 0;
    for c in text.chars() {
        let is_code = ticks % 2 == 1;
        if c == '`' && ticks < paired {
            ticks += 1;
        } else if c == '|' || !is_code && matches!(c, '*' | '_' | '`' | '<' | '[' | '\\' | '#') {
            safe.push('\\');
        }
        safe.push(c);
    }
    // The spaces that align digits in a terminal are not wanted here.
    safe.split_whitespace().collect::<Vec<_>>().join(" ")
}
