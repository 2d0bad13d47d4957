//! Naglemark over Linux's TCP and what is like it: typed -> meant ([`plan`]) -> done ([`bench`], on
//! a [`Backend`]) -> shown.
//!
//! A backend is a TCP that can be told a [`policy`]: the running kernel's sockets ([`kernel`]) or a
//! profile of the engine in the simulator ([`profile`]). Another one is another arm of
//! [`BackendName`](super::args::BackendName), which [`open`] turns into a [`Backend`].

mod bench;
mod compare;
pub(super) mod kernel;
mod outliers;
mod plan;
pub(super) mod policy;
mod profile;
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
    let mut backends = plan.backends.iter().map(|name| open(*name, &plan));
    // The kernel's namespaces are entered before any thread is started.
    let mut backends = backends.by_ref().collect::<Result<Vec<_>, _>>()?;
    interrupt::watch();
    let results = {
        let progress = terminal::Progress::over(plan.steps(), "measuring");
        bench::measure(&plan, &mut backends, outputs.shows_transfers(), &progress)?
    };
    let compared = compare::compare(&plan, &results);
    let panels: Vec<_> = results.iter().map(|of| of.panel(&plan)).collect();
    for remark in results.iter().flat_map(|of| &of.remarks) {
        terminal::remark(remark);
    }
    let echo = Echo {
        plan: &plan,
        conditions: backends.iter().map(|it| it.conditions()).collect(),
        agreement: compared.clone(),
    };
    let tables: Vec<Table> = compare::table(&compared)
        .into_iter()
        .chain([trial::conditions_table(&echo.conditions)])
        .collect();
    outputs.show(&echo, &Appendix::same(tables), &panels, &[])
}

/// Makes the backend ready: namespaces, devices, listeners.
fn open(name: BackendName, plan: &Plan) -> Result<Box<dyn Backend>, Failure> {
    Ok(match name {
        BackendName::Sim => Box::new(profile::Simulated::new(plan)),
        BackendName::Kernel => Box::new(kernel::Kernel::open(plan)?),
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
