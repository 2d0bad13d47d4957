//! The same report for any number of threads.

use std::io::{Cursor, Error, Read};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};

use tinygram_diagnose::{Analyzer, Parameters, Report};
use tinygram_wire::capture::{CaptureError, Frame, LinkType, PcapWriter, Reader};

const THREADS: [usize; 4] = [1, 2, 3, 8];

fn diagnosed(
    capture: &[u8],
    parameters: &Parameters,
    threads: usize,
) -> (Report, Result<(), CaptureError>) {
    let mut analyzer = Analyzer::new(parameters.clone());
    let ended = analyzer.read(Cursor::new(capture.to_vec()), threads);
    (analyzer.finish(), ended)
}

/// A frame as it is kept until it is written.
struct Kept {
    time_ns: i64,
    data: Vec<u8>,
    wire_len: u32,
}

fn written(frames: &[Kept], link: LinkType) -> Vec<u8> {
    let mut file = Vec::new();
    let mut writer = PcapWriter::new(&mut file, link, 65_535).expect("memory takes all");
    for (at, frame) in frames.iter().enumerate() {
        let frame = Frame {
            number: at as u64 + 1,
            time_ns: frame.time_ns,
            link,
            data: &frame.data,
            wire_len: frame.wire_len,
        };
        writer.frame(&frame).expect("memory takes all");
    }
    file
}

/// Returns all Ethernet captures of the corpus as if they had been one, several times over: each copy has
/// hosts of its own, and all begin at about the same time.
fn corpus_at_once(copies: u8) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the corpus is kept")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|it| it == "pcap"))
        .collect();
    paths.sort();
    let mut frames = Vec::new();
    for (at, path) in paths.iter().enumerate() {
        for copy in 0..copies {
            frames.extend(shifted(path, at as u8, copy));
        }
    }
    frames.sort_by_key(|frame| frame.time_ns);
    written(&frames, LinkType::ETHERNET)
}

/// Returns the frames of a capture with IPv4 over Ethernet; the hosts get these numbers.
fn shifted(path: &Path, capture: u8, copy: u8) -> Vec<Kept> {
    let file = std::fs::File::open(path).expect("a file of the corpus");
    let mut reader = Reader::new(file).expect("a capture");
    let mut frames: Vec<Kept> = Vec::new();
    let mut first_ns = None;
    while let Some(frame) = reader.next_frame().expect("whole") {
        if frame.link != LinkType::ETHERNET || frame.data[12..14] != [8, 0] {
            continue;
        }
        let first_ns = *first_ns.get_or_insert(frame.time_ns);
        let mut data = frame.data.to_vec();
        // The second and third octets of both addresses.
        for at in [27, 31] {
            (data[at], data[at + 1]) = (copy, capture);
        }
        frames.push(Kept {
            time_ns: frame.time_ns - first_ns + i64::from(copy) * 7_000_001,
            data,
            wire_len: frame.wire_len,
        });
    }
    frames
}

#[test]
fn a_capture_of_all_stalls_at_once_reads_the_same_on_any_number_of_threads() {
    let capture = corpus_at_once(10);
    // All, some of which may be dropped or left out of the list, and few.
    let default = Parameters::default();
    let few = Parameters {
        finding_limit: 50,
        listed_limit: 20,
        ..Parameters::default()
    };
    let crowded = Parameters {
        connection_limit: 300,
        ..Parameters::default()
    };
    for parameters in [default, few, crowded] {
        let (alone, _) = diagnosed(&capture, &parameters, 1);
        let (stalls, connections) = (alone.summary.stalls, alone.summary.connections);
        assert!(
            stalls > 300 && connections > 500,
            "{stalls} of {connections}"
        );
        for threads in THREADS {
            for _ in 0..2 {
                let (report, ended) = diagnosed(&capture, &parameters, threads);
                assert!(ended.is_ok());
                assert_eq!(
                    format!("{report:?}"),
                    format!("{alone:?}"),
                    "{threads} threads"
                );
            }
        }
    }
}

#[test]
fn what_comes_before_damage_is_the_same_and_so_is_the_damage() {
    let mut capture = corpus_at_once(2);
    capture.truncate(capture.len() * 2 / 3 + 1);
    let (alone, first) = diagnosed(&capture, &Parameters::default(), 1);
    assert!(matches!(first, Err(CaptureError::CutOff { .. })));
    for threads in THREADS {
        let (report, ended) = diagnosed(&capture, &Parameters::default(), threads);
        assert_eq!(format!("{ended:?}"), format!("{first:?}"));
        assert_eq!(format!("{report:?}"), format!("{alone:?}"));
    }
    let (none, ended) = diagnosed(b"", &Parameters::default(), 2);
    assert!(matches!(ended, Err(CaptureError::Empty)) && none.summary.frames == 0);
}

/// Of `count` clients each sends a SYN and no more.
fn syns(count: u32) -> Vec<u8> {
    let syn = |at: u32| {
        let mut data = vec![0; 40];
        (data[0], data[3], data[8], data[9]) = (0x45, 40, 64, 6);
        data[12..16].copy_from_slice(&(0x0a00_0000 | at >> 8).to_be_bytes());
        data[16..20].copy_from_slice(&[192, 0, 2, 1]);
        data[20..22].copy_from_slice(&(1024 + (at & 0xff) as u16).to_be_bytes());
        data[23] = 80;
        (data[32], data[33]) = (0x50, 2);
        Kept {
            time_ns: i64::from(at) * 1_003,
            data,
            wire_len: 40,
        }
    };
    let frames: Vec<_> = (0..count).map(syn).collect();
    written(&frames, LinkType::RAW)
}

#[test]
fn connections_of_one_packet_are_let_go_in_one_order() {
    let capture = syns(100_000);
    let parameters = Parameters {
        connection_limit: 32_768,
        ..Parameters::default()
    };
    let (alone, _) = diagnosed(&capture, &parameters, 1);
    assert_eq!(alone.summary.connections, 100_000);
    assert_eq!(alone.summary.unlisted_connections, 90_000);
    for threads in THREADS {
        let (report, _) = diagnosed(&capture, &parameters, threads);
        assert_eq!(format!("{report:?}"), format!("{alone:?}"));
    }
}

/// A source that panics where the capture ends.
struct Bad(Cursor<Vec<u8>>);

impl Read for Bad {
    fn read(&mut self, into: &mut [u8]) -> Result<usize, Error> {
        match self.0.read(into)? {
            0 => resume_unwind(Box::new("called off")),
            count => Ok(count),
        }
    }
}

#[test]
fn a_panic_of_the_source_ends_all_threads_and_arrives() {
    for threads in THREADS {
        let source = Bad(Cursor::new(syns(20_000)));
        let mut analyzer = Analyzer::new(Parameters::default());
        let outcome = catch_unwind(AssertUnwindSafe(|| analyzer.read(source, threads)));
        let payload = outcome.expect_err("panicked");
        assert_eq!(*payload.downcast::<&str>().expect("its own"), "called off");
    }
}
