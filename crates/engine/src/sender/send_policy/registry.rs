//! The one list of send policies. An entry gives a variant its name, its help, its documentation
//! page and its place in every table; nothing else lists them all.

use core::fmt;

use super::{
    Moment, Offer, Rule, Told, Vars, Verdict,
    borman::Borman,
    custom::Custom,
    dldet::Dldet,
    doupnik::Doupnik,
    eom::Eom,
    flush_on_block::FlushOnBlock,
    flush_on_block_simple::FlushOnBlockSimple,
    liberal_nagle::LiberalNagle,
    linux::Linux,
    minshall::Minshall,
    msmv::Msmv,
    mss_outstanding::MssOutstanding,
    nagle::Nagle,
    naglim::{DEFAULT_LIMIT, Naglim},
    off::Off,
    strict_nagle::StrictNagle,
    toggle::Toggle,
    toggle_both_ends::ToggleBothEnds,
    toggle_program::ToggleProgram,
    trials::SharedTrials,
};
use crate::registry::registry;
use crate::time::Instant;
use Needs::{Hints, Nothing, State};
use Origin::{Davids, MogulMinshall, MoldeklevGunningberg, Tinygram};

registry! { ($)
    /// A send policy: what becomes of a runt. The choice alone; a connection [installs](Self::install)
    /// it and keeps its memory.
    choice SendPolicy;
    /// A connection's send policy with its memory.
    installed Installed;
    entry Registered;
    kind "send policy";

    Nagle {
        name: "nagle",
        summary: "hold a runt while anything is unacknowledged; idle tested once per output pass (BSD)",
        rule: Nagle = Nagle,
        label: "NAGLE",
        origin: MogulMinshall,
        section: "section 3",
        needs: Nothing,
    }
    Off {
        name: "off",
        summary: "never hold (TCP_NODELAY)",
        rule: Off = Off,
        label: "OFF",
        origin: MogulMinshall,
        section: "section 2",
        needs: Nothing,
    }
    Minshall {
        name: "minshall",
        summary: "hold a runt while an earlier small segment is unacknowledged",
        rule: Minshall = Minshall::default(),
        label: "MINSHALL",
        origin: MogulMinshall,
        section: "section 5.1",
        needs: State("two sequence numbers"),
    }
    Msmv {
        name: "msmv",
        summary: "hold a runt if the segment before it was small",
        rule: Msmv = Msmv::default(),
        label: "MSMV",
        origin: MogulMinshall,
        section: "section 5.2",
        needs: State("one bit"),
    }
    Eom {
        name: "eom",
        summary: "send the runt that ends a write of more than one cluster",
        rule: Eom = Eom::default(),
        label: "EOM",
        origin: MogulMinshall,
        section: "section 5.3",
        needs: Hints("end of a large write"),
    }
    EomMore {
        name: "e+m",
        summary: "EOM and MORE: no runts inside a write",
        rule: Eom = Eom::with_more(),
        label: "E+M",
        origin: MogulMinshall,
        section: "section 5.4",
        needs: Hints("end of a large write, more to come"),
    }
    MinshallMore {
        name: "min+more",
        summary: "MINSHALL and MORE",
        rule: Minshall = Minshall::with_more(),
        label: "MIN+MORE",
        origin: MogulMinshall,
        section: "section 8",
        needs: Hints("two sequence numbers, more to come"),
    }
    Dldet {
        name: "dldet",
        summary: "send the runt that a blocking reader or writer waits for",
        rule: Dldet = Dldet::default(),
        label: "DLDET",
        origin: MogulMinshall,
        section: "section 5.6",
        needs: Hints("a thread blocks on the socket, more to come"),
    }
    EomMoreMsmv {
        name: "e+m+m",
        summary: "EOM, MORE and MSMV",
        rule: Eom = Eom::with_more_and_msmv(),
        label: "E+M+M",
        origin: MogulMinshall,
        section: "section 8",
        needs: Hints("end of a large write, more to come, one bit"),
    }
    EomMoreDldet {
        name: "e+m+d",
        summary: "EOM, MORE and DLDET",
        rule: Eom = Eom::with_more_and_dldet(),
        label: "E+M+D",
        origin: MogulMinshall,
        section: "section 8",
        needs: Hints("end of a large write, more to come, a thread blocks"),
    }
    Borman {
        name: "borman",
        summary: "decide once for each write: idle when it began (BSD/OS)",
        rule: Borman = Borman::default(),
        label: "BORMAN",
        origin: MogulMinshall,
        section: "section 5.5",
        needs: Hints("begin of a write, more to come"),
    }
    DldetMinshall {
        name: "dldet+minshall",
        summary: "DLDET and MINSHALL, the paper's future work",
        rule: Minshall = Minshall::with_dldet(),
        label: "DLDET+MINSHALL",
        origin: MogulMinshall,
        section: "section 10",
        needs: Hints("two sequence numbers, more to come, a thread blocks"),
    }
    DldetMsmv {
        name: "dldet+msmv",
        summary: "DLDET and MSMV, the paper's future work",
        rule: Msmv = Msmv::with_dldet(),
        label: "DLDET+MSMV",
        origin: MogulMinshall,
        section: "section 10",
        needs: Hints("one bit, more to come, a thread blocks"),
    }
    StrictNagle {
        name: "strict-nagle",
        summary: "Nagle with idleness tested for every segment (RFC 896)",
        rule: StrictNagle = StrictNagle,
        label: "STRICT-NAGLE",
        origin: Origin::Doupnik,
        section: "section 1.3",
        needs: Nothing,
    }
    LiberalNagle {
        name: "liberal-nagle",
        summary: "Nagle that lets a runt follow full segments of its pass",
        rule: LiberalNagle = LiberalNagle,
        label: "LIBERAL-NAGLE",
        origin: Origin::Doupnik,
        section: "section 1.5",
        needs: Nothing,
    }
    Doupnik {
        name: "doupnik",
        summary: "full segments, and the partial one that ends the application's data",
        rule: Doupnik = Doupnik::default(),
        label: "DOUPNIK",
        origin: Origin::Doupnik,
        section: "section 2.1, rules 1 and 2",
        needs: Hints("end of a write"),
    }
    DoupnikLiberal {
        name: "doupnik-liberal",
        summary: "the same, and a partial one behind full segments of its pass",
        rule: Doupnik = Doupnik::liberal(),
        label: "DOUPNIK-LIBERAL",
        origin: Origin::Doupnik,
        section: "section 2.1, rules 1 to 3",
        needs: Hints("end of a write"),
    }
    MssOutstanding {
        name: "mss-outstanding",
        summary: "Nagle that lets a runt go once an MSS is unacknowledged",
        rule: MssOutstanding = MssOutstanding,
        label: "MSS-OUTSTANDING",
        origin: MoldeklevGunningberg,
        section: "section 4.2.1",
        needs: Nothing,
    }
    Naglim with {
        /// In octets; the smaller of this and the MSS counts, and 1 is TCP_NODELAY.
        limit: u32 = DEFAULT_LIMIT
    } {
        name: "naglim",
        summary: "hold a runt below a threshold while anything is unacknowledged (Solaris)",
        rule: Naglim = Naglim { limit },
        label: "NAGLIM",
        origin: Davids,
        section: "tcp_naglim_def",
        needs: State("a threshold in octets"),
    }
    Linux {
        name: "linux",
        summary: "Minshall's test on the last small segment sent, CORK and MORE, autocorking",
        rule: Linux = Linux::default(),
        label: "LINUX",
        origin: Origin::Linux,
        section: "tcp_nagle_test",
        needs: Hints("cork, MSG_MORE, the device queue"),
    }
    FlushOnBlock {
        name: "flush-on-block",
        summary: "what tinygram run does: gather while the habit promises more, until the writing thread blocks",
        rule: FlushOnBlock = FlushOnBlock::default(),
        label: "FLUSH-ON-BLOCK",
        origin: Tinygram,
        section: "the book: run",
        needs: Hints("the writing thread blocks on anything, a clock"),
    }
    FlushOnBlockEager {
        name: "flush-on-block-eager",
        summary: "tinygram run --eager: the same from the first write on, and however rare the answers",
        rule: FlushOnBlock = FlushOnBlock::eager(),
        label: "FLUSH-ON-BLOCK-EAGER",
        origin: Tinygram,
        section: "the book: run",
        needs: Hints("the writing thread blocks on anything, a clock"),
    }
    FlushOnBlockSimple {
        name: "flush-on-block-simple",
        summary: "gather until the thread that wrote is about to block, then send at once",
        rule: FlushOnBlockSimple = FlushOnBlockSimple::default(),
        label: "FLUSH-ON-BLOCK-SIMPLE",
        origin: Tinygram,
        section: "docs of the file",
        needs: Hints("the writing thread blocks on anything, a clock"),
    }
    Toggle {
        name: "toggle",
        summary: "hold as Nagle's or send at once, whichever left less waiting when both were tried",
        rule: Toggle = Toggle::default(),
        label: "TOGGLE",
        origin: Tinygram,
        section: "the book: load",
        needs: Hints("octets unread, a clock that all connections share"),
    }
    ToggleHost with {
        /// Whose connections decide together.
        host: SharedTrials = SharedTrials::default()
    } {
        name: "toggle-host",
        summary: "TOGGLE, but all connections of a host decide together",
        rule: Toggle = Toggle::of(host),
        label: "TOGGLE-HOST",
        origin: Tinygram,
        section: "the book: load",
        needs: Hints("octets unread, memory that a host's connections share, a clock that all share"),
    }
    ToggleBothEnds {
        name: "toggle-both-ends",
        summary: "TOGGLE by the queues of both ends: the peer's counters come on its pure ACKs",
        rule: ToggleBothEnds = ToggleBothEnds::default(),
        label: "TOGGLE-BOTH-ENDS",
        origin: Tinygram,
        section: "the book: load",
        needs: Hints("the peer's counters, octets unread, a clock that both hosts share"),
    }
    ToggleProgram {
        name: "toggle-program",
        summary: "TOGGLE by what run sees: the program's writes and reads, and when it blocks",
        rule: ToggleProgram = ToggleProgram::default(),
        label: "TOGGLE-PROGRAM",
        origin: Tinygram,
        section: "the book: load",
        needs: Hints("reads, the writing thread blocks, a clock that all connections share"),
    }
}

