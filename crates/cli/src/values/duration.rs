//! Lengths of time: `40ms`, `0.5s`, `200us`; and the delayed-ACK timer.

use std::time::Duration;

use tinygram_engine::Duration as VirtualDuration;
use tinygram_engine::receiver::ack_policy::AckTimer;

/// Parses a length of time. A bare number has no unit and is refused.
pub(crate) fn duration(typed: &str) -> Result<Duration, String> {
    let refused = || {
        "not a length of time; accepted: a number with ns, us, ms or s, such as 40ms or 0.5s"
            .to_owned()
    };
    let digits = typed.trim_end_matches(|c: char| !c.is_ascii_digit());
    let seconds_per_unit = match typed[digits.len()..].to_ascii_lowercase().as_str() {
        "ns" => 1e-9,
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        _ => return Err(refused()),
    };
    if !digits.chars().all(|c| c.is_ascii_digit() || c == '.') {
        return Err(refused());
    }
    let count: f64 = digits.parse().map_err(|_| refused())?;
    Duration::try_from_secs_f64(count * seconds_per_unit)
        .ok()
        .filter(|d| *d <= MAX)
        .ok_or_else(|| "longer than 60s".to_owned())
}

/// Parses how long something lasts: like [`duration`], and also in minutes and hours.
pub(crate) fn span(typed: &str) -> Result<Duration, String> {
    let refused =
        || "not a length of time from 1ms to 24h; accepted: 500ms, 30s, 5m, 2h".to_owned();
    let minutes = match typed.strip_suffix(['m', 'h']) {
        Some(digits) => digits.parse::<f64>().ok().map(|count| {
            let hours = typed.ends_with('h');
            count * if hours { 3600.0 } else { 60.0 }
        }),
        None => None,
    };
    let seconds = match minutes {
        Some(seconds) => Some(seconds),
        None => duration(typed)
            .ok()
            .map(|length| length.as_secs_f64())
            .or_else(|| {
                // More than a minute, in seconds.
                typed
                    .strip_suffix('s')
                    .and_then(|digits| digits.parse().ok())
            }),
    };
    seconds
        .filter(|seconds| (0.001..=86_400.0).contains(seconds))
        .map(Duration::from_secs_f64)
        .ok_or_else(refused)
}

/// Parses `cyclic:200ms` (BSD's fast timer, a tick that runs whatever the connection does) or
/// `40ms` (a timer that starts when the ACK is first delayed).
pub(crate) fn ack_timer(typed: &str) -> Result<AckTimer, String> {
    let cyclic = |period| AckTimer::Cyclic {
        period,
        phase: VirtualDuration::ZERO,
        slow: None,
    };
    let (timer, length): (fn(VirtualDuration) -> AckTimer, _) = match typed.split_once(':') {
        Some(("cyclic", length)) => (cyclic, length),
        Some(("per-connection", length)) => (AckTimer::PerConnection, length),
        Some(_) => return Err(refused_timer("not a kind of timer")),
        None => (AckTimer::PerConnection, typed),
    };
    match duration(length) {
        Ok(Duration::ZERO) => Err(refused_timer("a timer of no length")),
        Ok(length) => Ok(timer(virtual_time(length))),
        Err(_) => Err(refused_timer("not a length of time")),
    }
}

/// Returns the timer as it is written on the command line.
pub(crate) fn shown_ack_timer(timer: &AckTimer) -> String {
    let (kind, length) = match timer {
        AckTimer::Cyclic { period, .. } => ("cyclic", period),
        AckTimer::PerConnection(length) => ("per-connection", length),
    };
    // Several units could not be parsed again: 1s 500ms is 1500ms here.
    let length = Duration::from_nanos(length.as_nanos());
    format!("{kind}:{}ms", length.as_secs_f64() * 1e3)
}

/// Returns the length of time in the simulator's type.
pub(crate) fn virtual_time(length: Duration) -> VirtualDuration {
    VirtualDuration::from_nanos(u64::try_from(length.as_nanos()).expect("durations end at 60 s"))
}

/// Returns how long work takes, in words: `40 s`, `12 min`, `3.5 h`.
pub(crate) fn in_words(takes: Duration) -> String {
    match takes.as_secs() {
        seconds @ 0..=90 => format!("{seconds} s"),
        seconds @ 91..=5400 => format!("{} min", (seconds + 30) / 60),
        seconds => format!("{:.1} h", seconds as f64 / 3600.0),
    }
}

fn refused_timer(why: &str) -> String {
    format!(
        "{why}; accepted: cyclic:200ms (a tick that always runs) or per-connection:40ms, for short \
         40ms (started when an ACK is first delayed)"
    )
}

/// The longest path or timer that TCP can have: RFC 9293's largest retransmission timeout.
const MAX: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_a_length_of_time() {
        assert_eq!(duration("40ms"), Ok(Duration::from_millis(40)));
        assert_eq!(duration("0.5s"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("10us"), Ok(Duration::from_micros(10)));
        assert_eq!(duration("0ms"), Ok(Duration::ZERO));
    }

    #[test]
    fn a_refusal_says_what_is_accepted() {
        for typed in ["", "40", "ms", "-1ms", "1e3ms", "inf s", "nans", "1.2.3s"] {
            let line = duration(typed).unwrap_err();
            assert!(line.contains("such as 40ms or 0.5s"), "{typed}: {line}");
        }
        assert_eq!(duration("61s").unwrap_err(), "longer than 60s");
    }

    #[test]
    fn a_timer_reads_back_as_it_is_shown() {
        for typed in [
            "cyclic:200ms",
            "per-connection:40ms",
            "per-connection:0.5ms",
        ] {
            let timer = ack_timer(typed).unwrap();
            assert_eq!(shown_ack_timer(&timer), typed);
        }
        assert_eq!(
            ack_timer("40ms"),
            Ok(AckTimer::PerConnection(VirtualDuration::from_millis(40)))
        );
        assert!(ack_timer("0ms").is_err() && ack_timer("tick:40ms").is_err());
    }

    #[test]
    fn times_read_as_people_say_them() {
        let said = [40, 100, 5400, 9000].map(|seconds| in_words(Duration::from_secs(seconds)));
        assert_eq!(said, ["40 s", "2 min", "90 min", "2.5 h"]);
    }
}
