//! "Play": the simulator and the papers' experiments, asked one question at a time.
//!
//! A [`Question`] is a line of JSON with everything that the answer depends on, so the same question has
//! the same answer in every worker, and on the command line: a [`Setting`](setting::Setting) holds what
//! `tinygram naglemark` takes as flags.

mod deadlock;
mod exchange;
mod game;
mod limit;
mod lists;
mod parity;
mod retrieval;
mod setting;
mod sweep;
mod typing;
mod watch;
mod words;

use serde::Deserialize;
use serde_json::Value;

/// What the page asks.
#[derive(Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case")]
enum Question {
    /// The names that a reader can choose from.
    Lists,
    /// One transfer of a trial, watched.
    Exchange(exchange::Exchange),
    /// All transfers of a trial, measured.
    Sweep(setting::Setting),
    /// A page fetched over HTTP or P-HTTP (Heidemann).
    Retrieval(retrieval::Retrieval),
    /// A bulk transfer between two buffers (Moldeklev & Gunningberg).
    Deadlock(deadlock::Deadlock),
    /// A web server's answers by size (Doupnik).
    Parity(parity::Parity),
    /// Small writes against a limit and a timer (Davids).
    Limit(limit::Limit),
    /// Single characters, as somebody typed them.
    Typing(typing::Typing),
    /// Messages, and who sends them when.
    Game(game::Game),
}

/// Answers a question.
///
/// # Errors
/// A sentence that says what was wrong with it.
pub(crate) fn answer(question: &str) -> Result<Value, String> {
    let question = serde_json::from_str(question).map_err(|error| error.to_string())?;
    match question {
        Question::Lists => Ok(lists::all()),
        Question::Exchange(it) => it.answer(),
        Question::Sweep(it) => sweep::answer(&it),
        Question::Retrieval(it) => it.answer(),
        Question::Deadlock(it) => it.answer(),
        Question::Parity(it) => it.answer(),
        Question::Limit(it) => it.answer(),
        Question::Typing(it) => it.answer(),
        Question::Game(it) => it.answer(),
    }
}

/// Checks that a number lies within bounds.
fn within<T: PartialOrd + std::fmt::Display>(
    name: &str,
    value: T,
    bounds: std::ops::RangeInclusive<T>,
) -> Result<T, String> {
    match bounds.contains(&value) {
        true => Ok(value),
        false => Err(format!(
            "{name} is {value} (accepted: {} to {})",
            bounds.start(),
            bounds.end()
        )),
    }
}
