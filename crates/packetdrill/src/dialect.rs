//! Equivalent encodings in FreeBSD's suite: packetdrill compares the options of a SYN octet by
//! octet, and FreeBSD writes them in another order than Linux, whose order this stack uses.

use tinygram_wire::checksum::Sum;

/// Puts the options of a SYN in FreeBSD's order (`tcp_addoptions`): MSS, window scale, SACK
/// permitted, timestamps, each aligned to its end. Their values stay as they are.
pub(crate) fn order_options(packet: &mut [u8]) {
    let (ip, addresses) = match packet.first().map(|first| first >> 4) {
        Some(4) => (usize::from(packet[0] & 0x0f) * 4, 12..20),
        Some(6) => (40, 8..40),
        _ => return,
    };
    let Some(tcp) = packet.get(ip..).filter(|tcp| tcp.len() >= 20) else {
        return;
    };
    let header = usize::from(tcp[12] >> 4) * 4;
    let syn = tcp[13] & 0x02 != 0;
    if packet.get(if addresses.len() == 8 { 9 } else { 6 }) != Some(&6)
        || !syn
        || header > tcp.len()
    {
        return;
    }
    let options = ordered(&tcp[20..header]);
    if options.len() != header - 20 {
        return;
    }
    let sum = Sum::default().with(&packet[addresses]).with_u16(6);
    let tcp = &mut packet[ip..];
    tcp[20..header].copy_from_slice(&options);
    tcp[16..18].fill(0);
    let sum = sum.with_u16(tcp.len() as u16).with(tcp).checksum();
    tcp[16..18].copy_from_slice(&sum);
}

fn ordered(options: &[u8]) -> Vec<u8> {
    const NOP: u8 = 1;
    let find = |wanted: u8| {
        let mut at = 0;
        while let Some(&kind) = options.get(at) {
            let len = match kind {
                0 => return None,
                NOP => 1,
                _ => usize::from(*options.get(at + 1)?),
            };
            if kind == wanted {
                return options.get(at..at + len);
            }
            at += len.max(1);
        }
        None
    };
    let mut out = Vec::new();
    // The kind, and its offset within a word.
    for (kind, place) in [(2, 0), (3, 1), (4, 0), (8, 2)] {
        let Some(option) = find(kind) else {
            continue;
        };
        // FreeBSD pads before an option until it is aligned.
        while place != 0 && out.len() % 4 != place {
            out.push(NOP);
        }
        out.extend_from_slice(option);
    }
    // End of options, repeated until the word is full.
    while out.len() % 4 != 0 {
        out.push(0);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linuxs_order_becomes_freebsds() {
        let linux = [
            2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 6,
        ];
        let freebsd = [
            2, 4, 5, 0xb4, 1, 3, 3, 6, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0,
        ];
        assert_eq!(ordered(&linux), freebsd);
        assert_eq!(
            ordered(&[2, 4, 5, 0xb4, 1, 1, 4, 2]),
            [2, 4, 5, 0xb4, 4, 2, 0, 0]
        );
    }
}
