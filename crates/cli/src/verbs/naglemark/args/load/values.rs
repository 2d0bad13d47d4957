//! Values that only `naglemark load` takes.

use std::fmt;

use tinygram_naglemark::load::{Arrivals, Change, Server, Sizes};

use crate::values::size;

/// How much is asked.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super::super) enum Load {
    /// The same all the time.
    Level(Level),
    /// One level after the other.
    Course(Change, Vec<Level>),
}

/// Requests a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in super::super::super) enum Level {
    /// A share of the capacity, in percent.
    Percent(f64),
    /// A number.
    PerSecond(f64),
}

/// Writes it as it is typed.
impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (change, levels) = match self {
            Self::Level(level) => return level.fmt(f),
            Self::Course(Change::Steps, levels) => ("steps", levels),
            Self::Course(Change::Ramps, levels) => ("ramps", levels),
        };
        let levels: Vec<String> = levels.iter().map(ToString::to_string).collect();
        write!(f, "{change}:{}", levels.join("/"))
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Percent(percent) => write!(f, "{percent}%"),
            Self::PerSecond(rate) => write!(f, "{rate}"),
        }
    }
}

/// Parses a load: `50%`, requests a second such as `20000`, or a course such as `steps:10%/80%`.
pub(super) fn load(typed: &str) -> Result<Load, String> {
    let parsed = match typed.split_once(':') {
        None => level(typed).map(Load::Level),
        Some(("steps", levels)) => course(Change::Steps, levels),
        Some(("ramps", levels)) => course(Change::Ramps, levels),
        Some(_) => None,
    };
    parsed.ok_or_else(|| {
        "accepted: a share of the capacity such as 50%, up to 1000%, requests a second such as 20000, or a course of 2 to 1000 of \
         these such as steps:10%/80%/20% or ramps:10%/80%"
            .to_owned()
    })
}

fn course(change: Change, levels: &str) -> Option<Load> {
    let levels: Vec<Level> = levels.split('/').map(level).collect::<Option<_>>()?;
    (2..=1000)
        .contains(&levels.len())
        .then_some(Load::Course(change, levels))
}

fn level(typed: &str) -> Option<Level> {
    let (digits, is_share) = match typed.strip_suffix('%') {
        Some(digits) => (digits, true),
        None => (typed, false),
    };
    let number = plain(digits)?;
    match is_share {
        true if number <= 1000.0 => Some(Level::Percent(number)),
        false if number <= 1e8 => Some(Level::PerSecond(number)),
        _ => None,
    }
}

/// Parses how requests come together.
pub(super) fn arrivals(typed: &str) -> Result<Arrivals, String> {
    let burst = |count: &str| count.parse().ok().filter(|of| (1..=10_000).contains(of));
    match typed.strip_prefix("bursts:") {
        None if typed == "poisson" => Some(Arrivals::Poisson),
        None => None,
        Some(count) => burst(count).map(|of| Arrivals::Bursts { of }),
    }
    .ok_or_else(|| "accepted: poisson, or bursts:N with N from 1 to 10000".to_owned())
}

/// Parses a kind of server.
pub(super) fn server(typed: &str) -> Result<Server, String> {
    let threads = |count: &str| count.parse().ok().filter(|count| (1..=64).contains(count));
    match (typed, typed.strip_prefix("event-loop:")) {
        ("event-loop", _) => Some(Server::EventLoops(1)),
        ("threads", _) => Some(Server::ThreadEach),
        (_, Some(count)) => threads(count).map(Server::EventLoops),
        _ => None,
    }
    .ok_or_else(|| "accepted: event-loop, event-loop:N with N from 1 to 64, or threads".to_owned())
}

