//! Prints scores of an independent simulation beside ours, cell by cell.
//!
//! ```console
//! $ cargo run --release -p tinygram-papers --example independent
//! $ cargo run --release -p tinygram-papers --example independent -- --races --all scores.json
//! ```
//!
//! Without a file it reads `../shared/unseen/scores.json`. For each set it prints the mean distance
//! and the cells that differ by more than 3 percentage points. For each of these it also prints how
//! far our score changes when one cost of one host changes by 1 %: more than 3 points is a race.
//! `--races` does so for all cells, which takes some twenty times as long; `--all` prints all
//! cells.

use std::path::Path;
use std::process::ExitCode;

#[path = "../tests/independent/scores.rs"]
mod scores;
#[path = "../tests/independent/table.rs"]
mod table;

use table::{Comparison, Races};

fn main() -> ExitCode {
    let (mut all, mut races) = (false, Races::OfFar);
    let mut path = None;
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--all" => all = true,
            "--races" => races = Races::OfAll,
            option if option.starts_with('-') => {
                return refuse(&format!(
                    "no option {option}; accepted: --all, --races, a file"
                ));
            }
            _ if path.is_some() => return refuse("one file of scores is accepted"),
            _ => path = Some(argument),
        }
    }
    let given = path.is_some();
    let path = path.unwrap_or_else(|| scores::USUAL.to_owned());
    if !given && !Path::new(&path).exists() {
        println!("skipped: no {path}");
        return ExitCode::SUCCESS;
    }
    match scores::read(Path::new(&path)) {
        Ok(sets) => {
            print!("{}", Comparison::of(&sets, races).text(all));
            ExitCode::SUCCESS
        }
        Err(why) => refuse(&format!("{path}: {why}")),
    }
}

fn refuse(line: &str) -> ExitCode {
    eprintln!("independent: {line}");
    ExitCode::from(2)
}
