//! `--verify`, told: where a program writes or waits past the rule.

use tinygram_graft::verify::{Kind, Unknown, VERIFIED_FOR, Verified};
use tinygram_watch::site::{Sites, Stack};

/// Returns a line for what was seen, and one for each place past the rule, named while the process lives.
pub(super) fn told(verified: &Verified, pid: u32) -> String {
    let seconds = VERIFIED_FOR.as_secs();
    let mut text = format!(
        "tinygram run --verify: in {seconds} s {} writes and waits passed through the known places, and {} elsewhere that do \
         not matter (no TCP socket; nothing held by the thread)\n",
        verified.known, verified.harmless
    );
    let mut sites = Sites::default();
    for one in &verified.unknown {
        let line = format!(
            "tinygram run --verify: {} at {} {}\n",
            name(one.call),
            place(&mut sites, one, pid),
            consequence(one)
        );
        text.push_str(&line);
    }
    text
}

fn consequence(one: &Unknown) -> String {
    let times = match one.times {
        1 => "once".to_owned(),
        more => format!("{more} times"),
    };
    match one.kind {
        Kind::Write => {
            format!("wrote to a TCP socket {times} past the rule: such writes are not held")
        }
        Kind::Wait => format!(
            "waited {times} while its thread held octets: they left by the watchdog; --policy nodelay holds nothing"
        ),
    }
}

/// Returns the function, if the program names it, and the address.
fn place(sites: &mut Sites, one: &Unknown, pid: u32) -> String {
    let named = sites.of(&Stack {
        pid,
        thread: 0,
        registers: [one.address, 0, 0, 0],
        octets: &[],
        python: Vec::new(),
    });
    let innermost = named.as_ref().and_then(|site| site.stack.first());
    match innermost {
        Some(frame) => format!("{} ({:#x})", frame.function, one.address),
        None => format!("{:#x}", one.address),
    }
}

/// Returns the name of a system call that writes or waits.
fn name(call: u64) -> String {
    let known = NAMES.iter().find(|(number, _)| *number as u64 == call);
    known.map_or_else(
        || format!("system call {call}"),
        |(_, name)| (*name).to_owned(),
    )
}

const NAMES: [(i64, &str); 28] = [
    (libc::SYS_write, "write"),
    (libc::SYS_writev, "writev"),
    (libc::SYS_sendto, "sendto"),
    (libc::SYS_sendmsg, "sendmsg"),
    (libc::SYS_sendmmsg, "sendmmsg"),
    (libc::SYS_sendfile, "sendfile"),
    (libc::SYS_splice, "splice"),
    (libc::SYS_read, "read"),
    (libc::SYS_readv, "readv"),
    (libc::SYS_recvfrom, "recvfrom"),
    (libc::SYS_recvmsg, "recvmsg"),
    (libc::SYS_recvmmsg, "recvmmsg"),
    (libc::SYS_poll, "poll"),
    (libc::SYS_ppoll, "ppoll"),
    (libc::SYS_select, "select"),
    (libc::SYS_pselect6, "pselect6"),
    (libc::SYS_epoll_wait, "epoll_wait"),
    (libc::SYS_epoll_pwait, "epoll_pwait"),
    (libc::SYS_epoll_pwait2, "epoll_pwait2"),
    (libc::SYS_nanosleep, "nanosleep"),
    (libc::SYS_clock_nanosleep, "clock_nanosleep"),
    (libc::SYS_futex, "futex"),
    (libc::SYS_wait4, "wait4"),
    (libc::SYS_waitid, "waitid"),
    (libc::SYS_accept, "accept"),
    (libc::SYS_accept4, "accept4"),
    (libc::SYS_connect, "connect"),
    (libc::SYS_pause, "pause"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_place_past_the_rule_has_a_line() {
        let one = |kind, call: i64, times| Unknown {
            address: 0x1234,
            kind,
            call: call as u64,
            times,
        };
        let verified = Verified {
            known: 10,
            harmless: 2,
            unknown: vec![
                one(Kind::Write, libc::SYS_writev, 1),
                one(Kind::Wait, libc::SYS_futex, 3),
            ],
        };
        // No process has this number, so nothing is named.
        let text = told(&verified, u32::MAX / 2);
        let lines: Vec<&str> = text.lines().collect();
        let [counts, write, wait] = lines[..] else {
            panic!("{text}")
        };
        assert!(counts.contains("in 1 s 10 writes and waits"), "{counts}");
        assert!(
            write.contains("writev at 0x1234 wrote to a TCP socket once"),
            "{write}"
        );
        assert!(
            wait.contains("futex at 0x1234 waited 3 times while its thread held octets"),
            "{wait}"
        );
    }
}
