//! One row for each connection: its ends, its two directions, what stalled in it and what was ruled out.

use tinygram_stalls::Side;
use tinygram_stalls::thresholds::DEFIES_OFTEN;
use tinygram_wire::endpoint::Endpoint;

use crate::conversation::Conversation;
use crate::findings::finding::Finding;
use crate::flow::connection::Connection;
use crate::flow::half::Half;
use crate::verdict::check::Check;
use crate::verdict::ruled_out::RuledOut;

/// One connection.
#[derive(Clone, Debug)]
pub struct ConnectionReport {
    /// Number, from 0 in order of appearance.
    pub id: u32,
    /// The end that opened it.
    pub client: Endpoint,
    /// The other end.
    pub server: Endpoint,
    /// Whether a handshake was seen. Without one the ports tell which end is the client.
    pub handshake: bool,
    /// Segments in both directions.
    pub frames: u32,
    /// The time of the first segment, in nanoseconds since the epoch.
    pub first_ns: i64,
    /// The time of the last segment, in nanoseconds since the epoch; of the first one if the clock went back
    /// behind it.
    pub last_ns: i64,
    /// The round trip between the hosts, in nanoseconds, if both of its parts were seen. It is the most that the round
    /// trip can be unless it is measured.
    pub rtt_ns: Option<i64>,
    /// Whether a handshake measured the round trip. Otherwise ACKs alone tell of it, which may have waited for a program
    /// or a timer.
    pub rtt_measured: bool,
    /// Where on the path the capture was taken.
    pub capture_point: CapturePoint,
    /// The data sent by the client, then by the server.
    pub directions: [Direction; 2],
    /// Stalls.
    pub stalls: u32,
    /// The cost of the stalls, in nanoseconds.
    pub cost_ns: i64,
    /// What looked like a stall and is not one.
    pub ruled_out: RuledOut,
    /// Messages that began as late as a sender's timer releases corked ones, if a sender's messages do so time after time:
    /// whether they were corked cannot be told.
    pub timed: u32,
}

/// The place on the path where the capture was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapturePoint {
    /// At the client or close to it.
    NearClient,
    /// At the server or close to it.
    NearServer,
    /// On the way; or both ends are equally close.
    Between,
    /// Unknown, because too little was seen.
    Unknown,
}

impl CapturePoint {
    /// Returns the name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NearClient => "near-client",
            Self::NearServer => "near-server",
            Self::Between => "between",
            Self::Unknown => "unknown",
        }
    }
}

/// One direction of a connection.
#[derive(Clone, Debug)]
pub struct Direction {
    /// Payload bytes sent.
    pub bytes: u64,
    /// Data segments sent, in frames of the capture.
    pub segments: u32,
    /// Data segments below the MSS.
    pub short: u32,
    /// Segments that were retransmitted.
    pub retransmitted: u32,
    /// The largest payload of one segment, in bytes.
    pub mss: u32,
    /// How the MSS is known.
    pub mss_source: &'static str,
    /// Whether a frame held more than one segment, because it was captured before segmentation
    /// offload.
    pub offload: bool,
    /// The sender's policy on small segments, as far as the capture shows it.
    pub policy: &'static str,
    /// The receiver's delayed-ACK timer, in nanoseconds, as a running mean of late ACKs.
    pub ack_timer_ns: Option<i64>,
    /// The mean number of MSS-sized units per pure ACK.
    pub ack_every: Option<f64>,
}

impl ConnectionReport {
    pub(crate) fn of(conversation: &Conversation) -> Self {
        let connection = &conversation.flow;
        let client = connection.client();
        let mut ruled_out = RuledOut::default();
        let (mut stalls, mut cost_ns) = (0, 0);
        if let Some(story) = &conversation.story {
            ruled_out = story.ruled_out.clone();
            (stalls, cost_ns) = (story.stalls, story.cost_ns);
        }
        Self {
            id: connection.id,
            client: connection.ends.ends[client],
            server: connection.ends.ends[1 - client],
            handshake: connection.handshake,
            frames: connection.frames,
            first_ns: connection.first.time_ns,
            last_ns: connection.last_ns.max(connection.first.time_ns),
            rtt_ns: connection.rtt_ns(),
            rtt_measured: connection.is_rtt_measured(),
            capture_point: capture_point(connection, client),
            directions: [
                direction(conversation, client),
                direction(conversation, 1 - client),
            ],
            stalls,
            cost_ns,
            ruled_out,
            timed: connection.halves.iter().map(Half::timed).sum(),
        }
    }

