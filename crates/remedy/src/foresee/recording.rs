//! Records some connections of a target: whole connections, chosen by a hash of the socket's cookie.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tinygram_host::hand::{Hand, Socket};
use tinygram_host::namespace::Namespace;
use tinygram_host::pace::Share;
use tinygram_host::recorder::{Recorder, Step};
use tinygram_host::scope::Scope;

use super::{Recorded, RecordedConnection, RecordedEnd};

/// What to record.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// Whose connections.
    pub scope: &'a Scope,
    /// The other ends are left out, as if they were on other hosts.
    pub one_end: bool,
    /// What decides which connections are chosen, if there are too many.
    pub seed: u64,
    /// How many sockets are recorded at most.
    pub sockets: usize,
    /// How many steps of each at most.
    pub steps: u32,
}

/// A recording that goes on.
pub struct Session<'a> {
    ask: Ask<'a>,
    begun: Instant,
    gathering: Gathering,
    steps: BTreeMap<u64, Vec<Step>>,
    next_look: Instant,
}

/// Records connections for `length`, or until it `is_over`.
///
/// # Errors
///
/// Returns what the kernel refuses.
pub fn record(
    hand: &mut Hand,
    recorder: &mut Recorder,
    ask: Ask<'_>,
    length: Duration,
    is_over: impl Fn() -> bool,
) -> io::Result<Recorded> {
    let mut session = Session::begin(ask);
    while session.begun.elapsed() < length && !is_over() {
        session.step(hand, recorder, BREATH)?;
    }
    Ok(session.end(recorder))
}

impl<'a> Session<'a> {
    /// Begins to record; the first step chooses connections.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "how long to look is real time")]
    pub fn begin(ask: Ask<'a>) -> Self {
        let begun = Instant::now();
        Self {
            ask,
            begun,
            gathering: Gathering::default(),
            steps: BTreeMap::new(),
            next_look: begun,
        }
    }

    /// Takes in what happened since the last step, and looks for new connections now and then. If nothing happened yet, waits
    /// for at most `patience`.
    ///
    /// # Errors
    ///
    /// Returns what the kernel refuses.
    #[expect(clippy::disallowed_methods, reason = "how long to look is real time")]
    pub fn step(
        &mut self,
        hand: &mut Hand,
        recorder: &mut Recorder,
        patience: Duration,
    ) -> io::Result<()> {
        let now = Instant::now();
        if now >= self.next_look {
            self.gathering.look(hand, recorder, self.ask)?;
            self.next_look = Instant::now() + AGAIN.max(LOOKS.rest(now.elapsed()));
        }
        recorder.poll(patience, |step| {
            self.steps.entry(step.cookie).or_default().push(step);
        });
        Ok(())
    }

    /// Returns what was recorded.
    #[must_use]
    pub fn end(self, recorder: &Recorder) -> Recorded {
        Recorded {
            lost: recorder.lost(),
            seconds: self.begun.elapsed().as_secs_f64(),
            ..self.gathering.recorded(self.steps)
        }
    }
}

/// The sockets that were found so far.
#[derive(Default)]
struct Gathering {
    /// Those that are meant, and the other ends of these, by cookie.
    sockets: BTreeMap<u64, (Socket, bool)>,
    /// Those that are recorded.
    chosen: BTreeSet<u64>,
    /// Where somebody listens: the namespace and the port.
    listening: BTreeSet<(u32, u16)>,
    meant: BTreeSet<u64>,
    pingpong: BTreeMap<u32, u8>,
}

impl Gathering {
    fn look(&mut self, hand: &mut Hand, recorder: &mut Recorder, ask: Ask<'_>) -> io::Result<()> {
        let found = ask.scope.find(hand)?;
        let meant: BTreeMap<u64, Socket> = found
            .sockets
            .into_iter()
            .filter(|owned| owned.socket.is_open())
            .map(|owned| (owned.socket.cookie, owned.socket))
            .collect();
        self.meant.extend(meant.keys());
        if meant.keys().all(|cookie| self.chosen.contains(cookie)) && !self.chosen.is_empty() {
            return Ok(());
        }
        let others = self.everywhere(hand)?;
        let mut to_record: Vec<&Socket> = meant.values().collect();
        if ask.one_end {
            // Of a target that means both ends the server's is looked at.
            let opposite = |socket: &Socket| others.get(&(socket.remote, socket.local));
            to_record.retain(|socket| {
                opposite(socket).is_none_or(|other| {
                    !meant.contains_key(&other.cookie) || self.is_server(socket, Some(other))
                })
            });
        }
        for socket in to_record {
            let opposite = others.get(&(socket.remote, socket.local));
            let peer = opposite.filter(|_| !ask.one_end);
            if self.chosen.contains(&socket.cookie)
                || !self.has_room(socket.cookie, ask, meant.len())
            {
                continue;
            }
            self.choose(recorder, socket, ask, true)?;
            if let Some(peer) = peer.filter(|peer| !self.chosen.contains(&peer.cookie)) {
                self.choose(recorder, peer, ask, meant.contains_key(&peer.cookie))?;
            }
        }
        Ok(())
    }

