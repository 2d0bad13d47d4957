//! Settings besides the script's calls: from `sysctl` and similar commands, which the runner's
//! replacements write to a file, and from packetdrill's `--so_flags`.

use std::collections::BTreeMap;
use std::fs;

use tinygram_engine::Duration;
use tinygram_engine::extensions::{
    Ecn, Extensions, Keepalive, LinuxHabits, PathMtuSearch, PushEndsWrites, SynRetries,
};
use tinygram_engine::profile::{Profile, Sizes};
use tinygram_engine::receiver::ack_policy::{AckPolicy, AckTimer};
use tinygram_engine::sender::congestion::Congestion;
use tinygram_tcp::{Route, SocketOptions, StackRules};

/// Names and values; the file's override the flags'.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    flags: BTreeMap<String, String>,
    file: BTreeMap<String, String>,
    read: String,
    /// States of `tcpdrop -s STATE` commands that were not carried out yet.
    pub(crate) drops: Vec<String>,
    lines: usize,
    /// The states that were last written.
    told: String,
}

/// The file to which commands of a script append `NAME=VALUE`.
pub(crate) const SETTINGS_FILE: &str = "TINYGRAM_PACKETDRILL_SETTINGS";

/// The octets that a kernel buffer takes besides its data: Linux 6.18 for x86-64, as
/// `SK_MEMINFO_WMEM_QUEUED` shows for a corked write.
const BUFFER_OVERHEAD: u32 = 832;

/// An error in packetdrill's `--so_flags`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WrongFlag {
    #[error("so_flags: {0} is not NAME=VALUE, as in profile=linux_6")]
    NoValue(String),
    #[error("so_flags: no profile is called {0}")]
    Profile(String),
}

impl Settings {
    /// Returns settings from flags `NAME=VALUE`, separated by commas.
    pub(crate) fn new(flags: &str) -> Result<Self, WrongFlag> {
        let mut settings = Self::default();
        for flag in flags.split(',').filter(|flag| !flag.is_empty()) {
            let Some((name, value)) = flag.split_once('=') else {
                return Err(WrongFlag::NoValue(flag.into()));
            };
            settings.flags.insert(name.into(), value.into());
        }
        if let Some(name) = settings.flags.get("profile")
            && Profile::named(name).is_none()
        {
            return Err(WrongFlag::Profile(name.clone()));
        }
        settings.refresh();
        Ok(settings)
    }

    /// Reads the file again; returns whether it has changed.
    pub(crate) fn refresh(&mut self) -> bool {
        let Some(path) = std::env::var_os(SETTINGS_FILE) else {
            return false;
        };
        let text = fs::read_to_string(path).unwrap_or_default();
        if text == self.read {
            return false;
        }
        for line in text.lines().skip(self.lines) {
            self.lines += 1;
            if let Some((name, value)) = line.split_once('=') {
                if name == "tcpdrop" {
                    self.drops.push(value.into());
                } else {
                    self.file.insert(name.into(), value.trim().into());
                }
            }
        }
        self.read = text;
        true
    }

