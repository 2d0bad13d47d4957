use tinygram_engine::sender::send_policy::SendPolicy;
use tinygram_papers::mogul::{aggregate::*, model::Model, naglemark::*};
fn main() {
    for (m, v, a, s) in [
        (MediumKind::Ethernet, "MSMV", 4, 16),
        (MediumKind::Ethernet, "MSMV", 4, 64),
        (MediumKind::Ethernet, "NAGLE", 4, 16),
        (MediumKind::Ethernet, "NAGLE", 32, 64),
    ] {
        for t in Trial::ALL {
            let mut p = Parameters::paper(
                Model::Fitted,
                m,
                SendPolicy::named(v).unwrap(),
                a << 10,
                s << 10,
                t,
            );
            p.infer = true;
            p.seed = 7;
            let scores: Vec<String> = (0..10)
                .map(|r| {
                    let mut q = p.clone();
                    q.seed += r;
                    format!("{:.1}", cell(None, v, &q, 1, 3).score_percent)
                })
                .collect();
            println!("{v} {a}K/{s}K {} {}", t.letter(), scores.join(" "));
        }
    }
}
