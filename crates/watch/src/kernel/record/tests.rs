use std::mem::offset_of;

use super::*;
use crate::contract::{Contract, Layout, layout};

fn contract() -> Contract {
    let header = include_str!("../../../bpf/events.h");
    Contract::new(&[header], super::super::OBJECT)
}

#[test]
fn records_have_the_fields_of_c_at_the_same_offsets() {
    let c = contract();
    let ends = layout!(
        Ends,
        cookie,
        local,
        remote,
        netns,
        mss,
        srtt_us,
        min_rtt_us,
        family,
        local_port,
        remote_port,
        opened
    );
    c.has("ends", &ends);
    let hold = layout!(
        HoldRecord, what, uid, ends, writer, cgroup, start_ns, end_ns, serial, held, behind,
        packets, writes, reason, ended_by, nonagle, slept, comm
    );
    c.has("hold", &hold);
    let after = layout!(AfterRecord, what, after, cookie, serial);
    c.has("aftermath", &after);
    let tally = layout!(
        TallyRecord,
        what,
        uid,
        ends,
        writer,
        cgroup,
        start_ns,
        end_ns,
        bytes,
        segments,
        writes,
        turns,
        short_holds,
        close,
        nonagle,
        slower,
        unseen,
        comm
    );
    c.has("tally", &tally);
}

#[test]
fn records_of_late_acks_and_of_what_was_seen_are_those_of_c() {
    let c = contract();
    let late_ack = layout!(
        LateAckRecord,
        what,
        uid,
        ends,
        reader,
        cgroup,
        ack_ns,
        read_ns,
        late_us,
        length,
        before,
        answered,
        bound_ms,
        comm
    );
    c.has("late_ack", &late_ack);
    let python = layout!(
        PythonRecord, state as "thread_state", current, indirect, code, previous, instruction,
        unused
    );
    c.has("python", &python);
    let seen = layout!(
        SeenRecord,
        what,
        uid,
        ends,
        writer,
        cgroup,
        writes,
        segments,
        segments_before,
        ended,
        comm
    );
    c.has("seen", &seen);
    let delayed_ack = layout!(DelayedAckRecord, what, unread, ends, at_ns);
    c.has("delayed_ack", &delayed_ack);
    let compiled = ["ends", "hold", "seen", "python"];
    assert!(compiled.iter().all(|name| c.is_compiled(name)));
}

/// Four registers are one array here, and the octets of the stack follow the record.
#[test]
fn the_record_of_a_stack_is_that_of_c() {
    let c = contract();
    let Layout { fields, size } = c.declared("stack");
    let at = |name: &str| fields.iter().find(|it| it.name == name).unwrap().offset;
    let registers = ["instruction", "stack", "frame", "link"].map(at);
    let first = offset_of!(StackRecord, registers);
    assert_eq!(registers, [first, first + 8, first + 16, first + 24]);
    assert_eq!(at("serial"), offset_of!(StackRecord, serial));
    assert_eq!(at("cookie"), offset_of!(StackRecord, cookie));
    assert_eq!(at("writer"), offset_of!(StackRecord, writer));
    assert_eq!(at("length"), offset_of!(StackRecord, length));
    assert_eq!(at("frames"), offset_of!(StackRecord, frames));
    assert_eq!(at("python"), offset_of!(StackRecord, python));
    assert_eq!(at("octets"), size_of::<StackRecord>());
    assert_eq!(size, size_of::<StackRecord>() + c.number("STACK_OCTETS"));
    assert_eq!(c.number("PYTHON_FRAMES"), PYTHON_FRAMES);
}

#[test]
fn reasons_and_ends_have_the_numbers_of_c() {
    let c = contract();
    let reasons = [
        ("REASON_NAGLE", Some(Reason::Nagle)),
        ("REASON_CORK", Some(Reason::Cork)),
        ("REASON_MORE", Some(Reason::MsgMore)),
        ("REASON_AUTOCORK", Some(Reason::Autocork)),
        ("REASON_CWND", Some(Reason::CongestionWindow)),
        // No rule about short segments.
        ("REASON_WINDOW", None),
        ("REASON_OTHER", None),
    ];
    for (name, meant) in &reasons {
        assert_eq!(reason(c.number(name) as u8), *meant, "{name}");
    }
    assert_eq!(c.names("REASON_"), reasons.map(|(name, _)| name));
    let ends = [
        ("ENDED_ACK", Release::Ack),
        ("ENDED_CLOSE", Release::Close),
        ("ENDED_OPTION", Release::Option),
        ("ENDED_WRITE", Release::Write),
        ("ENDED_LOSS_PROBE", Release::LossProbe),
        ("ENDED_TIMER", Release::Timer),
        ("ENDED_NEVER", Release::Never),
    ];
    for (name, meant) in &ends {
        assert_eq!(release(c.number(name) as u8), Some(*meant), "{name}");
    }
    assert_eq!(c.names("ENDED_"), ends.map(|(name, _)| name));
    assert_eq!(usize::from(NOWHERE), c.number("NOWHERE"));
    assert_eq!(usize::from(OPENED_KNOWN), c.number("OPENED_KNOWN"));
    assert_eq!(usize::from(OPENED_BY_PEER), c.number("OPENED_BY_PEER"));
}

#[test]
fn events_have_the_numbers_of_c() {
    let c = contract();
    let of_kind = |name: &str| {
        let mut record = vec![0; 512];
        record[..4].copy_from_slice(&(c.number(name) as u32).to_ne_bytes());
        record
    };
    let mut hold = of_kind("EVENT_HOLD");
    hold[offset_of!(HoldRecord, reason)] = 1;
    hold[offset_of!(HoldRecord, ended_by)] = 1;
    assert!(matches!(decode(&hold, 0), Some(Event::Hold(_))));
    for (name, kind) in [
        ("AFTER_ANSWER", After::Answer),
        ("AFTER_WRITE", After::Write),
        ("AFTER_PEERS_CLOSE", After::PeersClose),
        ("AFTER_CLOSE", After::Close),
    ] {
        let mut after = of_kind("EVENT_AFTER");
        after[offset_of!(AfterRecord, after)] = c.number(name) as u8;
        let said = decode(&after, 0);
        assert!(
            matches!(said, Some(Event::After(it)) if it.after == kind),
            "{name}"
        );
    }
    assert_eq!(c.names("AFTER_").len(), 4);
    let is =
        |name: &str, is: fn(&Event) -> bool| decode(&of_kind(name), 0).is_some_and(|it| is(&it));
    assert!(is("EVENT_TALLY", |it| matches!(it, Event::Tally(_))));
    assert!(is("EVENT_LATE_ACK", |it| matches!(it, Event::LateAck(_))));
    assert!(is("EVENT_DELAYED_ACK", |it| matches!(
        it,
        Event::DelayedAck(_)
    )));
    assert!(stack(&of_kind("EVENT_STACK")).is_some());
    assert!(seen(&of_kind("EVENT_SEEN")).is_some());
    assert_eq!(c.names("EVENT_").len(), 7);
}

#[test]
fn a_record_cut_short_or_of_no_known_kind_is_no_event() {
    for length in 0..144 {
        let mut record = vec![0; length];
        if let Some(first) = record.first_mut() {
            *first = 1;
        }
        assert!(decode(&record, 0).is_none());
    }
    assert!(decode(&[9; 200], 0).is_none());
}
