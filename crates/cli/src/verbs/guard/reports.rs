//! The result for machines: JUnit XML and GitHub annotations.

use std::fmt::Write;
use std::path::PathBuf;

use super::accepted::Accepted;
use super::looked::{Looked, in_words};
use super::repository;

/// What became of a test case.
enum Outcome {
    Passed,
    Skipped(String),
    Failed(String),
    /// It could not be carried out.
    Error(String),
}

/// Returns a test case for each stall (failed; skipped if it is accepted), and one for the run if there are no stalls or
/// stalls may have been missed, for the reason `cannot_tell`.
pub(super) fn junit(
    command: &[String],
    looked: &Looked,
    accepted: &Accepted,
    cannot_tell: Option<&str>,
) -> String {
    let of_stalls = looked.stalls.iter().enumerate().map(|(index, stall)| {
        let said = in_words(stall);
        let outcome = match accepted.is(stall) {
            true => Outcome::Skipped(format!("accepted: {said}")),
            false => Outcome::Failed(said),
        };
        (format!("stall {}", index + 1), outcome)
    });
    let mut cases: Vec<_> = of_stalls.collect();
    cases.extend(of_the_run(looked, cannot_tell));
    let count = |is: fn(&Outcome) -> bool| cases.iter().filter(|(_, outcome)| is(outcome)).count();
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  \
         <testsuite name=\"tinygram guard\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\">\n",
        cases.len(),
        count(|outcome| matches!(outcome, Outcome::Failed(_))),
        count(|outcome| matches!(outcome, Outcome::Error(_))),
        count(|outcome| matches!(outcome, Outcome::Skipped(_))),
    );
    let class = escaped(&command.join(" "));
    for (name, outcome) in &cases {
        let case = format!("    <testcase classname=\"{class}\" name=\"{name}\"");
        let inside = match outcome {
            Outcome::Passed => {
                let _ = writeln!(out, "{case}/>");
                continue;
            }
            Outcome::Skipped(why) => format!("<skipped message=\"{}\"/>", escaped(why)),
            Outcome::Failed(said) => {
                let said = escaped(said);
                format!("<failure message=\"{said}\">{said}</failure>")
            }
            Outcome::Error(why) => format!("<error message=\"{}\"/>", escaped(why)),
        };
        let _ = writeln!(out, "{case}>\n      {inside}\n    </testcase>");
    }
    out + "  </testsuite>\n</testsuites>\n"
}

/// Returns the test case of the whole run, if it needs one.
fn of_the_run(looked: &Looked, cannot_tell: Option<&str>) -> Option<(String, Outcome)> {
    let (name, outcome) = match cannot_tell {
        Some(why) => ("what was seen", Outcome::Error(why.to_owned())),
        None if !looked.stalls.is_empty() => return None,
        None if looked.seen.connections == 0 => {
            let why = "nothing was tested".to_owned();
            ("no connection stalls", Outcome::Skipped(why))
        }
        None => ("no connection stalls", Outcome::Passed),
    };
    Some((name.to_owned(), outcome))
}

/// Returns a workflow command for each stall: a warning if it is accepted, else an error. It is a warning, too, if no
/// connection was seen.
pub(super) fn github(looked: &Looked, accepted: &Accepted) -> String {
    let mut out = String::new();
    let workspace = std::env::var_os("GITHUB_WORKSPACE").map(PathBuf::from);
    // Relative names are relative to the folder where the command ran, which is ours.
    let here = std::env::current_dir();
    for stall in &looked.stalls {
        // https://docs.github.com/actions/reference/workflow-commands: %, CR and LF are escaped.
        let said = in_words(stall)
            .replace('%', "%25")
            .replace('\r', "%0D")
            .replace('\n', "%0A");
        let place = stall.places.first().and_then(|(file, line)| {
            let file = repository::within(file, workspace.as_deref(), here.as_ref().ok()?)?;
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
