//! Why nothing can be told where nothing was seen.

use super::done::Cured;
use tinygram_report::units::counted;

/// Says why it cannot be told whether anything stalls: nothing is known to have been sent or received. `None` if something is.
pub(super) fn why_unknown(cured: &Cured) -> Option<String> {
    if !cured.is_silent() {
        return None;
    }
    let seconds = cured.look.lasted.as_secs_f64();
    Some(match (cured.sockets, cured.traffic.open) {
        (0, _) => format!("no connection was found in {seconds:.1} s, so nothing was looked at"),
        (1, 0) => format!(
            "the only connection closed while it looked ({seconds:.1} s) and took its counts along"
        ),
        (all, 0) => format!(
            "all {all} connections closed while it looked ({seconds:.1} s) and took their counts along"
        ),
        (_, open) => format!(
            "in {seconds:.1} s nothing was sent on {} (those still open), and nothing came",
            counted(open as u64, "connection")
        ),
    })
}