    /// Takes back a stall of this connection: its program produced the data later.
    pub(crate) fn take_back(&mut self, finding: &Finding, by: &'static Check) {
        if finding.tier().accuses() {
            self.stalls -= 1;
            self.cost_ns -= finding.cost_ns;
        }
        let frame = finding.last_frame();
        self.ruled_out.add_if_ruled_out(by, frame, finding.cost_ns);
    }

    /// Notes what became of a suspect of this connection that was judged together with those of others.
    pub(crate) fn note_suspect(&mut self, suspect: &Finding, by: Option<&'static Check>) {
        if let Some(check) = by {
            let frame = suspect.last_frame();
            self.ruled_out.add(check, frame, suspect.cost_ns);
        } else {
            self.stalls += 1;
            self.cost_ns += suspect.cost_ns;
        }
    }

    /// Forgets what was concluded from times that no clock has told.
    pub(crate) fn forget_times(&mut self) {
        (self.stalls, self.cost_ns) = (0, 0);
        self.ruled_out = RuledOut::default();
        self.rtt_ns = None;
        self.capture_point = CapturePoint::Unknown;
        for direction in &mut self.directions {
            direction.ack_timer_ns = None;
            direction.policy = "unknown";
        }
    }

    /// Returns the endpoint on a side.
    #[must_use]
    pub fn end(&self, side: Side) -> Endpoint {
        match side {
            Side::Client => self.client,
            Side::Server => self.server,
        }
    }

    /// Returns how long the connection lasted in the capture, in nanoseconds.
    #[must_use]
    pub fn duration_ns(&self) -> i64 {
        self.last_ns - self.first_ns
    }
}

fn capture_point(connection: &Connection, client: usize) -> CapturePoint {
    // The data of one end is acknowledged by the other: that measures the way to the other.
    let to_server = connection.halves[client].receiver_distance_ns();
    let to_client = connection.halves[1 - client].receiver_distance_ns();
    match (to_client, to_server) {
        (Some(c), Some(s)) if c * 2 < s => CapturePoint::NearClient,
        (Some(c), Some(s)) if s * 2 < c => CapturePoint::NearServer,
        (Some(_), Some(_)) => CapturePoint::Between,
        _ => CapturePoint::Unknown,
    }
}

fn direction(conversation: &Conversation, from: usize) -> Direction {
    let connection = &conversation.flow;
    let half = &connection.halves[from];
    let peer = &connection.halves[1 - from];
    let mss = connection.mss(from);
    let tally = &half.tally;
    Direction {
        bytes: tally.bytes,
        segments: tally.segments,
        short: tally.short,
        retransmitted: tally.retransmitted,
        mss,
        mss_source: match (half.path.mss_option, peer.path.mss_option) {
            (None, None) => "assumed",
            (None, _) | (_, None) => "one SYN",
            _ => "handshake",
        },
        offload: half.max_len > mss,
        policy: policy(conversation, from),
        ack_timer_ns: (tally.delayed_acks > 0).then(|| i64::from(half.path.delayed_ns)),
        ack_every: (tally.acks > 0)
            .then(|| f64::from(tally.acked_segments) / f64::from(tally.acks)),
    }
}

fn policy(conversation: &Conversation, from: usize) -> &'static str {
    let half = &conversation.flow.halves[from];
    let tally = &half.tally;
    let stalled =
        conversation.story.as_ref().is_some_and(|s| s.stalls > 0) && half.odds_of(false).hits() > 0;
    match (stalled, tally.defied, tally.past_full) {
        (false, DEFIES_OFTEN.., _) => "nodelay",
        (true, _, 1..) => "minshall",
        (true, _, 0) => "nagle",
        (false, _, _) => "unknown",
    }
}
