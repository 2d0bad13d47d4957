use tinygram_engine::sender::send_policy::SendPolicy;
use tinygram_papers::mogul::{model::Model, naglemark::*};
fn main() {
    let m = if std::env::args().nth(1).as_deref() == Some("e") {
        MediumKind::Ethernet
    } else {
        MediumKind::Fddi
    };
    let p = Parameters::paper(
        Model::Fitted,
        m,
        SendPolicy::named("NAGLE").unwrap(),
        32 << 10,
        64 << 10,
        Trial::SequentialOne,
    );
    let r = p.run();
    println!("{} {} {}", r.data_segments, r.events, r.acks);
}
