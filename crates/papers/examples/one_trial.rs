//! Runs one trial of naglemark and nothing else: the smallest program whose instructions can be
//! counted.
//!
//! ```console
//! $ cargo run --release -p tinygram-papers --example one_trial -- fddi nagle
//! $ crates/papers/benches/segment-cost fddi nagle
//! ```
//!
//! The second command runs it under callgrind and prints how a data segment's instructions are
//! distributed; see `benches/trials.rs`. Both arguments are optional.

use std::process::ExitCode;

use tinygram_engine::sender::send_policy::Registered;
use tinygram_naglemark::hosts::{Model, PaperHosts};
use tinygram_naglemark::{MediumKind, Plan, VirtualTime};

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
    let Some(entry) = Registered::named(&name) else {
        return refuse(&format!("no policy {name}; see `tinygram policies`"));
    };
    let plan = Plan::default()
        .policies([entry])
        .app_buffers([APP_BUFFER])
        .socket_buffers([SOCKET_BUFFER])
        .seed(0);
    let trial = plan.trial(&plan.cells()[0], 0);
    let taken = PaperHosts::new(Model::Fitted, medium).simulate(&trial);
    let taken = taken.expect("the paper's hosts know every policy of the engine's");
    println!(
        "{} transfers, {} data segments, {} events",
        taken.samples.len(),
        taken.data_segments.unwrap_or(0),
        taken.events,
    );
    ExitCode::SUCCESS
}

fn refuse(line: &str) -> ExitCode {
    eprintln!("one_trial: {line}");
    ExitCode::from(2)
}
