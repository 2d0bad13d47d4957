//! Sends two requests in two writes each, so that the second write waits.

use std::io::{Read, Write};
use std::net::TcpStream;

#[inline(never)]
fn ask_in_two_writes(connection: &mut TcpStream) -> std::io::Result<()> {
    connection.write_all(&[1; 40])?;
    connection.write_all(&[2; 400])?;
    Ok(())
}

fn main() -> std::io::Result<()> {
    let port: u16 = std::env::args().nth(1).unwrap().parse().unwrap();
    let mut connection = TcpStream::connect(("127.0.0.1", port))?;
    for _ in 0..40 {
        ask_in_two_writes(&mut connection)?;
        connection.read_exact(&mut [0])?;
    }
    Ok(())
}
