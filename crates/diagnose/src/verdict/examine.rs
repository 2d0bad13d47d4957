//! Asks the checks, in their order.

use super::check::{Answer, Asked, Check, Effect};
use super::checks::{
    at_once, awaited_blocks, bounded_path, certainty, chance, clock, corked, corroborated,
    cut_window, data_connection, delayed_ack, fin, first_time, flood_factor, flood_overhead,
    flood_rate, flood_share, follows_ack, habit, known_kind, largest_flight, last_flight,
    link_speed, loss, many_holds, open_window, own_clock, own_period, own_stamp, own_turn,
    path_measured, pool_fit, prompt_acks, punctual, recorded_twice, relay, room, round_trip,
    same_flights, same_habit, sender_holds, short, shorter_path, stream, tickets, timer_length,
    upon_release, urgent, went_on,
};
use super::evidence::Question;
use crate::flow::half::Half;
use crate::flow::hold::Hold;
use tinygram_stalls::Kind;

/// A check with its question.
struct Rule {
    check: &'static Check,
    ask: fn(&Question<'_>) -> Answer,
}

macro_rules! rules {
    ($($check:ident),+ $(,)?) => {
        &[$(Rule { check: &$check::CHECK, ask: $check::ask }),+]
    };
}

/// Asked of every hold, once its turn passes or its sender goes on. The first that is not passed
/// rules it out.
static OF_A_HOLD: &[Rule] = rules![
    delayed_ack,
    link_speed,
    prompt_acks,
    shorter_path,
    round_trip,
    sender_holds,
    own_turn,
    own_clock,
    open_window,
    known_kind,
];

/// Asked of what is left once the peer has answered, or the connection is closed.
static OF_A_TURN: &[Rule] = rules![
    stream,
    own_period,
    awaited_blocks,
    tickets,
    corked,
    path_measured,
    timer_length,
    own_stamp,
    short,
    urgent,
    fin,
    relay
];

/// Asked of what is left, and again whenever a turn of the same connection passes: what comes later
/// may answer them.
static OPEN: &[Rule] = rules![
    loss,
    chance,
    same_flights,
    largest_flight,
    punctual,
    habit,
    upon_release,
    at_once
];

/// Asked of what is accused.
static OF_AN_ACCUSATION: &[Rule] = rules![certainty, bounded_path];

/// Returns all checks, in the order in which they are asked.
pub fn checks() -> impl Iterator<Item = &'static Check> {
    let tables = [OF_A_HOLD, OF_A_TURN, OPEN, OF_AN_ACCUSATION];
    let asked = tables.into_iter().flatten().map(|rule| rule.check);
    asked.chain([
        &corroborated::CHECK,
        &same_habit::CHECK,
        &cut_window::CHECK,
        &data_connection::CHECK,
        &recorded_twice::CHECK,
        &went_on::CHECK,
        &many_holds::CHECK,
        &follows_ack::CHECK,
        &last_flight::CHECK,
        &first_time::CHECK,
        &pool_fit::CHECK,
        &room::CHECK,
        &clock::CHECK,
        &flood_share::CHECK,
        &flood_rate::CHECK,
        &flood_overhead::CHECK,
        &flood_factor::CHECK,
    ])
}

/// What becomes of a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ruling {
    Accused,
    /// It fits, and something that would have to be known is not.
    Suspected,
    /// This check rules it out.
    RuledOut(&'static Check),
}

/// Asks what is asked of every hold; notes the answers.
pub(crate) fn of_a_hold(question: &Question<'_>, asked: &mut Vec<Asked>) -> Ruling {
    ask(OF_A_HOLD, question, asked)
}

/// Asks what is asked of every hold, and what is asked once its turn has passed; notes the answers.
pub(crate) fn of_a_turn(question: &Question<'_>, asked: &mut Vec<Asked>) -> Ruling {
    match ask(OF_A_HOLD, question, asked) {
        Ruling::RuledOut(check) => Ruling::RuledOut(check),
        ruling => match (ruling, ask(OF_A_TURN, question, asked)) {
            (Ruling::Suspected, Ruling::Accused) => Ruling::Suspected,
            (_, ruling) => ruling,
        },
    }
}

