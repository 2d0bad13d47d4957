use std::io::{Cursor, Read, Write};

use super::*;

/// Returns three frames: an Ethernet frame of 60 bytes, a raw frame of 1 byte, and an empty frame
/// truncated from 1500 bytes.
fn frames() -> Vec<(i64, LinkType, Vec<u8>, u32)> {
    vec![
        (
            1_700_000_000_123_456_789,
            LinkType::ETHERNET,
            (0..60).collect(),
            60,
        ),
        (1_700_000_000_123_456_790, LinkType::ETHERNET, vec![7], 1),
        (1_700_000_001_000_000_000, LinkType::ETHERNET, vec![], 1500),
    ]
}

fn pcapng() -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = PcapngWriter::new(&mut bytes).unwrap();
    for (at, (time_ns, link, data, wire_len)) in frames().iter().enumerate() {
        let frame = Frame {
            number: at as u64 + 1,
            time_ns: *time_ns,
            link: *link,
            data,
            wire_len: *wire_len,
        };
        writer.frame(&frame, "").unwrap();
    }
    bytes
}

fn pcap() -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = PcapWriter::new(&mut bytes, LinkType::ETHERNET, 65_535).unwrap();
    for (time_ns, link, data, wire_len) in &frames() {
        let frame = Frame {
            number: 0,
            time_ns: *time_ns,
            link: *link,
            data,
            wire_len: *wire_len,
        };
        writer.frame(&frame).unwrap();
    }
    bytes
}

fn read(source: impl Read + 'static) -> Vec<(i64, LinkType, Vec<u8>, u32)> {
    let mut reader = Reader::new(source).unwrap();
    let mut all = Vec::new();
    while let Some(frame) = reader.next_frame().unwrap() {
        all.push((
            frame.time_ns,
            frame.link,
            frame.data.to_vec(),
            frame.wire_len,
        ));
    }
    all
}

/// A reader that returns one byte at a time, as a slow pipe may.
struct Trickle(Cursor<Vec<u8>>);

impl Read for Trickle {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let one = into.len().min(1);
        self.0.read(&mut into[..one])
    }
}

#[test]
fn what_is_written_is_read_again() {
    assert_eq!(read(Cursor::new(pcap())), frames());
    assert_eq!(read(Cursor::new(pcapng())), frames());
    assert_eq!(read(Trickle(Cursor::new(pcapng()))), frames());
}

#[cfg(all(feature = "gzip", feature = "zstd"))]
#[test]
fn compression_is_told_by_content() {
    for plain in [pcap(), pcapng()] {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&plain).unwrap();
        assert_eq!(read(Cursor::new(gzip.finish().unwrap())), frames());
        let level = ruzstd::encoding::CompressionLevel::Fastest;
        let mut zstd = ruzstd::encoding::compress_to_vec(plain.as_slice(), level);
        assert_eq!(read(Cursor::new(zstd.clone())), frames());
        // A second, empty frame behind the first, as concatenation leaves it.
        zstd.extend(ruzstd::encoding::compress_to_vec(&[][..], level));
        assert_eq!(read(Cursor::new(zstd)), frames());
    }
}

#[cfg(not(feature = "gzip"))]
#[test]
fn a_file_packed_by_gzip_is_refused_by_its_name() {
    let refused = Reader::new(Cursor::new([0x1f, 0x8b, 8, 0].as_slice())).err();
    let said = refused.unwrap().to_string();
    assert!(said.starts_with("is packed by gzip"), "{said}");
}

#[cfg(not(feature = "zstd"))]
#[test]
fn a_file_packed_by_zstd_is_refused_by_its_name() {
    let refused = Reader::new(Cursor::new([0x28, 0xb5, 0x2f, 0xfd].as_slice())).err();
    let said = refused.unwrap().to_string();
    assert!(said.starts_with("is packed by zstd"), "{said}");
}

#[cfg(feature = "zstd")]
/// A frame of zstd that packs nothing, with the given octets between its magic number and its only block.
fn unpacked_zstd(header: &[u8], content: &[u8]) -> Vec<u8> {
    let block = ((content.len() as u32) << 3) | 1;
    let magic: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
    [magic, header, &block.to_le_bytes()[..3], content].concat()
}

