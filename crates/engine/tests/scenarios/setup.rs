//! Makes a connection from a script's settings. Sizes are octets, times carry their unit.

use tinygram_engine::connection::{Config, Connection};
use tinygram_engine::extensions::{
    Ecn, Extensions, Keepalive, PathMtuSearch, PushEndsWrites, SlowStartExit,
};
use tinygram_engine::receiver::ReceiverConfig;
use tinygram_engine::receiver::ack_policy::{AckPolicy, AckTimer};
use tinygram_engine::sender::congestion::Congestion;
use tinygram_engine::sender::congestion::restart::{IdleAfter, IdleRestart};
use tinygram_engine::sender::send_policy::SendPolicy;
use tinygram_engine::sender::{RtoRules, SenderConfig};
use tinygram_engine::socket::copy_rule::{CopyRule, Linux, Mclbytes, SunOs, WholeWrite};
use tinygram_engine::{Duration, Offset};

use crate::script::{Setup, Unreadable, number};

/// The policies to run a script with in place of its own.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Instead<'a> {
    pub(crate) send: Option<&'a str>,
    pub(crate) ack: Option<&'a str>,
}

/// What a script starts from.
pub(crate) struct Stage {
    pub(crate) connection: Connection,
    /// The window of segments that arrive and name none.
    pub(crate) peer_window: u32,
}

/// Returns round numbers, so that scripts can be checked by eye: an MSS of 1000, buffers and
/// windows that limit nothing, RFC 6298's timeouts, and no rule that a script did not ask for.
fn round_numbers() -> Config {
    Config {
        sender: SenderConfig {
            mss: 1000,
            buffer: 60_000,
            policy: SendPolicy::Nagle,
            more_in_every_variant: false,
            cluster: 8192,
            congestion: Congestion::Reno,
            idle_restart: IdleRestart::None,
            initial_cwnd: 60_000,
            cwnd_cap: 60_000,
            rto: RtoRules::RFC_6298,
        },
        receiver: ReceiverConfig {
            buffer: 60_000,
            window_cap: 60_000,
            mss: 1000,
            policy: AckPolicy::EverySecond,
            timer: AckTimer::PerConnection(Duration::from_millis(200)),
        },
        copy_rule: CopyRule::WholeWrite(WholeWrite),
        time_wait: Duration::from_secs(60),
        extensions: Extensions::NONE,
    }
}

