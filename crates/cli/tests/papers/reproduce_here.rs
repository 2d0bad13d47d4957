//! The papers' experiments on this kernel: what does not depend on hosts is the papers', and what cannot be had says why.

use std::process::Command;

use serde_json::Value;

fn rows(arguments: &[&str], wrapper: &[&str]) -> Vec<Value> {
    let program = env!("CARGO_BIN_EXE_tinygram");
    let words: Vec<&str> = wrapper.iter().copied().chain([program]).collect();
    let output = Command::new(words[0])
        .args(&words[1..])
        .arg("reproduce")
        .args(arguments)
        .args(["--format", "json"])
        .output()
        .expect("the program starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        output.status.code(),
        Some(0),
        "nothing here is held to the papers: {said}"
    );
    let document: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let experiments = document["experiments"].as_array().expect("a list").clone();
    let rows = experiments
        .into_iter()
        .flat_map(|it| it["rows"].as_array().expect("rows").clone());
    rows.collect()
}

/// Returns why a row has no value, if it has none.
fn why_not(row: &Value) -> Option<&str> {
    row["reproduced"]
        .as_str()
        .and_then(|text| text.strip_prefix("not measured: "))
}

/// Figure 4's stall, which the second fix ends (section 2.3). Whether a document stalls is a matter of sizes and rules.
#[test]
fn the_odd_short_final_segment_stalls_under_nagle_on_this_kernel_and_not_without() {
    let rows = rows(&["here-heidemann", "--repetitions", "10"], &[]);
    for row in &rows {
        assert_eq!(
            (&row["class"], &row["status"]),
            (&"measured-here".into(), &"measured-here".into()),
            "{row}"
        );
    }
    if let Some(why) = rows.iter().find_map(why_not) {
        println!("skipped: {why}");
        return;
    }
    let stalls = |fixes: &str, document: u32| {
        let measure = format!("stalls of document {document}");
        let is_it =
            |row: &&Value| row["cell"]["fixes"] == fixes && row["cell"]["measure"] == *measure;
        rows.iter().find(is_it).expect("such a row")["reproduced"]
            .as_f64()
            .expect("a number")
    };
    // On a busy machine the client sometimes acknowledges sooner, so it is not all ten of them; a stall without the rule
    // would be a silence of the machine's just when a timer fires.
    assert!(stalls("headers with data (2.2)", 2) > 0.1);
    for fixes in ["no Nagle (2.3)", "both"] {
        for document in 1..=3 {
            assert!(
                stalls(fixes, document) <= 0.1,
                "{fixes}, document {document}"
            );
        }
    }
    assert!(rows.iter().any(|row| {
        row["reproduced"]
            .as_str()
            .is_some_and(|it| it.starts_with("cannot be had: "))
    }));
}

/// Whoever has no rights gets every row, with the reason, and exit code 0.
#[test]
fn without_rights_each_row_says_why() {
    let dropped = [
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
    ];
    let can_drop = Command::new(dropped[0])
        .args(&dropped[1..])
        .args([env!("CARGO_BIN_EXE_tinygram"), "--version"])
        .output();
    if !can_drop.is_ok_and(|output| output.status.success()) {
        println!(
            "skipped: it takes root to become nobody, setpriv, and a program that nobody may read"
        );
        return;
    }
    let rows = rows(&["here-davids"], &dropped);
    let whys: Vec<_> = rows.iter().filter_map(why_not).collect();
    assert!(!whys.is_empty(), "{rows:?}");
    for why in whys {
        assert!(!why.contains('\n') && why.contains("namespace"), "{why}");
    }
}
