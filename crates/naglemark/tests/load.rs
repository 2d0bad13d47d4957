//! Load: what a row's numbers mean, and what may not change them.

use tinygram_engine::sender::send_policy::SendPolicy;
use tinygram_naglemark::Duration;
use tinygram_naglemark::hosts::Over;
use tinygram_naglemark::load::{
    Arrivals, Change, Course, Demand, KneeRule, LoadBackend, LoadCell, LoadPlan, LoadRow,
    LoadedHosts, Metric, Programs, Replies, Server, Sizes, capacity, distance, envelope, is_simple,
    knees, measure_load,
};
use tinygram_naglemark::{Policy, SocketPolicy};

fn plan(rates: &[f64]) -> LoadPlan {
    LoadPlan {
        policies: vec![
            Policy::engine("NAGLE", SendPolicy::Nagle),
            Policy::engine("OFF", SendPolicy::Off),
        ],
        demands: rates.iter().map(|rate| Demand::Open(*rate)).collect(),
        warmup: Duration::from_millis(50),
        window: Duration::from_millis(200),
        patience: Duration::from_millis(200),
        ..LoadPlan::default()
    }
}

fn hosts() -> LoadedHosts {
    LoadedHosts::new(Over::Veth)
}

/// Lets four connections have 32 small requests under way each.
fn pipelined(plan: &mut LoadPlan) {
    plan.programs = Programs {
        connections: 4,
        depth: 32,
        service: Duration::from_micros(1),
        ..plan.programs
    };
    (plan.request, plan.answer) = (Sizes::Fixed(50), Sizes::Fixed(50));
}

fn rows(plan: &LoadPlan) -> Vec<LoadRow> {
    measure_load(plan, &hosts(), &|_| ()).expect("it runs").rows
}

/// Returns a latency of a row in milliseconds; there are requests.
fn ms(row: &LoadRow, metric: Metric) -> f64 {
    metric.of(&row.score).expect("there are requests").value
}

/// Every request that is due in the measured time is counted once: answered, or not.
#[test]
fn every_request_is_accounted_for() {
    let plan = plan(&[5_000.0, 400_000.0]);
    for cell in plan.cells() {
        let trial = plan.trial(&cell, 0);
        let tinygram_naglemark::load::Asked::Open(arrivals) = &trial.asked else {
            panic!("the loop is open");
        };
        let taken = hosts().serve(&trial).expect("it runs");
        assert_eq!(taken.answers.len() + taken.unanswered.len(), arrivals.len());
        let mut found: Vec<Duration> = taken.answers.iter().map(|it| it.asked_at).collect();
        found.extend(&taken.unanswered);
        found.sort();
        let due: Vec<Duration> = arrivals.iter().map(|it| it.at).collect();
        assert_eq!(found, due);
    }
}

/// A latency has the time in it for which a request waited to be sent: at twice the capacity, half of what came in the
/// window waits for about as long as the window, although each answer comes quickly once it is asked for.
#[test]
fn a_latency_counts_from_when_the_request_was_due() {
    let plan = plan(&[250_000.0]);
    let row = &rows(&plan)[1];
    assert_eq!(row.keeps_up(), Some(false));
    assert!(ms(row, Metric::P99) > 100.0, "{:?}", row.score.p99_ms);
    assert!(row.score.unanswered > 0);
}

/// A server that has nothing else to do answers at once: the median is about the work of one exchange.
#[test]
fn an_idle_server_answers_at_once() {
    let row = &rows(&plan(&[1_000.0]))[0];
    let work = row.score.client_us_per_answer + row.score.server_us_per_answer;
    let ratio = ms(row, Metric::P50) * 1e3 / work;
    assert_eq!(row.keeps_up(), Some(true));
    assert!((ratio - 1.0).abs() < 0.1, "{ratio}");
    assert!((row.score.segments_per_answer - 1.0).abs() < 0.01);
    assert!(row.score.server_busy < 0.05);
}

/// Nagle's algorithm against delayed ACKs: of two writes the second waits for the client's timer.
#[test]
fn two_writes_stall_under_nagle_and_not_without() {
    let mut plan = plan(&[200.0]);
    plan.programs.answer_writes = 2;
    let rows = rows(&plan);
    let [nagle, off] = &rows[..] else {
        panic!("two rows");
    };
    assert!(ms(nagle, Metric::P50) > 39.0, "{:?}", nagle.score.p50_ms);
    assert!(ms(off, Metric::P99) < 0.2, "{:?}", off.score.p99_ms);
}

