//! The example of the documentation is run on the corpus.

#[allow(dead_code, reason = "its main prints what is looked at here")]
#[path = "../examples/stalls.rs"]
mod stalls;

use std::fs::File;

#[test]
fn stalls_are_found_where_they_are() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus/");
    let diagnose = |name: &str| {
        let capture = File::open(format!("{corpus}{name}.pcap")).expect("the corpus");
        stalls::diagnose(capture).expect("a capture").summary
    };
    assert!(diagnose("wwr-client-far").stalls > 0);
    assert!(diagnose("flood-server").floods > 0);
    let clean = diagnose("clean-nodelay");
    assert_eq!((clean.stalls, clean.possible), (0, 0));
    assert!(clean.connections > 0);
}
