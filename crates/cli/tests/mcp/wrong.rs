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
