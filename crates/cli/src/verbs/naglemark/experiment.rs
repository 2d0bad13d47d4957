//! From the plan to the paper's experiments: which trials run, with which parameters, and which of
//! them are cells of the paper's own tables.

use std::time::Duration;

use tinygram_engine::Duration as VirtualDuration;
use tinygram_engine::sender::send_policy::{Registered, SendPolicy};
use tinygram_engine::socket::copy_rule::{CopyRule as EngineCopyRule, SunOs, WholeWrite};
use tinygram_naglemark::measure::Wanted;
use tinygram_naglemark::model::Model as PaperModel;
use tinygram_naglemark::parameters::{
    AckTimerKind, Lengths, MediumKind, Parameters, Random, Series, Trial as PaperTrial,
};
use tinygram_papers::mogul::published::{APP_BUFFERS, SOCKET_BUFFERS, Table};
use tinygram_papers::mogul::tables::VARIANTS;

use super::args::{CopyRule, LengthChoice, Medium, Model, Trial};
use super::plan::{Link, NAGLIM, Plan};
use super::workload::{Drawn, Sequential};
use crate::values::AckTimer;

/// The trials of one medium, in the order in which they are shown.
pub(super) fn wanted(plan: &Plan, link: &Link) -> Vec<Wanted> {
    let table = table(plan, link).map(|table| table.number);
    let mut all = Vec::new();
    for entry in &plan.variants {
        for &app_buffer in &plan.app_buffers {
            for &socket_buffer in &plan.socket_buffers {
                let is_published = VARIANTS.contains(&entry.label)
                    && APP_BUFFERS.contains(&app_buffer)
                    && SOCKET_BUFFERS.contains(&socket_buffer);
                for &trial in &plan.trials {
                    let paper = Parameters::paper(
                        model(plan.model),
                        medium(link),
                        policy(entry, plan.naglim),
                        app_buffer,
                        socket_buffer,
                        paper_trial(trial),
                    );
                    all.push(Wanted {
                        table: table.filter(|_| is_published),
                        variant: entry.label,
                        parameters: adjusted(paper, plan, link),
                    });
                }
            }
        }
    }
    all
}

/// A fresh policy, with NAGLIM's limit where it is that one.
pub(super) fn policy(entry: &Registered, naglim: Option<u32>) -> SendPolicy {
    match naglim {
        Some(limit) if entry.name == NAGLIM => SendPolicy::naglim(limit),
        _ => (entry.make)(),
    }
}

/// The paper's table whose conditions this medium is measured under, if there is one. Model, seed
/// and repetitions do not make it another experiment.
pub(super) fn table(plan: &Plan, link: &Link) -> Option<&'static Table> {
    let number = match (link.medium, plan.infer) {
        (Medium::Ethernet, false) => 4,
        (Medium::Fddi, false) => 5,
        (Medium::Ethernet, true) => 6,
        (Medium::Fddi, true) => 7,
        (Medium::EthernetFullDuplex | Medium::PointToPoint, _) => return None,
    };
    let as_in_the_paper = link.mss == medium(link).usual_mss()
        && link.rtt.is_zero()
        && plan.mclbytes == Some(Plan::PAPER_MCLBYTES)
        && plan.copy_rule == CopyRule::Mclbytes
        && plan.receive_buffer.is_none()
        && plan.ack_policy.is_none()
        && plan.ack_timer.is_none()
        && plan.requests_per_connection.is_none()
        && plan.length_choice == LengthChoice::PerRequest
        && (plan.loss, plan.reorder, plan.duplicate) == (0.0, 0.0, 0.0)
        && plan.multiplier == 3
        && plan
            .sequential
            .is_none_or(|it| series(it) == Lengths::PAPER.series)
        && plan
            .random
            .is_none_or(|it| random(it, 1) == Lengths::PAPER.random);
    Table::numbered(number).filter(|_| as_in_the_paper)
}

