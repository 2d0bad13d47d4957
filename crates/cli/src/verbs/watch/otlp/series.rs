//! Adds findings up as OpenTelemetry's metrics: a resource for each service, and in it a histogram and counters.
//!
//! Everything counts from the beginning of the watch on (cumulative temporality): an export that is lost takes nothing
//! from the next one. The number of resources is bounded, and in each that of attributes by their values here.

use std::collections::BTreeMap;

use tinygram_host::container::{Container, Id};
use tinygram_host::process::Process;
use tinygram_host::root::Root;
use tinygram_watch::finding::{Facts, Finding};

use super::super::json::{reason_name, release_name};
use super::message::{
    CUMULATIVE, Data, Histogram, HistogramPoint, KeyValue, Metric, NumberPoint, Request, Resource,
    ResourceMetrics, Scope, ScopeMetrics, Sum, Value,
};

/// The sums of a watch.
pub(super) struct Series {
    /// What every resource has.
    host: Vec<KeyValue>,
    began_ns: u64,
    services: BTreeMap<Option<Service>, Sums>,
    /// Findings that were added.
    pub(super) findings: u64,
}

/// What a resource stands for. `None` stands for all for which there was no room.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Service {
    container: Option<Container>,
    /// The program's name; of an interpreter, what it runs.
    program: String,
}

#[derive(Default)]
struct Sums {
    holds: BTreeMap<Held, Durations>,
    /// Floods and the segments that coalescing would have saved, by side.
    floods: BTreeMap<String, (i64, i64)>,
}

/// The attributes of a hold.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Held {
    reason: &'static str,
    side: String,
    released_by: &'static str,
}

#[derive(Clone, Default)]
struct Durations {
    count: u64,
    sum_s: f64,
    least_s: f64,
    most_s: f64,
    buckets: [u64; BOUNDS.len() + 1],
}

impl Series {
    pub(super) fn new(began_ns: u64, root: &Root) -> Self {
        Self {
            host: host(root),
            began_ns,
            services: BTreeMap::new(),
            findings: 0,
        }
    }

    pub(super) fn add(&mut self, finding: &Finding, process: &Process) {
        // What may have cost nobody anything is not counted, as in the summary.
        if !finding.tier.accuses() {
            return;
        }
        self.findings += 1;
        let service = Some(Service {
            container: process.container.clone(),
            program: process.script.as_ref().unwrap_or(&process.name).clone(),
        });
        let has_room = self.services.len() < MOST_SERVICES || self.services.contains_key(&service);
        let key = if has_room { service } else { None };
        let sums = self.services.entry(key).or_default();
        let side = finding.side.to_string();
        let (reason, released_by) = match &finding.facts {
            Facts::Held {
                reason, release, ..
            } => (reason_name(*reason), release_name(*release)),
            // The peer held, until this host acknowledged.
            Facts::LateAck { .. } => ("late-ack", "ack"),
            Facts::Flood { .. } => {
                let (floods, segments) = sums.floods.entry(side).or_default();
                *floods += 1;
                *segments = segments
                    .saturating_add(i64::try_from(finding.cost.segments).unwrap_or(i64::MAX));
                return;
            }
        };
        let held = Held {
            reason,
            side,
            released_by,
        };
        let seconds = finding.cost.time_ns.max(0) as f64 / 1e9;
        sums.holds.entry(held).or_default().add(seconds);
    }

    /// Returns all sums until now as a request.
    pub(super) fn request(&self, now_ns: u64) -> Request {
        let span = (self.began_ns, now_ns);
        let resource_metrics = self.services.iter().map(|(service, sums)| {
            let mut attributes = self.host.clone();
            attributes.extend(service.iter().flat_map(Service::attributes));
            let also: &[KeyValue] = match service {
                Some(_) => &[],
                // The convention's name for what exceeded the limit of the number of series.
                None => &[KeyValue::of("otel.metric.overflow", Value::Bool(true))],
            };
            ResourceMetrics {
                resource: Some(Resource { attributes }),
                scope_metrics: vec![ScopeMetrics {
                    scope: Some(Scope {
                        name: "tinygram".to_owned(),
                        version: env!("CARGO_PKG_VERSION").to_owned(),
                    }),
                    metrics: sums.metrics(span, also),
                }],
            }
        });
        Request {
            resource_metrics: resource_metrics.collect(),
        }
    }
}