/// Parses a distribution of lengths.
pub(super) fn sizes(typed: &str) -> Result<Sizes, String> {
    let octets = |text: &str| size(text).ok().and_then(|octets| octets.try_into().ok());
    let range = |text: &str| {
        let (from, to) = text.split_once("..")?;
        let (from, to): (u32, u32) = (octets(from)?, octets(to)?);
        (from <= to).then_some((from, to))
    };
    let parsed = match typed.split_once(':') {
        None => octets(typed).map(Sizes::Fixed),
        Some(("random", text)) => range(text).map(|(from, to)| Sizes::Uniform { from, to }),
        Some(("exp", text)) => octets(text).map(|mean| Sizes::Exponential { mean }),
        Some(("pareto", text)) => text.split_once(':').and_then(|(ends, alpha)| {
            let (from, to) = range(ends)?;
            let alpha = plain(alpha)?;
            Some(Sizes::Pareto { from, to, alpha })
        }),
        Some(_) => None,
    };
    parsed.ok_or_else(|| {
        "accepted: bytes such as 400, random:100..1000, exp:1000 (the mean), or pareto:100..100000:1.2 (the bounds and \
         the exponent)"
            .to_owned()
    })
}

/// Parses a number above 0 without sign or exponent.
fn plain(digits: &str) -> Option<f64> {
    let sound = !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit() || c == '.');
    let number: f64 = sound.then(|| digits.parse().ok()).flatten()?;
    (number > 0.0).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_shares_or_rates() {
        assert_eq!(load("50%"), Ok(Load::Level(Level::Percent(50.0))));
        assert_eq!(load("20000"), Ok(Load::Level(Level::PerSecond(20_000.0))));
        for typed in [
            "",
            "%",
            "0",
            "-1%",
            "1e3",
            "2000%",
            "fast",
            "0%",
            "steps:",
            "steps:5%",
            "ramps:5%/",
            "jumps:1/2",
        ] {
            assert!(load(typed).unwrap_err().contains("such as 50%"), "{typed}");
        }
    }

    #[test]
    fn sizes_are_distributions() {
        assert_eq!(sizes("4K"), Ok(Sizes::Fixed(4096)));
        let (from, to) = (100, 1000);
        assert_eq!(sizes("random:100..1000"), Ok(Sizes::Uniform { from, to }));
        assert_eq!(sizes("exp:400"), Ok(Sizes::Exponential { mean: 400 }));
        let alpha = 1.2;
        assert_eq!(
            sizes("pareto:100..1000:1.2"),
            Ok(Sizes::Pareto { from, to, alpha })
        );
        for typed in [
            "",
            "0",
            "random:5",
            "random:9..5",
            "pareto:1..2",
            "pareto:1..2:0",
            "x:1",
        ] {
            assert!(
                sizes(typed).unwrap_err().contains("random:100..1000"),
                "{typed}"
            );
        }
    }

    #[test]
    fn values_read_back_as_they_are_shown() {
        for typed in [
            "7%",
            "0.1%",
            "20000",
            "1.5",
            "steps:10%/20000",
            "ramps:1%/5%/1%",
        ] {
            assert_eq!(load(typed).unwrap().to_string(), typed);
        }
        for typed in ["400", "random:100..1000", "exp:1000", "pareto:1..9:1.2"] {
            assert_eq!(sizes(typed).unwrap().to_string(), typed);
        }
        for typed in ["event-loop", "event-loop:4", "threads"] {
            assert_eq!(server(typed).unwrap().to_string(), typed);
        }
        for typed in ["poisson", "bursts:8"] {
            assert_eq!(arrivals(typed).unwrap().to_string(), typed);
        }
    }

    #[test]
    fn servers_and_arrivals_have_counts() {
        assert_eq!(server("event-loop"), Ok(Server::EventLoops(1)));
        assert_eq!(server("event-loop:4"), Ok(Server::EventLoops(4)));
        assert_eq!(server("threads"), Ok(Server::ThreadEach));
        assert_eq!(arrivals("bursts:8"), Ok(Arrivals::Bursts { of: 8 }));
        for typed in ["", "event-loop:0", "event-loop:65", "threads:2", "forks"] {
            assert!(server(typed).is_err(), "{typed}");
        }
        for typed in ["", "bursts", "bursts:0", "uniform"] {
            assert!(arrivals(typed).is_err(), "{typed}");
        }
    }
}
