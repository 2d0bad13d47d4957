//! Turns events into findings: decides whether anybody waited, and for what.
//!
//! That a segment was held is a fact; whether the hold cost anybody time must be judged. A program
//! that writes at regular times may be held often although nobody waits. So a hold is a stall once
//! the program reads, after the hold, an answer that had not arrived before: then both ends had
//! nothing else to do. If the peer closes next, or nothing follows, the other holds of the
//! connection decide.

use std::collections::HashMap;
use std::net::SocketAddr;

use tinygram_stalls::buffer;
use tinygram_stalls::flood::Counts;
use tinygram_stalls::thresholds::{
    EARLIER_BY_PERCENT, LEAST_ANSWERS_IN, LONGEST_DELAY_NS, MOST_SEGMENTS_BEFORE, REACTION_NS,
    SAME_EVENT_NS, TICK_NS, TICKS_LATE, TIMER_SEEN_LATE_NS,
};
use tinygram_stalls::{Cost, Kind, Tier};

use crate::event::{
    After, DelayedAck, Event, Hold, LateAck, Reason, Release, SentTally, Site, Timer,
};
use crate::finding::{Facts, Finding, Part, side};

/// Judges a stream of events.
pub struct Judge {
    talks: HashMap<u64, Talk>,
    floods: HashMap<u64, Flood>,
    /// When the last hold of a sender on this host ended. The late acknowledgment of its receiver
    /// is not reported a second time.
    senders: HashMap<(SocketAddr, SocketAddr), i64>,
    /// Whether timers of delayed acknowledgments are reported.
    sees_timers: bool,
    /// When the timer of a receiver on this host last expired, by network namespace and ends.
    timers: HashMap<(u32, SocketAddr, SocketAddr), i64>,
    /// Timers that expired before this were forgotten for lack of room.
    timers_known_since_ns: i64,
    /// What was seen but is nobody's fault.
    pub excused: Excused,
}

/// Counts of holds that are not stalls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Excused {
    /// The program wrote again, so nobody waited.
    pub nobody_waited: u64,
    /// Holds that are too short to be reported one by one.
    pub short: u64,
    /// Holds by the program's own cork, which it cleared itself.
    pub own_cork: u64,
    /// Late acknowledgments that nobody waited for.
    pub harmless_acks: u64,
    /// Short writes that a slower acknowledgment would have held. They are known only when a
    /// process tree is watched.
    pub slower: u64,
}

/// The memory of a connection.
#[derive(Default)]
struct Talk {
    pending: Option<(Hold, Timer)>,
    /// The call site of the last write that has one, and the hold that this write began.
    site: Option<Site>,
    answered: u32,
    wrote_on: u32,
    late_answered: u32,
    late_not: u32,
    /// The first acknowledgment that seems to have kept the peer waiting. It waits for a second
    /// one, because one may be chance.
    late_first: Option<Finding>,
}

struct Flood {
    last: SentTally,
    close: u64,
    runs: u64,
    segments: u64,
    writes: u64,
    turns: u64,
    bytes: u64,
    start_ns: i64,
    lasted_ns: i64,
}

impl Default for Judge {
    fn default() -> Self {
        Self {
            talks: HashMap::new(),
            floods: HashMap::new(),
            senders: HashMap::new(),
            sees_timers: false,
            timers: HashMap::new(),
            timers_known_since_ns: i64::MIN,
            excused: Excused::default(),
        }
    }
}

impl Judge {
    /// Returns a judge of a source that reports the timers of delayed acknowledgments
    /// ([`Event::DelayedAck`]): if it reports none, none expired.
    #[must_use]
    pub fn that_sees_timers() -> Self {
        Self {
            sees_timers: true,
            ..Self::default()
        }
    }

