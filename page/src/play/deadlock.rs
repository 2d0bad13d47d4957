//! Moldeklev & Gunningberg's bulk transfer through two buffers.

use serde::Deserialize;
use serde_json::{Value, json};
use tinygram_engine::sender::send_policy::SendPolicy;
use tinygram_engine::{Duration, Instant, Offset};
use tinygram_papers::moldeklev::hosts::ATM_MSS;
use tinygram_papers::moldeklev::published::{SIZES, TABLE_1};
use tinygram_papers::moldeklev::transfer::Transfer;
use tinygram_sim::medium::Side;

use super::watch::{Sent, Watch};
use super::within;

/// The two buffers, in octets, the policy, and what is wanted.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Deadlock {
    send_buffer: u64,
    receive_buffer: u64,
    policy: String,
    mss: Option<u16>,
    /// The time of the receiver's first tick, in microseconds.
    phase: u64,
    /// Whether the transfer is watched; otherwise only its throughput is measured.
    is_watched: bool,
}

/// How long a transfer is watched.
const WATCHED: Duration = Duration::from_millis(1400);

impl Deadlock {
    /// Returns the throughput, and how the transfer went.
    pub(super) fn answer(&self) -> Result<Value, String> {
        let policy = SendPolicy::named(&self.policy);
        let policy = policy.ok_or_else(|| format!("there is no policy {}", self.policy))?;
        let send = within("send_buffer", self.send_buffer, 1024..=65_535)?;
        let receive = within("receive_buffer", self.receive_buffer, 1024..=65_535)?;
        let mss = within("mss", self.mss.unwrap_or(ATM_MSS), 64..=9204)?;
        let phase = Duration::from_micros(within("phase", self.phase, 0..=200_000)?);
        let transfer = Transfer::paper(send, receive, mss)
            .with_policy(policy)
            .at_phase(phase);
        let place = |size| SIZES.iter().position(|it| *it == size);
        let published = place(send).zip(place(receive)).map(|(s, r)| TABLE_1[s][r]);
        let published = published.filter(|_| self.policy == "nagle" && mss == ATM_MSS);
        let mut shown = match self.is_watched {
            true => watched(&transfer),
            false => json!({}),
        };
        let (mbit_per_s, waited) = transfer.paced();
        shown["mbit_per_s"] = json!(mbit_per_s);
        // The share of the time in which nothing moved until a timer fired.
        shown["waited"] = json!(waited);
        shown["published_mbit_per_s"] = json!(published);
        Ok(shown)
    }
}

/// Returns the acknowledged octets over time, and the rounds after the first tick.
fn watched(transfer: &Transfer) -> Value {
    let mut world = transfer.world(Watch::default());
    world.run(Instant::ZERO + WATCHED);
    let watch = world.observer();
    let millis = |at: Instant| at.since(Instant::ZERO).as_millis_f64();
    let of = |side: Side, end: fn(&Sent) -> Offset| {
        let sent = watch
            .sent_segments()
            .iter()
            .filter(move |it| it.from == side);
        let points = sent.map(move |it| json!([millis(it.frame.at), end(it).since(Offset::FIRST)]));
        points.collect::<Vec<_>>()
    };
    let to = Instant::ZERO + WATCHED;
    let from = to - SHOWN;
    let mut shown = watch.shown(from, to);
    shown["data"] = json!(of(Side::Client, |it| it.frame.segment.end()));
    shown["acks"] = json!(of(Side::Server, |it| it.frame.segment.ack));
    shown["ends"] = json!(["sender", "receiver"]);
    shown["is_part"] = json!(true);
    shown
}

/// The part that is shown segment by segment: more than a tick of the receiver's clock.
const SHOWN: Duration = Duration::from_millis(260);