impl SendPolicy {
    /// Returns a policy that a user of the library defines, which may have a memory.
    pub fn custom(rule: impl Rule + Clone + fmt::Debug + Send + Sync + 'static) -> Self {
        Self::Custom(Custom::new(rule))
    }

    /// Returns NAGLIM with a limit in octets.
    #[must_use]
    pub const fn naglim(limit: u32) -> Self {
        Self::Naglim { limit }
    }

    /// Returns the same policy for the connections of another host, which decide without those of this one.
    #[must_use]
    pub fn on_another_host(self) -> Self {
        match self {
            Self::ToggleHost { .. } => Self::ToggleHost {
                host: SharedTrials::default(),
            },
            other => other,
        }
    }

    /// Returns the variant as Mogul & Minshall's text describes it, if their results need another
    /// reading (sections 5.1, 5.2 and 5.5); all other variants unchanged.
    #[must_use]
    pub fn to_the_letter(self) -> Self {
        match self {
            Self::Minshall => Self::custom(Minshall::default().to_the_letter()),
            Self::MinshallMore => Self::custom(Minshall::with_more().to_the_letter()),
            Self::DldetMinshall => Self::custom(Minshall::with_dldet().to_the_letter()),
            Self::Msmv => Self::custom(Msmv::default().to_the_letter()),
            Self::DldetMsmv => Self::custom(Msmv::with_dldet().to_the_letter()),
            Self::EomMoreMsmv => Self::custom(Eom::with_more_and_msmv().to_the_letter()),
            Self::Borman => Self::custom(Borman::once()),
            other => other,
        }
    }
}

