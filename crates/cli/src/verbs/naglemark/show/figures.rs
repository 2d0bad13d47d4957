//! Elapsed time against message length, as in Figures 7 to 12.

use tinygram_report::units::size;
use tinygram_report::{Figure, Line, Point};

use super::{Cutoff, Panel, Trace, elapsed_us};

impl Panel {
    /// One figure per entry of the scores, of its worst trial type where that was kept, with a file
    /// stem that says which: lower case, no character that a shell or file system reads specially.
    pub(in super::super) fn figures(&self) -> Vec<(String, Figure)> {
        let entries = self.scores(false).rows.into_iter().flatten();
        let shown: Vec<_> = entries.filter_map(|entry| entry.opens).collect();
        self.traces
            .iter()
            .filter(|trace| shown.contains(&self.id(trace)))
            .map(|trace| (self.stem(trace), self.figure(trace)))
            .collect()
    }

    fn figure(&self, trace: &Trace) -> Figure {
        let cutoff = Cutoff::of(&self.yardstick);
        let points: Vec<_> = trace
            .transfers
            .iter()
            .map(|t| {
                let elapsed_ms = elapsed_us(t) as f64 / 1e3;
                Point {
                    x: f64::from(t.length),
                    y: elapsed_ms,
                    marked: elapsed_ms > cutoff.at_ms(t.length),
                }
            })
            .collect();
        let delayed = points.iter().filter(|p| p.marked).count();
        let line = |name: &str, multiplier: f64, dashed| Line {
            name: name.into(),
            at_zero: multiplier * cutoff.startup_ms,
            slope: multiplier * cutoff.ns_per_byte / 1e6,
            dashed,
        };
        Figure {
            title: format!(
                "{} on {}, trial {}",
                trace.variant,
                self.medium(),
                trace.trial
            ),
            subtitle: format!(
                "application buffer {}, socket buffer {}: {delayed} of {} transfers delayed (crosses)",
                size(trace.app_buffer),
                size(trace.socket_buffer),
                points.len()
            ),
            x_label: "message length (bytes)".into(),
            y_label: "elapsed time (ms)".into(),
            points,
            lines: vec![
                line("estimate", 1.0, false),
                line(
                    &format!("cutoff (x {})", cutoff.multiplier),
                    cutoff.multiplier,
                    true,
                ),
            ],
        }
    }

    fn stem(&self, trace: &Trace) -> String {
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
        // File systems that ignore case must still tell s from S.
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
