//! A server that answers each line with pieces of its own: `server PIECES`.

use std::io::{BufRead, BufReader, Write};

fn main() {
    let pieces: u32 = std::env::args().nth(1).unwrap().parse().unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    println!("{}", listener.local_addr().unwrap());
    for connection in listener.incoming() {
        let mut connection = connection.unwrap();
        std::thread::spawn(move || {
            let lines = BufReader::new(connection.try_clone().unwrap()).lines();
            for line in lines.map_while(Result::ok) {
                for piece in 0..pieces {
                    connection.write_all(format!("{line} {piece}\n").as_bytes()).unwrap();
                }
            }
        });
    }
}
