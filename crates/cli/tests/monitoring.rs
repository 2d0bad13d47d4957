//! Loads the files of contrib/watch for Prometheus and Grafana into the real Prometheus: it scrapes
//! `watch --metrics`, evaluates the rules, and answers each query of the dashboard.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;

/// Twenty questions in two writes each: the second waits for the delayed acknowledgment of the first.
const CONVERSATION: &str = r#"
import socket, threading
listener = socket.create_server(("127.0.0.1", 0))
def serve():
    end, _ = listener.accept()
    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for _ in range(20):
        length = 440
        while length:
            length -= len(end.recv(length))
        end.sendall(b"!")
server = threading.Thread(target=serve)
server.start()
client = socket.create_connection(listener.getsockname())
for _ in range(20):
    client.sendall(bytes(40))
    client.sendall(bytes(400))
    client.recv(1)
server.join()
"#;

/// A process that ends with its test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.kill().expect("it is ours");
        self.0.wait().expect("it ends");
    }
}

#[test]
fn prometheus_loads_the_rules_and_answers_the_dashboards_questions() {
    for program in ["prometheus", "promtool"] {
        if Command::new(program).arg("--version").output().is_err() {
            println!("skipped: {program} is not installed");
            return;
        }
    }
    let (metrics, at) = (free_port(), free_port());
    let Some(_watch) = watch(&format!("127.0.0.1:{metrics}")) else {
        return;
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("monitoring");
    let _ = fs::remove_dir_all(&folder);
    let _prometheus = prometheus(&folder, metrics, at);

    talk();
    // A rate needs two scrapes.
    let series = "tinygram_stall_seconds_total";
    wait_until("two scrapes", || {
        !asked(at, &format!("count_over_time({series}[5m]) > 1")).is_empty()
    });
    talk();
    wait_until("a rate", || {
        !asked(at, &format!("rate({series}[5m]) > 0")).is_empty()
    });

    let questions = questions();
    assert!(questions.len() >= 4, "{questions:?}");
    for question in &questions {
        let answers = asked(at, question);
        // No flood occurred, so none is counted.
        if !question.contains("saved_segments") {
            assert!(!answers.is_empty(), "nothing answers {question}");
        }
    }
    wait_until("the rules", || {
        !asked(at, "tinygram:stall_seconds:rate5m").is_empty()
    });
    let alerts = asked(at, "ALERTS{alertname=\"SmallSegmentStalls\"}");
    let states: Vec<_> = alerts.iter().map(|a| &a["metric"]["alertstate"]).collect();
    assert!(states.iter().all(|state| *state == "pending"), "{alerts:?}");
}

fn contrib(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../contrib/watch")
        .join(file)
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

fn watch(metrics: &str) -> Option<Running> {
    let mut watch = Command::new(env!("CARGO_BIN_EXE_tinygram"))
        .args(["watch", "--source", "kernel", "--metrics", metrics])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("tinygram starts");
    let mut said = String::new();
    let mut stderr = BufReader::new(watch.stderr.take().expect("a pipe"));
    while stderr.read_line(&mut said).expect("a line") > 0 {
        if said.contains("asking the kernel") {
            return Some(Running(watch));
        }
    }
    watch.wait().expect("it ends");
    assert!(std::env::var_os("CI").is_none(), "{said}");
    println!("skipped: {}", said.trim());
    None
}

fn prometheus(folder: &Path, metrics: u16, at: u16) -> Running {
    fs::create_dir_all(folder).expect("a folder");
    let rules = contrib("rules.yaml");
    let config = format!(
        "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\n\
         rule_files: ['{}']\n\
         scrape_configs:\n\
         - job_name: tinygram\n  static_configs: [{{targets: ['127.0.0.1:{metrics}']}}]\n",
        rules.display()
    );
    let file = folder.join("prometheus.yaml");
    fs::write(&file, config).expect("a file");
    let checked = Command::new("promtool")
        .args(["check", "config"])
        .arg(&file)
        .output();
    let checked = checked.expect("promtool starts");
    let said = String::from_utf8_lossy(&checked.stdout);
    assert!(
        checked.status.success() && said.contains("SUCCESS: 3 rules"),
        "{said}"
    );
    let started = Command::new("prometheus")
        .arg(format!("--config.file={}", file.display()))
        .arg(format!(
            "--storage.tsdb.path={}",
            folder.join("d").display()
        ))
        .arg(format!("--web.listen-address=127.0.0.1:{at}"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    Running(started.expect("prometheus starts"))
}

fn talk() {
    let talked = Command::new("python3")
        .args(["-c", CONVERSATION])
        .status()
        .expect("python3 starts");
    assert!(talked.success());
}

/// Returns Prometheus's answer, series by series; empty until it listens.
fn asked(at: u16, question: &str) -> Vec<Value> {
    let output = Command::new("promtool")
        .args(["query", "instant", "-o", "json"])
        .arg(format!("http://127.0.0.1:{at}"))
        .arg(question)
        .output()
        .expect("promtool starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() || said.contains("connection refused"),
        "{question}: {said}"
    );
    serde_json::from_slice(&output.stdout).unwrap_or_default()
}

/// Waits for at most a minute.
fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..200 {
        if is_so() {
            return;
        }
        sleep(Duration::from_millis(300));
    }
    panic!("no sign of {what}");
}

/// Returns each query of the dashboard's panels.
fn questions() -> Vec<String> {
    let text = fs::read_to_string(contrib("dashboard.json")).expect("the dashboard");
    let dashboard: Value = serde_json::from_str(&text).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let targets = panels.iter().flat_map(|panel| {
        let targets = panel["targets"].as_array();
        targets.into_iter().flatten()
    });
    targets
        .map(|target| target["expr"].as_str().expect("a question").to_owned())
        .collect()
}
