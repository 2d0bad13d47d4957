//! A trial's parameters, as the flags of `tinygram naglemark` name them.

use serde::Deserialize;
use tinygram_engine::Duration;
use tinygram_engine::receiver::ack_policy::{AckPolicy, AckTimer};
use tinygram_engine::sender::send_policy::Registered;
use tinygram_naglemark::hosts::{HostsKind, Impairment, LinuxHosts, Model, PaperHosts};
use tinygram_naglemark::{
    Backend, Conditions, Error, Lengths, MediumKind, NOMINAL_RATE, Plan, Policy, Series,
    SocketPolicy, Taken, Trial, TrialType,
};
use tinygram_sim::observer::Observer;

use super::within;

/// Everything that a trial's outcome depends on. Sizes are in octets, times in microseconds.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Setting {
    hosts: String,
    model: String,
    medium: String,
    /// Bits per second, for a point-to-point link.
    rate: Option<u64>,
    /// The medium's usual one if absent.
    mss: Option<u16>,
    policy: String,
    ack_policy: Option<String>,
    ack_timer: Option<Timer>,
    infer: bool,
    app_buffer: u64,
    socket_buffer: u64,
    receive_buffer: Option<u64>,
    /// `S` or `s`.
    trial: char,
    lengths: Steps,
    rtt: u64,
    /// Shares, 0 to 1.
    loss: f64,
    reorder: f64,
    multiplier: u32,
    seed: u64,
}

/// A delayed-ACK timer, in microseconds.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Timer {
    /// It always runs.
    Cyclic(u64),
    /// It starts when the acknowledgment is first delayed.
    PerConnection(u64),
}

/// A series of lengths, in octets.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Steps {
    from: u32,
    to: u32,
    step: u32,
    /// As many as there are steps if absent.
    transfers: Option<u32>,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            hosts: HostsKind::Paper.name().into(),
            model: Model::Fitted.name().into(),
            medium: MediumKind::Ethernet.name().into(),
            rate: None,
            mss: None,
            policy: "nagle".into(),
            ack_policy: None,
            ack_timer: None,
            infer: false,
            app_buffer: 4096,
            socket_buffer: 65_536,
            receive_buffer: None,
            trial: TrialType::SequentialOne.letter(),
            lengths: Steps {
                from: 100,
                to: 100_000,
                step: 100,
                transfers: None,
            },
            rtt: 0,
            loss: 0.0,
            reorder: 0.0,
            multiplier: Plan::PAPER_MULTIPLIER,
            seed: 1,
        }
    }
}

/// Simulated hosts of either kind.
pub(super) enum Hosts {
    Paper(Box<PaperHosts>),
    Linux(Box<LinuxHosts>),
}

impl Hosts {
    pub(super) fn conditions(&self) -> Conditions {
        match self {
            Self::Paper(hosts) => hosts.conditions(),
            Self::Linux(hosts) => hosts.conditions(),
        }
    }

    /// Runs a trial that nobody watches, by code that is compiled for speed.
    pub(super) fn ran(&mut self, trial: &Trial) -> Result<Taken, Error> {
        match self {
            Self::Paper(hosts) => hosts.run(trial),
            Self::Linux(hosts) => hosts.run(trial),
        }
    }

    pub(super) fn watched<O: Observer>(
        &self,
        trial: &Trial,
        observer: O,
    ) -> Result<(Taken, O), Error> {
        match self {
            Self::Paper(hosts) => hosts.watched(trial, observer),
            Self::Linux(hosts) => Ok(hosts.watched(trial, observer)),
        }
    }
}

impl Setting {
    /// Returns the hosts, the plan of one cell, and the trial of its first repetition.
    ///
    /// # Errors
    /// A sentence that says which value is not accepted.
    pub(super) fn meant(&self) -> Result<(Hosts, Plan, Trial), String> {
        let hosts = match self.hosts.as_str() {
            "paper" => Hosts::Paper(Box::new(self.paper()?)),
            name => Hosts::Linux(Box::new(self.linux(name)?)),
        };
        let trial_type = TrialType::with_letter(self.trial).filter(|it| !it.is_random());
        let plan = Plan::default()
            .policies([self.policy(&hosts)?])
            .app_buffers([within("app_buffer", self.app_buffer, 1..=MOST_OCTETS)?])
            .socket_buffers([within(
                "socket_buffer",
                self.socket_buffer,
                1..=MOST_OCTETS,
            )?])
            .trial_types([trial_type.ok_or("trial is S or s")?])
            .lengths(self.lengths()?)
            .multiplier(within("multiplier", self.multiplier, 1..=100)?)
            .seed(self.seed);
        let trial = plan.trial(&plan.cells()[0], 0);
        Ok((hosts, plan, trial))
    }

    fn policy(&self, hosts: &Hosts) -> Result<Policy, String> {
        if let Some(entry) = Registered::named(&self.policy) {
            return Ok(entry.into());
        }
        let mut by_socket = SocketPolicy::ALL.into_iter();
        let found = by_socket.find(|it| it.name() == self.policy);
        match (hosts, found) {
            (Hosts::Linux(_), Some(policy)) => Ok(policy.into()),
            _ => Err(format!("there is no policy {}", self.policy)),
        }
    }

