//! Any conversation between few hosts: the analysis ends, costs are sane, memory stays bounded.
//!
//! Each record of eight bytes becomes a segment whose numbers lie close to what the connection
//! expects, so that holds, retransmissions, wrapped and reused numbers all occur.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tinygram_diagnose::{Analyzer, Parameters};
use tinygram_wire::capture::{Frame, LinkType};

fuzz_target!(|bytes: &[u8]| {
    let mut analyzer = Analyzer::new(Parameters {
        connection_limit: 4,
        finding_limit: 64,
        ..Parameters::default()
    });
    let mut time_ns = 0_i64;
    let mut next = [[1_000_u32; 2]; 8];
    for (number, record) in bytes.chunks_exact(8).enumerate() {
        let pair = usize::from(record[0] >> 1 & 7);
        let from = usize::from(record[0] & 1);
        // Mostly forward, by up to 0.5 s, and back now and then.
        let step = i64::from(u16::from_be_bytes([record[1], record[2]])) * 8_000;
        time_ns += if record[0] & 0x80 != 0 { -step } else { step };
        let payload = u32::from(record[3]) * if record[4] & 1 != 0 { 12 } else { 1 };
        let jump = i32::from(record[5] as i8 / 32) * 100;
        let seq = next[pair][from].wrapping_add(jump as u32);
        let ack = next[pair][1 - from].wrapping_sub(u32::from(record[6] & 3) * 40);
        let packet = packet(pair as u8, from, seq, ack, record[7] & 0x3f, payload);
        if record[5] < 32 {
            next[pair][from] = next[pair][from].wrapping_add(payload);
        }
        analyzer.frame(&Frame {
            number: number as u64 + 1,
            time_ns,
            link: LinkType::RAW,
            data: &packet,
            wire_len: packet.len() as u32 + payload,
        });
    }
    let report = analyzer.finish();
    assert!(report.findings.len() <= 64);
    for finding in &report.findings {
        assert!(finding.cost_ns >= 0);
        assert!(!finding.advice().steps.is_empty());
        let _ = (finding.evidence(), finding.habit());
    }
});

fn packet(pair: u8, from: usize, seq: u32, ack: u32, flags: u8, payload: u32) -> [u8; 40] {
    let mut p = [0; 40];
    p[0] = 0x45;
    p[2..4].copy_from_slice(&(40 + payload as u16).to_be_bytes());
    p[9] = 6;
    let hosts = [[10, 0, 0, pair], [10, 0, 1, pair]];
    p[12..16].copy_from_slice(&hosts[from]);
    p[16..20].copy_from_slice(&hosts[1 - from]);
    let ports = [[0x80, pair], [0, 80]];
    p[20..22].copy_from_slice(&ports[from]);
    p[22..24].copy_from_slice(&ports[1 - from]);
    p[24..28].copy_from_slice(&seq.to_be_bytes());
    p[28..32].copy_from_slice(&ack.to_be_bytes());
    p[32] = 0x50;
    p[33] = flags;
    p[34..36].copy_from_slice(&4096_u16.to_be_bytes());
    p
}
