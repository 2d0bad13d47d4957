//! Table 1: the share of responses that are vulnerable by their length alone.

use tinygram_naglemark::MediumKind;

use super::prevalence::Vulnerability;
use super::stalled::Setting;
use crate::experiment::{Class, Effort, Layout, Outcome, Row};
use crate::standard::Standard;
use crate::value::{PaperValue, Tolerance};

pub(super) fn run(effort: &Effort) -> Outcome {
    let mut rows: Vec<Row> = TABLE_1.into_iter().map(of_the_log).collect();
    rows.extend(TABLE_1.into_iter().map(of_naglemark));
    rows.extend(consequences());
    rows.extend(
        [MediumKind::EthernetFullDuplex, MediumKind::Fddi]
            .map(|medium| against_the_simulator(medium, effort)),
    );
    Outcome {
        rules: vec![
            "A response is delayed if its length is between (2N + 1) MSS and (2N + 2) MSS, \
             exclusive, for N >= 0. A response below 2 MSS or below MCLBYTES is never delayed \
             (section 3.3).",
        ],
        rows,
        layout: Layout::Grid {
            down: &["mss"],
            across: &["mclbytes"],
        },
        notes: vec![
            "The paper's shares (in percent) are those of one day of Digital's web proxy traces \
             of 1996, with 1,565,207 responses. The traces are no longer available at the public \
             address that the paper gives (its reference 4). `tinygram prevalence` makes the same \
             table from any web server's log."
                .into(),
            "The paper heads a column with 8196, but its text says 8192. It also cites another \
             benchmark, whose lengths are not published either: 8.7 % of the responses of that \
             benchmark took an even number of FDDI packets."
                .into(),
            "The shares for naglemark's lengths are those of the lengths from 100 to 100,000 \
             octets in steps of 100. The paper's other tables are measured with these lengths."
                .into(),
        ],
        ..Outcome::default()
    }
}

/// MSS, MCLBYTES (0 if ignored), and the percentage of responses.
const TABLE_1: [(u16, u64, f64); 6] = [
    (1460, 0, 18.78),
    (1460, 4096, 18.78),
    (1460, 8192, 10.05),
    (4312, 0, 6.71),
    (4312, 4096, 6.71),
    (4312, 8192, 6.71),
];

fn of_the_log((mss, mclbytes, percent): (u16, u64, f64)) -> Row {
    Row {
        cell: cell(mss, mclbytes),
        standard: Some(Standard::printed(PaperValue::Number(percent, 2))),
        reproduced: PaperValue::Text("no log".into()),
        tolerance: Tolerance::Within(0.005),
        class: Class::KnownMismatch(
            "the log was published at an address that no longer answers, so its responses cannot \
             be counted",
        ),
    }
}

fn of_naglemark((mss, mclbytes, _): (u16, u64, f64)) -> Row {
    let mut cell = cell(mss, mclbytes);
    cell.push(("lengths", PaperValue::Text("naglemark's".into())));
    let delayed =
        naglemarks_lengths().filter(|length| vulnerability(mss, mclbytes).is_delayed(*length));
    Row {
        cell,
        standard: None,
        reproduced: PaperValue::Number(100.0 * delayed.count() as f64 / 1000.0, 1),
        tolerance: Tolerance::Unbounded,
        class: Class::NotPublished,
    }
}

/// Returns what the predicate implies for the table whatever the log: entries that must be equal.
fn consequences() -> impl Iterator<Item = Row> {
    let claims = [
        (
            "MSS 1460: MCLBYTES 4096 changes nothing",
            1460,
            4096,
            "true",
        ),
        (
            "MSS 1460: MCLBYTES 8192 changes nothing",
            1460,
            8192,
            "false",
        ),
        (
            "MSS 4312: MCLBYTES 4096 changes nothing",
            4312,
            4096,
            "true",
        ),
        (
            "MSS 4312: MCLBYTES 8192 changes nothing",
            4312,
            8192,
            "true",
        ),
    ];
    claims.into_iter().map(|(claim, mss, mclbytes, wanted)| {
        let changes = |length: &u64| {
            vulnerability(mss, mclbytes).is_delayed(*length)
                != vulnerability(mss, 0).is_delayed(*length)
        };
        Row {
            cell: vec![("claim", PaperValue::Text(claim.into()))],
            standard: Some(Standard::derived(PaperValue::Text(wanted.into()))),
            reproduced: PaperValue::Text(
                (!(1..=100_000).any(|length| changes(&length))).to_string(),
            ),
            tolerance: Tolerance::Exact,
            class: Class::Rules,
        }
    })
}

/// Returns for how many of naglemark's 1000 lengths the predicate disagrees with the simulated
/// kernel.
fn against_the_simulator(medium: MediumKind, effort: &Effort) -> Row {
    let buffers = (128 << 10, 128 << 10);
    let setting = Setting::new(medium, "NAGLE", buffers, effort.seed);
    let taken = setting.run(0);
    let delays = setting.stalled(&taken);
    let mss = setting.hosts.mss;
    let predicted = |length: u32| vulnerability(mss, 8192).is_delayed(length.into());
    let other = taken.samples.iter().zip(delays);
    let other = other.filter(|(sample, delayed)| predicted(sample.length) != *delayed);
    Row {
        cell: vec![(
            "claim",
            PaperValue::Text(format!(
                "MSS {mss}: lengths, of naglemark's 1000, for which the simulated kernel differs \
                 from the rule"
            )),
        )],
        standard: None,
        reproduced: PaperValue::Count(other.count() as u64),
        tolerance: Tolerance::Unbounded,
        class: Class::NotPublished,
    }
}

fn naglemarks_lengths() -> impl Iterator<Item = u64> {
    (100..=100_000).step_by(100)
}

fn vulnerability(mss: u16, mclbytes: u64) -> Vulnerability {
    Vulnerability {
        mss,
        mclbytes: (mclbytes > 0).then_some(mclbytes),
    }
}

fn cell(mss: u16, mclbytes: u64) -> Vec<(&'static str, PaperValue)> {
    let mclbytes = match mclbytes {
        0 => PaperValue::Text("ignored".into()),
        octets => PaperValue::Text(format!("{}K", octets / 1024)),
    };
    vec![
        ("mss", PaperValue::Count(mss.into())),
        ("mclbytes", mclbytes),
    ]
}
