//! Tells whether a segment was held, and what released it.
//!
//! A hold has three moments: the *trigger* (small data that is sent and not yet acknowledged), the
//! *release* (what the sender was waiting for) and the *held* segment, which leaves as soon as the
//! release reaches its sender. At any capture point, the held segment passes one round trip between
//! capture point and sender after the release. The time from trigger to held segment is how long
//! the sender waited.

use tinygram_stalls::thresholds::{
    BLUR_MARGIN, BUSY_PATH_VARIES_IN, CLOCK_BLUR_NS, EARLIER_BY_PERCENT, FINEST_NS, INITIAL_WINDOW,
    KERNEL_WAKES_NS, LAN_NS, LATE_ACK_NS, OFF_THE_PATH_IN, OFF_THE_WAIT_IN, PATH_VARIES_IN,
    RTO_MIN_NS, SAME_HOST_NS, SCHEDULED_NS, SECOND_PLACE, STANDARD_RTO_NS, THIRD_PLACE,
};
use tinygram_wire::decode::{Gist, Head};

use crate::flow::half::{Half, Resent};
use crate::flow::mark::Mark;
use tinygram_stalls::{Pieces, Timeout};

/// A segment that left when something released it.
#[derive(Clone, Debug, Default)]
pub struct Hold {
    /// The last data sent before the held segment.
    pub trigger: Mark,
    /// The acknowledgment that released it; `None` if a timer did.
    pub release: Option<Mark>,
    /// The segment that was held.
    pub held: Mark,
    /// The length of the trigger, in bytes.
    pub trigger_len: u32,
    /// The length of the held segment, in bytes.
    pub held_len: u32,
    /// Bytes sent since the sender was last idle, the trigger included.
    pub flight: u32,
    /// The time from trigger to acknowledgment at the capture point, in nanoseconds.
    pub ack_wait_ns: i64,
    /// The part of `ack_wait_ns` since an ACK of a part of the flight, minus the time that the link
    /// takes to carry the rest, in nanoseconds; 0 if there was no such ACK.
    pub step_ns: i64,
    /// The time from release to held segment at the capture point, in nanoseconds.
    pub reaction_ns: i64,
    /// The round trip from the capture point to the sender, in nanoseconds, if known.
    pub sender_distance_ns: Option<i64>,
    /// How far the held segment is from the time at which the release alone would put it, in
    /// nanoseconds.
    pub off_ns: i64,
    /// Whether the trigger carried PSH, which means that the sender's buffer was empty behind it.
    pub pushed: bool,
    /// Whether the trigger carried no PSH. If this sender ever sets PSH, more was ready behind the
    /// trigger, or announced.
    pub more_ready: bool,
    /// Whether the flight left piece by piece, with pauses between.
    pub grew: bool,
    /// The largest segment the sender may send, in bytes.
    pub mss: u32,
    /// Bytes the receiver's window allowed while the segment was held.
    pub room: u32,
    /// How the trigger was sent again before the release came, if it was.
    pub(crate) resent: Option<Resent>,
    /// Whether flights of this size left right after prompt ACKs of others before.
    pub chained: bool,
    /// Whether the flight was the first of the connection or the first after an idle period.
    pub fresh: bool,
    /// The held segment's sequence number, and what it acknowledges.
    pub(crate) numbers: [u32; 2],
    /// Its time to live.
    pub(crate) ttl: u8,
    /// Whether all that its sender had sent was as much as today's initial window.
    pub(crate) fills_initial_window: bool,
    /// Whether the release came as soon as the path allows.
    pub prompt: bool,
    /// Whether a flight at least as large ended in such a wait before.
    pub repeated: bool,
    /// How long before the release a part of the flight was acknowledged, in nanoseconds; 0 if none
    /// was. A sender that did not go on after that partial ACK was not held by a window.
    pub in_parts_ns: u32,
    /// What trigger and held segment were to the application.
    pub pieces: Pieces,
    /// Short segments that this sender had sent while small data was unacknowledged.
    pub(crate) defied: u32,
    /// Whether it may have left with the trigger and come late: its TSval is the same.
    pub(crate) same_stamp: bool,
    /// Whether it may be a full segment, for the MSS is guessed: none was longer, and it has no PSH.
    pub(crate) may_be_full: bool,
    /// Whether it carries urgent data, or such data was in flight before it.
    pub(crate) urgent: bool,
    /// Whether it carries its sender's FIN.
    pub(crate) fin: bool,
    /// Whether trigger and held segment are records that a TLS server sends unasked behind the handshake.
    pub(crate) tickets: bool,
    /// Whether a handshake measured the round trip. Otherwise ACKs alone tell of it, and it is no longer than they say.
    pub(crate) path_measured: bool,
    /// The first bytes of the trigger, if they are known.
    pub(crate) trigger_head: Head,
    /// The short segment whose acknowledgment was waited for, if full ones left behind it.
    pub(crate) behind: Option<Box<Behind>>,
    /// Whether the trigger had been sent before and was lost on its way to the capture point.
    pub(crate) sent_again: bool,
    /// Whether the congestion window was small because a retransmission timeout had passed.
    pub(crate) timeout: Timeout,
}

