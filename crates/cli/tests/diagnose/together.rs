//! What is said of several captures, and of several connections, at once.

use std::fs;

use super::{corpus, diagnose, json, scratch, text};

#[test]
fn several_captures_count_their_connections_on() {
    let (a, b) = (corpus("wwr-client.pcap"), corpus("wwr-server.pcap"));
    let document = json(&diagnose(&["--json"], &[&a, &b]));
    assert_eq!(document["summary"]["stalls"], 18);
    let ids: Vec<_> = document["connections"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["id"].as_u64().unwrap())
        .collect();
    assert_eq!(ids, [0, 1]);
}

#[test]
fn captures_without_stalls_are_named_where_another_has_some() {
    let (stalls, clean) = (corpus("wwr-client.pcap"), corpus("clean-writev.pcap"));
    let idle = corpus("clean-idle-acks.pcap");
    let said = |captures: &[&std::path::Path]| text(&diagnose(&[], captures).stdout);
    let line = format!("No stalls in {}.\n", clean.display());
    assert!(said(&[&stalls, &clean]).contains(&line));
    let both = format!("No stalls in {}, {}.\n", clean.display(), idle.display());
    assert!(said(&[&clean, &stalls, &idle]).contains(&both));
    assert!(!said(&[&stalls]).contains("No stalls"));
    // Of one kind alone it says no more than that.
    let (other, kind) = (corpus("flood-nodelay.pcap"), "--kind=write-write-read");
    let of_a_kind = text(&diagnose(&[kind], &[&stalls, &other]).stdout);
    let line = format!(
        "No stalls of the kind asked for (--kind) in {}.\n",
        other.display()
    );
    assert!(of_a_kind.contains(&line), "{of_a_kind}");
}

#[test]
fn floods_of_two_connections_are_added_up() {
    let one = fs::read(corpus("flood-nodelay.pcap")).unwrap();
    // The same frames once more, from another port of the client's.
    let (from, to) = (56_146_u16.to_be_bytes(), 56_147_u16.to_be_bytes());
    let mut other = one[24..].to_vec();
    let ports: Vec<_> = (0..other.len() - 1)
        .filter(|at| other[*at..].starts_with(&from))
        .collect();
    for at in ports {
        other[at..at + 2].copy_from_slice(&to);
    }
    let path = scratch("two-floods.pcap");
    fs::write(&path, [one, other].concat()).unwrap();
    let out = text(&diagnose(&[], &[&path]).stdout);
    let first = out.lines().next().unwrap();
    assert!(first.contains("(2 connections): a tinygram flood"), "{out}");
    assert!(
        first.contains("sends 592 segments of 50 bytes on average; 552 could be saved"),
        "{first}"
    );
    // A flood is a span of frames, not two of them.
    assert!(out.contains("frame.number in {1 .. "), "{out}");
}
