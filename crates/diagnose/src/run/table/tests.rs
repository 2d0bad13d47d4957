//! Bounded memory, and a hash that spreads the ends found in captures.

use std::collections::HashSet;
use std::net::{Ipv6Addr, SocketAddr};

use super::*;

const KEY: Key = Key(0x1234_5678_9abc_def1);

fn ends(client: impl Into<SocketAddr>, server: impl Into<SocketAddr>) -> Ends {
    let mut ends = [client.into().into(), server.into().into()];
    ends.sort();
    Ends { ends }
}

fn of_port(port: u16) -> Ends {
    ends(([10, 0, 0, 1], port), ([10, 0, 0, 2], 80))
}

/// Returns the slot of the connection with this port, which is made if there is none.
fn slot(table: &mut Table, port: u16, gone: &mut Vec<u16>) -> usize {
    let ends = of_port(port);
    let hash = KEY.hash(&ends.ends);
    table.find(&ends, hash, Hint::NONE).unwrap_or_else(|| {
        gone.extend(table.make_room().map(|(_, old)| port_of(&old)));
        table.insert(&ends, hash, Mark::default())
    })
}

fn port_of(connection: &Conversation) -> u16 {
    connection.flow.ends.ends[0].port
}

/// Inserts connections with these ports; returns the ports of those removed.
fn after(table: &mut Table, ports: impl IntoIterator<Item = u16>) -> Vec<u16> {
    let mut gone = Vec::new();
    for port in ports {
        let slot = slot(table, port, &mut gone);
        table.get(slot).flow.recent = true;
    }
    gone
}

#[test]
fn beyond_the_limit_the_longest_silent_goes() {
    let mut table = Table::new(3, 1024, KEY);
    assert_eq!(after(&mut table, [1, 2, 3, 2, 1, 3]), []);
    assert_eq!(table.slots().count(), 3);
    // All were used lately: the hand clears the mark of each, then removes the first one it meets.
    let gone = after(&mut table, [4]);
    assert_eq!(gone.len(), 1);
    assert_eq!(table.index.len(), 3);
    let stayed: Vec<u16> = [1, 2, 3]
        .into_iter()
        .filter(|port| !gone.contains(port))
        .collect();
    // One of the two is used again, so the other is removed.
    after(&mut table, [stayed[0]]);
    assert_eq!(after(&mut table, [5]), [stayed[1]]);
    let slots: Vec<usize> = table.slots().collect();
    let left = slots.iter().filter_map(|&slot| table.take(slot));
    let mut left: Vec<u16> = left.map(|connection| port_of(&connection)).collect();
    left.sort();
    assert_eq!(left, [stayed[0], 4, 5]);
}

#[test]
fn a_thousand_that_ended_are_kept_for_their_stragglers() {
    let mut table = Table::new(5000, 1024, KEY);
    let mut gone = Vec::new();
    for port in 1..=1030 {
        let slot = slot(&mut table, port, &mut Vec::new());
        table.get(slot).flow.closed = true;
        gone.extend(
            table
                .close(slot)
                .map(|(_, connection)| port_of(&connection)),
        );
    }
    assert_eq!(gone, [1, 2, 3, 4, 5, 6]);
    let mut is_known = |port| {
        let ends = of_port(port);
        let found = table.find(&ends, KEY.hash(&ends.ends), Hint::NONE);
        found.is_some()
    };
    assert!(!is_known(6) && is_known(7));
    // A new connection on the ports of an ended one stays.
    let seventh = slot(&mut table, 7, &mut Vec::new());
    assert!(table.replace(seventh, Mark::default()).flow.closed);
    let another = slot(&mut table, 2000, &mut Vec::new());
    table.get(another).flow.closed = true;
    assert!(table.close(another).is_none());
    assert!(table.peek(seventh).is_some_and(|it| !it.flow.closed));
}

/// A hint leads to a connection as long as it lives where the hint says, and harms nothing otherwise: there may be none, or one
/// to another connection or to an empty slot.
#[test]
fn hints_lead_to_connections_and_harm_nothing() {
    let mut table = Table::new(5000, 1024, KEY);
    let slots: Vec<usize> = (1..=3000)
        .map(|port| slot(&mut table, port, &mut Vec::new()))
        .collect();
    let mut led = 0;
    for (port, &known) in (1..=3000).zip(&slots) {
        let ends = of_port(port);
        let hash = KEY.hash(&ends.ends);
        let hint = table.foresee(hash, 0);
        led += u32::from(hint.0 as usize == known);
        assert_eq!(table.find(&ends, hash, hint), Some(known));
        assert_eq!(table.find(&ends, hash, Hint(17)), Some(known));
        // What was found without it is foreseen from then on.
        assert_eq!(table.foresee(hash, 0).0 as usize, known);
    }
    assert!(led > 2000, "{led}");
    let (ends, hash) = (of_port(9), KEY.hash(&of_port(9).ends));
    let hint = table.foresee(hash, 0);
    table.take(slots[8]);
    assert_eq!(table.find(&ends, hash, hint), None);
}

/// The clients of one server come to all shares, about equally.
#[test]
fn every_share_gets_its_part() {
    for shares in [1, 2, 16] {
        let mut counts = vec![0; shares];
        for port in 1024..9216 {
            let [a, b] = of_port(port).ends;
            let of_it = share(&a, &b, shares);
            assert_eq!(of_it, share(&b, &a, shares));
            counts[of_it] += 1;
        }
        let fair = 8192 / shares;
        assert!(
            counts
                .iter()
                .all(|count| (fair * 3 / 4..=fair * 5 / 4).contains(count)),
            "{counts:?}"
        );
    }
}

/// For one host's ports, a network's hosts, and one service's clients, all hashes differ and spread
/// over the bits that a table uses.
#[test]
fn the_hash_spreads_ports_and_addresses() {
    let server = ([10, 0, 0, 2], 443);
    let hosts = |n: u16| [10, 1, (n >> 8) as u8, n as u8];
    let v6 = |n: u16| Ipv6Addr::new(0x2001, 0xdb8, n, 0, 0, 0, 0, 1);
    let hash = |ends: &Ends| {
        let [a, b] = ends.ends;
        let hash = KEY.hash(&[a, b]);
        assert_eq!(hash, KEY.hash(&[b, a]), "whichever end is named first");
        hash
    };
    let kinds: [Vec<u32>; 5] = [
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
        let distinct = |bits: fn(u32) -> u32| {
            let all: HashSet<u32> = hashes.iter().map(|hash| bits(*hash)).collect();
            all.len()
        };
        assert_eq!(distinct(|hash| hash), 4096);
        // The table uses the top seven bits and, depending on its size, some of the lowest.
        assert!(distinct(|hash| hash & 0xff) > 30);
        assert!(distinct(|hash| hash >> 25) > 16);
    }
    assert_ne!(hash(&of_port(1)), 0);
}
