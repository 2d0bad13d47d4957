//! Asks in two writes: 40 octets and 400. Prints the milliseconds of each exchange.
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Instant;

fn main() -> std::io::Result<()> {
    let words: Vec<String> = std::env::args().collect();
    let mut end = TcpStream::connect(format!("127.0.0.1:{}", words[1]))?;
    end.set_nodelay(words.len() > 2)?;
    for _ in 0..20 {
        let began = Instant::now();
        end.write_all(&[b'h'; 40])?;
        end.write_all(&[b'b'; 400])?;
        end.read_exact(&mut [0; 2])?;
        println!("{}", began.elapsed().as_secs_f64() * 1e3);
    }
    Ok(())
}