impl Hold {
    /// Returns whether the capture point is too far from the sender to place its segments sharply.
    pub(crate) fn is_far(&self) -> bool {
        self.sender_distance_ns.is_none_or(|ns| ns > FINEST_NS)
    }

    /// Returns whether it left as fast as a kernel lets go: the link takes no longer for its bytes than the whole way
    /// does for an empty segment. `blur_ns` is how sharply the release can be placed from the capture point.
    pub(crate) fn is_at_once(&self, blur_ns: i64) -> bool {
        let distance_ns = self.sender_distance_ns.unwrap_or(i64::MAX);
        distance_ns > SAME_HOST_NS
            || (self.reaction_ns - 2 * distance_ns).min(self.off_ns)
                <= KERNEL_WAKES_NS.max(BLUR_MARGIN * blur_ns)
    }
}

/// A short segment, and full ones behind it. By Minshall's rule the next short one waits for the
/// acknowledgment of that short one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Behind {
    /// The frame of the short segment.
    pub(crate) frame: u64,
    /// Its length, in bytes.
    pub(crate) len: u32,
    /// The frame of the last full segment behind it.
    pub(crate) full: u64,
}

impl Behind {
    fn of(sender: &Half) -> Box<Self> {
        Box::new(Self {
            frame: sender.short.sent.frame,
            len: sender.short.len,
            full: sender.sent.frame,
        })
    }
}

/// What a pause before new data looks like.
#[expect(
    clippy::large_enum_variant,
    reason = "it is taken apart where it was made; a box would be an allocation for each hold"
)]
pub(crate) enum Pause {
    /// The segment left right upon the release.
    Held(Hold),
    /// A late ACK came, and the sender took its own time after it.
    Thought,
    /// As held, but by a sender that does not hold.
    Defied,
    /// It left before the acknowledgment can have reached the sender.
    Early,
    /// Nothing was waited for.
    None,
}

