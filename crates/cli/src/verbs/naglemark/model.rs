//! What the models assume beyond the plan, and what is in force where nothing was typed.

use std::time::Duration;

use serde::Serialize;
use tinygram_naglemark::model::{ACK_TICK, INFERENCE, PARAMETERS};
use tinygram_report::{Align, Column, Entry, Table};

use super::args::Model;
use super::experiment;
use super::outputs::Appendix;
use super::plan::Plan;
use crate::values::AckTimer;

/// The values in force of parameters that depend on the model if they are not typed.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct InForce {
    /// The window that the receiver can offer, bytes; one for each of the socket buffers.
    receive_buffers: Vec<u64>,
    ack_policy: &'static str,
    ack_timer: AckTimer,
    /// The fitted client's slow timer, which flushes delayed ACKs as well.
    ack_slow_timer_ms: Option<f64>,
    /// In the trial types S and R.
    requests_per_connection: Requests,
}

/// How many requests share a connection.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(untagged)]
enum Requests {
    These(u64),
    All(&'static str),
}

impl InForce {
    pub(crate) fn of(plan: &Plan) -> Self {
        let model = experiment::model(plan.model);
        let window = |&socket_buffer| {
            let own = model.receive_window(socket_buffer);
            plan.receive_buffer.unwrap_or(own)
        };
        let own_policy = if plan.infer {
            INFERENCE
        } else {
            model.ack_policy()
        };
        let own_timer = AckTimer::Cyclic(Duration::from_nanos(ACK_TICK.as_nanos()));
        // A typed timer is the only one.
        let slow = model
            .slow_tick(plan.seed)
            .filter(|_| plan.ack_timer.is_none());
        Self {
            receive_buffers: plan.socket_buffers.iter().map(window).collect(),
            ack_policy: plan.ack_policy.map_or(own_policy, |entry| entry.name),
            ack_timer: plan.ack_timer.unwrap_or(own_timer),
            ack_slow_timer_ms: slow.map(|tick| tick.period.as_nanos() as f64 / 1e6),
            requests_per_connection: plan
                .requests_per_connection
                .map_or(Requests::All("all"), Requests::These),
        }
    }
}

/// Everything that the results depend on.
#[derive(Serialize)]
pub(crate) struct Echo<'a> {
    #[serde(flatten)]
    plan: &'a Plan,
    #[serde(flatten)]
    in_force: InForce,
    model_details: Vec<Detail>,
}

impl<'a> Echo<'a> {
    pub(crate) fn of(plan: &'a Plan) -> Self {
        Self {
            plan,
            in_force: InForce::of(plan),
            model_details: details(plan.model),
        }
    }
}

/// What the model assumes: a paragraph in a terminal, a table elsewhere.
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
    /// Whether the value was found by fitting the paper's tables; else its text says so.
    fitted: bool,
    /// What it was fitted to, or why the text cannot be followed.
    why: Option<&'static str>,
}

/// Every detail in which the models differ, as `model` has it; the most important first.
fn details(model: Model) -> Vec<Detail> {
    let detail = |parameter: &tinygram_naglemark::model::Parameter| match model {
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

/// The details in a paragraph, for the end of a terminal's page.
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

/// The details as a table, with the reason for each.
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
        columns: heads
            .iter()
            .map(|&head| Column {
                group: String::new(),
                head: head.into(),
                align: Align::Left,
            })
            .collect(),
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
