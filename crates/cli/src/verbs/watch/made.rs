//! A finding as the kernel's would be, for tests.

use tinygram_host::process::Process;
use tinygram_stalls::{Cost, Kind, Side, Tier};
use tinygram_watch::event::{Connection, Reason, Release, Timer, Writer};
use tinygram_watch::finding::{Facts, Finding, Part};

/// Returns a stall of `pid`, which serves port 8080.
pub(crate) fn stall(pid: u32) -> (Finding, Process) {
    let connection = Connection {
        cookie: pid.into(),
        netns: 1,
        local: ([10, 0, 0, 1], 8080).into(),
        remote: ([10, 0, 0, 2], 50_000).into(),
        mss: 1448,
        srtt_ns: 0,
        min_rtt_ns: None,
        accepted: None,
    };
    let writer = Writer {
        pid,
        thread: pid,
        uid: 0,
        cgroup: 0,
        comm: "server".into(),
    };
    let finding = Finding {
        kind: Kind::WriteWriteRead,
        tier: Tier::Certain,
        part: Part::Sent,
        connection,
        side: Side::Server,
        process: writer,
        start_ns: 0,
        cost: Cost::time(40_000_000 + i64::from(pid)),
        facts: Facts::Held {
            held: 200,
            behind: 100,
            writes: Some(1),
            reason: Reason::Nagle,
            release: Release::Ack,
            path_ns: None,
            slept: false,
            timer: Timer::Unknown,
        },
        call: None,
    };
    let process = Process {
        pid,
        name: "a-server-with-a-long-name".into(),
        script: None,
        user: "root".into(),
        container: None,
        cgroup: None,
    };
    (finding, process)
}