/// The paper's parameters with the plan's in their place.
fn adjusted(paper: Parameters, plan: &Plan, link: &Link) -> Parameters {
    let requests_per_connection = plan
        .requests_per_connection
        .filter(|_| paper.trial.one_connection())
        .map(|count| usize::try_from(count).unwrap_or(usize::MAX));
    Parameters {
        mss: link.mss,
        mclbytes: plan.mclbytes.unwrap_or(paper.mclbytes),
        receive_buffer: plan.receive_buffer,
        requests_per_connection,
        lengths: lengths(plan),
        ack_policy: plan.ack_policy.map(|entry| (entry.make)()),
        ack_timer: plan.ack_timer.map(|timer| match timer {
            AckTimer::Cyclic(period) => AckTimerKind::Cyclic(virtual_time(period)),
            AckTimer::PerConnection(length) => AckTimerKind::PerConnection(virtual_time(length)),
        }),
        copy_rule: match plan.copy_rule {
            // The paper's own, with the clusters given above.
            CopyRule::Mclbytes => None,
            CopyRule::SunOs => Some(EngineCopyRule::SunOs(SunOs::AS_SHIPPED)),
            CopyRule::WholeWrite => Some(EngineCopyRule::WholeWrite(WholeWrite)),
        },
        infer: plan.infer,
        rtt: virtual_time(link.rtt),
        loss: plan.loss,
        reorder: plan.reorder,
        duplicate: plan.duplicate,
        seed: plan.seed,
        ..paper
    }
}

fn lengths(plan: &Plan) -> Lengths {
    lengths_of(
        plan.sequential,
        plan.random,
        plan.length_choice,
        plan.requests_per_connection,
    )
}

/// The paper's where a kind of length is not wanted.
pub(super) fn lengths_of(
    sequential: Option<Sequential>,
    drawn: Option<Drawn>,
    choice: LengthChoice,
    requests_per_connection: Option<u64>,
) -> Lengths {
    let run = match (choice, requests_per_connection) {
        (LengthChoice::PerRequest, _) => 1,
        (LengthChoice::PerConnection, None) => u32::MAX,
        (LengthChoice::PerConnection, Some(count)) => u32::try_from(count).unwrap_or(u32::MAX),
    };
    Lengths {
        series: sequential.map_or(Lengths::PAPER.series, series),
        random: drawn.map_or(Lengths::PAPER.random, |it| random(it, run)),
    }
}

fn series(it: Sequential) -> Series {
    Series {
        from: octets(it.series.from),
        to: octets(it.series.to),
        step: octets(it.series.step),
        transfers: octets(it.transfers),
    }
}

fn random(it: Drawn, run: u32) -> Random {
    Random {
        from: octets(it.lengths.from),
        to: octets(it.lengths.to),
        transfers: octets(it.transfers),
        run,
    }
}

/// Sizes and counts are checked against far lower bounds when they are typed.
fn octets(checked: u64) -> u32 {
    u32::try_from(checked).expect("sizes end at 1G and transfers at 100,000,000")
}

pub(super) fn medium(link: &Link) -> MediumKind {
    match link.medium {
        Medium::Ethernet => MediumKind::Ethernet,
        Medium::EthernetFullDuplex => MediumKind::EthernetFullDuplex,
        Medium::Fddi => MediumKind::Fddi,
        Medium::PointToPoint => MediumKind::PointToPoint {
            bits_per_second: link.rate_bits_per_second,
        },
    }
}

pub(super) fn model(model: Model) -> PaperModel {
    match model {
        Model::Literal => PaperModel::Literal,
        Model::Fitted => PaperModel::Fitted,
    }
}

pub(super) fn paper_trial(trial: Trial) -> PaperTrial {
    match trial {
        Trial::SequentialOne => PaperTrial::SequentialOne,
        Trial::SequentialEach => PaperTrial::SequentialEach,
        Trial::RandomEach => PaperTrial::RandomEach,
        Trial::RandomOne => PaperTrial::RandomOne,
    }
}

fn virtual_time(length: Duration) -> VirtualDuration {
    VirtualDuration::from_nanos(u64::try_from(length.as_nanos()).expect("durations end at 60 s"))
}
