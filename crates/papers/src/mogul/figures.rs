//! Figures 7 to 12: elapsed time against length, and the paper's statements about each.
//!
//! The figures' points are not published as numbers. If the text does not name the buffers or the
//! network of a figure, they are inferred from what it says, and the figure says so.

mod figure;

use tinygram_engine::Duration;
use tinygram_naglemark::{MediumKind, Sample};

use super::shown::{elapsed_ms, row, text};
use super::tables::entry_tolerance;
use crate::experiment::{Class, Effort, Origin, Outcome, Row};
use crate::standard::Standard;
use crate::value::{PaperValue, Tolerance};
use figure::{Figure, KIB};

/// "One would hope the response time to be a smooth line, whose slope is the underlying network
/// bandwidth, as shown in figure 7" (section 6).
pub(super) fn figure_7(effort: &Effort) -> Outcome {
    let figure = Figure {
        number: 7,
        variant: "OFF",
        medium: MediumKind::Ethernet,
        app_buffer: 128 * KIB,
        socket_buffer: 128 * KIB,
        setting: Origin::Assumed(
            "the buffers are \"larger than the largest message size\" (section 6); the network is \
             that of Figure 8, and any variant that does not delay would do",
        ),
        samples: Vec::new(),
        score_percent: 0.0,
    }
    .measured(effort);
    let below = |start_up: Duration| {
        let is_below = |sample: &&Sample| {
            let estimate = figure.yardstick().estimate(sample.length);
            sample.elapsed + start_up < estimate
        };
        PaperValue::Count(figure.samples.iter().filter(is_below).count() as u64)
    };
    let start_up = figure.yardstick().estimate(0);
    let rows = vec![
        figure.score(Some(0.0), Tolerance::Within(0.05)),
        row(
            "points below length / raw rate",
            Some(Standard::derived(PaperValue::Count(0))),
            below(start_up),
            Tolerance::Exact,
            Class::Fitted,
        ),
        row(
            "points below length / raw rate + 10 ms, the lower line of the figure",
            Some(Standard::derived(PaperValue::Count(0))),
            below(Duration::ZERO),
            Tolerance::Exact,
            Class::KnownMismatch(
                "the text says that every point is above the estimate, but our hosts take less \
                 than 10 ms for an answer of 100 octets on a LAN",
            ),
        ),
        row(
            "slope (ns/octet); the raw rate alone is 800",
            None,
            PaperValue::Number(figure.slope(), 0),
            Tolerance::Unbounded,
            Class::NotPublished,
        ),
    ];
    let mut outcome = figure.outcome(rows);
    outcome.notes.push(
        "Because data collides with acknowledgments, our points do not form a smooth line, and \
         their slope is steeper than that of the raw rate."
            .into(),
    );
    outcome
}

/// "On a system using the traditional Nagle algorithm, however, the elapsed time varies erratically
/// with length, as shown in figure 8" (section 6).
pub(super) fn figure_8(effort: &Effort) -> Outcome {
    let figure = Figure {
        number: 8,
        variant: "NAGLE",
        medium: MediumKind::Ethernet,
        app_buffer: 128 * KIB,
        socket_buffer: 128 * KIB,
        setting: Origin::Assumed(
            "the figure's score of 30.5 % is near Table 4's (30.4 %) and far from Table 5's (44.5 \
             %)",
        ),
        samples: Vec::new(),
        score_percent: 0.0,
    }
    .measured(effort);
    let near = |millis: f64| {
        let is_near = |sample: &&Sample| (elapsed_ms(sample) - millis).abs() < 5.0;
        figure.samples.iter().filter(is_near).count() as u64
    };
    // A cluster has at least twice as many points as the neighbouring bands of 10 ms.
    let clusters = |millis: f64| near(millis) > 2 * near(millis - 10.0).max(near(millis + 10.0));
    let cluster = |millis: f64| {
        row(
            match millis as u32 {
                100 => "a cluster at 100 ms (footnote 2)",
                _ => "a cluster at 200 ms, the delayed-ACK clock",
            },
            Some(Standard::printed(text("yes"))),
            text(if clusters(millis) { "yes" } else { "no" }),
            Tolerance::Exact,
            Class::Fitted,
        )
    };
    let count = |what, millis| {
        let points = PaperValue::Count(near(millis));
        row(
            what,
            None,
            points,
            Tolerance::Unbounded,
            Class::NotPublished,
        )
    };
    let rows = vec![
        figure.score(Some(30.5), entry_tolerance(4, "NAGLE", 30.5)),
        cluster(100.0),
        count("points within 5 ms of 100 ms", 100.0),
        cluster(200.0),
        count("points within 5 ms of 200 ms", 200.0),
    ];
    figure.outcome(rows)
}

