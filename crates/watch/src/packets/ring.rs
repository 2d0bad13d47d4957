//! Reads packets on the host's interfaces: an `AF_PACKET` socket with a ring that the kernel writes
//! to (`TPACKET_V3`, Documentation/networking/packet_mmap.rst in Linux's sources).

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use memmap2::{MmapMut, MmapOptions};
use tinygram_host::ready;
use tinygram_wire::capture::{Frame, LinkType};

/// A socket and its ring. Dropping it removes both.
pub(super) struct Ring {
    socket: OwnedFd,
    blocks: MmapMut,
    next: usize,
    frames: u64,
    dropped: u64,
    frame: Vec<u8>,
}

impl Ring {
    /// Opens the ring over one interface, or over all of them.
    pub(super) fn open(interface: Option<&str>) -> io::Result<Self> {
        let protocol = i32::from((libc::ETH_P_ALL as u16).to_be());
        // Without a protocol no packet arrives until everything is set.
        // SAFETY: the call has no pointers; nobody else has the descriptor.
        let socket = unsafe {
            let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC;
            let descriptor = libc::socket(libc::AF_PACKET, kind, 0);
            if descriptor < 0 {
                return Err(io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(descriptor)
        };
        let version: libc::c_int = TPACKET_V3;
        set(&socket, PACKET_VERSION, &version)?;
        filter(&socket, index("lo").unwrap_or(0))?;
        let request = Request {
            block_size: BLOCK_OCTETS as u32,
            block_count: BLOCKS as u32,
            frame_size: FRAME_OCTETS,
            frame_count: (BLOCK_OCTETS * BLOCKS) as u32 / FRAME_OCTETS,
            retire_ms: RETIRE_MS,
            private: 0,
            features: 0,
        };
        set(&socket, PACKET_RX_RING, &request)?;
        // SAFETY: the kernel's ring, of this length; it is shared with the kernel by its rules below.
        let blocks = unsafe {
            MmapOptions::new()
                .len(BLOCK_OCTETS * BLOCKS)
                .map_mut(socket.as_raw_fd())?
        };
        let address = libc::sockaddr_ll {
            sll_family: libc::AF_PACKET as u16,
            sll_protocol: protocol as u16,
            sll_ifindex: interface.map_or(Ok(0), index)?,
            // SAFETY: all fields are numbers, for which zero is valid.
            ..unsafe { std::mem::zeroed() }
        };
        // SAFETY: the address has its own type and length.
        let bound = unsafe {
            libc::bind(
                socket.as_raw_fd(),
                (&raw const address).cast(),
                size_of_val(&address) as libc::socklen_t,
            )
        };
        if bound < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self {
            socket,
            blocks,
            next: 0,
            frames: 0,
            dropped: 0,
            frame: Vec::with_capacity(HEADER_OCTETS + SNAP_OCTETS),
        })
    }

    /// Passes the packets of the blocks that are full or old enough to `each`, after at most
    /// `patience`.
    pub(super) fn poll(&mut self, patience: Duration, mut each: impl FnMut(&Frame<'_>)) {
        if !self.is_ready() {
            ready::wait(&self.socket, patience);
        }
        // Reads at most one round, so that a flood of packets does not keep the caller busy.
        for _ in 0..BLOCKS {
            if !self.is_ready() {
                return;
            }
            self.read_block(&mut each);
            self.status().store(STATUS_KERNEL, Ordering::Release);
            self.next = (self.next + 1) % BLOCKS;
        }
    }

    /// Returns how many packets found no room in the ring since the start.
    pub(super) fn dropped(&mut self) -> u64 {
        let mut counts = [0_u32; 3];
        let mut length = size_of_val(&counts) as libc::socklen_t;
        // SAFETY: `counts` is three numbers, and the length is theirs.
        let got = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_PACKET,
                PACKET_STATISTICS,
                counts.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        if got == 0 {
            // Reading resets the kernel's count.
            self.dropped += u64::from(counts[1]);
        }
        self.dropped
    }

    fn status(&self) -> &AtomicU32 {
        let at = self.next * BLOCK_OCTETS + BLOCK_STATUS;
        // SAFETY: within the ring, aligned, and changed by atomic operations alone on both sides.
        unsafe { &*self.blocks.as_ptr().add(at).cast::<AtomicU32>() }
    }

    fn is_ready(&self) -> bool {
        self.status().load(Ordering::Acquire) & STATUS_USER != 0
    }

    fn read_block(&mut self, each: &mut impl FnMut(&Frame<'_>)) {
        let block = self.next * BLOCK_OCTETS..(self.next + 1) * BLOCK_OCTETS;
        // The kernel does not write to a block while we own it.
        let block = &self.blocks[block];
        let word = |at: usize| number(block, at).unwrap_or(0);
        let mut at = word(BLOCK_FIRST) as usize;
        for _ in 0..word(BLOCK_PACKETS) {
            let offset = |field: usize| number(block, at + field).unwrap_or(0);
            let (length, wire_length) = (offset(12) as usize, offset(16));
            let network = usize::from(half(block, at + 26));
            // sockaddr_ll follows the header of 48 octets.
            let link = at + 48;
            let interface = offset(48 + 4) as i32;
            let packet = block.get(at + network..at + network + length);
            if let Some(packet) = packet {
                self.frames += 1;
                // The header that tcpdump writes when it captures on all interfaces.
                self.frame.clear();
                self.frame.resize(HEADER_OCTETS, 0);
                self.frame[..2].copy_from_slice(&block[link + 2..link + 4]);
                self.frame[4..8].copy_from_slice(&interface.to_be_bytes());
                self.frame[10] = block[link + 10];
                self.frame.extend_from_slice(packet);
                each(&Frame {
                    number: self.frames,
                    time_ns: i64::from(offset(4)) * 1_000_000_000 + i64::from(offset(8)),
                    link: LinkType::LINUX_SLL2,
                    data: &self.frame,
                    wire_len: wire_length + HEADER_OCTETS as u32,
                });
            }
            match offset(0) {
                0 => return,
                further => at += further as usize,
            }
        }
    }
}

/// Returns the number of a network interface.
fn index(name: &str) -> io::Result<i32> {
    let name = std::ffi::CString::new(name).map_err(io::Error::other)?;
    // SAFETY: the string ends with a zero.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index as i32),
    }
}

/// Tells the kernel to copy only the beginning of each packet, and nothing of those that leave by the loopback
/// interface: there each packet appears twice, and arrives, too.
fn filter(socket: &OwnedFd, loopback: i32) -> io::Result<()> {
    let load = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    let is = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    let copy = (libc::BPF_RET | libc::BPF_K) as u16;
    let step = |code, k, jt, jf| libc::sock_filter { code, jt, jf, k };
    let of_packet = |field| (libc::SKF_AD_OFF + field) as u32;
    let mut program = [
        step(load, of_packet(libc::SKF_AD_PKTTYPE), 0, 0),
        step(is, PACKET_OUTGOING, 0, 2),
        step(load, of_packet(libc::SKF_AD_IFINDEX), 0, 0),
        step(is, loopback as u32, 1, 0),
        step(copy, SNAP_OCTETS as u32, 0, 0),
        step(copy, 0, 0, 0),
    ];
    let program = libc::sock_fprog {
        len: program.len() as u16,
        filter: program.as_mut_ptr(),
    };
    set_at(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
}

fn set<T>(socket: &OwnedFd, name: libc::c_int, value: &T) -> io::Result<()> {
    set_at(socket, libc::SOL_PACKET, name, value)
}

fn set_at<T>(socket: &OwnedFd, level: libc::c_int, name: libc::c_int, value: &T) -> io::Result<()> {
    // SAFETY: the value has the type that the option takes, and the length is its own.
    let set = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    match set {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn number(octets: &[u8], at: usize) -> Option<u32> {
    let four = octets.get(at..at + 4)?;
    four.try_into().ok().map(u32::from_ne_bytes)
}

fn half(octets: &[u8], at: usize) -> u16 {
    octets
        .get(at..at + 2)
        .and_then(|two| two.try_into().ok())
        .map_or(0, u16::from_ne_bytes)
}

/// `struct tpacket_req3`.
#[repr(C)]
struct Request {
    block_size: u32,
    block_count: u32,
    frame_size: u32,
    frame_count: u32,
    retire_ms: u32,
    private: u32,
    features: u32,
}

const PACKET_RX_RING: libc::c_int = 5;
const PACKET_STATISTICS: libc::c_int = 6;
const PACKET_VERSION: libc::c_int = 10;
const TPACKET_V3: libc::c_int = 2;
const PACKET_OUTGOING: u32 = 4;
/// In `struct tpacket_block_desc`.
const BLOCK_STATUS: usize = 8;
const BLOCK_PACKETS: usize = 12;
const BLOCK_FIRST: usize = 16;
const STATUS_KERNEL: u32 = 0;
const STATUS_USER: u32 = 1;
/// 32 MiB in all, which is about a second at 100,000 packets a second.
const BLOCK_OCTETS: usize = 1 << 18;
const BLOCKS: usize = 128;
const FRAME_OCTETS: u32 = 1 << 11;
/// The time after which the kernel hands over a block that is not full.
const RETIRE_MS: u32 = 50;
/// Enough for the headers, also of a tunnel, and for the first octets, by which a protocol is
/// recognized.
const SNAP_OCTETS: usize = 256;
/// `LINKTYPE_LINUX_SLL2`.
const HEADER_OCTETS: usize = 20;
