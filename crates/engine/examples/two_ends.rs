//! Two ends in one process: a client that writes its request in two pieces, and a server that
//! answers. Prints every segment, and what was held, with the reason.
//!
//! ```console
//! $ cargo run -p tinygram-engine --example two_ends
//! $ cargo run -p tinygram-engine --example two_ends -- minshall every-segment
//! ```
//!
//! The first argument is the client's send policy, the second the server's ACK policy.

use std::collections::VecDeque;
use std::error::Error;

use tinygram_engine::profile::{Profile, Sizes};
use tinygram_engine::receiver::ack_policy::AckPolicy;
use tinygram_engine::sender::send_policy::SendPolicy;
use tinygram_engine::{Connection, Duration, Instant, Outbox, Segment};

/// The time from one end to the other.
const DELAY: Duration = Duration::from_millis(5);
/// The octets of the request's two pieces and of the response.
const HEAD: u64 = 120;
const BODY: u64 = 300;
const RESPONSE: u64 = 4000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let send_policy: SendPolicy = match arguments.next() {
        Some(name) => name.parse()?,
        None => SendPolicy::Nagle,
    };
    let ack_policy: AckPolicy = match arguments.next() {
        Some(name) => name.parse()?,
        None => AckPolicy::EverySecond,
    };
    println!("the client's send policy is {send_policy}, the server's ACK policy {ack_policy}");
    let sizes = Sizes {
        mss: 1460,
        send_buffer: 65_536,
        receive_buffer: 65_536,
    };
    let client = Profile::LINUX_6.builder(sizes).send_policy(send_policy);
    let server = Profile::LINUX_6.builder(sizes).ack_policy(ack_policy);
    let mut line = Line {
        now: Instant::ZERO,
        ends: [
            Connection::established(&client.build()?, sizes.receive_buffer),
            Connection::established(&server.build()?, sizes.receive_buffer),
        ],
        flying: VecDeque::new(),
    };

    line.call(CLIENT, |client, now, out| {
        client.write(now, HEAD, false, out)
    });
    line.call(CLIENT, |client, now, out| {
        client.write(now, BODY, false, out)
    });
    let mut asked = 0;
    while asked < HEAD + BODY {
        line.step();
        asked += line.call(SERVER, |server, now, out| server.read(now, u64::MAX, out));
    }
    line.call(SERVER, |server, now, out| {
        server.write(now, RESPONSE, false, out)
    });
    let mut answered = 0;
    while answered < RESPONSE {
        line.step();
        answered += line.call(CLIENT, |client, now, out| client.read(now, u64::MAX, out));
    }
    println!("the response was there after {} s", line.now);
    Ok(())
}

const CLIENT: usize = 0;
const SERVER: usize = 1;
const NAMES: [&str; 2] = ["client", "server"];

/// The two ends, and the segments on their way between them.
struct Line {
    now: Instant,
    ends: [Connection; 2],
    /// Segments with their arrival times and the ends they go to.
    flying: VecDeque<(Instant, usize, Segment)>,
}

impl Line {
    /// Calls one end, then drains its outbox.
    fn call<T>(
        &mut self,
        end: usize,
        call: impl FnOnce(&mut Connection, Instant, &mut Outbox) -> T,
    ) -> T {
        let mut out = Outbox::new();
        let result = call(&mut self.ends[end], self.now, &mut out);
        for segment in out.segments {
            println!("{} {:>6} > {segment}", self.now, NAMES[end]);
            self.flying.push_back((self.now + DELAY, 1 - end, segment));
        }
        let sender = self.ends[end].sender();
        if let Some(hold) = sender.hold()
            && hold.since == self.now
        {
            println!(
                "{} {:>6} holds what starts at {}: {}",
                self.now,
                NAMES[end],
                hold.start,
                sender.name_of(hold.why)
            );
        }
        result
    }

    /// Handles the next event: a segment arrives, or a timer fires.
    fn step(&mut self) {
        let arrival = self.flying.front().map(|(at, ..)| *at);
        let timers = self.ends.iter().filter_map(Connection::next_wakeup);
        self.now = timers.chain(arrival).min().expect("something is to come");
        if let Some((_, end, segment)) = self.flying.pop_front_if(|(at, ..)| *at == self.now) {
            self.call(end, |connection, now, out| {
                connection.on_segment(now, &segment, out);
            });
            return;
        }
        let due = |end: &Connection| end.next_wakeup() == Some(self.now);
        let end = self.ends.iter().position(due).expect("whose timer it was");
        println!("{} {:>6}'s timer", self.now, NAMES[end]);
        self.call(end, Connection::on_wakeup);
    }
}