    /// Takes an event, and passes the findings that it makes certain to `found`.
    pub fn take(&mut self, event: Event, found: impl FnMut(Finding)) {
        match event {
            Event::Hold(hold) => {
                if is_own(&hold) {
                    self.excused.own_cork += 1;
                    return;
                }
                self.make_room();
                let ends = (hold.connection.local, hold.connection.remote);
                self.senders.insert(ends, hold.end_ns);
                let timer = self.timer(&hold);
                let talk = self.talks.entry(hold.connection.cookie).or_default();
                if let Some((before, timer)) = talk.pending.replace((hold, timer)) {
                    // The event with its aftermath was lost.
                    let finding = talk.settle(before, timer, None, &mut self.excused);
                    finding.into_iter().for_each(found);
                }
            }
            Event::Site(site) => {
                self.make_room();
                let talk = self.talks.entry(site.cookie).or_default();
                talk.site = Some(site);
            }
            Event::After(after) => {
                let Some(talk) = self.talks.get_mut(&after.cookie) else {
                    return;
                };
                if talk
                    .pending
                    .as_ref()
                    .is_some_and(|(hold, _)| hold.serial == after.serial)
                    && let Some((hold, timer)) = talk.pending.take()
                {
                    let finding = talk.settle(hold, timer, Some(after.after), &mut self.excused);
                    finding.into_iter().for_each(found);
                }
            }
            // Had the reader been in time, its reading would have acknowledged.
            Event::DelayedAck(late) if late.unread > 0 => {}
            Event::DelayedAck(DelayedAck {
                connection, at_ns, ..
            }) => {
                self.make_room();
                let ends = (connection.netns, connection.local, connection.remote);
                self.timers.insert(ends, at_ns);
            }
            Event::Tally(tally) => {
                self.excused.short += u64::from(tally.short_holds);
                self.excused.slower += u64::from(tally.slower);
                self.flood(tally).into_iter().for_each(found);
            }
            Event::LateAck(late) => {
                let sender = (late.connection.remote, late.connection.local);
                let known = self.senders.get(&sender);
                if known.is_some_and(|end_ns| (end_ns - late.ack_ns).abs() < SAME_EVENT_NS) {
                    return;
                }
                self.make_room();
                let talk = self.talks.entry(late.connection.cookie).or_default();
                if !talk.late(&late, found) {
                    self.excused.harmless_acks += 1;
                }
            }
        }
    }

    /// Judges the holds that are still open, because there will be no more events.
    pub fn finish(&mut self, mut found: impl FnMut(Finding)) {
        let mut open: Vec<_> = self
            .talks
            .values_mut()
            .filter(|talk| talk.pending.is_some())
            .collect();
        open.sort_by_key(|talk| talk.pending.as_ref().map(|(hold, _)| hold.end_ns));
        for talk in open {
            if let Some((hold, timer)) = talk.pending.take() {
                talk.settle(hold, timer, None, &mut self.excused)
                    .into_iter()
                    .for_each(&mut found);
            }
        }
        // A single late acknowledgment may be chance.
        let mut alone: Vec<_> = self
            .talks
            .values_mut()
            .filter_map(|talk| talk.late_first.take())
            .collect();
        alone.sort_by_key(|finding| finding.start_ns);
        for mut finding in alone {
            finding.tier = Tier::Possible;
            found(finding);
        }
    }

    /// Returns whether the receiver's timer ended a hold. The receiver is on this host if its address is
    /// this end's or a loopback one; or if its timer is seen.
    fn timer(&self, hold: &Hold) -> Timer {
        let connection = &hold.connection;
        let receiver = (connection.netns, connection.remote, connection.local);
        let expired = self.timers.get(&receiver).copied();
        let lasted = hold.start_ns..=hold.end_ns + TIMER_SEEN_LATE_NS;
        let is_here = connection.remote.ip() == connection.local.ip()
            || connection.remote.ip().is_loopback()
            || expired.is_some();
        match expired {
            Some(at_ns) if lasted.contains(&at_ns) => Timer::Expired,
            _ if hold.start_ns <= self.timers_known_since_ns => Timer::Unknown,
            _ if self.sees_timers && is_here => Timer::DidNot,
            _ => Timer::Unknown,
        }
    }

    /// Limits memory: drops connections without an open hold first.
    fn make_room(&mut self) {
        if self.talks.len() >= MOST_CONNECTIONS {
            self.talks.retain(|_, talk| talk.pending.is_some());
            if self.talks.len() >= MOST_CONNECTIONS {
                self.talks.clear();
            }
        }
        if self.floods.len() >= MOST_CONNECTIONS {
            self.floods.clear();
        }
        if self.senders.len() >= MOST_CONNECTIONS {
            self.senders.clear();
        }
        if self.timers.len() >= MOST_CONNECTIONS {
            let latest_ns = self.timers.values().copied().max();
            self.timers_known_since_ns = latest_ns.unwrap_or(i64::MIN);
            self.timers.clear();
        }
    }