#[cfg(feature = "zstd")]
/// A few octets can ask for a window of terabytes, which would be kept in memory.
#[test]
fn a_window_of_zstd_is_bounded() {
    // 2^(10 + 17) octets are 128 MiB; an eighth more is too much (RFC 8878, section 3.1.1.1.2).
    let windows = |descriptor: u8| unpacked_zstd(&[0, descriptor], &pcap());
    assert_eq!(read(Cursor::new(windows(17 << 3))), frames());
    for (descriptor, mebioctets) in [((17 << 3) | 1, 144), (31 << 3, 2 << 20)] {
        let refused = Reader::new(Cursor::new(windows(descriptor))).err().unwrap();
        let said = format!(
            "cannot be read: it asks for a zstd window of {mebioctets} MiB (accepted: up to 128 MiB)"
        );
        assert_eq!(refused.to_string(), said);
    }
    // A single segment's window is its content: 4 octets say how much that is, or 2 that begin at 256.
    let length = pcap().len() as u32;
    let four = [&[0xa0][..], &length.to_le_bytes()].concat();
    assert_eq!(read(Cursor::new(unpacked_zstd(&four, &pcap()))), frames());
    let long = [pcap(), pcap()[24..].to_vec(), pcap()[24..].to_vec()].concat();
    let two = [&[0x60][..], &(long.len() as u16 - 256).to_le_bytes()].concat();
    assert_eq!(read(Cursor::new(unpacked_zstd(&two, &long))).len(), 9);
    let much = [&[0xa0][..], &u32::MAX.to_le_bytes()].concat();
    let refused = Reader::new(Cursor::new(unpacked_zstd(&much, &pcap())));
    assert!(refused.err().unwrap().to_string().contains("4095 MiB"));
}

#[test]
fn every_magic_of_classic_pcap_is_read() {
    let big = |words: [u32; 4]| words.map(u32::to_be_bytes).concat();
    let little = |words: [u32; 4]| words.map(u32::to_le_bytes).concat();
    let record = [1_700_000_000, 5, 2, 100];
    let header = |magic: [u8; 4], big_endian: bool| {
        let network = if big_endian {
            [0, 0, 0, 101]
        } else {
            [101, 0, 0, 0]
        };
        [&magic[..], &[0; 16], &network].concat()
    };
    let second = 1_700_000_000_000_000_000;
    for (magic, be, padding, time_ns) in [
        ([0xd4, 0xc3, 0xb2, 0xa1], false, 0, second + 5_000),
        ([0xa1, 0xb2, 0xc3, 0xd4], true, 0, second + 5_000),
        ([0x4d, 0x3c, 0xb2, 0xa1], false, 0, second + 5),
        ([0xa1, 0xb2, 0x3c, 0x4d], true, 0, second + 5),
        ([0x34, 0xcd, 0xb2, 0xa1], false, 8, second + 5_000),
        ([0xa1, 0xb2, 0xcd, 0x34], true, 8, second + 5_000),
    ] {
        let record = if be { big(record) } else { little(record) };
        let bytes = [header(magic, be), record, vec![0; padding], vec![9, 9]].concat();
        let expected = vec![(time_ns, LinkType::RAW, vec![9, 9], 100)];
        assert_eq!(read(Cursor::new(bytes)), expected, "{magic:x?}");
    }
}

#[test]
fn interfaces_have_their_own_link_and_clock() {
    let block = |kind: u32, body: &[u8]| {
        let len = body.len() as u32 + 12;
        [
            &kind.to_be_bytes(),
            &len.to_be_bytes(),
            body,
            &len.to_be_bytes(),
        ]
        .concat()
    };
    let section = block(
        0x0a0d_0d0a,
        &[&[0x1a, 0x2b, 0x3c, 0x4d, 0, 1, 0, 0][..], &[0xff; 8]].concat(),
    );
    // if_tsresol 2^-10; if_tsoffset 100 s.
    let slow = block(
        1,
        &[
            0, 113, 0, 0, 0, 0, 0, 96, 0, 9, 0, 1, 0x8a, 0, 0, 0, 0, 14, 0, 8, 0, 0, 0, 0, 0, 0, 0,
            100, 0, 0, 0, 0,
        ],
    );
    let plain = block(1, &[0, 101, 0, 0, 0, 0, 0, 0]);
    let packet = |interface: u8, ticks: u8| {
        block(
            6,
            &[
                0, 0, 0, interface, 0, 0, 0, 0, 0, 0, 0, ticks, 0, 0, 0, 1, 0, 0, 0, 1, 0xaa, 0, 0,
                0,
            ],
        )
    };
    let statistics = block(5, &[0; 12]);
    let bytes = [section, slow, plain, packet(1, 3), statistics, packet(0, 2)].concat();
    let expected = vec![
        (3_000, LinkType::RAW, vec![0xaa], 1),
        (100_001_953_125, LinkType::LINUX_SLL, vec![0xaa], 1),
    ];
    assert_eq!(read(Cursor::new(bytes)), expected);
}

