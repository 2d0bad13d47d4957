//! The paper's hosts: Tru64 UNIX at both ends of an Ethernet or an FDDI ring, in one of two readings.

use tinygram_engine::Duration;
use tinygram_engine::connection::Config;
use tinygram_engine::profile::{Profile, Sizes};
use tinygram_engine::receiver::ack_policy::{AckPolicy, AckTimer};
use tinygram_engine::sender::send_policy::SendPolicy;
use tinygram_engine::socket::copy_rule::{CopyRule, Mclbytes};
use tinygram_sim::WorldConfig;
use tinygram_sim::dice::{Dice, Purpose};
use tinygram_sim::medium::{ImpairmentRules, MediumFrame, MediumKind, Side};
use tinygram_sim::observer::{Nobody, Observer};

use super::{
    ACK_TICK, Costs, INFERENCE, Impairment, Model, Scene, companions, congestion, told, writes,
};
use crate::backend::{Backend, Conditions, Error, Share, VirtualTime};
use crate::policy::{Policy, SocketPolicy};
use crate::trial::{REQUEST, Taken, Trial};
use crate::workload::{Script, Waits};

/// The paper's hosts and what joins them. Sizes are in octets.
#[derive(Clone, Debug)]
pub struct PaperHosts {
    /// The reading of the paper.
    pub model: Model,
    /// The medium that joins the hosts.
    pub medium: MediumKind,
    /// The maximum segment size.
    pub mss: u16,
    /// The kernel's copying unit.
    pub mclbytes: u64,
    /// The client's receive window; `None` for the model's.
    pub receive_buffer: Option<u64>,
    /// The client's ACK policy; `None` for the model's.
    pub ack_policy: Option<AckPolicy>,
    /// The client's ACK timer; `None` for the model's. The phase of a cyclic timer is drawn for
    /// each trial.
    pub ack_timer: Option<AckTimer>,
    /// How writes reach the send buffer; `None` for BSD's way.
    pub copy_rule: Option<CopyRule>,
    /// The times that the hosts' work takes; `None` for the model's.
    pub costs: Option<Costs>,
    /// Whether the receiver infers the sender's buffer (section 9).
    pub infer: bool,
    /// The round-trip time beyond the medium.
    pub rtt: Duration,
    /// What happens to segments on their way.
    pub impairment: Impairment,
    /// How the server waits for the next request; the paper's server reads.
    pub waits: Waits,
}

/// The time that opening a connection takes, which is not measured (fitted: `PARAMETERS`).
const SET_UP: Duration = Duration::from_millis(10);

impl PaperHosts {
    /// Section 7: "On this system, MCLBYTES = 8192."
    pub const MCLBYTES: u64 = 8192;

    /// Returns the hosts of the paper's own trials on this medium.
    #[must_use]
    pub fn new(model: Model, medium: MediumKind) -> Self {
        Self {
            model,
            medium,
            mss: medium.usual_mss(),
            mclbytes: Self::MCLBYTES,
            receive_buffer: None,
            ack_policy: None,
            ack_timer: None,
            copy_rule: None,
            costs: None,
            infer: false,
            rtt: Duration::ZERO,
            impairment: Impairment::NONE,
            waits: Waits::Reading,
        }
    }

    /// Returns whether these are the hosts of the paper's own trials, but for the costs of their work and for what the
    /// receiver infers, which the paper varies itself.
    #[must_use]
    pub fn is_the_papers(&self) -> bool {
        let paper = Self::new(self.model, self.medium);
        let Self {
            model: _,
            medium: _,
            mss,
            mclbytes,
            receive_buffer,
            ack_policy,
            ack_timer,
            copy_rule,
            costs: _,
            infer: _,
            rtt,
            impairment,
            waits,
        } = self;
        // Policies cannot be compared: the paper's own is that none is given.
        (mss, mclbytes, rtt) == (&paper.mss, &paper.mclbytes, &paper.rtt)
            && (receive_buffer, copy_rule) == (&paper.receive_buffer, &paper.copy_rule)
            && (impairment, waits) == (&paper.impairment, &paper.waits)
            && ack_policy.is_none()
            && ack_timer.is_none()
    }

    /// Runs a trial with an observer; also returns the observer.
    ///
    /// # Errors
    ///
    /// [`Error::Policy`] if these hosts cannot be told the trial's policy.
    pub fn watched<O: Observer>(&self, trial: &Trial, observer: O) -> Result<(Taken, O), Error> {
        Ok(self.scene(trial)?.play(observer))
    }

    /// Runs a trial and returns what a tap at this host saw: who sent which frame, in the order of
    /// time. This includes the opening of each connection.
    ///
    /// # Errors
    ///
    /// [`Error::Policy`] if these hosts cannot be told the trial's policy.
    pub fn captured(&self, trial: &Trial, at: Side) -> Result<Vec<(Side, MediumFrame)>, Error> {
        Ok(self.scene(trial)?.captured(at))
    }

