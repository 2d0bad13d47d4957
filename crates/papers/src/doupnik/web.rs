//! The test of section 3.0: a client requests a file again and again on one connection, and a
//! server answers with two short writes and then the file in writes of 4 KB.

use tinygram_engine::profile::{Profile, Sizes};
use tinygram_engine::sender::send_policy::SendPolicy;
use tinygram_engine::{Config, Duration, Instant};
use tinygram_sim::costs::{ComesIn, HostCosts};
use tinygram_sim::medium::{MediumFrame, Side, Wire};
use tinygram_sim::observer::{Observer, SentFrames};
use tinygram_sim::workload::exchange::Exchange;
use tinygram_sim::{Ended, Opening, World, WorldConfig};

/// "A succession of 4KB write()'s for the file body", in octets.
pub const WRITE: u64 = 4096;
/// Ethernet's MSS, in octets.
pub const MSS: u16 = 1460;
/// "100Mbps Ethernet hub."
const BITS_PER_SECOND: u64 = 100_000_000;
/// The octets of preamble, headers, trailer and gap.
const FRAME_OVERHEAD: u64 = 78;
/// The least octets of a frame, with preamble and gap.
const LEAST_FRAME: u64 = 84;
/// The propagation time of a few hundred metres of cable and a hub.
const PROPAGATION: Duration = Duration::from_micros(1);
/// "A short one packet GET request", in octets.
const REQUEST: u64 = 60;
/// The number of requests before the measured ones; they open the congestion window.
const WARM_UP: u32 = 10;
/// The time after which a run is stopped; no correct run takes as long.
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
    /// The server's send policy, which replaces its profile's.
    pub policy: SendPolicy,
    /// The sizes of the two short writes; each at least 1.
    pub headers: [u64; 2],
    /// The size of the file; 0 means that only the headers are sent.
    pub file: u64,
    /// The number of measured requests, after those that open the windows; at least 1.
    pub requests: u32,
    /// The costs of the server's work; the client's work costs nothing.
    pub costs: Costs,
}

/// The costs of a server's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// The cost of a request, whatever is requested.
    pub request: Duration,
    /// The cost of each copied octet, in picoseconds.
    pub copy_ps_per_octet: u64,
}

impl Costs {
    /// No costs.
    pub const NONE: Self = Self {
        request: Duration::ZERO,
        copy_ps_per_octet: 0,
    };
}

/// The measurements of a run.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The time from each request to the last octet of its answer.
    pub elapsed: Vec<Duration>,
    /// Every packet of the last request, by side, in order of leaving.
    pub last: Vec<(Side, MediumFrame)>,
}

impl WebTest {
    /// Runs the test.
    #[must_use]
    pub fn run(&self) -> Measured {
        self.measured(&self.watched(SentFrames::default()))
    }

    /// Runs the test with an observer; returns the world at its end, whose last request is the last
    /// measured one.
    ///
    /// # Panics
    /// If a request is never answered: a bug in the engine.
    #[must_use]
    pub fn watched<O: Observer>(&self, observer: O) -> World<Exchange, O> {
        let writes = self.writes();
        let requests = WARM_UP + self.requests;
        let client = Exchange::asks(0, vec![REQUEST], writes.iter().sum(), requests);
        let server = Exchange::answers(0, writes, REQUEST);
        let programs = [vec![client], vec![server]];
        let mut world = World::watched(self.wiring(), programs, observer);
        world.connect(Opening::Established, self.ends());
        let ended = world.run(Instant::ZERO + LATE);
        assert_eq!(ended, Ended::Stopped, "every request is answered");
        world
    }

    /// Returns the server's writes of an answer.
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
            // The fitted cost contains all work on an octet, not only its copying: checksum and
            // device run at splnet, where no acknowledgment interrupts.
            comes_in: ComesIn::Nothing,
            ..HostCosts::NONE
        };
        WorldConfig::over(wire, [HostCosts::NONE, server], 1)
    }

    /// Returns the rules of client and server.
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
        // An observer is told of a job when it begins, and leaving frames carry the time of their
        // leaving.
        last.sort_by_key(|(_, frame)| frame.at);
        Measured {
            elapsed: all[WARM_UP as usize..].to_vec(),
            last,
        }
    }
}

impl Measured {
    /// Returns the mean time from a request to the last octet of its answer, in ms.
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

    /// Returns the requests per second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        1000.0 / self.mean_ms()
    }
}
