//! The stack that a program in C has: the code needs more of it than of a goroutine's.

use std::path::Path;
use std::process::Command;

use crate::built::{by, source};
use crate::programs::tinygram;

/// Returns the octets of the stack that were used, the octets below it that were touched, and segments; `None` if the C
/// library does not accept a stack of this size.
fn used(mut command: Command, size: u32) -> Option<[u32; 3]> {
    let output = command.arg(size.to_string()).output().unwrap();
    assert!(output.status.success(), "{size}: {output:?}");
    let said = String::from_utf8(output.stdout).unwrap();
    if said.trim() == "refused" {
        return None;
    }
    let numbers: Vec<u32> = said
        .split_whitespace()
        .map(|one| one.parse().unwrap())
        .collect();
    Some(numbers.try_into().unwrap())
}

/// Checks that on the smallest stack that a C library accepts for a thread there is room for the program's calls and the
/// code, and octets are held there.
fn fits(program: &Path) {
    let smallest = (1..=64)
        .map(|step| step * 1024)
        .find(|size| used(Command::new(program), *size).is_some())
        .unwrap();
    let [before, _, apart] = used(Command::new(program), smallest).unwrap();
    let mut command = tinygram();
    command.args(["run", "--"]).arg(program);
    let [after, touched, joined] = used(command, smallest).unwrap();
    println!("a stack of {smallest}: {before} octets used as it is, {after} under run");
    assert!(
        joined < apart * 3 / 4,
        "{joined} segments instead of {apart}"
    );
    assert!(after < smallest, "{after} of {smallest}");
    assert_eq!(touched, 0, "octets below the stack");
}

#[test]
fn musls_smallest_stack_is_enough() {
    let flags = ["-O2", "-static", "-s"];
    if let Some((_folder, program)) = by("musl-gcc", &source("small_stack.c"), &flags) {
        fits(&program);
    }
}

#[test]
fn glibcs_smallest_stack_is_enough() {
    let flags = ["-O2", "-static", "-s", "-pthread"];
    if let Some((_folder, program)) = by("cc", &source("small_stack.c"), &flags) {
        fits(&program);
    }
}
