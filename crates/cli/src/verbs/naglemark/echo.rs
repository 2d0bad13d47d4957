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
use tinygram_naglemark::{Agreement, Conditions, Plan};
use tinygram_report::{Column, Entry, Table};

use super::args::Args;
use super::fields::Fields;
use super::outputs::Appendix;
use super::plan::{Meant, OnPaper, OnSockets};
use crate::values::shown_ack_timer;

/// Returns the parameters of a run on the paper's hosts.
pub(super) fn of_paper(meant: &Meant, on: &OnPaper, args: &Args) -> Fields {
    Fields::of(&meant.plan)
        // Virtual time needs none.
        .without("warmup")
        .and(meant)
        .and(&OfHosts::of(&on.hosts))
        .and(&InForce::of(&meant.plan, &on.hosts[0], args))
        .in_order(&ON_PAPER)
}

/// Returns the parameters of a run on sockets, with what was found there.
pub(super) fn of_sockets(
    meant: &Meant,
    on: &OnSockets,
    conditions: &[&Conditions],
    agreement: &[Agreement],
) -> Fields {
    let found = Found {
        conditions,
        agreement,
    };
    Fields::of(&meant.plan)
        .and(meant)
        .and(on)
        .and(&found)
        .in_order(&ON_SOCKETS)
}

/// The paper's hosts.
#[derive(Serialize)]
struct OfHosts {
    hosts: &'static str,
    model: &'static str,
    media: Vec<Link>,
    copy_rule: &'static str,
    /// MCLBYTES, in bytes; absent if the copy rule has no such clusters.
    mclbytes: Option<u64>,
    /// Whether the receiver infers the sender's buffer size.
    infer: bool,
    /// How the server waits, if it does not sleep in its reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<&'static str>,
    #[serde(flatten)]
    impairment: Impairment,
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

impl OfHosts {
    fn of(hosts: &[PaperHosts]) -> Self {
        // Every field, so that a new one cannot be forgotten here. All media have these in common.
        let PaperHosts {
            model,
            mclbytes,
            copy_rule,
            infer,
            impairment,
            waits,
            // In `media`.
            medium: _,
            mss: _,
            rtt: _,
            // In what is in force.
            receive_buffer: _,
            ack_policy: _,
            ack_timer: _,
            // The model's.
            costs: _,
        } = &hosts[0];
        let has_clusters = matches!(copy_rule, None | Some(CopyRule::Mclbytes(_)));
        Self {
            hosts: HostsKind::Paper.name(),
            model: model.name(),
            media: hosts.iter().map(Link::of).collect(),
            copy_rule: match copy_rule {
                None | Some(CopyRule::Mclbytes(_)) => "mclbytes",
                Some(CopyRule::SunOs(_)) => "sunos",
                Some(CopyRule::WholeWrite(_)) => "whole-write",
                Some(CopyRule::Linux(_)) => "linux",
                Some(_) => "custom",
            },
            mclbytes: has_clusters.then_some(*mclbytes),
            infer: *infer,
            server: match waits {
                Waits::Reading => None,
                Waits::Polling => Some("polling"),
                Waits::Spinning => Some("spinning"),
                Waits::ReadingAfter(_) => Some("computing"),
            },
            impairment: *impairment,
            model_details: details(*model),
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

/// What was found on sockets: the conditions, and the comparison of backends.
#[derive(Serialize)]
struct Found<'a> {
    conditions: &'a [&'a Conditions],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    agreement: &'a [Agreement],
}

/// The order of the parameters of a run on the paper's hosts.
const ON_PAPER: [&str; 27] = [
    "hosts",
    "model",
    "variants",
    "media",
    "app_buffers",
    "socket_buffers",
    "trials",
    "sequential",
    "random",
    "length_choice",
    "copy_rule",
    "mclbytes",
    "naglim",
    "infer",
    "server",
    "loss",
    "reorder",
    "duplicate",
    "multiplier",
    "repetitions",
    "seed",
    "receive_buffers",
    "ack_policy",
    "ack_timer",
    "ack_slow_timer_ms",
    "requests_per_connection",
    "model_details",
];

/// The order of the parameters of a run on sockets.
const ON_SOCKETS: [&str; 25] = [
    "backends",
    "hosts",
    "profile",
    "variants",
    "naglim",
    "app_buffers",
    "socket_buffers",
    "receive_buffer",
    "trials",
    "sequential",
    "random",
    "requests_per_connection",
    "length_choice",
    "rate_bits_per_second",
    "rtt_ms",
    "mss",
    "loss",
    "reorder",
    "duplicate",
    "multiplier",
    "warmup",
    "repetitions",
    "seed",
    "conditions",
    "agreement",
];

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
