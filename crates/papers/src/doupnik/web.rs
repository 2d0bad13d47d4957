//! The test of section 3.0: a client that requests a file again and again on one connection, and a
//! server that answers with two short writes and then the file in writes of 4 KB.

use tinygram_engine::profile::{Profile, Sizes};
use tinygram_engine::sender::send_policy::SendPolicy;
use tinygram_engine::{Config, Duration, Instant};
use tinygram_sim::costs::{ComesIn, HostCosts};
use tinygram_sim::medium::{Frame, ImpairmentRules, Medium, PointToPoint, Side, Wire};
use tinygram_sim::observer::SentFrames;
use tinygram_sim::workload::exchange::Exchange;
use tinygram_sim::{Ended, Opening, World, WorldConfig};

/// "A succession of 4KB write()'s for the file body", in octets.
pub const WRITE: u64 = 4096;
/// Ethernet's, in octets.
pub const MSS: u16 = 1460;
/// "100Mbps Ethernet hub."
const BITS_PER_SECOND: u64 = 100_000_000;
/// Preamble, headers, trailer and gap, in octets.
const FRAME_OVERHEAD: u64 = 78;
/// The least frame with preamble and gap, in octets.
const LEAST_FRAME: u64 = 84;
/// A few hundred metres of cable and a hub.
const PROPAGATION: Duration = Duration::from_micros(1);
/// "A short one packet GET request", in octets.
const REQUEST: u64 = 60;
/// Requests before those that are measured; by then the congestion window is open.
const WARM_UP: u32 = 10;
/// No run takes as long; a longer one would be a mistake of ours.
const LATE: Duration = Duration::from_secs(1_000_000);

/// A run of the test. Sizes are in octets.
#[derive(Clone, Debug)]
pub struct WebTest {
    /// The client's stack.
    pub client: Profile,
    /// The server's stack.
    pub server: Profile,
    /// The client's receive window.
    pub window: u64,
    /// The server's send buffer.
    pub send_buffer: u64,
    /// The server's send policy, in place of its profile's.
    pub policy: SendPolicy,
    /// Each of the two short writes; at least 1.
    pub headers: [u64; 2],
    /// The file; 0 leaves the headers alone.
    pub file: u64,
    /// Requests that are measured, after those that open the windows; at least 1.
    pub requests: u32,
    /// What the server's work costs; the client's costs nothing.
    pub costs: Costs,
}

/// What a server's work costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// A request, whatever is asked for.
    pub request: Duration,
    /// Each octet that is copied, in picoseconds.
    pub copy_ps_per_octet: u64,
}

impl Costs {
    /// A server whose work takes no time.
    pub const NONE: Self = Self {
        request: Duration::ZERO,
        copy_ps_per_octet: 0,
    };
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Measured {
    /// From each request's sending to its answer's last octet.
    pub elapsed: Vec<Duration>,
    /// Every packet of the last request, by side, in order of leaving.
    pub last: Vec<(Side, Frame)>,
}

impl WebTest {
    /// Runs the test.
    #[must_use]
    pub fn run(&self) -> Measured {
        let writes = self.writes();
        let requests = WARM_UP + self.requests;
        let client = Exchange::asks(0, vec![REQUEST], writes.iter().sum(), requests);
        let server = Exchange::answers(0, writes, REQUEST);
        let programs = [vec![client], vec![server]];
        let mut world = World::watched(self.wiring(), programs, SentFrames::default());
        world.connect(Opening::Established, self.ends());
        let ended = world.run(Instant::ZERO + LATE);
        assert_eq!(ended, Ended::Stopped, "every request is answered");
        self.measured(&world)
    }

    /// Returns how the server writes an answer.
    fn writes(&self) -> Vec<u64> {
        let whole = std::iter::repeat_n(WRITE, (self.file / WRITE) as usize);
        let rest = Some(self.file % WRITE).filter(|rest| *rest > 0);
        self.headers.into_iter().chain(whole).chain(rest).collect()
    }

    fn wiring(&self) -> WorldConfig {
        let wire = Wire::new(BITS_PER_SECOND, FRAME_OVERHEAD, LEAST_FRAME, PROPAGATION);
        let server = HostCosts {
            // A request is one read.
            read: self.costs.request,
            copy_ps_per_octet: self.costs.copy_ps_per_octet,
            // What is fitted is all that is done about an octet, not its copying alone: checksum and
            // device run at splnet, where no acknowledgment comes in between.
            comes_in: ComesIn::Nothing,
            ..HostCosts::NONE
        };
        WorldConfig {
            medium: Medium::PointToPoint(PointToPoint::new(wire)),
            impairment: ImpairmentRules::NONE,
            costs: [HostCosts::NONE, server],
            seed: 1,
        }
    }

    /// Client and server.
    fn ends(&self) -> [Config; 2] {
        let sizes = Sizes {
            mss: MSS,
            send_buffer: self.send_buffer,
            receive_buffer: self.window,
        };
        let [client, mut server] =
            [self.client, self.server].map(|profile| (profile.config)(&sizes));
        server.sender.policy = self.policy.clone();
        [client, server]
    }

    fn measured(&self, world: &World<Exchange, SentFrames>) -> Measured {
        let client = world.host(Side::Client).programs().next();
        let all = client.map_or(&[][..], Exchange::elapsed);
        let began = world.now() - all.last().copied().unwrap_or_default();
        let sent = world.observer().sent.iter();
        let mut last: Vec<_> = sent
            .filter(|(_, frame)| frame.at >= began)
            .copied()
            .collect();
        // A job is told of when it begins, and what leaves bears the time of its leaving.
        last.sort_by_key(|(_, frame)| frame.at);
        Measured {
            elapsed: all[WARM_UP as usize..].to_vec(),
            last,
        }
    }
}

impl Measured {
    /// From a request to its answer's last octet, on average, in ms.
    #[must_use]
    pub fn mean_ms(&self) -> f64 {
        let total: f64 = self.elapsed.iter().map(|each| each.as_millis_f64()).sum();
        total / self.elapsed.len() as f64
    }

    /// Returns the octets of each data segment of the last answer.
    pub fn segments(&self) -> impl Iterator<Item = u32> {
        let of_server = self.last.iter().filter(|(from, _)| *from == Side::Server);
        let lens = of_server.map(|(_, frame)| frame.segment.len);
        lens.filter(|len| *len > 0)
    }

    /// Requests per second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        1000.0 / self.mean_ms()
    }
}
