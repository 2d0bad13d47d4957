//! Small answers: a long list is cut, and a cursor names the rest, which is kept for a while.

use std::collections::VecDeque;
use std::sync::Mutex;

use serde_json::Value;

use crate::refusal::Refusal;
use crate::untrusted::name;

/// The answers whose lists were cut, the newest last.
#[derive(Debug, Default)]
pub(crate) struct Shelf {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    answers: VecDeque<Answer>,
    last: u64,
}

#[derive(Clone, Debug)]
struct Answer {
    number: u64,
    tool: &'static str,
    whole: Value,
}

impl Shelf {
    /// Cuts the list of an answer so that the answer stays small; the field `next_cursor` then names the rest.
    pub(crate) fn cut(&self, tool: &'static str, list: &str, mut whole: Value) -> Value {
        let count = whole[list].as_array().map_or(0, Vec::len);
        if let Some(items) = whole[list].as_array_mut() {
            items.truncate(MOST_ITEMS);
        }
        if page(&whole, list, 0).1 == count {
            return whole;
        }
        let mut kept = self
            .kept
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        kept.last += 1;
        let number = kept.last;
        let (answer, _) = shown(&whole, list, 0, number);
        kept.answers.push_back(Answer {
            number,
            tool,
            whole,
        });
        while kept.answers.len() > MOST_KEPT {
            kept.answers.pop_front();
        }
        answer
    }

    /// Returns the next part of an answer.
    pub(crate) fn next(
        &self,
        tool: &'static str,
        list: &str,
        cursor: &str,
    ) -> Result<Value, Refusal> {
        let refused = || {
            Refusal::asked(format!(
                "cursor {}: this server does not have it (any more); accepted is the next_cursor of one of the last \
                 {MOST_KEPT} answers of {tool}, or none to ask anew",
                name(cursor)
            ))
        };
        let (number, from) = cursor.split_once('.').ok_or_else(refused)?;
        let number: u64 = number.parse().map_err(|_| refused())?;
        let from: usize = from.parse().map_err(|_| refused())?;
        let kept = self
            .kept
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let is_meant = |answer: &&Answer| answer.number == number && answer.tool == tool;
        let answer = kept.answers.iter().find(is_meant).ok_or_else(refused)?;
        let count = answer.whole[list].as_array().map_or(0, Vec::len);
        if from >= count {
            return Err(refused());
        }
        Ok(shown(&answer.whole, list, from, number).0)
    }
}

/// Returns a part of an answer with the cursor of the next one.
fn shown(whole: &Value, list: &str, from: usize, number: u64) -> (Value, usize) {
    let (mut answer, to) = page(whole, list, from);
    let count = whole[list].as_array().map_or(0, Vec::len);
    answer["next_cursor"] = match to < count {
        true => Value::String(format!("{number}.{to}")),
        false => Value::Null,
    };
    (answer, to)
}

/// Returns the answer with as many items from `from` on as fit, one at least, and where they end.
fn page(whole: &Value, list: &str, from: usize) -> (Value, usize) {
    let mut answer = whole.clone();
    let items = answer[list].take();
    let mut items = items.as_array().cloned().unwrap_or_default();
    let mut octets = answer.to_string().len();
    let mut to = from;
    while let Some(item) = items.get(to) {
        octets += item.to_string().len() + 1;
        if to > from && octets > MOST_OCTETS {
            break;
        }
        to += 1;
    }
    items.truncate(to);
    answer[list] = items.split_off(from.min(items.len())).into();
    (answer, to)
}

/// The most of an answer, in octets of its JSON, as long as one item fits.
pub(crate) const MOST_OCTETS: usize = 8 << 10;
/// The most items that are kept of an answer.
const MOST_ITEMS: usize = 5000;
/// The most answers that are kept.
const MOST_KEPT: usize = 16;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_long_list_comes_in_parts_and_nothing_is_lost_or_told_twice() {
        let shelf = Shelf::default();
        let items: Vec<_> = (0..1000)
            .map(|number| json!({"number": number, "text": "x".repeat(50)}))
            .collect();
        let mut answer = shelf.cut("watch", "rows", json!({"rows": items, "next_cursor": null}));
        let mut seen = Vec::new();
        loop {
            assert!(answer.to_string().len() <= MOST_OCTETS + 100);
            let rows = answer["rows"].as_array().unwrap();
            seen.extend(rows.iter().map(|row| row["number"].as_u64().unwrap()));
            let Some(cursor) = answer["next_cursor"].as_str().map(ToOwned::to_owned) else {
                break;
            };
            assert!(shelf.next("ps", "rows", &cursor).is_err(), "another tool's");
            answer = shelf.next("watch", "rows", &cursor).unwrap();
        }
        assert_eq!(seen, (0..1000).collect::<Vec<u64>>());
    }

    #[test]
    fn a_cursor_that_is_not_there_is_refused() {
        let shelf = Shelf::default();
        for cursor in [
            "",
            "1",
            "1.0",
            "x.y",
            "1.99999999999999999999",
            "-1.-1",
            "1.0; rm",
        ] {
            assert!(shelf.next("watch", "rows", cursor).is_err(), "{cursor}");
        }
    }

    #[test]
    fn an_item_that_is_too_long_by_itself_is_told_all_the_same() {
        let shelf = Shelf::default();
        let long = "x".repeat(2 * MOST_OCTETS);
        let answer = shelf.cut(
            "ps",
            "rows",
            json!({"rows": [long.clone(), long], "next_cursor": null}),
        );
        assert_eq!(answer["rows"].as_array().unwrap().len(), 1);
        assert!(answer["next_cursor"].is_string());
    }
}
