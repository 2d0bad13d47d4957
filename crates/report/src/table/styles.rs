//! The styles of text in a terminal.

use anstyle::{Effects, Style};

use super::Ink;

/// The style of headings.
pub const BOLD: Style = Style::new().effects(Effects::BOLD);
/// The style of what stands beside.
pub(super) const DIM: Style = Style::new().effects(Effects::DIMMED);

/// Returns the text in this style, if it may carry any.
#[must_use]
pub fn styled(text: &str, style: Style, ink: Ink) -> String {
    if ink == Ink::Plain || text.is_empty() {
        return text.to_owned();
    }
    format!("{style}{text}{style:#}")
}