    /// Adds a tally to its connection's flood. Returns a finding when it becomes a flood, and again
    /// whenever the flood goes on.
    fn flood(&mut self, tally: SentTally) -> Option<Finding> {
        self.make_room();
        let flood = self
            .floods
            .entry(tally.connection.cookie)
            .or_insert_with(|| Flood::since(tally.start_ns, tally.clone()));
        flood.close += u64::from(tally.close);
        flood.runs += u64::from(tally.writes.saturating_sub(tally.close));
        flood.segments += u64::from(tally.segments);
        flood.writes += u64::from(tally.writes);
        flood.turns += u64::from(tally.turns);
        flood.bytes += tally.bytes;
        flood.lasted_ns += tally.end_ns - tally.start_ns;
        flood.last = tally;
        let finding = flood.finding()?;
        *flood = Flood::since(flood.last.end_ns, flood.last.clone());
        Some(finding)
    }
}

impl Talk {
    /// Returns the finding for a hold, now that its aftermath is known.
    fn settle(
        &mut self,
        hold: Hold,
        timer: Timer,
        after: Option<After>,
        excused: &mut Excused,
    ) -> Option<Finding> {
        match after {
            Some(After::Answer) => self.answered += 1,
            Some(After::Write) => self.wrote_on += 1,
            _ => {}
        }
        let tier = match after {
            Some(After::Write) => None,
            Some(After::Answer) if self.is_conversation() => Some(Tier::Certain),
            Some(After::Answer) => Some(Tier::Possible),
            // Nothing came after it, so the other holds of the connection decide.
            _ if self.answered + self.wrote_on > 0 => {
                (self.answered > self.wrote_on).then_some(Tier::Likely)
            }
            Some(After::PeersClose) => Some(Tier::Likely),
            _ => Some(Tier::Possible),
        };
        let Some(tier) = tier else {
            excused.nobody_waited += 1;
            return None;
        };
        let call = match self.site.take_if(|site| site.serial <= hold.serial) {
            Some(site) if site.serial == hold.serial => Some(site.call),
            _ => None,
        };
        let path_ns = hold.connection.min_rtt_ns;
        let held_ns = hold.end_ns - hold.start_ns;
        let late_ns = held_ns - path_ns.unwrap_or(0);
        let kind = kind(&hold, timer, late_ns, path_ns.unwrap_or(0));
        let cost_ns = match hold.reason {
            // Without the delayed ACK the segment would have left one round trip later at best.
            Reason::CongestionWindow => (held_ns - path_ns.unwrap_or(0)).max(0),
            _ => held_ns,
        };
        Some(Finding {
            kind,
            tier,
            part: Part::Sent,
            start_ns: hold.start_ns,
            cost: Cost::time(cost_ns),
            facts: Facts::Held {
                held: hold.held,
                behind: hold.behind,
                writes: Some(hold.writes),
                reason: hold.reason,
                release: hold.release,
                path_ns,
                slept: hold.slept,
                timer,
            },
            side: side(&hold.connection),
            connection: hold.connection,
            process: hold.writer,
            call,
        })
    }

    /// Returns whether answers come too often to be chance.
    fn is_conversation(&self) -> bool {
        self.answered * LEAST_ANSWERS_IN >= self.answered + self.wrote_on
    }

    /// Decides whether an acknowledgment of this host kept the peer waiting. It did if data came
    /// one round trip after it and was answered, and if this happened more than once and more often
    /// than not.
    fn late(&mut self, late: &LateAck, mut found: impl FnMut(Finding)) -> bool {
        let path_ns = late.connection.min_rtt_ns.unwrap_or(0);
        let gap_ns = late.read_ns - late.ack_ns;
        let off_ns = path_ns * EARLIER_BY_PERCENT / 100;
        let close = (path_ns - off_ns..=path_ns + off_ns + REACTION_NS).contains(&gap_ns);
        let mss = late.connection.mss.max(1);
        // If much data is unacknowledged, other acknowledgments keep the sender going.
        let kept = close
            && late.answered
            && late.before <= MOST_SEGMENTS_BEFORE * mss
            && is_by_a_timer(late);
        match kept {
            true => self.late_answered += 1,
            false => self.late_not += 1,
        }
        if !kept {
            return false;
        }
        let finding = late_finding(late, mss);
        if self.late_answered == 1 {
            self.late_first = Some(finding);
        } else if self.late_answered > self.late_not {
            self.late_first.take().into_iter().for_each(&mut found);
            found(finding);
        }
        true
    }
}

