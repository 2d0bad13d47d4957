//! The settings of a network namespace or of a route. Each holds for every connection there, also for those to come.

use std::fmt;
use std::fs;
use std::io;

use serde::{Deserialize, Serialize};

/// A setting of a network namespace or of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Knob {
    /// `net.ipv4.tcp_pingpong_thresh` of a namespace: after how many answers in a row a receiver takes a connection for
    /// interactive and delays its acknowledgments; 1 to 255. Linux 6.7 and newer have it.
    Pingpong,
    /// `net.ipv4.tcp_autocorking` of a namespace: whether a sender gathers small writes while a packet of the connection
    /// waits in a queue of this host.
    Autocorking,
    /// `quickack` of a route (`RTAX_QUICKACK`): whether receivers acknowledge at once what comes from its destinations.
    Quickack,
}

impl Knob {
    /// Every knob.
    pub const ALL: [Self; 3] = [Self::Pingpong, Self::Autocorking, Self::Quickack];

    /// Returns the name on the command line and in the journal.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pingpong => "pingpong",
            Self::Autocorking => "autocorking",
            Self::Quickack => "quickack",
        }
    }

    /// Returns whether it is a route's; the others are a namespace's.
    #[must_use]
    pub fn is_of_route(self) -> bool {
        self == Self::Quickack
    }

    /// Returns a value in words.
    #[must_use]
    pub fn show(self, value: u32) -> String {
        match (self, value) {
            (Self::Pingpong, number) => number.to_string(),
            (_, 0) => "off".to_owned(),
            (_, _) => "on".to_owned(),
        }
    }

    /// Returns the value in this thread's network namespace. A route's knob has none there.
    ///
    /// # Errors
    ///
    /// Returns what the system refuses; of a kernel without the knob, which one has it.
    pub fn read(self) -> io::Result<u32> {
        let text = fs::read_to_string(self.file()?).map_err(|error| self.absent(error))?;
        let number = text.trim().parse();
        number.map_err(|_| io::Error::other(format!("{}: not a number", text.trim())))
    }

    /// Sets the value in this thread's network namespace.
    ///
    /// # Errors
    ///
    /// Returns what the system refuses; of a kernel without the knob, which one has it.
    pub fn write(self, value: u32) -> io::Result<()> {
        fs::write(self.file()?, format!("{value}\n")).map_err(|error| self.absent(error))
    }

    /// Returns, for a file that is not there, what the knob takes.
    fn absent(self, error: io::Error) -> io::Error {
        match (self, error.kind()) {
            (Self::Pingpong, io::ErrorKind::NotFound) => io::Error::new(
                io::ErrorKind::Unsupported,
                "this kernel has no net.ipv4.tcp_pingpong_thresh, which takes Linux 6.7",
            ),
            _ => error,
        }
    }

    /// Returns the file, which shows the namespace of the thread that opens it.
    fn file(self) -> io::Result<&'static str> {
        match self {
            Self::Pingpong => Ok("/proc/sys/net/ipv4/tcp_pingpong_thresh"),
            Self::Autocorking => Ok("/proc/sys/net/ipv4/tcp_autocorking"),
            Self::Quickack => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}

impl fmt::Display for Knob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A knob with the value that it is to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnobSetting {
    /// The knob.
    pub knob: Knob,
    /// Its value.
    pub value: u32,
}

impl KnobSetting {
    /// Reads `KNOB=VALUE`, as in `pingpong=3`; `None` if the name is not a knob's.
    ///
    /// # Errors
    ///
    /// Says in one line what is wrong and what is accepted.
    pub fn parse(text: &str) -> Option<Result<Self, String>> {
        let (name, value) = text.split_once('=')?;
        let knob = Knob::ALL.into_iter().find(|knob| knob.name() == name)?;
        let value = match (knob, value) {
            (Knob::Pingpong, digits) => digits
                .parse()
                .ok()
                .filter(|number| (1..=MOST_PINGPONG).contains(number)),
            (_, "on" | "1") => Some(1),
            (_, "off" | "0") => Some(0),
            _ => None,
        };
        let accepted = match knob {
            Knob::Pingpong => "a number from 1 to 255",
            _ => "on or off",
        };
        let value = value.ok_or_else(|| format!("{text}: accepted: {accepted}"));
        Some(value.map(|value| Self { knob, value }))
    }
}

impl fmt::Display for KnobSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.knob, self.knob.show(self.value))
    }
}

const MOST_PINGPONG: u32 = 255;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_without_the_knob_says_which_one_has_it() {
        let said = Knob::Pingpong.absent(io::ErrorKind::NotFound.into());
        assert!(said.to_string().contains("Linux 6.7"), "{said}");
        let said = Knob::Pingpong.absent(io::ErrorKind::PermissionDenied.into());
        assert_eq!(said.kind(), io::ErrorKind::PermissionDenied);
    }

    #[test]
    fn knobs_are_read_and_shown() {
        let shown =
            |text: &str| KnobSetting::parse(text).map(|read| read.map(|one| one.to_string()));
        assert_eq!(shown("pingpong=3"), Some(Ok("pingpong=3".into())));
        assert_eq!(shown("autocorking=0"), Some(Ok("autocorking=off".into())));
        assert_eq!(shown("quickack=on"), Some(Ok("quickack=on".into())));
        for bad in [
            "pingpong=0",
            "pingpong=256",
            "pingpong=on",
            "quickack=2",
            "autocorking=",
        ] {
            let said = shown(bad).expect("a knob").expect_err(bad);
            assert!(said.contains("accepted"), "{said}");
        }
        assert_eq!(shown("nodelay=on"), None);
        assert_eq!(shown("pingpong"), None);
    }
}
