//! What the tools say of this host, and change on it.

use super::*;

/// Two writes and an answer, again and again, until it is told to stop.
struct Service {
    port: u16,
    stop: Arc<AtomicBool>,
    ends: [TcpStream; 2],
}

impl Service {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let server = listener.accept().unwrap().0;
        let stop = Arc::new(AtomicBool::new(false));
        let ends = [client.try_clone().unwrap(), server.try_clone().unwrap()];
        thread::spawn(move || answers(server));
        let asked_to = stop.clone();
        thread::spawn(move || asks(client, &asked_to));
        Self { port, stop, ends }
    }

    fn nodelay(&self) -> [bool; 2] {
        [0, 1].map(|end: usize| self.ends[end].nodelay().unwrap())
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn answers(mut server: TcpStream) {
    let mut request = [0; 300];
    while server.read_exact(&mut request).is_ok() && server.write_all(&[0; 100]).is_ok() {}
}

#[inline(never)]
fn asks(mut client: TcpStream, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        client.write_all(&[0; 100]).unwrap();
        client.write_all(&[0; 200]).unwrap();
        client.read_exact(&mut [0; 100]).unwrap();
    }
}

#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn a_service_that_stalls_is_found_with_its_line_and_could_be_cured() {
    if !hosting::may_set() {
        return;
    }
    let service = Service::start();
    let port = service.port.to_string();
    let mut client = Client::start(&[]);
    let told = client.call("is_it_nagle", &json!({"target": port, "seconds": 3}));
    assert_eq!(told["answer"], "yes", "{told}");
    assert_eq!(told["delayed_ack"], true, "{told}");
    // An unoptimised program writes by functions of its library, whose caller is named, too.
    let code = &told["code"][0];
    assert!(code["line"].as_u64().is_some(), "{told}");
    assert!(code.to_string().contains("mcp/host.rs"), "{told}");
    let told = client.call("watch", &json!({"target": port, "seconds": 2}));
    assert_eq!(told["rows"][0]["kind"], "write-write-read", "{told}");
    let told = client.call("cure_dry_run", &json!({"target": port, "seconds": 3}));
    assert_eq!(told["remedies"][0]["setting"], "nodelay=on", "{told}");
    let told = client.call(
        "whatif",
        &json!({"target": port, "changes": ["nodelay=on"], "seconds": 3}),
    );
    assert_eq!(told["changes"][0]["change"], "nodelay=on", "{told}");
    // Where nobody is, nothing can be told.
    let told = client.call(
        "is_it_nagle",
        &json!({"target": "nobody-has-this-name", "seconds": 1}),
    );
    assert_eq!(told["answer"], "cannot_tell", "{told}");
}

#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn only_what_is_allowed_is_changed_and_it_is_put_back() {
    if !hosting::may_set() {
        return;
    }
    let service = Service::start();
    let port = service.port.to_string();
    let journal = tempfile::tempdir().unwrap();
    let journal = journal.path().join("state");
    let words = [
        "--allow-changes",
        &port,
        "--allow-for",
        "1m",
        "--journal",
        journal.to_str().unwrap(),
    ];
    let mut client = Client::start(&words);
    for (target, setting, seconds) in [
        ("1", "nodelay=on", 5.0),
        (&port, "nodelay=off", 5.0),
        (&port, "cork=off", 5.0),
        (&port, "nodelay=on", 61.0),
        (&port, "nodelay=on", 0.1),
        ("--all", "nodelay=on", 5.0),
    ] {
        let refused = client.refused(
            "set",
            &json!({"target": target, "setting": setting, "seconds": seconds}),
        );
        let sentence = refused["error"].as_str().unwrap();
        let allowed = format!("this server may set nodelay=on on {port}, for 0.5 to 60 s");
        assert!(sentence.ends_with(&allowed), "{sentence}");
    }
    assert_eq!(service.nodelay(), [false, false]);
    let asked = json!({"target": port, "setting": "nodelay=on", "seconds": 60});
    // By undo.
    let told = client.call("set", &asked);
    assert_eq!(service.nodelay(), [true, true], "{told}");
    let number = told["changes"][0].as_u64().unwrap();
    let listed = client.call("changes", &json!({}));
    assert_eq!(listed["changes"][0]["numbers"][0], number, "{listed}");
    assert_eq!(listed["others"], 0, "{listed}");
    let told = client.call("undo", &json!({"change": number}));
    assert_eq!(told["put_back"], 2, "{told}");
    assert_eq!(service.nodelay(), [false, false]);
    let refused = client.refused("undo", &json!({"change": number}));
    assert!(
        refused["error"]
            .as_str()
            .unwrap()
            .contains("none is in force"),
        "{refused}"
    );
    // By its time.
    client.call(
        "set",
        &json!({"target": port, "setting": "nodelay=on", "seconds": 1}),
    );
    wait(|| service.nodelay() == [false, false]);
    // By the end of the client.
    client.call("set", &asked);
    assert_eq!(service.nodelay(), [true, true]);
    assert_eq!(client.close(), Some(0));
    assert_eq!(service.nodelay(), [false, false]);
    // By the violent end of the server.
    let mut client = Client::start(&words);
    client.call("set", &asked);
    assert_eq!(service.nodelay(), [true, true]);
    client.process.kill().unwrap();
    wait(|| service.nodelay() == [false, false]);
    // By the journal, if whoever has the change is killed, too.
    let mut client = Client::start(&words);
    let told = client.call("set", &asked);
    let number = told["changes"][0].to_string();
    for child in children(client.process.id()) {
        let pid = rustix_pid(child);
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }
    client.process.kill().unwrap();
    assert_eq!(service.nodelay(), [true, true]);
    let undone = hosting::tinygram(&journal, &["set", "--undo", &number]);
    assert!(undone.status.success(), "{}", hosting::said(&undone));
    assert_eq!(service.nodelay(), [false, false]);
}

