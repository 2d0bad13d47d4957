//! Invariants of every connection after every call, whatever its peer sends. The fuzz target also
//! uses this file.

use tinygram_engine::receiver::assembler::MAX_RANGES;
use tinygram_engine::{Connection, Offset};

/// Panics if an invariant is broken. The receive buffer may grow up to `receive_buffer_most` octets.
pub(crate) fn check(connection: &Connection, receive_buffer_most: u64) {
    let sender = connection.sender();
    let vars = sender.vars();
    assert!(vars.una <= vars.nxt, "una {} nxt {}", vars.una, vars.nxt);
    assert!(vars.nxt <= vars.max, "nxt {} max {}", vars.nxt, vars.max);
    let fin_end = vars.written + 1;
    assert!(vars.max <= fin_end, "max {} of {fin_end}", vars.max);
    assert!(vars.cwnd >= 1 && vars.mss >= 1, "{vars:?}");
    if let Some(hold) = sender.hold() {
        assert!(hold.start >= vars.una, "{hold:?} una {}", vars.una);
        assert!(hold.start < fin_end, "{hold:?} of {fin_end}");
    }

    let receiver = connection.receiver();
    let (nxt, read) = (receiver.nxt(), receiver.read_up_to());
    assert!(read <= nxt, "read {read} of {nxt}");
    let capacity = receiver.capacity();
    assert!(capacity <= receive_buffer_most, "{capacity}");
    assert!(receiver.readable() <= capacity);
    let ranges = receiver.out_of_order();
    assert!(ranges.len() <= MAX_RANGES, "{} ranges", ranges.len());
    let mut end = nxt;
    for range in ranges {
        assert!(range.start > end || end == Offset::SYN, "{ranges:?} {nxt}");
        assert!(!range.is_empty(), "{ranges:?}");
        end = range.end;
    }
    assert!(end.since(read) <= capacity + 1, "{ranges:?} {read}");

    let first = connection.next_wakeup_reason();
    let at = connection.next_wakeup();
    assert_eq!(at, first.map(|(at, _)| at), "{first:?}");
    if connection.state() == tinygram_engine::State::Closed {
        assert_eq!(first, None, "closed, and a timer");
    }
}
