//! Exchanges of segments in tcpdump's notation.

use tinygram_papers::experiment::Trace;

use super::super::done::Reproduced;
use crate::capture;

/// Returns a line for each segment: when it left, in seconds from the first, and its sender and
/// receiver. As in tcpdump, times are truncated to microseconds.
pub(super) fn lines(trace: &Trace) -> Vec<String> {
    let began = trace.sent.first().map(|(_, frame)| frame.at);
    let line = |(side, frame): &(
        tinygram_sim::medium::Side,
        tinygram_sim::medium::MediumFrame,
    )| {
        let micros = began.map_or(0, |began| micros(frame.at) - micros(began));
        let (seconds, micros) = (micros / 1_000_000, micros % 1_000_000);
        let [from, to] = [side.index(), side.other().index()].map(|at| trace.hosts[at]);
        format!("{seconds}.{micros:06} {from} > {to}: {}", frame.segment)
    };
    trace.sent.iter().map(line).collect()
}

/// Returns the time stamp of a capture with whole microseconds.
fn micros(at: tinygram_engine::Instant) -> u64 {
    at.as_nanos() / 1000
}

/// Returns every trace with the stem of its file names.
pub(in super::super) fn traces(reproduced: &[Reproduced]) -> Vec<(String, &Trace)> {
    let of_one = |it: &'_ Reproduced| {
        let traces = &it.outcome.traces;
        let id = it.experiment.id;
        let name = |at: usize| match traces.len() {
            1 => id.to_owned(),
            _ => format!("{id}-{}", at + 1),
        };
        (0..traces.len()).map(name).collect::<Vec<_>>()
    };
    let named = |it| of_one(it).into_iter().zip(&it.outcome.traces);
    reproduced.iter().flat_map(named).collect()
}

/// Returns a trace as text, a line for each segment.
pub(in super::super) fn as_text(trace: &Trace) -> Vec<u8> {
    (lines(trace).join("\n") + "\n").into_bytes()
}

/// Returns a trace as a capture for Wireshark, taken where each segment left.
pub(in super::super) fn as_pcapng(trace: &Trace) -> Vec<u8> {
    let [client, server] = trace.hosts;
    let comment = format!(
        "tinygram reproduce, simulated: {}; {client} is the client, {server} the server; payload is \
         zeros",
        trace.title
    );
    // A host reports a frame before it leaves.
    let mut sent = trace.sent.clone();
    sent.sort_by_key(|(_, frame)| frame.at);
    let mut file = Vec::new();
    capture::write_pcapng(&sent, &comment, &mut file).expect("memory takes every write");
    file
}
