//! Measures the cost of asking a policy: `decide`, called through the enum of all policies, for a
//! runt that is offered while data is outstanding. Every registered policy is asked, and one that a
//! library user defines ([`SendPolicy::custom`]), which is called through a pointer.
//!
//! ```console
//! $ cargo bench --bench decide
//! ```

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use tinygram_engine::profile::{Profile, Sizes};
use tinygram_engine::sender::send_policy::{
    Because, Offer, Rule, SendPolicy, Vars, Verdict, from_fn,
};
use tinygram_engine::{Connection, Offset, Span};

fn decide(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("decide");
    let (offer, vars) = situation();
    let custom = SendPolicy::custom(from_fn(|_, _| Verdict::Send(Because::NoDelay)));
    let listed = SendPolicy::LIST
        .iter()
        .map(|entry| (entry.name, (entry.make)()));
    for (name, policy) in listed.chain([("custom", custom)]) {
        let policy = policy.install();
        group.bench_function(name, |bencher| {
            bencher.iter(|| black_box(&policy).decide(black_box(&offer), black_box(&vars)));
        });
    }
}

/// Returns a situation in which policies differ: two Ethernet segments are unacknowledged, and 100
/// octets wait behind them.
fn situation() -> (Offer, Vars) {
    const MSS: u16 = 1460;
    let sent = Offset::FIRST + 2 * u64::from(MSS);
    let written = sent + 100;
    let sizes = Sizes {
        mss: MSS,
        send_buffer: 64 * 1024,
        receive_buffer: 64 * 1024,
    };
    let profile = Profile::named("tru64_4").expect("the paper's own stack");
    let fresh = Connection::established(&(profile.config)(&sizes), sizes.receive_buffer);
    let mut vars = fresh.sender().vars();
    (vars.nxt, vars.max) = (sent, sent);
    vars.written = written;
    let offer = Offer::new(Span::new(sent, written), &vars);
    (offer, vars)
}

/// Configured for two dozen measurements of nanoseconds each.
fn config() -> Criterion {
    Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(500))
}

criterion_group! {
    name = benches;
    config = config();
    targets = decide
}
criterion_main!(benches);