impl Installed {
    /// Decides as [`Rule::decide`] does. Each rule computes the variables that it reads.
    #[inline]
    pub(crate) fn decide_by(&self, offer: &Offer, told: &impl Told) -> Verdict {
        dispatch!(self, policy => policy.decide(offer, &told.vars()))
    }

    /// Takes note as [`Rule::observe`] does. Each rule computes the variables that it reads. Inlined
    /// at every call, because the moment is known there.
    #[inline(always)]
    pub(crate) fn observe_by(&mut self, moment: Moment, told: &impl Told) {
        dispatch!(self, policy => policy.observe(moment, &told.vars()));
    }
}

impl Rule for Installed {
    fn name(&self) -> &str {
        dispatch!(self, policy => policy.name())
    }

    fn reason(&self, number: u8) -> &str {
        dispatch!(self, policy => policy.reason(number))
    }

    #[inline]
    fn decide(&self, offer: &Offer, vars: &Vars) -> Verdict {
        dispatch!(self, policy => policy.decide(offer, vars))
    }

    /// Tells the policy. Inlined at every call, because the moment is known there.
    #[inline(always)]
    fn observe(&mut self, moment: Moment, vars: &Vars) {
        dispatch!(self, policy => policy.observe(moment, vars));
    }

    fn takes_window_cuts(&self) -> bool {
        dispatch!(self, policy => policy.takes_window_cuts())
    }

