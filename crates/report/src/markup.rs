//! Parts of HTML: escaped text, prose with code in it, headings.

/// The level of a heading: 1 is the page's own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Level(u8);

impl Level {
    /// The level below the page's own heading.
    pub(crate) const PAGE: Self = Self(2);

    pub(crate) fn below(self) -> Self {
        Self(self.0 + 1)
    }

    /// Returns a heading, or nothing if there is no text; `text` is already escaped.
    pub(crate) fn heading(self, text: &str) -> String {
        match (text, self.0) {
            ("", _) => String::new(),
            (text, level) => format!("<h{level}>{text}</h{level}>\n"),
        }
    }
}

/// Escapes text so that it is not read as markup, in elements and in attributes.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe += "&amp;",
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '"' => safe += "&quot;",
            c => safe.push(c),
        }
    }
    safe
}

/// Returns a sentence as markup: text between two backticks becomes code. A single backtick stands
/// for itself.
pub(crate) fn prose(text: &str) -> String {
    let safe = escaped(text);
    let mut html = String::with_capacity(safe.len());
    let mut parts = safe.split('`').peekable();
    let mut is_code = false;
    while let Some(part) = parts.next() {
        match (is_code, parts.peek()) {
            (true, Some(_)) => html += &format!("<code>{part}</code>"),
            (true, None) => html += &format!("`{part}"),
            (false, _) => html += part,
        }
        is_code = !is_code;
    }
    html
}
