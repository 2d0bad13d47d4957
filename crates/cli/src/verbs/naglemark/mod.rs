//! `tinygram naglemark`: typed ([`args`]) -> meant ([`plan`]) -> done ([`bench`]) -> shown
//! ([`outputs`]).

mod args;
mod bench;
mod experiment;
mod model;
mod outputs;
mod plan;
mod show;
mod sockets;
mod workload;

pub(crate) use args::Args;

use crate::exit::{Done, Failure};
use crate::{interrupt, terminal};

pub(crate) fn run(args: &Args) -> Result<Done, Failure> {
    if let Some(args::Role::Serve { listen }) = args.role {
        return sockets::kernel::serve(listen);
    }
    if args.profile.is_some() || args.backend != [args::BackendName::Sim] {
        return sockets::run(args);
    }
    let plan = plan::Plan::from(args)?;
    let outputs = outputs::Outputs::open(args)?;
    interrupt::watch();
    let manner = bench::Manner {
        threads: args.threads,
        keeps_transfers: outputs.shows_transfers(),
        compares_models: args.paper,
    };
    let measured = {
        let progress = terminal::Progress::over(manner.steps(&plan), "measuring");
        bench::measure(&plan, manner, &progress)?
    };
    let done = outputs.show(
        &model::Echo::of(&plan),
        &model::appendix(plan.model),
        &measured.panels,
        &measured.seen,
    );
    if args.stats {
        terminal::remark(&measured.stats.to_string());
    }
    done
}
