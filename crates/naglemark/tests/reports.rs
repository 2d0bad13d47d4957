//! Reports that contradict each other: what their loads come to on simulated hosts, and why.

use tinygram_naglemark::hosts::Over;
use tinygram_naglemark::load::reports::{
    Compared, Origin, REPORTS, Report, Reported, Verdict, reproduce,
};

fn named(name: &str) -> &'static Report {
    let mut all = REPORTS.iter();
    all.find(|it| it.name == name).expect("there is one")
}

fn reported(name: &str) -> Reported {
    reproduce(named(name), Over::Veth, (1, 1), &|| ()).expect("it runs")
}

/// Returns a scene's only load of the report's own.
fn own(reported: &Reported, scene: usize) -> Compared {
    let (_, loads) = &reported.scenes[scene];
    let mut own = loads.iter().filter(|it| it.asked.is_reports);
    *own.next().expect("a load of the report's")
}

/// Its one task never has two commands under way, so nothing is ever held; as soon as there are two, they wait for each
/// other's acknowledgments.
#[test]
fn redis_rs_gains_as_soon_as_two_commands_are_under_way() {
    let reported = reported("redis-rs");
    let (_, loads) = &reported.scenes[0];
    let times: Vec<f64> = loads.iter().map(|it| it.than_linux.value).collect();
    assert!((times[0] - 1.0).abs() < 0.001, "{times:?}");
    assert!(times[1..].iter().all(|it| *it > 1.39), "{times:?}");
    assert!(loads[5].load > 3.0 * loads[1].load, "it is one of load");
}

/// The report's figure is between what it would be without a round trip and without a server's work.
#[test]
fn aws_sdks_figure_is_between_the_two_places_where_its_time_may_be() {
    let reported = reported("aws-sdk");
    let [low, high] = [0, 1].map(|scene| own(&reported, scene).than_linux.value);
    let [said, _] = reported.report.figure.expect("it has one").times;
    assert!(low < said && said < high, "{low} {said} {high}");
    assert_eq!(reported.verdict(), Verdict::Agrees);
}

/// Holding wins at full load, unless what is held waits for a delayed acknowledgment.
#[test]
fn haywire_is_better_off_without_no_delay_if_its_clients_acknowledge_at_once() {
    let reported = reported("haywire");
    assert!(own(&reported, 0).than_linux.value > 2.0);
    let at_once = own(&reported, 1);
    assert!(at_once.than_linux.value < 0.9 && at_once.than_nagle.value < 0.9);
    assert!(at_once.load > 0.99);
    assert_eq!(reported.verdict(), Verdict::AtSomeLoads);
}

/// What is not simulated says what it needs; what is has an origin for each of its conditions, and not only assumed ones.
#[test]
fn nothing_is_compared_without_its_conditions() {
    for report in REPORTS {
        assert!(!report.needs.is_empty());
        assert_eq!(
            report.figure.is_none(),
            report.scenes.is_empty(),
            "{}",
            report.name
        );
        for scene in report.scenes {
            let conditions = scene.conditions();
            assert!(conditions.len() >= 10);
            let is_assumed = |(_, origin): &(String, Origin)| matches!(origin, Origin::Assumed(_));
            assert!(!conditions.iter().all(is_assumed), "{}", report.name);
        }
    }
    assert_eq!(reported("kafka").verdict(), Verdict::NotSimulated);
}
