//! Measures what a host's calls cost on this machine ([`tinygram_link::host_costs`]).
//!
//! `naglemark` simulates two such hosts beside the real ones (`--backend sim,kernel --hosts
//! linux-veth`), and takes their costs from here: `cargo bench -p tinygram-link --bench
//! host_costs`. No cost is adjusted to the result of that comparison.

use std::io;

use tinygram_link::host_costs::{Measured, measure};
use tinygram_link::namespace;

fn main() -> io::Result<()> {
    if let Err(why) = namespace::acquire_privilege() {
        println!("skipped: {why}");
        return Ok(());
    }
    let Measured::Costs(costs) = measure(10, 100)? else {
        println!("skipped: this machine has one processor");
        return Ok(());
    };
    println!("Microseconds: the median of ten batches, and the second from either end of them.");
    for (what, cost) in [
        ("a segment of an MSS sent", costs.segment),
        ("a write besides its segments", costs.write),
        ("an acknowledgment sent", costs.acknowledgment),
        ("a read", costs.read),
        ("a wake-up", costs.wakeup),
    ] {
        println!(
            "    {what:32} {:7.2} {:7.2} to {:.2}",
            cost.us, cost.from, cost.to
        );
    }
    Ok(())
}
