//! The path, the links on it, and how sharply a time can be placed.

use super::origin::Origin;

thresholds! {
    PATH;

    /// What is closer is blurred by timestamping and scheduling.
    FINEST_NS: i64 = 60_000, Nanoseconds, Origin::Measured("the kept corpus");
    /// Two clocks, or two queues of one, may disagree by this much about what came first.
    CLOCK_BLUR_NS: i64 = 50_000, Nanoseconds, Origin::Assumed("less than FINEST_NS");
    /// Round trips below this are a local network's, and a handshake's measure of them is rough.
    LAN_NS: i64 = 2_000_000, Nanoseconds, Origin::Assumed("Ethernet segments answer within a millisecond or two");
    /// A released sender must be scheduled. Busy hosts take this long, and more now and then.
    SCHEDULED_NS: i64 = 1_000_000, Nanoseconds, Origin::Assumed("the odds decide about what is further off");
    /// A held segment that leaves within this time after its ACK, the path and the link left upon it.
    UPON_ACK_NS: i64 = 240_000, Nanoseconds, Origin::Fitted("random captures, and captures judged by hand: four times FINEST_NS");
    /// A round trip to the capture point that is shorter is not worth a word.
    NOTICED_DISTANCE_NS: i64 = 200_000, Nanoseconds, Origin::Assumed("a local network's");
    /// The slowest host that was seen to wake up late, time after time, took 1.4 ms.
    BUSY_HOST_NS: i64 = 2_000_000, Nanoseconds, Origin::Measured("captures judged by hand");
    /// A sender this near the capture point is on the same host. Farther off, a link of 10 Mbit/s takes longer for the
    /// held bytes than a relay does.
    SAME_HOST_NS: i64 = 40_000, Nanoseconds, Origin::Fitted("the recordings with relays");
    /// A kernel on the capturing host sends what an ACK releases within this time, even if its processor slept: within
    /// 97 us nine times of ten. Relays took 70 to 350 us.
    KERNEL_WAKES_NS: i64 = 90_000, Nanoseconds, Origin::Fitted("the recordings with relays");
    /// A kernel that is woken by an ACK sends what waits within this time, if the path does not blur more.
    AT_SIGHT_NS: i64 = 500_000, Nanoseconds, Origin::Assumed("ten times CLOCK_BLUR_NS");
    /// A clock of the program's own ends so near an ACK, on either side of it, once in half as many times.
    BY_ACCIDENT: i64 = 200, Count, Origin::Assumed("one accident in a hundred");
    /// A public address that answers sooner is a relay in the capturing host or beside it. Light travels 200 km and back
    /// in this time; a provider's first router alone takes longer.
    RELAY_NS: i64 = 2_500_000, Nanoseconds, Origin::Fact("the speed of light in fibre");
    /// Network cards take frames of some 16,000 bytes at most; an older Linux had this MSS on its loopback device.
    CARDS_MSS: u16 = 16_396, Bytes, Origin::Kernel("Linux before 3.6, loopback MTU 16,436");
    /// The MSS of the loopback device with IPv4; with IPv6 it is 20 bytes less.
    LOOPBACK_MSS: u16 = 65_495, Bytes, Origin::Kernel("Linux, loopback MTU 65,536");
    /// No Internet path carries more.
    ETHERNET_MSS: u16 = 1_460, Bytes, Origin::Fact("Ethernet's MTU of 1500");
    /// What IPv6's header has more than IPv4's.
    IPV6_EXTRA_BYTES: u16 = 20, Bytes, Origin::Rfc("8200, section 3: 40 bytes, and 20 in RFC 791");
    /// What timestamps take of each segment.
    TIMESTAMP_BYTES: u16 = 12, Bytes, Origin::Rfc("7323, appendix A: 10 bytes, padded to 12");
    /// The shortest full segment with jumbo frames of 9,000 bytes: with all options that are in use.
    JUMBO_LEAST_MSS: u32 = 8_900, Bytes, Origin::Assumed("9,000 less 40 for headers, and 60 for a tunnel or options");
    /// The longest full segment with jumbo frames of 9,000 bytes.
    JUMBO_MOST_MSS: u32 = 8_960, Bytes, Origin::Fact("9,000 less 20 and 20");
    /// No sender's segments are shorter than this when they are full.
    LEAST_MSS: u32 = 88, Bytes, Origin::Kernel("Linux, TCP_MIN_MSS");
    /// No path has more routers, so that a smaller time to live than this was made up.
    MOST_ROUTERS: u8 = 32, Count, Origin::Assumed("paths of more than 30 routers are not seen; systems begin with 64 or more");
    /// What a SYN without the option allows for.
    DEFAULT_MSS: u16 = 536, Bytes, Origin::Rfc("9293, section 3.7.1");
    /// Few paths have a smaller MSS, so that a segment of this length may be full.
    LEAST_FULL_BYTES: u32 = 500, Bytes, Origin::Rfc("9293, section 3.7.1: 536, less options");
    /// The same greatest length this many times in a row is the MSS and no accident.
    SAME_LENGTHS: u8 = 4, Count, Origin::Assumed("three in a row are seen in requests");
    /// The headers of a data segment: Ethernet, IPv4 and TCP with timestamps.
    HEADER_BYTES: u32 = 66, Bytes, Origin::Fact("14 + 20 + 32");
    /// An empty segment without options.
    LEAST_FRAME_BYTES: i64 = 54, Bytes, Origin::Fact("14 + 20 + 20");
    /// Links change: of more bytes than this the older half counts half.
    LINK_MEMORY_BYTES: u32 = 100_000, Bytes, Origin::Assumed("some seventy segments");
    /// A sender does not go back by sixteen megabytes: these are other numbers.
    OTHER_NUMBERS: i32 = -0x0100_0000, Bytes, Origin::Assumed("more than buffers in use hold");
}

/// The times to live with which systems begin: Linux and BSD, Windows, and routers.
pub const FIRST_TTLS: [u8; 3] = [64, 128, 255];
