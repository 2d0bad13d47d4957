//! The live screen: what was seen, the table, what the costliest row means and what helps, and the latest sentences,
//! in as many lines and columns as the terminal has.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tinygram_host::process::Process;
use tinygram_report::{BOLD, Ink, cut, styled};
use tinygram_watch::finding::Finding;
use tinygram_watch::summary::WatchSummary;

use super::done::Watch;
use super::repeats::Habit;
use super::{sentence, table};
use crate::glossary::Glosses;
use crate::looked::in_words;
use crate::outcome::Failure;
use crate::terminal::{self, broken};

/// Whether the terminal shows the screen instead of what it showed before.
static SHOWN: AtomicBool = AtomicBool::new(false);

/// Gives the terminal back as it was.
pub(super) fn leave() {
    if SHOWN.swap(false, Ordering::Relaxed) {
        let _ = terminal::print_raw(LEAVE);
    }
}

#[derive(Default)]
pub(super) struct Screen {
    /// The latest stalls, each habit once: its latest sentence, and how often it came.
    latest: VecDeque<(Habit, String, u64)>,
    /// The latest remark.
    remark: Option<String>,
    /// Whether something is new since the screen was drawn.
    stale: bool,
    /// The size and the second that were drawn.
    drawn: Option<(usize, usize, u64)>,
}

impl Drop for Screen {
    fn drop(&mut self) {
        leave();
    }
}

impl Screen {
    pub(super) fn add(&mut self, finding: &Finding, process: &Process) {
        let habit = Habit::of(finding);
        let known = self.latest.iter().position(|(known, ..)| *known == habit);
        let before = known.and_then(|at| self.latest.remove(at));
        let times = before.map_or(1, |(.., times)| times + 1);
        if self.latest.len() == LATEST {
            self.latest.pop_front();
        }
        let sentence = sentence::of(finding, process);
        self.latest.push_back((habit, sentence, times));
        self.stale = true;
    }

    /// Shows a remark instead of the one before.
    pub(super) fn remark(&mut self, line: String) {
        self.remark = Some(line);
        self.stale = true;
    }

    /// Draws the screen again if a second has passed, the size has changed or something is new.
    pub(super) fn draw(&mut self, watch: &Watch, watched: Duration) -> Result<(), Failure> {
        let (width, height) = terminal::size();
        let drawn = Some((width, height, watched.as_secs()));
        if !std::mem::take(&mut self.stale) && self.drawn == drawn {
            return Ok(());
        }
        self.drawn = drawn;
        let head = format!(
            "tinygram watch, {} s: {}; {}. Ctrl-C ends.",
            watched.as_secs(),
            in_words(watch.seen()),
            watch.live.describe()
        );
        let also = [watch.watched.elsewhere_in_words(), self.remark.clone()];
        let head = (also.iter().flatten()).fold(head, |head, line| format!("{head}\n{line}."));
        let lines = self.lines(&head, &watch.summary, (width, height), terminal::ink());
        let enter = match SHOWN.swap(true, Ordering::Relaxed) {
            true => "",
            false => ENTER,
        };
        // Each line clears what was behind it, and the last what was below: nothing flickers.
        let screen = format!(
            "{enter}{HOME}{}{CLEAR_LINE}{CLEAR_BELOW}",
            lines.join("\x1b[K\n")
        );
        terminal::print_raw(screen.as_bytes())?;
        Ok(())
    }