/// Builds what `setup` asks for, with the policies of `instead` where they are given.
#[expect(
    clippy::too_many_lines,
    reason = "one arm for each word of the notation"
)]
pub(crate) fn stage(setup: &Setup, instead: Instead<'_>) -> Result<Stage, Unreadable> {
    let mut config = round_numbers();
    let mut peer_window = 60_000;
    let mut closed = false;
    for setting in &setup.settings {
        let values: Vec<_> = setting.values.iter().map(String::as_str).collect();
        let (sender, receiver) = (&mut config.sender, &mut config.receiver);
        (|| -> Result<(), String> {
            match (setting.key.as_str(), values.as_slice()) {
                ("policy", ["naglim", limit]) => {
                    sender.policy = SendPolicy::naglim(number(limit)? as u32);
                }
                ("policy", [name]) => sender.policy = send_policy(name)?,
                ("ack", [name]) => receiver.policy = ack_policy(name)?,
                ("timer", [length]) => receiver.timer = AckTimer::PerConnection(time(length)?),
                ("timer", ["cyclic", period, "phase", phase]) => {
                    receiver.timer = AckTimer::Cyclic {
                        period: time(period)?,
                        phase: time(phase)?,
                        slow: None,
                    };
                }
                ("mss", [octets]) => {
                    sender.mss = number(octets)? as u32;
                    receiver.mss = number(octets)? as u16;
                }
                ("peer-window", [octets]) => peer_window = number(octets)? as u32,
                ("send-buffer", [octets]) => sender.buffer = number(octets)?,
                ("receive-buffer", [octets]) => receiver.buffer = number(octets)?,
                ("window-cap", [octets]) => receiver.window_cap = number(octets)?,
                ("cwnd", [octets]) => sender.initial_cwnd = number(octets)?,
                ("copy", ["whole-write"]) => config.copy_rule = CopyRule::WholeWrite(WholeWrite),
                ("copy", ["linux"]) => config.copy_rule = CopyRule::Linux(Linux),
                ("copy", ["sunos"]) => config.copy_rule = CopyRule::SunOs(SunOs::AS_SHIPPED),
                ("copy", ["mclbytes", cluster]) => {
                    sender.cluster = number(cluster)?;
                    config.copy_rule = CopyRule::Mclbytes(Mclbytes {
                        cluster: sender.cluster,
                        low_water: Mclbytes::LOW_WATER,
                    });
                }
                ("restart", [rule]) => sender.idle_restart = restart(rule)?,
                ("rto", [length]) => {
                    sender.rto.initial = time(length)?;
                    sender.rto.min = time(length)?;
                }
                ("give-up-after", [times]) => sender.rto.give_up_after = number(times)? as u32,
                ("time-wait", [length]) => config.time_wait = time(length)?,
                ("keepalive", [idle, interval, probes]) => {
                    config.extensions.keepalive = Some(Keepalive {
                        idle: time(idle)?,
                        interval: time(interval)?,
                        probes: number(probes)? as u32,
                    });
                }
                ("user-timeout", [length]) => {
                    config.extensions.user_timeout = Some(time(length)?);
                }
                ("fin-wait-2", [length]) => config.extensions.fin_wait_2 = Some(time(length)?),
                ("push", ["write-ends", burst]) => {
                    config.extensions.linux.push_ends_writes = Some(PushEndsWrites {
                        least_burst: number(burst)? as u32,
                        buffer_overhead: None,
                    });
                }
                ("send-buffer-is-memory", [overhead]) => {
                    let push = &mut config.extensions.linux.push_ends_writes;
                    let push = push
                        .as_mut()
                        .ok_or("it needs `push write-ends` before it")?;
                    push.buffer_overhead = Some(number(overhead)? as u32);
                }
                ("congestion", [name]) => {
                    sender.congestion = Congestion::named(name)
                        .ok_or_else(|| format!("{name} is none of {:?}", Congestion::NAMES))?;
                }
                ("with", names) => {
                    for name in names {
                        let extensions = &mut config.extensions;
                        extensions.switch_on(name).map_err(|why| why.to_string())?;
                    }
                }
                ("ecn", ["if-asked"]) => config.extensions.ecn = Some(Ecn::IfAsked),
                ("ecn", ["ask"]) => config.extensions.ecn = Some(Ecn::Ask { again: 0 }),
                ("path-mtu-search", [begins, base]) => {
                    config.extensions.path_mtu_search = Some(PathMtuSearch {
                        from_the_start: match *begins {
                            "after-a-black-hole" => false,
                            "from-the-start" => true,
                            _ => return Err(format!("no search begins `{begins}`")),
                        },
                        base_mss: number(base)? as u32,
                    });
                }
                ("slow-start-exit", [name]) => {
                    config.extensions.slow_start_exit = Some(match *name {
                        "hystart" => SlowStartExit::Hystart,
                        "hystart-plus-plus" => SlowStartExit::HystartPlusPlus,
                        _ => return Err(format!("no end of slow start `{name}`")),
                    });
                }
                ("more", ["in-every-variant"]) => sender.more_in_every_variant = true,
                ("open", ["closed"]) => closed = true,
                (key, values) => return Err(format!("no setting `{key} {}`", values.join(" "))),
            }
            Ok(())
        })()
        .map_err(|why| Unreadable {
            line: setting.line,
            why,
        })?;
    }
    if let Some(name) = instead.send {
        config.sender.policy = SendPolicy::named(name).expect("a registered send policy");
    }
    if let Some(name) = instead.ack {
        config.receiver.policy = AckPolicy::named(name).expect("a registered ACK policy");
    }
    let connection = if closed {
        Connection::new(&config)
    } else {
        Connection::established(&config, u64::from(peer_window))
    };
    debug_assert!(connection.sender().vars().una <= Offset::FIRST);
    Ok(Stage {
        connection,
        peer_window,
    })
}

fn send_policy(name: &str) -> Result<SendPolicy, String> {
    SendPolicy::named(name).ok_or_else(|| format!("no send policy `{name}`"))
}

fn ack_policy(name: &str) -> Result<AckPolicy, String> {
    AckPolicy::named(name).ok_or_else(|| format!("no ACK policy `{name}`"))
}

fn restart(name: &str) -> Result<IdleRestart, String> {
    Ok(match name {
        "none" => IdleRestart::None,
        "reset" => IdleRestart::Reset,
        "one-segment" => IdleRestart::OneSegment(IdleAfter::TimeOut),
        "one-segment-after-rtt" => IdleRestart::OneSegment(IdleAfter::RoundTrip),
        "one-segment-after-silence" => IdleRestart::OneSegment(IdleAfter::Silence),
        "decay" => IdleRestart::Decay,
        "paced" => IdleRestart::Paced,
        _ => return Err(format!("no idle restart rule `{name}`")),
    })
}

/// `200ms` or `1s`.
fn time(text: &str) -> Result<Duration, String> {
    match (text.strip_suffix("ms"), text.strip_suffix('s')) {
        (Some(millis), _) => Ok(Duration::from_millis(number(millis)?)),
        (_, Some(secs)) => Ok(Duration::from_secs(number(secs)?)),
        _ => Err(format!("`{text}` is not a time such as 200ms or 1s")),
    }
}
