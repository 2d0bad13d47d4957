//! The output for people, while watching and at the end.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;

use tinygram_host::process::Process;
use tinygram_stalls::Obstacle;
use tinygram_watch::finding::Finding;

use super::done::Watch;
use super::otlp::Ended;
use super::repeats::Repeats;
use super::screen::Screen;
use super::{Args, json, screen, sentence, table};
use crate::glossary::Glosses;
use crate::looked::in_words;
use crate::outcome::Failure;
use crate::terminal;
use crate::verbs::ps::changed::{self, Changed};

pub(super) struct Show {
    manner: Manner,
    screen: Screen,
    glosses: Glosses,
    repeats: Repeats,
    /// The folder of the journal of changes.
    journal: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// One document per line.
    Json,
    /// The table at the top with the latest sentences beneath it, redrawn.
    Screen,
    /// A sentence for each habit, how often it came again, and the table at the end.
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
            screen: Screen::default(),
            glosses: Glosses::default(),
            repeats: Repeats::default(),
            journal: args.journal.folder.clone(),
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
                let mut value = json::finding(finding, process);
                if !finding.kind.is_stall() {
                    value["changes"] = serde_json::json!(self.changes(finding));
                }
                let line = format!("{value}\n");
                terminal::print(line.as_bytes())?;
            }
            Manner::Lines if finding.tier.accuses() && self.repeats.is_first(finding, process) => {
                let mut sentence = sentence::of(finding, process);
                if !finding.kind.is_stall() {
                    for changed in self.changes(finding) {
                        sentence += &format!(
                            "\n  our change {} is in force: {}",
                            changed.change,
                            changed.explain()
                        );
                    }
                }
                let glosses = self.glosses.new_in(&sentence).into_iter();
                let lines = glosses.fold(sentence, |lines, gloss| format!("{lines}\n  {gloss}"));
                terminal::print_text(&format!("{lines}\n"))?;
            }
            Manner::Screen if finding.tier.accuses() => {
                self.screen.add(finding, process);
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns the changes of `set` and `cure` that are in force on the socket of a finding.
    fn changes(&self, finding: &Finding) -> Vec<Changed> {
        let mut in_force = changed::in_force(&self.journal);
        in_force
            .remove(&finding.connection.cookie)
            .unwrap_or_default()
    }

    /// Says what is wrong beside the watch, or is well again.
    pub(super) fn remark(&mut self, line: String) {
        match self.manner {
            Manner::Screen => self.screen.remark(line),
            _ => terminal::remark(&format!("tinygram watch: {line}")),
        }
    }

    pub(super) fn breathe(&mut self, watch: &Watch, watched: Duration) -> Result<(), Failure> {
        match self.manner {
            Manner::Screen => self.screen.draw(watch, watched),
            Manner::Lines => print(&self.repeats.lines(watched)),
            _ => Ok(()),
        }
    }

    pub(super) fn end(
        &mut self,
        watch: &Watch,
        exported: Option<&Ended>,
        watched: Duration,
    ) -> Result<(), Failure> {
        if self.manner == Manner::Json {
            let (excused, lost) = (watch.live.excused(), watch.lost);
            let seconds = watched.as_secs_f64();
            let mut line = json::summary(&watch.summary, excused, lost, watch.live.name(), seconds);
            line["seen"] = serde_json::json!(watch.seen());
            if let Some(exported) = exported {
                line["otlp"] = exported.json();
            }
            line["under_run"] = serde_json::json!(watch.under_run.rows());
            line["elsewhere"] = serde_json::json!(watch.watched.elsewhere());
            line["nothing_matched"] = watch
                .watched
                .unmet()
                .iter()
                .map(ToString::to_string)
                .collect();
            terminal::print(format!("{line}\n").as_bytes())?;
            return Ok(());
        }
        screen::leave();
        print(&self.repeats.rest())?;
        let unmet = watch.watched.unmet();
        for target in &unmet {
            terminal::remark(&format!(
                "tinygram watch: {}",
                watch.watched.nothing_of(target)
            ));
        }
        let mut out = table::text(&watch.summary, terminal::width());
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
        let timed = watch.seen().timed;
        if timed > 0 {
            out += &format!(
                "Cannot tell whether a cork held {timed} messages: {}. To tell, {}.\n",
                Obstacle::Timed.reason(),
                Obstacle::Timed.remedy()
            );
        }
        if let Some(covered) = watch.under_run.in_words() {
            out += &format!("{covered}\n");
        }
        terminal::print_text(&out)?;
        if let Some(elsewhere) = watch.watched.elsewhere_in_words() {
            terminal::remark(&format!("tinygram watch: {elsewhere}"));
        }
        if let Some(lost) = exported.and_then(Ended::in_words) {
            terminal::remark(&format!("tinygram watch: {lost}"));
        }
        let told = besides(watch);
        if !told.is_empty() {
            terminal::remark(&format!("tinygram watch: besides, {}", told.join("; ")));
        }
        Ok(())
    }
}

/// Returns what was seen and is in no row, in words.
fn besides(watch: &Watch) -> Vec<String> {
    let (excused, lost) = (watch.live.excused(), watch.lost);
    // The judge does not know what is meant: what it excuses is of the whole host.
    let of_the_host = [
        (excused.nobody_waited, "held while nobody waited"),
        (excused.short, "held too briefly to be told"),
        (excused.own_cork, "held until the program itself wrote on"),
        (excused.harmless_acks, "late ACKs that kept nobody waiting"),
    ];
    let of_the_rest = [
        (watch.summary.possible(), "possible stalls, not counted"),
        (lost, "events or packets lost: the figures are too low"),
        (watch.summary.unlisted, "findings without a row: too many"),
    ];
    let mut told: Vec<String> = Vec::new();
    if let Some(counts) = enumerated(&of_the_host) {
        told.push(match watch.watched.is_all() {
            true => counts,
            false => format!("on the whole host {counts}"),
        });
    }
    // The rest comes first: the words before the host's counts hold to the end of the line.
    if let Some(counts) = enumerated(&of_the_rest) {
        told.insert(0, counts);
    }
    told
}

/// Returns the counts above 0 in words, if there are any.
fn enumerated(counts: &[(u64, &str)]) -> Option<String> {
    let told = counts.iter().filter(|(count, _)| *count > 0);
    let told: Vec<_> = told
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    (!told.is_empty()).then(|| told.join("; "))
}

/// Prints lines.
fn print(lines: &[String]) -> Result<(), Failure> {
    for line in lines {
        terminal::print_text(&format!("{line}\n"))?;
    }
    Ok(())
}
