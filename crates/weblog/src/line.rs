//! One line: `host ident user [time] "request" status size`, and whatever follows.
//!
//! Apache's Common Log Format (`%h %l %u %t "%r" %>s %b`) is exactly this; the Combined Log Format
//! appends referrer and user agent, nginx's `combined` is the same as Combined, and some logs put
//! the virtual host first. Only time, method, status and size matter here, so the rest may be
//! anything.
//!
//! The parser searches the line and does not split it at spaces, because a user's name may contain
//! spaces, and a request any characters.

use jiff::civil::DateTime;
use jiff::tz::Offset;
use memchr::{memchr, memchr_iter};

/// A response, as its log line describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// When the request came in, in seconds since 1970 UTC.
    pub time: i64,
    /// The body that was sent.
    pub body: Body,
}

/// The body that was sent after the response's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// This many octets; at least one. Apache's `%b` and nginx's `$body_bytes_sent` leave the
    /// header out, `%O` and `$bytes_sent` count it.
    Octets(u64),
    /// Nothing: the size is `-`, or 0, which `%b` writes as `-`.
    Empty,
    /// Nothing, whatever the size says: the answer to HEAD (RFC 9110, section 9.3.2).
    Head,
    /// Nothing, whatever the size says: 304, Not Modified (section 15.4.5).
    NotModified,
}

/// The reason why a line has none of these formats: the part that was not found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// `[10/Oct/2000:13:55:36 -0700]`.
    #[error("no time such as [10/Oct/2000:13:55:36 -0700]")]
    Time,
    /// A request in quotes, with a status of three digits after it.
    #[error("no request in quotes with a status after it")]
    Request,
    /// A number of octets, or `-`.
    #[error("no size after the status")]
    Size,
    /// The line's end, within any reasonable distance.
    #[error("no end within 1 MiB")]
    End,
}

/// The accepted format, as shown to people.
pub const EXPECTED: &str = r#"host ident user [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.0" 200 2326, with or without "referrer" "user agent" after it"#;

/// Reads a line, with or without its line end.
///
/// # Errors
/// Returns the first part that does not match the formats.
pub fn parse(line: &[u8]) -> Result<Response, Unreadable> {
    let (time, rest) = time(line).ok_or(Unreadable::Time)?;
    let (request, status, rest) = request(rest).ok_or(Unreadable::Request)?;
    let octets = size(rest).ok_or(Unreadable::Size)?;
    let body = if request.starts_with(b"HEAD ") {
        Body::Head
    } else if status == *b"304" {
        Body::NotModified
    } else if octets == 0 {
        Body::Empty
    } else {
        Body::Octets(octets)
    };
    Ok(Response { time, body })
}

/// Returns the time, and the rest of the line behind it. The brackets of an IPv6 address or of a user's name
/// hold no time.
fn time(line: &[u8]) -> Option<(i64, &[u8])> {
    memchr_iter(b'[', line).find_map(|at| {
        let (bracketed, rest) = line[at + 1..].split_at_checked(TIME.len() + 2)?;
        let time = bracketed.strip_suffix(b"] ")?;
        Some((seconds(time.try_into().ok()?)?, rest))
    })
}

/// `10/Oct/2000:13:55:36 -0700` in seconds since 1970 UTC.
fn seconds(time: &[u8; TIME.len()]) -> Option<i64> {
    let shaped = [
        (2, b'/'),
        (6, b'/'),
        (11, b':'),
        (14, b':'),
        (17, b':'),
        (20, b' '),
    ];
    if shaped.iter().any(|&(at, mark)| time[at] != mark) {
        return None;
    }
    let two = |at: usize| decimal(&time[at..at + 2]).and_then(|value| i8::try_from(value).ok());
    let year = i16::try_from(decimal(&time[7..11])?).ok()?;
    let month = MONTHS.iter().position(|name| time[3..6] == **name)? as i8 + 1;
    let second = match two(18)? {
        // Unix time has no leap second: it counts as second 59 again.
        60 => 59,
        second => second,
    };
    let local = DateTime::new(year, month, two(0)?, two(12)?, two(15)?, second, 0).ok()?;
    let (hours, minutes) = (i32::from(two(22)?), i32::from(two(24)?));
    let east = hours * 3600 + minutes * 60;
    let east = match time[21] {
        b'+' => east,
        b'-' => -east,
        _ => return None,
    };
    let offset = Offset::from_seconds(east).ok()?;
    Some(offset.to_timestamp(local).ok()?.as_second())
}

/// Returns the request without its quotes, the status, and the rest of the line behind them.
///
/// The request ends at the first unescaped quote that a status follows: Apache escapes quotes
/// within the request, older servers do not.
fn request(quoted: &[u8]) -> Option<(&[u8], [u8; 3], &[u8])> {
    let inside = quoted.strip_prefix(b"\"")?;
    memchr_iter(b'"', inside).find_map(|at| {
        let (request, rest) = (&inside[..at], &inside[at + 1..]);
        let escapes = request.iter().rev().take_while(|octet| **octet == b'\\');
        if escapes.count() % 2 != 0 {
            return None;
        }
        let (status, rest) = rest.split_at_checked(5)?;
        let status: [u8; 3] = status
            .strip_prefix(b" ")?
            .strip_suffix(b" ")?
            .try_into()
            .ok()?;
        status
            .iter()
            .all(u8::is_ascii_digit)
            .then_some((request, status, rest))
    })
}

/// Returns the size, 0 for `-`; what follows it is the line's end or a space.
fn size(rest: &[u8]) -> Option<u64> {
    let end = memchr(b' ', rest).unwrap_or(rest.len());
    match rest[..end].trim_ascii_end() {
        b"-" => Some(0),
        digits => decimal(digits),
    }
}

