//! Joins `flow`, `verdict` and `findings` for one connection: what is seen of it, and what is concluded from that.
//!
//! `about`, below it, is what is taken down of one frame that somebody asks about.

pub(crate) mod about;

use std::cell::RefCell;
use std::ops::Range;

use tinygram_stalls::thresholds::doubt;
use tinygram_stalls::{Kind, Side};
use tinygram_wire::decode::Gist;
use tinygram_wire::options::Options;

use crate::conversation::about::About;
use crate::findings;
use crate::findings::finding::Finding;
use crate::flow::connection::{Connection, Witness};
use crate::flow::ends::Ends;
use crate::flow::mark::Mark;
use crate::flow::seen::Seen;
use crate::verdict::check::{Answer, Asked, Check, Saw};
use crate::verdict::checks::{cut_window, first_time, follows_ack, last_flight, own_period};
use crate::verdict::evidence::Evidence;
use crate::verdict::examine;
use crate::verdict::ledger::Ledger;
use crate::verdict::ruled_out::Tally;
use crate::verdict::story::{Story, Suspect};

/// One connection while it lives: what is seen of it, and what becomes of that.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Conversation {
    /// Present once something worth telling happened.
    pub(crate) story: Option<Box<Story>>,
    pub(crate) flow: Connection,
    /// Everything that can be said of it has been said.
    judged: bool,
}

/// Seventeen cache lines of 64 bytes: each segment touches the first two, then come seven of each half, and what is seldom
/// needed. The parts of a half begin with lines, too.
#[cfg(target_pointer_width = "64")]
const _: () = {
    use crate::flow::half::Half;
    use std::mem::offset_of;
    assert!(offset_of!(Conversation, flow) + offset_of!(Connection, halves) == HALVES * 64);
    assert!(offset_of!(Half, turns) == 64);
    assert!(offset_of!(Half, sent) == 2 * 64);
    assert!(offset_of!(Half, tally) == 4 * 64);
    assert!(size_of::<Half>() == HALF * 64);
    assert!(size_of::<Conversation>() == 17 * 64);
};

impl Conversation {
    /// Returns the cache lines that a segment touches which tells most of the data that `ends[end]` sends: the first two, two of
    /// each half, and the others of one.
    #[inline]
    pub(crate) fn lines(end: usize) -> [Range<usize>; 3] {
        let half = |end: usize| HALVES + HALF * end;
        [
            0..half(0) + 2,
            half(1)..half(1) + 2,
            half(end) + 2..half(end + 1),
        ]
    }

    pub(crate) fn new(ends: Ends, id: u32, first: Mark) -> Self {
        Self {
            flow: Connection::new(ends, id, first),
            story: None,
            judged: false,
        }
    }

    /// Takes a segment into account, with its options if it has other ones than timestamps; what it brings to light goes to
    /// `found`.
    #[expect(clippy::inline_always, reason = "a part of the loop over all frames")]
    #[inline(always)]
    pub(crate) fn segment(
        &mut self,
        segment: &Gist,
        options: Option<&Options>,
        from: usize,
        mark: Mark,
        telling: Telling<'_>,
    ) {
        let mut teller = Teller {
            story: &mut self.story,
            telling,
        };
        if self.flow.segment(segment, options, from, mark, &mut teller) {
            let Teller { telling, .. } = teller;
            self.end(telling);
        }
    }

    /// Judges what is still open, because nothing more will come.
    pub(crate) fn end(&mut self, telling: Telling<'_>) {
        self.flow.closed = true;
        if std::mem::replace(&mut self.judged, true) {
            return;
        }
        let mut teller = Teller {
            story: &mut self.story,
            telling,
        };
        teller.resolve(&self.flow, 0, None);
        teller.resolve(&self.flow, 1, None);
        for from in 0..2 {
            self.flow.was_lost(from, &mut teller);
            if let Some(story) = teller.story {
                let evidence = Evidence {
                    ledger: teller.telling.ledger(),
                    ..evidence(&self.flow, from)
                };
                story.drop_unproven(from, &evidence);
            }
            let mss = self.flow.mss(from);
            if let Some(finding) = findings::tinygram_flood::find(&self.flow, from, mss) {
                teller.tell(finding);
            }
        }
    }

