//! The sockets of a trial: those of the services that are meant and over which something went since the look for stalls began.
//! The others can show nothing. The kernel still walks over all sockets, but it reports these few alone, and whose they are is
//! asked of new ones alone.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::time::{Duration, Instant};

use tinygram_host::hand::{Hand, Socket};
use tinygram_host::namespace::Namespace;
use tinygram_host::pace::Pace;
use tinygram_host::scope::Scope;

use super::span::Have;
use crate::remedy::{Remedy, ServiceEnd};
use crate::split::{Client, Clients, Split};

pub(super) struct Members<'a> {
    remedy: &'a Remedy,
    /// When the look for stalls began.
    since: Instant,
    /// Where the services are; one that has ended has no sockets.
    pub(super) namespaces: Vec<Namespace>,
    /// How many data segments each socket that was open at first had sent.
    at_first: HashMap<u64, u32>,
    /// Sockets of the services, and whether they are meant.
    known: BTreeMap<u64, bool>,
    /// The processes that have the sockets that are meant.
    pub(super) processes: BTreeSet<u32>,
    /// Who asks on the sockets that stall; nobody if no halves are drawn.
    clients: BTreeMap<u64, Client>,
    is_by_halves: bool,
    seed: u64,
    /// The number of the period that was drawn last.
    drawn: u64,
    /// When it is asked whose new sockets are.
    pace: Pace,
}

impl<'a> Members<'a> {
    pub(super) fn of(remedy: &'a Remedy, since: Instant, split: Split, seed: u64) -> Self {
        let services = remedy.sockets.iter().chain(&remedy.stalling);
        let namespaces: BTreeSet<u32> = services.map(|service| service.netns).collect();
        Self {
            remedy,
            since,
            namespaces: namespaces.into_iter().filter_map(Namespace::find).collect(),
            at_first: HashMap::new(),
            known: BTreeMap::new(),
            processes: BTreeSet::new(),
            clients: BTreeMap::new(),
            is_by_halves: matches!(split, Split::Halves { .. }),
            seed,
            drawn: 0,
            pace: Pace::default(),
        }
    }

    /// Takes in what each socket has sent before anything is tried.
    pub(super) fn begin(&mut self, hand: &mut Hand) -> io::Result<()> {
        let sockets = self.listed(hand, None)?.into_iter();
        self.at_first = sockets
            .map(|socket| (socket.cookie, socket.data_segs_out))
            .collect();
        Ok(())
    }

    /// Returns the sockets that are meant and over which something went since the look began.
    pub(super) fn active(&mut self, hand: &mut Hand, scope: &Scope) -> io::Result<Vec<Socket>> {
        let mut sockets = self.listed(hand, Some(self.since.elapsed()))?;
        let mut pace = std::mem::take(&mut self.pace);
        let learnt = pace.look(Duration::ZERO, || self.learn(&sockets, hand, scope));
        self.pace = pace;
        learnt.transpose()?;
        sockets.retain(|socket| self.is_meant(socket.cookie));
        Ok(sockets)
    }

    /// Returns all sockets that are meant.
    pub(super) fn all(&mut self, hand: &mut Hand, scope: &Scope) -> io::Result<Vec<Socket>> {
        let mut sockets = self.listed(hand, None)?;
        self.learn(&sockets, hand, scope)?;
        sockets.retain(|socket| self.is_meant(socket.cookie));
        Ok(sockets)
    }

    /// Returns the sockets of the services: all, or those over which something went within so long.
    fn listed(&self, hand: &mut Hand, within: Option<Duration>) -> io::Result<Vec<Socket>> {
        let mut all = Vec::new();
        for namespace in &self.namespaces {
            let sockets = namespace.within(|| match within {
                Some(length) => hand.sockets_active_within(length),
                None => hand.sockets(),
            })??;
            let is_theirs =
                |socket: &Socket| self.remedy.stalls(socket) || self.remedy.is_for(socket);
            all.extend(sockets.into_iter().filter(is_theirs));
        }
        Ok(all)
    }

