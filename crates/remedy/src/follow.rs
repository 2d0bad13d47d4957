//! Gives settings to connections to come, each after the journal has what it had.

mod missed;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::{Duration, Instant};

use tinygram_host::follow::{Follow, FollowEvent, Rules};
use tinygram_host::hand::{Change, ChangeOutcome, Did, Hand, Raw, Setting, SocketOption};
use tinygram_host::lacking::Lacking;
use tinygram_host::namespace::Namespace;
use tinygram_host::pace::Share;
use tinygram_host::scope::{Found, Scope};

use crate::apply::ApplyError;
use crate::journal::{Entry, Journal, Paused};
use crate::remedy::{ServiceEnd, WhichEnd};
use missed::Missed;

/// Follows connections to come. What it set stays in force, and in the journal, when it is dropped.
pub struct Follower {
    follow: Follow,
    settings: Vec<Setting>,
    journal: Option<Paused>,
    command: String,
    /// How long it follows, if that is known: then its caller undoes what it set.
    lasting: Option<Duration>,
    begun: Instant,
    /// The changes' numbers, by network namespace and option.
    ids: BTreeMap<(u32, SocketOption), u64>,
    /// Connections that the journal has and that are not set yet.
    waiting: BTreeMap<u64, Waiting>,
    /// Connections that the journal has and that were closed since it was written.
    closed: BTreeSet<u64>,
    missed: Missed,
    followed: Followed,
    /// When closed connections are dropped next.
    next_drop: Instant,
    next_walk: Instant,
    /// How long walking over the sockets has taken since `next_walk` was set.
    walked: Duration,
    /// How many followers walk over the sockets.
    walkers: u32,
}

/// A connection that is not set yet.
struct Waiting {
    netns: u32,
    /// What it had for each option that is still to be set.
    before: BTreeMap<SocketOption, Raw>,
    since: Instant,
}

/// What became of the connections that were followed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Followed {
    /// How many were opened.
    pub opened: usize,
    /// How many options were set.
    pub set: usize,
    /// How many had the value already, or their program had set another one.
    pub left_alone: usize,
    /// How many the kernel refused, by its error number.
    pub refused: BTreeMap<i32, usize>,
    /// How many connections were not reported, for there were too many at once.
    pub lost: u64,
}

impl Follower {
    /// Begins to follow, by this command; its caller undoes what it set after `lasting`, if that is given.
    ///
    /// # Errors
    ///
    /// Returns what the kernel or the privileges lack.
    #[expect(clippy::disallowed_methods, reason = "connections come in real time")]
    pub fn open(
        rules: &Rules,
        settings: &[Setting],
        journal: Paused,
        (command, lasting): (&str, Option<Duration>),
    ) -> Result<Self, Lacking> {
        let now = Instant::now();
        Ok(Self {
            follow: Follow::open(rules, settings)?,
            settings: settings.to_vec(),
            journal: Some(journal),
            command: command.to_owned(),
            lasting,
            begun: now,
            ids: BTreeMap::new(),
            waiting: BTreeMap::new(),
            closed: BTreeSet::new(),
            missed: Missed::since(now),
            followed: Followed::default(),
            next_drop: now + DROP_AFTER,
            next_walk: now + WALK_AFTER,
            walked: Duration::ZERO,
            walkers: 1,
        })
    }

    /// Says how many followers this process has: each walks the less often.
    pub fn share_with(&mut self, walkers: usize) {
        self.walkers = u32::try_from(walkers).unwrap_or(u32::MAX);
    }

