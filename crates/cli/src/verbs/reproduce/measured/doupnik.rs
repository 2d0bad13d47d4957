//! Doupnik's web server: two short writes, then the file in writes of 4 KB; and the sizes of files that stall.

use std::time::Duration;

use tinygram_engine::sender::send_policy::SendPolicy;
use tinygram_naglemark_live::{Heard, Piece, Talk};
use tinygram_papers::Standard;
use tinygram_papers::doupnik::published::{File, Pair, Setting, TABLE};
use tinygram_papers::doupnik::table::HEADERS;
use tinygram_papers::doupnik::{tail_behind_an_odd_segment, web};
use tinygram_papers::experiment::{Effort, Outcome};
use tinygram_papers::value::PaperValue;

use super::{ETHERNET_MTU, Here, SILENCE, in_kernel, mean_ms, ours, text};

/// "100Mbps Ethernet hub", in bits per second.
const RATE: u64 = 100_000_000;
/// The requests before the measured ones; Linux acknowledges at once while a connection is new.
const WARM_UP: usize = 5;
/// The sizes of the sweep, in octets.
const STEP: u64 = 200;
const LARGEST: u64 = 40_000;
const SWEPT: [SendPolicy; 5] = [
    SendPolicy::StrictNagle,
    SendPolicy::Nagle,
    SendPolicy::LiberalNagle,
    SendPolicy::Doupnik,
    SendPolicy::DoupnikLiberal,
];

pub(in super::super) fn run(effort: &Effort) -> Outcome {
    let mut here = Here::over(Some(RATE), Duration::ZERO, ETHERNET_MTU, effort.seed);
    for pair in &TABLE {
        for setting in Setting::ALL {
            for file in File::BOTH {
                rate(&mut here, pair, setting, file, effort);
            }
        }
    }
    for policy in SWEPT {
        sweep(&mut here, &policy);
    }
    let parameters = vec![
        ours(
            "link",
            "100 Mbit/s, full duplex, no delay",
            "the draft's hub was half duplex",
        ),
        ours(
            "window",
            "SO_RCVBUF of the draft's window",
            "Linux doubles it, and offers half of that",
        ),
        ours(
            "send buffer",
            "Linux's own",
            "it grows as it needs; the draft does not say its systems'",
        ),
        ours("requests", effort.repetitions.to_string(), "--repetitions"),
    ];
    let notes = vec![
        "The draft's five requests a second are a stall of 200 ms in each. Linux delays an acknowledgment for 40 ms, and sends one at \
         once when more than its guess of the MSS has come, which begins with 536 octets: so fewer sizes stall than parity says. The \
         rates without a stall are those of today's hosts and of the link."
            .into(),
    ];
    here.outcome(parameters, notes)
}

/// Adds the rate of a line of the table, if the draft has it.
fn rate(here: &mut Here, pair: &Pair, setting: Setting, file: File, effort: &Effort) {
    let Some(rates) = pair.rates(setting, file) else {
        return;
    };
    let policy = pair.server.policy(setting);
    let size = file.octets_per_request() - HEADERS.iter().sum::<u64>();
    let answers = vec![answer(size); WARM_UP + effort.repetitions as usize];
    let heard = here.talk(&talk(&policy, pair.window, answers));
    let measured = heard.map(|heard| {
        let times: Vec<_> = heard[WARM_UP..].iter().map(Heard::elapsed).collect();
        PaperValue::Number(1000.0 / mean_ms(&times), 0)
    });
    let cell = vec![
        ("client", text(pair.client.name())),
        ("server", text(pair.server.name())),
        ("window", PaperValue::Count(pair.window)),
        ("policy", text(policy.to_string())),
        ("file", text(file.name())),
        ("measure", text("req/s")),
    ];
    here.row(
        cell,
        Some(Standard::printed(PaperValue::Count(rates.requests.into()))),
        measured,
    );
}

/// Adds how many sizes stall under a policy, with a window of 16 KB; for strict Nagle beside what parity says.
fn sweep(here: &mut Here, policy: &SendPolicy) {
    let sizes: Vec<u64> = (STEP..=LARGEST).step_by(STEP as usize).collect();
    let answers = [
        vec![answer(sizes[0]); WARM_UP],
        sizes.iter().map(|size| answer(*size)).collect(),
    ]
    .concat();
    let heard = here.talk(&talk(policy, TABLE[2].window, answers));
    let stalls = heard.map(|heard| -> Vec<bool> {
        let stalls = heard[WARM_UP..].iter().map(|it| it.stalls(SILENCE) > 0);
        stalls.collect()
    });
    let share = |count: usize| PaperValue::Number(100.0 * count as f64 / sizes.len() as f64, 1);
    let cell = |measure: &str| {
        vec![
            ("policy", text(policy.to_string())),
            ("measure", text(measure)),
        ]
    };
    let odd: Vec<bool> = sizes
        .iter()
        .map(|size| tail_behind_an_odd_segment(*size))
        .collect();
    let is_strict = matches!(policy, SendPolicy::StrictNagle);
    let by_parity =
        is_strict.then(|| Standard::derived(share(odd.iter().filter(|is_odd| **is_odd).count())));
    let measured = stalls
        .clone()
        .map(|stalls| share(stalls.iter().filter(|stalls| **stalls).count()));
    here.row(cell("sizes that stall [%]"), by_parity, measured);
    if is_strict {
        let same = stalls.map(|stalls| {
            share(
                stalls
                    .iter()
                    .zip(&odd)
                    .filter(|(one, other)| one == other)
                    .count(),
            )
        });
        let all = Standard::derived(PaperValue::Number(100.0, 1));
        here.row(cell("sizes where parity is right [%]"), Some(all), same);
    }
}

fn talk(policy: &SendPolicy, window: u64, answers: Vec<Vec<Piece>>) -> Talk {
    Talk {
        policy: Some(in_kernel(&policy.to_string())),
        receive_buffer: Some(window),
        request: 60,
        answers,
        rest: Duration::from_millis(1),
        ..Talk::default()
    }
}

fn answer(file: u64) -> Vec<Piece> {
    let whole = std::iter::repeat_n(web::WRITE, (file / web::WRITE) as usize);
    let rest = Some(file % web::WRITE).filter(|rest| *rest > 0);
    let writes = HEADERS.into_iter().chain(whole).chain(rest);
    writes.map(|octets| Piece::of(octets as usize)).collect()
}