/// Returns the number if `digits` has digits only and the number fits in 64 bits.
fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |value, digit| {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value.checked_mul(10)?.checked_add(digit.into())
    })
}

const TIME: &[u8; 26] = b"10/Oct/2000:13:55:36 -0700";
const MONTHS: [&[u8; 3]; 12] = [
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];

#[cfg(test)]
mod tests {
    use super::*;

    const AT: &str = r#"192.0.2.1 - frank [10/Oct/2000:13:55:36 -0700]"#;

    fn body(rest: &str) -> Result<Body, Unreadable> {
        parse(format!("{AT} {rest}").as_bytes()).map(|response| response.body)
    }

    #[test]
    fn the_example_of_apaches_manual() {
        let line = br#"127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326"#;
        let response = Response {
            time: 971_211_336,
            body: Body::Octets(2326),
        };
        assert_eq!(parse(line), Ok(response));
    }

    #[test]
    fn combined_logs_and_line_ends_are_the_same_to_us() {
        for after in [
            "",
            "\r",
            "\n",
            "\r\n",
            r#" "http://example.com/" "Mozilla/4.08 [en] (Win98; I ;Nav)""#,
            r#" "-" "-" 0.003"#,
        ] {
            let read = body(&format!(r#""GET / HTTP/1.0" 200 2326{after}"#));
            assert_eq!(read, Ok(Body::Octets(2326)), "{after:?}");
        }
    }

    #[test]
    fn what_stands_before_the_time_may_be_anything() {
        for before in [
            "www.example.com:80 192.0.2.1 - - ",
            "2001:db8::1 - john doe ",
            "[2001:db8::1] - [x] ",
        ] {
            let line = format!(r#"{before}[17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1"#);
            let read = parse(line.as_bytes()).expect("it is a line");
            assert_eq!(read.time, 1_431_857_103, "{before}");
        }
    }

    #[test]
    fn quotes_in_a_request_do_not_end_it() {
        let huge = Ok(Body::Octets(7));
        assert_eq!(body(r#""GET /\" 200 999 HTTP/1.1" 400 7 "-" "-""#), huge);
        assert_eq!(body(r#""GET /a"b HTTP/1.1" 400 7"#), huge);
        assert_eq!(body(r#""GET /\\" 400 7"#), huge);
        assert_eq!(body(r#""-" 408 7"#), huge);
        assert_eq!(body(r#""" 400 7"#), huge);
    }

    #[test]
    fn responses_without_a_body_say_why() {
        assert_eq!(body(r#""GET / HTTP/1.1" 200 -"#), Ok(Body::Empty));
        assert_eq!(body(r#""GET / HTTP/1.1" 302 0"#), Ok(Body::Empty));
        assert_eq!(body(r#""HEAD / HTTP/1.1" 200 5000"#), Ok(Body::Head));
        assert_eq!(body(r#""GET / HTTP/1.1" 304 180"#), Ok(Body::NotModified));
        assert_eq!(body(r#""GET /HEAD HTTP/1.1" 200 9"#), Ok(Body::Octets(9)));
    }

    #[test]
    fn what_is_missing_is_named() {
        for line in [
            "",
            "[Wed Oct 11 14:32:52 2000] [error] client denied",
            r#"192.0.2.1 - - [31/Feb/2000:13:55:36 -0700] "GET / HTTP/1.0" 200 1"#,
            r#"192.0.2.1 - - [10/Okt/2000:13:55:36 -0700] "GET / HTTP/1.0" 200 1"#,
            r#"192.0.2.1 - - [10/Oct/2000:13:55:36 -07]"#,
        ] {
            assert_eq!(parse(line.as_bytes()), Err(Unreadable::Time), "{line}");
        }
        for rest in ["", "GET / 200 1", r#""GET / HTTP/1.0"#, r#""GET /" 20 1"#] {
            assert_eq!(body(rest), Err(Unreadable::Request), "{rest}");
        }
        for size in ["", "x", "-1", "1.5", "99999999999999999999"] {
            let rest = format!(r#""GET /" 200 {size}"#);
            assert_eq!(body(&rest), Err(Unreadable::Size), "{rest}");
        }
    }

    #[test]
    fn a_leap_second_is_the_last_one_again() {
        let at = |second| format!(r#"h - - [31/Dec/2016:23:59:{second} +0000] "GET /" 200 1"#);
        let time = |second| parse(at(second).as_bytes()).map(|response| response.time);
        assert_eq!(time("60"), time("59"));
        assert_eq!(time("61"), Err(Unreadable::Time));
    }

    proptest::proptest! {
        #[test]
        fn no_line_is_too_odd(line: Vec<u8>) {
            let _ = parse(&line);
        }

        #[test]
        fn a_formatted_line_is_read_back(
            time in 0..253_402_300_799_i64, octets in 1..=u64::MAX, path in "[ -~&&[^\"\\\\]]*",
        ) {
            let stamp = jiff::Timestamp::from_second(time).expect("in range");
            let stamp = stamp.to_zoned(jiff::tz::TimeZone::UTC);
            let line = format!(
                r#"h - - [{:02}/{}/{:04}:{:02}:{:02}:{:02} +0000] "GET {path}" 200 {octets} "-""#,
                stamp.day(), std::str::from_utf8(MONTHS[stamp.month() as usize - 1]).expect("ASCII"),
                stamp.year(), stamp.hour(), stamp.minute(), stamp.second(),
            );
            let response = Response { time, body: Body::Octets(octets) };
            proptest::prop_assert_eq!(parse(line.as_bytes()), Ok(response));
        }
    }
}
