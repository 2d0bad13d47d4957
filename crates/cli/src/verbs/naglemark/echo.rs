//! The parameters of a run in the JSON document and on the page: everything that the results depend
//! on, the values in force for flags that were not given, and what the paper's hosts assume beyond
//! it.

use std::time::Duration;

use serde::Serialize;
use tinygram_engine::socket::copy_rule::CopyRule;
use tinygram_naglemark::hosts::{
    ACK_TICK, HostsKind, INFERENCE, Impairment, Model, PARAMETERS, PaperHosts, Parameter,
};
use tinygram_naglemark::workload::Waits;
use tinygram_naglemark::{Agreement, Conditions, Plan, Policy, Random, Series, TrialType};
use tinygram_report::{Column, Entry, Table};

use super::args::{Args, BackendName, LengthChoice};
use super::meant::{Meant, OnPaper, OnSockets};
use super::outputs::Appendix;
use crate::values::shown_ack_timer;

/// A run on the paper's hosts.
#[derive(Serialize)]
pub(super) struct OfPaper<'a> {
    hosts: &'static str,
    model: &'static str,
    /// The variants, in the paper's spelling.
    variants: &'a [Policy],
    media: Vec<Link>,
    /// The application buffers, in bytes.
    app_buffers: &'a [u64],
    /// The socket buffers, in bytes.
    socket_buffers: &'a [u64],
    trials: &'a [TrialType],
    /// For the trial types s and S; present if one of them is run.
    sequential: Option<Series>,
    /// For the trial types r and R; present if one of them is run.
    random: Option<Random>,
    length_choice: LengthChoice,
    copy_rule: &'static str,
    /// MCLBYTES, in bytes; absent if the copy rule has no such clusters.
    mclbytes: Option<u64>,
    /// The limit of NAGLIM, in bytes; absent if NAGLIM is not measured.
    naglim: Option<u32>,
    /// Whether the receiver infers the sender's buffer size.
    infer: bool,
    /// How the server waits, if it does not sleep in its reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<&'static str>,
    #[serde(flatten)]
    impairment: Impairment,
    multiplier: u32,
    repetitions: u32,
    seed: u64,
    #[serde(flatten)]
    in_force: InForce,
    model_details: Vec<Detail>,
}

/// A medium with its parameters.
#[derive(Clone, Debug, Serialize)]
struct Link {
    medium: &'static str,
    rate_bits_per_second: u64,
    /// The round-trip time added to what the medium itself takes.
    rtt_ms: f64,
    /// The MSS, in bytes.
    mss: u16,
}

/// The values in force of parameters that depend on the model unless given.
#[derive(Clone, Debug, Serialize)]
pub(super) struct InForce {
    /// The windows that the receiver can advertise, in bytes, one for each of the socket buffers.
    receive_buffers: Vec<u64>,
    ack_policy: String,
    ack_timer: String,
    /// The fitted client's slow timer, which also flushes delayed ACKs.
    ack_slow_timer_ms: Option<f64>,
    /// For the trial types S and R.
    requests_per_connection: Requests,
}

