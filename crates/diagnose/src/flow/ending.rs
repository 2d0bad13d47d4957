//! What a segment tells of the receive window of its sender, and of the sender's end.

use tinygram_stalls::thresholds::BURST_NS;
use tinygram_wire::decode::Gist;

use super::connection::{Connection, Witness};
use super::half::Turn;
use super::mark::Mark;
use super::seen::Seen;

impl Connection {
    #[inline]
    pub(super) fn note_window(
        &mut self,
        segment: &Gist,
        from: usize,
        mark: Mark,
        witness: &mut impl Witness,
    ) {
        let half = &mut self.halves[from];
        let shift = half.window_scale.unwrap_or(0).min(14);
        let known = half.window_scale.is_some();
        let was_closed = half.window == 0;
        // Without the handshake the scale is unknown: only zero is certain.
        half.window = match (segment.window, known) {
            (0, _) => 0,
            (window, true) => u32::from(window) << shift,
            (_, false) => u32::MAX,
        };
        half.peak_window = half.window.max(half.peak_window);
        let closed = half.window == 0;
        if closed != was_closed {
            // What the peer sends next waited for the window, whatever else it did.
            self.halves[1 - from].disturbed = true;
            witness.saw(self, from, Seen::Window(closed, mark));
        }
    }

    pub(super) fn on_fin(&mut self, from: usize, mark: Mark, witness: &mut impl Witness) {
        let rest_ns = BURST_NS + self.halves[1 - from].receiver_distance_ns().unwrap_or(0);
        let asked = self.halves[1 - from].finished
            && mark.time_ns - self.halves[1 - from].finished_ns <= rest_ns;
        let half = &mut self.halves[from];
        // Who closes by its own clock has kept nobody waiting before.
        if mark.time_ns - half.sent.time_ns > rest_ns && !half.finished && !asked {
            self.begin_turn(from, Turn::SelfClocked, witness);
        }
        let half = &mut self.halves[from];
        if !half.finished {
            half.finished = true;
            half.finished_ns = mark.time_ns;
            // The FIN takes a sequence number of its own.
            half.next = half.next.wrapping_add(1);
        }
        witness.saw(self, from, Seen::Finished);
        self.closed = self.halves.iter().all(|h| h.finished);
    }
}
