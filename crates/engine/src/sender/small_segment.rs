//! The state that decides about small segments: the policy with its memory, what the socket layer
//! told, and what is being held.

use super::config::SenderConfig;
use super::counters::Counters;
use super::hints::Hints;
use super::send_policy::{
    Because, Installed, Moment, Offer, Rule, SendPolicy, Told, Vars, Verdict, Why,
};
use super::sequence::Sequence;
use super::view::{View, Whole};
use crate::offset::Offset;
use crate::time::{Deadline, Duration, Instant};

/// How soon a policy is asked again at the earliest after a moment that it named has come.
const AGAIN: Duration = Duration::from_micros(10);

/// The small-segment state.
#[derive(Clone, Debug)]
pub(super) struct SmallSegment {
    policy: Installed,
    /// Whether it looks at what is received.
    pub(super) heeds_receiving: bool,
    /// Whether it looks at the peer's counters.
    pub(super) heeds_peer: bool,
    /// Whether MORE applies whatever the policy.
    more_in_every_variant: bool,
    /// MCLBYTES, which some policies look at.
    cluster: u64,
    pub(super) hints: Hints,
    held: Option<Held>,
    /// When the policy must be asked again about it, even if nothing else happens.
    asked_again_at: Deadline,
}

/// What is being held, without the time when the policy is asked again.
#[derive(Clone, Copy, Debug)]
struct Held {
    start: Offset,
    why: Why,
    since: Instant,
}

/// What is being held: a runt, or any segment of a paced flight that waits for its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// Its first octet.
    pub start: Offset,
    /// The reason.
    pub why: Why,
    /// The time since when it is held.
    pub since: Instant,
    /// When to ask the policy again even if nothing else happens.
    pub until: Option<Instant>,
}

impl SmallSegment {
    pub(super) fn new(config: &SenderConfig) -> Self {
        let policy = config.policy.clone().install();
        Self {
            heeds_receiving: policy.heeds_receiving(),
            heeds_peer: policy.heeds_peer(),
            policy,
            more_in_every_variant: config.more_in_every_variant,
            cluster: config.cluster,
            hints: Hints::default(),
            held: None,
            asked_again_at: Deadline::OFF,
        }
    }

    /// Changes the policy. The new one is asked anew about what the old one held.
    pub(super) fn set_policy(&mut self, policy: SendPolicy) {
        self.policy = policy.install();
        self.heeds_receiving = self.policy.heeds_receiving();
        self.heeds_peer = self.policy.heeds_peer();
        self.release();
    }

    /// Returns the variables as the policy sees them.
    #[inline(always)]
    pub(super) fn vars(&self, view: View<'_>) -> Vars {
        self.whole(view).vars()
    }

    #[inline(always)]
    fn whole<'a>(&'a self, view: View<'a>) -> Whole<'a> {
        Whole {
            view,
            cluster: &self.cluster,
            hints: &self.hints,
        }
    }

    /// Tells the policy what happened.
    #[inline(always)]
    pub(super) fn observe(&mut self, moment: Moment, view: View<'_>) {
        let whole = Whole {
            view,
            cluster: &self.cluster,
            hints: &self.hints,
        };
        self.policy.observe_by(moment, &whole);
    }

    /// Returns the verdict on a runt, which empties the buffer or not: first the rules that apply to
    /// every policy, then the policy, for which `offer` describes it.
    #[inline]
    pub(super) fn verdict(
        &self,
        empties: bool,
        offer: impl FnOnce() -> Offer,
        view: View<'_>,
    ) -> Verdict {
        if !empties && !self.policy.takes_window_cuts() {
            return Verdict::hold(Why::WindowCuts);
        }
        // "As soon as an acknowledgment arrives to free up buffer space, send() will provide
        // additional data" (Mogul & Minshall, section 5.4); where it will not, the runt must go.
        let more = self.hints.more_to_come && !self.writer_deadlocks(view.seq);
        if more && self.includes_more() {
            return Verdict::hold(Why::MoreToCome);
        }
        let offer = offer();
        if self.hints.corked {
            return self.verdict_of_the_cork(&offer, view);
        }
        match self.policy.decide_by(&offer, &self.whole(view)) {
            Verdict::Hold { why, .. } if self.hints.nodelay && !why.outranks_nodelay() => {
                Verdict::Send(Because::NoDelay)
            }
            verdict => verdict,
        }
    }

