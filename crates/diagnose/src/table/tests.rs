//! Bounded memory, and a hash that spreads the ends found in captures.

use std::collections::HashSet;
use std::net::{Ipv6Addr, SocketAddr};

use super::*;

fn ends(client: impl Into<SocketAddr>, server: impl Into<SocketAddr>) -> Ends {
    let mut ends = [client.into().into(), server.into().into()];
    ends.sort();
    Ends { ends }
}

fn of_port(port: u16) -> Ends {
    ends(([10, 0, 0, 1], port), ([10, 0, 0, 2], 80))
}

/// Inserts connections with these ports; returns the numbers of those removed.
fn after(table: &mut Table, ports: impl IntoIterator<Item = u16>) -> Vec<u32> {
    let mut gone = Vec::new();
    for port in ports {
        let slot = table.slot(&of_port(port), Mark::default(), |old| {
            gone.push(old.flow.id);
        });
        table.get(slot).flow.recent = true;
    }
    gone
}

#[test]
fn beyond_the_limit_the_longest_silent_goes() {
    let mut table = Table::new(3, 7);
    assert_eq!(after(&mut table, [1, 2, 3, 2, 1, 3]), []);
    assert_eq!(table.connections(), 3);
    // All were used lately: the hand clears the mark of each, then removes the first one it meets.
    let gone = after(&mut table, [4]);
    assert_eq!(gone.len(), 1);
    assert_eq!(table.index.len(), 3);
    let stayed: Vec<u32> = [7, 8, 9]
        .into_iter()
        .filter(|id| !gone.contains(id))
        .collect();
    // One of the two is used again, so the other is removed.
    let heard = stayed[0] - 6;
    after(&mut table, [heard as u16]);
    assert_eq!(after(&mut table, [5]), [stayed[1]]);
    assert_eq!(table.connections(), 5);
    let mut left: Vec<u32> = table.drain().map(|connection| connection.flow.id).collect();
    left.sort();
    assert_eq!(left, [stayed[0], 10, 11]);
}

#[test]
fn a_thousand_and_more_that_ended_are_kept_for_their_stragglers() {
    let mut table = Table::new(5000, 0);
    let mut gone = Vec::new();
    for port in 1..=1030 {
        let slot = table.slot(&of_port(port), Mark::default(), |_| {});
        table.get(slot).flow.closed = true;
        gone.extend(table.close(slot).map(|connection| connection.flow.id));
    }
    assert_eq!(gone, [0, 1, 2, 3, 4, 5]);
    assert!(table.find(5).is_none() && table.find(6).is_some());
    // A new connection on the ports of an ended one stays.
    let slot = table.slot(&of_port(7), Mark::default(), |_| {});
    assert_eq!(table.replace(slot, Mark::default()).flow.id, 6);
    let slot = table.slot(&of_port(2000), Mark::default(), |_| {});
    table.get(slot).flow.closed = true;
    assert!(table.close(slot).is_none());
    assert_eq!(table.find(1030).map(|c| c.flow.closed), Some(false));
}

/// For one host's ports, a network's hosts, and one service's clients, all hashes differ and spread
/// over the bits that a table uses.
#[test]
fn the_hash_spreads_ports_and_addresses() {
    let server = ([10, 0, 0, 2], 443);
    let hosts = |n: u16| [10, 1, (n >> 8) as u8, n as u8];
    let v6 = |n: u16| Ipv6Addr::new(0x2001, 0xdb8, n, 0, 0, 0, 0, 1);
    let hash = |ends: &Ends| hash(ends, 0x1234_5678_9abc_def1);
    let kinds: [Vec<u64>; 5] = [
        (0..4096)
            .map(|n| hash(&ends((hosts(1), 30_000 + n), server)))
            .collect(),
        (0..4096)
            .map(|n| hash(&ends((hosts(n), 5000), server)))
            .collect(),
        (0..4096)
            .map(|n| hash(&ends((hosts(n), 5000 + n), server)))
            .collect(),
        (0..4096)
            .map(|n| hash(&ends((v6(n), 5000), (v6(9), 443))))
            .collect(),
        (0..4096)
            .map(|n| hash(&ends((hosts(1), 5000), (hosts(2), 1 + n))))
            .collect(),
    ];
    for hashes in kinds {
        let distinct = |bits: fn(u64) -> u64| {
            let all: HashSet<u64> = hashes.iter().map(|hash| bits(*hash)).collect();
            all.len()
        };
        assert_eq!(distinct(|hash| hash), 4096);
        // The table uses the top seven bits and, depending on its size, some of the lowest.
        assert!(distinct(|hash| hash & 0xff) > 30);
        assert!(distinct(|hash| hash >> 57) > 16);
    }
    assert_ne!(hash(&of_port(1)), 0);
}
