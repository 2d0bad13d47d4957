//! `naglemark` on real packets: short whole runs over our stack and the kernel. They make their own
//! namespaces and TUN devices; if that is not possible they say so and are skipped, unless `CI` is
//! set.

#![cfg(target_os = "linux")]

use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;

/// The tests run in real time: one at a time, so that none delays another.
static TURN: Mutex<()> = Mutex::new(());

fn tinygram(arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tinygram"));
    command.arg("naglemark").args(arguments.split_whitespace());
    command
}

/// Returns the document of a run, or `None` if the machine cannot make it.
fn document(arguments: &str) -> Option<Value> {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let output = tinygram(&format!("{arguments} --format json")).output();
    let output = output.expect("the program starts");
    let told = String::from_utf8_lossy(&output.stderr);
    let cannot = [
        "making network namespaces is not allowed",
        "making a TUN device",
        "not permitted to load BPF programs",
        "has no type information of its own",
        "takes Linux 6.4 or newer",
    ];
    if cannot.iter().any(|reason| told.contains(reason)) {
        assert_eq!(output.status.code(), Some(2));
        assert!(
            std::env::var_os("CI").is_none(),
            "not to be skipped in CI: {told}"
        );
        eprintln!("skipped: {told}");
        return None;
    }
    assert!(output.status.success(), "{arguments}: {told}");
    Some(serde_json::from_slice(&output.stdout).expect("it is JSON"))
}

fn number(of: &Value, field: &str) -> f64 {
    let number = of[field].as_f64();
    number.unwrap_or_else(|| panic!("{field} is {}", of[field]))
}

/// Two writes of 4096 and 100 octets.
const TORN: &str = "--trial S --lengths 4196 --transfers 10";

#[test]
fn every_policy_answers_over_the_stack() {
    let Some(document) = document(&format!("--backend stack {TORN}")) else {
        return;
    };
    let cells = document["cells"].as_array().expect("a list");
    let registered = tinygram_engine::sender::send_policy::SendPolicy::LIST;
    let labels: Vec<_> = cells.iter().map(|cell| cell["variant"].clone()).collect();
    let all: Vec<_> = registered.iter().map(|entry| entry.label).collect();
    assert_eq!(labels, all);
    for cell in cells {
        assert_eq!(
            (&cell["backend"], &cell["medium"]),
            (&"stack".into(), &"tun".into())
        );
        let segments = number(cell, "segments_per_transfer");
        // 1448 + 1448 + 1200 + 100, or fewer if the last ones are joined.
        assert!((3.0..=4.0).contains(&segments), "{cell}");
        assert!(number(cell, "short_segments_per_transfer") <= 2.0, "{cell}");
    }
    let segments = |label: &str| {
        let cell = cells.iter().find(|cell| cell["variant"] == label);
        number(cell.expect("measured"), "segments_per_transfer")
    };
    assert!(segments("OFF") > 3.9, "never gathers");
    assert!(
        segments("FLUSH-ON-BLOCK-SIMPLE") < 3.5,
        "gathers unless the machine lets it wait for 1 ms"
    );
}

#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn every_policy_answers_in_the_kernel() {
    let Some(document) = document(&format!("--backend bpf {TORN}")) else {
        return;
    };
    let cells = document["cells"].as_array().expect("a list");
    let registered = tinygram_engine::sender::send_policy::SendPolicy::LIST.iter();
    let labels: Vec<_> = cells.iter().map(|cell| cell["variant"].clone()).collect();
    let as_bpf: Vec<_> = registered
        .filter(|entry| tinygram_naglemark_live::in_kernel(entry).is_some())
        .map(|entry| entry.label)
        .collect();
    assert_eq!(labels, as_bpf);
    assert_eq!(labels.len(), 16);
    for cell in cells {
        assert_eq!(cell["backend"], "bpf");
    }
    assert_eq!(document["parameters"]["conditions"][0]["backend"], "bpf");
}

