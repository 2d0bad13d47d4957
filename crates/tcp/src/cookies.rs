//! SYN cookies (RFC 4987, section 3.6): under a flood, a listener keeps nothing of a SYN. Its answer
//! has everything in the numbers that the peer's ACK will repeat, as on Linux (`syncookies.c`): the
//! sequence number has an MSS and the minute, and if the peer has timestamps, the lowest bits of
//! ours have window scale, SACK and ECN.

use tinygram_engine::{Connection, Duration, Flags, Instant, Offset, Outbox, Segment, State};
use tinygram_wire::encode::{Checksum, Path};
use tinygram_wire::packet::{Header, Packet};
use tinygram_wire::sequence::{Numbering, Sequence};

use super::secrets::{Numbers, Secrets};
use super::socket::Owner;
use super::{Core, Pair};

/// The sizes of which a cookie names one, in octets: the largest that is not above the peer's MSS.
const SIZES: [u16; 8] = [48, 216, 536, 1220, 1300, 1440, 1460, 8960];
/// The length of a period; a cookie names its period in eight bits.
const PERIOD: Duration = Duration::from_secs(64);
/// A cookie counts in its own period and the next one, as on Linux (`MAX_SYNCOOKIE_AGE`).
const AGE: u32 = 2;
/// The bits of a cookie that hold the size and a part of the hash.
const LOW: u32 = 0x00ff_ffff;

/// What a timestamp's lowest six bits say (Linux: `TS_OPT_*`).
const TIMESTAMP_BITS: u32 = 0x3f;
const NO_SCALE: u32 = 0xf;
const SACK: u32 = 0x10;
const ECN: u32 = 0x20;

impl Secrets {
    /// Returns the sequence number that answers a SYN with the number `irs` and this MSS.
    fn cookie(&self, now: Instant, pair: &Pair, irs: u32, mss: u16) -> u32 {
        let index = SIZES.iter().rposition(|size| *size <= mss).unwrap_or(0) as u32;
        let period = period(now);
        let low = self
            .cookie_hash(pair, irs, Some(period))
            .wrapping_add(index)
            & LOW;
        self.cookie_hash(pair, irs, None)
            .wrapping_add(period << 24)
            .wrapping_add(low)
    }

    /// Returns the MSS of a cookie; `None` if it is not one of this stack's, or too old.
    fn cookie_mss(&self, now: Instant, pair: &Pair, irs: u32, cookie: u32) -> Option<u16> {
        let rest = cookie.wrapping_sub(self.cookie_hash(pair, irs, None));
        let period = period(now);
        let age = period.wrapping_sub(rest >> 24) & 0xff;
        if age >= AGE {
            return None;
        }
        // The hash takes the whole period: its lowest eight bits come again after 4.5 hours.
        let then = period.wrapping_sub(age);
        let index = rest.wrapping_sub(self.cookie_hash(pair, irs, Some(then))) & LOW;
        SIZES.get(index as usize).copied()
    }
}

fn period(now: Instant) -> u32 {
    (now.as_nanos() / PERIOD.as_nanos()) as u32
}

/// Returns a SYN's header without what its answer has no room for: without timestamps there are no
/// bits for the other options. For queue counters there are none in either case.
fn within_a_cookie(mut syn: Header, timestamps: bool) -> Header {
    syn.options.counters_permitted = false;
    syn.options.counters = None;
    if !timestamps || syn.options.timestamps.is_none() {
        syn.options.timestamps = None;
        syn.options.window_scale = None;
        syn.options.sack_permitted = false;
        syn.flags = syn.flags.without(Flags::ECN);
    }
    syn
}

/// Returns our timestamp with the SYN's options in its lowest bits. It is at most 64 ticks old.
fn with_options(value: u32, syn: &Header) -> u32 {
    let scale = syn
        .options
        .window_scale
        .map_or(NO_SCALE, |scale| scale.min(14).into());
    let sack = if syn.options.sack_permitted { SACK } else { 0 };
    let asks = syn.flags.has(Flags::ECE.with(Flags::CWR));
    let bits = scale | sack | if asks { ECN } else { 0 };
    let coded = value & !TIMESTAMP_BITS | bits;
    match bits > value & TIMESTAMP_BITS {
        true => coded.wrapping_sub(TIMESTAMP_BITS + 1),
        false => coded,
    }
}

