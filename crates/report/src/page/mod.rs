//! A self-contained HTML page: it makes no request, and its policy forbids any.

mod article;
mod reasons;

pub use article::{Article, Badge, Part};
use base64::prelude::{BASE64_STANDARD, Engine as _};
pub use reasons::{Place, Reason, Reasons};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::chart::Chart;
use crate::markup::{Level, escaped, prose};
use crate::table::{Table, Tone};

/// A page as data.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The heading and the window's title.
    pub title: String,
    /// A paragraph beneath the heading: what this is and how to read it.
    pub lead: String,
    /// The sections, in order. A [`Section::Verdict`] at the beginning is shown before the
    /// contents.
    pub sections: Vec<Section>,
    /// What made the page, shown at its end: program, version, date, command line. Left out if
    /// empty.
    pub origin: String,
}

/// A part of a page.
#[derive(Clone, Debug)]
pub enum Section {
    /// A table with its title and its notes.
    Table(Table),
    /// A chapter: its articles follow, and the page's navigation lists them beneath it.
    Part(Part),
    /// A unit with a heading of its own.
    Article(Article),
    /// A chart in which the reader can hover and zoom; entries of the tables above may open its
    /// series.
    Chart(Chart),
    /// Values grouped by the reason why they are listed.
    Reasons(Reasons),
    /// Lines that keep their spaces, such as a trace, under a title.
    Lines {
        /// The title.
        title: String,
        /// The lines.
        lines: Vec<String>,
    },
    /// The results, in one or a few sentences, each with its tone.
    Verdict(Vec<(Tone, String)>),
    /// Remarks, a paragraph each.
    Notes(Vec<String>),
    /// Short sentences, one beneath the other.
    List {
        /// One line above them.
        title: String,
        /// Whether their order matters.
        is_ordered: bool,
        /// The sentences.
        items: Vec<String>,
    },
    /// Sections behind a summary that unfolds them.
    Folded {
        /// The text that is always shown.
        summary: String,
        /// The sections that unfold.
        sections: Vec<Section>,
    },
    /// Names and values behind a summary that unfolds them.
    Facts {
        /// The text that is always shown.
        summary: String,
        /// The names and values.
        facts: Vec<(String, String)>,
    },
}

impl Page {
    /// Returns the page as one HTML document.
    pub fn to_html(&self) -> String {
        let title = escaped(&self.title);
        let lead = escaped(&self.lead);
        let navigation = article::navigation(&self.sections);
        // The results come before the contents.
        let is_verdict = |it: &&Section| matches!(it, Section::Verdict(_));
        let first = self.sections.iter().take_while(is_verdict).count();
        let (verdict, rest) = self.sections.split_at(first);
        let is_long = article::are_many(&self.sections);
        let html = |sections: &[Section]| -> String {
            let each = sections.iter().map(|it| match it {
                Section::Article(article) if is_long => article.folded(Level::PAGE.below()),
                section => section.to_html(Level::PAGE),
            });
            each.collect()
        };
        let class = if is_long { " class=\"long\"" } else { "" };
        let (verdict, body) = (html(verdict), html(rest));
        let origin = match self.origin.as_str() {
            "" => String::new(),
            origin => format!("<footer>{}</footer>\n", prose(origin)),
        };
        let (style, script) = (format!("\n{STYLE}"), format!("\n{SCRIPT}"));
        let policy = policy(&style, &script);
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <link rel=\"icon\" href=\"data:,\">\n<title>{title}</title>\n<style>{style}</style>\n\
             </head>\n<body>\n<a class=\"skip\" href=\"#results\">Skip to the results</a>\n<main{class}>\n<header>\n\
             <h1>{title}</h1>\n<p class=\"lead\">{lead}</p>\n{verdict}</header>\n{navigation}\
             <div id=\"results\" tabindex=\"-1\">\n{body}</div>\n{origin}</main>\n<script>{script}</script>\n</body>\n</html>\n"
        )
    }
}

