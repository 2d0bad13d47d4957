//! Any bytes as a packet that came in: it is refused, or what it says can be written again and
//! read back the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tinygram_engine::Offset;
use tinygram_wire::checksum::Sum;
use tinygram_wire::encode::{Checksum, Path};
use tinygram_wire::packet::{Near, Verify, read};
use tinygram_wire::sequence::{Numbering, Sequence};

fuzz_target!(|bytes: &[u8]| {
    let mut bytes = bytes.to_vec();
    // No fuzzer guesses the checksum without which nothing else is looked at.
    if bytes.len() >= 20 && bytes[0] >> 4 == 4 {
        let len = (usize::from(bytes[0] & 0x0f) * 4).min(bytes.len());
        bytes[10..12].fill(0);
        let sum = Sum::default().with(&bytes[..len]).checksum();
        bytes[10..12].copy_from_slice(&sum);
    }
    let Ok(packet) = read(&bytes, Verify::Nothing) else {
        return;
    };
    let path = Path::new(packet.source, packet.destination).expect("one family");
    let mut again = vec![0; path.headers_len(&packet.header.options)];
    again.extend_from_slice(packet.payload);
    // What an IP header can say, it says of our shorter headers, too.
    path.write_headers(&packet.header, Checksum::Full, &mut again);
    let back = read(&again, Verify::Checksum).expect("what we wrote");
    assert_eq!(
        (back.source, back.destination),
        (packet.source, packet.destination)
    );
    assert_eq!(back.payload, packet.payload);
    let mut header = packet.header;
    // Beside all others fewer SACK blocks fit than alone.
    if back.header.options.sack.len() < header.options.sack.len() {
        header.options.sack = back.header.options.sack;
    }
    assert_eq!(back.header, header);

    let numbering = Numbering {
        data: Sequence::new(bytes[4].into()),
        acks: Sequence::new(bytes[5].into()),
        window_shift: 14,
    };
    let near = Near {
        seq: Offset::new(header.seq.into()),
        ack: Offset::new(header.ack.into()),
    };
    let segment = numbering.segment(&header, packet.payload.len(), near);
    assert_eq!(numbering.header(&segment).seq, header.seq);
    assert_eq!(numbering.header(&segment).ack, header.ack);
});