/// Pipelined small answers: sending wins when there is little to do, holding when there is much.
#[test]
fn the_winner_changes_with_the_load() {
    let mut plan = plan(&[10_000.0, 170_000.0]);
    pipelined(&mut plan);
    let mut hosts = hosts();
    hosts.hosts.rtt = Duration::from_micros(200);
    let rows = measure_load(&plan, &hosts, &|_| ()).expect("it runs").rows;
    let mean = |at: usize| ms(&rows[at], Metric::Mean);
    let [nagle_low, nagle_high, off_low, off_high] = [0, 1, 2, 3].map(mean);
    assert!(off_low < nagle_low / 2.0, "{off_low} {nagle_low}");
    assert!(nagle_high < off_high / 2.0, "{nagle_high} {off_high}");
    assert!(rows[1].score.segments_per_answer < 0.5);

    let policy = |label: &'static str| move |cell: &LoadCell| cell.policy.label() == label;
    let least = envelope(&rows, Metric::Mean, |cell| is_simple(&cell.policy));
    let winners: Vec<&str> = least.iter().map(|it| it.row.cell.policy.label()).collect();
    assert_eq!(winners, ["OFF", "NAGLE"]);
    let nagle = distance(&rows, &least, Metric::Mean, policy("NAGLE")).expect("it is measured");
    assert_eq!(nagle.worst, Some(nagle_low / off_low));
    let expected = (nagle_low / off_low).sqrt();
    assert!((nagle.mean.expect("it keeps up") - expected).abs() < 1e-9);
    // Sending at once falls behind at the higher one, where its latency says how long was measured.
    let off = distance(&rows, &least, Metric::Mean, policy("OFF")).expect("it is measured");
    assert_eq!((rows[3].keeps_up(), off.left_out), (Some(false), 1));
    assert_eq!((off.mean, off.worst), (Some(1.0), Some(1.0)));
}

/// Where no request comes there is no latency: none counts as 0, and nothing is computed from none.
#[test]
fn no_requests_have_no_latency() {
    let mut plan = plan(&[1e-3, 50.0]);
    plan.policies.truncate(1);
    let rows = rows(&plan);
    assert_eq!(Metric::ALL.map(|it| it.of(&rows[0].score)), [None; 3]);
    assert_eq!(rows[0].keeps_up(), None, "it cannot be told");
    // Of ten batches some are empty, which leaves the interval about as wide as the values differ.
    let p50 = rows[1].score.p50_ms.expect("there are requests");
    assert!(p50.within < 0.1 * p50.value, "{p50:?}");
    let least = envelope(&rows, Metric::Mean, |_| true);
    assert_eq!(least.len(), 1);
    let error =
        knees(&plan, &hosts(), KneeRule::default(), 0.1, &|_| ()).expect_err("it is refused");
    assert!(error.to_string().contains("no request came"), "{error}");
    let mut far = hosts();
    far.hosts.rtt = Duration::from_secs(1);
    let error = capacity(&plan, &far, &|_| ()).expect_err("it is refused");
    assert!(error.to_string().contains("no answer came"), "{error}");
}

/// Of nine requests or less nobody can tell whether they were kept up with, so they are on no envelope and in no distance.
#[test]
fn what_cannot_be_told_is_left_out() {
    let rows = rows(&plan(&[5.0, 20_000.0]));
    assert_eq!([0, 2].map(|at| rows[at].keeps_up()), [None; 2]);
    assert_eq!([1, 3].map(|at| rows[at].keeps_up()), [Some(true); 2]);
    assert!(rows[0].score.mean_ms.is_some(), "there are requests");
    let least = envelope(&rows, Metric::Mean, |_| true);
    let rates: Vec<_> = least.iter().map(|it| &it.row.cell.demand).collect();
    assert_eq!(rates, [&Demand::Open(20_000.0)]);
    // An envelope of rows that can be told, and a policy of which one cannot.
    let of = |label: &'static str| move |cell: &LoadCell| cell.policy.label() == label;
    let mut known = rows.clone();
    known[2].score.requests = 10_000;
    known[2].score.answered_per_second.value = known[2].score.offered_per_second;
    let least = envelope(&known, Metric::Mean, of("OFF"));
    assert_eq!(least.len(), 2);
    let nagle = distance(&known, &least, Metric::Mean, of("NAGLE")).expect("it is measured");
    assert_eq!(nagle.left_out, 1);
}

/// A policy that keeps up with nothing has no distance, whatever was measured of it.
#[test]
fn a_policy_that_keeps_up_with_nothing_has_no_distance() {
    let mut plan = plan(&[20_000.0, 40_000.0]);
    plan.programs.answer_writes = 2;
    let rows = rows(&plan);
    let least = envelope(&rows, Metric::P99, |_| true);
    let of_nagle = |cell: &LoadCell| cell.policy.label() == "NAGLE";
    let nagle = distance(&rows, &least, Metric::P99, of_nagle).expect("it is measured");
    assert_eq!((nagle.mean, nagle.worst, nagle.left_out), (None, None, 2));
}

