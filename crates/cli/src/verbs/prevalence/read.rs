//! Reads the logs into one survey.

use std::io::{self, Read};

use super::found::Log;
use tinygram_report::units::grouped;
use tinygram_weblog::line::EXPECTED;
use tinygram_weblog::{Survey, utc};

use super::plan::Plan;
use crate::files::{self, Input};
use crate::outcome::Failure;
use crate::terminal::{self, Reading};

/// Reads every log; returns them combined, and how many seconds they cover. Prints for each file
/// how many lines cannot be read. A file without any readable line is refused.
pub(super) fn logs(plan: &Plan) -> Result<(Survey, u64), Failure> {
    let mut all = Survey::default();
    let mut spans = Vec::new();
    for input in &plan.logs {
        let survey = survey(input)?;
        tell_unreadable(input, &survey)?;
        all.absorb(&survey);
        spans.extend(survey.times);
    }
    if all.lines == 0 {
        let names: Vec<_> = plan.logs.iter().map(Input::name).collect();
        let names = names.join(", ");
        return Err(Failure::Input(format!(
            "{names}: no line; expected: {EXPECTED}"
        )));
    }
    Ok((all, covered(spans)))
}

/// Reads one log.
pub(super) fn survey(input: &Input) -> Result<Survey, Failure> {
    read(input).map_err(|error| Failure::Io {
        doing: format!("reading {}", input.name()),
        error,
    })
}

/// Returns how many seconds lie in at least one of these spans, each from its first to its last
/// second.
pub(super) fn covered(mut spans: Vec<(i64, i64)>) -> u64 {
    spans.sort_unstable();
    let mut seconds = 0;
    let mut up_to = i64::MIN;
    for (first, last) in spans {
        let from = first.max(up_to);
        seconds += last.saturating_sub(from).max(0).unsigned_abs();
        up_to = up_to.max(last);
    }
    seconds
}

fn read(input: &Input) -> io::Result<Survey> {
    let (source, size): (Box<dyn Read + Send>, _) = match input {
        Input::File(path) => {
            let (file, size) = files::open(path)?;
            (Box::new(file), size)
        }
        Input::Stdin => (Box::new(io::stdin()), None),
        Input::Given(once) => (once.open()?, None),
    };
    let progress = Reading::of(size, input.name());
    Survey::read(progress.over(source))
}

fn tell_unreadable(input: &Input, survey: &Survey) -> Result<(), Failure> {
    let Some(first) = &survey.first_unreadable else {
        return Ok(());
    };
    let name = input.name();
    if survey.responses() == 0 {
        return Err(Failure::Input(format!(
            "{name}: none of its lines ({}) can be read; the first is: {} ({}; expected: {EXPECTED})",
            grouped(survey.lines),
            first.text,
            first.why,
        )));
    }
    terminal::remark(&format!(
        "{name}: {} of {} lines cannot be read; the first is line {}, {}: {}",
        grouped(survey.unreadable),
        grouped(survey.lines),
        grouped(first.number),
        first.why,
        first.text,
    ));
    Ok(())
}

/// Returns what was read, for people.
pub(super) fn summary(log: &Survey, seconds: u64, sizes: &[(u64, u64)]) -> Log {
    let (first, last) = log.times.unzip();
    let octets = |(size, count): &(u64, u64)| size.saturating_mul(*count);
    Log {
        lines: log.lines,
        unreadable: log.unreadable,
        responses: log.responses(),
        with_body: sizes.iter().map(|(_, count)| count).sum(),
        head: log.head,
        not_modified: log.not_modified,
        empty: log.empty,
        body_bytes: sizes.iter().map(octets).fold(0, u64::saturating_add),
        distinct_sizes: sizes.len() as u64,
        first: first.map(utc),
        last: last.map(utc),
        days: seconds as f64 / SECONDS_OF_A_DAY,
    }
}

const SECONDS_OF_A_DAY: f64 = 86_400.0;

#[cfg(test)]
mod tests {
    use super::covered;

    #[test]
    fn what_two_logs_cover_counts_once_and_what_none_covers_not_at_all() {
        assert_eq!(covered(vec![]), 0);
        assert_eq!(covered(vec![(5, 5)]), 0);
        assert_eq!(covered(vec![(100, 200), (0, 10)]), 110);
        assert_eq!(covered(vec![(0, 100), (50, 120), (60, 70)]), 120);
    }
}
