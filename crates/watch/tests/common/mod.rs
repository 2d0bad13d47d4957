//! The kernel as a source for tests. A test that cannot have it says so and passes, except in CI.

use std::collections::BTreeMap;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use tinygram_watch::finding::Finding;
use tinygram_watch::judge::Judge;
use tinygram_watch::kernel::{Source, SourceOptions};

pub(crate) struct Watched {
    source: Source,
}

impl Watched {
    /// Opens the source. Prints the reason and returns `None` if the kernel or the privileges are
    /// insufficient; in CI that is a failure.
    pub(crate) fn open(options: &SourceOptions) -> Option<Self> {
        match Source::open(options) {
            Ok(source) => Some(Self { source }),
            Err(lacking) if std::env::var_os("CI").is_some() => panic!("{lacking}"),
            Err(lacking) => {
                println!("skipped: {lacking}");
                None
            }
        }
    }

    /// Runs the commands at the same time; returns their outputs in this order, and the findings
    /// meanwhile.
    pub(crate) fn during(&mut self, commands: &mut [Command]) -> (Vec<Output>, Vec<Finding>) {
        let (ended, end) = mpsc::channel();
        for (at, command) in commands.iter_mut().enumerate() {
            let child = command
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .expect("it starts");
            let ended = ended.clone();
            std::thread::spawn(move || ended.send((at, child.wait_with_output())));
        }
        let mut judge = Judge::default();
        let mut findings = Vec::new();
        let mut outputs = BTreeMap::new();
        while outputs.len() < commands.len() {
            self.source.poll(Duration::from_millis(20), |event| {
                judge.take(event, |found| findings.push(found));
            });
            outputs.extend(end.try_iter());
        }
        self.source.poll(Duration::from_millis(20), |event| {
            judge.take(event, |found| findings.push(found));
        });
        judge.finish(|found| findings.push(found));
        let outputs = outputs.into_values().map(|output| output.expect("it ends"));
        (outputs.collect(), findings)
    }
}
