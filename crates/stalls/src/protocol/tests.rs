use super::*;

#[test]
fn rows_stand_in_the_order_of_the_protocols() {
    for (protocol, name) in [
        (Protocol::Modbus, "Modbus/TCP"),
        (Protocol::OpenSsh, "SSH"),
        (Protocol::Http, "HTTP"),
        (Protocol::OpenFlow, "OpenFlow"),
    ] {
        assert_eq!(protocol.name(), name);
    }
    assert_eq!(Protocol::ALL.len(), ROWS.len());
}

#[test]
fn bytes_tell_more_than_ports() {
    assert_eq!(Protocol::of(8888, b"SSH-2.0-x"), Some(Protocol::OpenSsh));
    assert_eq!(
        Protocol::of(9999, &[0x16, 3, 1, 0, 50, 1]),
        Some(Protocol::Tls)
    );
    assert_eq!(
        Protocol::of(502, &[0, 1, 0, 0, 0, 6, 1, 3]),
        Some(Protocol::Modbus)
    );
    assert_eq!(Protocol::of(9999, b"hello"), None);
    assert_eq!(Protocol::of(22, &[]), Some(Protocol::OpenSsh));
}

#[test]
fn messages_say_how_long_they_are() {
    let request = [0, 1, 0, 0, 0, 6, 1, 3, 0, 0, 0, 1];
    assert_eq!(Protocol::Modbus.message_len(&request), Some(12));
    // A DNP3 read of 18 bytes behind its length: 10 + 13 + 2.
    assert_eq!(
        Protocol::Dnp3.message_len(&[5, 0x64, 18, 0xc4]),
        Some(10 + 13 + 2)
    );
    assert_eq!(Protocol::Tls.message_len(&[23, 3, 3, 0, 10]), Some(15));
    assert_eq!(Protocol::Tls.message_len(&[99, 3, 3, 0, 10]), None);
}

#[test]
fn first_bytes_tell_what_a_remedy_is_about() {
    let begun = |protocol: Protocol, bytes: &[u8]| protocol.is_begun_by(bytes);
    assert_eq!(begun(Protocol::Http, b"HTTP/1.1"), Some(true));
    assert_eq!(begun(Protocol::Http, b"PASS l0m"), Some(false));
    assert_eq!(begun(Protocol::Http, &[0x81, 0xfe, 2]), Some(false));
    assert_eq!(begun(Protocol::Http, b""), None);
    assert_eq!(begun(Protocol::Smtp, b"250 Reci"), Some(true));
    assert_eq!(begun(Protocol::Smtp, b"RCPT TO:"), Some(true));
    assert_eq!(begun(Protocol::Smtp, b"Date: Fr"), Some(false));
    assert_eq!(begun(Protocol::Tls, &[22, 3, 1, 0, 80, 1]), Some(true));
    assert_eq!(begun(Protocol::Tls, &[23, 3, 3, 0, 80, 1]), Some(false));
    assert_eq!(begun(Protocol::OpenSsh, &[0, 0, 0, 12, 10, 21]), None);
}

#[test]
fn a_connection_that_has_changed_to_tls_speaks_tls() {
    let record = [23, 3, 3, 0, 250];
    assert_eq!(Protocol::Smtp.within(&record), Protocol::Tls);
    assert_eq!(Protocol::Smtp.within(b"250 ok\r\n"), Protocol::Smtp);
    assert_eq!(Protocol::Smtp.within(b""), Protocol::Smtp);
}
