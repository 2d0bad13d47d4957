//! A change, and the ends of the conversations that it reaches.

use tinygram_engine::Duration;

use crate::change::{Change, Reach};
use crate::prediction::{Service, Subject};
use crate::rules::Both;

/// A change at some ends.
#[derive(Clone, Debug)]
pub struct Offer {
    /// The change.
    pub change: Change,
    /// Which ends have it.
    pub at: At,
}

/// See [`Offer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// The ends that the target means.
    Meant,
    /// The end that opened the connection.
    Client,
    /// The end that accepted it.
    Server,
}

impl Offer {
    /// Returns the rules of a conversation's ends with the change.
    #[must_use]
    pub fn rules(&self, subject: &Subject) -> Both {
        let is_at = |end: usize| match self.at {
            At::Meant => subject.meant[end],
            At::Client => end == 0,
            At::Server => end == 1,
        };
        let mut rules = subject.rules.clone();
        for (end, rules) in rules.iter_mut().enumerate() {
            let is_reached = match self.change.reach() {
                Reach::Sockets => is_at(end),
                // What a namespace has, every socket in it has.
                Reach::Namespace => {
                    (0..2).any(|other| is_at(other) && subject.netns[other] == subject.netns[end])
                }
            };
            if is_reached {
                self.change.apply(rules);
            }
        }
        rules
    }
}

impl At {
    /// Returns it in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Meant => "target",
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct AskedChanges<'a> {
    /// The changes; every remedy if there are none.
    pub changes: &'a [Change],
    /// Whether a change is for the ends that a target means. A capture has no target: each change is played at either end.
    pub by_target: bool,
}

/// Returns what to play: the changes that are asked for, at the ends that the target means; or every remedy at either
/// end, the least invasive first.
#[must_use]
pub fn offers(service: &Service, asked: AskedChanges<'_>) -> Vec<Offer> {
    let ticks = |count: u64| Duration::from_nanos(service.tick_ns * count);
    let remedies = [
        Change::Nodelay(true),
        Change::DelackMax(ticks(2)),
        Change::DelackMax(ticks(3)),
        Change::Pingpong(3),
        Change::Pingpong(u8::MAX),
        Change::Quickack(true),
        Change::Run,
        Change::Writev,
    ];
    let is_asked = !asked.changes.is_empty();
    let changes = if is_asked { asked.changes } else { &remedies };
    let ends: &[At] = match is_asked && asked.by_target {
        true => &[At::Meant],
        false => &[At::Client, At::Server],
    };
    let at_ends = |change: &Change| {
        let change = change.clone();
        ends.iter().map(move |at| Offer {
            change: change.clone(),
            at: *at,
        })
    };
    changes.iter().flat_map(at_ends).collect()
}