#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn nagle_stalls_on_the_stack_where_the_simulator_says() {
    nagle_stalls_where_the_simulator_says("stack", "linux-tun");
}

#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn nagle_stalls_in_the_kernel_where_the_simulator_says() {
    nagle_stalls_where_the_simulator_says("bpf", "linux-veth");
}

/// With a link rate no race decides: 8000 octets leave as 1448, 1448, 1200, 1448, 1448, and NAGLE
/// holds 1008 until the fifth segment is acknowledged, which Linux delays by 40 ms.
fn nagle_stalls_where_the_simulator_says(backend: &str, hosts: &str) {
    let policies = "nagle,off,default,nodelay";
    let Some(document) = document(&format!(
        "--backend sim,{backend} --hosts {hosts} --policy {policies} --link emulated --rate 20Mbit --rtt 2ms --multiplier 2 \
         --receive-buffer 64K --trial S --lengths 8000 --transfers 10 --repetitions 3"
    )) else {
        return;
    };
    let agreement = document["parameters"]["agreement"]
        .as_array()
        .expect("a list");
    assert_eq!(agreement.len(), 4);
    for of in agreement {
        assert_eq!(of["backends"], serde_json::json!(["sim", backend]));
        let [sim, real] =
            [0, 1].map(|at| of["segments_per_transfer"][at].as_f64().expect("counted"));
        assert!((sim - real).abs() < 0.05 * sim, "{of}");
        let delayed = of["delayed"].as_array().expect("both").clone();
        match of["variant"] == "NAGLE" {
            // The first answers still get quick ACKs.
            true => assert!(
                delayed.iter().all(|count| count.as_u64() >= Some(5)),
                "{of}"
            ),
            false => assert_eq!(delayed[0], 0, "{of}"),
        }
    }
}

#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn three_backends_are_compared_two_by_two() {
    let Some(document) = document(&format!(
        "--backend sim,kernel,stack --hosts linux-veth --policy default,cork {TORN} --receive-buffer 64K"
    )) else {
        return;
    };
    let agreement = document["parameters"]["agreement"]
        .as_array()
        .expect("a list");
    let pairs: Vec<_> = agreement
        .iter()
        .map(|of| of["backends"].to_string())
        .collect();
    let expected = [
        r#"["sim","kernel"]"#,
        r#"["sim","stack"]"#,
        r#"["kernel","stack"]"#,
    ];
    assert_eq!(pairs, expected.map(|pair| [pair, pair]).concat());
    let links = document["parameters"]["conditions"]
        .as_array()
        .expect("a list");
    let links: Vec<_> = links
        .iter()
        .map(|of| of["link"].as_str().expect("a name"))
        .collect();
    assert_eq!(document["parameters"]["hosts"], "linux-veth");
    assert_eq!(links, ["linux-veth", "veth", "tun"]);
    for of in agreement.iter().filter(|of| of["variant"] == "CORK") {
        assert_eq!(
            of["segments_per_transfer"],
            serde_json::json!([3.0, 3.0]),
            "{of}"
        );
    }
}

#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn the_senders_rules_are_the_profiles() {
    let Some(document) = document(&format!(
        "--backend stack --profile tru64_4 --policy off,naglim --naglim 101 {TORN}"
    )) else {
        return;
    };
    let parameters = &document["parameters"];
    assert_eq!(
        (&parameters["profile"], &parameters["naglim"]),
        (&"tru64_4".into(), &101.into())
    );
    // 1460 octets: there are no timestamps.
    assert_eq!(parameters["conditions"][0]["mss"], 1460);
    assert_eq!(parameters["conditions"][0]["congestion"], "reno");
}

/// What a document says of a policy.
fn under_load<'a>(document: &'a Value, policy: &str) -> &'a Value {
    let rows = document["rows"].as_array().expect("a list");
    let row = rows.iter().find(|row| row["policy"] == policy);
    row.unwrap_or_else(|| panic!("no row of {policy}"))
}

