//! Lets suspects of different connections corroborate each other.
//!
//! A short connection shows an event once, and one event captured far from its sender is not
//! enough. But the same program opens many such connections, so they are judged by what all of them
//! show together.

use std::collections::BTreeMap;
use tinygram_stalls::thresholds::{AS_LIKELY, CERTAIN, doubt};

use tinygram_wire::endpoint::Endpoint;

use crate::conversation::Conversation;
use crate::findings::finding::Finding;
use crate::flow::odds::Odds;
use crate::verdict::check::{Asked, Saw};
use crate::verdict::checks::{certainty, corroborated, same_habit, upon_release};
use tinygram_stalls::{Kind, Side, Tier};

/// Suspects by the program that sent them.
#[derive(Default)]
pub(crate) struct Pools {
    pools: BTreeMap<Sender, Pool>,
}

/// The program that sent: a server is one program; a client is one program for each server it talks
/// to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Sender {
    side: Side,
    server: Endpoint,
    client: Option<(u64, u64)>,
    /// Whether the pool's ACKs came as soon as the path allows; otherwise they were late.
    prompt: bool,
}

/// What the pooled occasions of one program show about a suspect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Corroborated {
    /// An accident is excluded.
    Beyond,
    /// It stays possible.
    Neither,
    /// An accident explains it as well.
    Against,
    /// It left later than a kernel lets go, and its program is not known to follow ACKs.
    Late,
}

#[derive(Default)]
struct Pool {
    odds: Odds,
    blur_ns: i64,
    suspects: Vec<Finding>,
}

impl Pools {
    /// Adds what a connection that is removed has shown.
    pub(crate) fn add(&mut self, conversation: &Conversation) {
        let connection = &conversation.flow;
        let client = connection.client();
        for (from, prompt) in [(0, false), (1, false), (0, true), (1, true)] {
            let odds = connection.halves[from].odds_of(prompt);
            if !odds.any() {
                continue;
            }
            let side = connection.side(from);
            let end = connection.ends.ends[client];
            let sender = Sender {
                side,
                server: connection.ends.ends[1 - client],
                client: (side == Side::Client).then_some((end.high, end.low)),
                prompt,
            };
            let of_these = |f: &Finding| (f.kind == Kind::NagleRoundTrip) == prompt;
            let mut suspects = conversation.suspects(from).filter(of_these).peekable();
            // All occasions count for or against, but only a suspect starts a pool.
            let known = self.pools.contains_key(&sender);
            if !known && (suspects.peek().is_none() || self.pools.len() >= POOLS) {
                continue;
            }
            let pool = self.pools.entry(sender).or_default();
            pool.odds.join(odds);
            pool.blur_ns = pool.blur_ns.max(connection.halves[1 - from].blur_ns());
            let room = SUSPECTS.saturating_sub(pool.suspects.len());
            pool.suspects.extend(suspects.take(room));
        }
    }

    /// Returns the suspects, each with what its pool shows about it.
    pub(crate) fn judge(self) -> impl Iterator<Item = (Finding, Corroborated)> {
        self.pools.into_iter().flat_map(|(sender, pool)| {
            let doubt = doubt(sender.prompt);
            let accident = pool.odds.accident(pool.blur_ns);
            let tier = match accident < CERTAIN {
                true => Tier::Certain,
                false => Tier::Likely,
            };
            pool.suspects.into_iter().map(move |mut suspect| {
                let vouched = suspect.vouched_by(&pool.odds, pool.blur_ns);
                let once = suspect.kind == Kind::SmallBuffer;
                let is_late = suspect.is_late();
                let follows = !is_late || pool.odds.follows_acks();
                let fit = match (accident < doubt, vouched) {
                    _ if !follows => Corroborated::Late,
                    (true, true) => Corroborated::Beyond,
                    // Where the habit is sharp, a loose fit had another reason.
                    (true, false) => Corroborated::Against,
                    // A single wait of a full segment may have any cause; a buffer's size shows
                    // again and again.
                    (false, _) if once => Corroborated::Against,
                    (false, _) if accident < AS_LIKELY || suspect.is_within(pool.blur_ns) => {
                        Corroborated::Neither
                    }
                    (false, _) => Corroborated::Against,
                };
                if is_late && follows {
                    let late = |one: &Asked| one.check.name == upon_release::CHECK.name;
                    suspect.checks.retain(|one| !late(one));
                    suspect
                        .checks
                        .push(Asked::passed(&same_habit::CHECK, Saw::Nothing));
                }
                let saw = Saw::chance(accident, doubt);
                suspect.checks.push(match fit {
                    Corroborated::Beyond => Asked::passed(&corroborated::CHECK, saw),
                    _ => Asked::failed(&corroborated::CHECK, saw),
                });
                if fit == Corroborated::Beyond {
                    suspect.tier = tier;
                    let saw = Saw::chance(accident, CERTAIN);
                    suspect.checks.push(match tier {
                        Tier::Certain => Asked::passed(&certainty::CHECK, saw),
                        _ => Asked::failed(&certainty::CHECK, saw),
                    });
                }
                (suspect, fit)
            })
        })
    }
}

/// The most pools, and the most suspects in one, so that memory stays bounded.
const POOLS: usize = 1_000;
const SUSPECTS: usize = 256;
