//! Tables on a page: headings that screen readers can follow, and entries that open figures.

use super::{Align, Entry, Table, Tone};
use crate::markup::{Level, escaped, prose};

impl Table {
    /// Returns the table as an HTML fragment: its title, a scrollable region, the notes.
    pub(crate) fn to_html(&self, level: Level) -> String {
        let name = escaped(&self.title);
        let mut html = level.heading(&name);
        if !self.columns.is_empty() {
            html += &self.grid(&name);
        }
        for note in &self.notes {
            html += &format!("<p class=\"note\">{}</p>\n", prose(note));
        }
        html
    }

    fn grid(&self, name: &str) -> String {
        // A heading above describes a table without a title.
        let label = match name {
            "" => String::new(),
            name => format!(" role=\"region\" aria-label=\"{name}\""),
        };
        let cards = self.makes_cards();
        // Cards are no longer laid out as a table, so their roles must be stated.
        let role = |role: &str| match cards {
            true => format!(" role=\"{role}\""),
            false => String::new(),
        };
        let mut html = format!(
            "<div class=\"scroll\"{label} tabindex=\"0\">\n<table{}{}>\n<thead>\n",
            self.kind(),
            role("table")
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
        html += &format!("<tr{}>", role("row"));
        for (at, column) in self.columns.iter().enumerate() {
            html += &format!(
                "<th scope=\"col\"{}{}>{}</th>",
                role("columnheader"),
                self.class(at),
                escaped(&column.head)
            );
        }
        html += "</tr>\n</thead>\n<tbody>\n";
        for row in &self.rows {
            html += &format!("<tr{}>", role("row"));
            for (at, entry) in row.iter().enumerate() {
                let (tag, scope) = match at {
                    0 => ("th", format!(" scope=\"row\"{}", role("rowheader"))),
                    _ if cards => {
                        let head = escaped(&self.columns[at].head);
                        ("td", format!("{} data-head=\"{head}\"", role("cell")))
                    }
                    _ => ("td", String::new()),
                };
                let content = match cards && at > 0 {
                    true => format!("<span>{}</span>", content(entry)),
                    false => content(entry),
                };
                html += &format!(
                    "<{tag}{scope}{}{}{}>{content}</{tag}>",
                    self.class(at),
                    entry.tone.attribute(),
                    weight(entry),
                );
            }
            html += "</tr>\n";
        }
        html += "</tbody>\n</table>\n</div>\n";
        html
    }

    /// Returns the table's classes for the style sheet. In a table of words the rows' names are
    /// words, too, and need room.
    fn kind(&self) -> &'static str {
        match (self.makes_cards(), self.has_words()) {
            (true, _) => " class=\"words cards\"",
            (false, true) => " class=\"words\"",
            (false, false) => "",
        }
    }

    fn has_words(&self) -> bool {
        let mut others = self.columns.iter().skip(1);
        others.any(|column| column.align == Align::Left)
    }

    /// Returns whether the rows become cards on a narrow screen. Those of a table of words do:
    /// words in several columns would have a few letters per line, or be outside the screen.
    fn makes_cards(&self) -> bool {
        self.has_words() && self.columns.len() > 2 && !self.is_grouped()
    }

    /// Returns the column's classes for the style sheet: the alignment of its entries, and whether
    /// a group begins there.
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
    // A page's policy allows no style in an attribute, so the style sheet knows twenty weights.
    match (entry.weight * WEIGHTS).round() as i64 {
        ..1 => String::new(),
        weight => format!(" data-weight=\"{}\"", weight.min(WEIGHTS as i64)),
    }
}

impl Tone {
    /// Returns the attribute that the style sheet reads.
    pub(crate) fn attribute(self) -> String {
        match self {
            Self::Plain => String::new(),
            tone => format!(" data-tone=\"{}\"", tone.name()),
        }
    }

    /// Returns the name in the style sheet and the scripts.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Good => "good",
            Self::Fair => "fair",
            Self::Odd => "odd",
            Self::Bad => "bad",
        }
    }
}

const WEIGHTS: f64 = 20.0;

fn content(entry: &Entry) -> String {
    let text = prose(entry.text.trim());
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
