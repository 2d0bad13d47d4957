//! A table for a page: headings that screen readers can follow, entries that open figures.

use super::{Align, Entry, Table};
use crate::page::escaped;

impl Table {
    /// Renders the table as an HTML fragment: its title, a scrollable region, the notes.
    pub(crate) fn to_html(&self) -> String {
        let name = escaped(&self.title);
        let mut html = format!("<h2>{name}</h2>\n");
        if !self.columns.is_empty() {
            html += &self.grid(&name);
        }
        for note in &self.notes {
            html += &format!("<p class=\"note\">{}</p>\n", escaped(note));
        }
        html
    }

    fn grid(&self, name: &str) -> String {
        let mut html = format!(
            "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{name}\">\n\
             <table aria-label=\"{name}\">\n<thead>\n"
        );
        if self.is_grouped() {
            html += &format!(
                "<tr><th scope=\"row\">{}</th>",
                escaped(&self.columns[0].group)
            );
            for (group, start, end) in self.groups() {
                let scope = if group.is_empty() {
                    ""
                } else {
                    " scope=\"colgroup\""
                };
                let class = " class=\"first\"";
                html += &format!(
                    "<th colspan=\"{}\"{scope}{class}>{}</th>",
                    end - start,
                    escaped(group)
                );
            }
            html += "</tr>\n";
        }
        html += "<tr>";
        for (at, column) in self.columns.iter().enumerate() {
            html += &format!(
                "<th scope=\"col\"{}>{}</th>",
                self.class(at),
                escaped(&column.head)
            );
        }
        html += "</tr>\n</thead>\n<tbody>\n";
        for row in &self.rows {
            html += "<tr>";
            for (at, entry) in row.iter().enumerate() {
                let (tag, scope) = if at == 0 {
                    ("th", " scope=\"row\"")
                } else {
                    ("td", "")
                };
                html += &format!(
                    "<{tag}{scope}{}{}>{}</{tag}>",
                    self.class(at),
                    weight(entry),
                    content(entry)
                );
            }
            html += "</tr>\n";
        }
        html += "</tbody>\n</table>\n</div>\n";
        html
    }

    /// Where the column's entries stand, and whether a group begins there.
    fn class(&self, at: usize) -> String {
        let first = at > 0 && (at == 1 || self.columns[at].group != self.columns[at - 1].group);
        let names = match (first, self.columns[at].align) {
            (true, Align::Right) => "first right",
            (true, Align::Left) => "first",
            (false, Align::Right) => "right",
            (false, Align::Left) => return String::new(),
        };
        format!(" class=\"{names}\"")
    }
}

fn weight(entry: &Entry) -> String {
    if entry.weight > 0.0 {
        format!(" style=\"--weight:{:.2}\"", entry.weight)
    } else {
        String::new()
    }
}

fn content(entry: &Entry) -> String {
    let text = escaped(entry.text.trim());
    let mut html = match &entry.opens {
        Some(id) => format!(
            "<button type=\"button\" data-opens=\"{}\" title=\"Show its transfers\">{text}</button>",
            escaped(id)
        ),
        None => text,
    };
    if let Some(beside) = &entry.beside {
        html += &format!("<small>{}</small>", escaped(beside.trim()));
    }
    html
}
