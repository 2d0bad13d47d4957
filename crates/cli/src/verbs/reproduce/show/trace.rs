//! Exchanges of segments in tcpdump's notation.

use tinygram_papers::experiment::Trace;

use super::super::bench::Reproduced;

/// A line for each segment: when it left, in seconds from the first, and who sent it to whom.
pub(super) fn lines(trace: &Trace) -> Vec<String> {
    let began = trace.sent.first().map(|(_, frame)| frame.at);
    let line = |(side, frame): &(tinygram_sim::medium::Side, tinygram_sim::medium::Frame)| {
        let since = began.map_or(0, |began| frame.at.since(began).as_nanos());
        let seconds = since as f64 / 1e9;
        let [from, to] = [side.index(), side.other().index()].map(|at| trace.hosts[at]);
        format!("{seconds:.6} {from} > {to}: {}", frame.segment)
    };
    trace.sent.iter().map(line).collect()
}

/// Every trace as a file: its name, and its lines.
pub(in super::super) fn traces(reproduced: &[Reproduced]) -> Vec<(String, String)> {
    let mut files = Vec::new();
    for it in reproduced {
        for (at, trace) in it.outcome.traces.iter().enumerate() {
            let name = match it.outcome.traces.len() {
                1 => format!("{}.txt", it.experiment.id),
                _ => format!("{}-{}.txt", it.experiment.id, at + 1),
            };
            files.push((name, lines(trace).join("\n") + "\n"));
        }
    }
    files
}
