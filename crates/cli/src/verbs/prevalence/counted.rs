//! Logs that were counted in parts, for example on many machines, and are combined again.

use std::collections::BTreeMap;

use tinygram_report::units::grouped;
use tinygram_tables::{Rows, Value, schemas};
use tinygram_weblog::Survey;
use tinygram_weblog::line::EXPECTED;

use super::read::covered;
use crate::outcome::Failure;
use crate::terminal;

/// A row of the table `responses`, without its offset.
#[derive(Clone, Debug)]
pub struct Counted {
    /// The log.
    pub log: String,
    /// The kind of count.
    pub what: String,
    /// The size of the body, if the count is by size.
    pub bytes: u64,
    /// The count.
    pub count: i64,
}

/// Returns the counts of one range of a log.
pub(super) fn rows(log: &str, offset: u64, survey: &Survey) -> Rows {
    let mut rows = Rows::of(&schemas::RESPONSES);
    let mut count = |what: &str, bytes: u64, count: Value| {
        rows.push([
            ("log", log.into()),
            ("offset", offset.into()),
            ("what", what.into()),
            ("bytes", bytes.into()),
            ("count", count),
        ]);
    };
    count("lines", 0, survey.lines.into());
    count("unreadable", 0, survey.unreadable.into());
    count("head", 0, survey.head.into());
    count("not-modified", 0, survey.not_modified.into());
    count("empty", 0, survey.empty.into());
    if let Some((first, last)) = survey.times {
        count("first-time", 0, first.into());
        count("last-time", 0, last.into());
    }
    for (size, responses) in survey.sizes() {
        count("size", size, responses.into());
    }
    rows
}

/// Returns all logs combined, and the seconds they cover, as [`super::read::logs`] does.
pub(super) fn together(counted: &[Counted]) -> Result<(Survey, u64), Failure> {
    let mut logs: BTreeMap<&str, Survey> = BTreeMap::new();
    for it in counted {
        take(logs.entry(&it.log).or_default(), it)?;
    }
    let mut all = Survey::default();
    let mut spans = Vec::new();
    for (name, survey) in &logs {
        tell_unreadable(name, survey)?;
        all.absorb(survey);
        spans.extend(survey.times);
    }
    if all.lines == 0 {
        let names: Vec<_> = logs.into_keys().collect();
        let names = names.join(", ");
        return Err(Failure::Input(format!(
            "{names}: no line; expected: {EXPECTED}"
        )));
    }
    Ok((all, covered(spans)))
}

fn take(survey: &mut Survey, it: &Counted) -> Result<(), Failure> {
    let foreign = || {
        Failure::Input(format!(
            "{} {} is no count of a log (accepted: rows of the table responses)",
            it.what, it.count
        ))
    };
    let count = || u64::try_from(it.count).map_err(|_| foreign());
    match it.what.as_str() {
        "lines" => survey.lines += count()?,
        "unreadable" => survey.unreadable += count()?,
        "head" => survey.head += count()?,
        "not-modified" => survey.not_modified += count()?,
        "empty" => survey.empty += count()?,
        "size" => survey.add_size(it.bytes, count()?),
        "first-time" | "last-time" => {
            let (first, last) = survey.times.get_or_insert((it.count, it.count));
            *first = it.count.min(*first);
            *last = it.count.max(*last);
        }
        _ => return Err(foreign()),
    }
    Ok(())
}

fn tell_unreadable(name: &str, survey: &Survey) -> Result<(), Failure> {
    let (unreadable, lines) = (grouped(survey.unreadable), grouped(survey.lines));
    if survey.unreadable > 0 && survey.responses() == 0 {
        return Err(Failure::Input(format!(
            "{name}: none of its lines ({lines}) can be read; expected: {EXPECTED}"
        )));
    }
    if survey.unreadable > 0 {
        terminal::remark(&format!(
            "{name}: {unreadable} of {lines} lines cannot be read"
        ));
    }
    Ok(())
}