    /// Does what is to be done, and waits for at most `patience` if that is nothing.
    ///
    /// # Errors
    ///
    /// Returns what stopped it; what the journal has can be undone.
    #[expect(clippy::disallowed_methods, reason = "connections come in real time")]
    pub fn step(&mut self, hand: &mut Hand, patience: Duration) -> Result<(), ApplyError> {
        let events = self.events(patience);
        let now = Instant::now();
        let mut opened = BTreeMap::new();
        for event in events {
            match event {
                FollowEvent::Opened {
                    cookie,
                    netns,
                    before,
                } => {
                    let since = now;
                    // connect(2) with AF_UNSPEC closes a connection, and the socket may open another.
                    if self.closed.contains(&cookie) {
                        self.drop_closed()?;
                    }
                    opened.insert(
                        cookie,
                        Waiting {
                            netns,
                            before,
                            since,
                        },
                    );
                }
                FollowEvent::Done {
                    netns,
                    at_ns,
                    outcomes,
                } => self.take(hand, netns, at_ns, &outcomes)?,
                FollowEvent::Closed { cookie } => {
                    opened.remove(&cookie);
                    self.closed.insert(cookie);
                    hand.was_closed(cookie);
                }
            }
        }
        self.begin(opened)?;
        self.followed.lost = self.follow.lost();
        if now >= self.next_drop {
            self.drop_closed()?;
            self.next_drop = now + DROP_AFTER;
        }
        if now >= self.next_walk {
            self.set_late(hand, now)?;
            let lost_ends = self.follow.lost_ends();
            if self.missed.is_walk_due(lost_ends, now) {
                let unmet = self.unmet(hand)?;
                let closed = self.missed.take_in(unmet, lost_ends, now);
                self.closed.extend(closed);
            }
            // To write the journal takes time, too, and little of a processor: only the walks count.
            let walked = std::mem::take(&mut self.walked);
            let pause = WALKS.rest(walked).saturating_mul(self.walkers);
            self.next_walk = Instant::now() + pause.max(WALK_AFTER);
        }
        Ok(())
    }

    /// Returns what happened, once nothing has for `patience` or a connection was opened. Of one within this host the other end
    /// is opened a moment later: both are written down at once.
    fn events(&mut self, patience: Duration) -> Vec<FollowEvent> {
        let mut events = Vec::new();
        self.follow.poll(patience, |event| events.push(event));
        let is_opened = |event: &FollowEvent| matches!(event, FollowEvent::Opened { .. });
        if events.iter().any(is_opened) {
            std::thread::sleep(OTHER_END);
            self.follow.poll(Duration::ZERO, |event| events.push(event));
        }
        events
    }

    /// Returns the numbers of the changes that it made, which stay in force when it ends.
    #[must_use]
    pub fn ids(&self) -> Vec<u64> {
        self.ids.values().copied().collect()
    }

    /// Ends it, and returns what became of the connections.
    ///
    /// # Errors
    ///
    /// Returns what stopped it.
    pub fn close(mut self, hand: &mut Hand) -> Result<Followed, ApplyError> {
        // What was set until now; then the program is gone and sets no more.
        let mut done = Vec::new();
        self.follow.poll(Duration::ZERO, |event| {
            if let FollowEvent::Done {
                netns,
                at_ns,
                outcomes,
            } = event
            {
                done.push((netns, at_ns, outcomes));
            }
        });
        for (netns, at_ns, outcomes) in done {
            self.take(hand, netns, at_ns, &outcomes)?;
        }
        Ok(self.followed)
    }

    /// Writes connections down, and lets the program set them.
    fn begin(&mut self, opened: BTreeMap<u64, Waiting>) -> Result<(), ApplyError> {
        self.followed.opened += opened.len();
        let mut new: BTreeMap<(u32, SocketOption), Vec<(u64, Raw)>> = BTreeMap::new();
        let mut meant = BTreeMap::new();
        for (cookie, mut waiting) in opened {
            for setting in &self.settings {
                if waiting.before.get(&setting.option) == Some(&setting.value) {
                    waiting.before.remove(&setting.option);
                    self.followed.left_alone += 1;
                }
            }
            for (option, before) in &waiting.before {
                let rows = new.entry((waiting.netns, *option)).or_default();
                rows.push((cookie, *before));
            }
            if !waiting.before.is_empty() {
                meant.insert(cookie, waiting);
            }
        }
        if meant.is_empty() {
            return Ok(());
        }
        let mut journal = self.resume()?;
        for ((netns, option), before) in new {
            let id = match self.ids.get(&(netns, option)) {
                Some(id) => *id,
                None => self.announce(&mut journal, netns, option)?,
            };
            journal.sockets(id, before)?;
        }
        self.journal = Some(journal.pause()?);
        for cookie in meant.keys() {
            self.follow.approve(*cookie)?;
        }
        self.waiting.extend(meant);
        Ok(())
    }