/// Asks what the rest of the connection may still answer; notes the answers. Returns true if all is
/// answered.
pub(crate) fn is_beyond_doubt(question: &Question<'_>, asked: &mut Vec<Asked>) -> bool {
    ask(OPEN, question, asked) == Ruling::Accused
}

/// Asks the same when nothing more will come. What fails is bounded for good.
pub(crate) fn finally(question: &Question<'_>, asked: &mut Vec<Asked>) -> Ruling {
    for rule in OPEN {
        note(rule.check, (rule.ask)(question), asked);
    }
    let failed = |wanted: fn(&Effect) -> bool| {
        let open = |one: &&Asked| OPEN.iter().any(|rule| std::ptr::eq(rule.check, one.check));
        let failed = asked.iter().filter(|one| !one.passed).filter(open);
        failed.map(|one| one.check).find(|it| wanted(&it.effect))
    };
    match failed(|effect| matches!(effect, Effect::RulesOut(_))) {
        Some(check) => Ruling::RuledOut(check),
        _ if failed(|effect| *effect == Effect::AtMostPossible).is_some() => Ruling::Suspected,
        _ => Ruling::Accused,
    }
}

/// Asks what is asked of an accusation last; notes the answers. Returns true if it is certain.
pub(crate) fn is_certain(question: &Question<'_>, asked: &mut Vec<Asked>) -> bool {
    ask(OF_AN_ACCUSATION, question, asked) == Ruling::Accused
}

/// Asks of what was accused what the whole connection alone tells. Returns the check that takes it back: a sender that
/// turned out to hold nothing, or a small buffer behind which much more was in flight later.
pub(crate) fn in_the_end(half: &Half, kind: Kind, hold: &Hold) -> Option<&'static Check> {
    match kind {
        Kind::SmallBuffer if largest_flight::is_exceeded(half, hold) => {
            Some(&largest_flight::CHECK)
        }
        Kind::NagleRoundTrip if sender_holds::is_refuted(half) => Some(&sender_holds::CHECK),
        _ => None,
    }
}

/// Returns whether what the whole connection tells may take back findings of a kind; false if it takes back none.
pub(crate) fn may_end_otherwise(halves: &[Half; 2], kind: Kind) -> bool {
    match kind {
        Kind::SmallBuffer => true,
        Kind::NagleRoundTrip => halves.iter().any(sender_holds::is_refuted),
        _ => false,
    }
}

/// Asks the rules in their order. Stops at the first that rules the hold out.
fn ask(rules: &[Rule], question: &Question<'_>, asked: &mut Vec<Asked>) -> Ruling {
    let mut ruling = Ruling::Accused;
    for rule in rules {
        let answer = (rule.ask)(question);
        note(rule.check, answer, asked);
        match (answer, rule.check.effect) {
            (Answer::Failed(_), Effect::RulesOut(_)) => return Ruling::RuledOut(rule.check),
            (Answer::Failed(_), _) => ruling = Ruling::Suspected,
            _ => {}
        }
    }
    ruling
}

/// Notes an answer in the place of an earlier one.
fn note(check: &'static Check, answer: Answer, asked: &mut Vec<Asked>) {
    let (passed, saw) = match answer {
        Answer::NotAsked => return,
        Answer::Passed(saw) => (true, saw),
        Answer::Failed(saw) => (false, saw),
    };
    let answered = Asked { check, passed, saw };
    match asked.iter_mut().find(|one| std::ptr::eq(one.check, check)) {
        Some(one) => *one = answered,
        None => asked.push(answered),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// There every failure but one that rules out means possible, and an accusation is asked about last.
    #[test]
    fn each_list_has_the_effects_that_it_can_carry_out() {
        let is_final = |effect| matches!(effect, Effect::RulesOut(_) | Effect::AtMostPossible);
        for rule in OF_A_HOLD.iter().chain(OF_A_TURN) {
            assert!(is_final(rule.check.effect), "{}", rule.check.name);
        }
        for rule in OPEN {
            let effect = rule.check.effect;
            let open = is_final(effect) || effect == Effect::PossibleAlone;
            assert!(open, "{}", rule.check.name);
        }
        for rule in OF_AN_ACCUSATION {
            assert_eq!(
                rule.check.effect,
                Effect::AtMostLikely,
                "{}",
                rule.check.name
            );
        }
    }
}
