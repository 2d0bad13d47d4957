//! Scripts of conversations, a line per segment: the time in milliseconds, who sends (`c`lient or
//! `s`erver), and what: `S`, `S.`, `F`, `F 100` (100 bytes with the FIN), `R`, `.` (a pure ACK), `P 100` (100 bytes), `D 100` (100 bytes
//! without PSH), `U 1` (a byte of urgent data), or `lost 100` (bytes that the capture does not have). Behind that may stand `again` (a
//! repetition of the sender's last data), `keepalive`, `ack N` (all but the last N bytes are
//! acknowledged), `win N`, `mss N` (0: no such option), `mss-zero` (an option of 0), `wscale N`, `ts VALUE ECHO`, `sack`, `dsack N` (the
//! last N bytes came twice), `ttl N` and `id N`. Numbers of both directions are kept by the reader of the script; an ACK acknowledges all that
//! was sent before it.

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
        if words[2] == "lost" {
            let len: u32 = words[3].parse().expect(line);
            self.next[from] = self.next[from].wrapping_add(len);
            return;
        }
        let flags = match words[2] {
            "S" => 0x02,
            "S." => 0x12,
            "F" => 0x11,
            "R" => 0x14,
            "." | "keepalive" | "D" => 0x10,
            "U" => 0x38,
            _ => 0x18,
        };
        let len: u32 = match words[2] {
            "P" | "D" | "U" => words[3].parse().expect(line),
            "F" => words.get(3).and_then(|len| len.parse().ok()).unwrap_or(0),
            _ => 0,
        };
        let (seq, len) = match words.last() {
            Some(&"again") => self.last[from],
            Some(&"keepalive") => (self.next[from].wrapping_sub(1), 0),
            _ => (self.next[from], len),
        };
        let value = |word: &str, place: usize| -> Option<u32> {
            let at = words.iter().position(|w| *w == word)?;
            Some(words[at + place].parse().expect(line))
        };
        let bytes = Packet {
            from,
            ports: self.ports,
            seq,
            ack: value("ack", 1).map_or(self.next[1 - from], |back| {
                self.next[1 - from].wrapping_sub(back)
            }),
            flags,
            window: value("win", 1).unwrap_or(60_000) as u16,
            len,
            ttl: value("ttl", 1).unwrap_or(64) as u8,
            identification: value("id", 1).unwrap_or(0) as u16,
            mss: match words.contains(&"mss-zero") {
                true => Some(0),
                false => (flags & 2 != 0)
                    .then(|| value("mss", 1).unwrap_or(1460) as u16)
                    .filter(|mss| *mss > 0),
            },
            scale: value("wscale", 1).map(|shift| shift as u8),
            stamps: value("ts", 1).zip(value("ts", 2)),
            sack: match value("dsack", 1) {
                Some(twice) => Some((twice.wrapping_neg(), 0)),
                None => words.contains(&"sack").then_some((1_000, 2_000)),
            },
        }
        .bytes();
        for copy in 0..copies {
            self.frames += 1;
            self.analyzer.frame(&Frame {
                number: self.frames,
                time_ns: self.start_ns + (time_ms * 1e6).round() as i64 + copy * 3_000,
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

struct Packet {
    from: usize,
    ports: [u16; 2],
    seq: u32,
    ack: u32,
    flags: u8,
    window: u16,
    len: u32,
    ttl: u8,
    identification: u16,
    mss: Option<u16>,
    scale: Option<u8>,
    stamps: Option<(u32, u32)>,
    /// Its block, from the acknowledgment on.
    sack: Option<(u32, u32)>,
}

impl Packet {
    /// IPv4 and TCP up to the end of its header.
    fn bytes(&self) -> Vec<u8> {
        let options = self.options();
        let mut p = vec![0; 40];
        p[0] = 0x45;
        let total = 40 + options.len() as u32 + self.len;
        p[2..4].copy_from_slice(&(total as u16).to_be_bytes());
        p[4..6].copy_from_slice(&self.identification.to_be_bytes());
        p[8] = self.ttl;
        p[9] = 6;
        let hosts = [[10, 0, 0, 1], [10, 0, 0, 2]];
        p[12..16].copy_from_slice(&hosts[self.from]);
        p[16..20].copy_from_slice(&hosts[1 - self.from]);
        p[20..22].copy_from_slice(&self.ports[self.from].to_be_bytes());
        p[22..24].copy_from_slice(&self.ports[1 - self.from].to_be_bytes());
        p[24..28].copy_from_slice(&self.seq.to_be_bytes());
        p[28..32].copy_from_slice(&self.ack.to_be_bytes());
        p[32] = (5 + options.len() as u8 / 4) << 4;
        p[33] = self.flags;
        p[34..36].copy_from_slice(&self.window.to_be_bytes());
        p.extend(options);
        p
    }

    fn options(&self) -> Vec<u8> {
        let mut options = Vec::new();
        if let Some(mss) = self.mss {
            options.extend([2, 4]);
            options.extend(mss.to_be_bytes());
        }
        if let Some(shift) = self.scale {
            options.extend([1, 3, 3, shift]);
        }
        if let Some((value, echo)) = self.stamps {
            options.extend([1, 1, 8, 10]);
            options.extend(value.to_be_bytes());
            options.extend(echo.to_be_bytes());
        }
        if let Some((left, right)) = self.sack {
            options.extend([1, 1, 5, 10]);
            options.extend(self.ack.wrapping_add(left).to_be_bytes());
            options.extend(self.ack.wrapping_add(right).to_be_bytes());
        }
        options
    }
}
