//! The one list of send policies. A line here gives a variant its names, its help and its place in
//! every table; nothing else names them all.

use core::fmt;

use super::{
    Moment, Offer, Rule, Vars, Verdict, borman::Borman, custom::Custom, dldet::Dldet,
    doupnik::Doupnik, eom::Eom, flush_on_block::FlushOnBlock,
    flush_on_block_simple::FlushOnBlockSimple, liberal_nagle::LiberalNagle, linux::Linux,
    minshall::Minshall, msmv::Msmv, mss_outstanding::MssOutstanding, nagle::Nagle, naglim::Naglim,
    off::Off, strict_nagle::StrictNagle,
};

/// What a policy must be told by the rest of the system, besides the sender's own variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Nothing.
    Nothing,
    /// State per connection, as named.
    State(&'static str),
    /// Hints from the socket layer, as named.
    Hints(&'static str),
}

/// Where a policy comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// As the list of policies prints it.
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
    /// The name that is typed: `--policy minshall`.
    pub name: &'static str,
    /// The name in the papers' tables.
    pub label: &'static str,
    /// Where it comes from.
    pub origin: Origin,
    /// The section that defines it.
    pub section: &'static str,
    /// One line.
    pub summary: &'static str,
    /// What it needs to know.
    pub needs: Needs,
    /// Makes a fresh one for a new connection.
    pub make: fn() -> SendPolicy,
}

macro_rules! dispatch {
    ($self:ident, $policy:ident => $call:expr) => {
        match $self {
            SendPolicy::Nagle($policy) => $call,
            SendPolicy::StrictNagle($policy) => $call,
            SendPolicy::LiberalNagle($policy) => $call,
            SendPolicy::Off($policy) => $call,
            SendPolicy::Minshall($policy) => $call,
            SendPolicy::Msmv($policy) => $call,
            SendPolicy::Eom($policy) => $call,
            SendPolicy::Dldet($policy) => $call,
            SendPolicy::Borman($policy) => $call,
            SendPolicy::MssOutstanding($policy) => $call,
            SendPolicy::Doupnik($policy) => $call,
            SendPolicy::Naglim($policy) => $call,
            SendPolicy::Linux($policy) => $call,
            SendPolicy::FlushOnBlock($policy) => $call,
            SendPolicy::FlushOnBlockSimple($policy) => $call,
            SendPolicy::Custom($policy) => $call,
        }
    };
}

/// A connection's send policy with its memory.
#[derive(Clone, Debug)]
#[allow(missing_docs)] // each is documented in its file and in the list below
pub enum SendPolicy {
    Nagle(Nagle),
    StrictNagle(StrictNagle),
    LiberalNagle(LiberalNagle),
    Off(Off),
    Minshall(Minshall),
    Msmv(Msmv),
    Eom(Eom),
    Dldet(Dldet),
    Borman(Borman),
    MssOutstanding(MssOutstanding),
    Doupnik(Doupnik),
    Naglim(Naglim),
    Linux(Linux),
    FlushOnBlock(FlushOnBlock),
    FlushOnBlockSimple(FlushOnBlockSimple),
    Custom(Custom),
}

impl SendPolicy {
    /// The list, in the papers' order.
    pub const LIST: &'static [Registered] = LIST;

    /// A fresh policy by its name or by its label in the papers, whatever the case.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Registered::named(name).map(|entry| (entry.make)())
    }

    /// The same variant as Mogul & Minshall's text has it, where their results ask for another
    /// reading (sections 5.1, 5.2 and 5.5); all others as they are.
    #[must_use]
    pub fn to_the_letter(self) -> Self {
        match self {
            Self::Minshall(minshall) => Self::Minshall(minshall.to_the_letter()),
            Self::Msmv(msmv) => Self::Msmv(msmv.to_the_letter()),
            Self::Eom(eom) => Self::Eom(eom.to_the_letter()),
            Self::Borman(_) => Self::Borman(Borman::once()),
            other => other,
        }
    }

    /// A policy of the library user's own, with memory of its own if it likes.
    pub fn custom(rule: impl Rule + Clone + fmt::Debug + Send + Sync + 'static) -> Self {
        Self::Custom(Custom::new(rule))
    }

    /// NAGLIM with a limit in octets.
    #[must_use]
    pub fn naglim(limit: u32) -> Self {
        Self::Naglim(Naglim { limit })
    }
}

