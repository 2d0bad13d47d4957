//! What arguments mean, and which combinations are refused.

use clap::Parser;
use tinygram_engine::sender::send_policy::SendPolicy;
use tinygram_naglemark::hosts::INFERENCE;
use tinygram_papers::mogul::tables::VARIANTS;

use super::super::echo::{InForce, of_paper};
use super::*;

#[derive(Debug, Parser)]
struct Typed {
    #[command(flatten)]
    args: Args,
}

fn typed(line: &str) -> Result<(Args, Meant), String> {
    let words = std::iter::once("naglemark").chain(line.split_whitespace());
    let typed = Typed::try_parse_from(words).map_err(|error| error.to_string())?;
    match Meant::from(&typed.args) {
        Ok(meant) => Ok((typed.args, meant)),
        Err(Failure::Input(line)) => Err(line),
        Err(other) => panic!("{other:?}"),
    }
}

fn plan(line: &str) -> Result<Plan, String> {
    typed(line).map(|(_, meant)| meant.plan)
}

fn on_paper(meant: &Meant) -> &OnPaper {
    match &meant.on {
        On::Paper(on) => on,
        On::Sockets(on) => panic!("{on:?}"),
    }
}

#[test]
fn without_arguments_it_is_the_papers_experiment() {
    let (_, meant) = typed("").unwrap();
    let (plan, on) = (&meant.plan, on_paper(&meant));
    assert_eq!((plan.cells().len(), on.hosts.len()), (11 * 9 * 4, 2));
    assert_eq!(plan.app_buffers, [4096, 32_768, 131_072]);
    assert_eq!(plan.lengths, tinygram_naglemark::Lengths::PAPER);
    assert_eq!(on.hosts[0].mclbytes, 8192);
    let mss: Vec<_> = on.hosts.iter().map(|hosts| hosts.mss).collect();
    assert_eq!(mss, [1460, 4312]);
}

#[test]
fn every_name_of_table_3_is_in_the_registry() {
    assert_eq!(plan("").unwrap().policies.len(), VARIANTS.len());
    assert!(plan(&format!("--ack-policy {INFERENCE}")).is_ok());
}

#[test]
fn lengths_choose_the_trial_types_that_use_them() {
    let letters = |line| -> String {
        plan(line)
            .unwrap()
            .trial_types
            .iter()
            .map(|t| t.letter())
            .collect()
    };
    assert_eq!(letters(""), "SsRr");
    assert_eq!(letters("--lengths 12289"), "Ss");
    assert_eq!(letters("--lengths random:1..500"), "Rr");
    assert_eq!(letters("--lengths random:1..500,1..9"), "SsRr");
    assert_eq!(letters("--trial R,s,R"), "sR");
}

#[test]
fn names_are_read_in_any_case_and_kept_once() {
    let labels = |line| -> Vec<String> {
        let policies = plan(line).unwrap().policies;
        policies.iter().map(|it| it.label().to_owned()).collect()
    };
    assert_eq!(labels("--policy E+M,nagle,e+m"), ["E+M", "NAGLE"]);
    assert_eq!(labels("--variant all").len(), SendPolicy::LIST.len());
}

#[test]
fn write_size_and_app_buffer_are_one() {
    assert_eq!(plan("--write-size 1,256").unwrap().app_buffers, [1, 256]);
}

#[test]
fn contradictions_are_named() {
    for (line, told) in [
        (
            "--trial S --lengths random:1..9",
            "--trial S needs a series",
        ),
        ("--trial r --lengths 1..9", "--trial r needs random lengths"),
        (
            "--trial r --lengths 1..9,random:1..9",
            "no trial type uses it",
        ),
        ("--lengths 1..9,2..8", "one series, not two"),
        ("--rate 10M", "--rate belongs to --medium point-to-point"),
        (
            "--medium point-to-point --delay 1ms --rtt 1ms",
            "give one of them",
        ),
        ("--infer --ack-policy linux", "--infer is --ack-policy"),
        ("--copy-rule sunos --mclbytes 4K", "--mclbytes belongs to"),
        (
            "--trial s --requests-per-connection 10",
            "--requests-per-connection belongs to",
        ),
        (
            "--trial S --length-choice per-connection",
            "--length-choice belongs to",
        ),
        (
            "--policy nagle --naglim 30",
            "--naglim belongs to --policy naglim",
        ),
        ("--lengths 1..1G", "more than 100000000"),
        ("--capture-at receiver", "--capture-at belongs to"),
        ("--profile modern", "the paper's hosts have their own rules"),
        ("--hosts paper --policy cork", "--hosts linux-veth"),
        ("--trace -", "keep one cell and 792 are measured"),
        (
            "--pcapng x --medium fddi --policy nagle --app-buffer 4K --trial S",
            "give one --socket-buffer",
        ),
    ] {
        let refusal = plan(line).unwrap_err();
        assert!(refusal.contains(told), "{line}: {refusal}");
        assert!(!refusal.contains('\n'), "{line}");
    }
}

#[test]
fn what_is_in_force_is_echoed_where_nothing_was_typed() {
    let in_force = |line| {
        let (args, meant) = typed(line).unwrap();
        let in_force = InForce::of(&meant.plan, &on_paper(&meant).hosts[0], &args);
        serde_json::to_value(in_force).unwrap()
    };
    let fitted = in_force("--socket-buffer 64K,128K");
    assert_eq!(
        fitted["receive_buffers"],
        serde_json::json!([65_535, 65_536])
    );
    assert_eq!(fitted["ack_policy"], "bytes-consumed");
    assert_eq!(fitted["ack_timer"], "cyclic:200ms");
    assert_eq!(fitted["ack_slow_timer_ms"], 500.0);
    assert_eq!(fitted["requests_per_connection"], "all");
    assert_eq!(in_force("--model literal")["ack_policy"], "every-second");
    assert_eq!(in_force("--infer")["ack_policy"], INFERENCE.to_string());
    let typed = in_force("--ack-timer 40ms --receive-buffer 8K --socket-buffer 16K");
    assert_eq!(typed["ack_timer"], "per-connection:40ms");
    assert_eq!(typed["ack_slow_timer_ms"], serde_json::Value::Null);
    assert_eq!(typed["receive_buffers"], serde_json::json!([8192]));
}

#[test]
fn parameters_echo_what_results_depend_on_and_not_the_threads() {
    let echoed = |line| {
        let (args, meant) = typed(line).unwrap();
        serde_json::to_value(of_paper(&meant, on_paper(&meant), &args)).unwrap()
    };
    assert_eq!(echoed("--threads 1 --stats"), echoed("--threads 2"));
    let parameters = echoed("--rtt 80ms --loss 1% --seed 7 --medium fddi");
    assert_eq!(parameters["media"][0]["rtt_ms"], 80.0);
    assert_eq!(parameters["loss"], 0.01);
    assert_eq!(parameters["seed"], 7);
    assert_eq!(parameters["naglim"], serde_json::Value::Null);
    assert_eq!(echoed("--policy naglim")["naglim"], 65_535);
    assert_eq!(echoed("--policy naglim --naglim 30")["naglim"], 30);
    assert_eq!(parameters["media"][0]["medium"], "fddi");
    assert_eq!(parameters["sequential"]["step"], 100);
}
