//! One direction of a connection: the data one host sends, and how the other acknowledges it.

mod acked;
mod again;
mod chain;
mod data;
mod link;
mod numeric;
pub(crate) mod path;
mod resent;
mod rounds;
mod tails;
mod tally;
mod turns;

use tinygram_stalls::thresholds::{
    ACKS_TOGETHER_NS, AT_SIGHT_NS, COPY_NS, CROSSED_NS, DEFAULT_MSS, ETHERNET_MSS, FIRST_TTLS,
    LATE_ACK_NS, MOST_ROUTERS, OTHER_NUMBERS, PATH_VARIES_IN, TIMED_MESSAGES,
};

use self::chain::Chain;
pub(crate) use self::link::Link;
pub(crate) use self::numeric::saturate;
use self::path::Path;
pub(crate) use self::resent::Resent;
use self::rounds::Rounds;
use self::tails::Tails;
pub(crate) use self::tally::Tally;
pub(crate) use self::turns::Turn;
use self::turns::Turns;
use super::mark::Mark;
use super::numbers::Numbers;
use super::odds::Odds;
use tinygram_wire::decode::{Gist, Head};

/// The sender's side of one direction, as far as the capture shows it. Kept small: a capture may
/// hold hundreds of thousands of connections open at once. Its parts have writers of their own.
///
/// It lies in memory as it is written here: seven cache lines of 64 bytes. So an acknowledgment without data touches
/// two of its sender's and five of the peer's.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Half {
    // The first line, which each segment touches, of this sender or of its peer.
    pub(crate) numbers: Numbers,
    pub(crate) window_scale: Option<u8>,
    /// The largest payload of its segments, in bytes ([`Connection::mss`](super::connection::Connection::mss)).
    pub(crate) mss: u32,
    /// Receive window this sender advertises to its peer, in bytes.
    pub(crate) window: u32,
    /// The largest window it has advertised, in bytes.
    pub(crate) peak_window: u32,
    /// Sequence number after the last byte sent.
    pub(crate) next: u32,
    /// Sequence number after the last byte acknowledged.
    pub(crate) acked: u32,
    /// End of the last segment below the MSS: Minshall's variable.
    pub(crate) short_end: u32,
    /// Length of the last data segment, in bytes.
    pub(crate) last_len: u32,
    /// Timestamp value of the peer's last segment with data or SYN.
    pub(crate) data_stamp: u32,
    /// The path to the receiver.
    pub(crate) path: Path,

    // The second, which each segment touches, too.
    /// Whose turn it is.
    pub(crate) turns: Turns,
    /// Of ACKs that came late, and of those that came as soon as the path allows; nothing before the first.
    odds: Option<Box<[Odds; 2]>>,
    pub(crate) timestamps: bool,
    /// A segment of this end was seen.
    pub(crate) spoke: bool,
    /// Any segment of this sender was seen, so `next` is known.
    pub(crate) seen: bool,
    /// Loss, reordering or a gap in the capture since the last new data.
    pub(crate) disturbed: bool,
    pub(crate) finished: bool,
    /// The flight under way, and the one that the last acknowledgment completed, did not leave at once.
    flight_grew: bool,
    pub(crate) released_grew: bool,
    pub(crate) pushed: bool,
    /// The last data had been sent before and was lost on its way to the capture point.
    pub(crate) sent_again: bool,
    /// It has set PSH before, so that a segment without it tells of more behind it.
    pub(crate) marks_pushes: bool,
    /// The first flight after an idle period is under way (RFC 5681, section 4.1).
    pub(crate) restarted: bool,
    /// A short segment of the last flight left while small data was unacknowledged.
    pub(crate) flight_defied: bool,
    /// A short segment of the flight under way may have been a probe for a loss.
    probed: bool,
    /// Urgent data is in flight: until it is acknowledged, small segments leave at once whatever the policy (BSD's
    /// `tcp_output`; Linux, `tcp_nagle_test`).
    pub(crate) urgent: bool,
    /// This sender's echoed timestamps follow the peer's pure ACKs (not all stacks do so).
    pub(crate) echoes_acks: bool,
    /// How often in a row `max_len` was the greatest length.
    pub(crate) max_seen: u8,

    // Two more, which acknowledgments of its data touch.
    /// The last new data sent.
    pub(crate) sent: Mark,
    /// The acknowledgment that last moved `acked`.
    pub(crate) release: Release,
    /// When a part of what was sent was acknowledged first, in nanoseconds since the epoch.
    part_ns: i64,
    /// When the acknowledgment before the last that moved `acked` was seen, in nanoseconds since the epoch.
    before_release_ns: i64,
    /// The one segment in flight was sent again by a timer, and nothing else happened since its first sending.
    pub(crate) resent: Option<Box<Resent>>,
    /// Bytes and MSS-sized units sent since everything was last acknowledged.
    pub(crate) flight: u32,
    pub(crate) flight_segments: u32,
    /// The flight that the last acknowledgment completed, in bytes.
    pub(crate) released_flight: u32,
    /// How long before the acknowledgment of all of that flight a part of it was first, in nanoseconds.
    pub(crate) released_in_parts_ns: u32,
    /// The largest flight so far, in bytes.
    pub(crate) peak_flight: u32,
    /// The largest segment so far, in bytes.
    pub(crate) max_len: u32,
    /// The largest flight that was the first, or the first after an idle period, in bytes.
    pub(crate) peak_opening: u32,
    /// The largest flight behind which a short segment has waited for a prompt acknowledgment since the
    /// congestion window can have been cut, in bytes.
    pub(crate) waited_flight: u32,
    /// Tails that a timer let go.
    pub(crate) tails: Tails,

    // What its data touches.
    pub(crate) tally: Tally,
    /// From this sender to the capture point.
    pub(crate) link: Link,
    /// How its congestion window opened.
    pub(crate) rounds: Rounds,
    /// First bytes of the last segment.
    pub(crate) head: Head,
    chain: Chain,
    /// The last short segment, and the pure acknowledgment of it.
    pub(crate) short: ShortOne,
    /// When its FIN was seen, in nanoseconds since the epoch.
    pub(crate) finished_ns: i64,
}

