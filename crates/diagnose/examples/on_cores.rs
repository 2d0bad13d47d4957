//! Times the analysis of a capture on several threads, in turn.
//!
//! `cargo run --profile dist -p tinygram-diagnose --example on_cores -- CAPTURE ROUNDS [THREADS...]`

use std::fs::File;
use std::time::Instant;

use tinygram_diagnose::{Analyzer, Parameters};

#[expect(clippy::disallowed_methods, reason = "it measures real time")]
fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [capture, rounds, threads @ ..] = args.as_slice() else {
        panic!("CAPTURE ROUNDS [THREADS...]");
    };
    let number = |text: &String| text.parse::<usize>().expect("a number");
    for _ in 0..number(rounds) {
        for threads in threads.iter().map(number) {
            let begun = Instant::now();
            let mut analyzer = Analyzer::new(Parameters::default());
            let file = File::open(capture).expect("a file");
            analyzer.read(file, threads).expect("a whole capture");
            let summary = analyzer.finish().summary;
            let seconds = begun.elapsed().as_secs_f64();
            println!(
                "{threads} threads: {seconds:.3} s, {} frames, {} stalls",
                summary.frames, summary.stalls
            );
        }
    }
}
