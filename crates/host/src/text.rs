//! Text of others that is shown: names of processes, units, functions and files, command lines.
//!
//! Whoever may start a process chooses its name. This is the one place that decides what of it reaches a terminal or a
//! pipe.

/// Returns a text that others chose, without what would act on a terminal, begin a line or hide itself.
#[must_use]
pub fn plain(name: &str) -> String {
    let is_odd = |c: char| {
        c.is_control()
            || ('\u{200b}'..='\u{200f}').contains(&c)
            || ('\u{2028}'..='\u{202e}').contains(&c)
            || ('\u{2066}'..='\u{2069}').contains(&c)
    };
    name.chars()
        .map(|c| {
            if is_odd(c) {
                char::REPLACEMENT_CHARACTER
            } else {
                c
            }
        })
        .collect()
}
