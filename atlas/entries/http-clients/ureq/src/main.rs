//! ureq: an agent that keeps its connection.
use std::io::Read;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let url = format!("http://{}:{}/", words[0], words[1]);
    let exchanges: u64 = words[2].parse().unwrap();
    let agent = ureq::Agent::new_with_defaults();
    let mut number = 0;
    while exchanges == 0 || number < exchanges {
        number += 1;
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
        let began = Instant::now();
        let answer = match words[3].as_str() {
            "POST" => agent.post(&url).send("x".repeat(400)),
            _ => agent.get(&url).call(),
        };
        answer.unwrap().body_mut().read_to_string().unwrap();
        println!("{wall:.6} {:.3}", began.elapsed().as_secs_f64() * 1e3);
    }
    println!("done");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}
