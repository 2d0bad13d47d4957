//! The output for people, while watching and at the end.

use std::collections::VecDeque;
use std::io::IsTerminal;
use std::time::Duration;

use tinygram_diagnose::Tier;
use tinygram_watch::finding::Finding;
use tinygram_watch::who::Process;

use super::{Args, Watch, json, sentence, table};
use crate::amount::in_words;
use crate::exit::Failure;
use crate::terminal;

pub(super) struct Show {
    manner: Manner,
    latest: VecDeque<String>,
    /// Whether something is new since the screen was drawn.
    stale: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// One document per line.
    Json,
    /// The table at the top with the latest sentences beneath it, redrawn.
    Screen,
    /// Sentences, and the table at the end.
    Lines,
    /// The table at the end.
    Summary,
}

impl Show {
    pub(super) fn new(args: &Args) -> Self {
        let manner = match (args.json, args.once) {
            (true, _) => Manner::Json,
            (false, Some(_)) => Manner::Summary,
            (false, None) if std::io::stdout().is_terminal() => Manner::Screen,
            (false, None) => Manner::Lines,
        };
        Self {
            manner,
            latest: VecDeque::new(),
            stale: true,
        }
    }

    pub(super) fn begin(&mut self, watch: &Watch) -> Result<(), Failure> {
        if self.manner != Manner::Screen {
            terminal::remark(&format!("tinygram watch: {}", watch.live.describe()));
        }
        Ok(())
    }

    pub(super) fn finding(&mut self, finding: &Finding, process: &Process) -> Result<(), Failure> {
        match self.manner {
            Manner::Json => {
                let line = format!("{}\n", json::finding(finding, process));
                terminal::print(line.as_bytes())?;
            }
            Manner::Lines if finding.tier > Tier::Possible => {
                terminal::print(format!("{}\n", sentence::of(finding, process)).as_bytes())?;
            }
            Manner::Screen if finding.tier > Tier::Possible => {
                if self.latest.len() == LATEST {
                    self.latest.pop_front();
                }
                self.latest.push_back(sentence::of(finding, process));
                self.stale = true;
            }
            _ => {}
        }
        Ok(())
    }

    pub(super) fn breathe(&mut self, watch: &Watch) -> Result<(), Failure> {
        if self.manner != Manner::Screen || !std::mem::take(&mut self.stale) {
            return Ok(());
        }
        let mut screen = format!("\x1b[H\x1b[2J{}; Ctrl-C ends\n\n", watch.live.describe());
        let rows = table::text(&watch.summary, ROWS);
        screen += match rows.is_empty() {
            true => "No stall and no flood so far.\n",
            false => &rows,
        };
        screen.push('\n');
        for line in &self.latest {
            screen += line;
            screen.push('\n');
        }
        terminal::print(screen.as_bytes())?;
        Ok(())
    }

    pub(super) fn end(&mut self, watch: &Watch, watched: Duration) -> Result<(), Failure> {
        let (excused, lost) = (watch.live.excused(), watch.lost);
        if self.manner == Manner::Json {
            let seconds = watched.as_secs_f64();
            let mut line = json::summary(&watch.summary, excused, lost, watch.live.name(), seconds);
            line["seen"] = serde_json::json!(watch.seen());
            line["nothing_matched"] = watch
                .watched
                .unmet()
                .iter()
                .map(ToString::to_string)
                .collect();
            terminal::print(format!("{line}\n").as_bytes())?;
            return Ok(());
        }
        let unmet = watch.watched.unmet();
        for target in &unmet {
            terminal::remark(&format!(
                "tinygram watch: {}",
                watch.watched.nothing_of(target)
            ));
        }
        let mut out = table::text(&watch.summary, usize::MAX);
        if self.manner != Manner::Summary && !out.is_empty() {
            out.insert(0, '\n');
        }
        let seen = in_words(watch.seen());
        if !out.is_empty() {
            out += &format!("\nSeen: {seen}.\n");
        } else if unmet.is_empty() || unmet.len() < watch.watched.targets().count() {
            out = format!(
                "No stall and no flood in {:.1} s: {seen}.\n",
                watched.as_secs_f64()
            );
        }
        terminal::print(out.as_bytes())?;
        let counts = [
            (excused.nobody_waited, "held while nobody waited"),
            (excused.short, "held too briefly to be told"),
            (excused.own_cork, "held until the program itself wrote on"),
            (excused.harmless_acks, "late ACKs that kept nobody waiting"),
            (watch.summary.possible(), "possible stalls, not counted"),
            (lost, "events or packets lost: the figures are too low"),
            (watch.summary.unlisted, "findings without a row: too many"),
        ];
        let told: Vec<String> = counts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        if !told.is_empty() {
            terminal::remark(&format!("tinygram watch: besides, {}", told.join("; ")));
        }
        Ok(())
    }
}

const LATEST: usize = 10;
const ROWS: usize = 12;
