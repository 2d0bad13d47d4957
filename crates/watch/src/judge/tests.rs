//! Tests which holds are stalls and which are not, by what ended them and what came after.

use super::*;
use crate::event::{Aftermath, Connection, Writer};

const MS: i64 = 1_000_000;

fn hold(reason: Reason, release: Release, lasted_ns: i64) -> Hold {
    Hold {
        connection: Connection {
            cookie: 7,
            netns: 1,
            local: "10.0.0.1:80".parse().unwrap(),
            remote: "10.0.0.2:5000".parse().unwrap(),
            mss: 1448,
            srtt_ns: MS,
            min_rtt_ns: Some(MS / 10),
            accepted: None,
        },
        writer: Writer {
            pid: 100,
            thread: 100,
            uid: 0,
            cgroup: 1,
            comm: "server".into(),
        },
        serial: 1,
        start_ns: 1_000 * MS,
        end_ns: 1_000 * MS + lasted_ns,
        held: 200,
        behind: 100,
        packets: 1,
        writes: 1,
        reason,
        release,
        nodelay: false,
        slept: true,
    }
}

/// Returns the judge's findings for a hold with this aftermath, and how many it excused as the
/// program's own.
fn judged(hold: Hold, after: After) -> (Vec<(Kind, Tier)>, u64) {
    let (cookie, serial) = (hold.connection.cookie, hold.serial);
    let mut judge = Judge::default();
    let mut found = Vec::new();
    let mut note = |finding: Finding| found.push((finding.kind, finding.tier));
    judge.take(Event::Hold(hold), &mut note);
    let after = Aftermath {
        cookie,
        serial,
        after,
    };
    judge.take(Event::After(after), &mut note);
    judge.finish(&mut note);
    (found, judge.excused.own_cork)
}

#[test]
fn a_hold_that_the_programs_own_close_ends_at_once_is_none() {
    for reason in [Reason::Nagle, Reason::Cork, Reason::MsgMore] {
        let at_once = hold(reason, Release::Close, REACTION_NS - 1);
        assert_eq!(
            judged(at_once, After::PeersClose),
            (vec![], 1),
            "{reason:?}"
        );
    }
}

#[test]
fn a_hold_that_a_close_ends_later_is_told() {
    let later = hold(Reason::Nagle, Release::Close, REACTION_NS);
    let found = vec![(Kind::WriteWriteRead, Tier::Likely)];
    assert_eq!(judged(later, After::PeersClose), (found, 0));
    let later = hold(Reason::Cork, Release::Close, 200 * MS);
    let found = vec![(Kind::CorkHeld, Tier::Likely)];
    assert_eq!(judged(later, After::PeersClose), (found, 0));
}

#[test]
fn a_hold_that_the_program_fills_is_none_but_behind_a_window() {
    let filled = hold(Reason::Nagle, Release::Write, 40 * MS);
    assert_eq!(judged(filled, After::Answer), (vec![], 1));
    let window = hold(Reason::CongestionWindow, Release::Write, 40 * MS);
    assert_eq!(judged(window, After::Answer).1, 0);
}

#[test]
fn an_option_ends_a_cork_of_the_programs_own_and_no_hold_of_nagles() {
    let uncorked = hold(Reason::Cork, Release::Option, MS);
    assert_eq!(judged(uncorked, After::Answer), (vec![], 1));
    let nodelay = hold(Reason::Nagle, Release::Option, MS);
    assert_eq!(judged(nodelay, After::Answer).1, 0);
}

#[test]
fn an_acknowledgment_that_was_late_is_told_from_a_plain_round_trip() {
    let late = hold(Reason::Nagle, Release::Ack, 40 * MS);
    let found = vec![(Kind::WriteWriteRead, Tier::Certain)];
    assert_eq!(judged(late, After::Answer), (found, 0));
    let prompt = hold(Reason::Nagle, Release::Ack, MS);
    let found = vec![(Kind::NagleRoundTrip, Tier::Certain)];
    assert_eq!(judged(prompt, After::Answer), (found, 0));
}

#[test]
fn whoever_writes_on_has_not_waited() {
    let late = hold(Reason::Nagle, Release::Ack, 40 * MS);
    assert_eq!(judged(late, After::Write), (vec![], 0));
}

/// Returns what the judge says of a hold's timer, after these timers of the receiver's.
fn timer_of(hold: Hold, sees_timers: bool, expired_at_ns: &[i64]) -> Timer {
    timer_with(hold, sees_timers, expired_at_ns, 0)
}

fn timer_with(hold: Hold, sees_timers: bool, expired_at_ns: &[i64], unread: u32) -> Timer {
    let mut judge = match sees_timers {
        true => Judge::that_sees_timers(),
        false => Judge::default(),
    };
    for at_ns in expired_at_ns {
        let connection = Connection {
            cookie: 0,
            local: hold.connection.remote,
            remote: hold.connection.local,
            ..hold.connection
        };
        let at_ns = *at_ns;
        let late = DelayedAck {
            connection,
            at_ns,
            unread,
        };
        judge.take(Event::DelayedAck(late), |_| ());
    }
    let mut found = Vec::new();
    judge.take(Event::Hold(hold), |finding| found.push(finding));
    judge.finish(|finding| found.push(finding));
    match found[..] {
        [
            Finding {
                facts: Facts::Held { timer, .. },
                ..
            },
        ] => timer,
        _ => panic!("{found:?}"),
    }
}