    /// Asks whose the sockets are that are not known yet.
    fn learn(&mut self, sockets: &[Socket], hand: &mut Hand, scope: &Scope) -> io::Result<()> {
        let is_known = |socket: &Socket| self.known.contains_key(&socket.cookie);
        if sockets.iter().all(is_known) {
            return Ok(());
        }
        let found = scope.find(hand)?;
        if self.is_by_halves {
            self.learn_clients(sockets, hand, scope)?;
        }
        let of_services = found.sockets.iter();
        let of_services = of_services
            .filter(|owned| self.remedy.stalls(&owned.socket) || self.remedy.is_for(&owned.socket));
        let owners = of_services.filter_map(|owned| owned.owner.as_ref());
        self.processes.extend(owners.map(|owner| owner.pid));
        let meant: BTreeSet<_> = found
            .sockets
            .iter()
            .map(|owned| owned.socket.cookie)
            .collect();
        // The other end of a connection may be in another namespace.
        let peers: BTreeSet<_> = found
            .sockets
            .iter()
            .map(|owned| (owned.socket.remote, owned.socket.local))
            .collect();
        for socket in sockets {
            let is_peer = peers.contains(&(socket.local, socket.remote));
            // Of a remedy for the other ends either end may be the one that is meant.
            let may_be_peer =
                !self.remedy.stalls(socket) || self.remedy.sockets != self.remedy.stalling;
            let is_meant = meant.contains(&socket.cookie) || (may_be_peer && is_peer);
            // A connection that its program has not accepted yet has no owner yet.
            if is_meant || socket.inode != 0 {
                self.known.insert(socket.cookie, is_meant);
            }
        }
        Ok(())
    }

    /// Asks who is at the clients' end of the sockets that stall.
    fn learn_clients(
        &mut self,
        sockets: &[Socket],
        hand: &mut Hand,
        scope: &Scope,
    ) -> io::Result<()> {
        let everything = Scope {
            all: true,
            ..scope.clone()
        };
        let clients = Clients::of(&everything.find(hand)?.sockets);
        for socket in sockets {
            let has =
                |service: &&ServiceEnd| service.has(socket.netns, socket.local, socket.remote);
            if let Some(service) = self.remedy.stalling.iter().find(has) {
                let client = clients.of_connection(service.end, socket.local, socket.remote);
                self.clients.entry(socket.cookie).or_insert(client);
            }
        }
        Ok(())
    }

    fn is_meant(&self, cookie: u64) -> bool {
        self.known.get(&cookie) == Some(&true)
    }

    /// Leaves a socket to its program from now on.
    pub(super) fn leave(&mut self, cookie: u64) {
        self.known.insert(cookie, false);
    }

    /// Draws which half has the remedy next: one in which there are clients, as in the other.
    pub(super) fn draw(&mut self) -> Have {
        for _ in 0..MOST_DRAWS {
            self.drawn += 1;
            let meant = self.clients.iter();
            let meant = meant.filter(|&(cookie, _)| self.is_meant(*cookie));
            let mut clients = meant.map(|(_, client)| client);
            let first = clients
                .next()
                .map(|client| client.is_drawn(self.seed, self.drawn));
            if clients.any(|client| Some(client.is_drawn(self.seed, self.drawn)) != first) {
                break;
            }
        }
        Have::Half(self.drawn)
    }

    /// Returns whether a socket that is meant has the remedy in such a period; `None` if it is not meant, or not known yet.
    pub(super) fn has(&self, have: Have, cookie: u64) -> Option<bool> {
        let is_meant = self.is_meant(cookie);
        match have {
            Have::All => is_meant.then_some(true),
            Have::None => is_meant.then_some(false),
            Have::Half(period) => {
                let client = self.clients.get(&cookie).filter(|_| is_meant)?;
                Some(client.is_drawn(self.seed, period))
            }
        }
    }

    /// Returns how many data segments each socket that stalls has sent.
    pub(super) fn sent(&self, hand: &mut Hand) -> io::Result<BTreeMap<u64, u32>> {
        let sockets = self.listed(hand, Some(self.since.elapsed()))?;
        let those = sockets.iter().filter(|socket| self.remedy.stalls(socket));
        Ok(those
            .map(|socket| (socket.cookie, socket.data_segs_out))
            .collect())
    }

    /// Returns how many a socket had sent that was silent until now, or was not there.
    pub(super) fn sent_at_first(&self, cookie: u64) -> u32 {
        self.at_first.get(&cookie).copied().unwrap_or(0)
    }
}

/// So often is drawn for a half that is not all or none of the clients.
const MOST_DRAWS: u32 = 64;
