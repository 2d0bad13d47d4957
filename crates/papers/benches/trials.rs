//! How fast the simulator is on one core: a trial of 1000 transfers, in data segments and in
//! transfers per second.
//!
//! ```console
//! $ cargo bench --bench trials
//! ```
//!
//! # What one data segment costs, and where it goes
//!
//! Time is noisy where a machine is shared; instructions are not:
//!
//! ```console
//! $ crates/papers/benches/segment-cost fddi nagle
//! ```
//!
//! counts those of `examples/one_trial.rs` under callgrind. In such a trial a data segment brings
//! half a bare ACK with it and seven events (it leaves, crosses the medium and arrives; its ACK does
//! the same; the server copies a piece, the client wakes up and reads; what frames interrupt goes on
//! afterwards), and costs 3340 instructions:
//!
//! | share | where | what for |
//! |---|---|---|
//! | 49 % | hosts | whose turn it is, threads going to sleep and waking, system calls and their costs, the queues of frames |
//! | 20 % | engine: connection, write calls, time | the checks of an arriving segment, pieces of a write, when to wake up |
//! | 13 % | engine: sender | ACKs, window, the output pass, the policy's verdict |
//! | 6 % | dice | jitter of every cost, one draw each |
//! | 6 % | engine: receiver | order, the ACK policy and its timer |
//! | 3 % | medium | the token's or the cable's turns |
//!
//! The same by steps, as the compiler's functions have them (`callgrind_annotate` shows them):
//!
//! | instructions | step |
//! |---|---|
//! | 1121 | the schedule: 7.3 events, what each begins, and the programs' next calls (`World::run`, `run_host`) |
//! | 547 | 1.7 output passes, those that hold a runt included (`Connection::output`) |
//! | 402 | 1.6 frames get from the outbox to the medium and over it (`flush`, `run_medium`) |
//! | 327 | the engine takes in 1.6 segments (`on_acceptable`) |
//! | 190 | 1.9 jobs take effect: reads, pieces of writes (`takes_effect`) |
//! | 176 | 3 jobs get the processor for a time that is drawn (`Processor::runs`) |
//! | 119 | the next timer is looked up 3.4 times |
//! | 458 | the rest: the copy rule, threads that sleep and are woken, congestion control |
//!
//! 1700 were aimed at and are not reached. How near one can come was measured by a simulator that does
//! this benchmark and nothing else: 300 lines, one connection, no loss, no options, no retransmission
//! timer, no observer, policies inlined. It has the same events (7.8 for each data segment), the same
//! costs and jitter, and its scores agree with those of this one in 66 sets of parameters
//! ([docs/independent.md](../../../docs/independent.md)). It costs 1252 instructions a data
//! segment on FDDI and 1264 on Ethernet, 160 an event (release build). So a goal of 1700 leaves 450
//! for all that a general engine and hosts do besides; the engine's share of the 3340 alone is 1300.
//!
//! No step holds as much as is missing, so that takes fewer steps. What was tried:
//!
//! - *The medium runs ahead of the hosts* with what the one at work had handed to it. That brought three
//!   events in a hundred more and saved no instruction; and it is wrong where a frame of the other host's
//!   waits, which this one may still forestall.
//! - *A host goes straight on with the end of the job that it started*, where neither a frame nor a timer
//!   nor anything else in the world comes before, without a new look at what is next (wake-up, read and
//!   the next call are then one step). That costs 0.7 % more: the look is cheap, and the longer function
//!   keeps less in registers.
//! - *Runs that cannot differ are made once* (`naglemark/src/hosts/companions.rs`). That halves Tables 4
//!   and 5, and does nothing for one trial.
//!
//! One road was not taken: a host could run ahead of the other for as long as nothing can reach it, which
//! is at least what a frame takes on its way; but a program that stops the run, or renews its
//! connection, must find the other host where it is itself.
//!
//! By the clock, in turn with the build before frames and timers interrupted a host (3603 instructions),
//! a trial takes 0.97 of its time on FDDI (12 pairs; 95 %: 0.88 to 1.08) and 0.92 on Ethernet (0.86 to
//! 0.98).
//!
//! Nothing is allocated per segment, and no table is looked up: what a segment touches are two
//! connections, two hosts and two queues, which stay in the first-level cache.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tinygram_engine::sender::send_policy::Registered;
use tinygram_naglemark::hosts::{Model, PaperHosts};
use tinygram_naglemark::{MediumKind, Plan, Trial, VirtualTime};

/// The paper's cheapest and its most expensive road: a ring whose frames carry three times as much,
/// and a cable on which frames collide.
const MEDIA: [MediumKind; 2] = [MediumKind::Fddi, MediumKind::Ethernet];

/// The policy that holds most and the one that holds nothing.
const POLICIES: [&str; 2] = ["NAGLE", "OFF"];

fn trials(criterion: &mut Criterion) {
    for medium in MEDIA {
        for policy in POLICIES {
            let hosts = PaperHosts::new(Model::Fitted, medium);
            let trial = trial(policy);
            let once = hosts.simulate(&trial).expect("a policy of the engine's");
            let name = |counted| format!("{} {policy}/{counted}", medium.name());
            for (counted, count) in [
                ("data segments", once.data_segments),
                ("transfers", once.samples.len() as u64),
            ] {
                criterion
                    .benchmark_group(name(counted))
                    .throughput(Throughput::Elements(count))
                    .bench_function("1000 transfers", |bencher| {
                        bencher.iter(|| hosts.simulate(black_box(&trial)));
                    });
            }
        }
    }
}

/// The middle one of section 7's buffer sizes; all requests on one connection.
fn trial(policy: &str) -> Trial {
    let entry = Registered::named(policy).expect("a registered policy");
    let plan = Plan {
        policies: vec![entry.into()],
        app_buffers: vec![32 * 1024],
        socket_buffers: vec![64 * 1024],
        seed: 0,
        ..Plan::default()
    };
    plan.trial(&plan.cells()[0], 0)
}

/// A trial takes milliseconds, so that short measurements are steady enough.
fn config() -> Criterion {
    Criterion::default()
        .sample_size(40)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
}

criterion_group! {
    name = benches;
    config = config();
    targets = trials
}
criterion_main!(benches);
