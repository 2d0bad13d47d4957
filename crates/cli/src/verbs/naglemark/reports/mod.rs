//! `tinygram naglemark reports`: reports that contradict each other, as points of one chart.

mod show;

use tinygram_naglemark::load::reports::{REPORTS, Report, reproduce};
use tinygram_report::{Destination, Ink};

use super::args::reports::Args;
use crate::files::{failed, opened};
use crate::outcome::{Done, Failure};
use crate::{stop, terminal};
use show::Shown;

pub(crate) fn run(args: &Args) -> Result<Done, Failure> {
    let results = opened(args.results.output.as_deref(), Destination::open)?;
    let svg = opened(args.svg.as_deref(), Destination::open)?;
    stop::at_once();
    let shown = measured(args)?;
    let canvas = match results {
        Some(_) => (Ink::Plain, terminal::WIDTH),
        None => terminal::canvas(terminal::WIDTH),
    };
    let text = shown.rendered(args, canvas);
    stop::shielded(|| {
        if let Some((path, file)) = svg {
            let chart = shown.chart().to_svg_with_names();
            file.write(chart.as_bytes())
                .map_err(|error| failed(&path, error))?;
        }
        match results {
            Some((path, file)) => file
                .write(text.as_bytes())
                .map_err(|error| failed(&path, error))
                .map(|()| Done::Well),
            None => terminal::print(text.as_bytes()),
        }
    })
}

fn measured(args: &Args) -> Result<Shown, Failure> {
    let chosen: Vec<&'static Report> = match args.reports.is_empty() {
        true => REPORTS.iter().collect(),
        false => args.reports.clone(),
    };
    let scenes = chosen.iter().flat_map(|it| it.scenes);
    let loads: usize = scenes.map(|it| it.asked.0.len()).sum();
    let progress = terminal::Progress::over(loads as u64, "simulating");
    let drawn = (args.repetitions, args.chance.seed);
    let one =
        |report: &&'static Report| reproduce(report, args.costs.over, drawn, &|| progress.step());
    let pool = args.processors.pool()?;
    let reported = pool.install(|| chosen.iter().map(one).collect::<Result<_, _>>())?;
    Ok(Shown { reported })
}
