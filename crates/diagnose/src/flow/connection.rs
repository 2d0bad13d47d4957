//! A connection: two halves, whose turn it is, and what their segments show.

use tinygram_engine::Flags;
use tinygram_stalls::thresholds::{BURST_NS, CLOCK_STEP_NS, FINEST_NS, QUEUE_LAG_NS, RTO_MIN_NS};
use tinygram_wire::decode::Gist;
use tinygram_wire::options::Options;

use super::copies::Copies;
use super::ends::Ends;
use super::half::{Arrival, Half, Turn};
use super::hold::{self, Pause};
use super::mark::Mark;
use super::restart;
use super::seen::{Plain, Seen};
use super::timer;
use tinygram_stalls::Protocol;

/// One connection's state while it lives. What each segment touches is kept together.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Connection {
    pub(crate) ends: Ends,
    pub(crate) last_ns: i64,
    /// The last frames, to know one that was recorded more than once.
    pub(crate) copies: Copies,
    pub(crate) frames: u32,
    /// Counted from 0 in order of appearance.
    pub(crate) id: u32,
    /// How often the clock went back by more than queues lag.
    pub(crate) clock_steps: u32,
    /// The TSval of each end's SYN.
    pub(super) syn_stamps: [u32; 2],
    /// Which end opened the connection; a guess unless a SYN was seen.
    pub(crate) client: Option<u8>,
    pub(crate) handshake: bool,
    pub(crate) closed: bool,
    /// Captured on an interface without a link layer: a tunnel's end.
    pub(crate) raw_ip: bool,
    /// Seen since the table last looked for idle connections.
    pub(crate) recent: bool,
    /// By its first bytes, if they tell.
    pub(crate) protocol: Option<Protocol>,
    /// `halves[i]` is the data sent by `ends[i]`.
    pub(crate) halves: [Half; 2],
    pub(crate) first: Mark,
}

/// Whoever wants to know what is seen, when it is seen.
pub(crate) trait Witness {
    /// Takes what `connection` has shown of the data that `ends[from]` sends, or of its window.
    fn saw(&mut self, connection: &Connection, from: usize, seen: Seen);
}

impl Connection {
    pub(crate) fn new(ends: Ends, id: u32, first: Mark) -> Self {
        let mut fresh = Self {
            ends,
            id,
            frames: 0,
            first,
            last_ns: first.time_ns,
            halves: [Half::default(), Half::default()],
            client: None,
            handshake: false,
            closed: false,
            clock_steps: 0,
            raw_ip: false,
            copies: Copies::default(),
            protocol: None,
            recent: true,
            syn_stamps: [0; 2],
        };
        fresh.settle_mss();
        fresh
    }

    #[inline]
    fn note_number(&mut self, segment: &Gist, from: usize) {
        let mss = self.mss(from);
        // What offload joined was several packets.
        let packets = match segment.payload > mss {
            true => segment.payload.div_ceil(mss),
            false => 1,
        };
        let numbers = &mut self.halves[from].numbers;
        numbers.note(segment.identification, packets as u16);
    }

    /// Takes a segment into account, with its options if it has other ones than timestamps, and tells what it shows. Returns
    /// true if the segment resets the connection.
    #[expect(clippy::inline_always, reason = "a part of the loop over all frames")]
    #[inline(always)]
    pub(crate) fn segment(
        &mut self,
        segment: &Gist,
        options: Option<&Options>,
        from: usize,
        mut mark: Mark,
        witness: &mut impl Witness,
    ) -> bool {
        // One of two: the compiler need not check it at each use.
        let from = from & 1;
        mark.time_ns = self.straighten(mark.time_ns);
        self.frames += 1;
        self.recent = true;
        if self.copies.has(segment, from, mark.time_ns) {
            witness.saw(self, from, Seen::Plain(mark, Plain::Copy));
            return false;
        }
        self.halves[from].spoke = true;
        self.note_number(segment, from);
        if segment.flags().any(Flags::SYN | Flags::RST) {
            if segment.flags().any(Flags::RST) {
                return true;
            }
            self.halves[from].path.ttl = segment.ttl;
            self.on_syn(segment, options, from, mark);
            self.settle_mss();
            return false;
        }
        if segment.flags().any(Flags::ACK) {
            let syn_ttl = self.halves[from].path.ttl;
            self.halves[1 - from].path.came_from(syn_ttl, segment.ttl);
            if let Some(block) = options.and_then(|options| options.sack.iter().next())
                && self.halves[1 - from].seen
            {
                self.halves[1 - from].note_sack(segment.ack, block);
            }
            self.on_ack(segment, from, mark);
        }
        if segment.payload == 0 {
            witness.saw(self, from, Seen::Plain(mark, Plain::NoData));
        } else {
            self.on_payload(segment, from, mark, witness);
        }
        self.note_window(segment, from, mark, witness);
        if segment.flags().any(Flags::FIN) {
            self.on_fin(from, mark, witness);
        }
        false
    }

