//! The options of a socket before it is opened.

use tinygram_engine::extensions::Extensions;
use tinygram_engine::profile::{Profile, Sizes};
use tinygram_engine::receiver::ack_policy::{AckPolicy, AckTimer};
use tinygram_engine::sender::congestion::Congestion;
use tinygram_engine::sender::send_policy::SendPolicy;
use tinygram_engine::{Config, Duration};
use tinygram_wire::encode::{Path, TTL};

/// The options with which a connection begins; a listener's apply to the connections that it
/// accepts. Policies can be changed later on the stream.
#[derive(Clone, Debug)]
pub struct SocketOptions {
    /// The stack whose rules the connection follows, unless a field below says otherwise.
    pub profile: &'static Profile,
    /// The send buffer's limit, in octets (at least 1).
    pub send_buffer: u64,
    /// The receive buffer's limit, in octets (at least 1; at most 1 GiB is ever announced).
    pub receive_buffer: u64,
    /// The largest segment, in octets, if the device's MTU would allow a larger one (TCP_MAXSEG).
    pub mss: Option<u16>,
    /// What is known of the path to the peer.
    pub route: Route,
    /// The policy that decides about small segments.
    pub send_policy: Option<SendPolicy>,
    /// When to acknowledge, and how long an acknowledgment may wait.
    pub ack_policy: Option<(AckPolicy, AckTimer)>,
    /// The congestion control algorithm.
    pub congestion: Option<Congestion>,
    /// The extensions that it may use, if not the profile's.
    pub extensions: Option<Extensions>,
    /// The rules of the byte stack, if not the profile's.
    pub rules: Option<StackRules>,
    /// A listener's connection is handed out when data or the FIN has come, or after this time
    /// (TCP_DEFER_ACCEPT). Until then it counts as half open. `None` hands it out after the
    /// handshake.
    pub defer_accept: Option<Duration>,
    /// The time to live or hop limit of all packets, the SYN included (IP_TTL, IPV6_UNICAST_HOPS):
    /// 1 to 255. 0 counts as 1.
    pub ttl: u8,
    /// The DSCP of all packets (RFC 2474): 0 to 63, of which more bits are ignored. The two bits of
    /// ECN beside it belong to the connection.
    pub dscp: u8,
}

/// What concerns the byte stack alone, and not the connections below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackRules {
    /// The last octet of urgent data is taken out of the stream, and the application reads it apart
    /// (MSG_OOB), as BSD and Linux do. Without it, or with SO_OOBINLINE, it stays in the stream, as
    /// RFC 9293, section 3.8.5, has it and RFC 6093, section 6, asks of applications.
    pub urgent_out_of_line: bool,
    /// A listener whose half-open connections are as many as its backlog answers further SYNs
    /// without storing anything (SYN cookies: RFC 4987, section 3.6). Without it, the oldest
    /// half-open connection is dropped (section 3.4).
    pub syn_cookies: bool,
}

impl StackRules {
    /// Those of historic profiles.
    pub const NONE: Self = Self {
        urgent_out_of_line: false,
        syn_cookies: false,
    };
    /// What Linux 6 has switched on as shipped (`tcp_syncookies` is 1).
    pub const LINUX_6: Self = Self {
        urgent_out_of_line: true,
        syn_cookies: true,
    };
    /// Those of the profile `modern`.
    pub const MODERN: Self = Self {
        urgent_out_of_line: false,
        ..Self::LINUX_6
    };

    /// Returns the rules that go with a profile.
    #[must_use]
    pub fn of(profile: &Profile) -> Self {
        match profile.name {
            "linux_6" => Self::LINUX_6,
            "modern" => Self::MODERN,
            _ => Self::NONE,
        }
    }
}

/// What is known of a path before anything is sent (Linux: `ip route ... mtu, advmss, initcwnd`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Route {
    /// The longest packet that the path takes, in octets, headers included, if that is less than the
    /// device's MTU. A search may find that it takes more (`Extensions::path_mtu_search`).
    pub mtu: Option<u16>,
    /// The largest segment to announce, in octets, if that is less than `mss` and the device's MTU
    /// allow. It does not bound what is sent.
    pub advertised_mss: Option<u16>,
    /// The congestion window after the handshake, in segments (at least 1), if not the profile's. RFC
    /// 6928 (`Extensions::bounds_initial_cwnd`) does not bound it.
    pub initial_cwnd: Option<u16>,
}

impl Default for SocketOptions {
    /// Returns the profile `modern` with buffers of 1 MiB, which take only the memory that is used.
    fn default() -> Self {
        Self {
            profile: &Profile::MODERN,
            send_buffer: 1 << 20,
            receive_buffer: 1 << 20,
            mss: None,
            route: Route::default(),
            send_policy: None,
            ack_policy: None,
            congestion: None,
            extensions: None,
            rules: None,
            defer_accept: None,
            ttl: TTL,
            dscp: 0,
        }
    }
}

impl SocketOptions {
    /// Returns the extensions that a connection may use.
    pub(crate) fn extensions(&self) -> Extensions {
        self.extensions
            .unwrap_or_else(|| self.config(536).extensions)
    }

    /// Returns the rules of the byte stack.
    pub(crate) fn rules(&self) -> StackRules {
        self.rules.unwrap_or_else(|| StackRules::of(self.profile))
    }

    /// Marks the packets of a path as the options demand.
    pub(crate) fn mark(&self, path: &mut Path) {
        path.set_ttl(self.ttl);
        path.set_class(self.dscp << 2);
    }

    /// Returns the engine's rules for a path that carries segments of `mss` octets.
    pub(crate) fn config(&self, mss: u16) -> Config {
        let mut config = (self.profile.config)(&Sizes {
            mss: self.mss.map_or(mss, |asked| asked.clamp(1, mss)),
            send_buffer: self.send_buffer.max(1),
            receive_buffer: self.receive_buffer.max(1),
        });
        if let Some(mss) = self.route.advertised_mss {
            config.receiver.mss = mss.clamp(1, config.receiver.mss);
        }
        if let Some(segments) = self.route.initial_cwnd {
            let segments = u64::from(segments.max(1));
            config.sender.initial_cwnd = segments * u64::from(config.sender.mss);
        }
        if let Some(policy) = &self.send_policy {
            config.sender.policy = policy.clone();
        }
        if let Some((policy, timer)) = &self.ack_policy {
            config.receiver.policy = policy.clone();
            config.receiver.timer = *timer;
        }
        if let Some(congestion) = &self.congestion {
            config.sender.congestion = congestion.clone();
        }
        if let Some(extensions) = self.extensions {
            config.extensions = extensions;
        }
        // The bound is for a window of which nothing is known.
        config.extensions.bounds_initial_cwnd &= self.route.initial_cwnd.is_none();
        config
    }
}
