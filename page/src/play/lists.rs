//! The names that a reader can choose from, with a line about each.

use serde_json::{Value, json};
use tinygram_engine::receiver::ack_policy::AckPolicy;
use tinygram_engine::sender::send_policy::SendPolicy;
use tinygram_naglemark::{MediumKind, NOMINAL_RATE, SocketPolicy};
use tinygram_papers::heidemann::retrieval::Way;

/// Returns all lists.
pub(super) fn all() -> Value {
    let policies = SendPolicy::LIST.iter();
    let policies =
        policies.map(|it| json!({ "name": it.name, "label": it.label, "summary": it.summary }));
    let by_socket = SocketPolicy::ALL.iter();
    let by_socket = by_socket
        .map(|it| json!({ "name": it.name(), "label": it.label(), "summary": it.summary() }));
    let acks = AckPolicy::LIST.iter();
    let acks = acks.map(|it| json!({ "name": it.name, "summary": it.summary }));
    let media = [
        MediumKind::Ethernet,
        MediumKind::EthernetFullDuplex,
        MediumKind::Fddi,
        MediumKind::PointToPoint {
            bits_per_second: NOMINAL_RATE,
        },
    ];
    let media = media.map(|it| json!({ "name": it.name(), "mss": it.usual_mss() }));
    json!({
        "policies": policies.collect::<Vec<_>>(),
        "socket_policies": by_socket.collect::<Vec<_>>(),
        "ack_policies": acks.collect::<Vec<_>>(),
        "media": media,
        "ways": Way::ALL.map(|it| it.name()),
    })
}
