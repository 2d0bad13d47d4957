//! Files that are no captures, and names of files, which others chose.

use super::*;

/// Whoever may write into a folder chooses the names in it.
#[cfg(unix)]
#[test]
fn a_files_name_cannot_act_on_a_terminal() {
    let (odd, rubbish) = (scratch("odd\x1b[31m\n.pcap"), scratch("none\x1b[2J\n"));
    std::fs::copy(corpus("wwr-client.pcap"), &odd).unwrap();
    std::fs::write(&rubbish, "no capture at all").unwrap();
    let output = diagnose(
        &[],
        &[
            &odd,
            &corpus("loss.pcap"),
            &rubbish,
            &scratch("gone\x1b[2J"),
        ],
    );
    for shown in [text(&output.stdout), text(&output.stderr)] {
        assert!(
            !shown.contains('\u{1b}') && shown.contains("\u{fffd}["),
            "{shown:?}"
        );
    }
    assert_eq!(text(&output.stderr).lines().count(), 2);
}

#[test]
fn unusable_input_is_one_line_and_code_2() {
    let rubbish = scratch("rubbish");
    std::fs::write(&rubbish, "no capture at all").unwrap();
    let empty = scratch("empty");
    std::fs::write(&empty, "").unwrap();
    let short = scratch("short");
    std::fs::write(&short, "x").unwrap();
    let folder = scratch(".");
    let missing = scratch("missing");
    for (capture, said) in [
        (&rubbish, "is not a capture"),
        (&empty, "is empty"),
        (&short, "is not a capture: it has 1 byte"),
        (&folder, "is a folder"),
        (&missing, "No such file"),
    ] {
        let output = diagnose(&[], &[capture]);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
        assert!(error.contains(said), "{error}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn a_part_that_ends_before_it_begins_is_refused() {
    let output = diagnose(&["--from", "5", "--to", "2.5"], &[&corpus("loss.pcap")]);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    let said = "tinygram: --from 5 is later than --to 2.5: nothing is between them\n";
    assert_eq!(error, said);
}