/// Judges the pause before a new in-order segment of `sender`.
///
/// `sender_distance_ns` is the round trip from the capture point to the sender; `exact` says
/// that it comes from a handshake and cannot be smaller but by this.
pub(crate) fn pause(
    sender: &Half,
    sender_distance_ns: Option<i64>,
    exact: Option<i64>,
    segment: &Gist,
    mark: Mark,
    mss: u32,
) -> Pause {
    let short = sender.short_alone_acked(segment.payload, mss);
    if !short && !sender.idle() {
        let held = match sender.disturbed || sender.may_answer(segment) {
            true => None,
            false => behind_a_short_one(sender, sender_distance_ns, segment, mark, mss),
        };
        return held.map_or(Pause::None, Pause::Held);
    }
    let release = &sender.release;
    let waited_for_ack = (short || (sender.idle() && release.pure))
        && release.wait_ns.max(sender_distance_ns.unwrap_or(0)) >= LATE_ACK_NS
        && release.mark.frame > sender.sent.frame
        && sender.sent.frame > 0
        && (!sender.disturbed
            || sender
                .resent
                .as_ref()
                .is_some_and(|resent| sender.was_answered(resent)));
    // Behind a prompt ACK, data that answers what crossed on the way is an answer.
    let answers = sender.may_answer(segment);
    if !waited_for_ack || (answers && (short || sender.was_prompt())) {
        return Pause::None;
    }
    let hold_ns = mark.time_ns - sender.sent.time_ns;
    let reaction_ns = mark.time_ns - release.mark.time_ns;
    let off_ns = off_from(
        sender,
        reaction_ns,
        segment.payload,
        sender_distance_ns,
        exact,
    );
    let left_before = lacks_stamp(sender, segment);
    let unaware = left_before || sender.lacks_data_before_release(segment.ack);
    let tolerance_ns = SCHEDULED_NS
        .max(sender_distance_ns.unwrap_or(0) / OFF_THE_PATH_IN)
        .max(hold_ns / OFF_THE_WAIT_IN);
    // An earlier ACK than the last may have let it go: that of a short one.
    if (off_ns.is_none() || left_before)
        && segment.payload < mss
        && sender.idle()
        && let Some(hold) = behind_a_short_one(sender, sender_distance_ns, segment, mark, mss)
    {
        return Pause::Held(hold);
    }
    // The way is shorter than its handshake was: that waited for ARP, a flow's first packet or a radio.
    let off_ns = off_ns.or_else(|| {
        has_stamp(sender, segment).then_some(sender_distance_ns.unwrap_or(0) - reaction_ns)
    });
    match off_ns {
        // One that holds would not have sent the trigger.
        Some(off_ns) if off_ns <= tolerance_ns && sender.flight_defied => Pause::Defied,
        Some(off_ns) if off_ns <= tolerance_ns && !unaware => Pause::Held(
            Moment {
                segment,
                mark,
                mss,
                sender_distance_ns,
                short,
            }
            .held(sender, off_ns),
        ),
        None if segment.payload < mss
            && exact.is_some()
            && (1..mss).contains(&sender.last_len)
            && reaction_ns < sender_distance_ns.unwrap_or(0) * (100 - EARLIER_BY_PERCENT) / 100 =>
        {
            Pause::Early
        }
        _ => Pause::Thought,
    }
}

/// Returns whether the echo of a segment is older than the ACK that came last: a sender that has not seen that was not
/// released by it (RFC 7323, section 4.3). Not every stack takes the timestamps of pure ACKs in. This one does if it has echoed
/// one before, or echoes one now: an echo that is newer than all data of the peer is of an ACK.
fn lacks_stamp(sender: &Half, segment: &Gist) -> bool {
    let (Some(stamp), Some(own)) = (sender.release.stamp, segment.timestamps()) else {
        return false;
    };
    let of_an_ack = sender.data_stamp != 0 && (own.echo.wrapping_sub(sender.data_stamp) as i32) > 0;
    (own.echo.wrapping_sub(stamp) as i32) < 0 && (sender.echoes_acks || of_an_ack)
}

/// Returns whether the echo of a segment is that of the ACK that came last, and of no data of the peer: its sender had seen that,
/// however long the way was when it was measured.
fn has_stamp(sender: &Half, segment: &Gist) -> bool {
    let (Some(stamp), Some(own)) = (sender.release.stamp, segment.timestamps()) else {
        return false;
    };
    let of_an_ack = sender.data_stamp != 0 && (stamp.wrapping_sub(sender.data_stamp) as i32) > 0;
    own.echo == stamp && of_an_ack
}

