//! The example of the documentation is run on the corpus.

#[allow(dead_code, reason = "its main prints what is looked at here")]
#[path = "../examples/small_segments.rs"]
mod small_segments;

use std::fs::File;

#[test]
fn the_segments_of_each_direction_are_counted() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus/");
    let count = |name: &str| {
        let capture = File::open(format!("{corpus}{name}.pcap")).expect("the corpus");
        small_segments::count(capture).expect("a capture")
    };
    let flood = count("flood-server");
    let most = flood.values().max_by_key(|it| it.segments).expect("data");
    assert!(
        most.segments > 100 && most.small == most.segments,
        "{flood:?}"
    );
    let bulk = count("clean-bulk");
    let most = bulk.values().max_by_key(|it| it.octets).expect("data");
    assert!(most.small * 10 < most.segments, "{bulk:?}");
}