    fn announce(
        &mut self,
        journal: &mut Journal,
        netns: u32,
        option: SocketOption,
    ) -> Result<u64, ApplyError> {
        let setting = self
            .settings
            .iter()
            .find(|setting| setting.option == option);
        let to = setting.expect("one of those that are set").value;
        let id = journal.begin(option, to, netns, &self.command, true)?;
        // First: the journal has the change, whatever fails next, and the caller undoes what `ids` names.
        self.ids.insert((netns, option), id);
        if let Some(lasting) = self.lasting {
            journal.ends_after(id, lasting.saturating_sub(self.begun.elapsed()))?;
        }
        Ok(id)
    }

    /// Takes in what became of a connection, at this time of the kernel's clock.
    fn take(
        &mut self,
        hand: &mut Hand,
        netns: u32,
        at_ns: u64,
        outcomes: &[(SocketOption, ChangeOutcome)],
    ) -> Result<(), ApplyError> {
        let mut unchanged: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for (option, outcome) in outcomes {
            let Some(waiting) = self.waiting.get_mut(&outcome.cookie) else {
                continue;
            };
            if waiting.before.remove(option).is_none() {
                continue;
            }
            if waiting.before.is_empty() {
                self.waiting.remove(&outcome.cookie);
            }
            match outcome.did {
                Did::Set => {
                    self.followed.set += 1;
                    hand.was_changed(*option, outcome.cookie, at_ns);
                }
                Did::Differs | Did::GaveWay => self.followed.left_alone += 1,
                Did::Refused(error) => *self.followed.refused.entry(error).or_default() += 1,
                Did::Gone => {}
            }
            if outcome.did != Did::Set
                && let Some(id) = self.ids.get(&(netns, *option))
            {
                unchanged.entry(*id).or_default().push(outcome.cookie);
            }
        }
        self.drop_from_journal(unchanged)
    }

    fn drop_from_journal(&mut self, unchanged: BTreeMap<u64, Vec<u64>>) -> Result<(), ApplyError> {
        if unchanged.is_empty() {
            return Ok(());
        }
        let mut journal = self.resume()?;
        for (id, cookies) in unchanged {
            journal.unchanged(id, cookies)?;
        }
        self.journal = Some(journal.pause()?);
        Ok(())
    }

    /// Sets what waits in vain for a sample, by a walk over the sockets.
    fn set_late(&mut self, hand: &mut Hand, now: Instant) -> Result<(), ApplyError> {
        let late: Vec<(u64, u32)> = self
            .waiting
            .iter()
            .filter(|(_, waiting)| now.duration_since(waiting.since) >= PATIENCE)
            .map(|(cookie, waiting)| (*cookie, waiting.netns))
            .collect();
        for setting in self.settings.clone() {
            let mut by_namespace: BTreeMap<u32, Vec<Change>> = BTreeMap::new();
            for (cookie, netns) in &late {
                let waiting = self.waiting.get(cookie);
                if let Some(before) =
                    waiting.and_then(|waiting| waiting.before.get(&setting.option))
                {
                    by_namespace.entry(*netns).or_default().push(Change {
                        cookie: *cookie,
                        to: setting.value,
                        only_if: Some(*before),
                    });
                }
            }
            for (netns, changes) in by_namespace {
                let outcomes = timed(&mut self.walked, || {
                    in_namespace(netns, || hand.set(setting.option, &changes))
                });
                for outcome in outcomes? {
                    self.take(hand, netns, SWEPT, &[(setting.option, outcome)])?;
                }
            }
        }
        for (cookie, _) in &late {
            self.follow.forget(*cookie);
            self.waiting.remove(cookie);
        }
        Ok(())
    }