    #[cold]
    fn verdict_of_the_cork(&self, offer: &Offer, view: View<'_>) -> Verdict {
        offer.corked(Why::Corked, &self.vars(view))
    }

    /// Returns whether a thread sleeps for space that only an unsent segment could free.
    fn writer_deadlocks(&self, seq: &Sequence) -> bool {
        self.hints.writer_blocked && self.hints.writer_lacks_space && seq.idle()
    }

    /// Returns whether a thread that is about to sleep may release what is held.
    #[inline]
    pub(super) fn heeds_blocking(&self) -> bool {
        self.hints.corked || self.includes_more() || self.policy.heeds_blocking()
    }

    /// Returns whether the policy wants the peer to be told of the queues now.
    pub(super) fn wants_report(&self, now: Instant, last: Option<Instant>) -> bool {
        self.policy.wants_report(now, last)
    }

    fn includes_more(&self) -> bool {
        self.more_in_every_variant || self.policy.includes_more()
    }

    /// Returns what the policy calls this reason.
    pub(super) fn name_of(&self, why: Why) -> &str {
        match why {
            Why::Own(number) => self.policy.reason(number),
            listed => listed.name().unwrap_or_default(),
        }
    }

    /// Returns what is being held.
    pub(super) fn hold(&self) -> Option<Hold> {
        let Held { start, why, since } = self.held?;
        Some(Hold {
            start,
            why,
            since,
            until: self.asked_again_at.get(),
        })
    }

    /// Returns the time since when the runt that starts at `start` is held, if it is.
    #[inline]
    pub(super) fn held_since(&self, start: Offset) -> Option<Instant> {
        let held = self.held.filter(|held| held.start == start);
        held.map(|held| held.since)
    }

    /// Returns when the policy must be asked again.
    #[inline]
    pub(super) fn asked_again_at(&self) -> Deadline {
        self.asked_again_at
    }

    /// Forgets when the policy wanted to be asked again, because it is.
    pub(super) fn asked_again(&mut self) {
        self.asked_again_at = Deadline::OFF;
    }

    /// Holds what starts at `start`, and counts it if it was not held for the same reason before.
    #[inline]
    pub(super) fn keep(
        &mut self,
        start: Offset,
        (why, until): (Why, Option<Instant>),
        now: Instant,
        counters: &mut Counters,
    ) {
        // A user's policy may name a moment that has come, or always the next one: the sender would be
        // woken forever.
        let soonest = Deadline::at(now + AGAIN);
        let until = Deadline::from(until);
        let until = if until.is_due(now) { soonest } else { until };
        match &mut self.held {
            Some(held) if held.start == start && held.why == why => {
                let was_woken = self.asked_again_at.is_off();
                self.asked_again_at = if was_woken { until.max(soonest) } else { until };
            }
            held => {
                let since = held.filter(|held| held.start == start);
                let since = since.map_or(now, |held| held.since);
                *held = Some(Held { start, why, since });
                self.asked_again_at = until;
                counters.holds[why.place()] += 1;
            }
        }
    }

    /// Ends the hold.
    #[inline]
    pub(super) fn release(&mut self) {
        self.held = None;
        self.asked_again_at = Deadline::OFF;
    }

    /// Ends a hold of what starts before `offset`.
    #[inline]
    pub(super) fn release_before(&mut self, offset: Offset) {
        if let Some(held) = self.held
            && held.start < offset
        {
            self.release();
        }
    }

    /// Holds again what waits behind the flight, after something before it was resent up to `nxt`.
    pub(super) fn keep_on(&mut self, hold: Option<Hold>, nxt: Offset) {
        self.release();
        if let Some(hold) = hold.filter(|hold| hold.start >= nxt) {
            let Hold {
                start,
                why,
                since,
                until,
            } = hold;
            self.held = Some(Held { start, why, since });
            self.asked_again_at = Deadline::from(until);
        }
    }
}
