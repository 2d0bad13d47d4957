//! What the BPF program writes, and what it is told: the structures of `bpf/hand.h`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use aya::Pod;

use super::setting::Raw;

/// `struct socket_record`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct SocketRecord {
    pub(super) cookie: u64,
    pub(super) inode: u64,
    pub(super) cgroup: u64,
    pub(super) netns: u32,
    pub(super) delack_max: u32,
    pub(super) notsent_lowat: u32,
    pub(super) data_segs_out: u32,
    pub(super) local_port: u16,
    pub(super) remote_port: u16,
    pub(super) local: [u8; 16],
    pub(super) remote: [u8; 16],
    pub(super) congestion: [u8; 16],
    pub(super) state: u8,
    pub(super) nonagle: u8,
    pub(super) is_v6: u8,
    pub(super) is_corked_by_program: u8,
    pub(super) data_segs_in: u32,
    pub(super) unused: [u8; 4],
}

impl SocketRecord {
    pub(super) fn local(&self) -> SocketAddr {
        SocketAddr::new(self.address(&self.local), self.local_port)
    }

    pub(super) fn remote(&self) -> SocketAddr {
        SocketAddr::new(self.address(&self.remote), self.remote_port)
    }

    fn address(&self, octets: &[u8; 16]) -> IpAddr {
        match self.is_v6 {
            0 => Ipv4Addr::new(octets[0], octets[1], octets[2], octets[3]).into(),
            _ => IpAddr::from(Ipv6Addr::from(*octets)).to_canonical(),
        }
    }
}

/// `struct change`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct ChangeRecord {
    pub(super) cookie: u64,
    pub(super) to: Raw,
    pub(super) expected: Raw,
    pub(super) argument: u32,
    pub(super) only_if: u8,
    pub(super) gives_way: u8,
    pub(super) is_done: u8,
    pub(super) unused: u8,
    pub(super) since_ns: u64,
}

/// `struct change_record`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct OutcomeRecord {
    pub(super) cookie: u64,
    pub(super) before: Raw,
    pub(super) after: Raw,
    pub(super) error: i32,
    pub(super) result: u32,
}

/// `struct order`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct Order {
    /// The option's number; 0 reports sockets.
    pub(super) option: u32,
    /// How many changes there are.
    pub(super) changes: u32,
    /// Those alone are reported that sent or received data in as many ticks; 0: all.
    pub(super) within: u32,
}

/// `MOST_CHANGES`.
pub(super) const MOST_CHANGES: usize = 1 << 16;

// SAFETY: each is `repr(C)`, has no padding, and any octets are a valid value of it.
unsafe impl Pod for SocketRecord {}
// SAFETY: as above.
unsafe impl Pod for ChangeRecord {}
// SAFETY: as above.
unsafe impl Pod for OutcomeRecord {}
// SAFETY: as above.
unsafe impl Pod for Order {}

/// `RESULT_DIFFERS`, `RESULT_REFUSED` and `RESULT_GAVE_WAY` of `enum result`.
pub(super) const DIFFERS: u32 = 1;
pub(super) const REFUSED: u32 = 2;
pub(super) const GAVE_WAY: u32 = 3;

#[cfg(test)]
mod tests {
    use super::super::setting::NAME_LENGTH;
    use super::super::{NAGLE_CORK, NAGLE_OFF, OBJECT, SocketOption};
    use super::*;
    use crate::contract::{Contract, Layout, layout};

    fn contract() -> Contract {
        let headers = [
            include_str!("../../bpf/kernel.h"),
            include_str!("../../bpf/hand.h"),
        ];
        Contract::new(&headers, OBJECT)
    }

    #[test]
    fn records_have_the_fields_of_c_at_the_same_offsets() {
        let c = contract();
        let socket = layout!(
            SocketRecord,
            cookie,
            inode,
            cgroup,
            netns,
            delack_max,
            notsent_lowat,
            data_segs_out,
            local_port,
            remote_port,
            local,
            remote,
            congestion,
            state,
            nonagle,
            is_v6,
            is_corked_by_program,
            data_segs_in,
            unused
        );
        c.has("socket_record", &socket);
        let change = layout!(
            ChangeRecord,
            cookie,
            to,
            expected,
            argument,
            only_if,
            gives_way,
            is_done,
            unused,
            since_ns
        );
        c.has("change", &change);
        c.has(
            "change_record",
            &layout!(OutcomeRecord, cookie, before, after, error, result),
        );
        c.has("order", &layout!(Order, option, changes, within));
        assert!(c.is_compiled("change") && c.is_compiled("order"));
    }

    #[test]
    fn options_results_and_bounds_have_the_numbers_of_c() {
        let c = contract();
        for (name, option) in [
            ("OPTION_NODELAY", SocketOption::Nodelay),
            ("OPTION_CORK", SocketOption::Cork),
            ("OPTION_CONGESTION", SocketOption::Congestion),
            ("OPTION_NOTSENT_LOWAT", SocketOption::NotsentLowat),
            ("OPTION_DELACK_MAX", SocketOption::DelackMax),
        ] {
            assert_eq!(option.number() as usize, c.number(name), "{name}");
        }
        assert_eq!(c.names("OPTION_").len(), SocketOption::ALL.len());
        let results = ["RESULT_DIFFERS", "RESULT_REFUSED", "RESULT_GAVE_WAY"];
        let ours = [DIFFERS, REFUSED, GAVE_WAY].map(|it| it as usize);
        assert_eq!(results.map(|it| c.number(it)), ours);
        // The fourth is that it was changed.
        assert_eq!(c.names("RESULT_").len(), 4);
        assert_eq!(c.number("MOST_CHANGES"), MOST_CHANGES);
        assert_eq!(c.number("NAME_LENGTH"), NAME_LENGTH);
        assert_eq!(c.number("NAGLE_OFF"), usize::from(NAGLE_OFF));
        assert_eq!(c.number("NAGLE_CORK"), usize::from(NAGLE_CORK));
    }

    /// The tests above would be worthless if they saw no difference.
    #[test]
    fn another_name_another_offset_and_another_number_are_seen() {
        let header = include_str!("../../bpf/hand.h");
        let ours = layout!(Order, option, changes, within);
        for (what, was, is) in [
            ("a name", "u32 within;", "u32 inside;"),
            ("an offset", "u32 changes;", "u64 changes;"),
            ("a size", "u32 within;", "u16 within;"),
            ("a field more", "u32 within;", "u32 within;\n\tu32 more;"),
        ] {
            let changed = header.replace(was, is);
            assert_ne!(changed, header);
            let differences = Contract::new(&[&changed], OBJECT).differences("order", &ours);
            assert_eq!(differences.len(), 1, "{what}: {differences:?}");
        }
        // An object that was compiled from another header.
        let wrong = Layout {
            size: 16,
            ..layout!(Order, option, changes, within)
        };
        assert_eq!(contract().differences("order", &wrong).len(), 2);
        let renumbered = header.replace("RESULT_REFUSED = 2", "RESULT_REFUSED = 7");
        assert_eq!(
            Contract::new(&[&renumbered], OBJECT).number("RESULT_REFUSED"),
            7
        );
    }
}
