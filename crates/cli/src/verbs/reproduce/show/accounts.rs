//! How many free values explain how many published ones, paper by paper.

use tinygram_papers::experiment::{Class, Paper};
use tinygram_papers::{Account, Distance};
use tinygram_report::units::counted;
use tinygram_report::{Column, Entry, Table};

use super::super::done::Reproduced;
use super::words;

pub(super) const TITLE: &str = "Fitted values, and how much they explain";

/// The meaning of the columns.
pub(super) const IS: &str = "A free value was chosen so that the reproduction gives values of the \
     paper. The tables of parameters list each free value with what it was fitted to. Printed \
     values *by rules* do not depend on the free values. *Fitted* ones depend on them, and the \
     free values may have been fitted to them. *Held out* ones depend on free values that were \
     fitted to other values: only this column tests the fit, and the last column shows how near \
     its values come. Values that are *off* do not agree.";

/// Returns a line for each paper of which something is held to it.
pub(super) fn table(reproduced: &[Reproduced]) -> Table {
    let is_held = |it: &&Reproduced| {
        it.outcome
            .rows
            .iter()
            .any(|row| row.class != Class::MeasuredHere)
    };
    let outcomes: Vec<_> = reproduced
        .iter()
        .filter(is_held)
        .map(|it| (it.experiment, &it.outcome))
        .collect();
    let accounts = Paper::ALL
        .into_iter()
        .filter_map(|paper| Account::of(paper, &outcomes));
    let of_printed = ["by rules", "fitted", "held out", "off"];
    let mut columns = vec![Column::words("Paper"), Column::numbers("free values")];
    let one = |head| Column::numbers(head).in_group("printed values");
    columns.extend(of_printed.map(one));
    columns.push(Column::words("held out, rms of the distances"));
    Table {
        title: TITLE.into(),
        columns,
        rows: accounts.map(|account| line(&account)).collect(),
        ..Table::default()
    }
}

fn line(account: &Account) -> Vec<Entry> {
    let mut line = vec![Entry::new(words::authors(account.paper))];
    let counts = [
        account.free,
        account.by_rules,
        account.fitted,
        account.held_out,
        account.off,
    ];
    line.extend(counts.map(|count| Entry::new(count.to_string())));
    let distances: Vec<_> = account.distances.iter().map(distance).collect();
    line.push(Entry::new(match distances.is_empty() {
        true => "-".to_owned(),
        false => distances.join("; "),
    }));
    line
}

fn distance(of: &Distance) -> String {
    let Distance { id, values, .. } = of;
    let values = counted(*values as u64, "value");
    format!("{id}: {:.1} % over {values}", of.rms_percent)
}