    fn scene(&self, trial: &Trial) -> Result<Scene, Error> {
        // Tru64 had no such option.
        if let Policy::Socket(SocketPolicy::QuickAck) = trial.policy {
            return Err(Error::policy(NAME, &trial.policy));
        }
        let costs = self.costs();
        let medium = match self.model.is_fitted() {
            true => self.medium.shared(trial.seed),
            false => self.medium.full_duplex(),
        };
        Ok(Scene {
            world: WorldConfig {
                medium,
                impairment: self.impaired(),
                costs: [costs.client, costs.server],
                seed: trial.seed,
            },
            ends: [self.client(trial), self.server(trial)],
            waits: self.waits,
            script: Script {
                lengths: trial.lengths.clone(),
                request: REQUEST,
                app_buffer: trial.app_buffer,
                read_size: u64::MAX,
                requests_per_connection: trial.requests_per_connection,
                set_up: SET_UP + self.rtt,
                service: costs.service,
                think: costs.think,
                writes: writes(&trial.policy),
            },
        })
    }

    /// Returns the times that the hosts' work takes.
    #[must_use]
    pub fn costs(&self) -> Costs {
        self.costs.unwrap_or(self.model.costs(self.infer))
    }

    fn impaired(&self) -> ImpairmentRules {
        // Long enough for the next few segments to overtake.
        let overtaking = self.medium.wire().occupies(u32::from(self.mss)).times(4);
        let reorder_by = match self.impairment.reorder > 0.0 {
            true => overtaking,
            false => Duration::ZERO,
        };
        ImpairmentRules::beyond(self.rtt, self.impairment, reorder_by)
    }

    /// Returns the client, which "always used the traditional Nagle algorithm" (section 7).
    fn client(&self, trial: &Trial) -> Config {
        let window = self
            .receive_buffer
            .unwrap_or(self.model.receive_window(trial.socket_buffer));
        let mut config = self.host(64 * 1024, window);
        config.receiver.window_cap = window;
        config.receiver.policy = self.ack_policy.clone().unwrap_or_else(|| match self.infer {
            true => INFERENCE,
            false => self.model.ack_policy(),
        });
        config.receiver.timer = self.client_timer(trial.seed);
        config
    }

    fn client_timer(&self, seed: u64) -> AckTimer {
        let (period, slow) = match self.ack_timer {
            Some(AckTimer::Cyclic { period, slow, .. }) => (period, slow),
            Some(other) => return other,
            None => (ACK_TICK, self.model.slow_tick(seed)),
        };
        let phase = Dice::new(seed, Purpose::Phase).below(period.as_nanos().clamp(1, 1 << 32));
        AckTimer::Cyclic {
            period,
            phase: Duration::from_nanos(phase),
            slow,
        }
    }

    fn server(&self, trial: &Trial) -> Config {
        let mut config = self.host(trial.socket_buffer, 65_535);
        let sender = &mut config.sender;
        let policy = told(&trial.policy, &sender.policy);
        sender.policy = self.as_read(policy);
        sender.initial_cwnd = self.model.initial_cwnd(u64::from(self.mss));
        sender.cwnd_cap = if self.model.is_fitted() {
            65_536
        } else {
            65_535
        };
        config
    }

    /// Returns the variant as the model reads the paper.
    fn as_read(&self, policy: SendPolicy) -> SendPolicy {
        match self.model {
            Model::Literal => policy.to_the_letter(),
            Model::Fitted => policy,
        }
    }

    /// Returns whether the hosts' kernels apply MORE whatever the variant.
    fn more_in_every_variant(&self) -> bool {
        self.model.is_fitted()
    }

    /// Returns Tru64 UNIX with this trial's sizes.
    fn host(&self, send_buffer: u64, receive_buffer: u64) -> Config {
        let mut config = (Profile::TRU64_4.config)(&Sizes {
            mss: self.mss,
            send_buffer,
            receive_buffer,
        });
        config.sender.cluster = self.mclbytes;
        // "The client host ran the same kernel" (section 7).
        config.sender.more_in_every_variant = self.more_in_every_variant();
        config.copy_rule = self.copy_rule.unwrap_or(CopyRule::Mclbytes(Mclbytes {
            cluster: self.mclbytes,
            low_water: Mclbytes::LOW_WATER,
        }));
        config
    }
}

/// The backend's name in outcomes.
const NAME: &str = "sim";

impl Backend for PaperHosts {
    fn conditions(&self) -> Conditions {
        let server = self.host(1, 1);
        Conditions {
            backend: NAME.into(),
            link: self.medium.name().into(),
            stack: format!("tru64_4, {}", self.model.name()),
            mss: self.mss,
            congestion: congestion(&server),
            medium: self.medium,
            wire: Some(self.medium.wire()),
            rtt: self.rtt,
        }
    }

    fn run(&mut self, trial: &Trial) -> Result<Taken, Error> {
        self.simulate(trial)
    }

    fn virtual_time(&self) -> Option<&dyn VirtualTime> {
        Some(self)
    }
}

impl VirtualTime for PaperHosts {
    fn simulate(&self, trial: &Trial) -> Result<Taken, Error> {
        Ok(self.watched(trial, Nobody)?.0)
    }

    fn simulate_each(&self, trial: &Trial, policies: &[Policy]) -> Result<Vec<Share>, Error> {
        let stage = companions::Stage {
            simulate: &|trial| self.simulate(trial),
            as_read: &|policy| self.as_read(policy),
            always_more: self.more_in_every_variant(),
        };
        companions::run_each(&stage, trial, policies)
    }
}