/// The knee is where the 99th percentile passes the bound: it holds at the knee, and not a little above it.
#[test]
fn the_knee_is_found() {
    let mut plan = plan(&[]);
    plan.policies.truncate(1);
    let (hosts, rule) = (hosts(), KneeRule::default());
    let capacity = capacity(&plan, &hosts, &|_| ()).expect("it runs");
    let found = knees(&plan, &hosts, rule, capacity, &|_| ()).expect("it runs");
    let knee = found.knees[0].1.expect("there is a knee");
    assert!(
        knee > capacity / 2.0 && knee < capacity,
        "{knee} of {capacity}"
    );
    let p99 = |rate: f64| {
        plan.demands = vec![Demand::Open(rate)];
        ms(&rows(&plan)[0], Metric::P99)
    };
    let [at, above] = [knee, knee + capacity * 2.0 * rule.within].map(p99);
    let bound = found.unloaded_ms * rule.times;
    assert!(at <= bound && above > bound, "{at} {above} {bound}");
}

/// A closed loop keeps every connection full: by Little's law the mean latency is what is under way over the answers
/// a second.
#[test]
fn a_closed_loop_obeys_littles_law() {
    let mut plan = plan(&[]);
    plan.demands = vec![Demand::Closed];
    plan.programs.depth = 4;
    let row = &rows(&plan)[1];
    let under_way = f64::from(plan.programs.connections * plan.programs.depth);
    let expected_ms = under_way / row.score.answered_per_second.value * 1e3;
    let ratio = ms(row, Metric::Mean) / expected_ms;
    assert_eq!(row.keeps_up(), None, "it asks for no more than is answered");
    assert!((ratio - 1.0).abs() < 0.02, "{ratio}");
}

/// What a server does with its threads and its writes is in the row.
#[test]
fn kinds_of_servers_differ() {
    let busy = |change: fn(&mut LoadPlan)| {
        let mut plan = plan(&[]);
        plan.demands = vec![Demand::Closed];
        plan.programs.depth = 8;
        change(&mut plan);
        rows(&plan).swap_remove(1).score
    };
    let usual = busy(|_| ());
    let gathered = busy(|plan| plan.programs.replies = Replies::Gathered);
    assert!(gathered.segments_per_answer < usual.segments_per_answer / 2.0);
    assert!(gathered.answered_per_second.value > usual.answered_per_second.value);
    // A thread for each connection is woken for each batch of requests.
    let threads = busy(|plan| plan.programs.server = Server::ThreadEach);
    assert!(threads.answered_per_second.value != usual.answered_per_second.value);
    assert!(threads.server_busy > 0.9);
}

/// Bursts queue behind each other where single requests find the server idle.
#[test]
fn bursts_wait_for_each_other() {
    let p99 = |arrivals| {
        let mut plan = plan(&[20_000.0]);
        (plan.arrivals, plan.programs.depth) = (arrivals, 100);
        ms(&rows(&plan)[1], Metric::P99)
    };
    assert!(p99(Arrivals::Bursts { of: 20 }) > 2.0 * p99(Arrivals::Poisson));
}

/// Below the load at which holding becomes faster TOGGLE is near OFF, above it near Nagle's; each of these two is far from
/// the envelope on the other side.
#[test]
fn a_policy_that_switches_is_near_the_better_rule_at_either_load() {
    let mut plan = plan(&[40_000.0, 175_000.0]);
    plan.policies
        .push(Policy::engine("TOGGLE", SendPolicy::Toggle));
    plan.programs = Programs {
        connections: 4,
        depth: 32,
        service: Duration::from_micros(1),
        ..plan.programs
    };
    plan.request = Sizes::Fixed(50);
    plan.answer = Sizes::Fixed(50);
    plan.warmup = Duration::from_secs(2);
    let mut hosts = hosts();
    hosts.hosts.rtt = Duration::from_micros(200);
    let rows = measure_load(&plan, &hosts, &|_| ()).expect("it runs").rows;
    let [nagle, nagle_full, off, off_full, toggle, toggle_full] = &rows[..] else {
        panic!("three policies at two loads");
    };
    let mean = |row| ms(row, Metric::Mean);
    assert!(mean(nagle) > 1.5 * mean(off));
    assert!(mean(toggle) < 1.05 * mean(off), "{}", mean(toggle));
    assert_eq!(off_full.keeps_up(), Some(false));
    let times = mean(toggle_full) / mean(nagle_full);
    assert!(times < 1.1, "{times}");
}

