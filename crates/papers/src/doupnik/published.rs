//! Table 1, "Web page test results, requests and bytes per second".

use tinygram_engine::profile::Profile;
use tinygram_engine::sender::send_policy::SendPolicy;

/// A setting of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// "Nagle on": strict or liberal, whichever the stack has.
    NagleOn,
    /// "Nagle off".
    NagleOff,
    /// "New policy".
    NewPolicy,
}

/// One of the two files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum File {
    /// "2.2KB file".
    Short,
    /// "33KB file".
    Long,
}

/// An entry of the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// "req/sec".
    pub requests: u32,
    /// "KB/sec".
    pub kilobytes: u32,
}

/// A line of the table.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// The setting of the server.
    pub setting: Setting,
    /// The rates of the short file and of the long file, in the order of [`File`].
    pub rates: [Rates; 2],
}

/// A client and a server, with all their measurements.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// The client.
    pub client: Stack,
    /// The server.
    pub server: Stack,
    /// The client's receive window, in octets.
    pub window: u64,
    /// The table's lines.
    pub lines: &'static [Line],
}

/// One of the four machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stack {
    /// UnixWare 7.0.1.
    UnixWare,
    /// FreeBSD 3.2.
    FreeBsd,
    /// Solaris 7 on Intel.
    Solaris,
    /// Linux 2.2.5-15.
    Linux,
}

/// Returns a line from requests and KB per second, for each file.
const fn line(setting: Setting, short: (u32, u32), long: (u32, u32)) -> Line {
    let rates = [
        Rates {
            requests: short.0,
            kilobytes: short.1,
        },
        Rates {
            requests: long.0,
            kilobytes: long.1,
        },
    ];
    Line { setting, rates }
}

use Setting::{NagleOff, NagleOn, NewPolicy};
use Stack::{FreeBsd, Linux, Solaris, UnixWare};

/// The table. The Nagle-off entry of FreeBSD and UnixWare with a window of 4 KB has "7553 req/sec"
/// where KB/sec belongs.
pub const TABLE: [Pair; 8] = [
    Pair {
        client: UnixWare,
        server: FreeBsd,
        // "32KB receive window" (section 3.0).
        window: 32 << 10,
        lines: &[
            line(NagleOn, (5, 12), (5, 165)),
            line(NagleOff, (1249, 2914), (222, 7142)),
            line(NewPolicy, (1247, 2909), (228, 7324)),
        ],
    },
    Pair {
        client: UnixWare,
        server: Solaris,
        window: 32 << 10,
        lines: &[
            line(NagleOn, (991, 2311), (221, 7112)),
            line(NagleOff, (935, 2181), (219, 7041)),
            line(NewPolicy, (993, 2317), (219, 7041)),
        ],
    },
    Pair {
        client: FreeBsd,
        server: UnixWare,
        window: 16 << 10,
        lines: &[
            line(NagleOn, (5, 12), (5, 177)),
            line(NagleOff, (1508, 3519), (264, 8478)),
        ],
    },
    Pair {
        client: FreeBsd,
        server: UnixWare,
        window: 4 << 10,
        lines: &[
            line(NagleOn, (5, 12), (5, 166)),
            line(NagleOff, (1421, 3315), (235, 7553)),
        ],
    },
    Pair {
        client: FreeBsd,
        server: Linux,
        window: 16 << 10,
        lines: &[
            line(NagleOn, (1665, 3912), (277, 8876)),
            line(NagleOff, (1709, 3987), (279, 8970)),
            line(NewPolicy, (1665, 3883), (277, 8894)),
        ],
    },
    Pair {
        client: FreeBsd,
        server: Linux,
        window: 4 << 10,
        lines: &[
            line(NagleOn, (1685, 3930), (55, 1776)),
            line(NagleOff, (1692, 3946), (238, 7634)),
            line(NewPolicy, (1699, 3964), (241, 7740)),
        ],
    },
    Pair {
        client: FreeBsd,
        server: Solaris,
        window: 4 << 10,
        lines: &[
            line(NagleOn, (1104, 2575), (180, 5795)),
            line(NagleOff, (1090, 2544), (180, 5772)),
            line(NewPolicy, (1090, 2543), (165, 5290)),
        ],
    },
    Pair {
        client: FreeBsd,
        server: Solaris,
        window: 16 << 10,
        lines: &[
            line(NagleOn, (1151, 2685), (233, 7474)),
            line(NagleOff, (1186, 2768), (239, 7669)),
            line(NewPolicy, (1206, 2813), (237, 7634)),
        ],
    },
];

