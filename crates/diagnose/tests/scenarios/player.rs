//! Scripts of conversations, a line per segment: the time in milliseconds, who sends (`c`lient or
//! `s`erver), and what: `S`, `S.`, `F`, `R`, `.` (a pure ACK), `P 100` (100 bytes), with `again` for a
//! repetition of the sender's last data, `keepalive`, and `win N`. Numbers of both directions are
//! kept by the reader of the script; an ACK acknowledges all that was sent before it.

use tinygram_diagnose::{Analyzer, Parameters, Report};
use tinygram_wire::capture::{Frame, LinkType};

/// A handshake of a short way.
pub(crate) const OPEN: &str = "
    0.0   c S
    0.1   s S.
    0.15  c .
";

/// A stall of 41 ms behind two writes.
pub(crate) const STALL: &str = "
    10.0  c P 100
    51.0  s .
    51.05 c P 200
    51.20 s P 300
    51.25 c .
";

/// Reads a script to the analyzer.
pub(crate) struct Player {
    pub(crate) analyzer: Analyzer,
    frames: u64,
    pub(crate) next: [u32; 2],
    last: [(u32, u32); 2],
    pub(crate) ports: [u16; 2],
    start_ns: i64,
}

impl Player {
    pub(crate) fn new() -> Self {
        Self {
            analyzer: Analyzer::new(Parameters::default()),
            frames: 0,
            // The client's numbers wrap soon.
            next: [u32::MAX - 250, 77],
            last: [(0, 0); 2],
            ports: [40_000, 80],
            start_ns: 1_700_000_000_000_000_000,
        }
    }

    pub(crate) fn play(&mut self, script: &str) -> &mut Self {
        for line in script.lines().map(str::trim).filter(|l| !l.is_empty()) {
            self.line(line, 1);
        }
        self
    }

    /// Every frame is captured twice.
    pub(crate) fn play_doubled(&mut self, script: &str) -> &mut Self {
        for line in script.lines().map(str::trim).filter(|l| !l.is_empty()) {
            self.line(line, 2);
        }
        self
    }

    fn line(&mut self, line: &str, copies: i64) {
        let words: Vec<_> = line.split_whitespace().collect();
        let time_ms: f64 = words[0].parse().expect(line);
        let from = usize::from(words[1] == "s");
        let flags = match words[2] {
            "S" => 0x02,
            "S." => 0x12,
            "F" => 0x11,
            "R" => 0x14,
            "." | "keepalive" => 0x10,
            _ => 0x18,
        };
        let len: u32 = match words[2] {
            "P" => words[3].parse().expect(line),
            _ => 0,
        };
        let window = match words.iter().position(|w| *w == "win") {
            Some(at) => words[at + 1].parse().expect(line),
            None => 60_000,
        };
        let (seq, len) = match words.last() {
            Some(&"again") => self.last[from],
            Some(&"keepalive") => (self.next[from].wrapping_sub(1), 0),
            _ => (self.next[from], len),
        };
        let ack = self.next[1 - from];
        let bytes = packet(from, self.ports, seq, ack, flags, window, len);
        for copy in 0..copies {
            self.frames += 1;
            self.analyzer.frame(&Frame {
                number: self.frames,
                time_ns: self.start_ns + (time_ms * 1e6) as i64 + copy * 3_000,
                link: LinkType::RAW,
                data: &bytes,
                wire_len: bytes.len() as u32 + len,
            });
        }
        if len > 0 {
            self.last[from] = (seq, len);
        }
        let end = seq.wrapping_add(len + u32::from(flags & 3 != 0));
        if (end.wrapping_sub(self.next[from]) as i32) > 0 {
            self.next[from] = end;
        }
    }

    /// The next script plays this much later.
    pub(crate) fn later(&mut self, ms: i64) -> &mut Self {
        self.start_ns += ms * 1_000_000;
        self
    }

    pub(crate) fn report(&mut self) -> Report {
        std::mem::replace(self, Self::new()).analyzer.finish()
    }
}

fn packet(
    from: usize,
    ports: [u16; 2],
    seq: u32,
    ack: u32,
    flags: u8,
    window: u16,
    len: u32,
) -> Vec<u8> {
    let options: &[u8] = if flags & 2 != 0 {
        &[2, 4, 5, 0xb4]
    } else {
        &[]
    };
    let mut p = vec![0; 40 + options.len()];
    p[0] = 0x45;
    let total = p.len() as u32 + len;
    p[2..4].copy_from_slice(&(total as u16).to_be_bytes());
    p[9] = 6;
    let hosts = [[10, 0, 0, 1], [10, 0, 0, 2]];
    p[12..16].copy_from_slice(&hosts[from]);
    p[16..20].copy_from_slice(&hosts[1 - from]);
    p[20..22].copy_from_slice(&ports[from].to_be_bytes());
    p[22..24].copy_from_slice(&ports[1 - from].to_be_bytes());
    p[24..28].copy_from_slice(&seq.to_be_bytes());
    p[28..32].copy_from_slice(&ack.to_be_bytes());
    p[32] = (5 + options.len() as u8 / 4) << 4;
    p[33] = flags;
    p[34..36].copy_from_slice(&window.to_be_bytes());
    p[40..].copy_from_slice(options);
    p
}