    /// Clocks of several queues disagree a little: time stands still rather than run back.
    /// A large step is a new clock, and nothing is known about waits across it.
    #[inline]
    fn straighten(&mut self, time_ns: i64) -> i64 {
        let back_ns = self.last_ns - time_ns;
        self.clock_steps += u32::from(back_ns > QUEUE_LAG_NS);
        if back_ns > CLOCK_STEP_NS {
            for half in &mut self.halves {
                half.disturbed = true;
                half.sent.time_ns = time_ns;
                half.release.pure = false;
            }
        } else if back_ns > 0 {
            return self.last_ns;
        }
        self.last_ns = time_ns;
        time_ns
    }

    #[inline]
    fn on_ack(&mut self, segment: &Gist, from: usize, mark: Mark) {
        let peer_window = self.halves[from].window;
        let mss = self.mss(1 - from);
        let half = &mut self.halves[1 - from];
        // The third step of the handshake measures the way to the opener.
        if half.path.handshake_ns == u32::MAX
            && half.seen
            && self.handshake
            && half.sent.frame == 0
            && segment.ack == half.next
            && self.client == Some(from as u8)
        {
            half.path.measured(mark.time_ns - half.sent.time_ns);
        }
        half.on_ack(segment, mark, peer_window, mss);
    }

    fn on_payload(&mut self, segment: &Gist, from: usize, mark: Mark, witness: &mut impl Witness) {
        if self.protocol.is_none()
            && segment.head.len() >= 4
            && self.halves[from].tally.segments == 0
        {
            let server = self.ends.ends[1 - self.client()].port;
            self.protocol = Protocol::of(server, &segment.head);
        }
        let mss = self.mss(from);
        match self.halves[from].arrival(segment, mark.time_ns) {
            Arrival::KeepAlive => {
                witness.saw(self, from, Seen::Plain(mark, Plain::KeepAlive));
                return;
            }
            Arrival::Copy => {
                witness.saw(self, from, Seen::Plain(mark, Plain::Copy));
                return;
            }
            Arrival::Retransmission => {
                witness.saw(self, from, Seen::Plain(mark, Plain::Repeated));
                self.was_lost(from, witness);
                self.halves[from].send_again(segment, mark, mss);
                self.halves[1 - from].hear_again(segment);
                if self.halves[from].resent.is_none() {
                    let lost_ns = mark.time_ns - self.halves[from].sent.time_ns;
                    witness.saw(self, from, Seen::Lost(mark, lost_ns));
                }
                return;
            }
            Arrival::Hole => {
                witness.saw(self, from, Seen::Plain(mark, Plain::First));
                let half = &mut self.halves[from];
                let first = !half.seen || half.tally.segments == 0;
                if !half.seen || half.idle() {
                    half.acked = segment.seq;
                    half.short_end = segment.seq;
                }
                half.seen = true;
                half.disturbed = true;
                half.tally.missed += u32::from(!first);
                self.begin_turn(from, if first { Turn::Answer } else { Turn::None }, witness);
            }
            Arrival::InOrder => self.on_new_data(segment, from, mark, mss, witness),
        }
        self.was_lost(from, witness);
        let half_window = self.halves[1 - from].peak_window / 2;
        let distance_ns = self.halves[1 - from].receiver_distance_ns();
        let half = &mut self.halves[from];
        let with_stamps = half.timestamps;
        half.on_data(segment, mark, mss, half_window, distance_ns);
        if half.timestamps != with_stamps || !self.offered_mss() {
            self.settle_mss();
        }
        let is_request = segment.payload < mss && from == self.client();
        let peer = &mut self.halves[1 - from];
        peer.hear(segment, mark.time_ns);
        if is_request {
            peer.turns.asked();
        }
        witness.saw(self, 1 - from, Seen::Answered(mark.time_ns));
    }

