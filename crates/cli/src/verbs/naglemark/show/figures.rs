//! Elapsed time against message length, as in Figures 7 to 12.

use tinygram_naglemark::Sample;
use tinygram_report::units::size;
use tinygram_report::{Axis, Chart, Mark, Point, Series};

use super::{Cutoff, KeptTransfers, Panel, elapsed_ms};

impl Panel {
    /// Returns one figure per entry of the scores, of its worst trial type if that was kept, with a
    /// file stem that names the cell in lower case, without characters that are special to a shell
    /// or file system.
    pub(in super::super) fn figures(&self) -> Vec<(String, Chart)> {
        let shown: Vec<_> = self.opened().collect();
        self.traces
            .iter()
            .filter(|trace| shown.contains(&self.id(trace)))
            .map(|trace| (self.stem(trace), self.figure(trace)))
            .collect()
    }

    /// Returns the ids of the cells whose transfers an entry of the scores opens.
    pub(in super::super) fn opened(&self) -> impl Iterator<Item = String> {
        let entries = self.scores(false).rows.into_iter().flatten();
        entries.filter_map(|entry| entry.opens)
    }

    fn figure(&self, trace: &KeptTransfers) -> Chart {
        let cutoff = Cutoff::of(&self.yardstick);
        let is_delayed = |it: &&Sample| elapsed_ms(it) > cutoff.at_ms(it.length);
        let (delayed, others): (Vec<_>, Vec<_>) = trace.transfers.iter().partition(is_delayed);
        let points = |of: &[&Sample]| {
            let point = |it: &&Sample| Point::at(f64::from(it.length), elapsed_ms(it));
            of.iter().map(point).collect()
        };
        Chart {
            title: format!(
                "{} on {}, trial {}",
                trace.variant,
                self.medium(),
                trace.trial
            ),
            subtitle: format!(
                "application buffer {}, socket buffer {}: {} of {} transfers delayed (crosses)",
                size(trace.app_buffer),
                size(trace.socket_buffer),
                delayed.len(),
                trace.transfers.len()
            ),
            x: Axis::new("message length", "bytes"),
            y: Axis::new("elapsed time", "ms"),
            series: vec![
                Series::new("not delayed", Mark::Dots, points(&others)),
                Series::new("delayed", Mark::Crosses, points(&delayed)),
            ],
            lines: cutoff.lines(),
            ..Chart::default()
        }
    }

    fn stem(&self, trace: &KeptTransfers) -> String {
        let variant: String = trace
            .variant
            .chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() {
                    c.to_ascii_lowercase()
                } else {
                    '-'
                }
            })
            .collect();
        // A file system that ignores case must distinguish s from S, too.
        let trial = match trace.trial {
            's' => "sequential-each",
            'S' => "sequential-one",
            'r' => "random-each",
            _ => "random-one",
        };
        format!(
            "{}-{variant}-app{}-sock{}-{trial}",
            self.medium(),
            trace.app_buffer,
            trace.socket_buffer
        )
    }
}
