//! A `tinygram watch` beside a test.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// A program that ends with its test, if it did not end before.
pub(crate) struct Running(pub(crate) Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns a watch that has begun to look and prints to `stdout`. Where this machine cannot do it, prints the reason
/// and returns `None`; in CI, fails.
pub(crate) fn watch(arguments: &[&str], stdout: Stdio) -> Option<Running> {
    let watch = Command::new(env!("CARGO_BIN_EXE_tinygram"))
        .arg("watch")
        .args(arguments)
        .stdout(stdout)
        .stderr(Stdio::piped())
        .spawn();
    let mut watch = Running(watch.expect("tinygram starts"));
    let mut first = String::new();
    let stderr = watch.0.stderr.as_mut().expect("a pipe");
    BufReader::new(stderr)
        .read_line(&mut first)
        .expect("a line");
    if first.contains("asking the kernel") || first.contains("reading packets") {
        return Some(watch);
    }
    assert!(std::env::var_os("CI").is_none(), "{first}");
    println!("skipped: {}", first.trim());
    None
}