/// The moment at which a segment left, upon the ACK that came last.
struct Moment<'a> {
    segment: &'a Gist,
    mark: Mark,
    mss: u32,
    sender_distance_ns: Option<i64>,
    /// The ACK was that of a short segment alone, and full ones behind it are open.
    short: bool,
}

impl Moment<'_> {
    /// Returns the hold that ended so far from where the ACK puts it.
    fn held(&self, sender: &Half, off_ns: i64) -> Hold {
        let flight = match self.short {
            true => sender.flight,
            false => sender.released_flight,
        };
        Hold {
            trigger: sender.sent,
            release: Some(sender.release.mark),
            held: self.mark,
            trigger_len: sender.last_len,
            held_len: self.segment.payload,
            flight,
            ack_wait_ns: sender.release.wait_ns,
            step_ns: if self.short {
                0
            } else {
                sender.release.step_ns
            },
            reaction_ns: self.mark.time_ns - sender.release.mark.time_ns,
            sender_distance_ns: self.sender_distance_ns,
            off_ns,
            pushed: sender.pushed,
            more_ready: !sender.pushed,
            grew: sender.released_grew,
            mss: self.mss,
            room: sender.release.room,
            prompt: self.short || sender.was_prompt(),
            repeated: sender.waited_flight >= flight,
            in_parts_ns: sender
                .let_go_by_ns(self.sender_distance_ns.unwrap_or(0))
                .max(if self.short {
                    0
                } else {
                    sender.released_in_parts_ns
                }),
            resent: sender.resent.as_deref().copied(),
            chained: sender.idle()
                && sender.goes_by_its_acks(flight, self.segment.payload, self.mss),
            fresh: sender.tally.bytes == u64::from(sender.released_flight) || sender.restarted,
            fills_initial_window: sender.tally.bytes == u64::from(INITIAL_WINDOW * self.mss),
            defied: sender.tally.defied,
            trigger_head: sender.head,
            behind: short_before_full(sender, self.mss),
            sent_again: sender.sent_again,
            timeout: timeout_before(sender, self.segment, self.mss),
            ..Hold::default()
        }
    }
}

/// Returns the hold of a segment that waited for the ACK of a short one, by Minshall's rule, while full ones were in
/// flight behind that. Far from the sender, that ACK passes before the full segments do. The held segment follows upon
/// it, too early to follow upon theirs.
fn behind_a_short_one(
    sender: &Half,
    sender_distance_ns: Option<i64>,
    segment: &Gist,
    mark: Mark,
    mss: u32,
) -> Option<Hold> {
    let (one, distance_ns) = (&sender.short, sender_distance_ns?);
    let full_since = sender.last_len >= mss && one.sent.frame < sender.sent.frame;
    // What follows the full ones at once left with them.
    let paused = mark.time_ns - sender.sent.time_ns >= LATE_ACK_NS;
    if !(full_since && paused) || one.acked.frame == 0 || sender.flight_defied {
        return None;
    }
    let reaction_ns = mark.time_ns - one.acked.time_ns;
    let off_ns = (reaction_ns - distance_ns).abs();
    let wait_ns = one.acked.time_ns - one.sent.time_ns;
    let prompt = wait_ns - sender.receiver_distance_ns().unwrap_or(0) < LATE_ACK_NS;
    // With others open it takes a closer look: they come and go all the time.
    let share = match sender.idle() {
        true => PATH_VARIES_IN,
        false => BUSY_PATH_VARIES_IN,
    };
    (off_ns <= SCHEDULED_NS.max(distance_ns / share)).then_some(Hold {
        trigger: one.sent,
        release: Some(one.acked),
        held: mark,
        trigger_len: one.len,
        held_len: segment.payload,
        flight: one.len,
        ack_wait_ns: wait_ns,
        reaction_ns,
        sender_distance_ns,
        off_ns,
        pushed: sender.pushed,
        mss,
        room: sender.release.room,
        prompt: prompt && sender.path.handshake_ns != u32::MAX,
        defied: sender.tally.defied,
        behind: Some(Behind::of(sender)),
        ..Hold::default()
    })
}

