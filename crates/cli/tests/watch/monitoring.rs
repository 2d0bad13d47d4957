//! The files of contrib/watch for Prometheus and Grafana: the real Prometheus scrapes `watch --metrics`, evaluates the
//! rules, and answers each query of the dashboard. Where Prometheus is not installed, the tests say so and pass.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;

use crate::watching::{Running, watch};

/// Ten questions in two writes for each line of input: the second write waits for the delayed acknowledgment of the
/// first.
const CONVERSATION: &str = r#"
import socket, sys, threading
listener = socket.create_server(("127.0.0.1", 0))
def serve():
    end, _ = listener.accept()
    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while end.recv(440, socket.MSG_WAITALL):
        end.sendall(b"!")
threading.Thread(target=serve).start()
client = socket.create_connection(listener.getsockname())
for line in sys.stdin:
    for _ in range(10):
        client.sendall(bytes(40))
        client.sendall(bytes(400))
        client.recv(1)
client.close()
"#;

#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn prometheus_evaluates_the_rules_and_answers_the_dashboards_questions() {
    if !is_installed() {
        return;
    }
    let (metrics, at) = (free_port(), free_port());
    let address = format!("127.0.0.1:{metrics}");
    let arguments = ["--source", "kernel", "--metrics", &address];
    let Some(_watch) = watch(&arguments, Stdio::null()) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let _prometheus = prometheus(folder.path(), metrics, at);

    let talk = Command::new("python3")
        .args(["-c", CONVERSATION])
        .stdin(Stdio::piped())
        .spawn();
    let mut talk = Running(talk.expect("python3 starts"));
    let mut ask = || {
        let input = talk.0.stdin.as_mut().expect("a pipe");
        writeln!(input).expect("it reads");
    };
    ask();
    rows(
        at,
        r#"tinygram_findings_total{process="python3",kind="write-write-read"}"#,
    );
    ask();
    rows(at, "rate(tinygram_stall_seconds_total[5m]) > 0");

    let questions = questions();
    assert_eq!(questions.len(), 4, "{questions:?}");
    for question in &questions {
        rows(at, question);
    }
    rows(at, "tinygram:stall_seconds:rate5m");
    let groups = get(at, "/api/v1/rules");
    let rules = groups["data"]["groups"][0]["rules"].as_array();
    let rules = rules.unwrap_or_else(|| panic!("{groups}"));
    assert_eq!(rules.len(), 3, "{groups}");
    for rule in rules {
        assert_eq!(rule["health"], "ok", "{rule}");
    }
}

/// A tenth of each second is lost, then nothing, by promtool's own clock.
#[test]
fn the_alert_begins_after_ten_minutes_of_stalls_and_ends_with_them() {
    if !is_installed() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("alerts.yaml");
    let labels = "process: nginx, port: '80', kind: write-write-read";
    let series =
        r#"tinygram_stall_seconds_total{process="nginx",port="80",kind="write-write-read"}"#;
    let text = format!(
        "rule_files: ['{}']\n\
         tests:\n\
         - interval: 1m\n  input_series:\n  - {{series: '{series}', values: '0+6x30 180x30'}}\n  alert_rule_test:\n\
         \x20 - {{eval_time: 9m, alertname: SmallSegmentStalls, exp_alerts: []}}\n\
         \x20 - {{eval_time: 20m, alertname: SmallSegmentStalls, exp_alerts: [{{\n\
         \x20     exp_labels: {{severity: warning, {labels}}},\n\
         \x20     exp_annotations: {{\n\
         \x20       summary: nginx on port 80 waits for small TCP segments (write-write-read),\n\
         \x20       description: 10% of each second is lost. `tinygram watch` on the host says where and what helps.}}}}]}}\n\
         \x20 - {{eval_time: 45m, alertname: SmallSegmentStalls, exp_alerts: []}}\n",
        contrib("rules.yaml").display()
    );
    fs::write(&file, text).expect("a file");
    promtool(&["test", "rules"], &file);
}

/// What Grafana itself refuses or cannot show: panels that share a number or a place, reach beyond the 24 columns,
/// or name a data source that nobody can choose.
#[test]
fn the_panels_of_the_dashboard_stand_beside_each_other() {
    let dashboard = dashboard();
    let panels = dashboard["panels"].as_array().expect("panels");
    let number = |value: &Value| value.as_u64().expect("a number");
    let chosen = &dashboard["templating"]["list"][0];
    assert_eq!(chosen["type"], "datasource");
    let source = format!("${{{}}}", chosen["name"].as_str().expect("a name"));
    let mut taken = std::collections::HashSet::new();
    let mut numbers = std::collections::HashSet::new();
    for panel in panels {
        assert!(numbers.insert(number(&panel["id"])), "{panel}");
        assert_eq!(panel["type"], "timeseries");
        assert_eq!(panel["datasource"]["type"], chosen["query"]);
        assert_eq!(panel["datasource"]["uid"], source.as_str());
        let at = &panel["gridPos"];
        let (x, y) = (number(&at["x"]), number(&at["y"]));
        let (w, h) = (number(&at["w"]), number(&at["h"]));
        assert!(w > 0 && h > 0 && x + w <= 24, "{panel}");
        for column in x..x + w {
            for row in y..y + h {
                assert!(taken.insert((column, row)), "{panel}");
            }
        }
    }
}

