//! The kernel's sockets under load: what is asked is counted once, from the time when it was due.

#![cfg(target_os = "linux")]

use std::sync::{Mutex, PoisonError};

use tinygram_naglemark::load::{
    Arrivals, Asked, Demand, LoadBackend, LoadPlan, LoadTaken, LoadTrial, Programs, Server, Sizes,
};
use tinygram_naglemark::{Duration, Policy, SocketPolicy};
use tinygram_naglemark_live::{LoadedKernel, acquire_privilege};

/// The tests run in real time: one at a time, so that none delays another.
static TURN: Mutex<()> = Mutex::new(());

fn plan(programs: Programs) -> LoadPlan {
    LoadPlan {
        programs,
        warmup: Duration::from_millis(50),
        window: Duration::from_millis(200),
        patience: Duration::from_millis(400),
        ..LoadPlan::default()
    }
}

fn programs() -> Programs {
    Programs {
        connections: 4,
        ..LoadPlan::default().programs
    }
}

fn trial(plan: &LoadPlan, policy: SocketPolicy, demand: Demand) -> LoadTrial {
    let mut cell = plan.cells().remove(0);
    (cell.policy, cell.demand) = (Policy::from(policy), demand);
    plan.trial(&cell, 0)
}

/// Returns the results of some trials, one after the other; `None` if this machine makes no namespaces.
fn served(trials: &[LoadTrial]) -> Option<Vec<LoadTaken>> {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Err(why) = acquire_privilege() {
        eprintln!("skipped: {why}");
        return None;
    }
    let backend = LoadedKernel::open().expect("namespaces are allowed");
    let serve = |trial| backend.serve(trial).expect("it runs");
    Some(trials.iter().map(serve).collect())
}

fn times(taken: &LoadTaken) -> Vec<Duration> {
    let mut times: Vec<Duration> = taken.answers.iter().map(|it| it.took).collect();
    times.sort();
    times
}

/// In an event loop, in threads that sleep in their calls, with several writes, with bursts, pipelined.
#[test]
fn every_request_is_accounted_for() {
    let open = Demand::Open(2000.0);
    let one = plan(programs());
    let mut threads = plan(Programs {
        server: Server::ThreadEach,
        request_writes: 2,
        answer_writes: 3,
        ..programs()
    });
    threads.answer = Sizes::Fixed(100_000);
    let mut pipelined = plan(Programs {
        depth: 8,
        server: Server::EventLoops(2),
        ..programs()
    });
    pipelined.arrivals = Arrivals::Bursts { of: 4 };
    let trials =
        [one, threads, pipelined].map(|plan| trial(&plan, SocketPolicy::NoDelay, open.clone()));
    let Some(taken) = served(&trials) else {
        return;
    };
    for (trial, taken) in trials.iter().zip(&taken) {
        let Asked::Open(arrivals) = &trial.asked else {
            panic!("the loop is open");
        };
        let answered = taken.answers.iter().map(|it| it.asked_at);
        let mut found: Vec<Duration> = answered.chain(taken.unanswered.iter().copied()).collect();
        found.sort();
        let due: Vec<Duration> = arrivals.iter().map(|it| it.at).collect();
        assert_eq!(found, due);
        // A busy machine may be late, but it answers most.
        assert!(
            taken.unanswered.len() < due.len() / 2,
            "{}",
            taken.unanswered.len()
        );
        for end in taken.work {
            assert!(end.data_segments > 100, "{end:?}");
            assert!(
                end.worked > Duration::ZERO && end.worked < trial.window.times(2),
                "{end:?}"
            );
        }
    }
}

/// A latency has the time in it for which a request waited to be sent: a server that computes for 2 ms answers 500 requests a
/// second, and of 2,000 a second most wait for much longer than an answer takes.
#[test]
fn waiting_to_be_sent_is_a_part_of_the_latency() {
    let plan = plan(Programs {
        service: Duration::from_millis(2),
        ..programs()
    });
    let trials =
        [100.0, 2000.0].map(|rate| trial(&plan, SocketPolicy::NoDelay, Demand::Open(rate)));
    let Some(taken) = served(&trials) else {
        return;
    };
    let [idle, full] = [0, 1].map(|at| times(&taken[at]));
    assert!(idle[0] >= Duration::from_millis(1), "it computes: {idle:?}");
    assert!(full[full.len() / 2] > Duration::from_millis(20), "{full:?}");
    let [few, many] = [0, 1].map(|at| taken[at].work[1].worked);
    assert!(few < many, "{few:?}, {many:?}");
}

/// The second write of an answer waits for a delayed ACK of the first, unless the receiver acknowledges at once or nothing is
/// held.
#[test]
fn a_stall_is_seen_with_the_kernels_own_rule_alone() {
    let plan = plan(Programs {
        answer_writes: 2,
        ..programs()
    });
    let policies = [
        SocketPolicy::Default,
        SocketPolicy::NoDelay,
        SocketPolicy::QuickAck,
    ];
    let trials = policies.map(|policy| trial(&plan, policy, Demand::Open(40.0)));
    let Some(taken) = served(&trials) else {
        return;
    };
    let middle = |at: usize| {
        let times = times(&taken[at]);
        times[times.len() / 2]
    };
    assert!(middle(0) > Duration::from_millis(20), "{:?}", middle(0));
    for at in [1, 2] {
        assert!(middle(at) < Duration::from_millis(20), "{:?}", middle(at));
    }
}

/// A closed loop asks again when it is answered.
#[test]
fn a_closed_loop_is_as_full_as_its_depth_allows() {
    let trials = [trial(
        &plan(programs()),
        SocketPolicy::NoDelay,
        Demand::Closed,
    )];
    let Some(taken) = served(&trials) else {
        return;
    };
    assert!(taken[0].answers.len() > 100, "{}", taken[0].answers.len());
    assert!(taken[0].unanswered.len() <= 4, "{:?}", taken[0].unanswered);
}

#[test]
fn what_the_kernel_cannot_be_told_is_an_error() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Err(why) = acquire_privilege() {
        eprintln!("skipped: {why}");
        return;
    }
    let backend = LoadedKernel::open().expect("namespaces are allowed");
    let plan = plan(programs());
    let cork = trial(&plan, SocketPolicy::Cork, Demand::Closed);
    let said = backend
        .serve(&cork)
        .expect_err("nobody corks here")
        .to_string();
    assert_eq!(said, "kernel cannot be told the policy CORK");
}
