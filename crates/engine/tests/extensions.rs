//! The effects of today's extensions in profiles, as far as no script of a conversation can state
//! them.

use tinygram_engine::connection::Connection;
use tinygram_engine::extensions::{Extensions, LossDetection, Sack};
use tinygram_engine::profile::{Profile, Sizes};
use tinygram_engine::{
    Duration, Flags, Instant, Offset, Options, Outbox, Segment, State, Timestamps,
};

const SIZES: Sizes = Sizes {
    mss: 1460,
    send_buffer: 1 << 20,
    receive_buffer: 6 << 20,
};

fn connection(profile: &str) -> Connection {
    let profile = Profile::named(profile).expect("registered");
    Connection::established(&(profile.config)(&SIZES), 1 << 20)
}

/// RFC 6928: ten segments, of what timestamps leave of the MSS (RFC 6691).
#[test]
fn todays_profiles_begin_with_ten_segments() {
    for profile in ["linux_6", "modern"] {
        let mut out = Outbox::new();
        let mut connection = connection(profile);
        connection.write(Instant::ZERO, 100_000, false, &mut out);
        let lens: Vec<_> = out.segments.iter().map(|segment| segment.len).collect();
        assert_eq!(lens, [1448; 10], "{profile}");
        // 6 MiB fit into the header's field with a shift of 7.
        assert_eq!(connection.receive_window_shift(), 7, "{profile}");
    }
}

/// A profile of its time neither sends nor heeds what was invented later.
#[test]
fn historic_profiles_have_no_extension() {
    let todays = ["linux_6", "modern"];
    for profile in Profile::LIST.iter().filter(|p| !todays.contains(&p.name)) {
        let config = (profile.config)(&SIZES);
        assert_eq!(config.extensions, Extensions::NONE, "{}", profile.name);
        let mut connection = Connection::new(&config);
        let mut out = Outbox::new();
        connection.connect(Instant::ZERO, &mut out);
        let options = out.segments[0].options;
        let mss_alone = Options {
            mss: Some(SIZES.mss),
            ..Options::default()
        };
        assert_eq!(options, mss_alone, "{}", profile.name);
    }
}

/// TIME-WAIT gives way to a SYN that is newer than all of the old connection, by the clock or by
/// its sequence number, and to no other segment (RFC 6191).
#[test]
fn time_wait_gives_way_to_what_is_newer() {
    let mut connection = connection("linux_6");
    let now = Instant::ZERO + Duration::from_millis(5);
    let mut out = Outbox::new();
    let peer = |seq, flags, value| Segment {
        seq: Offset::new(seq),
        ack: Offset::new(2),
        len: 0,
        window: 1000,
        flags,
        options: Options {
            timestamps: Some(Timestamps { value, echo: 5 }),
            ..Options::default()
        },
    };
    let syn = |seq, value| peer(seq, Flags::SYN, value);
    connection.close(now, &mut out);
    assert!(!connection.gives_way_to(&syn(9, 200)), "not in TIME-WAIT");
    let fin = peer(1, Flags::FIN.with(Flags::ACK), 100);
    connection.on_segment(now, &fin, &mut out);
    assert_eq!(connection.state(), State::TimeWait);
    assert!(connection.gives_way_to(&syn(1, 101)), "by its clock");
    assert!(!connection.gives_way_to(&syn(9, 99)), "old by its clock");
    assert!(connection.gives_way_to(&syn(3, 100)), "by its number");
    assert!(!connection.gives_way_to(&syn(2, 100)), "neither");
    assert!(!connection.gives_way_to(&fin), "no SYN");
    let mut bare = syn(3, 0);
    bare.options = Options::default();
    assert!(connection.gives_way_to(&bare), "by its number, no clock");
}

/// A branch comes with its trunk, in whatever order they are named; and every name is known.
#[test]
fn what_depends_on_sack_switches_it_on() {
    let with = |names: &[&str]| {
        let mut extensions = Extensions::NONE;
        for name in names {
            extensions.switch_on(name).expect("a known name");
        }
        extensions
    };
    assert_eq!(with(&["sack"]).sack, Some(Sack::PLAIN));
    let undo = with(&["frto"]).sack.and_then(|sack| sack.undo);
    assert!(undo.expect("undone").frto);
    assert_eq!(with(&["rack-tlp", "sack"]), with(&["sack", "rack-tlp"]));
    assert_eq!(
        with(&[
            "sack",
            "dsack",
            "rack-tlp",
            "rate-reduction",
            "undo",
            "frto"
        ])
        .sack,
        Some(Sack::FULL)
    );
    let detection = with(&["dsack"]).sack.map(|sack| sack.detection);
    assert_eq!(detection, Some(LossDetection::Counting));
    for name in Extensions::SWITCHES {
        assert_ne!(with(&[name]), Extensions::NONE, "{name}");
    }
    let error = Extensions::NONE
        .clone()
        .switch_on("rack")
        .expect_err("no such name");
    assert!(
        error
            .to_string()
            .starts_with("no extension is called `rack`; there are window-scaling, "),
        "{error}"
    );
}
