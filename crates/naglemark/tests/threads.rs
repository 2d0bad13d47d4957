//! Tests that the same seed gives the same transfers on any number of threads, with frames and
//! timers that interrupt a thread at work.

use tinygram_engine::sender::send_policy::Registered;
use tinygram_naglemark::hosts::{Model, PaperHosts};
use tinygram_naglemark::{Keep, Lengths, MediumKind, Plan, TrialType, measure};
use tinygram_sim::costs::ComesIn;

/// Returns a plan of a few cells. The cell of MSMV with writes of 6000 octets depends on which work
/// interrupts which.
fn plan() -> Plan {
    let policy = |name| Registered::named(name).expect("registered");
    Plan::default()
        .policies([policy("nagle"), policy("msmv"), policy("off")])
        .app_buffers([4096, 6000])
        .socket_buffers([64 * 1024])
        .trial_types([TrialType::ALL[0], TrialType::ALL[3]])
        .lengths(Lengths::fixed(20_011, 100))
        .repetitions(2)
        .seed(5)
}

/// Returns every transfer of every cell, as text.
fn measured_on(threads: usize, comes_in: ComesIn) -> String {
    let mut hosts = PaperHosts::new(Model::Fitted, MediumKind::Fddi);
    let mut costs = hosts.costs();
    costs.client.comes_in = comes_in;
    costs.server.comes_in = comes_in;
    hosts.costs = Some(costs);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let outcomes = pool
        .expect("threads can be had")
        .install(|| measure(&plan(), &mut [&mut hosts], Keep::All, &|_| {}));
    format!("{:?}", outcomes.expect("the hosts know these policies"))
}

#[test]
fn the_same_seed_comes_to_the_same_transfers_on_any_number_of_threads() {
    let on_one = measured_on(1, ComesIn::FramesAndTimers);
    for threads in [2, 3, 8] {
        let on_more = measured_on(threads, ComesIn::FramesAndTimers);
        assert!(
            on_more == on_one,
            "{threads} threads come to something else"
        );
    }
    // The compared transfers do depend on the interrupts.
    assert!(measured_on(1, ComesIn::Nothing) != on_one);
}
