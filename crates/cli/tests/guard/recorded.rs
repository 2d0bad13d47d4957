//! `guard --record`, and what is judged again.

use std::process::Command;

/// What the kernel said when a client on this host wrote twice and read, ten times; the first exchange
/// is not held.
#[test]
fn a_recorded_run_is_judged_again() {
    let recorded = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/guarded/write-write-read.rec"
    );
    let mut guard = Command::new(env!("CARGO_BIN_EXE_tinygram"));
    let output = guard
        .args(["guard", "--replay", recorded])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let counted = String::from_utf8_lossy(&output.stdout);
    assert_eq!(counted, "9 stalls, 0 without a timer, 0 not waited for\n");
    // A repeated stall is one line.
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("(9 times, "), "{said}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn the_same_run_without_its_timers_has_no_stall() {
    let recorded = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/guarded/write-write-read.rec"
    );
    let octets = std::fs::read(recorded).unwrap();
    let (header, mut rest) = octets.split_at(octets.iter().position(|o| *o == b'\n').unwrap() + 1);
    let mut without = header.to_vec();
    while let Some((length, behind)) = rest.split_first_chunk::<4>() {
        // A record stands behind its length, the length's complement and its checksum.
        let (record, next) = behind.split_at(8 + u32::from_le_bytes(*length) as usize);
        if record[8] != 7 {
            without.extend(length.iter().chain(record));
        }
        rest = next;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("late-reader.rec");
    std::fs::write(&file, without).unwrap();
    let mut guard = Command::new(env!("CARGO_BIN_EXE_tinygram"));
    let output = guard
        .args(["guard", "--replay"])
        .arg(file)
        .output()
        .unwrap();
    let counted = String::from_utf8_lossy(&output.stdout);
    assert_eq!(counted, "0 stalls, 9 without a timer, 0 not waited for\n");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn what_is_no_recording_is_refused() {
    let replay = |file: &std::path::Path| {
        let mut guard = Command::new(env!("CARGO_BIN_EXE_tinygram"));
        guard
            .args(["guard", "--replay"])
            .arg(file)
            .output()
            .unwrap()
    };
    let refused = |file: &std::path::Path| {
        let output = replay(file);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("what guard --record writes"), "{said}");
    };
    refused("/dev/null".as_ref());

    let recorded = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/guarded/write-write-read.rec"
    );
    let whole = std::fs::read(recorded).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("damaged.rec");
    // Anywhere behind the first line, and not only where a rule looks.
    let first = whole.iter().position(|octet| *octet == b'\n').unwrap() + 1;
    for at in (first..whole.len()).step_by(97) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0xa5;
        std::fs::write(&file, damaged).unwrap();
        refused(&file);
    }
    // A run that was killed has its last record cut off.
    std::fs::write(&file, &whole[..whole.len() - 3]).unwrap();
    let output = replay(&file);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("cut off and was dropped"), "{said}");
    assert_eq!(output.status.code(), Some(1), "{said}");
}

#[test]
fn only_the_kernel_is_recorded() {
    let mut guard = Command::new(env!("CARGO_BIN_EXE_tinygram"));
    let folder = tempfile::tempdir().unwrap();
    guard.args(["guard", "--source", "preload", "--record"]);
    guard.arg(folder.path().join("x.rec")).args(["--", "true"]);
    let output = guard.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--source kernel"));
}
