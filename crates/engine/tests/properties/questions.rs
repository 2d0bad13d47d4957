//! What a policy is told and asked, drawn at random.

use proptest::prelude::*;
use proptest::sample::select;
use tinygram_engine::sender::send_policy::{Because, BlockedOn, Moment, Offer, Vars};
use tinygram_engine::{Duration, Instant, Offset, Span};

/// What may befall a policy between two questions.
pub(crate) fn moment() -> impl Strategy<Value = Moment> {
    let because = select(vec![
        Because::Full,
        Because::Idle,
        Because::Blocked,
        Because::Retransmission,
    ]);
    let on = select(vec![
        BlockedOn::Read,
        BlockedOn::Write,
        BlockedOn::Elsewhere,
    ]);
    prop_oneof![
        Just(Moment::WriteBegan { resumed: false }),
        Just(Moment::AckArrived),
        (any::<bool>(), 0_u32..3, any::<bool>()).prop_map(|(more, pieces_before, before)| {
            Moment::ChunkCopied {
                more_to_come: more,
                pieces_before,
                more_on_entry: before,
            }
        }),
        (on, any::<bool>()).prop_map(|(on, wrote)| Moment::AppBlocks { on, wrote }),
        (1_u64..4000, 1_u64..2000, any::<bool>(), because).prop_map(
            |(start, len, short, because)| Moment::Sent {
                span: Span::new(Offset::new(start), Offset::new(start + len)),
                short,
                because,
            }
        ),
    ]
}

pub(crate) fn vars() -> impl Strategy<Value = Vars> {
    let distances = [0_u64..2000, 0..2000, 0..2000];
    let flags = any::<[bool; 7]>();
    (distances, 1_u32..2000, 0_u64..9000, flags, 0_u64..500).prop_map(
        |([sent, resent, unsent], mss, window, flags, millis)| {
            let una = Offset::new(1000);
            let max = una + sent;
            let mut vars = Vars::new(Instant::ZERO + Duration::from_millis(millis), mss);
            vars.una = una;
            vars.nxt = una + sent.saturating_sub(resent);
            vars.max = max;
            vars.written = max + unsent;
            (vars.wnd, vars.max_wnd) = (window, window);
            (vars.cwnd, vars.ssthresh) = (window, window);
            (vars.cluster, vars.capacity) = (512, 8192);
            vars.more_to_come = flags[0];
            vars.nodelay = flags[1];
            vars.corked = flags[2];
            vars.reader_blocked = flags[3];
            vars.writer_blocked = flags[4];
            vars.device_busy = flags[5];
            vars.writer_lacks_space = flags[6];
            vars
        },
    )
}

pub(crate) fn offer(
    vars: &Vars,
    [empties, idle_on_entry, pass_over_mss, held]: [bool; 4],
) -> Offer {
    let end = vars.written.min(vars.nxt + u64::from(vars.mss - 1));
    let mut offer = Offer::new(Span::new(vars.nxt, end), vars);
    offer.empties = empties;
    offer.idle_on_entry = idle_on_entry;
    offer.pass_over_mss = pass_over_mss;
    offer.held_since = held.then_some(Instant::ZERO);
    offer
}
