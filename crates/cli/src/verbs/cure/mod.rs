//! `tinygram cure`: looks what stalls, tries the least invasive remedy on the live sockets, and keeps it only if it
//! helps.

mod document;
mod done;
mod expected;
mod floods;
mod going_on;
mod owner;
mod perhaps;
mod plan;
mod show;
mod silence;

use std::time::Duration;

use tinygram_host::clock::processor_ns;
use tinygram_host::pace::Share;

use crate::flags::Places;
use crate::hand;
use crate::host_flags::JournalFolder;
use crate::outcome::{Done, Failure};
use crate::stop;
use crate::values::span;
use plan::{MOST_WATCH, Plan};

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A process (by id or name), a script, a unit, a container, a port, or a control group's path; of a number that is
    /// both, pid:8080 means the process and port:8080 the port
    #[arg(value_name = "TARGET", required_unless_present_any = ["namespace", "pod", "container"])]
    targets: Vec<String>,

    #[command(flatten)]
    places: Places,

    /// How long to look for stalls first
    #[arg(long, value_name = "LENGTH", default_value = "5s", value_parser = span)]
    look: Duration,

    /// Go on: what is kept is also for connections to come, is put back after this long (1m to 24h; 1h if none is given),
    /// and everything is looked at and tried anew; until Ctrl-C. An hour or more becomes longer where that takes much processor
    /// time
    #[arg(long, value_name = "LENGTH", num_args = 0..=1, default_missing_value = "1h", value_parser = span, conflicts_with = "dry_run")]
    watch: Option<Duration>,

    /// Say which remedies there are, what each needs, and which would be tried; change nothing
    #[arg(long)]
    dry_run: bool,

    /// Also take TCP_CORK off where the program leaves it on; this copies the program's descriptors (pidfd_getfd)
    #[arg(long)]
    uncork: bool,

    /// How many more data segments an answer may take, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 100, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    max_extra_segments: u32,

    /// Which connections have a remedy while it is tried: all of them by turns of time, or half of the clients' in each
    /// period; auto takes halves where there are twenty clients or more and no thread or process is seen that they share
    #[arg(long, value_enum, value_name = "HOW", default_value_t = SplitBy::Auto)]
    split: SplitBy,

    /// What decides the order of turns, or the halves [default: drawn anew]
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,

    /// One JSON document
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    journal: JournalFolder,

    /// Try this instead of what the findings call for (for tests)
    #[arg(long, value_name = "OPTION=VALUE", hide = true)]
    instead: Option<String>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum SplitBy {
    Auto,
    Turns,
    Halves,
}

pub(crate) fn run(args: &Args) -> Result<Done, Failure> {
    let mut plan = Plan::of(args).map_err(Failure::Input)?;
    stop::listen()?;
    // Whoever may not open it does not see all names either.
    let mut hand = done::open_hand(&plan)?;
    // With --watch it may come yet.
    if plan.watch.is_none() {
        hand::refuse_nobody(&plan.targets, &plan.root)?;
    }
    loop {
        let before = used();
        plan.partners.clear();
        plan.partners = done::partners(&plan, &mut hand)?;
        let cured = done::cure(&plan, &mut hand)?;
        let spent = used().saturating_sub(before);
        let length = plan.watch.map(|asked| rest(asked, spent));
        show::show(&plan, &cured, length)?;
        let Some(length) = length else {
            return Ok(cured.outcome());
        };
        going_on::watch_over(&plan, &cured, &mut hand, length)?;
        if stop::is_asked() {
            return Ok(cured.outcome());
        }
        plan.seed = plan.seed.wrapping_add(1);
    }
}

/// Returns how much processor time this process has used.
fn used() -> Duration {
    Duration::from_nanos(processor_ns(std::process::id()).unwrap_or(0))
}

/// Returns how long to go on before everything is tried anew: where that took much processor time, longer than is asked, in whole
/// seconds, if that is long anyhow. Whoever asks for a shorter time has it.
fn rest(asked: Duration, used: Duration) -> Duration {
    if asked < LONG {
        return asked;
    }
    let needed = CURES.rest(used).min(MOST_WATCH);
    asked.max(Duration::from_secs_f64(needed.as_secs_f64().ceil()))
}

const LONG: Duration = Duration::from_hours(1);
/// What to look and to try takes at most.
const CURES: Share = Share::HalfAHundredth;

const EXAMPLES: &str = "Examples:
  tinygram cure --dry-run mosquitto
  tinygram cure mosquitto
  tinygram cure mosquitto --watch           goes on with connections to come, and looks anew each hour,
                                            or more seldom where that takes much processor time
  tinygram cure 8080 --look 30s --max-extra-segments 20
  tinygram set --undo                      puts back what was kept

The exit code is 0 if nothing stalls or a remedy was kept, 1 if no remedy was kept, 3 if too little was seen.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_took_much_is_done_more_seldom() {
        let seconds = Duration::from_secs;
        assert_eq!(rest(seconds(3600), seconds(5)), seconds(3600));
        assert_eq!(rest(seconds(3600), seconds(60)), seconds(12_000));
        assert_eq!(rest(seconds(60), seconds(60)), seconds(60));
        let used = Duration::from_millis(60_001);
        assert_eq!(rest(seconds(3600), used), seconds(12_001));
    }

    #[test]
    fn no_rest_is_longer_than_what_can_be_asked_for() {
        let hours = Duration::from_hours;
        assert_eq!(rest(hours(1), hours(1)), hours(24));
        assert_eq!(rest(hours(24), hours(1)), hours(24));
        assert_eq!(rest(hours(1), Duration::MAX), hours(24));
    }
}