impl Durations {
    fn add(&mut self, seconds: f64) {
        self.least_s = match self.count {
            0 => seconds,
            _ => self.least_s.min(seconds),
        };
        self.most_s = self.most_s.max(seconds);
        self.count += 1;
        self.sum_s += seconds;
        // A bucket has its upper bound.
        self.buckets[BOUNDS.partition_point(|bound| *bound < seconds)] += 1;
    }
}

impl Sums {
    fn metrics(&self, span: (u64, u64), also: &[KeyValue]) -> Vec<Metric> {
        let mut metrics = Vec::new();
        if !self.holds.is_empty() {
            let points = self.holds.iter().map(|(held, durations)| HistogramPoint {
                start_time_unix_nano: span.0,
                time_unix_nano: span.1,
                count: durations.count,
                sum: Some(durations.sum_s),
                bucket_counts: durations.buckets.to_vec(),
                explicit_bounds: BOUNDS.to_vec(),
                attributes: held.attributes(also),
                min: Some(durations.least_s),
                max: Some(durations.most_s),
            });
            metrics.push(Metric {
                name: "system.network.tcp.hold.duration".to_owned(),
                description:
                    "How long TCP held a short segment back while a program waited for it."
                        .to_owned(),
                unit: "s".to_owned(),
                data: Some(Data::Histogram(Histogram {
                    data_points: points.collect(),
                    aggregation_temporality: CUMULATIVE,
                })),
            });
            let counts = self.holds.iter();
            let counts = counts.map(|(held, durations)| {
                let count = i64::try_from(durations.count).unwrap_or(i64::MAX);
                (held.attributes(also), count)
            });
            metrics.push(counter(HOLDS, span, counts));
        }
        if !self.floods.is_empty() {
            let by_side = |pick: fn(&(i64, i64)) -> i64| {
                self.floods.iter().map(move |(side, sums)| {
                    let mut attributes = vec![KeyValue::text("network.tcp.role", side)];
                    attributes.extend_from_slice(also);
                    (attributes, pick(sums))
                })
            };
            metrics.push(counter(FLOODS, span, by_side(|sums| sums.0)));
            metrics.push(counter(SEGMENTS, span, by_side(|sums| sums.1)));
        }
        metrics
    }
}

impl Held {
    fn attributes(&self, also: &[KeyValue]) -> Vec<KeyValue> {
        let mut attributes = vec![
            KeyValue::text("network.tcp.hold.reason", snake_case(self.reason)),
            KeyValue::text("network.tcp.role", &self.side),
            KeyValue::text("network.tcp.hold.released_by", snake_case(self.released_by)),
        ];
        attributes.extend_from_slice(also);
        attributes
    }
}

/// Returns a name of our JSON as OpenTelemetry's conventions spell a value.
fn snake_case(name: &str) -> String {
    name.replace('-', "_")
}

impl Service {
    /// Returns the attributes by OpenTelemetry's conventions. What is not known is left out, as they want it.
    fn attributes(&self) -> Vec<KeyValue> {
        let unknown = || format!("unknown_service:{}", self.program);
        let container = self.container.as_ref();
        let name = match container {
            Some(Container::Unit { name }) => name.trim_end_matches(".service").to_owned(),
            Some(container) => container.name().map_or_else(unknown, str::to_owned),
            None => unknown(),
        };
        let mut attributes = vec![
            KeyValue::text("service.name", name),
            KeyValue::text("process.executable.name", &self.program),
        ];
        let Some(container) = container else {
            return attributes;
        };
        let is_pod = matches!(container, Container::Pod { .. });
        let named = match is_pod {
            true => "k8s.container.name",
            false => "container.name",
        };
        let uid = match container {
            Container::Pod { uid, .. } => Some(uid.as_str()),
            _ => None,
        };
        let known = [
            ("container.id", container.id().map(Id::full)),
            (named, container.name()),
            ("k8s.namespace.name", container.namespace()),
            ("k8s.pod.name", container.pod()),
            ("k8s.pod.uid", uid),
        ];
        let known = known
            .into_iter()
            .filter_map(|(key, value)| Some((key, value?)));
        attributes.extend(known.map(|(key, value)| KeyValue::text(key, value)));
        attributes
    }
}