impl Section {
    fn to_html(&self, level: Level) -> String {
        match self {
            Self::Table(table) => table.to_html(level),
            Self::Part(part) => part.to_html(level),
            Self::Article(article) => article.to_html(level.below()),
            Self::Chart(chart) => chart.to_html(),
            Self::Reasons(reasons) => reasons.to_html(level),
            Self::Lines { title, lines } => {
                let title = escaped(title);
                format!(
                    "<figure class=\"lines\">\n<figcaption>{title}</figcaption>\n\
                     <pre tabindex=\"0\" aria-label=\"{title}\">{}</pre>\n</figure>\n",
                    escaped(&lines.join("\n"))
                )
            }
            Self::Verdict(sentences) => sentences
                .iter()
                .map(|(tone, it)| {
                    format!(
                        "<p class=\"verdict\"{}>{}</p>\n",
                        tone.attribute(),
                        prose(it)
                    )
                })
                .collect(),
            Self::List {
                title,
                is_ordered,
                items,
            } => list(title, *is_ordered, items),
            Self::Folded { summary, sections } => {
                let inside = sections.iter().map(|it| it.to_html(level.below()));
                format!(
                    "<details>\n<summary>{}</summary>\n{}</details>\n",
                    escaped(summary),
                    inside.collect::<String>()
                )
            }
            Self::Notes(notes) => notes
                .iter()
                .map(|note| format!("<p class=\"note\">{}</p>\n", prose(note)))
                .collect(),
            Self::Facts { summary, facts } => {
                let rows: String = facts
                    .iter()
                    .map(|(name, value)| {
                        format!("<dt>{}</dt><dd>{}</dd>\n", escaped(name), prose(value))
                    })
                    .collect();
                format!(
                    "<details>\n<summary>{}</summary>\n<dl>\n{rows}</dl>\n</details>\n",
                    escaped(summary)
                )
            }
        }
    }
}

/// Returns the policy of a page: nothing but this style and this script, and no request.
fn policy(style: &str, script: &str) -> String {
    let hash = |text: &str| format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(text)));
    format!(
        "default-src 'none'; style-src {}; script-src {}; img-src data:; base-uri 'none'; form-action 'none'",
        hash(style),
        hash(script)
    )
}

fn list(title: &str, is_ordered: bool, items: &[String]) -> String {
    let tag = if is_ordered { "ol" } else { "ul" };
    let title = match title {
        "" => String::new(),
        title => format!("<p class=\"before\">{}</p>\n", prose(title)),
    };
    let items = items.iter().map(|it| format!("<li>{}</li>\n", prose(it)));
    format!(
        "{title}<{tag} class=\"list\">\n{}</{tag}>\n",
        items.collect::<String>()
    )
}

/// Returns the parameters of a run one by one, for [`Section::Facts`]; nested names are joined by
/// dots.
///
/// # Panics
/// If a map in `parameters` has keys that are not strings: a bug in the caller's types.
pub fn facts(parameters: &impl Serialize) -> Vec<(String, String)> {
    fn walk(name: &str, value: &serde_json::Value, facts: &mut Vec<(String, String)>) {
        match value {
            serde_json::Value::Object(fields) => {
                for (field, value) in fields {
                    let dot = if name.is_empty() { "" } else { "." };
                    walk(&format!("{name}{dot}{field}"), value, facts);
                }
            }
            serde_json::Value::Array(items) if items.iter().any(serde_json::Value::is_object) => {
                for (at, item) in items.iter().enumerate() {
                    walk(&format!("{name}.{}", at + 1), item, facts);
                }
            }
            serde_json::Value::Array(items) => {
                let items: Vec<_> = items.iter().map(word).collect();
                facts.push((name.to_owned(), items.join(", ")));
            }
            value => facts.push((name.to_owned(), word(value))),
        }
    }
    fn word(value: &serde_json::Value) -> String {
        match value {
            serde_json::Value::String(text) => text.clone(),
            serde_json::Value::Null => "-".to_owned(),
            other => other.to_string(),
        }
    }
    let mut facts = Vec::new();
    let parameters = serde_json::to_value(parameters).expect("parameters serialise as JSON");
    walk("", &parameters, &mut facts);
    facts
}

const STYLE: &str = concat!(include_str!("page.css"), "\n", include_str!("chart.css"));
/// In order of dependency: each script builds on those before it.
const SCRIPT: &str = concat!(
    include_str!("view.js"),
    "\n",
    include_str!("axes.js"),
    "\n",
    include_str!("marks.js"),
    "\n",
    include_str!("hands.js"),
    "\n",
    include_str!("ladder.js"),
    "\n",
    include_str!("chart.js"),
    "\n",
    include_str!("choice.js"),
    "\n",
    include_str!("contents.js")
);
