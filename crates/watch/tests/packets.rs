//! Tests that the packets source says the same about traffic as diagnose does about a capture of
//! the same traffic.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use tinygram_diagnose::{Analyzer, Kind, Parameters, Side, Tier};
use tinygram_watch::finding::{Finding, Part};
use tinygram_watch::packets::{NoPackets, Source};
use tinygram_wire::capture::Reader;

const EXCHANGES: u32 = 20;

#[test]
fn packets_say_what_diagnose_says_of_their_capture() {
    let Some(mut source) = open(Some("lo")) else {
        return;
    };
    let capture = Path::new(env!("CARGO_TARGET_TMPDIR")).join("packets-beside.pcap");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let tcpdump = tcpdump(&capture, port);
    let findings = during(&mut source, move || converse(&listener));
    let ours: Vec<&Finding> = findings
        .iter()
        .filter(|f| f.connection.local.port() == port || f.connection.remote.port() == port)
        .collect();
    let stalls = |tier: fn(Tier) -> bool| {
        let of_kind = ours.iter().filter(|f| f.kind == Kind::WriteWriteRead);
        of_kind.filter(|f| tier(f.tier)).count()
    };
    // The first exchange of a connection is not held.
    assert!(stalls(|_| true) >= EXCHANGES as usize - 4, "{ours:#?}");
    for finding in &ours {
        // Both ends are on this host, so the sender's end is reported.
        assert_eq!(finding.part, Part::Sent);
        assert_eq!(finding.process.pid, std::process::id(), "{finding:#?}");
        assert!((20_000_000..200_000_000).contains(&finding.cost.time_ns));
    }
    let Some(mut tcpdump) = tcpdump else {
        println!("skipped in part: tcpdump is not installed");
        return;
    };
    // SAFETY: our own child.
    unsafe { libc::kill(tcpdump.id() as libc::pid_t, libc::SIGINT) };
    tcpdump.wait().expect("it ends");
    let mut analyzer = Analyzer::new(Parameters::default());
    let file = File::open(&capture).expect("tcpdump wrote it");
    let mut reader = Reader::new(file).expect("a capture");
    while let Some(frame) = reader.next_frame().expect("whole") {
        analyzer.frame(&frame);
    }
    let report = analyzer.finish();
    let counted = |wanted: fn(Tier) -> bool| {
        let findings = report.findings.iter();
        findings.filter(|f| wanted(f.tier())).count()
    };
    assert_eq!(ours.len(), counted(|_| true), "{:#?}", report.findings);
    let sure = |tier| tier > Tier::Possible;
    assert_eq!(ours.iter().filter(|f| sure(f.tier)).count(), counted(sure));
}

/// Of a connection that stood before there is no SYN, and the server's port is the higher one. The host knows who listens.
#[test]
fn who_listens_is_the_server_of_a_connection_that_stood_before() {
    // Above those that the system gives to clients.
    let mut ports = (61_000..=u16::MAX).rev();
    let listener = ports.find_map(|port| TcpListener::bind(("127.0.0.1", port)).ok());
    let listener = listener.expect("a port");
    let (client, server) = connect(&listener);
    let port = server.local_addr().expect("an address").port();
    assert!(client.local_addr().expect("an address").port() < port);
    let Some(mut source) = open(Some("lo")) else {
        return;
    };
    let findings = during(&mut source, move || exchange(client, server));
    let ours: Vec<&Finding> = findings
        .iter()
        .filter(|f| f.connection.local.port() == port || f.connection.remote.port() == port)
        .collect();
    assert!(ours.len() >= EXCHANGES as usize - 4, "{ours:#?}");
    for finding in ours {
        assert_eq!(finding.sender(), Side::Client, "{finding:#?}");
    }
    drop(listener);
}

#[test]
fn an_interface_that_is_not_there_is_named() {
    match Source::open(Some("nosuch0")) {
        Err(NoPackets::Interface(name)) => assert_eq!(name, "nosuch0"),
        Err(NoPackets::Privilege) if std::env::var_os("CI").is_none() => {
            println!("skipped: packets take privileges");
        }
        other => panic!("{:?}", other.err()),
    }
}

/// Opens the source. Prints the reason and returns `None` if packets may not be read; in CI that is
/// a failure.
fn open(interface: Option<&str>) -> Option<Source> {
    match Source::open(interface) {
        Ok(source) => Some(source),
        Err(lacking) if std::env::var_os("CI").is_some() => panic!("{lacking}"),
        Err(lacking) => {
            println!("skipped: {lacking}");
            None
        }
    }
}

/// Returns the findings while `work` runs, and a little longer.
fn during(source: &mut Source, work: impl FnOnce() + Send + 'static) -> Vec<Finding> {
    let (ended, end) = mpsc::channel();
    std::thread::spawn(move || {
        work();
        // The last packets must leave the kernel's block.
        std::thread::sleep(Duration::from_millis(300));
        ended.send(()).expect("somebody waits");
    });
    let mut findings = Vec::new();
    while end.try_recv().is_err() {
        source.poll(Duration::from_millis(50), |found| findings.push(found));
    }
    source.poll(Duration::ZERO, |found| findings.push(found));
    source.finish(|found| findings.push(found));
    findings
}

/// Sends requests in two writes each, and answers each request of 440 octets with one octet. The
/// client stays for a while, so that its process can be looked up.
fn converse(listener: &TcpListener) {
    let (client, server) = connect(listener);
    exchange(client, server);
}

/// Returns the ends of a new connection: the client's and the server's.
fn connect(listener: &TcpListener) -> (TcpStream, TcpStream) {
    let address = listener.local_addr().expect("an address");
    let client = TcpStream::connect(address).expect("the server accepts");
    (client, listener.accept().expect("a connection").0)
}

fn exchange(mut client: TcpStream, mut server: TcpStream) {
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut question = [0; 440];
            while server.read_exact(&mut question).is_ok() {
                server.write_all(b"!").expect("the client reads");
            }
        });
        for _ in 0..EXCHANGES {
            client.write_all(&[1; 40]).expect("the server reads");
            client.write_all(&[2; 400]).expect("the server reads");
            client.read_exact(&mut [0]).expect("the server answers");
        }
        std::thread::sleep(Duration::from_millis(1500));
        // The server ends, too.
        drop(client);
    });
}

/// Starts a capture beside it, if tcpdump is installed. It is listening when this returns.
fn tcpdump(capture: &Path, port: u16) -> Option<Child> {
    let mut child = Command::new("tcpdump")
        .args(["-i", "lo", "-U", "-w"])
        .arg(capture)
        .args(["-Z", "root", "tcp", "port", &port.to_string()])
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    let mut said = BufReader::new(child.stderr.take().expect("piped")).lines();
    said.find(|line| {
        line.as_ref()
            .is_ok_and(|line| line.contains("listening on"))
    })?
    .ok()?;
    std::thread::spawn(move || said.for_each(drop));
    Some(child)
}