    fn get(&self, name: &str) -> Option<&str> {
        let value = self.file.get(name).or_else(|| self.flags.get(name));
        value.map(String::as_str)
    }

    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        let value = self.get(name)?.split_whitespace().next()?;
        match value.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).ok(),
            None => value.parse().ok(),
        }
    }

    /// Returns number `nth` of a value of several numbers.
    fn nth(&self, name: &str, nth: usize) -> Option<u64> {
        self.get(name)?.split_whitespace().nth(nth)?.parse().ok()
    }

    /// Returns whether a switch is off (0).
    pub(crate) fn is_off(&self, name: &str) -> bool {
        self.number(name) == Some(0)
    }

    /// Returns whether the suite is FreeBSD's, whose settings have other names.
    pub(crate) fn freebsd(&self) -> bool {
        self.get("suite") == Some("freebsd")
    }

    /// Returns the device's MTU, in octets.
    pub(crate) fn mtu(&self) -> u16 {
        self.number("mtu").map_or(1500, |mtu| mtu as u16)
    }

    /// Returns whether the device's queue accepts nothing.
    pub(crate) fn device_full(&self) -> bool {
        self.number("device.full") == Some(1)
    }

    /// Returns TCP_NOTSENT_LOWAT for sockets that did not set it.
    pub(crate) fn notsent_low_water(&self) -> Option<u64> {
        self.number("net.ipv4.tcp_notsent_lowat")
    }

    /// Returns the stack whose rules are tested: Linux's, whose suite Google's is, or for FreeBSD's
    /// suite the one that users get.
    fn profile(&self) -> &'static Profile {
        let usual = if self.freebsd() { "modern" } else { "linux_6" };
        let name = self.get("profile").unwrap_or(usual);
        Profile::named(name).expect("looked at when the flags came")
    }

    fn profile_extensions(&self) -> Extensions {
        let sizes = Sizes {
            mss: 1460,
            send_buffer: 1,
            receive_buffer: 1,
        };
        self.profile().config(&sizes).extensions
    }

    /// Returns the options of a new socket.
    pub(crate) fn socket(&self, v6: bool) -> SocketOptions {
        let (send_buffer, receive_buffer) = if self.freebsd() {
            (
                self.number("net.inet.tcp.sendspace").unwrap_or(32_768),
                self.in_segments(self.receive_space(), v6),
            )
        } else {
            (
                self.nth("net.ipv4.tcp_wmem", 1).unwrap_or(256 * 1024),
                self.for_data(self.receive_buffer(), v6),
            )
        };
        SocketOptions {
            profile: self.profile(),
            send_buffer,
            receive_buffer,
            route: self.route(v6),
            extensions: Some(self.extensions()),
            rules: Some(self.rules()),
            ack_policy: self.ack_policy(),
            congestion: self.congestion(),
            ..SocketOptions::default()
        }
    }

    /// Returns SO_RCVBUF in octets for sockets that did not set it.
    pub(crate) fn receive_buffer(&self) -> u64 {
        self.nth("net.ipv4.tcp_rmem", 1).unwrap_or(540_000)
    }

    /// Returns how many octets of a receive buffer of this size are for data, in whole segments
    /// (`tcp_select_initial_window`): half, because the kernel also counts its own memory
    /// (`tcp_win_from_space`). FreeBSD's numbers count only data.
    pub(crate) fn for_data(&self, octets: u64, v6: bool) -> u64 {
        if self.freebsd() {
            return octets;
        }
        let (half, mss) = (octets / 2, if v6 { 1440 } else { 1460 });
        match half > mss {
            true => half - half % mss,
            false => half,
        }
    }

    /// Returns what the route says of the path. Unless `advmss` is set, the largest segment that fits
    /// into its `mtu` is announced (`ip_default_advmss`).
    fn route(&self, v6: bool) -> Route {
        let number = |name| u16::try_from(self.number(name)?).ok();
        let mtu = number("route.mtu");
        let headers = if v6 { 60 } else { 40 };
        let by_mtu = mtu.map(|mtu| mtu.saturating_sub(headers));
        Route {
            mtu,
            advertised_mss: number("route.advmss").or(by_mtu),
            initial_cwnd: number("route.initcwnd"),
        }
    }

    /// Returns FreeBSD's `recvspace`, in octets.
    pub(crate) fn receive_space(&self) -> u64 {
        self.number("net.inet.tcp.recvspace").unwrap_or(65_536)
    }

    /// Returns the size of a buffer in FreeBSD once a connection is established: as many whole
    /// segments as contain it.
    pub(crate) fn in_segments(&self, octets: u64, v6: bool) -> u64 {
        let mss = if v6 { 1440 } else { 1460 };
        octets.div_ceil(mss) * mss
    }

    /// Returns FreeBSD's policy if the script sets its `delacktime`: it delays the acknowledgment
    /// of every other segment.
    fn ack_policy(&self) -> Option<(AckPolicy, AckTimer)> {
        let delay = self.number("net.inet.tcp.delacktime")?;
        let timer = AckTimer::PerConnection(Duration::from_millis(delay));
        Some((AckPolicy::EverySecond, timer))
    }

    fn congestion(&self) -> Option<Congestion> {
        match self.get("net.ipv4.tcp_congestion_control") {
            Some("reno") => Some(Congestion::Reno),
            _ => None,
        }
    }

    /// Returns the profile's extensions, changed by what the script sets and by the buffers' growth,
    /// which a profile leaves to its caller. book/src/evidence/conformance.md names every other change.
    fn extensions(&self) -> Extensions {
        let mut extensions = self.profile_extensions();
        extensions.receive_buffer_most = Some(match self.freebsd() {
            true => self.number("kern.ipc.maxsockbuf").unwrap_or(2_097_152),
            false => self.nth("net.ipv4.tcp_rmem", 2).unwrap_or(15 << 20),
        });
        if !self.freebsd() {
            let most = self.nth("net.ipv4.tcp_wmem", 2).unwrap_or(4 << 20);
            extensions.send_buffer_most = Some(most);
        }
        extensions.linux.push_ends_writes = self.push_ends_writes(&extensions.linux);
        if let Some(probing) = self.number("net.ipv4.tcp_mtu_probing") {
            extensions.black_hole_detection = probing > 0;
            extensions.path_mtu_search = (probing > 0).then(|| PathMtuSearch {
                from_the_start: probing > 1,
                base_mss: self.number("net.ipv4.tcp_base_mss").unwrap_or(1024) as u32,
            });
        }
        if let Some(retries) = self.syn_retries() {
            extensions.syn_retries = Some(retries);
        }
        if let Some(ecn) = self.ecn() {
            extensions.ecn = ecn;
        }
        if self.number("device.paces") == Some(1) {
            extensions.pacing = true;
        }
        self.switch_off(&mut extensions);
        extensions
    }

    /// Returns where PSH is set, which also says how the send buffer counts.
    fn push_ends_writes(&self, of_the_profile: &LinuxHabits) -> Option<PushEndsWrites> {
        let mut push = of_the_profile.push_ends_writes;
        if let Some(push) = &mut push
            && self.profile().name == Profile::LINUX_6.name
        {
            push.buffer_overhead = Some(BUFFER_OVERHEAD);
        }
        let Some(least) = self.number("net.ipv4.tcp_min_tso_segs") else {
            return push;
        };
        Some(PushEndsWrites {
            least_burst: least.max(1) as u32,
            buffer_overhead: push.and_then(|push| push.buffer_overhead),
        })
    }

    /// Returns the byte stack's rules, changed by what the script sets.
    fn rules(&self) -> StackRules {
        let of_the_profile = StackRules::of(self.profile());
        StackRules {
            syn_cookies: of_the_profile.syn_cookies && !self.is_off("net.ipv4.tcp_syncookies"),
            ..of_the_profile
        }
    }

    /// Switches off what the script has set to 0.
    fn switch_off(&self, extensions: &mut Extensions) {
        if self.is_off("tcp_cubic.hystart") {
            extensions.slow_start_exit = None;
        }
        let plain = self.is_off("net.inet.tcp.rfc1323");
        if plain || self.is_off("net.ipv4.tcp_timestamps") {
            extensions.timestamps = false;
        }
        if plain || self.is_off("net.ipv4.tcp_window_scaling") {
            extensions.window_scaling = false;
        }
        if self.is_off("net.ipv4.tcp_sack") || self.is_off("net.inet.tcp.sack.enable") {
            extensions.sack = None;
        }
        if let Some(sack) = &mut extensions.sack
            && self.is_off("net.ipv4.tcp_dsack")
        {
            sack.duplicates = false;
        }
    }

    /// Returns which side asks for ECN, if the script says so.
    fn ecn(&self) -> Option<Option<Ecn>> {
        let (asked, again) = match self.freebsd() {
            true => {
                let again = self.number("net.inet.tcp.ecn.maxretries").unwrap_or(1);
                (self.number("net.inet.tcp.ecn.enable")?, again as u32)
            }
            false => (self.number("net.ipv4.tcp_ecn")?, 0),
        };
        Some(match asked {
            0 => None,
            1 => Some(Ecn::Ask { again }),
            _ => Some(Ecn::IfAsked),
        })
    }

    /// Returns how often a SYN is sent again, if the script says so.
    fn syn_retries(&self) -> Option<SynRetries> {
        let syn = self.number("net.ipv4.tcp_syn_retries");
        let syn_ack = self.number("net.ipv4.tcp_synack_retries");
        (syn.is_some() || syn_ack.is_some()).then(|| SynRetries {
            syn: syn.map_or(SynRetries::LINUX.syn, |number| number as u32),
            syn_ack: syn_ack.map_or(SynRetries::LINUX.syn_ack, |number| number as u32),
        })
    }

    /// Returns the meaning of SO_KEEPALIVE.
    pub(crate) fn keepalive(&self) -> Keepalive {
        let mut keepalive = Keepalive::LINUX;
        if self.freebsd() {
            keepalive.probes = 8;
        }
        let millis = |name| self.number(name).map(Duration::from_millis);
        if let Some(idle) = millis("net.inet.tcp.keepidle") {
            keepalive.idle = idle;
        }
        if let Some(interval) = millis("net.inet.tcp.keepintvl") {
            keepalive.interval = interval;
        }
        if let Some(probes) = self.number("net.inet.tcp.keepcnt") {
            keepalive.probes = probes as u32;
        }
        keepalive
    }
}

