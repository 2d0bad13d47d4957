//! Tests of trials on the paper's hosts: what captures show, and that unknown policies are refused.

use tinygram_engine::Flags;
use tinygram_engine::sender::send_policy::Registered;
use tinygram_sim::medium::{MediumKind, Side};
use tinygram_sim::observer::Tap;

use super::*;
use crate::backend::{Backend, Error, VirtualTime};
use crate::lengths::Lengths;
use crate::plan::Plan;
use crate::score::Yardstick;
use crate::trial::{Trial, TrialType};

fn hosts() -> PaperHosts {
    PaperHosts::new(Model::Fitted, MediumKind::Fddi)
}

fn trial(trial_type: TrialType) -> Trial {
    let nagle = Registered::named("nagle").expect("registered");
    let plan = Plan {
        policies: vec![nagle.into()],
        app_buffers: vec![32_768],
        socket_buffers: vec![65_536],
        trial_types: vec![trial_type],
        lengths: Lengths::fixed(20_000, 3),
        seed: 0,
        ..Plan::default()
    };
    plan.trial(&plan.cells()[0], 0)
}

#[test]
fn every_connection_is_seen_to_open_with_its_mss() {
    for (trial_type, connections) in [
        (TrialType::SequentialOne, 1),
        (TrialType::SequentialEach, 3),
    ] {
        for at in Side::BOTH {
            let seen = hosts()
                .captured(&trial(trial_type), at)
                .expect("NAGLE is known");
            let segments = seen.iter().map(|(_, frame)| frame.segment);
            let syns = segments.filter(|segment| segment.flags.has(Flags::SYN));
            let mss: Vec<_> = syns.map(|segment| segment.options.mss).collect();
            assert_eq!(
                mss,
                vec![Some(4312); 2 * connections],
                "{trial_type:?} {at:?}"
            );
            assert!(seen[0].1.segment.flags.has(Flags::SYN));
            assert!(seen.is_sorted_by_key(|(_, frame)| frame.at));
        }
    }
}

#[test]
fn the_trial_itself_is_seen_as_it_ran() {
    let trial = trial(TrialType::SequentialOne);
    let (_, tap) = hosts()
        .watched(&trial, Tap::at(Side::Server))
        .expect("NAGLE is known");
    let of_trial = tap.passed();
    let seen = hosts()
        .captured(&trial, Side::Server)
        .expect("NAGLE is known");
    assert_eq!(seen.len(), 3 + of_trial.len());
    let moved = seen[3].1.at.since(of_trial[0].1.at);
    for ((_, captured), (_, ran)) in seen[3..].iter().zip(&of_trial) {
        assert_eq!(captured.segment, ran.segment);
        assert_eq!(captured.at.since(ran.at), moved);
    }
}

#[test]
fn what_hosts_cannot_be_told_is_refused_by_name() {
    let mut trial = trial(TrialType::SequentialOne);
    trial.policy = SocketPolicy::QuickAck.into();
    let error = hosts()
        .simulate(&trial)
        .expect_err("Tru64 had no such option");
    assert!(matches!(error, Error::Policy { .. }));
    assert_eq!(error.to_string(), "sim cannot be told the policy QUICKACK");
    let linux = LinuxHosts::new(Over::Veth);
    assert!(linux.simulate(&trial).is_ok());
}

#[test]
fn a_socket_as_it_comes_is_nagle_on_the_papers_hosts() {
    let mut trial = trial(TrialType::SequentialOne);
    let nagle = hosts().simulate(&trial).expect("known").samples;
    trial.policy = SocketPolicy::Default.into();
    assert_eq!(hosts().simulate(&trial).expect("known").samples, nagle);
    trial.policy = SocketPolicy::NoDelay.into();
    assert_ne!(hosts().simulate(&trial).expect("known").samples, nagle);
}

