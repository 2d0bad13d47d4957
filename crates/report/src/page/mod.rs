//! One self-contained HTML page: no request leaves it, and its policy forbids any.

mod article;
mod chart;
mod plot;
mod reasons;

pub use article::{Article, Badge, Part};
pub use chart::{Chart, Curve, Mark};
pub use plot::{Axis, Plot, Series};
pub use reasons::{Place, Reason, Reasons};
use serde::Serialize;

use crate::markup::{Level, escaped, prose};
use crate::table::Table;

/// A page as data.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The heading and the window's title.
    pub title: String,
    /// A paragraph beneath the heading: what this is and how to read it.
    pub lead: String,
    /// What follows, in order.
    pub sections: Vec<Section>,
    /// What made the page, at its end: program, version, date, command line. Left out where it is empty.
    pub origin: String,
}

/// A part of a page.
#[derive(Clone, Debug)]
pub enum Section {
    /// A table under its title, with its notes.
    Table(Table),
    /// A plot in which one can hover and zoom; entries of the tables above may open its series.
    Plot(Plot),
    /// A chapter: its articles follow, and the page's navigation lists them beneath it.
    Part(Part),
    /// A unit with a heading of its own.
    Article(Article),
    /// A picture of points and lines.
    Chart(Chart),
    /// Values by the reason why they stand here.
    Reasons(Reasons),
    /// Lines that keep their spaces, such as a trace, under a title.
    Lines {
        /// What they are.
        title: String,
        /// The lines.
        lines: Vec<String>,
    },
    /// Remarks, a paragraph each.
    Notes(Vec<String>),
    /// Names and values behind a summary that unfolds.
    Facts {
        /// What stands there when it is folded.
        summary: String,
        /// The names and values.
        facts: Vec<(String, String)>,
    },
}

impl Page {
    /// Renders the page as one HTML document.
    pub fn to_html(&self) -> String {
        let title = escaped(&self.title);
        let lead = escaped(&self.lead);
        let navigation = article::navigation(&self.sections);
        let body: String = self
            .sections
            .iter()
            .map(|it| it.to_html(Level::PAGE))
            .collect();
        let origin = match self.origin.as_str() {
            "" => String::new(),
            origin => format!("<footer>{}</footer>\n", prose(origin)),
        };
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
             style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <link rel=\"icon\" href=\"data:,\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n\
             </head>\n<body>\n<a class=\"skip\" href=\"#results\">Skip to the results</a>\n<main>\n<header>\n\
             <h1>{title}</h1>\n<p class=\"lead\">{lead}</p>\n</header>\n{navigation}\
             <div id=\"results\" tabindex=\"-1\">\n{body}</div>\n{origin}</main>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n"
        )
    }
}

impl Section {
    fn to_html(&self, level: Level) -> String {
        match self {
            Self::Table(table) => table.to_html(level),
            Self::Plot(plot) => plot.to_html(),
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

/// Returns the parameters of a run one by one, for [`Section::Facts`]; nested names are joined by dots.
///
/// # Panics
/// If a map in `parameters` has keys that are not strings: that is a bug of the caller's types.
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

const STYLE: &str = include_str!("page.css");
/// The picture and, built on it, what the reader does with it.
const SCRIPT: &str = concat!(
    include_str!("picture.js"),
    "\n",
    include_str!("plot.js"),
    "\n",
    include_str!("chart.js"),
    "\n",
    include_str!("contents.js")
);
