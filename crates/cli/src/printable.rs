//! What of a text of others may reach a terminal: names of files and processes, command lines.

#[cfg(target_os = "linux")]
pub(crate) use tinygram_host::text::plain as printable;

/// Returns a text without what would act on a terminal or begin a line.
#[cfg(not(target_os = "linux"))]
pub(crate) fn printable(text: &str) -> String {
    text.replace(char::is_control, "\u{fffd}")
}
