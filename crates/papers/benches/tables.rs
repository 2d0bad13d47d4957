//! Measures Tables 4 and 5 whole, as `tinygram naglemark` does: 2 x 396 trials of 1000 transfers,
//! 10 repetitions, on all cores. It takes too long for a loop, so it is one pass, and prints the
//! time.
//!
//! ```console
//! $ cargo bench --bench tables
//! ```

use std::time::Instant;

use tinygram_naglemark::Work;
use tinygram_naglemark::hosts::Model;
use tinygram_papers::mogul::tables::measured;

const REPETITIONS: u32 = 10;
const SEED: u64 = 1;

fn main() {
    // `cargo test --benches` only checks that it starts.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let (mut work, mut seconds) = (Work::default(), 0.0);
    for table in [4, 5] {
        let (of_table, took) = pass(table);
        println!("Table {table}: {}", summary(&of_table, took));
        work = work.and(of_table);
        seconds += took;
    }
    println!("Both:    {}", summary(&work, seconds));
}

#[allow(clippy::disallowed_methods)] // a benchmark asks how long the machine takes
fn pass(table: u8) -> (Work, f64) {
    let began = Instant::now();
    let cells = measured(table, Model::Fitted, REPETITIONS, SEED);
    let seconds = began.elapsed().as_secs_f64();
    let work = cells
        .iter()
        .fold(Work::default(), |work, cell| work.and(cell.score.work));
    (work, seconds)
}

fn summary(work: &Work, seconds: f64) -> String {
    let per_second = |count: u64| count as f64 / seconds;
    format!(
        "{seconds:.2} s on {} threads; {:.2} million data segments/s, {:.0} transfers/s",
        rayon::current_num_threads(),
        per_second(work.data_segments) / 1e6,
        per_second(work.transfers),
    )
}