    /// Returns the open sockets of every namespace that a process is in, by their ends.
    fn everywhere(
        &mut self,
        hand: &mut Hand,
    ) -> io::Result<BTreeMap<(SocketAddr, SocketAddr), Socket>> {
        let mut all = BTreeMap::new();
        for namespace in Namespace::all() {
            // A namespace may end meanwhile.
            let Ok(Ok(sockets)) = namespace.within(|| hand.sockets()) else {
                continue;
            };
            if let Ok(Some(threshold)) = namespace.within(pingpong_threshold) {
                self.pingpong.insert(namespace.inode, threshold);
            }
            for socket in sockets {
                if socket.listens() {
                    self.listening.insert((socket.netns, socket.local.port()));
                } else if socket.is_open() {
                    all.insert((socket.local, socket.remote), socket);
                }
            }
        }
        Ok(all)
    }

    fn has_room(&self, cookie: u64, ask: Ask<'_>, of: usize) -> bool {
        let room = ask.sockets.saturating_sub(self.chosen.len());
        // Of many at once a share that leaves room for those to come.
        room > 0 && (of <= room || mixed(cookie ^ ask.seed) % of as u64 <= room as u64 / 2)
    }

    fn choose(
        &mut self,
        recorder: &mut Recorder,
        socket: &Socket,
        ask: Ask<'_>,
        is_meant: bool,
    ) -> io::Result<()> {
        recorder.record(socket.cookie, ask.steps)?;
        self.chosen.insert(socket.cookie);
        self.sockets
            .insert(socket.cookie, (socket.clone(), is_meant));
        Ok(())
    }

    /// Puts the two ends of each connection together.
    fn recorded(mut self, mut steps: BTreeMap<u64, Vec<Step>>) -> Recorded {
        let mut recorded = Recorded {
            found: self.meant.len(),
            ..Recorded::default()
        };
        let mut by_ends: BTreeMap<(SocketAddr, SocketAddr), RecordedEnd> = BTreeMap::new();
        for (cookie, (socket, is_meant)) in std::mem::take(&mut self.sockets) {
            let mut steps = steps.remove(&cookie).unwrap_or_default();
            steps.sort_by_key(|step| step.at_ns);
            by_ends.insert(
                (socket.local, socket.remote),
                RecordedEnd {
                    socket,
                    is_meant,
                    steps,
                },
            );
        }
        while let Some(((local, remote), one)) = by_ends.pop_first() {
            let other = by_ends.remove(&(remote, local));
            let is_server = self.is_server(&one.socket, other.as_ref().map(|other| &other.socket));
            let (ends, server) = match is_server {
                true => ([other, Some(one)], local),
                false => ([Some(one), other], remote),
            };
            recorded
                .connections
                .push(RecordedConnection { ends, server });
        }
        recorded.pingpong = self.pingpong;
        recorded
    }

    /// Returns whether a socket accepted its connection: somebody listens at its port. Where nobody does any more, the
    /// lower port is the server's.
    fn is_server(&self, socket: &Socket, peer: Option<&Socket>) -> bool {
        let listens = |socket: &Socket| {
            self.listening
                .contains(&(socket.netns, socket.local.port()))
        };
        match (listens(socket), peer.is_some_and(listens)) {
            (true, false) => true,
            (false, true) => false,
            _ => socket.local.port() < socket.remote.port(),
        }
    }
}

/// Reads `net.ipv4.tcp_pingpong_thresh` of this thread's namespace.
fn pingpong_threshold() -> Option<u8> {
    let text = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_pingpong_thresh").ok()?;
    text.trim().parse().ok()
}

/// Mixes by SplitMix64's finaliser.
fn mixed(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

const BREATH: Duration = Duration::from_millis(20);
/// How often new connections are looked for.
const AGAIN: Duration = Duration::from_millis(500);
/// What looking for them takes at most.
const LOOKS: Share = Share::Hundredth;
