fn main() {
    for path in std::env::args().skip(1) {
        let mut r = tinygram_wire::capture::Reader::new(std::fs::File::open(&path).unwrap()).unwrap();
        let mut a = tinygram_diagnose::Analyzer::new(Default::default());
        loop {
            match r.next_frame() {
                Ok(Some(f)) => a.frame(&f),
                Ok(None) => break,
                Err(e) => { eprintln!("{e}"); break }
            }
        }
        let rep = a.finish();
        println!("== {path}: {} stalls {:.1} ms, {} floods, {} connections, {} segs", rep.summary.stalls, rep.summary.cost_ns as f64/1e6, rep.summary.floods, rep.summary.connections, rep.summary.segments);
        for f in rep.findings.iter().take(8) {
            println!("  {} conn {} {}-> frames {:?} cost {:.1} {:?}", f.kind.name(), f.connection, f.sender, f.frames.iter().map(|m| m.frame).collect::<Vec<_>>(), f.cost_ns as f64/1e6, f.confidence);
            if std::env::var("V").is_ok() { for e in f.evidence() { println!("      {e}"); } }
        }
        for c in &rep.connections {
            println!("  conn {} {} -> {} rtt {:?} {:?} stalls {} {:?}", c.id, c.client, c.server, c.rtt_ns, c.capture_point, c.stalls, c.ruled_out.iter().map(|(l,t)| format!("{} x{} {:.1}ms @{}", l.name(), t.count, t.time_ns as f64/1e6, t.first_frame)).collect::<Vec<_>>());
            if std::env::var("V").is_ok() { for d in &c.directions { println!("      {d:?}"); } }
        }
    }
}
