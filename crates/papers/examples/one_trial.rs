//! One trial of naglemark, and nothing else: the smallest program to count instructions of.
//!
//! ```console
//! $ cargo run --release -p tinygram-papers --example one_trial -- fddi nagle
//! $ crates/papers/benches/segment-cost fddi nagle
//! ```
//!
//! The second command runs it under callgrind and says where a data segment's instructions go; see
//! `benches/trials.rs`. Both arguments may be left out.

use std::process::ExitCode;

use tinygram_engine::sender::send_policy::SendPolicy;
use tinygram_naglemark::model::Model;
use tinygram_naglemark::parameters::{MediumKind, Parameters, Trial};

/// Of the three in section 7; both are the middle one.
const APP_BUFFER: u64 = 32 * 1024;
const SOCKET_BUFFER: u64 = 64 * 1024;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let medium = match arguments.next().as_deref() {
        None | Some("fddi") => MediumKind::Fddi,
        Some("ethernet") => MediumKind::Ethernet,
        Some(other) => return refuse(&format!("no medium {other}; accepted: fddi, ethernet")),
    };
    let name = arguments.next().unwrap_or_else(|| "nagle".to_owned());
    let Some(policy) = SendPolicy::named(&name) else {
        return refuse(&format!("no policy {name}; see `tinygram policies`"));
    };
    let trial = Parameters::paper(
        Model::Fitted,
        medium,
        policy,
        APP_BUFFER,
        SOCKET_BUFFER,
        Trial::SequentialOne,
    );
    let measured = trial.run();
    println!(
        "{} transfers, {} data segments, {} bare ACKs, {} events, {:.3} simulated seconds",
        measured.samples.len(),
        measured.data_segments,
        measured.acks,
        measured.events,
        measured.simulated.as_nanos() as f64 / 1e9,
    );
    ExitCode::SUCCESS
}

fn refuse(line: &str) -> ExitCode {
    eprintln!("one_trial: {line}");
    ExitCode::from(2)
}