    /// Drops closed connections from the journal, or that of a busy server would grow by each that it ever had.
    fn drop_closed(&mut self) -> Result<(), ApplyError> {
        let closed = std::mem::take(&mut self.closed);
        if closed.is_empty() || self.ids.is_empty() {
            return Ok(());
        }
        let mut journal = self.resume()?;
        let of_each: Vec<(u64, Vec<u64>)> = self
            .own(&journal)
            .map(|(id, entry)| {
                let is_its = |cookie: &u64| entry.sockets.contains_key(cookie);
                (id, closed.iter().copied().filter(is_its).collect())
            })
            .collect();
        for cookie in &closed {
            self.waiting.remove(cookie);
            self.follow.forget(*cookie);
        }
        for (id, cookies) in of_each {
            journal.unchanged(id, cookies)?;
        }
        self.journal = Some(journal.pause()?);
        Ok(())
    }

    /// Returns which of the connections in the journal a walk over the sockets does not meet.
    fn unmet(&mut self, hand: &mut Hand) -> Result<BTreeSet<u64>, ApplyError> {
        let namespaces: BTreeSet<u32> = self.ids.keys().map(|(netns, _)| *netns).collect();
        let mut open: BTreeSet<u64> = BTreeSet::new();
        for netns in namespaces {
            let sockets = timed(&mut self.walked, || in_namespace(netns, || hand.sockets()))?;
            open.extend(sockets.into_iter().map(|socket| socket.cookie));
        }
        let journal = self.resume()?;
        let cookies = self
            .own(&journal)
            .flat_map(|(_, entry)| entry.sockets.keys());
        let unmet = cookies.filter(|cookie| !open.contains(cookie)).copied();
        let unmet = unmet.collect();
        self.journal = Some(journal.pause()?);
        Ok(unmet)
    }

    /// Returns its changes that are in force.
    fn own<'a>(&self, journal: &'a Journal) -> impl Iterator<Item = (u64, &'a Entry)> {
        let own: BTreeSet<u64> = self.ids.values().copied().collect();
        journal.in_force().filter(move |(id, _)| own.contains(id))
    }

    fn resume(&mut self) -> Result<Journal, ApplyError> {
        let paused = self.journal.take();
        let paused = paused.ok_or_else(|| io::Error::other("the journal was lost"))?;
        Ok(paused.resume()?)
    }
}

/// Does `work` in a network namespace; nothing if it has ended.
fn in_namespace<T: Send>(
    netns: u32,
    work: impl FnOnce() -> io::Result<Vec<T>> + Send,
) -> io::Result<Vec<T>> {
    match Namespace::find(netns) {
        Some(namespace) => namespace.within(work)?,
        None => Ok(Vec::new()),
    }
}

/// Does `work`, and adds to `took` how long it took.
#[expect(clippy::disallowed_methods, reason = "walks take real time")]
fn timed<T>(took: &mut Duration, work: impl FnOnce() -> T) -> T {
    let begun = Instant::now();
    let done = work();
    *took += begun.elapsed();
    done
}

/// Returns the rules of the connections to come of these services, for as few followers as may be: each has a program at the
/// control groups' root and reads the journal.
#[must_use]
pub fn rules_of(services: &BTreeSet<ServiceEnd>, scope: &Scope, found: &Found) -> Vec<Rules> {
    let mut ports = Vec::new();
    let mut servers = Vec::new();
    for service in services {
        match service.end {
            WhichEnd::Server(port) => ports.push((service.netns, port)),
            WhichEnd::Client(server) => servers.push(server),
        }
    }
    let mut all = Rules::of(scope, found).to(&servers);
    if !ports.is_empty() {
        all.push(Rules::from_ports(ports));
    }
    all
}

/// How long after one end the other end of a connection within this host is opened at most.
const OTHER_END: Duration = Duration::from_millis(1);
/// How long a connection waits for a sample of its round-trip time.
const PATIENCE: Duration = Duration::from_millis(500);
/// How long a closed connection stays in the journal.
const DROP_AFTER: Duration = Duration::from_secs(1);
/// The least time between two walks over the sockets.
const WALK_AFTER: Duration = Duration::from_secs(1);
/// What the walks of all followers together take at most.
const WALKS: Share = Share::HalfAHundredth;
/// The time of a change by a sweep, which itself forgets what the program has set before.
const SWEPT: u64 = 0;