impl Registered {
    /// The entry with this name or label, whatever the case.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        LIST.iter()
            .find(|e| e.name.eq_ignore_ascii_case(name) || e.label.eq_ignore_ascii_case(name))
    }
}

impl Rule for SendPolicy {
    #[inline]
    fn decide(&self, offer: &Offer, vars: &Vars) -> Verdict {
        dispatch!(self, policy => policy.decide(offer, vars))
    }

    /// Inlined wherever it is called from, since what the moment is is known there.
    #[inline(always)]
    fn observe(&mut self, moment: Moment, vars: &Vars) {
        dispatch!(self, policy => policy.observe(moment, vars));
    }

    #[inline]
    fn takes_window_cuts(&self) -> bool {
        dispatch!(self, policy => policy.takes_window_cuts())
    }

    #[inline]
    fn heeds_blocking(&self) -> bool {
        dispatch!(self, policy => policy.heeds_blocking())
    }

    #[inline]
    fn includes_more(&self) -> bool {
        dispatch!(self, policy => policy.includes_more())
    }
}

const fn entry(
    name: &'static str,
    label: &'static str,
    (origin, section): (Origin, &'static str),
    needs: Needs,
    make: fn() -> SendPolicy,
    summary: &'static str,
) -> Registered {
    Registered {
        name,
        label,
        origin,
        section,
        summary,
        needs,
        make,
    }
}

use Needs::{Hints, Nothing, State};
use Origin::{Davids, MogulMinshall, MoldeklevGunningberg};

const LIST: &[Registered] = &[
    entry(
        "nagle",
        "NAGLE",
        (MogulMinshall, "section 3"),
        Nothing,
        || SendPolicy::Nagle(Nagle),
        "hold a runt while anything is unacknowledged; idle tested once per output pass (BSD)",
    ),
    entry(
        "off",
        "OFF",
        (MogulMinshall, "section 2"),
        Nothing,
        || SendPolicy::Off(Off),
        "never hold (TCP_NODELAY)",
    ),
    entry(
        "minshall",
        "MINSHALL",
        (MogulMinshall, "section 5.1"),
        State("two sequence numbers"),
        || SendPolicy::Minshall(Minshall::default()),
        "hold a runt while an earlier small segment is unacknowledged",
    ),
    entry(
        "msmv",
        "MSMV",
        (MogulMinshall, "section 5.2"),
        State("one bit"),
        || SendPolicy::Msmv(Msmv::default()),
        "hold a runt if the segment before it was small",
    ),
    entry(
        "eom",
        "EOM",
        (MogulMinshall, "section 5.3"),
        Hints("end of a large write"),
        || SendPolicy::Eom(Eom::default()),
        "send the runt that ends a write of more than one cluster",
    ),
    entry(
        "e+m",
        "E+M",
        (MogulMinshall, "section 5.4"),
        Hints("end of a large write, more to come"),
        || SendPolicy::Eom(Eom::with_more()),
        "EOM and MORE: no runts inside a write",
    ),
    entry(
        "min+more",
        "MIN+MORE",
        (MogulMinshall, "section 8"),
        Hints("two sequence numbers, more to come"),
        || SendPolicy::Minshall(Minshall::with_more()),
        "MINSHALL and MORE",
    ),
    entry(
        "dldet",
        "DLDET",
        (MogulMinshall, "section 5.6"),
        Hints("a thread blocks on the socket, more to come"),
        || SendPolicy::Dldet(Dldet::default()),
        "send the runt that a blocking reader or writer waits for",
    ),
    entry(
        "e+m+m",
        "E+M+M",
        (MogulMinshall, "section 8"),
        Hints("end of a large write, more to come, one bit"),
        || SendPolicy::Eom(Eom::with_more_and_msmv()),
        "EOM, MORE and MSMV",
    ),
    entry(
        "e+m+d",
        "E+M+D",
        (MogulMinshall, "section 8"),
        Hints("end of a large write, more to come, a thread blocks"),
        || SendPolicy::Eom(Eom::with_more_and_dldet()),
        "EOM, MORE and DLDET",
    ),
    entry(
        "borman",
        "BORMAN",
        (MogulMinshall, "section 5.5"),
        Hints("begin of a write, more to come"),
        || SendPolicy::Borman(Borman::default()),
        "decide once for each write: idle when it began (BSD/OS)",
    ),
    entry(
        "dldet+minshall",
        "DLDET+MINSHALL",
        (MogulMinshall, "section 10"),
        Hints("two sequence numbers, more to come, a thread blocks"),
        || SendPolicy::Minshall(Minshall::with_dldet()),
        "DLDET and MINSHALL, the paper's future work",
    ),
    entry(
        "dldet+msmv",
        "DLDET+MSMV",
        (MogulMinshall, "section 10"),
        Hints("one bit, more to come, a thread blocks"),
        || SendPolicy::Msmv(Msmv::with_dldet()),
        "DLDET and MSMV, the paper's future work",
    ),
    entry(
        "strict-nagle",
        "STRICT-NAGLE",
        (Origin::Doupnik, "section 1.3"),
        Nothing,
        || SendPolicy::StrictNagle(StrictNagle),
        "Nagle with idleness tested for every segment (RFC 896)",
    ),
    entry(
        "liberal-nagle",
        "LIBERAL-NAGLE",
        (Origin::Doupnik, "section 1.5"),
        Nothing,
        || SendPolicy::LiberalNagle(LiberalNagle),
        "Nagle that lets a runt follow full segments of its pass",
    ),
    entry(
        "doupnik",
        "DOUPNIK",
        (Origin::Doupnik, "section 2.1, rules 1 and 2"),
        Hints("end of a write"),
        || SendPolicy::Doupnik(Doupnik::default()),
        "full segments, and the partial one that ends the application's data",
    ),
    entry(
        "doupnik-liberal",
        "DOUPNIK-LIBERAL",
        (Origin::Doupnik, "section 2.1, rules 1 to 3"),
        Hints("end of a write"),
        || SendPolicy::Doupnik(Doupnik::liberal()),
        "the same, and a partial one behind full segments of its pass",
    ),
    entry(
        "mss-outstanding",
        "MSS-OUTSTANDING",
        (MoldeklevGunningberg, "section 4.2.1"),
        Nothing,
        || SendPolicy::MssOutstanding(MssOutstanding),
        "Nagle that lets a runt go once an MSS is unacknowledged",
    ),
    entry(
        "naglim",
        "NAGLIM",
        (Davids, "tcp_naglim_def"),
        State("a threshold in octets"),
        || SendPolicy::Naglim(Naglim::default()),
        "hold a runt below a threshold while anything is unacknowledged (Solaris)",
    ),
    entry(
        "linux",
        "LINUX",
        (Origin::Linux, "tcp_nagle_test"),
        Hints("cork, MSG_MORE, the device queue"),
        || SendPolicy::Linux(Linux::default()),
        "Minshall's test on the last small segment sent, CORK and MORE, autocorking",
    ),
    entry(
        "flush-on-block",
        "FLUSH-ON-BLOCK",
        (Origin::Tinygram, "docs/run.md"),
        Hints("the writing thread blocks on anything, a clock"),
        || SendPolicy::FlushOnBlock(FlushOnBlock::default()),
        "what tinygram run does: gather while the habit promises more, until the writing thread blocks",
    ),
    entry(
        "flush-on-block-eager",
        "FLUSH-ON-BLOCK-EAGER",
        (Origin::Tinygram, "docs/run.md"),
        Hints("the writing thread blocks on anything, a clock"),
        || SendPolicy::FlushOnBlock(FlushOnBlock::eager()),
        "tinygram run --eager: the same from the first write on, and however rare the answers",
    ),
    entry(
        "flush-on-block-simple",
        "FLUSH-ON-BLOCK-SIMPLE",
        (Origin::Tinygram, "docs of the file"),
        Hints("the writing thread blocks on anything, a clock"),
        || SendPolicy::FlushOnBlockSimple(FlushOnBlockSimple::default()),
        "gather until the thread that wrote is about to block, then send at once",
    ),
];