/// "The Minshall variant does well in almost all of our trials, except when the application buffer
/// size is smaller than the MSS and the message length is larger than app_buf_size (see figure 9)
/// [...] once the message length reaches app_buf_size + 2 * MSS, the sender stops waiting" (section
/// 8).
pub(super) fn figure_9(effort: &Effort) -> Outcome {
    let figure = Figure {
        number: 9,
        variant: "MINSHALL",
        medium: MediumKind::Fddi,
        app_buffer: 4 * KIB,
        socket_buffer: 128 * KIB,
        setting: Origin::Paper(
            "only application buffers of 4K are smaller than an MSS, and only \
                                than FDDI's",
        ),
        samples: Vec::new(),
        score_percent: 0.0,
    }
    .measured(effort);
    let delayed = figure.delayed();
    let (app, mss) = (
        figure.app_buffer as u32,
        u32::from(figure.medium.usual_mss()),
    );
    let rows = vec![
        figure.score_of_table(5),
        length(
            "shortest delayed length (the first above app_buf_size)",
            after(app),
            delayed.first().copied(),
        ),
        length(
            "longest delayed length (the last below app_buf_size + 2 MSS)",
            after(app + 2 * mss) - STEP,
            delayed.last().copied(),
        ),
    ];
    figure.outcome(rows)
}

/// "The algorithm does include a simple test to ignore tearing if the socket buffer is larger than
/// MCLBYTES, but apparently this only works for messages smaller than twice the socket buffer size
/// (see figure 10)" (section 8).
pub(super) fn figure_10(effort: &Effort) -> Outcome {
    let figure = torn(10, "MSMV").measured(effort);
    let rows = vec![
        figure.score_of_table(5),
        length(
            "shortest delayed length (the first above twice the socket buffer)",
            after(2 * figure.socket_buffer as u32),
            figure.delayed().first().copied(),
        ),
    ];
    figure.outcome(rows)
}

/// "For larger messages, it generally works well, except for some buffer tearing when the message is
/// just slightly longer than the socket buffer (see figure 11)" (section 8).
pub(super) fn figure_11(effort: &Effort) -> Outcome {
    let figure = Figure {
        number: 11,
        variant: "EOM",
        medium: MediumKind::Fddi,
        app_buffer: 32 * KIB,
        socket_buffer: 64 * KIB,
        setting: Origin::Assumed(
            "EOM delays messages above MCLBYTES in several settings; this one has the largest \
             socket buffer that is smaller than the longest message",
        ),
        samples: Vec::new(),
        score_percent: 0.0,
    }
    .measured(effort);
    let delayed = figure.delayed();
    let (socket, mss) = (
        figure.socket_buffer as u32,
        u32::from(figure.medium.usual_mss()),
    );
    let just_longer = (after(socket)..socket + mss).step_by(STEP as usize);
    let all = just_longer.clone().all(|length| delayed.contains(&length));
    let small_writes = |variant| {
        let small = Figure {
            number: 11,
            variant,
            app_buffer: 4 * KIB,
            setting: figure.setting,
            samples: Vec::new(),
            score_percent: 0.0,
            ..figure
        };
        small.measured(effort).samples
    };
    let identical = small_writes("EOM") == small_writes("NAGLE");
    let rows = vec![
        figure.score_of_table(5),
        row(
            "messages that exceed the socket buffer by less than an MSS are delayed",
            Some(Standard::printed(text("yes"))),
            text(if all { "yes" } else { "no" }),
            Tolerance::Exact,
            Class::Fitted,
        ),
        row(
            "identical to NAGLE if app_buf_size is below MCLBYTES",
            Some(Standard::printed(text("yes"))),
            text(if identical { "yes" } else { "no" }),
            Tolerance::Exact,
            Class::Fitted,
        ),
    ];
    let mut outcome = figure.outcome(rows);
    outcome.notes.push(
        "The same happens beyond each multiple of the application buffer, so also beyond 32K and \
         96K."
            .into(),
    );
    outcome
}

/// "We also tried combining all three of EOM, MORE, and MSMV. This seems to be no improvement over
/// MSMV" (section 8).
pub(super) fn figure_12(effort: &Effort) -> Outcome {
    let figure = torn(12, "E+M+M").measured(effort);
    let msmv = torn(12, "MSMV").measured(effort);
    let improved = msmv.delayed().len().saturating_sub(figure.delayed().len());
    let rows = vec![
        figure.score_of_table(5),
        row(
            "transfers, of 1000, that MSMV delays and this combination does not",
            Some(Standard::bound(0)),
            PaperValue::Count(improved as u64),
            Tolerance::Within(5.0),
            Class::Fitted,
        ),
    ];
    figure.outcome(rows)
}

/// Returns the setting in which Figure 10's limit, twice the socket buffer, lies below the longest
/// message and no other limit is lower.
fn torn(number: u8, variant: &'static str) -> Figure {
    Figure {
        number,
        variant,
        medium: MediumKind::Fddi,
        app_buffer: 32 * KIB,
        socket_buffer: 16 * KIB,
        setting: Origin::Assumed(
            "in this setting delays begin at twice the socket buffer, as the text says",
        ),
        samples: Vec::new(),
        score_percent: 0.0,
    }
}

/// Lengths grow by 100 octets up to 100,000 (section 7).
const STEP: u32 = 100;

/// Returns the first of the trial's lengths that is longer than `octets`.
fn after(octets: u32) -> u32 {
    (octets / STEP + 1) * STEP
}

fn length(what: &'static str, wanted: u32, ours: Option<u32>) -> Row {
    row(
        what,
        Some(Standard::derived(PaperValue::Count(wanted.into()))),
        ours.map_or_else(|| text("none"), |length| PaperValue::Count(length.into())),
        // The acknowledgment may already be on its way when a rest of a few octets is written.
        Tolerance::Within(f64::from(STEP)),
        Class::Fitted,
    )
}
