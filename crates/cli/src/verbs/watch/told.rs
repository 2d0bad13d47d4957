//! Who is told of what was found: the reader, a collector, whoever asks for the page, and a file of the lines of code.

use std::time::Duration;

use tinygram_host::process::Process;
use tinygram_host::root::Root;
use tinygram_watch::finding::Finding;

use super::done::Watch;
use super::http::Page;
use super::otlp::Export;
use super::show::Show;
use super::sites::Sites;
use super::{Args, metrics};
use crate::outcome::Failure;

pub(super) struct Listeners {
    show: Show,
    page: Option<Page>,
    export: Option<Export>,
    sites: Option<Sites>,
}

impl Listeners {
    /// Opens what the arguments ask for; nothing is sent yet.
    pub(super) fn open(args: &Args) -> Result<Self, Failure> {
        Ok(Self {
            sites: args.sites.as_deref().map(Sites::open).transpose()?,
            page: args.metrics.map(metrics::serve).transpose()?,
            show: Show::new(args),
            export: None,
        })
    }

    pub(super) fn begin(&mut self, args: &Args, root: &Root, watch: &Watch) -> Result<(), Failure> {
        if let Some(url) = &args.otlp {
            self.export = Some(Export::start(url, root)?);
        }
        self.show.begin(watch)
    }

    /// Tells of new findings. The reader comes last: it may have gone away, and the others are told all.
    pub(super) fn hear(&mut self, findings: &[(Finding, Process)]) -> Result<(), Failure> {
        for (finding, process) in findings {
            if let Some(export) = &mut self.export {
                export.add(finding, process);
            }
            if let Some(sites) = &mut self.sites {
                sites.add(finding, &process.name);
            }
        }
        findings
            .iter()
            .try_for_each(|(finding, process)| self.show.finding(finding, process))
    }

    /// Renews what is shown of the state.
    pub(super) fn breathe(&mut self, watch: &Watch, watched: Duration) -> Result<(), Failure> {
        self.show.breathe(watch, watched)?;
        let export = self.export.as_mut();
        if let Some(news) = export.and_then(|export| export.breathe(watched)) {
            self.show.remark(news);
        }
        if let Some(page) = &self.page {
            page.renew(metrics::text(watch));
        }
        Ok(())
    }

    /// Tells of the end; returns whether all were told everything. `so_far` is the failure before, if there was one.
    pub(super) fn end(
        mut self,
        so_far: Result<(), Failure>,
        watch: &Watch,
        watched: Duration,
    ) -> Result<bool, Failure> {
        let exported = self.export.take().map(Export::end);
        // The file comes first: it is whole even if the reader of standard output goes away.
        let sites = self.sites.take();
        let written = sites.map_or(Ok(()), |sites| sites.end(watch, watched.as_secs_f64()));
        written?;
        so_far?;
        self.show.end(watch, exported.as_ref(), watched)?;
        Ok(exported.is_none_or(|exported| exported.is_whole()))
    }
}