/// Returns whether a retransmission timeout may have come before. What leaves so late after the peer's data may have
/// been sent before and lost on its way to the capture point. And a sender whose first window had two segments has a
/// window of one only after a timeout.
fn timeout_before(sender: &Half, segment: &Gist, mss: u32) -> Timeout {
    let least_ns = match sender.restarted {
        true => RTO_MIN_NS,
        false => STANDARD_RTO_NS,
    };
    let asked_ns = sender
        .turns
        .asked_ns(segment.ack)
        .filter(|&at_ns| at_ns > 0);
    let late = asked_ns.is_some_and(|at_ns| sender.sent.time_ns - at_ns >= least_ns);
    match late {
        true if sender.restarted && sender.peak_opening >= 2 * mss => Timeout::Yes,
        true => Timeout::Perhaps,
        false => Timeout::No,
    }
}

/// Returns the short segment that left before the full trigger and was acknowledged after it.
fn short_before_full(sender: &Half, mss: u32) -> Option<Box<Behind>> {
    let one = &sender.short;
    let waited_for = sender.last_len >= mss
        && one.sent.frame < sender.sent.frame
        && one.acked.frame > sender.sent.frame;
    waited_for.then(|| Behind::of(sender))
}

/// Returns how far the reaction is from what the release and the way explain. A slow link takes longer for
/// the segment than for the empty ones that measured the way, as segments of one flight tell, or else as the
/// swiftest answer does. With each further place to look, an accident fits more often: a distance from the second
/// place counts twice, and one from the third four times.
fn off_from(
    sender: &Half,
    reaction_ns: i64,
    len: u32,
    sender_distance_ns: Option<i64>,
    exact: Option<i64>,
) -> Option<i64> {
    // What was ready left upon the ACK, though the way was a little longer before.
    let early_ns = sender_distance_ns.unwrap_or(0) / PATH_VARIES_IN;
    let exact = exact.map(|ns| {
        if sender.has_more() {
            ns.max(early_ns)
        } else {
            ns
        }
    });
    let plain_ns = off_by(reaction_ns, sender_distance_ns, exact)?;
    let (link, distance_ns) = (&sender.link, sender_distance_ns.unwrap_or(0));
    let beyond_ns = |carried_ns: i64| (reaction_ns - distance_ns - carried_ns).abs();
    let spaced_ns = match link.carries_ns(len) {
        0 => plain_ns,
        carried_ns => beyond_ns(carried_ns).saturating_mul(SECOND_PLACE),
    };
    let bounded_ns = match link.most_ns(len) {
        None => plain_ns,
        Some(_) => beyond_ns(link.bound_ns(len, distance_ns))
            .max(FINEST_NS)
            .saturating_mul(THIRD_PLACE),
    };
    Some(plain_ns.min(spaced_ns).min(bounded_ns))
}

/// Returns how far the reaction is from what the release alone explains; none if it came too early.
fn off_by(reaction_ns: i64, sender_distance_ns: Option<i64>, exact: Option<i64>) -> Option<i64> {
    let distance_ns = sender_distance_ns.unwrap_or(0);
    let off_ns = reaction_ns - distance_ns;
    if off_ns >= 0 {
        return Some(off_ns);
    }
    let early_ns = exact.unwrap_or(distance_ns * EARLIER_BY_PERCENT / 100);
    match -off_ns > CLOCK_BLUR_NS.max(early_ns) {
        false => Some(-off_ns),
        // The segment was on its way before the ACK could have arrived.
        true if exact.is_some() && distance_ns > LAN_NS => None,
        // The distance is an upper bound: acknowledgments may all have been late, and a
        // handshake may have waited for ARP.
        true => Some(reaction_ns),
    }
}

#[cfg(test)]
mod tests;
