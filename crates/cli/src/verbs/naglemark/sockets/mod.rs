//! Naglemark on sockets: typed -> meant ([`plan`]) -> done ([`bench`], on a [`Backend`]) -> shown.
//!
//! A backend is a TCP that can be told a [`policy`]: the running kernel's sockets ([`kernel`]), our own
//! stack on real packets ([`stack`]), or the engine in the simulator ([`simulated`]). What is real is
//! asked by one [`client`], in one protocol ([`request`]). Another backend is another arm of
//! [`BackendName`](super::args::BackendName), which [`open`] turns into a [`Backend`].

mod bench;
mod client;
mod compare;
pub(super) mod kernel;
mod networks;
mod outliers;
mod plan;
pub(super) mod policy;
mod request;
mod simulated;
mod socket;
mod stack;
mod trial;

use serde::Serialize;
use tinygram_report::Table;

use super::args::{Args, BackendName};
use super::outputs::{Appendix, Outputs};
use crate::exit::{Done, Failure};
use crate::{interrupt, terminal};
use plan::Plan;
use trial::Backend;

pub(super) fn run(args: &Args) -> Result<Done, Failure> {
    let plan = Plan::from(args)?;
    let outputs = Outputs::open(args)?;
    if plan.needs_namespaces() {
        networks::acquire_privilege()?;
    }
    let backends = plan.backends.iter().map(|name| open(*name, &plan));
    let mut backends = backends.collect::<Result<Vec<_>, _>>()?;
    interrupt::watch();
    let results = {
        let progress = terminal::Progress::over(plan.transfers(), "measuring");
        bench::measure(&plan, &mut backends, outputs.shows_transfers(), &progress)?
    };
    let compared = compare::compare(&plan, &results);
    let panels: Vec<_> = results.iter().map(|of| of.panel(&plan)).collect();
    for remark in results.iter().flat_map(|of| of.remarks(&plan)) {
        terminal::remark(&remark);
    }
    let echo = Echo {
        plan: &plan,
        conditions: backends.iter().map(|it| it.conditions()).collect(),
        agreement: compared.clone(),
    };
    let tables: Vec<Table> = compare::tables(&compared)
        .chain([trial::conditions_table(&echo.conditions)])
        .collect();
    outputs.show(&echo, &Appendix::same(tables), &panels, &[])
}

/// Makes the backend ready: namespaces, devices, listeners.
fn open(name: BackendName, plan: &Plan) -> Result<Box<dyn Backend>, Failure> {
    Ok(match name {
        BackendName::Sim => Box::new(simulated::Simulated::new(plan)),
        BackendName::Kernel => Box::new(kernel::Kernel::open(plan)?),
        BackendName::Stack => Box::new(stack::OurStack::open(plan)?),
    })
}

/// What the JSON document echoes, and what came of the comparison.
#[derive(Serialize)]
struct Echo<'a> {
    #[serde(flatten)]
    plan: &'a Plan,
    conditions: Vec<trial::Conditions>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    agreement: Vec<compare::Agreement>,
}
