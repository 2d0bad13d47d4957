//! Runs a Go program with the rule in it, and prints what was counted when it has ended.
//!
//! `cargo run -p tinygram-graft --example graft -- PROGRAM [ARGUMENT]...`

use std::process::Command;
use std::sync::atomic::Ordering::Relaxed;

use tinygram_graft::{launch, layout::Cause, object::Object, program, shared::Settings};

fn main() {
    let mut arguments = std::env::args_os().skip(1);
    let name = arguments.next().expect("a program's path");
    let bytes = std::fs::read(&name).expect("it can be read");
    let program = program::read(&bytes).expect("it is a Go program");
    let object = Object::carried().expect("x86-64");
    let mut command = Command::new(&name);
    command.args(arguments);
    let settings = Settings::default();
    let failed = launch::become_program(command, &program, &object, &settings, |shared, _| {
        let counts = &shared.counts;
        let [writes, held, merged, unwatched] = [
            &counts.writes,
            &counts.held,
            &counts.merged,
            &counts.unwatched,
        ]
        .map(|count| count.load(Relaxed));
        eprintln!(
            "writes {writes} held {held} merged {merged} unwatched {unwatched} inert {}",
            shared.inert.load(Relaxed)
        );
        for (cause, name) in Cause::ALL {
            eprintln!("{name} {}", counts.flushes[cause as usize].load(Relaxed));
        }
    });
    eprintln!("{failed}");
    std::process::exit(1);
}