    /// Takes back what the rest of the connection refutes: a sender that turned out to hold nothing, and a small buffer
    /// behind which much more was in flight later. None of its findings stands before `since`.
    pub(crate) fn take_back(
        &mut self,
        found: &mut Vec<Finding>,
        since: usize,
        ledger: &mut Ledger,
    ) -> Vec<Finding> {
        let Self { flow, story, .. } = self;
        let Some(story) = story else {
            return Vec::new();
        };
        let kinds = [Kind::SmallBuffer, Kind::NagleRoundTrip];
        let refutable = |kind| story.has(kind) && examine::may_end_otherwise(&flow.halves, kind);
        if !kinds.into_iter().any(refutable) {
            return Vec::new();
        }
        let client = flow.client();
        let refuted = |finding: &Finding| {
            let from = if finding.sender == Side::Client {
                client
            } else {
                1 - client
            };
            let half = &flow.halves[from];
            let is_own = finding.connection == flow.id && finding.tier().accuses();
            let hold = finding.hold().filter(|_| is_own)?;
            examine::in_the_end(half, finding.kind, hold)
        };
        let taken: Vec<_> = found
            .extract_if(since.., |finding| refuted(finding).is_some())
            .collect();
        for finding in &taken {
            let frame = finding.last_frame();
            if let Some(check) = refuted(finding) {
                story.take_back(check, frame, finding.cost_ns);
                ledger.note(frame, &finding.checks, None);
                ledger.end(frame, Asked::failed(check, Saw::Nothing));
            }
        }
        taken
    }

    /// Returns what was suspected of a direction and not corroborated by the rest of the connection.
    pub(crate) fn suspects(&self, from: usize) -> impl Iterator<Item = Finding> + '_ {
        let story = self.story.iter();
        let held = story.flat_map(move |story| story.suspects(from));
        held.map(move |suspect| self.possible(from, suspect.kind, suspect))
    }

    /// Returns what was held though nobody was seen to wait, if it is beyond accident that it was held, and the sender has
    /// no clock of nearly the period of its peer's ACKs.
    pub(crate) fn unwatched(&self, from: usize) -> Tally {
        let is_habit = || {
            let seen = evidence(&self.flow, from);
            let by_a_clock = matches!(own_period::of_the_sender(&seen), Answer::Failed(_));
            seen.accident(false) < doubt(false) && !by_a_clock
        };
        match &self.story {
            Some(story) if is_habit() => story.unwatched(from),
            _ => Tally::default(),
        }
    }

    /// Returns what may be said to be possible, and never more.
    pub(crate) fn doubtful(&self, from: usize) -> impl Iterator<Item = Finding> + '_ {
        let story = self.story.iter();
        let held = story.flat_map(move |story| story.doubtful(from));
        held.map(move |(kind, suspect)| self.possible(from, kind, suspect))
    }

    fn possible(&self, from: usize, kind: Kind, suspect: &Suspect) -> Finding {
        let Suspect { hold, asked, .. } = suspect;
        Finding::of_hold(&self.flow, from, kind, hold, asked.clone())
    }
}

/// Passes on what is seen to the story, and what the story concludes to the findings.
struct Teller<'s, 'a> {
    story: &'s mut Option<Box<Story>>,
    telling: Telling<'a>,
}

/// Where conclusions go.
pub(crate) struct Telling<'a> {
    pub(crate) found: &'a mut Vec<Finding>,
    /// What is to be explained, if anything is.
    pub(crate) about: Option<&'a About>,
}

impl<'a> Telling<'a> {
    fn ledger(&self) -> Option<&'a RefCell<Ledger>> {
        self.about.map(|about| &about.ledger)
    }
}

impl Witness for Teller<'_, '_> {
    #[expect(
        clippy::inline_always,
        reason = "what is seen is known at each place: nearly nothing is left of it there"
    )]
    #[inline(always)]
    fn saw(&mut self, flow: &Connection, from: usize, seen: Seen) {
        match seen {
            Seen::Answered(at_ns) => self.resolve(flow, from, Some(at_ns)),
            Seen::WentOn => {
                if let Some(story) = self.story
                    && story.is_open(from)
                {
                    let evidence = Evidence {
                        ledger: self.telling.ledger(),
                        ..evidence(flow, from)
                    };
                    story.abandon(from, &evidence);
                }
            }
            Seen::Plain(mark, plain) => {
                if let Some(about) = self.telling.about {
                    about.plain(flow.id, mark, plain);
                }
            }
            seldom => self.saw_more(flow, from, seldom),
        }
    }
}

