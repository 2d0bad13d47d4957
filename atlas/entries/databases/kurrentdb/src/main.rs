//! KurrentDB's client appends events; and a server that takes them, for no registry has KurrentDB itself.
mod server;

use std::io::Read;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use kurrentdb::{AppendToStreamOptions, Client, EventData};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words[0] == "answer" {
        return server::answer(words[1].parse().unwrap()).await;
    }
    let settings = format!("kurrentdb://{}:{}?tls=false", words[1], words[2]);
    let client = Client::new(settings.parse().unwrap()).unwrap();
    let exchanges: u64 = words[3].parse().unwrap();
    let events: usize = words[4].parse().unwrap();
    let options = AppendToStreamOptions::default();
    let mut number = 0;
    while exchanges == 0 || number < exchanges {
        number += 1;
        let appended: Vec<EventData> = (0..events)
            .map(|_| EventData::binary("written", vec![b'x'; 400].into()))
            .collect();
        let wall = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_secs_f64();
        let began = Instant::now();
        client
            .append_to_stream("atlas", &options, appended)
            .await
            .unwrap();
        println!("{wall:.6} {:.3}", began.elapsed().as_secs_f64() * 1e3);
    }
    println!("done");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}
