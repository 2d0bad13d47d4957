//! Section 8.1: the cost of a variant when it does not delay. The paper's regression included
//! delayed transfers that its cutoff missed, and did not count packets. Here every delayed transfer
//! is left out, and packets are counted.

use rayon::prelude::*;
use tinygram_naglemark::{MediumKind, Taken, regression};

use super::published::{APP_BUFFERS, SOCKET_BUFFERS};
use super::stalled::{Setting, UNDISTURBED, stalled};
use super::tables::VARIANTS;
use crate::experiment::{Class, Effort, Layout, Outcome, Row};
use crate::standard::Standard;
use crate::value::{PaperValue, Tolerance};

/// The costs of a variant in a trial of 1000 transfers.
struct Cost {
    medium: MediumKind,
    variant: &'static str,
    app_buffer: u64,
    socket_buffer: u64,
    slope_ns: f64,
    delayed: usize,
    data_segments: f64,
    short_segments: f64,
}

const MEDIA: [MediumKind; 2] = [MediumKind::EthernetFullDuplex, MediumKind::Fddi];
/// This is not one of the paper's sizes. "The regression could be used to detect variants that send
/// an excessive number of packets", and only writes far below the MSS make variants do so.
const SMALL_WRITES: u64 = 256;

pub(super) fn run(effort: &Effort) -> Outcome {
    let app_buffers = || APP_BUFFERS.into_iter().chain([SMALL_WRITES]);
    let settings = MEDIA.map(|medium| app_buffers().map(move |app| (medium, app)));
    let settings: Vec<(MediumKind, u64)> = settings.into_iter().flatten().collect();
    let mut costs: Vec<Cost> = settings
        .into_par_iter()
        .with_max_len(1)
        .flat_map_iter(|(medium, app)| costs(medium, (app, SOCKET_BUFFERS[1]), effort.seed))
        .collect();
    costs.sort_by_key(|cost| {
        (
            MEDIA.iter().position(|medium| *medium == cost.medium),
            VARIANTS.iter().position(|variant| *variant == cost.variant),
        )
    });
    let mut rows: Vec<Row> = costs.iter().map(slope).collect();
    rows.extend(MEDIA.iter().map(|medium| difference(medium, &costs)));
    for (measure, digits, of) in PACKETS {
        rows.extend(
            costs
                .iter()
                .map(|cost| row(cost, measure, of(cost), digits)),
        );
    }
    Outcome {
        rules: vec![
            "A slope is that of the regression of elapsed time on message length, over the \
             transfers that are not delayed (section 8.1).",
            "A transfer is delayed if it takes 20 ms more than the same transfer with the Nagle \
             algorithm disabled.",
        ],
        parameters: super::scores::parameters(),
        rows,
        layout: Layout::Grid {
            down: &["variant"],
            across: &["medium", "app_buffer"],
        },
        notes: vec![
            "The paper prints no slopes (\"the results are inconclusive\"). The socket buffer is \
             64K, and the trial type is S. Ethernet is full duplex here, because back-off would \
             also delay transfers and hide which of them the variant delayed."
                .into(),
            "The paper has no writes of 256 octets. With its buffer sizes all variants send about \
             the same number of segments; with small writes they differ."
                .into(),
        ],
        ..Outcome::default()
    }
}

/// Returns the cost of each variant with these buffers.
fn costs(medium: MediumKind, buffers: (u64, u64), seed: u64) -> Vec<Cost> {
    let setting = Setting::new(medium, UNDISTURBED, buffers, seed);
    let taken = setting.run_each(&VARIANTS);
    let undisturbed = VARIANTS.iter().position(|variant| *variant == UNDISTURBED);
    let undisturbed = &taken[undisturbed.expect("it is one of Table 3's")];
    let pairs = VARIANTS.into_iter().zip(&taken);
    pairs
        .map(|(variant, taken)| cost(medium, variant, buffers, taken, undisturbed))
        .collect()
}

fn cost(
    medium: MediumKind,
    variant: &'static str,
    buffers: (u64, u64),
    taken: &Taken,
    undisturbed: &Taken,
) -> Cost {
    let delays = stalled(taken, undisturbed);
    let pairs = taken.samples.iter().zip(&delays);
    let undelayed = pairs
        .filter(|(_, delayed)| !**delayed)
        .map(|(sample, _)| sample);
    let transfers = taken.samples.len() as f64;
    Cost {
        medium,
        variant,
        app_buffer: buffers.0,
        socket_buffer: buffers.1,
        slope_ns: regression(undelayed),
        delayed: delays.iter().filter(|delayed| **delayed).count(),
        data_segments: taken.data_segments.unwrap_or(0) as f64 / transfers,
        short_segments: taken.short_segments.unwrap_or(0) as f64 / transfers,
    }
}

type Measure = (&'static str, u8, fn(&Cost) -> f64);

const PACKETS: [Measure; 3] = [
    ("data segments per transfer", 1, |cost| cost.data_segments),
    ("short data segments per transfer", 1, |cost| {
        cost.short_segments
    }),
    ("delayed transfers (%), left out of the slope", 1, |cost| {
        cost.delayed as f64 / 10.0
    }),
];

fn slope(cost: &Cost) -> Row {
    row(cost, "slope (ns/octet)", cost.slope_ns, 0)
}

fn row(cost: &Cost, measure: &str, value: f64, digits: u8) -> Row {
    Row {
        cell: vec![
            ("measure", PaperValue::Text(measure.into())),
            ("variant", PaperValue::Text(cost.variant.into())),
            ("medium", PaperValue::Text(network(&cost.medium).into())),
            ("app_buffer", PaperValue::Count(cost.app_buffer)),
            ("socket_buffer", PaperValue::Count(cost.socket_buffer)),
        ],
        standard: None,
        reproduced: PaperValue::Number(value, digits),
        tolerance: Tolerance::Unbounded,
        class: Class::NotPublished,
    }
}

/// "There seems to be no clear difference in slopes": between the steepest and the flattest variant
/// at the paper's own buffer sizes.
fn difference(medium: &MediumKind, costs: &[Cost]) -> Row {
    let widest = APP_BUFFERS.iter().map(|app| {
        let of_it = costs
            .iter()
            .filter(|it| it.medium == *medium && it.app_buffer == *app);
        let slopes: Vec<f64> = of_it.map(|it| it.slope_ns).collect();
        let steepest = slopes.iter().copied().fold(f64::MIN, f64::max);
        let flattest = slopes.iter().copied().fold(f64::MAX, f64::min);
        100.0 * (steepest / flattest - 1.0)
    });
    Row {
        cell: vec![(
            "measure",
            PaperValue::Text(format!(
                "{}: largest difference of slopes between variants (%)",
                network(medium)
            )),
        )],
        standard: Some(Standard::printed(PaperValue::Text(
            "no clear difference".into(),
        ))),
        reproduced: PaperValue::Number(widest.fold(0.0, f64::max), 1),
        tolerance: Tolerance::Unbounded,
        class: Class::NotPublished,
    }
}

fn network(medium: &MediumKind) -> &'static str {
    match medium {
        MediumKind::Fddi => "FDDI",
        _ => "Ethernet",
    }
}