impl Pair {
    /// Returns the table's rates for a setting, if it was measured.
    #[must_use]
    pub fn rates(&self, setting: Setting, file: File) -> Option<Rates> {
        let line = self.lines.iter().find(|line| line.setting == setting);
        line.map(|line| line.rates[file as usize])
    }
}

impl Stack {
    /// Returns its profile.
    #[must_use]
    pub const fn profile(self) -> Profile {
        match self {
            Self::UnixWare => Profile::UNIXWARE_7,
            Self::FreeBsd => Profile::FREEBSD_3_2,
            Self::Solaris => Profile::SOLARIS_7,
            Self::Linux => Profile::LINUX_2_2,
        }
    }

    /// Returns its send buffer, in octets. The draft does not state it: as shipped, if that is
    /// known.
    #[must_use]
    pub const fn send_buffer(self) -> u64 {
        match self {
            Self::UnixWare => 24_576,
            Self::FreeBsd => 16_384,
            Self::Solaris => 8192,
            Self::Linux => 65_535,
        }
    }

    /// Returns the send policy that a setting means on it: strict or liberal forms (section 3.0).
    /// The draft does not say outright that the new policy was built in the form of the Nagle rule
    /// it replaced. Section 2.2 implies it: rule 3 is there for stacks "designed for the liberal
    /// Nagle approach".
    #[must_use]
    pub const fn policy(self, setting: Setting) -> SendPolicy {
        match (setting, self) {
            (NagleOff, _) => SendPolicy::Off,
            (NagleOn, UnixWare | FreeBsd) => SendPolicy::StrictNagle,
            (NagleOn, Solaris | Linux) => SendPolicy::LiberalNagle,
            (NewPolicy, UnixWare | FreeBsd) => SendPolicy::Doupnik,
            (NewPolicy, Solaris | Linux) => SendPolicy::DoupnikLiberal,
        }
    }

    /// Returns its name in the table.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::UnixWare => "UW7",
            Self::FreeBsd => "FreeBSD",
            Self::Solaris => "Solaris7",
            Self::Linux => "Linux",
        }
    }
}

impl File {
    /// Both files, in the table's order.
    pub const BOTH: [Self; 2] = [Self::Short, Self::Long];

    /// Returns its name in the table.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Short => "2.2 KB",
            Self::Long => "33 KB",
        }
    }

    /// Returns how many octets a request for it returned, by the table's own figures: the median of
    /// KB/sec over req/sec, without the lines of five requests a second, whose figures are too
    /// coarse.
    #[must_use]
    pub fn octets_per_request(self) -> u64 {
        let lines = TABLE.iter().flat_map(|pair| pair.lines);
        let rates = lines.map(|line| line.rates[self as usize]);
        let usable = rates.filter(|rates| rates.requests > 5);
        let mut octets: Vec<f64> = usable.map(Rates::octets_per_request).collect();
        octets.sort_by(f64::total_cmp);
        octets[octets.len() / 2].round() as u64
    }
}

impl Setting {
    /// All settings.
    pub const ALL: [Self; 3] = [NagleOn, NagleOff, NewPolicy];
}

impl Rates {
    /// Returns the octets of one request's answer.
    #[must_use]
    pub fn octets_per_request(self) -> f64 {
        f64::from(self.kilobytes) * 1000.0 / f64::from(self.requests)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_33_kb_file_is_32_1_kb() {
        assert!((32_100..=32_150).contains(&File::Long.octets_per_request()));
        assert!((2_330..=2_340).contains(&File::Short.octets_per_request()));
    }
}
