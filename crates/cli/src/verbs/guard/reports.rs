//! The result for machines: JUnit XML and GitHub annotations.

use std::fmt::Write;
use std::path::PathBuf;

use super::accepted::Accepted;
use super::{Looked, repository};

/// Returns a test case for each stall, failed or skipped if it is accepted, and one for the run if there are none.
/// `unseen` is the reason why too little was seen, which is an error of the run.
pub(super) fn junit(
    command: &[String],
    looked: &Looked,
    accepted: &Accepted,
    unseen: Option<&str>,
) -> String {
    let stalls = &looked.stalls;
    let skipped = stalls.iter().filter(|stall| accepted.is(stall)).count();
    let of_the_run = usize::from(stalls.is_empty() || unseen.is_some());
    let class = escaped(&command.join(" "));
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  \
         <testsuite name=\"tinygram guard\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{skipped}\">\n",
        stalls.len() + of_the_run,
        stalls.len() - skipped,
        usize::from(unseen.is_some()),
    );
    for (number, stall) in stalls.iter().enumerate() {
        let said = escaped(&super::in_words(stall));
        let result = match accepted.is(stall) {
            true => format!("<skipped message=\"accepted: {said}\"/>"),
            false => format!("<failure message=\"{said}\">{said}</failure>"),
        };
        let _ = writeln!(
            out,
            "    <testcase classname=\"{class}\" name=\"stall {}\">\n      {result}\n    </testcase>",
            number + 1
        );
    }
    if let Some(why) = unseen.map(escaped) {
        let _ = writeln!(
            out,
            "    <testcase classname=\"{class}\" name=\"connections seen\">\n      \
             <error message=\"{why}\"/>\n    </testcase>"
        );
    } else if stalls.is_empty() {
        let _ = writeln!(
            out,
            "    <testcase classname=\"{class}\" name=\"no connection stalls\"/>"
        );
    }
    out + "  </testsuite>\n</testsuites>\n"
}

/// Returns a workflow command for each stall: a warning if it is accepted, else an error. It is a warning, too, if no
/// connection was seen.
pub(super) fn github(looked: &Looked, accepted: &Accepted) -> String {
    let mut out = String::new();
    let workspace = std::env::var_os("GITHUB_WORKSPACE").map(PathBuf::from);
    for stall in &looked.stalls {
        // https://docs.github.com/actions/reference/workflow-commands: %, CR and LF are escaped.
        let said = super::in_words(stall)
            .replace('%', "%25")
            .replace('\r', "%0D")
            .replace('\n', "%0A");
        let place = stall.places.first().and_then(|(file, line)| {
            let file = repository::within(file, workspace.as_deref())?;
            Some(format!("file={},line={line},", property(&file)))
        });
        let place = place.unwrap_or_default();
        let (level, title) = match accepted.is(stall) {
            true => ("warning", "TCP stall (accepted)"),
            false => ("error", "TCP stall"),
        };
        let _ = writeln!(out, "::{level} {place}title={title}::{said}");
    }
    if looked.seen.connections == 0 {
        let _ = writeln!(
            out,
            "::warning title=nothing was tested::tinygram guard saw no TCP connection of the command"
        );
    }
    out
}

/// Returns a value for before the two colons: commas and colons are escaped there as well.
fn property(text: &str) -> String {
    let text = text.replace('%', "%25").replace('\r', "%0D");
    text.replace('\n', "%0A")
        .replace(':', "%3A")
        .replace(',', "%2C")
}

fn escaped(text: &str) -> String {
    let plain = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    let plain = plain.replace('"', "&quot;");
    // Names may contain anything, but XML may not.
    plain.chars().filter(|c| !c.is_control()).collect()
}