/// How many requests share a connection.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(untagged)]
enum Requests {
    These(usize),
    All(&'static str),
}

impl<'a> OfPaper<'a> {
    pub(super) fn new(meant: &'a Meant, on: &OnPaper, args: &Args) -> Self {
        let plan = &meant.plan;
        // All media have this in common.
        let hosts = &on.hosts[0];
        let has_clusters = matches!(hosts.copy_rule, None | Some(CopyRule::Mclbytes(_)));
        Self {
            hosts: HostsKind::Paper.name(),
            model: hosts.model.name(),
            variants: &plan.policies,
            media: on.hosts.iter().map(Link::of).collect(),
            app_buffers: &plan.app_buffers,
            socket_buffers: &plan.socket_buffers,
            trials: &plan.trial_types,
            sequential: sequential(plan),
            random: random(plan),
            length_choice: meant.length_choice,
            copy_rule: match hosts.copy_rule {
                None | Some(CopyRule::Mclbytes(_)) => "mclbytes",
                Some(CopyRule::SunOs(_)) => "sunos",
                Some(CopyRule::WholeWrite(_)) => "whole-write",
                Some(CopyRule::Linux(_)) => "linux",
                Some(_) => "custom",
            },
            mclbytes: has_clusters.then_some(hosts.mclbytes),
            naglim: meant.naglim,
            infer: hosts.infer,
            server: match hosts.waits {
                Waits::Reading => None,
                Waits::Polling => Some("polling"),
                Waits::Spinning => Some("spinning"),
                Waits::ReadingAfter(_) => Some("computing"),
            },
            impairment: hosts.impairment,
            multiplier: plan.multiplier,
            repetitions: plan.repetitions,
            seed: plan.seed,
            in_force: InForce::of(plan, hosts, args),
            model_details: details(hosts.model),
        }
    }
}

impl Link {
    fn of(hosts: &PaperHosts) -> Self {
        Self {
            medium: hosts.medium.name(),
            rate_bits_per_second: hosts.medium.bits_per_second(),
            rtt_ms: milliseconds(Duration::from_nanos(hosts.rtt.as_nanos())),
            mss: hosts.mss,
        }
    }
}

impl InForce {
    pub(super) fn of(plan: &Plan, hosts: &PaperHosts, args: &Args) -> Self {
        let window = |&socket_buffer| {
            let own = hosts.model.receive_window(socket_buffer);
            hosts.receive_buffer.unwrap_or(own)
        };
        let own_policy = if hosts.infer {
            INFERENCE
        } else {
            hosts.model.ack_policy()
        };
        let own_timer = format!("cyclic:{}ms", ACK_TICK.as_millis_f64());
        // A timer that was given is the only one.
        let slow = hosts
            .model
            .slow_tick(plan.seed)
            .filter(|_| hosts.ack_timer.is_none());
        Self {
            receive_buffers: plan.socket_buffers.iter().map(window).collect(),
            ack_policy: args
                .ack_policy
                .map_or(own_policy.to_string(), |entry| entry.name.into()),
            ack_timer: hosts.ack_timer.as_ref().map_or(own_timer, shown_ack_timer),
            ack_slow_timer_ms: slow.map(|tick| tick.period.as_millis_f64()),
            requests_per_connection: plan
                .requests_per_connection
                .map_or(Requests::All("all"), Requests::These),
        }
    }
}

/// A run on sockets, and the comparison of backends.
#[derive(Serialize)]
pub(super) struct OfSockets<'a> {
    backends: &'a [BackendName],
    /// Absent if none are simulated.
    hosts: Option<&'static str>,
    /// The rules of the sender, if it is not a kernel.
    profile: &'static str,
    variants: &'a [Policy],
    /// The limit of NAGLIM, in bytes; absent if NAGLIM is not measured.
    naglim: Option<u32>,
    /// The application buffers, in bytes.
    app_buffers: &'a [u64],
    /// The socket buffers, in bytes, as given to a kernel's SO_SNDBUF.
    socket_buffers: &'a [u64],
    /// The receive buffer, in bytes, as given to SO_RCVBUF; absent if the kernel chooses.
    receive_buffer: Option<u64>,
    trials: &'a [TrialType],
    sequential: Option<Series>,
    random: Option<Random>,
    requests_per_connection: Option<usize>,
    length_choice: LengthChoice,
    /// The rate of an emulated link, on which a score's estimate is based.
    rate_bits_per_second: u64,
    rtt_ms: f64,
    /// The MSS, if it was given.
    mss: Option<u16>,
    #[serde(flatten)]
    impairment: Impairment,
    multiplier: u32,
    /// The transfers before each cell, which are not counted.
    warmup: u32,
    repetitions: u32,
    seed: u64,
    conditions: Vec<&'a Conditions>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    agreement: &'a [Agreement],
}

