//! Chapters and articles of a long page, and the navigation that lists them.

use super::Section;
use crate::markup::{Level, escaped};
use crate::table::Tone;

/// A chapter's heading.
#[derive(Clone, Debug, Default)]
pub struct Part {
    /// The heading.
    pub title: String,
    /// A line beneath it.
    pub lead: String,
}

/// A unit of a page: a heading that can be linked to, counts, and sections.
#[derive(Clone, Debug, Default)]
pub struct Article {
    /// The name in links to it: letters, digits, points and hyphens.
    pub id: String,
    /// The heading.
    pub title: String,
    /// A line beneath it.
    pub lead: String,
    /// Its counts, shown here and in the navigation.
    pub badges: Vec<Badge>,
    /// Its sections.
    pub sections: Vec<Section>,
}

/// A count and its meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Badge {
    /// The count in short: `= 12`.
    pub text: String,
    /// The count in words: `12 match`.
    pub meaning: String,
    /// Its colour; the text says the same.
    pub tone: Tone,
}

impl Part {
    pub(super) fn to_html(&self, level: Level) -> String {
        format!(
            "<div class=\"part\">\n{}<p class=\"lead\">{}</p>\n</div>\n",
            level.heading(&escaped(&self.title)),
            escaped(&self.lead)
        )
    }
}

impl Article {
    pub(super) fn to_html(&self, level: Level) -> String {
        self.around(&format!(
            "{}{}{}{}",
            level.heading(&escaped(&self.title)),
            self.lead(),
            badges(&self.badges),
            self.body(level)
        ))
    }

    /// Returns it behind its heading and its counts, which unfold it.
    pub(super) fn folded(&self, level: Level) -> String {
        self.around(&format!(
            "<details class=\"unit\">\n<summary>\n{}{}</summary>\n{}{}</details>\n",
            level.heading(&escaped(&self.title)),
            badges(&self.badges),
            self.lead(),
            self.body(level)
        ))
    }

    fn around(&self, inside: &str) -> String {
        format!(
            "<article id=\"{}\">\n{inside}</article>\n",
            escaped(&self.id)
        )
    }

    fn lead(&self) -> String {
        format!("<p class=\"lead\">{}</p>\n", escaped(&self.lead))
    }

    fn body(&self, level: Level) -> String {
        let each = self.sections.iter().map(|it| it.to_html(level.below()));
        each.collect()
    }
}

/// Returns whether the articles are so many that each is folded and the contents stand in the margin.
pub(super) fn are_many(sections: &[Section]) -> bool {
    let articles = sections
        .iter()
        .filter(|it| matches!(it, Section::Article(_)));
    articles.count() > UNFOLDED
}

/// Returns links to all articles, chapter by chapter; nothing if there are none.
pub(super) fn navigation(sections: &[Section]) -> String {
    let mut html = String::new();
    let mut is_open = false;
    for section in sections {
        match section {
            Section::Part(part) => {
                if is_open {
                    html += "</ul>\n";
                }
                html += &format!("<h2>{}</h2>\n<ul>\n", escaped(&part.title));
                is_open = true;
            }
            Section::Article(article) => {
                if !is_open {
                    html += "<ul>\n";
                    is_open = true;
                }
                html += &format!(
                    "<li><a href=\"#{}\">{}</a>{}</li>\n",
                    escaped(&article.id),
                    escaped(&article.title),
                    badges(&article.badges)
                );
            }
            _ => {}
        }
    }
    if html.is_empty() {
        return html;
    }
    if is_open {
        html += "</ul>\n";
    }
    format!(
        "<nav id=\"contents\" aria-label=\"Contents\" tabindex=\"-1\">\n{html}</nav>\n\
         <a class=\"up\" href=\"#contents\">Contents</a>\n"
    )
}

fn badges(badges: &[Badge]) -> String {
    if badges.is_empty() {
        return String::new();
    }
    let each = badges.iter().map(|badge| {
        let meaning = escaped(&badge.meaning);
        format!(
            "<li{} title=\"{meaning}\" aria-label=\"{meaning}\">{}</li>",
            badge.tone.attribute(),
            escaped(&badge.text)
        )
    });
    format!("<ul class=\"badges\">{}</ul>\n", each.collect::<String>())
}

/// The most articles that are shown unfolded.
const UNFOLDED: usize = 12;
