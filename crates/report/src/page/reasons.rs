//! Values grouped by a reason: the reason once, in a column wide enough to read, and its values
//! beside it (beneath it on a narrow screen).

use crate::markup::{Level, escaped, prose};
use crate::table::Tone;

/// Reasons, each with its values.
#[derive(Clone, Debug, Default)]
pub struct Reasons {
    /// The heading.
    pub title: String,
    /// The parts of a value; the first part names it.
    pub heads: Vec<String>,
    /// The reasons, in order.
    pub reasons: Vec<Reason>,
}

/// A reason with the values that it explains.
#[derive(Clone, Debug, Default)]
pub struct Reason {
    /// The number of values, with a sign that needs no colour: `≠ 12`.
    pub count: String,
    /// Its colour. The count has the same meaning.
    pub tone: Tone,
    /// The reason, in a sentence.
    pub why: String,
    /// The values, by article.
    pub places: Vec<Place>,
}

/// The values of an article.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// The article's id, to which a page links.
    pub id: String,
    /// A line for each value, with one part per head.
    pub values: Vec<Vec<String>>,
}

impl Reasons {
    /// Renders the reasons as a Markdown list, with a final newline and without the heading.
    pub fn to_markdown(&self) -> String {
        let reasons = self.reasons.iter().map(|it| it.to_markdown(&self.heads));
        reasons.collect()
    }

    pub(super) fn to_html(&self, level: Level) -> String {
        let reasons = self.reasons.iter().map(|it| it.to_html(&self.heads));
        format!(
            "{}<ul class=\"reasons\">\n{}</ul>\n",
            level.heading(&escaped(&self.title)),
            reasons.collect::<String>()
        )
    }
}

impl Reason {
    fn to_markdown(&self, heads: &[String]) -> String {
        let mut text = format!("- {} ({})\n", self.why, self.count);
        for place in &self.places {
            text += &format!("  - **{}**\n", place.id);
            for value in &place.values {
                let (name, parts) = value.split_first().expect("a value has its name");
                let parts = heads.iter().skip(1).zip(parts);
                let parts: Vec<_> = parts.map(|(head, part)| format!("{head} {part}")).collect();
                text += &format!("    - {name}: {}\n", parts.join(", "));
            }
        }
        text
    }

    fn to_html(&self, heads: &[String]) -> String {
        let places = self.places.iter().map(|it| it.to_html(heads));
        format!(
            "<li{}>\n<p><span class=\"count\">{}</span> {}</p>\n<div>\n{}</div>\n</li>\n",
            self.tone.attribute(),
            escaped(&self.count),
            prose(&self.why),
            places.collect::<String>()
        )
    }
}

impl Place {
    fn to_html(&self, heads: &[String]) -> String {
        let id = escaped(&self.id);
        let head: String = heads
            .iter()
            .map(|head| {
                format!(
                    "<th scope=\"col\" role=\"columnheader\">{}</th>",
                    escaped(head)
                )
            })
            .collect();
        let rows: String = self.values.iter().map(|value| row(heads, value)).collect();
        format!(
            "<p><a href=\"#{id}\">{id}</a></p>\n\
             <table class=\"cards\" role=\"table\" aria-label=\"{id}\">\n\
             <thead><tr role=\"row\">{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n"
        )
    }
}

fn row(heads: &[String], value: &[String]) -> String {
    let mut html = String::from("<tr role=\"row\">");
    for (at, (head, part)) in heads.iter().zip(value).enumerate() {
        let part = prose(part);
        html += &match at {
            0 => format!("<th scope=\"row\" role=\"rowheader\">{part}</th>"),
            _ => format!(
                "<td role=\"cell\" data-head=\"{}\"><span>{part}</span></td>",
                escaped(head)
            ),
        };
    }
    html + "</tr>\n"
}
