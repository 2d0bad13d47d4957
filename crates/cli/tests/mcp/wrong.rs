//! Requests that are none: each is answered, so that no client waits for ever.

use super::*;

#[test]
fn a_message_that_is_too_long_is_answered_with_its_number() {
    let mut client = Client::start(&[]);
    let long = "x".repeat(2 << 20);
    client.line(
        &json!({"jsonrpc": "2.0", "id": 71, "method": "tools/call", "params": {"name": long}})
            .to_string(),
    );
    let answer = client.read();
    assert_eq!(answer["id"], 71, "{answer}");
    assert_eq!(answer["error"]["code"], -32600, "{answer}");
    // The number may stand behind what is too long.
    client.line(&format!(
        r#"{{"method":"ping","params":{{"id":1,"x":"{long}"}},"jsonrpc":"2.0","id":"a"}}"#
    ));
    assert_eq!(client.read()["id"], "a");
    client.line(&long);
    let answer = client.read();
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&Value::Null, &json!(-32600)),
        "{answer}"
    );
    assert_eq!(client.ask("ping", &json!({}))["error"], Value::Null);
}

#[test]
fn what_is_no_json_and_a_call_without_its_parts_have_the_codes_of_the_standard() {
    let mut client = Client::start(&[]);
    for line in ["nonsense", "{", "[[[[[[[[", "\u{0}"] {
        client.line(line);
        let answer = client.read();
        assert_eq!(answer["error"]["code"], -32700, "{line}: {answer}");
        assert!(
            answer.as_object().unwrap().contains_key("id") && answer["id"].is_null(),
            "{answer}"
        );
    }
    for params in [
        json!({}),
        json!({"arguments": {}}),
        json!({"name": 1}),
        json!({"name": "ps", "arguments": [1]}),
        json!([1]),
        Value::Null,
    ] {
        let answer = client.ask("tools/call", &params);
        assert_eq!(answer["error"]["code"], -32602, "{params}: {answer}");
    }
    let answer = client.ask("resources/read", &json!({}));
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    let answer = client.ask("no/such", &json!({}));
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
}

/// What the server says itself is not marked as written by others.
#[test]
fn what_is_accepted_is_the_servers_own_word() {
    let corpus = folder("corpus");
    let mut client = Client::start(&["--root", &corpus]);
    let refused = client.refused(
        "diagnose",
        &json!({"capture": "wwr-client.pcap", "kind": "nope"}),
    );
    assert!(
        refused["error"]
            .as_str()
            .unwrap()
            .contains("accepted are write-write-read"),
        "{refused}"
    );
    assert!(refused.get("untrusted").is_none(), "{refused}");
}

/// Also by whoever can find the folder, but may not open what is in it.
#[test]
fn a_folder_that_cannot_be_read_in_is_refused_at_the_start() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    // SAFETY: no argument, cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        eprintln!("skipped: it takes root to become another user");
        return;
    }
    let home = tempfile::tempdir_in("/tmp").unwrap();
    let (program, closed) = (home.path().join("tinygram"), home.path().join("closed"));
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
    let copied = Command::new("cp")
        .arg(env!("CARGO_BIN_EXE_tinygram"))
        .arg(&program)
        .status();
    assert!(copied.unwrap().success());
    let output = Command::new(&program)
        .args(["mcp", "--root"])
        .arg(&closed)
        .stdin(Stdio::null())
        .uid(65_534)
        .gid(65_534)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("closed: Permission denied") && said.lines().count() == 1,
        "{said}"
    );
}