/// Both ends on this host.
fn local_hold() -> Hold {
    let mut hold = hold(Reason::Nagle, Release::Ack, 12 * MS);
    hold.connection.remote = "127.0.0.1:5000".parse().unwrap();
    hold.connection.local = "127.0.0.1:80".parse().unwrap();
    hold
}

#[test]
fn a_timer_that_expired_during_the_hold_ended_it() {
    let start_ns = local_hold().start_ns;
    assert_eq!(
        timer_of(local_hold(), true, &[start_ns + 11 * MS]),
        Timer::Expired
    );
    // Two processors may report the timer and the segment in the other order.
    assert_eq!(
        timer_of(local_hold(), true, &[start_ns + 12 * MS + MS / 2]),
        Timer::Expired
    );
}

#[test]
fn a_hold_without_a_timer_was_ended_by_a_late_reader() {
    let start_ns = local_hold().start_ns;
    assert_eq!(timer_of(local_hold(), true, &[]), Timer::DidNot);
    assert_eq!(
        timer_of(local_hold(), true, &[start_ns - 5 * MS]),
        Timer::DidNot
    );
}

#[test]
fn where_timers_are_not_seen_nothing_is_said_of_them() {
    assert_eq!(timer_of(local_hold(), false, &[]), Timer::Unknown);
    let elsewhere = hold(Reason::Nagle, Release::Ack, 12 * MS);
    assert_eq!(timer_of(elsewhere, true, &[]), Timer::Unknown);
}

/// More connections than are remembered: what is not known any more is not denied.
#[test]
fn a_timer_that_was_forgotten_is_unknown() {
    let hold = local_hold();
    let mut judge = Judge::that_sees_timers();
    for index in 0..=MOST_CONNECTIONS {
        let mut connection = hold.connection;
        (connection.local, connection.remote) = (hold.connection.remote, hold.connection.local);
        connection.netns = u32::try_from(index).unwrap() + 1;
        let late = DelayedAck {
            connection,
            at_ns: hold.start_ns + 11 * MS,
            unread: 0,
        };
        judge.take(Event::DelayedAck(late), |_| ());
    }
    assert_eq!(judge.timer(&hold), Timer::Unknown);
    let later = Hold {
        start_ns: hold.start_ns + 12 * MS,
        end_ns: hold.end_ns + 12 * MS,
        ..hold
    };
    assert_eq!(judge.timer(&later), Timer::DidNot);
}

/// A peer may set its timer as short as it likes (`TCP_DELACK_MAX_US`), and a hold may begin shortly before it.
#[test]
fn a_timer_that_expired_makes_a_short_hold_no_round_trip() {
    let mut hold = local_hold();
    hold.end_ns = hold.start_ns + 2 * MS;
    let of = |expired_at_ns: &[i64]| {
        let mut judge = Judge::that_sees_timers();
        for at_ns in expired_at_ns {
            let mut connection = hold.connection;
            (connection.local, connection.remote) = (hold.connection.remote, hold.connection.local);
            let late = DelayedAck {
                connection,
                at_ns: *at_ns,
                unread: 0,
            };
            judge.take(Event::DelayedAck(late), |_| ());
        }
        let mut found = Vec::new();
        judge.take(Event::Hold(hold.clone()), |_| ());
        judge.finish(|finding| found.push(finding.kind));
        found
    };
    assert_eq!(of(&[hold.end_ns - MS / 10]), [Kind::WriteWriteRead]);
    assert_eq!(of(&[]), [Kind::NagleRoundTrip]);
    // It expired before the hold began.
    assert_eq!(of(&[hold.start_ns - 1]), [Kind::NagleRoundTrip]);
}

/// On a busy machine a thread may have no processor for longer than the timer.
#[test]
fn a_timer_that_expired_over_unread_data_tells_of_a_late_reader() {
    let at_ns = local_hold().start_ns + 11 * MS;
    assert_eq!(timer_with(local_hold(), true, &[at_ns], 512), Timer::DidNot);
}

/// Judges so many acknowledgments of a receiver that were all late by this; returns how many are told.
fn late_acks(late_ns: i64, bound_ns: Option<i64>) -> usize {
    let one = hold(Reason::Nagle, Release::Ack, 0);
    let mut judge = Judge::default();
    let mut told = 0;
    for n in 0..3 {
        let ack_ns = one.start_ns + n * 1_000 * MS;
        let late = LateAck {
            connection: one.connection,
            reader: one.writer.clone(),
            ack_ns,
            read_ns: ack_ns + MS / 5,
            late_ns,
            length: 200,
            before: 100,
            answered: true,
            bound_ns,
        };
        judge.take(Event::LateAck(late), |_| told += 1);
    }
    told
}

/// A program that reads late acknowledges late, too. No timer of its socket can have waited for so long.
#[test]
fn an_acknowledgment_later_than_the_sockets_own_timer_was_not_delayed_by_it() {
    assert_eq!(late_acks(44 * MS, Some(200 * MS)), 3);
    assert_eq!(late_acks(44 * MS, Some(8 * MS)), 0);
    // A tick or two later than the bound, and a busy host.
    assert_eq!(late_acks(20 * MS, Some(8 * MS)), 3);
    // Not known: any that the standard allows.
    assert_eq!(late_acks(400 * MS, None), 3);
    assert_eq!(late_acks(600 * MS, None), 0);
}