impl Settings {
    /// Writes the connections' states beside the settings, one per line, for the runner's
    /// `sockstat`.
    pub(crate) fn tell_states(&mut self, core: &tinygram_tcp::Core) {
        let Some(path) = std::env::var_os(SETTINGS_FILE) else {
            return;
        };
        let mut text = String::new();
        for (state, port) in core.states() {
            text.push_str(&format!("{} {port}\n", crate::info::name(state)));
        }
        if text != self.told {
            let path = std::path::Path::new(&path).with_extension("states");
            if fs::write(path, &text).is_ok() {
                self.told = text;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The buffers' growth is told by sysctl's numbers, and nothing else differs from what users of
    /// the profile get.
    #[test]
    fn a_suite_plays_the_profile_and_changes_only_what_is_documented() {
        let played = |flags: &str| Settings::new(flags).unwrap().extensions();
        let linux = played("");
        let expected = Extensions {
            receive_buffer_most: linux.receive_buffer_most,
            send_buffer_most: linux.send_buffer_most,
            linux: LinuxHabits {
                push_ends_writes: Some(PushEndsWrites {
                    least_burst: 2,
                    buffer_overhead: Some(BUFFER_OVERHEAD),
                }),
                ..LinuxHabits::LINUX_6
            },
            ..Extensions::LINUX_6
        };
        assert_eq!(linux, expected);
        let modern = played("profile=modern");
        let expected = Extensions {
            receive_buffer_most: linux.receive_buffer_most,
            send_buffer_most: linux.send_buffer_most,
            ..Extensions::MODERN
        };
        assert_eq!(modern, expected);
        let freebsd = played("suite=freebsd");
        let expected = Extensions {
            receive_buffer_most: freebsd.receive_buffer_most,
            ..Extensions::MODERN
        };
        assert_eq!(freebsd, expected);
        let documents = concat!(
            include_str!("../../../book/src/evidence/conformance.md"),
            include_str!("../../../book/src/evidence/conformance-more.md")
        );
        for name in [
            "Extensions::receive_buffer_most",
            "Extensions::send_buffer_most",
            "PushEndsWrites::buffer_overhead",
        ] {
            let stands = documents.contains(&format!("`{name}`"));
            assert!(stands, "{name} is not in book/src/evidence/conformance.md");
        }
    }

    #[test]
    fn what_a_script_sets_holds_for_every_profile() {
        let played = |flags: &str| Settings::new(flags).unwrap().extensions();
        for profile in ["profile=modern", "profile=linux_6"] {
            let set = |more: &str| played(&format!("{profile},{more}"));
            assert_eq!(set("net.ipv4.tcp_ecn=0").ecn, None);
            let flags = format!("{profile},net.ipv4.tcp_syncookies=0");
            assert!(!Settings::new(&flags).unwrap().rules().syn_cookies);
            assert!(!set("net.ipv4.tcp_mtu_probing=0").black_hole_detection);
            let syn = set("net.ipv4.tcp_syn_retries=2").syn_retries.unwrap();
            assert_eq!(syn, SynRetries { syn: 2, syn_ack: 5 });
        }
    }
}