    #[inline]
    fn on_new_data(
        &mut self,
        segment: &Gist,
        from: usize,
        mark: Mark,
        mss: u32,
        witness: &mut impl Witness,
    ) {
        let half = &self.halves[from];
        if half.tally.segments == 0 || half.is_answer(segment) {
            let fresh = half.tally.segments == 0;
            let plain = if fresh { Plain::First } else { Plain::Answer };
            witness.saw(self, from, Seen::Plain(mark, plain));
            self.idle_restart(from, mark);
            self.begin_turn(from, Turn::Answer, witness);
            self.halves[from].turns.note_asked();
            self.halves[from].tally.answers += u32::from(!fresh);
            self.note_answer(from, segment.payload, mark);
            if let Some(asked_ns) = self.halves[from].turns.asked_ns(segment.ack) {
                self.note_carried(from, segment.payload, mark.time_ns - asked_ns);
            }
            return;
        }
        if half.restarted && self.ends_first_flight(segment, from, mark, mss, witness) {
            return;
        }
        let distance_ns = self.halves[1 - from].receiver_distance_ns();
        let half = &mut self.halves[from];
        if half.idle() && !half.disturbed {
            half.note_chain(mark.time_ns, distance_ns);
        }
        let (half, peer) = (&self.halves[from], &self.halves[1 - from]);
        // Inside a flight nobody waits, but for the ACK of its last short segment.
        if !half.idle()
            && !half.short_alone_acked(segment.payload, mss)
            && !half.short_acked_before_full(segment.payload, mss)
        {
            witness.saw(self, from, Seen::Plain(mark, Plain::InFlight));
            return;
        }
        let exact = (peer.path.handshake_ns != u32::MAX).then(|| peer.blur_ns());
        let rtt_ns = self.rtt_ns().unwrap_or(0);
        let half = &mut self.halves[from];
        let pause = match timer::pause(half, distance_ns, rtt_ns, segment, mark, mss) {
            Pause::None => hold::pause(half, distance_ns, exact, segment, mark, mss),
            held => held,
        };
        match pause {
            Pause::Held(hold) => self.was_held(hold, segment, from, mark, witness),
            Pause::Thought => {
                let half = &mut self.halves[from];
                let since_ns = (mark.time_ns - half.sent.time_ns).max(distance_ns.unwrap_or(0));
                let prompt = half.was_prompt();
                half.odds_of_mut(prompt).miss(since_ns);
                if prompt {
                    witness.saw(self, from, Seen::Plain(mark, Plain::Unprompted));
                    self.rested(from, mark, distance_ns, witness);
                    return;
                }
                let thought_ns = mark.time_ns - half.release.mark.time_ns;
                witness.saw(self, from, Seen::Thought(mark, thought_ns));
                self.self_clocked(from, mark, witness);
            }
            Pause::Early => {
                // As seen from the sender, small data was unacknowledged.
                let half = &mut self.halves[from];
                let exempt = half.urgent || segment.flags().any(Flags::URG | Flags::FIN);
                half.tally.defied += u32::from(!exempt);
                witness.saw(self, from, Seen::Plain(mark, Plain::Early));
                self.rested(from, mark, distance_ns, witness);
            }
            Pause::Defied => {
                let waited_ns = mark.time_ns - self.halves[from].sent.time_ns;
                witness.saw(self, from, Seen::Defied(mark, waited_ns));
            }
            Pause::None => {
                witness.saw(self, from, Seen::Plain(mark, Plain::Unprompted));
                self.rested(from, mark, distance_ns, witness);
            }
        }
    }

    /// Begins a turn of the sender's own if the pause before this segment is longer than a burst's and nothing explains
    /// it.
    fn rested(
        &mut self,
        from: usize,
        mark: Mark,
        distance_ns: Option<i64>,
        witness: &mut impl Witness,
    ) {
        let half = &self.halves[from];
        let rest_ns = mark.time_ns - half.sent.time_ns.max(half.release.mark.time_ns);
        if rest_ns > BURST_NS + distance_ns.unwrap_or(0) {
            self.self_clocked(from, mark, witness);
        }
    }

