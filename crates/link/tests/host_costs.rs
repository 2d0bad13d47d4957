//! What calls cost on this machine, in a process of its own: the measurement keeps its thread to one processor.

use tinygram_link::host_costs::{Measured, measure};
use tinygram_link::namespace;

/// Each cost has its interval, and calls cost something. Real time on a busy machine: the bounds are wide.
#[test]
fn costs_are_those_of_calls() {
    if let Err(why) = namespace::acquire_privilege() {
        assert!(std::env::var_os("CI").is_none(), "{why}");
        println!("skipped: {why}");
        return;
    }
    let Measured::Costs(costs) = measure(3, 50).expect("it measures") else {
        println!("skipped: this machine has one processor");
        return;
    };
    for (what, cost) in [
        ("write", costs.write),
        ("segment", costs.segment),
        ("acknowledgment", costs.acknowledgment),
        ("read", costs.read),
        ("wakeup", costs.wakeup),
    ] {
        assert!(
            cost.from <= cost.us && cost.us <= cost.to,
            "{what}: {cost:?}"
        );
    }
    for (what, cost) in [("read", costs.read), ("segment", costs.segment)] {
        assert!((0.05..10_000.0).contains(&cost.us), "{what}: {cost:?}");
    }
}
