//! The example of the documentation is run.

#[allow(dead_code, reason = "its main prints what is looked at here")]
#[path = "../examples/two_writes.rs"]
mod two_writes;

use tinygram_engine::Duration;
use tinygram_engine::sender::send_policy::SendPolicy;

#[test]
fn the_second_write_waits_for_an_acknowledgment_under_nagle_alone() {
    let (held, _) = two_writes::exchange(SendPolicy::Nagle).expect("it runs");
    let (at_once, packets) = two_writes::exchange(SendPolicy::Off).expect("it runs");
    assert_eq!(at_once, Duration::from_millis(5), "the line's delay");
    assert_eq!(packets, 2, "a packet for each write");
    assert!(held >= at_once + Duration::from_millis(10), "a round trip");
}
