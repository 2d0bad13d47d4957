use super::*;

#[test]
fn requests_in_flight_cannot_be_written_once() {
    let mut case = Case::new(Kind::WriteWriteRead, Side::Client);
    let once = |case: &Case| {
        Advice::of(case)
            .steps
            .iter()
            .any(|s| s.cure == Cure::WriteOnce)
    };
    assert!(once(&case));
    case.pieces = Pieces::Pipelined;
    assert!(!once(&case));
}

#[test]
fn both_ends_are_advised_and_what_costs_least_comes_first() {
    let mut case = Case::new(Kind::WriteWriteRead, Side::Server);
    case.protocol = Some(Protocol::OpenVpn);
    let advice = Advice::of(&case);
    assert_eq!(advice.steps[0].effort, Effort::ProgramSetting);
    assert!(advice.steps.is_sorted_by_key(|s| s.effort));
    assert!(advice.by(Side::Client).all(|s| s.cure == Cure::QuickAck));
    assert!(advice.by(Side::Client).count() > 0);
}

#[test]
fn of_own_code_one_write_comes_before_nodelay() {
    for pieces in [Pieces::OneMessage, Pieces::Unknown] {
        let mut case = Case::new(Kind::WriteWriteRead, Side::Client);
        case.pieces = pieces;
        let cures = |advice: Advice| -> Vec<Cure> {
            let steps = advice.steps.into_iter();
            steps.map(|step| step.cure).collect()
        };
        let own = cures(Advice::for_own_code(&case));
        assert_eq!(own[..2], [Cure::WriteOnce, Cure::NoDelay]);
        assert!(own[2..].iter().all(|cure| *cure == Cure::QuickAck));
        assert_eq!(cures(Advice::of(&case))[0], Cure::NoDelay);
    }
}

/// Buffers of 16 KiB and an MSS of 8960: `tinygram deadlock -s 16384 -r 65536 -m 8960` has 12288 bytes in
/// flight and 3328 behind them, deadlocks, and does so with TCP_NODELAY.
#[test]
fn a_deadlock_of_buffers_is_advised_as_the_verb_deadlock_does() {
    let mut case = Case::new(Kind::SmallBuffer, Side::Client);
    (case.flight, case.held, case.mss) = (12_288, 3_328, 8_960);
    assert!(headline(&case).ends_with("TCP_NODELAY does not help"));
    (case.flight, case.held) = (16_384, 1_536);
    assert!(headline(&case).contains("helps only if"));
}

#[test]
fn a_prompt_ack_cannot_come_earlier() {
    let advice = Advice::of(&Case::new(Kind::NagleRoundTrip, Side::Client));
    assert_eq!(advice.by(Side::Server).count(), 0);
}

fn texts(case: &Case) -> Vec<String> {
    let advice = Advice::of(case);
    advice.by(case.sender).map(|s| s.text.clone()).collect()
}

fn case(kind: Kind, sender: Side, protocol: Protocol, pieces: Pieces) -> Case {
    Case {
        protocol: Some(protocol),
        pieces,
        ..Case::new(kind, sender)
    }
}

/// A larger initial window is of no use where the window is what a timeout has left of it.
#[test]
fn behind_a_timeout_no_initial_window_is_raised() {
    let mut case = Case::new(Kind::SlowStartDelayedAck, Side::Server);
    let raises = |case: &Case| {
        let advice = Advice::of(case);
        advice.steps.iter().any(|s| s.cure == Cure::InitialWindow)
    };
    assert!(raises(&case) && Advice::of(&case).caution.is_none());
    case.timeout = Timeout::Perhaps;
    assert!(raises(&case) && Advice::of(&case).caution.is_some());
    case.timeout = Timeout::Yes;
    assert!(!raises(&case) && Advice::of(&case).caution.is_some());
    assert!(!headline(&case).contains("initial window"));
}

/// What sends small segments at once, or is about a handshake, is no cure of a flood.
#[test]
fn no_cure_of_another_illness_is_advised_against_a_flood() {
    for protocol in Protocol::ALL {
        for sender in [Side::Client, Side::Server] {
            let flood = case(Kind::TinygramFlood, sender, protocol, Pieces::OneMessage);
            for text in texts(&flood) {
                assert!(!text.contains("NODELAY"), "{text}");
                assert!(!text.contains("key exchange"), "{text}");
                assert!(!text.contains("handshake"), "{text}");
            }
        }
    }
    let flood = |protocol| {
        case(
            Kind::TinygramFlood,
            Side::Client,
            protocol,
            Pieces::OneMessage,
        )
    };
    assert_eq!(texts(&flood(Protocol::Smb)).len(), 1);
    assert!(texts(&flood(Protocol::Vnc))[0].contains("pointer events"));
}

