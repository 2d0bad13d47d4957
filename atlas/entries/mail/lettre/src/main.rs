//! lettre: a transport that keeps its connection.
use std::io::Read;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use lettre::{Message, SmtpTransport, Transport};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let transport = SmtpTransport::builder_dangerous(&words[0])
        .port(words[1].parse().unwrap())
        .build();
    let mail = Message::builder()
        .from("a@example.org".parse().unwrap())
        .to("b@example.org".parse().unwrap())
        .subject("atlas")
        .body(format!("{}\r\n", "x".repeat(70)).repeat(5))
        .unwrap();
    let exchanges: u64 = words[2].parse().unwrap();
    let mut number = 0;
    while exchanges == 0 || number < exchanges {
        number += 1;
        let wall = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_secs_f64();
        let began = Instant::now();
        transport.send(&mail).unwrap();
        println!("{wall:.6} {:.3}", began.elapsed().as_secs_f64() * 1e3);
    }
    println!("done");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}