/// Returns the SYN as far as the ACK of its answer tells. Without `timestamps` of ours, an echo tells
/// nothing.
fn syn_of(ack: &Header, mss: u16, numbers: &Numbers, timestamps: bool) -> Header {
    let mut syn = Header {
        seq: ack.seq.wrapping_sub(1),
        ack: 0,
        flags: Flags::SYN,
        ..*ack
    };
    syn.options.sack = [].into_iter().collect();
    syn.options.mss = Some(mss);
    if let Some(echoing) = ack.options.timestamps {
        let bits = echoing.echo.wrapping_sub(numbers.timestamp_offset);
        let scale = bits & NO_SCALE;
        syn.options.window_scale = (scale != NO_SCALE).then_some(scale as u8);
        syn.options.sack_permitted = bits & SACK != 0;
        let asks = bits & ECN != 0;
        syn.flags = syn.flags.with_if(asks, Flags::ECE.with(Flags::CWR));
    }
    within_a_cookie(syn, timestamps)
}

/// Returns the ACK of a cookie with an echo that measures nothing, because it is not yet due: the
/// real one is of a timestamp that [`with_options`] made up to 64 ticks older.
fn without_the_echo<'a>(ack: &Packet<'a>) -> Packet<'a> {
    let mut ack = *ack;
    if let Some(timestamps) = &mut ack.header.options.timestamps {
        timestamps.echo = timestamps.echo.wrapping_add(1 << 30);
    }
    ack
}

/// Returns the engine's segment of a SYN.
fn segment_of(syn: &Header) -> Segment {
    let options = &syn.options;
    Segment {
        seq: Offset::SYN,
        ack: Offset::SYN,
        len: 0,
        window: syn.window.into(),
        flags: syn.flags,
        options: tinygram_engine::Options {
            mss: options.mss,
            window_scale: options.window_scale,
            sack_permitted: options.sack_permitted,
            timestamps: options.timestamps,
            ..tinygram_engine::Options::default()
        },
    }
}

impl Core {
    /// Answers a SYN with a cookie and forgets it.
    pub(super) fn send_cookie(
        &mut self,
        now: Instant,
        key: usize,
        pair: Pair,
        packet: &Packet<'_>,
    ) {
        let mut path = Path::new(pair.local, pair.remote).expect("addresses of one packet");
        let listener = &mut self.listeners[key];
        listener.options.mark(&mut path);
        listener.cookies_until = now + PERIOD.times(AGE.into());
        let config = listener.options.config(self.abilities.mss(path.version()));
        let numbers = self.secrets.numbers(now, &pair.local, &pair.remote);
        let syn = within_a_cookie(packet.header, config.extensions.timestamps);
        // A connection that nobody keeps agrees to the options.
        let mut connection = Connection::new(&config);
        connection.set_timestamp_offset(numbers.timestamp_offset);
        connection.listen();
        let mut out = Outbox::new();
        connection.on_segment(now, &segment_of(&syn), &mut out);
        let mss = syn.options.mss.unwrap_or(536);
        let irs = packet.header.seq;
        let numbering = Numbering {
            data: Sequence::new(self.secrets.cookie(now, &pair, irs, mss)),
            acks: Sequence::new(irs),
            window_shift: 0,
        };
        for segment in &out.segments {
            let mut header = numbering.header(segment);
            if let Some(ours) = &mut header.options.timestamps {
                let offset = numbers.timestamp_offset;
                let clock = ours.value.wrapping_sub(offset);
                ours.value = with_options(clock, &syn).wrapping_add(offset);
            }
            let mut answer = vec![0; path.headers_len(&header.options)];
            path.write_headers(&header, Checksum::Full, &mut answer);
            self.counters.cookies_sent += u64::from(self.queue.push_whole(answer));
        }
    }