/// After a step to more than OFF can carry, connections that decide together hold within a second, and all requests that came
/// meanwhile are answered.
#[test]
fn connections_that_decide_together_follow_a_step() {
    let mut plan = plan(&[]);
    plan.policies = vec![
        Policy::engine("NAGLE", SendPolicy::Nagle),
        Policy::engine(
            "TOGGLE-HOST",
            SendPolicy::named("toggle-host").expect("it is registered"),
        ),
    ];
    pipelined(&mut plan);
    (plan.warmup, plan.window) = (Duration::from_secs(1), Duration::from_secs(1));
    plan.demands = vec![Demand::Course(Course {
        rates: [40_000.0, 185_000.0, 185_000.0].into(),
        change: Change::Steps,
    })];
    let mut hosts = hosts();
    hosts.hosts.rtt = Duration::from_micros(200);
    let rows = measure_load(&plan, &hosts, &|_| ()).expect("it runs").rows;
    let last = |row: &LoadRow| row.score.parts[2].mean_ms.expect("requests came").value;
    let times = last(&rows[1]) / last(&rows[0]);
    assert!(times < 1.1, "{times}");
}

/// Each request of a course is in one of its parts, and a part has the rate and the waiting of its own load.
#[test]
fn a_course_is_the_sum_of_its_parts() {
    let mut plan = plan(&[]);
    let rates = [1_000.0, 200_000.0, 1_000.0].into();
    plan.demands = vec![Demand::Course(Course {
        rates,
        change: Change::Steps,
    })];
    let row = &rows(&plan)[1];
    let parts = &row.score.parts;
    let offered: Vec<f64> = parts.iter().map(|it| it.offered_per_second).collect();
    let sum: f64 = offered.iter().map(|rate| rate * 0.2).sum();
    assert_eq!(sum.round() as u64, row.score.requests);
    assert!(offered[1] > 100.0 * offered[0], "{offered:?}");
    // Twice what the server can do: what waits at the end of the part waits on in the next one.
    let means: Vec<f64> = parts
        .iter()
        .map(|it| it.mean_ms.expect("there are requests").value)
        .collect();
    assert!(means[1] > 100.0 * means[0], "{means:?}");
    assert!(means[2] > 100.0 * means[0], "{means:?}");
}

/// The same seed gives the same rows on one thread and on several.
#[test]
fn rows_do_not_depend_on_threads() {
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let plan = plan(&[5_000.0, 50_000.0]);
        pool.expect("threads start")
            .install(|| format!("{:?}", rows(&plan)))
    };
    assert_eq!(on(1), on(3));
}

/// What a backend cannot do is refused before any work.
#[test]
fn what_is_not_known_is_refused() {
    let mut plan = plan(&[1_000.0]);
    plan.policies = vec![SocketPolicy::Cork.into()];
    let error = measure_load(&plan, &hosts(), &|_| ()).expect_err("it is refused");
    assert!(error.to_string().contains("CORK"), "{error}");
    plan.policies = vec![SocketPolicy::Default.into()];
    plan.programs.connections = 65;
    let error = measure_load(&plan, &hosts(), &|_| ()).expect_err("it is refused");
    assert!(error.to_string().contains("opening"), "{error}");
}

/// A server that waits for something else takes as long as it waits, without its processor, and serves others meanwhile.
#[test]
fn a_pause_takes_time_and_no_processor() {
    let mut plan = plan(&[1_000.0]);
    plan.programs.server = Server::ThreadEach;
    let without = rows(&plan)[1].score.clone();
    plan.programs.pause = Duration::from_millis(5);
    let row = &rows(&plan)[1];
    assert_eq!(row.keeps_up(), Some(true), "five are paused at a time");
    let mean = |score: &tinygram_naglemark::load::LoadScore| {
        score.mean_ms.expect("there are requests").value
    };
    let longer = mean(&row.score) - mean(&without);
    assert!((4.9..7.0).contains(&longer), "{longer}");
    // Five milliseconds of work for each would be five processors; a second wake-up for each is not.
    assert!(row.score.server_busy < 2.0 * without.server_busy);
}

/// The end that is not measured has its own policy: with NODELAY there, an answer in two writes does not wait.
#[test]
fn the_other_end_has_its_own_policy() {
    let mut plan = plan(&[1_000.0]);
    plan.programs.answer_writes = 2;
    plan.ends = tinygram_naglemark::load::Ends::Client;
    plan.other = Some(Policy::engine("NAGLE", SendPolicy::Nagle));
    assert!(rows(&plan).iter().all(|row| ms(row, Metric::P50) > 10.0));
    plan.other = Some(SocketPolicy::NoDelay.into());
    assert!(rows(&plan).iter().all(|row| ms(row, Metric::P50) < 1.0));
}