/// A short segment, for senders that hold a second one until it is acknowledged (Minshall's rule).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ShortOne {
    pub(crate) sent: Mark,
    /// Its acknowledgment, if that carried nothing else.
    pub(crate) acked: Mark,
    pub(crate) len: u32,
}

/// What kind of acknowledgment last arrived, seen from the data sender.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Release {
    pub(crate) mark: Mark,
    /// From the last data sent to this acknowledgment.
    pub(crate) wait_ns: i64,
    /// From an acknowledgment of a part of the same flight, beyond what the link takes to carry the rest, in
    /// nanoseconds; 0 if there was none.
    pub(crate) step_ns: i64,
    /// Bytes the receiver's window still allowed before this acknowledgment.
    pub(crate) room: u32,
    /// The acknowledgment's own timestamp value.
    pub(crate) stamp: Option<u32>,
    /// It acknowledged all that was sent, and carried nothing else.
    pub(crate) pure: bool,
    /// It acknowledged all that was sent.
    pub(crate) whole: bool,
    /// It acknowledged the last short segment, and larger ones behind it are open.
    pub(crate) short: bool,
}

/// How a data segment continues what was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    InOrder,
    /// The capture begins with it, or misses what came before.
    Hole,
    Retransmission,
    /// The same frame again, captured twice.
    Copy,
    KeepAlive,
}

impl Default for Half {
    fn default() -> Self {
        Self {
            next: 0,
            acked: 0,
            short_end: 0,
            window: u32::MAX,
            peak_window: 0,
            last_len: 0,
            flight: 0,
            flight_segments: 0,
            released_flight: 0,
            released_in_parts_ns: 0,
            part_ns: 0,
            before_release_ns: 0,
            peak_flight: 0,
            max_len: 0,
            sent: Mark::default(),
            release: Release::default(),
            short: ShortOne::default(),
            tally: Tally::default(),
            odds: None,
            mss: 0,
            window_scale: None,
            seen: false,
            disturbed: false,
            timestamps: false,
            pushed: false,
            sent_again: false,
            marks_pushes: false,
            flight_grew: false,
            released_grew: false,
            finished: false,
            finished_ns: 0,
            restarted: false,
            flight_defied: false,
            probed: false,
            urgent: false,
            echoes_acks: false,
            max_seen: 0,
            spoke: false,
            numbers: Numbers::default(),
            rounds: Rounds::default(),
            path: Path::default(),
            turns: Turns::default(),
            head: Head::default(),
            waited_flight: 0,
            peak_opening: 0,
            tails: Tails::default(),
            resent: None,
            chain: Chain::default(),
            data_stamp: 0,
            link: Link::default(),
        }
    }
}

