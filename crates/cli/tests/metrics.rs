//! `contrib/watch` with the programs that it is for: Prometheus reads what `watch --metrics` serves, takes the rules,
//! and answers what the dashboard asks. Where Prometheus is not installed, the test says so and passes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

/// Stalls ten times on a connection of its own.
const STALLS: &str = r#"
import socket, threading
listener = socket.create_server(("127.0.0.1", 0))
def serve():
    end, _ = listener.accept()
    while end.recv(300, socket.MSG_WAITALL):
        end.sendall(b"!")
threading.Thread(target=serve).start()
end = socket.create_connection(listener.getsockname())
for _ in range(10):
    end.sendall(b"h" * 100)
    end.sendall(b"b" * 200)
    end.recv(1)
end.close()
"#;

/// A program that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn prometheus_takes_the_metrics_the_rules_and_what_the_dashboard_asks() {
    for program in ["prometheus", "promtool"] {
        if Command::new(program).arg("--version").output().is_err() {
            println!("skipped: {program} is not installed");
            return;
        }
    }
    let rules = contrib("rules.yaml");
    let checked = Command::new("promtool")
        .args(["check", "rules"])
        .arg(&rules)
        .output();
    let checked = checked.expect("promtool starts");
    assert!(
        checked.status.success(),
        "{}",
        String::from_utf8_lossy(&checked.stderr)
    );

    let (served, asked) = (free_port(), free_port());
    let Some(_watch) = watch(served) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let _prometheus = prometheus(folder.path(), &rules, served, asked);
    let stalls = Command::new("python3").args(["-c", STALLS]).status();
    assert!(stalls.expect("python3 starts").success());

    let found = r#"tinygram_findings_total{process="python3",kind="write-write-read"}"#;
    rows(asked, found);
    // The rules were evaluated with the metrics in them.
    rows(asked, "tinygram:stall_seconds:rate5m");
    let groups = get(asked, "/api/v1/rules");
    let rules = groups["data"]["groups"][0]["rules"].as_array();
    let rules = rules.unwrap_or_else(|| panic!("{groups}"));
    assert_eq!(rules.len(), 3, "{groups}");
    for rule in rules {
        assert_eq!(rule["health"], "ok", "{rule}");
    }
    let mut shown = 0;
    for panel in dashboard()["panels"].as_array().expect("panels") {
        for target in panel["targets"].as_array().expect("targets") {
            rows(asked, target["expr"].as_str().expect("an expression"));
            shown += 1;
        }
    }
    assert_eq!(shown, 4);
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

/// Returns the rows of an expression's answer, once there are some.
fn rows(port: u16, expression: &str) -> Vec<Value> {
    let mut answer = Value::Null;
    for _ in 0..TRIES {
        answer = get(
            port,
            &format!("/api/v1/query?query={}", encoded(expression)),
        );
        assert_ne!(answer["status"], "error", "{expression}: {answer}");
        let rows = answer["data"]["result"].as_array();
        if let Some(rows) = rows.filter(|rows| !rows.is_empty()) {
            return rows.clone();
        }
        std::thread::sleep(PAUSE);
    }
    panic!("{expression} has no rows: {answer}");
}

/// Asks Prometheus. While it does not answer yet, there is nothing.
fn get(port: u16, path: &str) -> Value {
    let ask = || -> std::io::Result<String> {
        let mut connection = TcpStream::connect(("127.0.0.1", port))?;
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

fn encoded(expression: &str) -> String {
    expression
        .bytes()
        .map(|octet| format!("%{octet:02x}"))
        .collect()
}

fn prometheus(folder: &Path, rules: &Path, served: u16, listens: u16) -> Running {
    let configuration = folder.join("prometheus.yml");
    let text = format!(
        "global: {{scrape_interval: 500ms, scrape_timeout: 400ms, evaluation_interval: 500ms}}\n\
         rule_files: [{}]\n\
         scrape_configs: [{{job_name: tinygram, static_configs: [{{targets: ['127.0.0.1:{served}']}}]}}]\n",
        rules.display()
    );
    std::fs::write(&configuration, text).expect("a file");
    let child = Command::new("prometheus")
        .arg(format!("--config.file={}", configuration.display()))
        .arg(format!(
            "--storage.tsdb.path={}",
            folder.join("data").display()
        ))
        .arg(format!("--web.listen-address=127.0.0.1:{listens}"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    Running(child.expect("prometheus starts"))
}

/// A watch that has begun to look and serves its counts.
fn watch(port: u16) -> Option<Running> {
    let mut watch = Command::new(env!("CARGO_BIN_EXE_tinygram"))
        .args(["watch", "--json", "--metrics", &format!("127.0.0.1:{port}")])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map(Running)
        .expect("tinygram starts");
    let mut first = String::new();
    let stderr = watch.0.stderr.as_mut().expect("a pipe");
    BufReader::new(stderr)
        .read_line(&mut first)
        .expect("a line");
    if first.contains("asking the kernel") || first.contains("reading packets") {
        return Some(watch);
    }
    assert!(std::env::var_os("CI").is_none(), "{first}");
    println!("skipped: {}", first.trim());
    None
}

fn dashboard() -> Value {
    let text = std::fs::read_to_string(contrib("dashboard.json")).expect("it is there");
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

const TRIES: u32 = 120;
const PAUSE: Duration = Duration::from_millis(250);
