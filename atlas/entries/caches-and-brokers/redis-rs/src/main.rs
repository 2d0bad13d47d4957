//! redis-rs: a connection, a command and a pipeline.
use std::io::Read;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use redis::Commands;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let client = redis::Client::open(format!("redis://{}:{}/", words[0], words[1])).unwrap();
    let mut connection = client.get_connection().unwrap();
    let exchanges: u64 = words[2].parse().unwrap();
    let mut number = 0;
    while exchanges == 0 || number < exchanges {
        number += 1;
        let wall = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_secs_f64();
        let began = Instant::now();
        if words[3] == "set" {
            let () = connection.set("k", "x".repeat(400)).unwrap();
        } else {
            let mut pipeline = redis::pipe();
            for _ in 0..10 {
                pipeline.get("k");
            }
            let _: Vec<Option<String>> = pipeline.query(&mut connection).unwrap();
        }
        println!("{wall:.6} {:.3}", began.elapsed().as_secs_f64() * 1e3);
    }
    println!("done");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}
