//! Programs whose habits are known: those that the atlas has rows of, and how each is recognised.
//!
//! The name of a process or what a program says of itself (`Server:`, `User-Agent:`, a greeting) is no proof, so what is
//! recognised is "perhaps". The table is written by `atlas/table --programs`.

use core::fmt;

use crate::Side;

/// A program that the atlas has a row of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program {
    /// The name of its row and of its page.
    pub id: &'static str,
    /// Its own name.
    pub name: &'static str,
    /// The side that it is.
    pub side: Side,
    /// Names of its processes, with commas between them.
    processes: &'static str,
    /// What it says of itself, with bars between them.
    banners: &'static str,
}

impl Program {
    /// Returns all programs that can be recognised.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.lines().filter_map(Self::of_line)
    }

    /// Returns the program whose processes have this name.
    #[must_use]
    pub fn of_process(name: &str, side: Side) -> Option<Self> {
        Self::all().find(|it| it.side == side && it.processes().any(|own| own == name))
    }

    /// Returns the names of its processes.
    pub fn processes(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.processes.split(',').filter(|own| !own.is_empty())
    }

    /// Returns what it says of itself.
    pub fn banners(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.banners.split('|').filter(|own| !own.is_empty())
    }

    /// Returns where its page lies.
    #[must_use]
    pub fn page(&self) -> Page {
        Page(self.id)
    }

    fn of_line(line: &'static str) -> Option<Self> {
        let mut columns = line.split('\t');
        let mut next = || columns.next();
        Some(Self {
            id: next()?,
            name: next()?,
            side: match next()? {
                "server" => Side::Server,
                "client" => Side::Client,
                _ => return None,
            },
            processes: next()?,
            banners: next()?,
        })
    }
}

/// The path of a program's page, in the project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page(&'static str);

impl fmt::Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "atlas/pages/{}.md", self.0)
    }
}

/// Returns whether a banner that stands in these octets at `at` is one: a field of a head begins a line.
#[must_use]
pub fn is_said(banner: &str, octets: &[u8], at: usize) -> bool {
    !banner.contains(": ") || (at >= 2 && octets[at - 2..].starts_with(b"\r\n"))
}

static TABLE: &str = include_str!("programs.tsv");

#[cfg(test)]
mod tests {
    use super::*;

    /// What is recognised is one program's alone, and each line of the table is read.
    #[test]
    fn no_two_programs_have_processes_of_one_name() {
        assert_eq!(Program::all().count(), TABLE.lines().count() - 1);
        for program in Program::all() {
            for process in program.processes() {
                assert_eq!(Program::of_process(process, program.side), Some(program));
            }
        }
    }

    #[test]
    fn a_client_is_not_its_server() {
        assert_eq!(Program::of_process("mosquitto", Side::Client), None);
    }
}