    /// Returns at most `height` lines of at most `width` characters.
    fn lines(
        &self,
        head: &str,
        summary: &WatchSummary,
        (width, height): (usize, usize),
        ink: Ink,
    ) -> Vec<String> {
        let mut lines: Vec<String> = broken(head, width).lines().map(str::to_owned).collect();
        lines.push(String::new());
        if summary.rows().is_empty() {
            lines.push("No stall and no flood so far.".to_owned());
        } else {
            // The table may take half of the screen, and what it means and what helps half of the rest.
            let rows = (height.saturating_sub(lines.len()) / 2).max(3);
            let table = table::screen(summary, width, rows, ink);
            let glosses = Glosses::default().new_in(&table.join("\n"));
            lines.extend(table);
            let least_latest = self.latest(width, LEAST_LATEST).len();
            let room = height.saturating_sub(lines.len() + least_latest + 1);
            let mut meaning = vec![String::new()];
            for gloss in glosses {
                meaning.extend(broken(&gloss, width).lines().map(str::to_owned));
            }
            for (nth, line) in broken(&table::first_advice(summary), width)
                .lines()
                .enumerate()
            {
                meaning.push(match nth {
                    1 => styled(line, BOLD, ink),
                    _ => line.to_owned(),
                });
            }
            if meaning.len() > room {
                meaning.truncate(room.saturating_sub(1));
                meaning.push("  ...".to_owned());
            }
            lines.extend(meaning);
        }
        let room = height.saturating_sub(lines.len() + 1);
        let shown = self.latest(width, room);
        if !shown.is_empty() {
            lines.push(String::new());
            lines.extend(shown);
        }
        lines.truncate(height);
        lines
    }

    /// Returns the latest sentences in at most `room` lines, the newest last.
    fn latest(&self, width: usize, room: usize) -> Vec<String> {
        let mut shown: Vec<String> = Vec::new();
        for (_, sentence, times) in self.latest.iter().rev() {
            let sentence = match times {
                1 => broken(sentence, width),
                times => broken(&format!("{sentence}; {times} times so far"), width),
            };
            if shown.len() + sentence.lines().count() > room {
                break;
            }
            shown.splice(0..0, sentence.lines().map(|line| cut(line, width)));
        }
        shown
    }
}

/// The most sentences that are kept, and the lines of them that what helps leaves free.
const LATEST: usize = 64;
const LEAST_LATEST: usize = 4;
/// The other screen, without a cursor; and back.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &[u8] = b"\x1b[?25h\x1b[?1049l";
const HOME: &str = "\x1b[H";
const CLEAR_LINE: &str = "\x1b[K";
const CLEAR_BELOW: &str = "\x1b[J";

#[cfg(test)]
mod tests {
    use super::super::made::stall;
    use super::*;

    #[test]
    fn the_screen_has_the_table_in_every_size_and_is_never_larger() {
        let (mut screen, mut summary) = (Screen::default(), WatchSummary::default());
        for pid in 1..=60 {
            let (finding, process) = stall(pid);
            summary.add(&finding, &process);
            screen.add(&finding, &process);
        }
        for size in [(80, 24), (200, 30), (120, 50), (60, 10)] {
            let lines = screen.lines("tinygram watch, 8 s: asking", &summary, size, Ink::Plain);
            assert!(lines.len() <= size.1, "{size:?}: {} lines", lines.len());
            for line in &lines {
                assert!(line.chars().count() <= size.0, "{size:?}: {line}");
            }
            let at = lines.iter().position(|line| line.starts_with("PROCESS"));
            assert_eq!(at, Some(2), "{lines:#?}");
            // The costliest is first, and the newest sentence last.
            assert!(lines[3].starts_with("a-server-with-a-l"), "{lines:#?}");
            assert!(
                lines.iter().any(|line| line.ends_with(" more")),
                "{lines:#?}"
            );
            if size.1 > 20 {
                let last = lines
                    .iter()
                    .rposition(|line| line.contains("long-name[60]"));
                assert!(last > Some(10), "{lines:#?}");
                assert!(
                    lines.iter().any(|line| line.contains("TCP_NODELAY")),
                    "{lines:#?}"
                );
            }
        }
    }

    #[test]
    fn a_habit_has_one_sentence_with_a_count() {
        let mut screen = Screen::default();
        for pid in [1, 2, 1, 1] {
            let (finding, process) = stall(pid);
            screen.add(&finding, &process);
        }
        let shown = screen.latest(200, 10);
        assert_eq!(shown.len(), 2, "{shown:#?}");
        assert!(shown[0].contains("name[2]") && !shown[0].contains("so far"));
        assert!(shown[1].contains("name[1]") && shown[1].ends_with("; 3 times so far"));
    }
}
