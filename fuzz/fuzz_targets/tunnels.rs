//! Any bytes as a frame of any link type, also behind the headers of tunnels: a segment comes out or
//! a reason, and no segment carries more than its frame held.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tinygram_wire::capture::{Frame, LinkType};
use tinygram_wire::decode;

fuzz_target!(|bytes: &[u8]| {
    let [link, tunnel, longer, rest @ ..] = bytes else {
        return;
    };
    let mut data = match tunnel % 8 {
        0 => outer(
            17,
            &[0x40, 0, 0x12, 0xb5, 0, 99, 0, 0, 8, 0, 0, 0, 0, 0, 5, 0],
        ),
        1 => outer(17, &[0x40, 0, 0x17, 0xc1, 0, 99, 0, 0]),
        2 => outer(17, &[0x40, 0, 0x08, 0x68, 0, 99, 0, 0]),
        3 => outer(47, &[]),
        4 => outer(4, &[]),
        5 => outer(137, &[]),
        6 => outer(51, &[]),
        _ => Vec::new(),
    };
    data.extend_from_slice(rest);
    let kinds = [1_u16, 101, 113, 276, 0, 108, 9, 50, 51, 104];
    let link = match data.len() == rest.len() {
        true => LinkType(kinds[usize::from(*link) % kinds.len()]),
        false => LinkType::RAW,
    };
    let wire_len = data.len() as u32 + u32::from(*longer);
    let frame = Frame {
        number: 1,
        time_ns: 0,
        link,
        data: &data,
        wire_len,
    };
    if let Ok((segment, around)) = decode::look(&frame) {
        assert!(segment.payload <= 0x1_0000 + wire_len);
        assert!(around.head.len() <= data.len());
    }
});

/// The header of an IPv4 packet with this protocol, and what follows it.
fn outer(protocol: u8, behind: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x45, 0, 5, 0xdc, 0, 0, 0, 0, 64, protocol, 0, 0];
    bytes.extend([10, 0, 0, 1, 10, 0, 0, 2]);
    bytes.extend(behind);
    bytes
}