/// Few requests, so that a busy machine keeps up, and more than a connection that stalls for 40 ms each time can answer.
const LOAD: &str = "--connections 4 --answer-writes 2 --loads 400 --repetitions 2 --warmup 100ms --window 300ms --no-knees";

#[test]
fn the_kernels_own_rule_stalls_under_load() {
    let Some(document) = document(&format!("load --backend kernel {LOAD}")) else {
        return;
    };
    let (held, sent) = (
        under_load(&document, "DEFAULT"),
        under_load(&document, "NODELAY"),
    );
    assert!(number(held, "p50_ms") > 20.0, "{held}");
    assert!(number(sent, "p50_ms") < 20.0, "{sent}");
    assert!(
        (1.9..2.5).contains(&number(sent, "segments_per_answer")),
        "{sent}"
    );
    assert_eq!(held["repetitions"].as_array().expect("a list").len(), 2);
    let parameters = &document["parameters"];
    assert_eq!(
        (
            &parameters["backend"],
            &parameters["link"],
            &parameters["costs"]
        ),
        (&"kernel".into(), &"veth".into(), &Value::Null)
    );
    let compared = document["compared"].as_array().expect("a list");
    assert_eq!(compared.len(), 3, "mean, p50 and p99 of NODELAY");
    for of in compared {
        assert_eq!(
            (&of["policy"], &of["against"]),
            (&"NODELAY".into(), &"DEFAULT".into())
        );
        assert!(number(of, "from") <= number(of, "times"), "{of}");
        assert!(number(of, "times") <= number(of, "to"), "{of}");
    }
}

#[test]
fn a_policy_as_bpf_stalls_under_load() {
    let Some(document) = document(&format!(
        "load --backend bpf --policy nodelay,nagle,off {LOAD}"
    )) else {
        return;
    };
    let median = |policy| number(under_load(&document, policy), "p50_ms");
    assert!(median("NAGLE") > 20.0);
    assert!(median("NODELAY") < 20.0 && median("OFF") < 20.0);
    assert_eq!(document["parameters"]["backend"], "bpf");
}

/// Two writes an answer stall with Nagle's rule. TOGGLE tries it, and then for long no more.
#[test]
fn what_stalls_is_not_tried_again_soon() {
    let load = "--connections 4 --answer-writes 2 --loads 2000 --repetitions 1 --warmup 600ms --window 600ms --no-knees";
    let Some(document) = document(&format!("load --backend bpf --policy nagle,toggle {load}"))
    else {
        return;
    };
    let held = under_load(&document, "NAGLE");
    assert_eq!(held["keeps_up"], false, "{held}");
    let median = number(under_load(&document, "TOGGLE"), "p50_ms");
    assert!(median < 20.0, "{median}");
}

#[test]
fn ctrl_c_ends_a_transfer_that_waits() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let home = tempfile::tempdir().expect("a directory");
    let child = tinygram(&format!(
        "--backend stack --policy nagle --lengths 8000 --transfers 100000 --output {}/cells",
        home.path().display()
    ))
    .stderr(Stdio::piped())
    .spawn()
    .expect("the program starts");
    let pid = child.id().to_string();
    std::thread::sleep(Duration::from_secs(2));
    let sent = Command::new("kill").args(["-INT", &pid]).status();
    assert!(sent.expect("kill is there").success());
    let output = child.wait_with_output().expect("the program ends");
    let told = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(2) && told.contains("making") {
        eprintln!("skipped: {told}");
        return;
    }
    assert_eq!(output.status.code(), Some(130), "{told}");
    assert_eq!(
        told,
        "tinygram: interrupted; no file was left half-written\n"
    );
    assert_eq!(
        std::fs::read_dir(home.path()).expect("it is there").count(),
        0
    );
}
