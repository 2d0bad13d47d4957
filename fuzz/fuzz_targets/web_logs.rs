//! Any bytes as a web server's log: every line is counted exactly once, as what it is.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tinygram_weblog::Survey;
use tinygram_weblog::line::{Body, parse};

fuzz_target!(|bytes: &[u8]| {
    // A damaged gzip container is an error; anything else is a log, if a bad one.
    let Ok(survey) = Survey::read(bytes) else {
        assert!(bytes.starts_with(&[0x1f, 0x8b]));
        return;
    };
    let sizes = survey.sizes();
    let with_body: u64 = sizes.iter().map(|(_, count)| count).sum();
    let without = survey.head + survey.not_modified + survey.empty;
    assert_eq!(survey.responses(), with_body + without);
    assert_eq!(survey.times.is_some(), survey.responses() > 0);
    assert_eq!(survey.first_unreadable.is_some(), survey.unreadable > 0);
    if bytes.starts_with(&[0x1f, 0x8b]) {
        return;
    }
    let lines: Vec<_> = bytes.split_inclusive(|octet| *octet == b'\n').collect();
    assert_eq!(survey.lines, lines.len() as u64);
    let bodies = lines.iter().filter_map(|line| match parse(line) {
        Ok(response) => Some(response.body),
        Err(_) => None,
    });
    let octets = bodies.filter(|body| matches!(body, Body::Octets(_)));
    assert_eq!(octets.count() as u64, with_body);
});