/// Returns the attributes of this host.
fn host(root: &Root) -> Vec<KeyValue> {
    let line = |path: &str| {
        let text = std::fs::read_to_string(root.join(path)).ok()?;
        let line = text.trim();
        (!line.is_empty() && line.len() <= 255).then(|| line.to_owned())
    };
    let own = rustix::system::uname();
    let own = own.nodename().to_string_lossy().into_owned();
    let mut attributes = vec![
        KeyValue::text("os.type", "linux"),
        KeyValue::text("host.name", line("/etc/hostname").unwrap_or(own)),
    ];
    attributes.extend(line("/etc/machine-id").map(|id| KeyValue::text("host.id", id)));
    attributes
}

fn counter(
    (name, unit, description): (&str, &str, &str),
    span: (u64, u64),
    points: impl Iterator<Item = (Vec<KeyValue>, i64)>,
) -> Metric {
    let points = points.map(|(attributes, value)| NumberPoint {
        start_time_unix_nano: span.0,
        time_unix_nano: span.1,
        as_int: Some(value),
        attributes,
    });
    Metric {
        name: name.to_owned(),
        description: description.to_owned(),
        unit: unit.to_owned(),
        data: Some(Data::Sum(Sum {
            data_points: points.collect(),
            aggregation_temporality: CUMULATIVE,
            is_monotonic: true,
        })),
    }
}

const HOLDS: (&str, &str, &str) = (
    "system.network.tcp.hold.count",
    "{hold}",
    "Short segments that TCP held back while a program waited for them.",
);
const FLOODS: (&str, &str, &str) = (
    "system.network.tcp.flood.count",
    "{flood}",
    "Runs of many short segments where one write would have filled a few.",
);
const SEGMENTS: (&str, &str, &str) = (
    "system.network.tcp.flood.excess_segments",
    "{segment}",
    "Segments that coalescing the writes would have saved.",
);
/// The upper bounds of the buckets, in seconds: Linux's delayed acknowledgment (40 ms) and the least retransmission
/// timeout (200 ms) are in the midst of theirs.
const BOUNDS: [f64; 12] = [
    0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.15, 0.25, 0.5, 1.0,
];
/// As many containers as a node may have, with some programs in each.
const MOST_SERVICES: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::super::super::made::stall;
    use super::*;

    #[test]
    fn a_bucket_has_its_upper_bound() {
        let mut durations = Durations::default();
        for seconds in [0.001, 0.0011, 0.044, 1.0, 7.0] {
            durations.add(seconds);
        }
        assert_eq!(durations.buckets, [1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1]);
        assert_eq!((durations.least_s, durations.most_s), (0.001, 7.0));
    }

    /// A host may start programs without end: resources are bounded, and no finding is left out.
    #[test]
    fn what_exceeds_the_bound_is_counted_together() {
        let mut series = Series::new(1, &Root::default());
        for number in 0..2 * MOST_SERVICES {
            let (finding, mut process) = stall(7);
            process.name = format!("program-{number}");
            process.script = None;
            series.add(&finding, &process);
        }
        let request = series.request(2);
        assert_eq!(request.resource_metrics.len(), MOST_SERVICES + 1);
        let counted = request.resource_metrics.iter().flat_map(|resource| {
            let Some(Data::Sum(sum)) = &resource.scope_metrics[0].metrics[1].data else {
                panic!("a sum");
            };
            sum.data_points.iter().map(|point| point.as_int.unwrap())
        });
        assert_eq!(counted.sum::<i64>(), 2 * MOST_SERVICES as i64);
    }
}
