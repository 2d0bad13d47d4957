//! The result for machines: JUnit XML and GitHub annotations.

use std::fmt::Write;

use super::{Looked, Stall};

/// Returns one test case for the run, and a failed one for each stall beyond the accepted number.
pub(super) fn junit(command: &[String], looked: &Looked, max_holds: u64) -> String {
    let stalls = &looked.stalls;
    let fails = looked.count() > max_holds;
    let (tests, failures) = match fails {
        true => (stalls.len(), stalls.len()),
        false => (1, 0),
    };
    let class = escaped(&command.join(" "));
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  \
         <testsuite name=\"tinygram guard\" tests=\"{tests}\" failures=\"{failures}\">\n"
    );
    if fails {
        for (number, stall) in stalls.iter().enumerate() {
            let said = escaped(&super::in_words(stall));
            let _ = writeln!(
                out,
                "    <testcase classname=\"{class}\" name=\"stall {}\">\n      \
                 <failure message=\"{said}\">{said}</failure>\n    </testcase>",
                number + 1
            );
        }
    } else {
        let _ = writeln!(
            out,
            "    <testcase classname=\"{class}\" name=\"no connection stalls\"/>"
        );
    }
    out + "  </testsuite>\n</testsuites>\n"
}

/// Returns a workflow command for each stall.
pub(super) fn github(stalls: &[Stall]) -> String {
    let mut out = String::new();
    for stall in stalls {
        // https://docs.github.com/actions/reference/workflow-commands: %, CR and LF are escaped.
        let said = super::in_words(stall)
            .replace('%', "%25")
            .replace('\r', "%0D")
            .replace('\n', "%0A");
        let place = stall.place.as_ref().and_then(|(file, line)| {
            std::path::Path::new(file).exists().then_some(())?;
            Some(format!(
                "file={},line={line},",
                property(&in_repository(file))
            ))
        });
        let place = place.unwrap_or_default();
        let _ = writeln!(out, "::error {place}title=TCP stall::{said}");
    }
    out
}

/// Returns a file as annotations name it: relative to the folder where the command ran, which is
/// the checkout's.
fn in_repository(file: &str) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let inside = std::path::Path::new(file).strip_prefix(&here);
    inside.map_or_else(|_| file.to_owned(), |path| path.display().to_string())
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