/// Tests every policy on hosts of every kind: a shared run equals the run that each policy has
/// alone.
#[test]
fn policies_that_share_a_run_come_to_what_each_comes_to_alone() {
    let policies: Vec<Policy> = SendPolicy::LIST.iter().map(Policy::from).collect();
    let (mut shared, mut own) = (0, 0);
    for (number, medium) in [MediumKind::Fddi, MediumKind::Ethernet]
        .into_iter()
        .cycle()
        .take(12)
        .enumerate()
    {
        let hosts = PaperHosts {
            mclbytes: [8192, 4096, 1024][number % 3],
            infer: number % 4 == 3,
            impairment: Impairment {
                loss: if number % 5 == 4 { 0.01 } else { 0.0 },
                ..Impairment::NONE
            },
            ..PaperHosts::new([Model::Fitted, Model::Literal][number / 6], medium)
        };
        let plan = Plan {
            policies: policies.clone(),
            app_buffers: vec![[4096, 32_768, 131_072, 6000][number % 4]],
            socket_buffers: vec![[65_536, 16_384, 12_288][number / 2 % 3]],
            trial_types: vec![TrialType::ALL[number % 4]],
            lengths: Lengths::fixed([30_000, 9_000, 61_234][number % 3], 40),
            seed: number as u64,
            ..Plan::default()
        };
        let trial = plan.trial(&plan.cells()[0], 0);
        let shares = hosts.simulate_each(&trial, &policies).expect("known");
        for (policy, share) in policies.iter().zip(shares) {
            let alone = hosts.simulate(&trial.under(policy.clone())).expect("known");
            assert_eq!(
                format!("{:?}", share.taken),
                format!("{alone:?}"),
                "{} in case {number}",
                policy.label()
            );
            shared += u32::from(!share.is_own);
            own += u32::from(share.is_own);
        }
    }
    assert!(shared > 0 && own > 12, "{shared} shared, {own} run");
}

/// A bound that a transfer beats is none.
#[test]
fn no_transfer_beats_the_earliest_delivery() {
    let policies: Vec<Policy> = SendPolicy::LIST.iter().map(Policy::from).collect();
    let mut at_best = f64::MAX;
    for number in 0..160_usize {
        let hosts: Box<dyn Backend> = match number % 4 {
            0 => Box::new(PaperHosts::new(
                [Model::Fitted, Model::Literal][number / 4 % 2],
                [
                    MediumKind::Fddi,
                    MediumKind::Ethernet,
                    MediumKind::EthernetFullDuplex,
                ][number / 8 % 3],
            )),
            _ => Box::new(LinuxHosts {
                bits_per_second: [None, Some(10_000_000), Some(1_000_000_000)][number / 4 % 3],
                rtt: Duration::from_micros([0, 100, 20_000][number / 12 % 3]),
                mss: [1460, 536, 8960][number / 3 % 3],
                impairment: Impairment {
                    reorder: [0.0, 0.1][number / 5 % 2],
                    ..Impairment::NONE
                },
                ..LinuxHosts::new([Over::Veth, Over::Tun][number / 2 % 2])
            }),
        };
        let conditions = hosts.conditions();
        let yardstick = Yardstick::new(&conditions, Plan::PAPER_MULTIPLIER);
        let plan = Plan {
            policies: vec![policies[number % policies.len()].clone()],
            app_buffers: vec![[4096, 32_768, 131_072][number % 3]],
            socket_buffers: vec![[65_536, 16_384][number / 3 % 2]],
            trial_types: vec![TrialType::ALL[number / 7 % 4]],
            lengths: Lengths::fixed([1, 999, 12_289, 100_000][number / 11 % 4], 10),
            seed: number as u64,
            ..Plan::default()
        };
        let mut hosts = hosts;
        let taken = hosts.run(&plan.trial(&plan.cells()[0], 0)).expect("known");
        for sample in &taken.samples {
            let earliest = yardstick.earliest(sample.length).expect("simulated");
            assert!(
                sample.elapsed >= earliest,
                "case {number}: {sample:?} before {earliest:?} over {conditions:?}"
            );
            let ratio = sample.elapsed.as_nanos() as f64 / earliest.as_nanos() as f64;
            at_best = at_best.min(ratio);
        }
    }
    // It is near what can be had.
    assert!(at_best < 1.5, "{at_best}");
}