/// Grafana itself is a server that few build machines have. Its makers' library reads the same JSON: what it does not
/// know, it leaves out when it writes the dashboard again.
#[test]
fn grafanas_own_library_reads_all_of_the_dashboard() {
    let output = Command::new("python3")
        .args(["-c", READ_AND_WRITTEN])
        .arg(contrib("dashboard.json"))
        .output()
        .expect("python3 starts");
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("No module named 'grafana_foundation_sdk'") {
        println!("skipped: Python's package grafana-foundation-sdk is not installed");
        return;
    }
    assert!(output.status.success(), "{said}");
    let written: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let lost = lost("dashboard", &dashboard(), &written);
    assert!(lost.is_empty(), "{lost:?}");
    let query = &written["panels"][0]["targets"][0];
    assert!(query["expr"].is_string(), "{query}");
}

const READ_AND_WRITTEN: &str = r#"
import json, sys
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard
register_default_plugins()
with open(sys.argv[1]) as file:
    print(JSONEncoder().encode(Dashboard.from_json(json.load(file))))
"#;

/// Returns what of `given` is not in `kept`, or not the same there.
fn lost(at: &str, given: &Value, kept: &Value) -> Vec<String> {
    match (given, kept) {
        (Value::Object(given), Value::Object(kept)) => given
            .iter()
            .flat_map(|(name, value)| {
                let kept = kept.get(name).unwrap_or(&Value::Null);
                lost(&format!("{at}.{name}"), value, kept)
            })
            .collect(),
        (Value::Array(given), Value::Array(kept)) if given.len() == kept.len() => given
            .iter()
            .zip(kept)
            .enumerate()
            .flat_map(|(number, (given, kept))| lost(&format!("{at}[{number}]"), given, kept))
            .collect(),
        _ if given == kept => Vec::new(),
        _ => vec![format!("{at}: {given} became {kept}")],
    }
}

fn is_installed() -> bool {
    ["prometheus", "promtool"].iter().all(|program| {
        let is_there = Command::new(program).arg("--version").output().is_ok();
        if !is_there {
            println!("skipped: {program} is not installed");
        }
        is_there
    })
}

fn prometheus(folder: &Path, metrics: u16, at: u16) -> Running {
    let file = folder.join("prometheus.yaml");
    let text = format!(
        "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\n\
         rule_files: ['{}']\n\
         scrape_configs:\n\
         - job_name: tinygram\n  static_configs: [{{targets: ['127.0.0.1:{metrics}']}}]\n",
        contrib("rules.yaml").display()
    );
    fs::write(&file, text).expect("a file");
    let said = promtool(&["check", "config"], &file);
    assert!(said.contains("SUCCESS: 3 rules"), "{said}");
    let started = Command::new("prometheus")
        .arg(format!("--config.file={}", file.display()))
        .arg(format!(
            "--storage.tsdb.path={}",
            folder.join("data").display()
        ))
        .arg(format!("--web.listen-address=127.0.0.1:{at}"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    Running(started.expect("prometheus starts"))
}

/// Runs promtool, which must find nothing wrong.
fn promtool(words: &[&str], file: &Path) -> String {
    let output = Command::new("promtool").args(words).arg(file).output();
    let output = output.expect("promtool starts");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(output.status.success(), "{said}");
    said
}

/// Waits, for at most a minute, until Prometheus answers the query with rows.
fn rows(at: u16, query: &str) {
    let encoded: String = query.bytes().map(|octet| format!("%{octet:02x}")).collect();
    let mut answer = Value::Null;
    for _ in 0..200 {
        answer = get(at, &format!("/api/v1/query?query={encoded}"));
        assert_ne!(answer["status"], "error", "{query}: {answer}");
        let rows = answer["data"]["result"].as_array();
        if rows.is_some_and(|rows| !rows.is_empty()) {
            return;
        }
        sleep(Duration::from_millis(300));
    }
    panic!("{query} has no rows: {answer}");
}

/// Asks Prometheus. While it does not answer yet, there is nothing.
fn get(at: u16, path: &str) -> Value {
    let ask = || -> std::io::Result<String> {
        let mut connection = TcpStream::connect(("127.0.0.1", at))?;
        let request = format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n");
        connection.write_all(request.as_bytes())?;
        let mut answer = String::new();
        connection.read_to_string(&mut answer)?;
        Ok(answer)
    };
    let answer = ask().unwrap_or_default();
    let body = answer.split_once("\r\n\r\n").map(|(_, body)| body);
    body.and_then(|body| serde_json::from_str(body).ok())
        .unwrap_or(Value::Null)
}

/// Returns each query of the dashboard's panels.
fn questions() -> Vec<String> {
    let dashboard = dashboard();
    let panels = dashboard["panels"].as_array().expect("panels");
    let targets = panels.iter().flat_map(|panel| {
        let targets = panel["targets"].as_array();
        targets.into_iter().flatten()
    });
    targets
        .map(|target| target["expr"].as_str().expect("a question").to_owned())
        .collect()
}

fn dashboard() -> Value {
    let text = fs::read_to_string(contrib("dashboard.json")).expect("the dashboard");
    serde_json::from_str(&text).expect("JSON")
}

fn contrib(file: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib/watch");
    folder.canonicalize().expect("it is there").join(file)
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}
