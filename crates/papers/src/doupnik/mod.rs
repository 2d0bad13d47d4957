//! Doupnik, "A new TCP transmission policy replacing Nagle mode": a web server's answers, which the
//! forms of Nagle's rule hold and the forms of the new policy send.
//!
//! [`web::WebTest`] runs the test with any file, window, policy and stack. [`published`] has the
//! draft's Table 1, and [`table::test`] returns the test that a pair of hosts ran there.
//!
//! ```
//! use tinygram_engine::sender::send_policy::SendPolicy;
//! use tinygram_papers::doupnik::published::{File, TABLE};
//! use tinygram_papers::doupnik::{table, web};
//!
//! // FreeBSD's test of UnixWare, with another file and another window.
//! let parameters = web::WebTest {
//!     file: 10_000,
//!     window: 8192,
//!     ..table::test(&TABLE[2], SendPolicy::Minshall, File::Long)
//! };
//! println!("{:.1} ms per request", parameters.run().mean_ms());
//! # assert!(parameters.run().mean_ms() < 2.0);
//! ```

pub mod examples;
mod fit;
pub mod published;
mod sweep;
pub mod table;
pub mod web;

use tinygram_engine::sender::send_policy::SendPolicy;

use crate::Experiment;
use crate::experiment::{Effort, Layout, Origin, Outcome, Paper, Parameter, Trace};
use published::{File, Rates, Setting, TABLE};
pub use sweep::tail_behind_an_odd_segment;
use table::{HEADERS, Measurements};

/// Its experiments.
pub const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        id: "doupnik-table-1",
        paper: Paper::Doupnik,
        title: "web pages per second under Nagle's rule, without it and under the new policy",
        source: "Table 1, section 3.0",
        run,
    },
    Experiment {
        id: "doupnik-examples",
        paper: Paper::Doupnik,
        title: "forms of the rules that hold the tail in the draft's examples",
        source: "Sections 1.4 to 2.3",
        run: examples::run,
    },
];

fn run(_: &Effort) -> Outcome {
    let measured = table::measure();
    let (plots, shares) = sweep::plots();
    Outcome {
        rules: vec![
            "Strict Nagle tests each segment: a short one waits until everything is acknowledged \
             (sections 1.3 and 1.4). `nagle` is BSD's form, which tests once per output pass.",
            "Liberal Nagle sends a short segment together with full ones of the same pass \
             (section 1.5).",
            "The new policy sends a short segment that ends the application's data. Its liberal \
             form also sends one that follows full segments of the same pass (section 2.1). Each \
             write is one set of data (section 2.2).",
            "The server makes two short writes and then writes the file in pieces of 4096 octets \
             (section 3.0).",
            "A client acknowledges every second full segment, or whenever it has read that much \
             data, or whenever its window has moved by half. All other ACKs wait for a tick of \
             200 ms (sections 1.6 and 3.0).",
        ],
        parameters: parameters(&measured),
        rows: measured.iter().flat_map(Measurements::rows).collect(),
        layout: Layout::Grid {
            down: &["client", "server", "window", "policy"],
            across: &["file", "measure"],
        },
        plots,
        traces: traces(&measured),
        notes: notes(&measured).into_iter().chain(shares).collect(),
    }
}

fn parameters(measured: &[Measurements]) -> Vec<Parameter> {
    let parameter = |name: &'static str, value: String, origin| Parameter {
        name,
        value,
        origin,
    };
    let size = |file: File| {
        let octets = file.octets_per_request() - HEADERS.iter().sum::<u64>();
        format!("{octets} B as the {} file", file.name())
    };
    let [first, second] = HEADERS;
    let mut parameters = vec![
        parameter(
            "file sizes",
            File::BOTH.map(size).join(", "),
            Origin::Paper("Table 1: KB/s divided by req/s, minus the two short writes"),
        ),
        parameter(
            "two short writes",
            format!("{first} and {second} B"),
            Origin::Assumed(
                "the difference between a \"2.2KB file\" and the 2.33 KB that a \
                             request returns",
            ),
        ),
        parameter(
            "writes",
            format!("{} B", web::WRITE),
            Origin::Paper("section 3.0"),
        ),
        parameter(
            "MSS",
            format!("{} B", web::MSS),
            Origin::Assumed("Ethernet's"),
        ),
        parameter(
            "link",
            "100 Mbit/s, full duplex".into(),
            Origin::Assumed(
                "the draft's hub was half duplex, but \"the fast network is able to drain TCP \
                 data faster than the application can supply it\"",
            ),
        ),
        parameter(
            "send buffers",
            [
                TABLE[0].server,
                TABLE[1].server,
                TABLE[2].server,
                TABLE[4].server,
            ]
            .map(|server| format!("{} {} B", server.name(), server.send_buffer()))
            .join(", "),
            Origin::Assumed(
                "the draft does not say; these are the systems' defaults, but \
                             UnixWare's is a guess",
            ),
        ),
    ];
    parameters.extend(measured.iter().flat_map(costs));
    parameters
}

