/* What the recorder's programs and `src/recorder/` agree upon. */
#pragma once
#include "kernel.h"

enum what {
	WHAT_WROTE = 1, /* a write has ended */
	WHAT_READ = 2,  /* a read has ended */
	WHAT_SENT = 3,  /* a segment with data is on its way to the device */
	WHAT_ACKED = 4, /* a bare acknowledgment is */
};

/* Times are the monotonic clock's. Sequence numbers are those of the wire, so that both ends of a connection speak
 * of the same octets. */
struct step {
	u64 cookie;
	u64 at_ns;
	u32 length;        /* octets written, read, or sent */
	u32 written;       /* write_seq; of a segment that was sent, its end */
	u32 sent;          /* snd_nxt */
	u32 acknowledged;  /* snd_una */
	u32 copied;        /* copied_seq: the program has read until here */
	u32 data_segs_out;
	u32 segs_out;
	u32 min_rtt_us;
	u32 mss;
	u32 cwnd;          /* in segments */
	u8 what;
	u8 more;           /* the write said MSG_MORE */
	u8 nonagle;
	u8 unused[5];
	u64 pacing_rate;   /* octets a second at which the socket lets segments leave; 0: as soon as they may */
};
