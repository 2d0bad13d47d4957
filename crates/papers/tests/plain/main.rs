//! Two sets of parameters on which an independent simulation once disagreed with ours, played by a
//! second, plain implementation of the paper's rules (`transfers.rs`) and by the simulator.

mod transfers;

use tinygram_engine::Duration;
use tinygram_engine::receiver::ack_policy::AckTimer;
use tinygram_engine::sender::send_policy::SendPolicy;
use tinygram_naglemark::hosts::{ACK_TICK, Costs, Model, PaperHosts};
use tinygram_naglemark::{
    Lengths, MediumKind, Plan, Score, Series, Taken, TrialType, VirtualTime, Yardstick,
};
use tinygram_sim::costs::SegmentCost;
use transfers::{Set, Transfers};

const REPETITIONS: u64 = 4;
const SETS: [(u64, u64, u64, u64); 2] = [
    (1000, 32 * 1024, 64 * 1024, 8192),
    (1460, 6000, 48 * 1024, 2048),
];
/// What a segment and a wake-up cost the client, in microseconds: the model's, and others.
const COSTS: [(u64, u64); 5] = [(50, 60), (40, 60), (60, 60), (50, 40), (40, 40)];

fn set(number: usize, (segment, wakeup): (u64, u64), (reads_on, runs_ahead): (bool, bool)) -> Set {
    let (mss, app_buffer, socket_buffer, mclbytes) = SETS[number];
    Set {
        mss,
        app_buffer,
        socket_buffer,
        mclbytes,
        client_segment: segment * 1000,
        client_wakeup: wakeup * 1000,
        reads_on,
        runs_ahead,
    }
}

fn lengths() -> impl Iterator<Item = u64> {
    (1..=1000).map(|hundreds| hundreds * 100)
}

/// Returns the score of the plain implementation, in percent.
fn plain(set: Set) -> f64 {
    let mut delayed = 0;
    for repetition in 0..REPETITIONS {
        let tick_at = 1 + repetition * 200_000_000 / REPETITIONS;
        let mut transfers = Transfers::new(set, tick_at);
        for octets in lengths() {
            let estimate = 10_000_000 + octets * 80;
            delayed += u32::from(transfers.transfer(octets) > 3 * estimate);
        }
    }
    100.0 * f64::from(delayed) / (1000 * REPETITIONS) as f64
}

/// Plays the same transfers in the simulator, with the same costs: no jitter and no slow timer.
fn simulated(set: Set) -> Vec<Taken> {
    let mut costs: Costs = Model::Fitted.costs(false);
    costs.client.input = SegmentCost::flat(Duration::from_nanos(set.client_segment));
    costs.client.output = costs.client.input;
    costs.client.wakeup = Duration::from_nanos(set.client_wakeup);
    costs.client.jitter_percent = 0;
    costs.server.jitter_percent = 0;
    let hosts = PaperHosts {
        mss: set.mss as u16,
        mclbytes: set.mclbytes,
        costs: Some(costs),
        ack_timer: Some(AckTimer::Cyclic {
            period: ACK_TICK,
            phase: Duration::ZERO,
            slow: None,
        }),
        ..PaperHosts::new(Model::Fitted, MediumKind::Fddi)
    };
    let nagle = SendPolicy::LIST.iter().find(|it| it.name == "nagle");
    let plan = Plan::default()
        .policies([nagle.expect("registered")])
        .app_buffers([set.app_buffer])
        .socket_buffers([set.socket_buffer])
        .trial_types([TrialType::SequentialOne])
        .lengths(Lengths {
            series: Series {
                from: 100,
                to: 100_000,
                step: 100,
                transfers: 1000,
            },
            ..Lengths::PAPER
        });
    let cell = &plan.cells()[0];
    let taken = (0..REPETITIONS).map(|number| hosts.simulate(&plan.trial(cell, number as u32)));
    taken
        .map(|taken| taken.expect("the hosts know NAGLE"))
        .collect()
}

/// Returns the simulator's score, in percent.
fn score(set: Set) -> f64 {
    let yardstick = Yardstick {
        medium: MediumKind::Fddi,
        wire: Some(MediumKind::Fddi.wire()),
        rtt: Duration::ZERO,
        mss: set.mss as u16,
        multiplier: 3,
    };
    Score::of(&yardstick, &simulated(set)).score_percent
}

/// What the paper's kernel does: a read goes on, and a call waits for what it sent.
const AS_BSD: (bool, bool) = (true, false);

/// `book/src/evidence/independent.md` has this table.
#[test]
fn the_scores_are_those_of_the_plain_rules_whatever_the_costs() {
    println!("set  segment  wake-up  as BSD  a read ends  runs ahead  both  simulator");
    for number in [0, 1] {
        for costs in COSTS {
            let rules = [AS_BSD, (false, false), (true, true), (false, true)];
            let plain = rules.map(|rules| plain(set(number, costs, rules)));
            let ours = score(set(number, costs, AS_BSD));
            println!("{}  {costs:?}  {plain:5.1?}  {ours:5.1}", number + 1);
            assert!((plain[0] - ours).abs() < 1.0, "{costs:?} {plain:?} {ours}");
        }
    }
}

/// Single transfers, one after the other: the same ones wait for the clock in both. The others take the
/// same time, or differ by less than the client's work on one segment, where two things happen at the
/// same instant.
#[test]
fn the_transfers_are_those_of_the_plain_rules() {
    let set = set(0, COSTS[0], AS_BSD);
    let taken = simulated(set);
    let mut plain = Transfers::new(set, 1);
    let (mut same, mut waiting) = (0, 0);
    for sample in &taken[0].samples {
        let (ours, plain) = (
            sample.elapsed.as_nanos(),
            plain.transfer(sample.length.into()),
        );
        // How long the first transfer of several waits depends on when the clock ticks.
        let waits = [ours, plain].map(|elapsed| elapsed > 15_000_000);
        assert_eq!(waits[0], waits[1], "{sample:?} {plain}");
        let apart = ours.abs_diff(plain);
        assert!(waits[0] || apart < set.client_segment, "{sample:?} {plain}");
        same += u32::from(apart == 0);
        waiting += u32::from(waits[0]);
    }
    println!("{same} of 1000 take the same time; {waiting} wait for the clock");
    assert!(same > 900 && waiting > 100, "{same} {waiting}");
}