/// Header and body are written together only where a header was seen; two answers are no header
/// and body.
#[test]
fn a_header_is_written_with_its_body_where_there_is_one() {
    let http = |sender, pieces, begun| {
        let case = case(Kind::WriteWriteRead, sender, Protocol::Http, pieces);
        texts(&Case { begun, ..case }).join("; ")
    };
    let together = "header and body";
    assert!(http(Side::Server, Pieces::OneMessage, Some(true)).contains(together));
    let else_than_a_header = http(Side::Client, Pieces::Unknown, Some(false));
    assert!(!else_than_a_header.contains("HTTP"), "{else_than_a_header}");
    let two = http(Side::Server, Pieces::Pipelined, Some(true));
    assert!(!two.contains(together), "{two}");
    let two = case(
        Kind::WriteWriteRead,
        Side::Server,
        Protocol::Http,
        Pieces::Pipelined,
    );
    let clients = Advice::of(&two);
    assert!(clients.by(Side::Client).any(|s| s.text.contains("Expect")));
    let odd = case(
        Kind::OddFullShortFinal,
        Side::Server,
        Protocol::Http,
        Pieces::Unknown,
    );
    assert!(texts(&odd).iter().all(|text| !text.contains("HTTP")));
}

#[test]
fn a_mails_final_dot_is_three_or_five_bytes() {
    let mail = |held, begun| {
        let case = case(
            Kind::WriteWriteRead,
            Side::Client,
            Protocol::Smtp,
            Pieces::Unknown,
        );
        texts(&Case {
            held,
            begun,
            ..case
        })
        .join("; ")
    };
    assert!(mail(5, Some(false)).contains("final dot"));
    assert!(!mail(617, Some(false)).contains("SMTP"));
    assert!(mail(30, Some(true)).contains("pipelined commands"));
}

/// Whole requests in flight have no header of their own to write them with.
#[test]
fn whole_requests_are_not_put_together_from_header_and_pdu() {
    let requests = |protocol, trigger| {
        let case = case(
            Kind::WriteWriteRead,
            Side::Client,
            protocol,
            Pieces::Pipelined,
        );
        texts(&Case { trigger, ..case }).join("; ")
    };
    assert!(!requests(Protocol::Modbus, 12).contains("MBAP"));
    assert!(!requests(Protocol::S7, 31).contains("TPKT"));
    assert!(requests(Protocol::S7, 31).contains("multi-variable"));
    assert!(requests(Protocol::S7, 7).contains("COTP frame without data"));
    assert!(!requests(Protocol::Dns, 30).contains("length and the message"));
    let torn = case(
        Kind::WriteWriteRead,
        Side::Client,
        Protocol::Modbus,
        Pieces::OneMessage,
    );
    assert!(texts(&torn).iter().any(|text| text.contains("MBAP")));
}

#[test]
fn every_kind_has_advice() {
    for kind in Kind::ALL {
        for sender in [Side::Client, Side::Server] {
            let case = Case::new(kind, sender);
            assert!(!Advice::of(&case).steps.is_empty(), "{kind}");
            assert!(!headline(&case).is_empty(), "{kind}");
        }
    }
}

/// The route's line works as pasted, and a host that talks with itself gets no advice for Windows.
#[test]
fn what_makes_a_receiver_acknowledge_fits_the_host() {
    let mut case = Case::new(Kind::WriteWriteRead, Side::Client);
    let text = |case: &Case| Advice::of(case).to_string();
    assert!(text(&case).contains("ip route change $(ip route get fibmatch PEER) quickack 1"));
    assert!(text(&case).contains("Windows"));
    case.loopback = true;
    assert!(!text(&case).contains("Windows") && text(&case).contains("tcp_pingpong_thresh"));
}

/// The receiver's route leads to the sender, and the sender's to the receiver.
#[test]
fn a_route_leads_to_the_other_end() {
    let known = |kind, [sender, receiver]: [&str; 2]| {
        let address = |text: &str| text.parse().ok();
        Advice::of(&Case {
            sender_address: address(sender),
            receiver_address: address(receiver),
            ..Case::new(kind, Side::Server)
        })
        .to_string()
    };
    let text = known(Kind::SlowStartDelayedAck, ["10.0.0.2", "10.0.0.1"]);
    assert!(text.contains("$(ip route get fibmatch 10.0.0.1) initcwnd 10"));
    assert!(text.contains("$(ip route get fibmatch 10.0.0.2) quickack 1"));
    let text = known(Kind::WriteWriteRead, ["2001:db8::2", "2001:db8::1"]);
    assert!(text.contains(
        "`ip -6 route change $(ip -6 route get fibmatch 2001:db8::2 | sed 's/ expires [^ ]*//') quickack 1`"
    ));
}

/// On its own routes a host's window is not enlarged by the line for a route to another.
#[test]
fn no_route_is_changed_where_both_ends_are_one_host() {
    for kind in [Kind::ShortInitialSegment, Kind::SlowStartDelayedAck] {
        for address in ["127.0.0.1", "::1"] {
            let mut case = Case::new(kind, Side::Server);
            (case.sender_address, case.receiver_address) =
                (address.parse().ok(), address.parse().ok());
            assert!(Advice::of(&case).to_string().contains("route change"));
            case.loopback = true;
            let text = Advice::of(&case).to_string();
            assert!(text.contains("initial window"), "{text}");
            assert!(!text.contains("route change"), "{text}");
        }
    }
}
