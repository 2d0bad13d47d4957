//! The kernel as a source for tests. A test that cannot have it says so and passes, except in CI.

use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use tinygram_watch::finding::Finding;
use tinygram_watch::judge::Judge;
use tinygram_watch::kernel::{Options, Source};

pub(crate) struct Watched {
    source: Source,
}

impl Watched {
    /// Opens the source. Prints the reason and returns `None` if the kernel or the privileges are
    /// insufficient; in CI that is a failure.
    pub(crate) fn open(options: &Options) -> Option<Self> {
        match Source::open(options) {
            Ok(source) => Some(Self { source }),
            Err(lacking) if std::env::var_os("CI").is_some() => panic!("{lacking}"),
            Err(lacking) => {
                println!("skipped: {lacking}");
                None
            }
        }
    }

    /// Runs `command`; returns its output, and the findings meanwhile.
    pub(crate) fn during(&mut self, command: &mut Command) -> (Output, Vec<Finding>) {
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let (ended, end) = mpsc::channel();
        std::thread::spawn(move || ended.send(child.wait_with_output()));
        let mut judge = Judge::default();
        let mut findings = Vec::new();
        let output = loop {
            self.source.poll(Duration::from_millis(20), |event| {
                judge.take(event, |found| findings.push(found));
            });
            if let Ok(output) = end.try_recv() {
                break output.expect("it ends");
            }
        };
        self.source.poll(Duration::from_millis(20), |event| {
            judge.take(event, |found| findings.push(found));
        });
        judge.finish(|found| findings.push(found));
        (output, findings)
    }
}
