//! What the parts of the page share.

/// Returns the time of day, in UTC, to the millisecond.
pub(super) fn clock(ns: i64) -> String {
    let ms = ns.div_euclid(1_000_000).rem_euclid(86_400_000);
    format!(
        "{:02}:{:02}:{:02}.{:03}",
        ms / 3_600_000,
        ms / 60_000 % 60,
        ms / 1_000 % 60,
        ms % 1_000
    )
}

/// Text as it may stand in markup and between its quotes.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// How a plot is zoomed.
pub(super) const ZOOM: &str =
    "Zoom: + and - or Ctrl and the wheel; arrows or drag to move, 0 for all.";