fn costs(measured: &Measurements) -> [Parameter; 2] {
    let fitted = Origin::Fitted("the pair's two rates with Nagle off");
    let of = |value: String| {
        let pair = measured.pair;
        let (server, client, window) = (pair.server, pair.client, pair.window >> 10);
        format!(
            "{} to {} with {window} KB: {value}",
            server.name(),
            client.name()
        )
    };
    [
        Parameter {
            name: "server's work for a request",
            value: of(measured.costs.request.to_string()),
            origin: fitted,
        },
        Parameter {
            name: "server's work for an octet",
            value: of(format!(
                "{:.1} ns",
                measured.costs.copy_ps_per_octet as f64 / 1000.0
            )),
            origin: fitted,
        },
    ]
}

/// Returns a stall and its cure, and the stall that liberal Nagle still has.
fn traces(measured: &[Measurements]) -> Vec<Trace> {
    let shown = [
        (0, Setting::NagleOn, File::Short),
        (0, Setting::NewPolicy, File::Short),
        (0, Setting::NagleOn, File::Long),
        (0, Setting::NewPolicy, File::Long),
        (5, Setting::NagleOn, File::Long),
    ];
    let trace = |(pair, setting, file): (usize, Setting, File)| {
        let measured: &Measurements = &measured[pair];
        let pair = measured.pair;
        let policy = pair.server.policy(setting);
        Trace {
            title: format!(
                "{} file, {} to {} with {} KB of window: {policy}",
                file.name(),
                pair.server.name(),
                pair.client.name(),
                pair.window >> 10
            ),
            hosts: [pair.client.name(), pair.server.name()],
            sent: measured.of(&policy, file).last.clone(),
        }
    };
    shown.into_iter().map(trace).collect()
}

fn notes(measured: &[Measurements]) -> Vec<String> {
    let [short, long] = File::BOTH.map(File::octets_per_request);
    let printed = |pair: usize, setting, file| {
        let rates: Option<Rates> = TABLE[pair].rates(setting, file);
        rates.expect("an entry of the table")
    };
    let cut = printed(2, Setting::NagleOn, File::Long);
    let odd = printed(4, Setting::NagleOn, File::Short);
    let unit = printed(3, Setting::NagleOff, File::Long);
    let segments = (long - HEADERS[0]) / u64::from(web::MSS);
    let bsd = measured[3].of(&SendPolicy::Nagle, File::Long).rate();
    vec![
        format!(
            "By the table's own KB/s, a request of the \"33KB file\" returns {long} B and one of \
             the \"2.2KB file\" {short} B, if a KB is 1000 B and the two short writes are \
             included. The stall confirms this: {segments} full segments then follow the first \
             write, and because the number is odd, the ACK of the last one is delayed. If a KB \
             were 1024 B, or if the two writes were not included, there would be one more \
             segment, and strict Nagle would not stall."
        ),
        format!(
            "\"{} req/sec\" (FreeBSD, UW7, 4 KB, Nagle off) should be KB/sec.",
            unit.kilobytes
        ),
        format!(
            "\"{} KB/sec\" at {} req/sec (FreeBSD, Linux, 16 KB, Nagle on) would be {:.0} B a \
             request; all other lines have {short} B.",
            odd.kilobytes,
            odd.requests,
            odd.octets_per_request()
        ),
        format!(
            "{} KB/sec (FreeBSD, UW7, 16 KB, Nagle on) are {:.1} requests a second: the column of \
             requests seems to be truncated, not rounded.",
            cut.kilobytes,
            f64::from(cut.kilobytes) * 1000.0 / long as f64
        ),
        format!(
            "UnixWare's 5 req/sec with 4 KB of window show that it uses strict Nagle and not \
             BSD's form: the connection is idle at the beginning of the last pass, so `nagle` \
             would send the tail, and the rate would be {bsd:.0} req/s."
        ),
        "\"Every other arrival generates an ACK\" (section 1.6) must mean as much data as two \
         full segments. If arrivals of any size counted, the first short write and the one full \
         segment of the 2.2KB file would be acknowledged at once."
            .into(),
        "The draft's author did not have UnixWare's sources, so the new policy on UnixWare is \
         shown as a prediction."
            .into(),
    ]
}
