//! Naglemark, the benchmark of send policies (Mogul & Minshall, sections 6 and 7). A client sends a
//! request, a server answers with a given number of octets, and the client measures the time. The
//! benchmark measures how often a policy stalls, how late the last octet comes, and how many
//! segments it takes.
//!
//! # The loop
//!
//! A [`Plan`] says what to measure, a [`Backend`] is a TCP to measure, and [`measure()`] runs every
//! cell of the plan on every backend, as often as the plan says. An [`Outcome`] is the result of
//! one backend; printed, it is a Markdown table.
//!
//! ```
//! use tinygram_naglemark::hosts::{Model, PaperHosts};
//! use tinygram_naglemark::{Keep, Lengths, MediumKind, Plan, SocketPolicy, measure};
//!
//! let plan = Plan::default()
//!     .policies([SocketPolicy::Default, SocketPolicy::NoDelay])
//!     .app_buffers([8192])
//!     .lengths(Lengths::fixed(20_000, 100));
//! let mut hosts = PaperHosts::new(Model::Fitted, MediumKind::Fddi);
//! let outcomes = measure(&plan, &mut [&mut hosts], Keep::Scores, &|_| {})?;
//! println!("{}", outcomes[0]);
//!
//! let [nagle, no_delay] = &outcomes[0].cells[..] else { unreachable!("two cells") };
//! assert!(nagle.score.score_percent > no_delay.score.score_percent);
//! # Ok::<(), tinygram_naglemark::Error>(())
//! ```
//!
//! # Your own TCP
//!
//! A backend needs two methods: one returns the [`Conditions`] under which it is measured, the
//! other runs a [`Trial`] and returns its result. This one answers at once; the example
//! `examples/smoltcp` of the project's repository does it for a whole stack.
//!
//! ```
//! use tinygram_naglemark::{
//!     Backend, Conditions, Duration, Error, Keep, MediumKind, Plan, Sample, Taken, Trial, measure,
//! };
//!
//! struct AtOnce;
//!
//! impl Backend for AtOnce {
//!     fn conditions(&self) -> Conditions {
//!         Conditions::new("at-once", MediumKind::Ethernet)
//!     }
//!
//!     fn run(&mut self, trial: &Trial) -> Result<Taken, Error> {
//!         // A stack that knows other policies looks at `trial.policy` itself.
//!         let no_delay = trial.policy.no_delay();
//!         no_delay.ok_or_else(|| Error::policy("at-once", &trial.policy))?;
//!         // What it does not see, such as segments, stays `None`.
//!         let mut taken = Taken::default();
//!         for &length in trial.lengths.iter() {
//!             // Here a client of yours asks, and a server of yours writes `length` octets in pieces of
//!             // `trial.app_buffer`.
//!             let elapsed = Duration::from_micros(200 + u64::from(length));
//!             taken.samples.push(Sample { length, elapsed });
//!         }
//!         Ok(taken)
//!     }
//! }
//!
//! let outcomes = measure(&Plan::default(), &mut [&mut AtOnce], Keep::Scores, &|_| {})?;
//! let score = &outcomes[0].cells[0].score;
//! assert_eq!(score.score_percent, 0.0);
//! assert_eq!(score.segments_per_transfer, None);
//! # Ok::<(), Error>(())
//! ```
//!
//! # A policy of your own
//!
//! One of the engine's rules ([`SendPolicy`](tinygram_engine::sender::send_policy::SendPolicy)), or
//! one that you wrote, runs on all backends that run the engine:
//!
//! ```
//! use tinygram_engine::sender::send_policy::{Because, SendPolicy, Verdict, from_fn};
//! use tinygram_naglemark::hosts::{LinuxHosts, Over};
//! use tinygram_naglemark::{Keep, Plan, Policy, measure};
//!
//! let always = SendPolicy::custom(from_fn(|_, _| Verdict::Send(Because::NoDelay)));
//! let plan = Plan::default().policies([Policy::engine("ALWAYS", always)]);
//! let mut hosts = LinuxHosts::new(Over::Veth);
//! println!("{}", measure(&plan, &mut [&mut hosts], Keep::Scores, &|_| {})?[0]);
//! # Ok::<(), tinygram_naglemark::Error>(())
//! ```
//!
//! # Words
//!
//! | word | what it is |
//! |---|---|
//! | [`Plan`] | what to measure: policies, buffers, [trial types](TrialType), [lengths](Lengths), repetitions |
//! | [`Cell`] | one policy with one pair of buffers in one trial type |
//! | [`Trial`] | a cell's transfers in one repetition: the task of a backend |
//! | [`Taken`] | a backend's result of a trial: a [`Sample`] for each transfer, and the counts of segments |
//! | [`Yardstick`] | what transfers are compared with: when one counts as delayed, the fewest segments, the earliest delivery |
//! | [`Score`] | a cell's numbers: delayed transfers, segments, times, the distance from both bounds |
//! | [`Outcome`] | a backend's [conditions](Conditions), and what it [measured](Measured) in every cell |
//! | [`Agreement`] | how far two backends [agree](compare()) on a cell |
//!
//! Backends here are simulated [`hosts`]; those on real packets are in the crate
//! `tinygram-naglemark-live`.

mod backend;
mod compare;
pub mod hosts;
mod lengths;
pub mod load;
mod measure;
mod outcome;
mod outliers;
mod plan;
mod policy;
mod score;
mod trial;
pub mod workload;

pub use backend::{Backend, Conditions, Error, NOMINAL_RATE, Share, VirtualTime};
pub use compare::{Agreement, compare};
pub use lengths::{Lengths, Random, Series};
pub use measure::{Progress, measure};
pub use outcome::{Keep, Measured, Outcome};
pub use outliers::Outliers;
pub use plan::{Cell, Plan};
pub use policy::{Policy, SocketPolicy};
pub use score::{Score, Work, Yardstick, regression};
pub use tinygram_engine::Duration;
pub use tinygram_sim::medium::MediumKind;
pub use trial::{REQUEST, Sample, Taken, Trial, TrialType, UnknownTrialType};
