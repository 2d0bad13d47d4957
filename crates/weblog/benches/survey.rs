//! Measures how fast logs are read: `cargo bench -p tinygram-weblog`. The lines are in the Combined
//! Log Format, two hundred octets each, with as many distinct sizes as a large site has.

use std::hint::black_box;
use std::io::Write;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use flate2::Compression;
use flate2::write::GzEncoder;
use tinygram_weblog::Survey;
use tinygram_weblog::line::parse;

const LINES: u64 = 100_000;

fn combined_log() -> String {
    let mut log = String::new();
    for number in 0..LINES {
        // A multiplicative generator: it gives sizes of all magnitudes, in no order.
        let random = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let size = random % (100 << (random % 16));
        log += &format!(
            "198.51.100.{} - - [17/May/2015:{:02}:{:02}:{:02} +0000] \"GET \
             /presentations/images/{random}.png HTTP/1.1\" 200 {size} \
             \"http://www.example.com/presentations/\" \"Mozilla/5.0 (Macintosh; Intel Mac OS X \
             10_9_1) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/32.0.1700.77 Safari/537.36\"\n",
            random % 256,
            number / 3600 % 24,
            number / 60 % 60,
            number % 60,
        );
    }
    log
}

fn survey(criterion: &mut Criterion) {
    let log = combined_log();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder
        .write_all(log.as_bytes())
        .expect("memory is writable");
    let packed = encoder.finish().expect("memory is writable");

    let mut group = criterion.benchmark_group("log");
    group.throughput(Throughput::BytesDecimal(log.len() as u64));
    group.bench_function("parse", |bencher| {
        bencher.iter(|| {
            for line in black_box(&log).as_bytes().split(|octet| *octet == b'\n') {
                let _ = black_box(parse(line));
            }
        });
    });
    group.bench_function("survey, plain", |bencher| {
        bencher.iter(|| Survey::read(black_box(log.as_bytes())));
    });
    group.bench_function("survey, gzip (octets unpacked)", |bencher| {
        bencher.iter(|| Survey::read(black_box(&packed[..])));
    });
    group.finish();
}

criterion_group!(benches, survey);
criterion_main!(benches);
