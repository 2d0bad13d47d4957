//! Measures the speed of the simulator on one core: a trial of 1000 transfers, in data segments and
//! in transfers per second.
//!
//! ```console
//! $ cargo bench --bench trials
//! ```
//!
//! # What one data segment costs, and where it goes
//!
//! Times vary on a shared machine; instruction counts do not:
//!
//! ```console
//! $ crates/papers/benches/segment-cost fddi nagle
//! ```
//!
//! counts the instructions of `examples/one_trial.rs` under callgrind. In such a trial, a data
//! segment causes half a bare ACK and seven events (it leaves, crosses the medium and arrives; its
//! ACK does the same; the server copies a piece, the client wakes up and reads; what frames
//! interrupt continues afterwards), and costs 3340 instructions:
//!
//! | share | where | what for |
//! |---|---|---|
//! | 49 % | hosts | scheduling, threads going to sleep and waking, system calls and their costs, the queues of frames |
//! | 20 % | engine: connection, write calls, time | the checks of an arriving segment, pieces of a write, when to wake up |
//! | 13 % | engine: sender | ACKs, window, the output pass, the policy's verdict |
//! | 6 % | dice | jitter of every cost, one random number each |
//! | 6 % | engine: receiver | order, the ACK policy and its timer |
//! | 3 % | medium | the turns of the token or of the cable |
//!
//! The same by steps, which are the compiler's functions (`callgrind_annotate` shows them):
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
//! The goal of 1700 is not reached. How near one can come was measured with a simulator that does this
//! benchmark and nothing else: 300 lines, one connection, no loss, no options, no retransmission
//! timer, no observer, policies inlined. It has the same events (7.8 for each data segment), the same
//! costs and jitter, and its scores agree with those of this one in 66 sets of parameters
//! ([book/src/evidence/independent.md](../../../book/src/evidence/independent.md)). It costs 1252 instructions per data segment
//! on FDDI and 1264 on Ethernet, 160 per event (release build). So a goal of 1700 leaves 450 for
//! everything else that a general engine and its hosts do; the engine's share of the 3340 alone is 1300.
//!
//! No single step costs as much as is missing, so there must be fewer steps. Three ideas were tried:
//!
//! - *The medium runs ahead of the hosts* with what the working host had handed to it. That caused 3 %
//!   more events and saved no instruction; and it is wrong if a frame of the other host waits, which
//!   this host may still overtake.
//! - *A host goes straight on with the end of the job that it started*, if neither a frame nor a timer
//!   nor anything else comes before, without looking again at what is next (wake-up, read and the next
//!   call are then one step). That costs 0.7 % more: the look is cheap, and the longer function keeps
//!   less in registers.
//! - *Runs that cannot differ are made once* (`naglemark/src/hosts/companions.rs`). That halves the time
//!   of Tables 4 and 5, and does nothing for a single trial.
//!
//! One idea was not tried: a host could run ahead of the other for as long as nothing can reach it,
//! which is at least the time of a frame on its way. But a program that stops the run, or renews its
//! connection, must find the other host at the same time.
//!
//! By the clock, in turn with the build in which frames and timers did not yet interrupt a host
//! (3603 instructions), a trial takes 0.97 of its time on FDDI (12 pairs; 95 %: 0.88 to 1.08) and
//! 0.92 on Ethernet (0.86 to 0.98).
//!
//! Nothing is allocated per segment, and no table is looked up: a segment touches two connections,
//! two hosts and two queues, which stay in the first-level cache.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tinygram_engine::sender::send_policy::Registered;
use tinygram_naglemark::hosts::{Model, PaperHosts};
use tinygram_naglemark::{MediumKind, Plan, Trial, VirtualTime};

/// The paper's cheapest and its most expensive medium: a ring whose frames carry three times as
/// much, and a cable on which frames collide.
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
                ("data segments", once.data_segments.unwrap_or(0)),
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

/// Returns a trial with the middle of section 7's buffer sizes, and all requests on one connection.
fn trial(policy: &str) -> Trial {
    let entry = Registered::named(policy).expect("a registered policy");
    let plan = Plan::default()
        .policies([entry])
        .app_buffers([32 * 1024])
        .socket_buffers([64 * 1024])
        .seed(0);
    plan.trial(&plan.cells()[0], 0)
}

/// A trial takes milliseconds, so short measurements are steady enough.
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
