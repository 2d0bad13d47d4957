//! What the simulated hosts give, to the last bit: a digest for each medium and MCLBYTES over all
//! policies, buffers at and beside the borders, both kinds of lengths, the inferring receiver, losses and seeds.
//!
//! A change that is only to be faster leaves every digest. One that changes a rule renews them with
//! what the failing test prints, and says which rule.

use tinygram_engine::sender::send_policy::SendPolicy;
use tinygram_naglemark::hosts::{Impairment, LinuxHosts, Model, Over, PaperHosts};
use tinygram_naglemark::{
    Lengths, MediumKind, Plan, Policy, Random, Series, Taken, TrialType, VirtualTime,
};

const MEDIA: [MediumKind; 3] = [
    MediumKind::Ethernet,
    MediumKind::Fddi,
    MediumKind::EthernetFullDuplex,
];

/// By medium and MCLBYTES; the last one is of Linux's hosts.
const DIGESTS: [&str; 13] = [
    "f15452fc13ec0a34", // Ethernet 1K
    "8dc006b86555e7c8", // Ethernet 2K
    "54e2cbca7415871b", // Ethernet 4K
    "89553166cdb6ef0b", // Ethernet 8K
    "c0cd088b8eac700f", // FDDI 1K
    "5922bb57348a0502", // FDDI 2K
    "abb47b0818dc2760", // FDDI 4K
    "b3afb7707e6471d0", // FDDI 8K
    "3a15952c7426bb51", // full-duplex Ethernet 1K
    "4602e373ee907d96", // full-duplex Ethernet 2K
    "0daaeb6574f3f8c6", // full-duplex Ethernet 4K
    "41674b98dcce16d7", // full-duplex Ethernet 8K
    "61d6e0460efbdcbc", // Linux
];

/// FNV-1a.
struct Digest(u64);

impl Digest {
    fn add(&mut self, number: u64) {
        for octet in number.to_le_bytes() {
            self.0 = (self.0 ^ u64::from(octet)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn take_in(&mut self, taken: &Taken) {
        for sample in &taken.samples {
            self.add(u64::from(sample.length));
            self.add(sample.elapsed.as_nanos());
        }
        self.add(taken.data_segments.unwrap_or(u64::MAX));
        self.add(taken.short_segments.unwrap_or(u64::MAX));
        self.add(taken.retransmitted_segments.unwrap_or(u64::MAX));
        self.add(taken.events);
    }
}

/// Application buffers, and socket buffers at and beside one and two segments and MCLBYTES.
fn buffers(mss: u64, cluster: u64) -> [(u64, u64); 6] {
    [
        (4096, 65_536),
        (256, 16_384),
        (mss, mss + 1),
        (mss - 1, 2 * mss - 1),
        (131_072, 3 * cluster - 1),
        (24_576, 131_072),
    ]
}

fn plan(policies: &[Policy], (app, socket): (u64, u64), number: u64) -> Plan {
    Plan::default()
        .policies(policies.to_vec())
        .app_buffers([app])
        .socket_buffers([socket])
        .trial_types([TrialType::SequentialOne, TrialType::RandomEach])
        .lengths(Lengths {
            series: Series {
                from: 1000,
                to: 99_000,
                step: 23_000,
                transfers: 5,
            },
            random: Random {
                transfers: 3,
                ..Lengths::PAPER.random
            },
        })
        .requests_per_connection((number % 2 == 1).then_some(2))
        .seed(number)
}

fn digest(hosts: &dyn VirtualTime, plans: impl IntoIterator<Item = Plan>, digest: &mut Digest) {
    for plan in plans {
        for cell in plan.cells() {
            let taken = hosts.simulate(&plan.trial(&cell, 0));
            digest.take_in(&taken.expect("the hosts know every policy"));
        }
    }
}

#[test]
fn a_change_for_speed_changes_no_bit_of_what_the_hosts_give() {
    // Those that switch came later. Without them the digests of before still hold.
    let older = SendPolicy::LIST
        .iter()
        .filter(|it| !it.name.starts_with("toggle"));
    let policies: Vec<Policy> = older.map(Policy::from).collect();
    let mut found = Vec::new();
    for (which, medium) in (0..).zip(MEDIA) {
        for mclbytes in [1024, 2048, 4096, 8192] {
            let mut sum = Digest(0xcbf2_9ce4_8422_2325);
            for (number, infer) in [(2 * which, false), (2 * which + 1, true)] {
                let hosts = PaperHosts {
                    mclbytes,
                    infer,
                    impairment: Impairment {
                        loss: if mclbytes == 2048 { 0.01 } else { 0.0 },
                        ..Impairment::NONE
                    },
                    ..PaperHosts::new(Model::Fitted, medium)
                };
                let buffers = buffers(hosts.mss.into(), mclbytes);
                let plans = buffers.map(|pair| plan(&policies, pair, number + pair.1));
                digest(&hosts, plans, &mut sum);
            }
            found.push(format!("{:016x}", sum.0));
        }
    }
    let mut sum = Digest(0xcbf2_9ce4_8422_2325);
    for over in [Over::Veth, Over::Tun] {
        let hosts = LinuxHosts::new(over);
        let plans = buffers(1448, 4096).map(|pair| plan(&policies, pair, pair.0));
        digest(&hosts, plans, &mut sum);
    }
    found.push(format!("{:016x}", sum.0));
    assert_eq!(found, DIGESTS);
}
