//! What HTML is made of: text that is no markup, prose with code in it, headings.

/// How deep a heading stands: 1 is the page's own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Level(u8);

impl Level {
    /// Below the page's own.
    pub(crate) const PAGE: Self = Self(2);

    pub(crate) fn below(self) -> Self {
        Self(self.0 + 1)
    }

    /// Returns a heading, or nothing where there is no text; `text` is escaped already.
    pub(crate) fn heading(self, text: &str) -> String {
        match (text, self.0) {
            ("", _) => String::new(),
            (text, level) => format!("<h{level}>{text}</h{level}>\n"),
        }
    }
}

/// Keeps text from being read as markup, inside elements and attributes alike.
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

/// Returns a sentence as markup: what stands between two backticks is code. A single one stands for itself.
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