impl Half {
    /// Returns the occasions of ACKs that came as soon as the path allows, or of late ones.
    pub(crate) fn odds_of(&self, prompt: bool) -> &Odds {
        match &self.odds {
            Some(odds) => &odds[usize::from(prompt)],
            None => &Odds::NONE,
        }
    }

    /// Returns whether this segment answers the peer: the peer spoke, and the segment's sender has received it.
    pub(crate) fn is_answer(&self, segment: &Gist) -> bool {
        self.turns.peer_spoke && (segment.ack.wrapping_sub(self.turns.heard_to) as i32) > 0
    }

    /// Returns whether this segment may answer the peer's data instead of having been released by the last ACK. It
    /// acknowledges that data for the first time, and the data came just before the ACK.
    pub(crate) fn may_answer(&self, segment: &Gist) -> bool {
        if (segment.ack.wrapping_sub(self.turns.heard_to) as i32) <= 0 {
            return false;
        }
        let asked_ns = self.turns.asked_ns(segment.ack);
        asked_ns.is_none_or(|at_ns| self.release.mark.time_ns - at_ns < CROSSED_NS)
    }

    /// Returns how long before the last acknowledgment another one reached the sender, behind the last segment
    /// that it had sent, in nanoseconds; 0 if none did. What a window had held would have left upon that.
    pub(crate) fn let_go_by_ns(&self, sender_distance_ns: i64) -> u32 {
        match self.before_release_ns > self.sent.time_ns - sender_distance_ns {
            true => saturate(self.release.mark.time_ns - self.before_release_ns),
            false => 0,
        }
    }

    /// Returns whether a short segment may have waited for the ACK of the short segment before it alone (Minshall's
    /// rule). That ACK came last, except for ACKs that came together with it, and full segments are still in flight.
    pub(crate) fn short_alone_acked(&self, payload: u32, mss: u32) -> bool {
        let together = self.short.acked.frame > self.sent.frame
            && self.release.mark.time_ns - self.short.acked.time_ns < ACKS_TOGETHER_NS;
        !self.idle() && payload < mss && self.last_len >= mss && (self.release.short || together)
    }

    /// Returns whether full segments left behind a short one before its ACK can have reached their sender, and this
    /// short segment follows while they are in flight.
    pub(crate) fn short_acked_before_full(&self, payload: u32, mss: u32) -> bool {
        let open = self.next.wrapping_sub(self.acked);
        payload < mss
            && self.last_len >= mss
            && self.short.acked.frame > self.short.sent.frame
            && self.short.acked.frame < self.sent.frame
            && self.peak_flight >= open + payload
    }

    /// Returns whether the ACK that came last came as soon as the path allows, which only a handshake tells.
    pub(crate) fn was_prompt(&self) -> bool {
        self.path.is_prompt(self.release.wait_ns)
    }

    /// Returns the same, to add to.
    pub(crate) fn odds_of_mut(&mut self, prompt: bool) -> &mut Odds {
        &mut self.odds.get_or_insert_default()[usize::from(prompt)]
    }

    /// Begins a turn: what the sender sends from now on, it sends for another reason than before.
    pub(crate) fn begin_turn(&mut self, turn: Turn) {
        self.turns.begin(turn);
        self.chain.begin_turn();
    }

    /// Notes at the beginning of a flight whether the acknowledgment of the last flight alone released it.
    pub(crate) fn note_chain(&mut self, now_ns: i64, sender_distance_ns: Option<i64>) {
        let distance_ns = sender_distance_ns.unwrap_or(0);
        let off_ns = now_ns - self.release.mark.time_ns - distance_ns;
        let let_go =
            self.release.pure && off_ns.abs() < AT_SIGHT_NS.max(distance_ns / PATH_VARIES_IN);
        let delayed =
            self.release.wait_ns - self.receiver_distance_ns().unwrap_or(0) >= LATE_ACK_NS;
        self.chain.note(self.released_flight, let_go, delayed);
    }