    /// Handles an ACK for which a listener has no connection: if it repeats a cookie of this stack's,
    /// the connection is opened. Returns whether it was a cookie.
    pub(super) fn take_cookie(
        &mut self,
        now: Instant,
        key: usize,
        pair: Pair,
        packet: &Packet<'_>,
    ) -> bool {
        let ack = &packet.header;
        let control = Flags::SYN.with(Flags::RST).with(Flags::ACK);
        let listener = &self.listeners[key];
        if ack.flags.among(control) != Flags::ACK || now >= listener.cookies_until {
            return false;
        }
        let (irs, cookie) = (ack.seq.wrapping_sub(1), ack.ack.wrapping_sub(1));
        let Some(mss) = self.secrets.cookie_mss(now, &pair, irs, cookie) else {
            self.counters.cookies_refused += 1;
            return false;
        };
        if !listener.has_room() {
            self.counters.no_room += 1;
            return true;
        }
        let options = listener.options.clone();
        let numbers = self.secrets.numbers(now, &pair.local, &pair.remote);
        let owner = Owner::HalfOpen {
            listener: key,
            serial: 0,
        };
        let opened = self.open(now, pair, &options, owner);
        let socket = opened.expect("addresses of one packet");
        let connection = &mut self.sockets[socket];
        connection.ours = Sequence::new(cookie);
        connection.theirs = Sequence::new(irs);
        let timestamps = options.extensions().timestamps;
        let syn = segment_of(&syn_of(ack, mss, &numbers, timestamps));
        connection
            .connection
            .listen_again(now, &syn, &mut self.outbox);
        self.counters.cookies_accepted += 1;
        self.on_segment(now, socket, &without_the_echo(packet));
        if let Some(opened) = self.sockets.get(socket)
            && matches!(opened.owner, Owner::HalfOpen { .. })
        {
            match opened.connection.state() {
                // The segment was damaged in some way that only the engine sees.
                State::SynReceived => {
                    self.sockets[socket].connection.abort(&mut self.outbox);
                    self.outbox.segments.clear();
                    self.settle(socket);
                }
                // It is not counted among the half-open ones, so its acceptance is not deferred.
                _ => self.hand_over(socket),
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tinygram_engine::Timestamps;

    fn pair(port: u16) -> Pair {
        let end = |text: String| text.parse::<std::net::SocketAddr>().unwrap().into();
        Pair {
            local: end("10.0.0.1:80".into()),
            remote: end(format!("10.0.0.2:{port}")),
        }
    }

    fn at(secs: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(secs)
    }

    #[test]
    fn a_cookie_counts_in_its_period_and_the_next() {
        let secrets = Secrets::from_keys([[1; 16], [2; 16]]);
        // The eight bits of the period come again after 16,384 seconds.
        for begin in [0, 64 * 255, 64 * 256, 64 * 1000] {
            let cookie = secrets.cookie(at(begin), &pair(7), 5, 1460);
            let mss = |secs| secrets.cookie_mss(at(begin + secs), &pair(7), 5, cookie);
            assert_eq!((mss(0), mss(127)), (Some(1460), Some(1460)));
            assert_eq!((mss(128), mss(1280)), (None, None));
            assert_eq!((mss(16_384), mss(16_384 + 64)), (None, None));
        }
    }

    proptest! {
        #[test]
        fn a_cookie_belongs_to_its_connection(irs: u32, other: u32, mss in 48_u16.., port: u16) {
            let secrets = Secrets::from_keys([[1; 16], [2; 16]]);
            let cookie = secrets.cookie(at(9), &pair(port), irs, mss);
            let found = secrets.cookie_mss(at(9), &pair(port), irs, cookie).unwrap();
            prop_assert!(found <= mss && (found >= 216 || mss < 216));
            let wrong = [
                secrets.cookie_mss(at(9), &pair(port.wrapping_add(1)), irs, cookie),
                secrets.cookie_mss(at(9), &pair(port), irs.wrapping_add(1), cookie),
                secrets.cookie_mss(at(9), &pair(port), irs, cookie ^ (1 << (other % 21 + 3))),
            ];
            prop_assert_eq!(wrong, [None; 3]);
        }

        #[test]
        fn a_timestamp_holds_the_options(clock: u32, scale in proptest::option::of(0_u8..15), sack: bool, asks: bool) {
            let mut syn = Header {
                seq: 0,
                ack: 0,
                flags: Flags::SYN.with_if(asks, Flags::ECE.with(Flags::CWR)),
                window: 1000,
                options: tinygram_wire::options::Options::default(),
            };
            syn.options.window_scale = scale;
            syn.options.sack_permitted = sack;
            let value = with_options(clock, &syn);
            prop_assert!(clock.wrapping_sub(value) < 64, "not of the future");
            let numbers = Numbers { initial_sequence: 0, timestamp_offset: 77 };
            let mut ack = Header { seq: 1, ack: 1, flags: Flags::ACK, ..syn };
            ack.options = tinygram_wire::options::Options::default();
            ack.options.timestamps = Some(Timestamps { value: 3, echo: value.wrapping_add(77) });
            let found = syn_of(&ack, 1460, &numbers, true);
            prop_assert_eq!(found.options.window_scale, scale);
            prop_assert_eq!(found.options.sack_permitted, sack);
            prop_assert_eq!(found.flags, syn.flags);
        }
    }
}