/// Returns whether a receiver's timer can have delayed an acknowledgment for so long. Behind a longer wait the program
/// read late, and acknowledged by reading. Where the socket's own bound is not known, any that the standard allows may be.
fn is_by_a_timer(late: &LateAck) -> bool {
    let bound_ns = late.bound_ns.unwrap_or(LONGEST_DELAY_NS);
    late.late_ns <= bound_ns + TICKS_LATE * TICK_NS + REACTION_NS
}

fn late_finding(late: &LateAck, mss: u32) -> Finding {
    let whole = late.before >= mss && late.before.is_multiple_of(mss);
    let kind = match late.length < mss {
        true if whole => Kind::OddFullShortFinal,
        true => Kind::WriteWriteRead,
        false => Kind::SmallBuffer,
    };
    Finding {
        kind,
        tier: Tier::Likely,
        part: Part::AcknowledgedLate,
        side: side(&late.connection),
        connection: late.connection,
        process: late.reader.clone(),
        start_ns: late.ack_ns - late.late_ns,
        cost: Cost::time(late.late_ns),
        facts: Facts::LateAck {
            length: late.length,
            before: late.before,
        },
        call: None,
    }
}

/// Returns whether the program ended the hold by itself, without waiting: it filled the segment,
/// ended its cork by a write, or cleared its cork or closed as soon as a busy host allows.
fn is_own(hold: &Hold) -> bool {
    let at_once = hold.end_ns - hold.start_ns < REACTION_NS;
    match hold.release {
        Release::Write => hold.reason != Reason::CongestionWindow,
        Release::Option => at_once && matches!(hold.reason, Reason::Cork | Reason::MsgMore),
        Release::Close => at_once,
        _ => false,
    }
}

fn kind(hold: &Hold, timer: Timer, late_ns: i64, path_ns: i64) -> Kind {
    match hold.reason {
        Reason::Cork | Reason::MsgMore | Reason::Autocork => Kind::CorkHeld,
        Reason::CongestionWindow if hold.behind < hold.connection.mss => Kind::ShortInitialSegment,
        Reason::CongestionWindow => Kind::SlowStartDelayedAck,
        Reason::Buffer => Kind::SmallBuffer,
        Reason::Nagle => {
            // A timer that was seen needs no measure: the peer may have set it shorter (`TCP_DELACK_MAX_US`).
            let late = timer == Timer::Expired || late_ns > REACTION_NS.max(path_ns / 2);
            if hold.release == Release::Ack && !late {
                Kind::NagleRoundTrip
            } else if buffer::tears(hold.behind, hold.connection.mss) {
                Kind::BufferTearing
            } else {
                Kind::WriteWriteRead
            }
        }
    }
}

impl Flood {
    fn since(start_ns: i64, last: SentTally) -> Self {
        Self {
            start_ns,
            last,
            close: 0,
            runs: 0,
            segments: 0,
            writes: 0,
            turns: 0,
            bytes: 0,
            lasted_ns: 0,
        }
    }

    /// Applies the law's measure of a flood: the data of most segments could have shared another
    /// segment, the segments come fast or many for each answer, and they carry more headers than
    /// payload.
    fn finding(&self) -> Option<Finding> {
        let count = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        let mergeable = self.close.min(self.segments);
        let counts = Counts {
            segments: count(self.segments),
            short: count(self.segments),
            bytes: self.bytes,
            // The kernel's events do not count them: every second segment is acknowledged.
            acks: count(self.segments / 2),
            mergeable: count(mergeable),
            mergeable_bytes: self.bytes * mergeable / self.segments.max(1),
            runs: count(self.runs),
            lasted_ns: self.lasted_ns,
            mss: self.last.connection.mss.max(1),
            ..Counts::default()
        };
        let flood = counts.flood()?;
        Some(Finding {
            kind: Kind::TinygramFlood,
            tier: match flood.accuses() {
                true => Tier::Certain,
                false => Tier::Possible,
            },
            part: Part::Sent,
            side: side(&self.last.connection),
            connection: self.last.connection,
            process: self.last.writer.clone(),
            start_ns: self.start_ns,
            cost: Cost::segments(u64::from(flood.saved)),
            facts: Facts::Flood {
                segments: self.segments,
                writes: Some(self.writes),
                turns: self.turns,
                bytes: self.bytes,
                lasted_ns: self.lasted_ns,
                unseen: u64::from(self.last.unseen),
            },
            call: None,
        })
    }
}

/// The largest number of connections in memory; each takes about 0.3 kB.
const MOST_CONNECTIONS: usize = 200_000;

#[cfg(test)]
mod tests;
