use std::mem::offset_of;

use super::*;

/// Lists a record's fields with their offsets, and its size. `FIELD as NAME` gives the name that C has for it.
macro_rules! layout {
    ($record:ty, $($field:ident $(as $name:literal)?),*) => {
        (
            vec![$((
                [$($name,)? stringify!($field)][0].to_owned(),
                offset_of!($record, $field),
            )),*],
            size_of::<$record>(),
        )
    };
}

/// The source of the BPF programs.
const HEADER: &str = include_str!("../../../bpf/events.h");

#[test]
fn records_have_the_fields_of_c_at_the_same_offsets() {
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
    assert_eq!(in_c("ends"), ends);
    let hold = layout!(
        HoldRecord, what, uid, ends, writer, cgroup, start_ns, end_ns, serial, held, behind,
        packets, writes, reason, ended_by, nonagle, slept, comm
    );
    assert_eq!(in_c("hold"), hold);
    let after = layout!(AfterRecord, what, after, cookie, serial);
    assert_eq!(in_c("aftermath"), after);
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
    assert_eq!(in_c("tally"), tally);
}

#[test]
fn records_of_late_acks_and_of_what_was_seen_are_those_of_c() {
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
    assert_eq!(in_c("late_ack"), late_ack);
    let python = layout!(
        PythonRecord, state as "thread_state", current, indirect, code, previous, instruction,
        unused
    );
    assert_eq!(in_c("python"), python);
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
    assert_eq!(in_c("seen"), seen);
    let delayed_ack = layout!(DelayedAckRecord, what, unread, ends, at_ns);
    assert_eq!(in_c("delayed_ack"), delayed_ack);
}

/// Four registers are one array here, and the octets of the stack follow the record.
#[test]
fn the_record_of_a_stack_is_that_of_c() {
    let (fields, size) = in_c("stack");
    let at = |name: &str| fields.iter().find(|(field, _)| field == name).unwrap().1;
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
    assert_eq!(size, size_of::<StackRecord>() + number("STACK_OCTETS"));
    assert_eq!(number("PYTHON_FRAMES"), PYTHON_FRAMES);
}

#[test]
fn reasons_and_ends_have_the_numbers_of_c() {
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
        assert_eq!(reason(number(name) as u8), *meant, "{name}");
    }
    assert_eq!(names("REASON_"), reasons.map(|(name, _)| name));
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
        assert_eq!(release(number(name) as u8), Some(*meant), "{name}");
    }
    assert_eq!(names("ENDED_"), ends.map(|(name, _)| name));
    assert_eq!(usize::from(NOWHERE), number("NOWHERE"));
    assert_eq!(usize::from(OPENED_KNOWN), number("OPENED_KNOWN"));
    assert_eq!(usize::from(OPENED_BY_PEER), number("OPENED_BY_PEER"));
}

#[test]
fn events_have_the_numbers_of_c() {
    let of_kind = |name: &str| {
        let mut record = vec![0; 512];
        record[..4].copy_from_slice(&(number(name) as u32).to_ne_bytes());
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
        after[offset_of!(AfterRecord, after)] = number(name) as u8;
        let said = decode(&after, 0);
        assert!(
            matches!(said, Some(Event::After(it)) if it.after == kind),
            "{name}"
        );
    }
    assert_eq!(names("AFTER_").len(), 4);
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
    assert_eq!(names("EVENT_").len(), 7);
}

/// Returns the names of the header's constants that begin so, in their order.
fn names(prefix: &str) -> Vec<&'static str> {
    let lines = HEADER.lines().map(str::trim);
    let constants = lines.filter_map(|line| line.split_once(" = ").map(|(name, _)| name));
    constants.filter(|name| name.starts_with(prefix)).collect()
}

/// Returns a constant of the header.
fn number(name: &str) -> usize {
    let begins = format!("{name} = ");
    let (_, rest) = HEADER
        .split_once(&begins)
        .unwrap_or_else(|| panic!("no {name}"));
    let end = rest.find([',', ' ', '\n']).expect("it ends");
    match rest[..end].strip_prefix("0x") {
        Some(digits) => usize::from_str_radix(digits, 16),
        None => rest[..end].parse(),
    }
    .unwrap_or_else(|_| panic!("{name}: {}", &rest[..end]))
}

/// Returns the fields of a structure of the header with their offsets, and its size, by C's rules.
fn in_c(name: &str) -> (Vec<(String, usize)>, usize) {
    let begins = format!("\nstruct {name} {{\n");
    let (_, rest) = HEADER
        .split_once(&begins)
        .unwrap_or_else(|| panic!("no {name}"));
    let (body, _) = rest.split_once("\n};").expect("it ends");
    let (mut fields, mut end, mut widest) = (Vec::new(), 0_usize, 1);
    for line in body.lines() {
        let (declared, _) = line.split_once(';').expect("a field a line");
        let (of, field) = declared.trim().rsplit_once(' ').expect("a type and a name");
        let (field, count) = match field.strip_suffix(']').and_then(|it| it.split_once('[')) {
            Some((field, count)) => (field, count.parse().unwrap_or_else(|_| number(count))),
            None => (field, 1),
        };
        let (size, align) = match of {
            "u8" | "char" => (1, 1),
            "u16" => (2, 2),
            "u32" => (4, 4),
            "u64" => (8, 8),
            "union address" => (16, 4),
            "struct ends" => (in_c("ends").1, 8),
            "struct python_frame" => (in_c("python_frame").1, 8),
            other => panic!("{other} in {name}"),
        };
        end = end.next_multiple_of(align);
        fields.push((field.to_owned(), end));
        end += size * count;
        widest = widest.max(align);
    }
    (fields, end.next_multiple_of(widest))
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
