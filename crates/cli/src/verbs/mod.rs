//! One module per verb; this list is the only place that knows them all.

mod completions;
pub(crate) mod deadlock;
pub(crate) mod diagnose;
mod man;
pub(crate) mod naglemark;
mod page;
pub(crate) mod policies;
pub(crate) mod prevalence;
pub(crate) mod reproduce;
mod whatif;

#[cfg(target_os = "linux")]
mod bpf;
#[cfg(target_os = "linux")]
mod cure;
#[cfg(target_os = "linux")]
mod guard;
#[cfg(target_os = "linux")]
mod install;
#[cfg(target_os = "linux")]
mod link;
#[cfg(target_os = "linux")]
mod mcp;
#[cfg(target_os = "linux")]
mod ps;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod set;
#[cfg(target_os = "linux")]
mod watch;
// On another system these are listed, and refused.
#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(not(target_os = "linux"))]
use elsewhere::{bpf, cure, guard, install, link, mcp, ps, run, set, watch};

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
    /// Give a program or a control group one of the papers' send policies, in the kernel
    ///
    /// Each policy is a BPF congestion control that holds small segments and leaves all else to the kernel's own. While this
    /// runs, every connection that the program or group opens or accepts has the policy, with TCP_NODELAY set, so that the
    /// kernel's own rule adds nothing. At the end they get back what they had; after a kill -9 open connections keep the
    /// policy, and no other gets it. It takes root, Linux 6.4 or newer, and control groups of version 2.
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
    /// Set options of live sockets, whoever owns them, without touching the program
    ///
    /// TARGET is a process (by id or name), a script, a systemd unit, a container, a port, or a control group's path.
    /// A number that is both a process and a port of others is refused: pid:8080 means the process, port:8080 the port.
    /// OPTION=VALUE is nodelay=on|off, delack-max=8ms (the longest that this end delays an acknowledgment),
    /// notsent-lowat=16K, or congestion=NAME; of a network namespace, named by a process in it, pingpong=1..255 or
    /// autocorking=on|off; of the routes of the connections, quickack=on|off. What is changed is in a journal before it is changed, so --undo works after a
    /// crash, too. In a container that sees the host's processes it is the host's journal: the host's --undo finds what was set
    /// there. SSH's sockets are left out unless they are named. It takes root, or CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN.
    Set(set::Args),
    /// End the stalls of a running program without touching it, if its own connections prove that it helps
    ///
    /// Looks what stalls, then tries what ends it, in this order: nodelay=on of the sockets that stall; delack-max (the
    /// shortest delayed ACK) of the receiver's sockets on this host; quickack=on of the routes over which the receiver
    /// sends; pingpong=255 of the receiver's network namespace. For autocorking it is autocorking=off of the namespace; for
    /// TCP_CORK it is cork=off, with --uncork only. What is of a route or a namespace holds for all its connections, also
    /// those to come, until it is put back (set --undo, or the end of --watch); it is tried and kept only while no other
    /// connection uses that. It is tried in periods with it and without it, in an order that is drawn, or on half of the
    /// clients' connections.
    /// It is kept only if stalls became fewer beyond chance and neither answers a second nor their times became worse; else it
    /// is put back, and a sentence says why. It takes root, or CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN.
    Cure(cure::Args),
    Whatif(whatif::Args),
    /// Make a remedy last: for a systemd unit, a port, a control group or a container
    ///
    /// --unit adds a drop-in that loads the library of `run` into a service. --cure adds a service that runs `cure --watch`.
    /// --config does so for each policy of a file. What is written is in a manifest before it is written, so --remove leaves
    /// the files as they were, after a crash, too. Nothing is started or stopped: the commands for that are printed.
    Install(Box<install::Args>),
    /// Show every TCP connection with its process and its live options
    Ps(ps::Args),
    /// Show stalls and floods on this host as they happen, by process, without a capture
    ///
    /// Asks the kernel (BPF at its own tracepoints) when a short segment is held back, why, until when, and
    /// by whose write; says who waited, what it cost, and what helps at either end. Nothing is changed on
    /// the host, and nothing stays attached when it ends. Needs root, or CAP_BPF and CAP_PERFMON, and Linux
    /// 6.1; elsewhere packets are read instead, which takes root or CAP_NET_RAW.
    Watch(watch::Args),
    /// Run a test suite or a benchmark, and fail if a connection of it stalls
    ///
    /// A connection stalls if TCP holds a short segment while the process that wrote it waits for its peer.
    /// Stalls are detected when the process waits and its peer's timer of delayed acknowledgments expires, not by a
    /// time limit. The exit
    /// code is the command's if that is not 0, else 1 if there were stalls that are not accepted, else 0; 3 if they
    /// could not be looked for, or fewer connections were seen than --min-connections wants. The kernel is asked
    /// where it can be (root, or CAP_BPF and CAP_PERFMON, and Linux 6.1); else a library is preloaded, which takes no
    /// privileges.
    Guard(guard::Args),
    /// Join two network namespaces by an emulated link: rate, delay, loss and the rest
    ///
    /// Also makes the namespaces, or uses two existing ones. A COMMAND runs in the first and finds the
    /// address of its peer in TINYGRAM_PEER and TINYGRAM_PEER6; without one, the link stays until Ctrl-C.
    /// Nothing is left behind.
    Link(link::Args),
    Page(page::Args),
    /// Answer a coding agent's questions: these verbs as tools of the Model Context Protocol
    ///
    /// Serves one client on standard input and output until it closes them. The tools are is_it_nagle, diagnose, watch, ps,
    /// whatif, cure_dry_run, prevalence and deadlock. Answers are typed and short; text that others chose (names, lines of logs) is
    /// escaped and stands in fields called untrusted. Files are read beneath --root only. Nothing is changed on the host unless
    /// --allow-changes names a target.
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
            Self::Mcp(args) => mcp::run(&args),
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

/// The verbs that this system lacks.
#[cfg(target_os = "linux")]
pub(crate) const LACKING: &[&str] = &[];
#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::LACKING;

/// Writes results to standard output, whole or not at all.
fn print(bytes: &[u8]) -> Result<Done, Failure> {
    crate::terminal::print(bytes)
}