    /// Adds the time that the peer waited for the beginning of this answer, which is so many bytes long.
    fn note_answer(&mut self, from: usize, len: u32, mark: Mark) {
        let asked = self.halves[1 - from].sent;
        if asked.frame == 0 {
            return;
        }
        let rtt_ns = self.rtt_ns().unwrap_or(0);
        let distance_ns = self.halves[1 - from].receiver_distance_ns().unwrap_or(0);
        let since_ns = mark.time_ns - asked.time_ns;
        // ACKs that came with answers have waited for them: they do not tell the path's part.
        let path_ns = if self.is_rtt_measured() { rtt_ns } else { 0 };
        let half = &mut self.halves[from];
        if len < half.mss && timer::is_its(since_ns - distance_ns, rtt_ns) {
            half.turns.timed = half.turns.timed.saturating_add(1);
        }
        let total_ns = &mut half.tally.answer_ns;
        *total_ns = total_ns.saturating_add((since_ns - path_ns).max(0));
    }

    /// Bounds the time that the sender's link takes for so many bytes: the segment was seen `reaction_ns` after what it
    /// was sent upon.
    pub(super) fn note_carried(&mut self, from: usize, len: u32, reaction_ns: i64) {
        let peer = &self.halves[1 - from];
        if let Some(distance_ns) = peer.receiver_distance_ns() {
            let within_ns = (reaction_ns - distance_ns)
                .max(peer.blur_ns())
                .max(FINEST_NS);
            self.halves[from].link.carried(len, within_ns);
        }
    }

    /// Begins a turn that the sender took without having been asked.
    fn self_clocked(&mut self, from: usize, mark: Mark, witness: &mut impl Witness) {
        self.idle_restart(from, mark);
        self.begin_turn(from, Turn::SelfClocked, witness);
        self.halves[from].tally.self_clocked += 1;
    }

    #[inline]
    pub(super) fn begin_turn(&mut self, from: usize, turn: Turn, witness: &mut impl Witness) {
        witness.saw(self, from, Seen::WentOn);
        self.halves[from].begin_turn(turn);
    }

    /// Notes whether the sender was idle for more than a retransmission timeout. Then its congestion window starts over
    /// (RFC 5681, section 4.1).
    fn idle_restart(&mut self, from: usize, mark: Mark) {
        let half = &mut self.halves[from];
        let idle_ns = mark.time_ns - half.sent.time_ns;
        // After a loss it is the loss that has cut the window.
        half.restarted = half.tally.segments > 0 && !half.disturbed && idle_ns > RTO_MIN_NS;
        if half.restarted {
            half.waited_flight = 0;
        }
    }

    /// Ends the first flight after an idle period at its first acknowledgment. Returns true if this segment waited for
    /// the congestion window that idleness had cut.
    fn ends_first_flight(
        &mut self,
        segment: &Gist,
        from: usize,
        mark: Mark,
        mss: u32,
        witness: &mut impl Witness,
    ) -> bool {
        let rtt_ns = self.rtt_ns().unwrap_or(0);
        let half = &mut self.halves[from];
        if half.release.mark.frame < half.sent.frame {
            return false;
        }
        half.restarted = false;
        let Some(mut hold) = restart::pause(half, segment, mark, mss, rtt_ns) else {
            // Later rules ask whether this was the first flight.
            half.restarted = half.idle();
            return false;
        };
        (hold.numbers, hold.ttl) = ([segment.seq, segment.ack], segment.ttl);
        hold.path_measured = self.is_rtt_measured();
        witness.saw(self, from, Seen::Restarted(hold));
        true
    }

    /// Reports that the last retransmission repaired a loss, for all that is known.
    #[inline]
    pub(crate) fn was_lost(&mut self, from: usize, witness: &mut impl Witness) {
        if let Some(resent) = self.halves[from].resent.take() {
            witness.saw(self, from, Seen::Lost(resent.mark, resent.after_ns));
        }
    }
}