    fn lengths(&self) -> Result<Lengths, String> {
        let Steps { from, to, step, .. } = self.lengths;
        within("lengths.step", step, 1..=MOST_OCTETS as u32)?;
        within("lengths.to", to, 1..=MOST_OCTETS as u32)?;
        within("lengths.from", from, 1..=to)?;
        let steps = (to - from) / step + 1;
        let transfers = self.lengths.transfers.unwrap_or(steps);
        let transfers = within("lengths.transfers", transfers, 1..=MOST_TRANSFERS)?;
        let series = Series {
            from,
            to,
            step,
            transfers,
        };
        Ok(Lengths {
            series,
            ..Lengths::PAPER
        })
    }

    fn paper(&self) -> Result<PaperHosts, String> {
        let models = [Model::Fitted, Model::Literal];
        let model = models.into_iter().find(|it| it.name() == self.model);
        let model = model.ok_or("model is fitted or literal")?;
        let medium = self.medium()?;
        let paper = PaperHosts::new(model, medium);
        Ok(PaperHosts {
            mss: self.mss(paper.mss)?,
            receive_buffer: self.receive_buffer()?,
            ack_policy: self.ack_policy.as_deref().map(ack_policy).transpose()?,
            ack_timer: self.ack_timer.map(timer).transpose()?,
            infer: self.infer,
            rtt: self.rtt()?,
            impairment: self.impairment()?,
            ..paper
        })
    }

    fn impairment(&self) -> Result<Impairment, String> {
        Ok(Impairment {
            loss: within("loss", self.loss, 0.0..=MOST_LOST)?,
            reorder: within("reorder", self.reorder, 0.0..=1.0)?,
            ..Impairment::NONE
        })
    }

    fn linux(&self, name: &str) -> Result<LinuxHosts, String> {
        let kind = HostsKind::ALL.into_iter().find(|it| it.name() == name);
        let Some(HostsKind::Linux(over)) = kind else {
            return Err(format!("there are no hosts {name}"));
        };
        let hosts = LinuxHosts::new(over);
        Ok(LinuxHosts {
            mss: self.mss(hosts.mss)?,
            receive_buffer: self.receive_buffer()?.unwrap_or(hosts.receive_buffer),
            bits_per_second: self.rate()?,
            rtt: self.rtt()?,
            impairment: self.impairment()?,
            ..hosts
        })
    }

    fn medium(&self) -> Result<MediumKind, String> {
        let bits_per_second = self.rate()?.unwrap_or(NOMINAL_RATE);
        let kinds = [
            MediumKind::Ethernet,
            MediumKind::EthernetFullDuplex,
            MediumKind::Fddi,
            MediumKind::PointToPoint { bits_per_second },
        ];
        let named = kinds.into_iter().find(|it| it.name() == self.medium);
        named.ok_or_else(|| format!("there is no medium {}", self.medium))
    }

    fn mss(&self, usual: u16) -> Result<u16, String> {
        within("mss", self.mss.unwrap_or(usual), LEAST_MSS..=65_495)
    }

    fn rate(&self) -> Result<Option<u64>, String> {
        let checked = |rate| within("rate", rate, 1000..=1_000_000_000_000);
        self.rate.map(checked).transpose()
    }

    fn receive_buffer(&self) -> Result<Option<u64>, String> {
        let checked = |octets| within("receive_buffer", octets, 1..=MOST_OCTETS);
        self.receive_buffer.map(checked).transpose()
    }

    fn rtt(&self) -> Result<Duration, String> {
        Ok(Duration::from_micros(within("rtt", self.rtt, 0..=LONGEST)?))
    }
}

fn ack_policy(name: &str) -> Result<AckPolicy, String> {
    AckPolicy::named(name).ok_or_else(|| format!("there is no ACK policy {name}"))
}

fn timer(timer: Timer) -> Result<AckTimer, String> {
    let length = |micros| {
        Ok::<_, String>(Duration::from_micros(within(
            "ack_timer",
            micros,
            1..=LONGEST,
        )?))
    };
    match timer {
        // The phase is drawn for each trial.
        Timer::Cyclic(period) => Ok(AckTimer::Cyclic {
            period: length(period)?,
            phase: Duration::ZERO,
            slow: None,
        }),
        Timer::PerConnection(micros) => Ok(AckTimer::PerConnection(length(micros)?)),
    }
}

/// The largest sizes of buffers and answers: more would keep a reader waiting.
const MOST_OCTETS: u64 = 4 << 20;
const MOST_TRANSFERS: u32 = 10_000;
/// Beyond this share a transfer may take hours of virtual time.
const MOST_LOST: f64 = 0.3;
const LEAST_MSS: u16 = 64;
/// A minute, as on the command line.
const LONGEST: u64 = 60_000_000;