#[test]
fn damage_is_named_and_what_came_before_is_kept() {
    for whole in [pcap(), pcapng()] {
        for cut in 5..whole.len() {
            let mut reader = match Reader::new(Cursor::new(whole[..cut].to_vec())) {
                Ok(reader) => reader,
                Err(error) => {
                    assert!(matches!(error, CaptureError::CutOff { at: 0 }), "{error}");
                    continue;
                }
            };
            while let Ok(Some(_)) = reader.next_frame() {}
            assert!(reader.frames() < 3);
        }
    }
    let refused = |bytes: &[u8]| Reader::new(Cursor::new(bytes.to_vec())).err().unwrap();
    assert!(matches!(refused(b""), CaptureError::Empty));
    assert_eq!(
        refused(b"x").to_string(),
        "is not a capture: it has 1 byte and ends (accepted: pcap, pcapng, either of them in gzip or zstd)"
    );
    assert!(matches!(
        refused(b"GIF89a.."),
        CaptureError::NotACapture { .. }
    ));
    // A length field alone must not make us allocate.
    let mut greedy = pcap();
    greedy[24 + 8..24 + 12].fill(0xff);
    let mut reader = Reader::new(Cursor::new(greedy)).unwrap();
    assert!(matches!(
        reader.next_frame(),
        Err(CaptureError::Damaged { at: 24, .. })
    ));
}

#[cfg(all(feature = "gzip", feature = "zstd"))]
#[test]
fn what_is_packed_is_cut_off_wherever_it_is_cut() {
    use std::io::Write;
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&pcap()).unwrap();
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    let zstd = ruzstd::encoding::compress_to_vec(pcap().as_slice(), level);
    for (whole, name) in [(gzip.finish().unwrap(), "gzip"), (zstd, "zstd")] {
        for cut in 5..whole.len() {
            let read_all = || -> Result<(), CaptureError> {
                let mut reader = Reader::new(Cursor::new(whole[..cut].to_vec()))?;
                while reader.next_frame()?.is_some() {}
                Ok(())
            };
            let error = read_all().expect_err("there is more");
            assert!(error.is_cut_off(), "{cut}: {error}");
            let said = error.to_string();
            assert!(
                said.contains(&format!("its {name} data breaks off")),
                "{cut}: {said}"
            );
        }
    }
}

#[test]
fn comments_reach_the_frames_and_all_else_stays() {
    for source in [pcap(), pcapng()] {
        let mut once = Vec::new();
        let comment = |n| (n == 2).then(|| "held".to_owned());
        annotate(Cursor::new(source), &mut once, comment).unwrap();
        assert_eq!(read(Cursor::new(once.clone())), frames());
        assert_eq!(comments(&once), ["", "held", ""]);
        // A second comment joins the first.
        let mut twice = Vec::new();
        annotate(Cursor::new(once), &mut twice, |n| {
            (n > 1).then(|| "late".to_owned())
        })
        .unwrap();
        assert_eq!(comments(&twice), ["", "late|held", "late"]);
    }
}

/// Returns the comments of each packet, as an independent reader sees them.
fn comments(bytes: &[u8]) -> Vec<String> {
    use pcap_parser::traits::PcapReaderIterator;
    use pcap_parser::{Block, OptionCode, PcapBlockOwned, PcapError, PcapNGReader};
    let mut reader = PcapNGReader::new(65_536, bytes).unwrap();
    let mut all = Vec::new();
    loop {
        match reader.next() {
            Ok((len, block)) => {
                if let PcapBlockOwned::NG(Block::EnhancedPacket(packet)) = block {
                    let texts: Vec<_> = packet
                        .options
                        .iter()
                        .filter(|o| o.code == OptionCode::Comment)
                        .map(|o| {
                            String::from_utf8_lossy(&o.value[..usize::from(o.len)]).into_owned()
                        })
                        .collect();
                    all.push(texts.join("|"));
                }
                reader.consume(len);
            }
            Err(PcapError::Incomplete(_)) => reader.refill().unwrap(),
            Err(PcapError::Eof) => return all,
            Err(error) => panic!("{error:?}"),
        }
    }
}