#[test]
#[ignore = "long: cargo test --workspace -- --ignored"]
fn what_is_in_force_is_told_and_connections_to_come_are_followed() {
    if !hosting::may_set() {
        return;
    }
    let service = Service::start();
    let port = service.port.to_string();
    let journal = tempfile::tempdir().unwrap();
    let journal = journal.path().join("state");
    let words = [
        "--allow-changes",
        &port,
        "--journal",
        journal.to_str().unwrap(),
    ];
    let mut client = Client::start(&words);
    let asked = json!({"target": port, "setting": "nodelay=on", "seconds": 60});
    let told = client.call("set", &asked);
    let number = told["changes"][0].as_u64().unwrap();
    // Who asks what stalls hears that the connections are not as their program made them.
    let told = client.call("is_it_nagle", &json!({"target": port, "seconds": 1}));
    assert_eq!(told["changes_in_force"][0]["change"], number, "{told}");
    let sentence = told["sentence"].as_str().unwrap();
    assert!(
        sentence.contains("nodelay=on (before: off; change"),
        "{told}"
    );
    // The second time nothing changes, and what holds is told.
    let again = client.call("set", &asked);
    assert_eq!(again["changed"], 0, "{again}");
    assert!(
        again["sentence"]
            .as_str()
            .unwrap()
            .starts_with("No socket had another value"),
        "{again}"
    );
    let held = again["changes"][0].as_u64().unwrap();
    client.call("undo", &json!({"change": held}));
    assert_eq!(service.nodelay(), [true, true], "the first is in force");
    client.call("undo", &json!({"change": number}));
    assert_eq!(service.nodelay(), [false, false]);
    // Connections to come have a number of their own, and are no other's.
    let mut follows = asked.clone();
    follows["new_connections_too"] = true.into();
    let told = client.call("set", &follows);
    assert!(
        told["sentence"]
            .as_str()
            .unwrap()
            .contains("opened meanwhile"),
        "{told}"
    );
    let number = told["changes"][0].as_u64().unwrap();
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let _new = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    thread::sleep(Duration::from_millis(500));
    let listed = client.call("changes", &json!({}));
    assert_eq!(listed["others"], 0, "{listed}");
    assert_eq!(
        listed["changes"][0]["new_connections_too"], true,
        "{listed}"
    );
    client.call("undo", &json!({"change": number}));
    assert_eq!(service.nodelay(), [false, false]);
}

/// A client that asks in ten writes; it prints its server's port, and goes on until it is ended.
const GATHERED: &str = r#"
import socket, threading, time
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
def serve():
    end, _ = listener.accept()
    while end.recv(100, socket.MSG_WAITALL):
        end.sendall(b"!")
threading.Thread(target=serve, daemon=True).start()
end = socket.create_connection(listener.getsockname())
while True:
    for _ in range(10):
        end.send(b"x" * 10)
    end.recv(1)
    time.sleep(0.002)
"#;

/// That nothing stalls is `run`'s doing.
#[test]
fn a_program_under_run_is_said_to_be_by_each_tool_that_looks_at_it() {
    if !hosting::may_set() {
        return;
    }
    let mut run = Command::new(env!("CARGO_BIN_EXE_tinygram"));
    run.args(["run", "--eager", "--", "python3", "-u", "-c", GATHERED]);
    let mut program = run.stdout(Stdio::piped()).spawn().unwrap();
    let mut port = String::new();
    BufReader::new(program.stdout.as_mut().unwrap())
        .read_line(&mut port)
        .unwrap();
    let port = port.trim();
    let mut client = Client::start(&[]);
    let shown = client.call("ps", &json!({"target": port}));
    let watched = client.call("watch", &json!({"target": port, "seconds": 1}));
    let asked = client.call("is_it_nagle", &json!({"target": port, "seconds": 1}));
    // It is started in this process's place.
    program.kill().unwrap();
    program.wait().unwrap();
    let policies: Vec<_> = shown["connections"].as_array().unwrap().iter().collect();
    assert!(!policies.is_empty(), "{shown}");
    for connection in policies {
        assert_eq!(connection["under_run"], "flush-on-block", "{connection}");
    }
    let under_run = &watched["under_run"][0];
    assert_eq!(under_run["policy"], "flush-on-block", "{watched}");
    assert!(under_run["process"]["pid"].is_u64(), "{watched}");
    let sentence = asked["sentence"].as_str().unwrap();
    assert!(sentence.contains("under tinygram run already"), "{asked}");
}

fn rustix_pid(pid: u32) -> rustix::process::Pid {
    rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap()
}
