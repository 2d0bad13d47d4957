//! Lets suspects of different connections corroborate each other.
//!
//! A short connection shows an event once, and one event captured far from its sender is not
//! enough. But the same program opens many such connections, so they are judged by what all of them
//! show together.

use std::collections::BTreeMap;
use tinygram_stalls::thresholds::{CERTAIN, doubt};

use tinygram_wire::endpoint::Endpoint;

use crate::conversation::Conversation;
use crate::findings::finding::Finding;
use crate::flow::odds::Odds;
use crate::verdict::check::{Answer, Asked, Check, Saw};
use crate::verdict::checks::pool_fit::{self, Pooled};
use crate::verdict::checks::{bounded_path, certainty, corroborated, room, same_habit};
use crate::verdict::ledger::Ledger;
use tinygram_stalls::{Kind, Side};

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

#[derive(Default)]
struct Pool {
    odds: Odds,
    blur_ns: i64,
    suspects: Vec<Finding>,
}

impl Pools {
    /// Adds what a connection that is removed has shown.
    pub(crate) fn add(&mut self, conversation: &Conversation, ledger: &mut Ledger) {
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
            // Those whose occasions these odds have: without a handshake no ACK is known to be prompt.
            let of_these = |f: &Finding| f.hold().is_some_and(|hold| hold.prompt) == prompt;
            let mut suspects = conversation.suspects(from).filter(of_these).peekable();
            let no_room = |suspect: Finding| {
                let frame = suspect.last_frame();
                ledger.note(frame, &suspect.checks, None);
                ledger.end(frame, Asked::failed(&room::CHECK, Saw::Nothing));
            };
            // All occasions count for or against, but only a suspect starts a pool.
            let known = self.pools.contains_key(&sender);
            if !known && (suspects.peek().is_none() || self.pools.len() >= POOLS) {
                suspects.for_each(no_room);
                continue;
            }
            let pool = self.pools.entry(sender).or_default();
            pool.odds.join(odds);
            pool.blur_ns = pool.blur_ns.max(connection.halves[1 - from].blur_ns());
            let room = SUSPECTS.saturating_sub(pool.suspects.len());
            pool.suspects.extend(suspects.by_ref().take(room));
            suspects.for_each(no_room);
        }
    }

    /// Returns the suspects, each with the check that its pool does not pass; `None` where that puts it beyond doubt.
    pub(crate) fn judge(self) -> impl Iterator<Item = (Finding, Option<&'static Check>)> {
        self.pools.into_iter().flat_map(|(sender, pool)| {
            let Pool {
                odds,
                blur_ns,
                suspects,
            } = pool;
            let (accident, doubt) = (odds.accident(blur_ns), doubt(sender.prompt));
            suspects.into_iter().map(move |mut suspect| {
                let pooled = Pooled {
                    accident,
                    doubt,
                    vouched: suspect.vouched_by(&odds, blur_ns),
                    is_sharp: suspect.is_within(blur_ns),
                    // A single wait of a full segment may have any cause.
                    recurs: suspect.kind == Kind::SmallBuffer,
                };
                let by = ask(&pooled, &odds, &mut suspect);
                (suspect, by)
            })
        })
    }
}

/// Asks what a program's connections show together of a suspect; notes the answers. Returns the first check that is not
/// passed and bounds the suspect for good.
fn ask(pooled: &Pooled, odds: &Odds, suspect: &mut Finding) -> Option<&'static Check> {
    let of_the_path = suspect
        .hold()
        .map(|hold| bounded_path::of(suspect.kind, hold));
    let checks = &mut suspect.checks;
    if checks.is_late() {
        if !odds.follows_acks() {
            checks.push(Asked::failed(&same_habit::CHECK, Saw::Nothing));
            return Some(&same_habit::CHECK);
        }
        checks.forgive_lateness();
        checks.push(Asked::passed(&same_habit::CHECK, Saw::Nothing));
    }
    if let Answer::Failed(saw) = pool_fit::ask(pooled) {
        checks.push(Asked::failed(&pool_fit::CHECK, saw));
        return Some(&pool_fit::CHECK);
    }
    let saw = Saw::chance(pooled.accident, pooled.doubt);
    if !pooled.is_beyond() {
        checks.push(Asked::failed(&corroborated::CHECK, saw));
        return Some(&corroborated::CHECK);
    }
    checks.push(Asked::passed(&corroborated::CHECK, saw));
    let saw = Saw::chance(pooled.accident, CERTAIN);
    checks.push(match pooled.accident < CERTAIN {
        true => Asked::passed(&certainty::CHECK, saw),
        false => Asked::failed(&certainty::CHECK, saw),
    });
    match of_the_path {
        Some(Answer::Passed(saw)) => checks.push(Asked::passed(&bounded_path::CHECK, saw)),
        Some(Answer::Failed(saw)) => checks.push(Asked::failed(&bounded_path::CHECK, saw)),
        Some(Answer::NotAsked) | None => {}
    }
    None
}

/// The most pools, and the most suspects in one, so that memory stays bounded.
const POOLS: usize = 1_000;
const SUSPECTS: usize = 256;