impl<'a> OfSockets<'a> {
    pub(super) fn new(
        meant: &'a Meant,
        on: &'a OnSockets,
        conditions: Vec<&'a Conditions>,
        agreement: &'a [Agreement],
    ) -> Self {
        let plan = &meant.plan;
        Self {
            backends: &on.backends,
            hosts: on.hosts.map(HostsKind::name),
            profile: on.profile.name,
            variants: &plan.policies,
            naglim: meant.naglim,
            app_buffers: &plan.app_buffers,
            socket_buffers: &plan.socket_buffers,
            receive_buffer: on.options.receive_buffer,
            trials: &plan.trial_types,
            sequential: sequential(plan),
            random: random(plan),
            requests_per_connection: plan.requests_per_connection,
            length_choice: meant.length_choice,
            rate_bits_per_second: on.bits_per_second(),
            rtt_ms: milliseconds(on.rtt),
            mss: on.options.mss,
            impairment: on.impairment,
            multiplier: plan.multiplier,
            warmup: plan.warmup,
            repetitions: plan.repetitions,
            seed: plan.seed,
            conditions,
            agreement,
        }
    }
}

fn sequential(plan: &Plan) -> Option<Series> {
    let is_run = plan.trial_types.iter().any(|it| !it.is_random());
    is_run.then_some(plan.lengths.series)
}

fn random(plan: &Plan) -> Option<Random> {
    let is_run = plan.trial_types.iter().any(|it| it.is_random());
    is_run.then_some(plan.lengths.random)
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Returns what the model assumes: a paragraph for a terminal, a table elsewhere.
pub(crate) fn appendix(model: Model) -> Appendix {
    Appendix {
        terminal: vec![paragraph(model)],
        document: vec![table(model)],
    }
}

/// One detail of the simulated hosts and media.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Detail {
    name: &'static str,
    value: &'static str,
    /// Whether the value was found by fitting the paper's tables; otherwise the paper's text states
    /// it.
    fitted: bool,
    /// What it was fitted to, or why the text cannot be followed.
    why: Option<&'static str>,
}

/// Returns every detail in which the models differ, as in `model`; the most important first.
fn details(model: Model) -> Vec<Detail> {
    let detail = |parameter: &Parameter| match model {
        Model::Literal => Detail {
            name: parameter.name,
            value: parameter.literal,
            fitted: false,
            why: None,
        },
        Model::Fitted => Detail {
            name: parameter.name,
            value: parameter.fitted,
            fitted: true,
            why: Some(parameter.why),
        },
    };
    PARAMETERS.iter().map(detail).collect()
}

/// Returns the details in a paragraph, for the end of a terminal's page.
fn paragraph(model: Model) -> Table {
    let details = details(model).into_iter();
    let listed: Vec<_> = details
        .map(|detail| format!("{}: {}", detail.name, detail.value))
        .collect();
    Table {
        title: match model {
            Model::Literal => "Model: literal, what the paper's text says".into(),
            Model::Fitted => "Model: fitted; these values were fitted to the paper's tables".into(),
        },
        notes: vec![format!("{}.", listed.join("; "))],
        ..Table::default()
    }
}

/// Returns the details as a table, with the reason for each.
fn table(model: Model) -> Table {
    let (title, heads): (_, &[&str]) = match model {
        Model::Literal => (
            "The literal model: what the paper's text says",
            &["Detail", "Value"],
        ),
        Model::Fitted => (
            "The fitted model: each of these values was fitted to the paper's tables",
            &["Detail", "Fitted value", "Why"],
        ),
    };
    Table {
        title: title.into(),
        columns: heads.iter().copied().map(Column::words).collect(),
        rows: details(model)
            .into_iter()
            .map(|detail| {
                let cells = [Some(detail.name), Some(detail.value), detail.why];
                cells.into_iter().flatten().map(Entry::new).collect()
            })
            .collect(),
        notes: Vec::new(),
    }
}
