//! What the BPF program writes, and what it is told: the structures of `bpf/follow.h`.

use aya::Pod;

use crate::hand::Raw;

pub(super) const MOST_SETTINGS: usize = 4;
pub(super) const MOST_PEERS: usize = 8;

/// `struct rule`.
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct RuleRecord {
    pub(super) netns: u32,
    pub(super) port: u16,
    pub(super) kind: u16,
    pub(super) id: u64,
}

/// `struct setting`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct SettingRecord {
    pub(super) to: Raw,
    pub(super) option: u32,
    pub(super) argument: u32,
}

/// `struct peer`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct PeerRecord {
    pub(super) address: [u8; 16],
    pub(super) mask: [u8; 16],
    pub(super) port: u16,
    pub(super) unused: [u16; 3],
}

/// `struct order_to_follow`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct Order {
    pub(super) settings: [SettingRecord; MOST_SETTINGS],
    pub(super) peers: [PeerRecord; MOST_PEERS],
    pub(super) setting_count: u32,
    pub(super) peer_count: u32,
}

/// `struct follow_record`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct EventRecord {
    pub(super) cookie: u64,
    pub(super) netns: u32,
    pub(super) event: u32,
    pub(super) values: [Raw; MOST_SETTINGS],
    pub(super) results: [u32; MOST_SETTINGS],
    pub(super) errors: [i32; MOST_SETTINGS],
    pub(super) local_port: u16,
    pub(super) remote_port: u16,
    pub(super) by_process: u32,
    pub(super) program: [u8; 16],
    pub(super) at_ns: u64,
}

/// `enum follow_event`, but for `FOLLOW_DONE`.
pub(super) const OPENED: u32 = 1;
pub(super) const CLOSED: u32 = 3;
pub(super) const LISTENS: u32 = 4;

impl EventRecord {
    /// Returns the name of the program that connected or listens; empty if none is known.
    pub(super) fn program(&self) -> &str {
        let name = self.program.split(|octet| *octet == 0).next();
        name.map_or("", |name| std::str::from_utf8(name).unwrap_or(""))
    }
}

// SAFETY: each is `repr(C)`, has no padding, and any octets are a valid value of it.
unsafe impl Pod for RuleRecord {}
// SAFETY: as above.
unsafe impl Pod for Order {}
// SAFETY: as above.
unsafe impl Pod for EventRecord {}

#[cfg(test)]
mod tests {
    use super::super::OBJECT;
    use super::super::rules::Rule;
    use super::*;
    use crate::contract::{Contract, layout};

    fn contract() -> Contract {
        let headers = [
            include_str!("../../bpf/hand.h"),
            include_str!("../../bpf/follow.h"),
        ];
        Contract::new(&headers, OBJECT)
    }

    #[test]
    fn records_have_the_fields_of_c_at_the_same_offsets() {
        let c = contract();
        c.has("rule", &layout!(RuleRecord, netns, port, kind, id));
        c.has("setting", &layout!(SettingRecord, to, option, argument));
        c.has("peer", &layout!(PeerRecord, address, mask, port, unused));
        let order = layout!(Order, settings, peers, setting_count, peer_count);
        c.has("order_to_follow", &order);
        let event = layout!(
            EventRecord,
            cookie,
            netns,
            event,
            values,
            results,
            errors,
            local_port,
            remote_port,
            by_process,
            program,
            at_ns
        );
        c.has("follow_record", &event);
        let compiled = ["rule", "setting", "peer", "order_to_follow"];
        assert!(compiled.iter().all(|name| c.is_compiled(name)));
    }

    #[test]
    fn events_rules_and_bounds_have_the_numbers_of_c() {
        let c = contract();
        let events = ["FOLLOW_OPENED", "FOLLOW_CLOSED", "FOLLOW_LISTENS"];
        let ours = [OPENED, CLOSED, LISTENS].map(|it| it as usize);
        assert_eq!(events.map(|it| c.number(it)), ours);
        // The fourth is that it was done.
        assert_eq!(c.names("FOLLOW_").len(), 4);
        let rules = [
            ("RULE_LOCAL_PORT", Rule::LocalPort(0, 0)),
            ("RULE_REMOTE_PORT", Rule::RemotePort(0, 0)),
            ("RULE_PROCESS", Rule::Process(0)),
            ("RULE_NAMESPACE", Rule::Namespace(0)),
            ("RULE_GROUP", Rule::Group(0)),
        ];
        for (name, rule) in rules {
            assert_eq!(c.number(name), usize::from(rule.record().kind), "{name}");
        }
        assert_eq!(c.names("RULE_").len(), rules.len());
        assert_eq!(c.number("MOST_SETTINGS"), MOST_SETTINGS);
        assert_eq!(c.number("MOST_PEERS"), MOST_PEERS);
    }
}