    fn heeds_blocking(&self) -> bool {
        dispatch!(self, policy => policy.heeds_blocking())
    }

    fn heeds_receiving(&self) -> bool {
        dispatch!(self, policy => policy.heeds_receiving())
    }

    fn heeds_peer(&self) -> bool {
        dispatch!(self, policy => policy.heeds_peer())
    }

    fn wants_report(&self, now: Instant, last: Option<Instant>) -> bool {
        dispatch!(self, policy => policy.wants_report(now, last))
    }

    fn includes_more(&self) -> bool {
        dispatch!(self, policy => policy.includes_more())
    }
}

/// What a policy needs from the rest of the system besides the sender's variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Nothing.
    Nothing,
    /// State per connection, with this name.
    State(&'static str),
    /// Hints from the socket layer, with this name.
    Hints(&'static str),
}

/// Where a policy comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// Mogul & Minshall, "Rethinking the TCP Nagle algorithm".
    MogulMinshall,
    /// Moldeklev & Gunningberg, "How a large ATM MTU causes deadlocks in TCP data transfers".
    MoldeklevGunningberg,
    /// Doupnik, "A new TCP transmission policy replacing Nagle mode".
    Doupnik,
    /// Davids, "Fast or efficient?".
    Davids,
    /// The Linux kernel.
    Linux,
    /// This project.
    Tinygram,
    /// The user of the library.
    User,
}

impl Origin {
    /// Returns the text in the list of policies.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::MogulMinshall => "Mogul & Minshall",
            Self::MoldeklevGunningberg => "Moldeklev & Gunningberg",
            Self::Doupnik => "Doupnik",
            Self::Davids => "Davids",
            Self::Linux => "Linux",
            Self::Tinygram => "tinygram",
            Self::User => "library user",
        }
    }
}

/// A policy's entry in the list.
#[derive(Clone, Copy, Debug)]
pub struct Registered {
    /// The name on a command line: `--policy minshall`.
    pub name: &'static str,
    /// The name in the papers' tables.
    pub label: &'static str,
    /// Its origin.
    pub origin: Origin,
    /// The section that defines it.
    pub section: &'static str,
    /// One line.
    pub summary: &'static str,
    /// What it needs from the rest of the system.
    pub needs: Needs,
    /// Returns the choice.
    pub make: fn() -> SendPolicy,
}

impl Registered {
    fn is_called(&self, name: &str) -> bool {
        [self.name, self.label]
            .iter()
            .any(|own| own.eq_ignore_ascii_case(name))
    }
}
