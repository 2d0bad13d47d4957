//! One module per verb; this list is the only place that knows them all.

mod bpf;
mod completions;
mod cure;
pub(crate) mod deadlock;
pub(crate) mod diagnose;
mod guard;
mod install;
mod link;
mod man;
mod mcp;
pub(crate) mod naglemark;
mod page;
pub(crate) mod policies;
pub(crate) mod prevalence;
mod ps;
pub(crate) mod reproduce;
mod run;
mod set;
mod watch;
mod whatif;

use clap::Subcommand;

use crate::outcome::{Done, Failure};

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Measure which small-segment policy stalls, on which lengths, how often, at what price
    ///
    /// Without arguments: Tables 4 and 5 of Mogul & Minshall, "Rethinking the TCP Nagle algorithm".
    /// Sizes are bytes (4096, 4K, 4KiB), lengths of time have a unit (40ms, 0.5s), lists are
    /// separated by commas.
    Naglemark(Box<naglemark::Args>),
    /// List the send and ACK policies: one line each, their source, what they need to know
    Policies(policies::Args),
    Bpf(bpf::Args),
    Deadlock(deadlock::Args),
    Diagnose(diagnose::Args),
    Prevalence(Box<prevalence::Args>),
    /// Reproduce the five papers: every published table and trace beside ours
    Reproduce(reproduce::Args),
    /// Run a program that coalesces its small writes and flushes when it waits
    ///
    /// TCP_NODELAY alone (--policy nodelay) cures the stalls. Holding also saves segments and CPU if an
    /// answer takes several writes and the program is busy, or takes eight writes or more. It adds nothing,
    /// and costs next to nothing, if each answer is one write, in bulk transfer, and if a quiet program
    /// writes headers and body apart (--eager holds there as well). --policy observe --stats shows what a
    /// program would gain, and which of its lines make the writes that wait; it changes nothing.
    Run(run::Args),
    Set(set::Args),
    Cure(cure::Args),
    Whatif(whatif::Args),
    Install(Box<install::Args>),
    /// Show every TCP connection with its process and its live options
    Ps(ps::Args),
    Watch(watch::Args),
    Guard(guard::Args),
    Link(link::Args),
    Page(page::Args),
    Mcp(mcp::Args),
    /// Print a completion script for a shell
    Completions(completions::Args),
    /// Print the manual page, in roff
    Man(man::Args),
}

impl Verb {
    pub(crate) fn run(self) -> Result<Done, Failure> {
        match self {
            Self::Naglemark(args) => naglemark::run(&args),
            Self::Policies(args) => policies::run(&args),
            Self::Bpf(args) => bpf::run(&args),
            Self::Deadlock(args) => deadlock::run(&args),
            Self::Diagnose(args) => diagnose::run(args),
            Self::Prevalence(args) => prevalence::run(&args),
            Self::Completions(args) => completions::run(&args),
            Self::Man(args) => man::run(&args),
            Self::Mcp(args) => mcp::run(args),
            Self::Page(args) => page::run(&args),
            Self::Link(args) => link::run(&args),
            Self::Ps(args) => ps::run(&args),
            Self::Watch(args) => watch::run(&args),
            Self::Guard(args) => guard::run(&args),
            Self::Reproduce(args) => reproduce::run(&args),
            Self::Run(args) => run::run(&args),
            Self::Set(args) => set::run(&args),
            Self::Cure(args) => cure::run(&args),
            Self::Whatif(args) => whatif::run(&args),
            Self::Install(args) => install::run(&args),
        }
    }
}

/// Writes results to standard output, whole or not at all.
fn print(bytes: &[u8]) -> Result<Done, Failure> {
    crate::terminal::print(bytes)
}
