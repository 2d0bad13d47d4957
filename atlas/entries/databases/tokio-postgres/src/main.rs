//! tokio-postgres: a connection, a query and an insert.
use std::io::Read;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use tokio_postgres::NoTls;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let server = format!(
        "host={} port={} user=atlas dbname=postgres",
        words[0], words[1]
    );
    let (client, connection) = tokio_postgres::connect(&server, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
        .batch_execute("CREATE TEMP TABLE notes (body text)")
        .await
        .unwrap();
    let body = "x".repeat(400);
    let exchanges: u64 = words[2].parse().unwrap();
    let mut number = 0;
    while exchanges == 0 || number < exchanges {
        number += 1;
        let wall = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_secs_f64();
        let began = Instant::now();
        if words[3] == "query" {
            client.simple_query("SELECT 1").await.unwrap();
        } else {
            client
                .execute("INSERT INTO notes VALUES ($1)", &[&body])
                .await
                .unwrap();
        }
        println!("{wall:.6} {:.3}", began.elapsed().as_secs_f64() * 1e3);
    }
    println!("done");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}