impl Teller<'_, '_> {
    #[inline(never)]
    fn saw_more(&mut self, flow: &Connection, from: usize, seen: Seen) {
        if let Some(about) = self.telling.about {
            about.saw(flow.id, &seen);
        }
        match seen {
            Seen::Held(hold) => {
                let ledger = self.telling.ledger();
                self.story().hold(from, hold, ledger);
            }
            Seen::Restarted(hold) => {
                let checks = vec![Asked::failed(&cut_window::CHECK, Saw::Nothing)];
                self.tell(Finding::of_hold(
                    flow,
                    from,
                    Kind::IdleRestart,
                    &hold,
                    checks,
                ));
            }
            Seen::Thought(mark, ns) => self.rule_out(&follows_ack::CHECK, mark, ns),
            Seen::Defied(mark, ns) => self.rule_out(&last_flight::CHECK, mark, ns),
            Seen::Lost(mark, ns) => {
                self.story().lost(mark, ns);
                self.end(mark.frame, &first_time::CHECK);
            }
            Seen::Window(closed, mark) => self.story().window(from, closed, mark),
            Seen::Finished => self.finished(flow, from),
            Seen::Answered(_) | Seen::WentOn | Seen::Plain(..) => {}
        }
    }

    fn rule_out(&mut self, by: &'static Check, mark: Mark, ns: i64) {
        self.story().ruled_out.add(by, mark.frame, ns);
        self.end(mark.frame, by);
    }

    /// Takes down the check by which the matter of a frame ends, if somebody asks about it.
    fn end(&self, frame: u64, by: &'static Check) {
        if let Some(ledger) = self.telling.ledger() {
            let asked = Asked::failed(by, Saw::Nothing);
            ledger.borrow_mut().end(frame, asked);
        }
    }

    /// Resolves the holds that `from`'s FIN ends. A reader that closes has all that it waited for. The holds of the
    /// peer are resolved unless the peer may send blocks by its own clock: that shows only at its own FIN.
    fn finished(&mut self, flow: &Connection, from: usize) {
        self.resolve(flow, from, None);
        let peer = 1 - from;
        let tells = |story: &Story| !story.may_go_by_a_clock(peer);
        if flow.halves[peer].finished || self.story.as_deref().is_some_and(tells) {
            self.resolve(flow, peer, None);
        }
    }

    /// Judges the open holds of `from`, because the turn passes. `answered_ns` is the time of the peer's answer, if
    /// there was one.
    #[inline]
    fn resolve(&mut self, flow: &Connection, from: usize, answered_ns: Option<i64>) {
        if self.story.as_ref().is_some_and(|story| story.is_open(from)) {
            self.judge_turn(flow, from, answered_ns);
        }
    }

    #[inline(never)]
    fn judge_turn(&mut self, flow: &Connection, from: usize, answered_ns: Option<i64>) {
        let peer = &flow.halves[1 - from];
        let evidence = Evidence {
            answered_ns,
            answers_ns: flow.mean_answer_ns(1 - from),
            answers: peer.tally.answers,
            takes_turns: peer.tally.takes_turns(),
            never_unasked: peer.tally.never_unasked(),
            relayed: flow.is_relayed(),
            is_private: flow.is_private_to_public(from),
            delays_for_longer: flow.delays_for_longer(from),
            ledger: self.telling.ledger(),
            ..evidence(flow, from)
        };
        for Suspect { kind, hold, asked } in self.story().resolve(from, &evidence) {
            self.tell(Finding::of_hold(flow, from, kind, &hold, asked));
        }
    }

    fn tell(&mut self, finding: Finding) {
        self.story().count(finding.kind, finding.cost_ns);
        self.telling.found.push(finding);
    }

    fn story(&mut self) -> &mut Story {
        self.story.get_or_insert_with(Box::default)
    }
}

fn evidence(flow: &Connection, from: usize) -> Evidence<'_> {
    Evidence::of(&flow.halves[from], flow.halves[1 - from].blur_ns())
}

/// The cache line with which the two halves begin.
const HALVES: usize = 2;
/// How many lines a half has.
const HALF: usize = 7;

#[cfg(test)]
mod tests;