    /// Returns whether flights of this size follow each other, each right upon the acknowledgment of the one before,
    /// and what was `held` is one of them.
    pub(crate) fn goes_by_its_acks(&self, flight: u32, held: u32, mss: u32) -> bool {
        self.chain.has(flight, held, mss)
    }

    /// Returns whether nothing is in flight.
    #[inline]
    pub(crate) fn idle(&self) -> bool {
        self.acked == self.next
    }

    /// Returns the way from the capture point to the receiver and back, in nanoseconds, if anything tells.
    pub(crate) fn receiver_distance_ns(&self) -> Option<i64> {
        self.path.receiver_distance_ns()
    }

    /// Returns whether more was ready behind the last segment. A sender sets PSH where its buffer is empty or a write
    /// ends (RFC 9293, section 3.9.1.2); this sender sets PSH, but did not set it there.
    pub(crate) fn has_more(&self) -> bool {
        self.marks_pushes && !self.pushed
    }

    /// Returns whether a segment that acknowledges no more than this left before its sender had got the last
    /// acknowledgment.
    pub(crate) fn lacks_data_before_release(&self, ack: u32) -> bool {
        self.turns.lacks_data_before(ack, self.release.mark.time_ns)
    }

    /// Returns how many of this sender's messages begin as late as a timer releases corked ones, if its messages do so time
    /// after time.
    pub(crate) fn timed(&self) -> u32 {
        let timed = u32::from(self.turns.timed);
        let is_habit =
            timed >= TIMED_MESSAGES && timed * 2 >= self.tally.answers.min(2 * u32::from(u8::MAX));
        if is_habit { timed } else { 0 }
    }

    /// Returns whether this end says of itself what no distant host says: fewer hops left than any system begins with
    /// and no path uses up, segments larger than its SYN allowed for, or an MSS that no way to it has.
    pub(crate) fn is_made_up(&self) -> bool {
        (1..=MOST_ROUTERS).contains(&self.path.ttl)
            || (self.path.offered_mss() == DEFAULT_MSS && self.max_len > 2 * u32::from(DEFAULT_MSS))
            || self.path.offered_mss() > ETHERNET_MSS
    }

    /// Returns whether its SYN passed no router: its time to live is one that systems begin with.
    pub(crate) fn is_as_it_left(&self) -> bool {
        FIRST_TTLS.contains(&self.path.ttl)
    }

    /// Notes data of the peer. It is an answer only if the peer has received all that this sender sent. Data that
    /// crosses on the way ends no wait.
    #[inline]
    pub(crate) fn hear(&mut self, segment: &Gist, time_ns: i64) {
        let end = segment.seq.wrapping_add(segment.payload);
        let seen_all = (segment.ack.wrapping_sub(self.next) as i32) >= 0;
        let answer = seen_all || !self.seen;
        self.turns.heard(time_ns, end, answer, self.last_len);
        if let Some(stamps) = segment.timestamps() {
            self.data_stamp = stamps.value;
        }
    }

    /// Takes note of the timestamp of data of the peer that was sent before.
    pub(crate) fn hear_again(&mut self, segment: &Gist) {
        if let Some(stamps) = segment.timestamps() {
            self.data_stamp = stamps.value;
        }
    }

    /// Returns how far queues on the way blur the round trip to the receiver.
    pub(crate) fn blur_ns(&self) -> i64 {
        self.path.blur_ns()
    }

    #[inline]
    pub(crate) fn arrival(&self, segment: &Gist, time_ns: i64) -> Arrival {
        if !self.seen {
            return Arrival::Hole;
        }
        let ahead = segment.seq.wrapping_sub(self.next) as i32;
        match ahead {
            0 => Arrival::InOrder,
            1.. => Arrival::Hole,
            // RFC 1122, section 4.2.3.6: a keep-alive repeats the last byte, or none.
            -1 if segment.payload <= 1 => Arrival::KeepAlive,
            ..OTHER_NUMBERS => Arrival::Hole,
            _ if i64::from(ahead) + i64::from(segment.payload) <= 0 => {
                // No sender repeats itself so soon: mirrored ports and `-i any` show frames twice.
                let last =
                    ahead.unsigned_abs() == segment.payload && segment.payload == self.last_len;
                match last && time_ns - self.sent.time_ns < COPY_NS {
                    true => Arrival::Copy,
                    false => Arrival::Retransmission,
                }
            }
            _ => Arrival::Hole,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
