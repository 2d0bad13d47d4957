/* What is remembered of a socket. */
#pragma once
#include "settings.h"

/* What was late, of an acknowledgment of ours. */
enum late_state {
	LATE_LEFT = 1,  /* it has left; what came behind it has not been read */
	LATE_READ = 2,  /* that was read; whether it is answered is not known */
};

/* One per socket. The kernel puts it eight octets into a line of the processor's cache: what every write,
 * segment and read looks at stands in the 56 octets of that line, so that looking costs one line. */
struct conversation {
	u64 entered_ns;    /* when the present write began; 0 if not known */
	u64 read_ns;       /* the last read that is not acknowledged yet, as far as is known; else 0 */
	u64 write_ns;      /* the last write; 0: there was a read since */
	u64 tally_ns;      /* since when the tally counts */
	u32 tally_writes;
	u32 tally_close;   /* writes close behind another */
	u32 tally_slower;  /* short writes that a slower acknowledgment would have held */
	u32 tally_turns;
	u32 turn_read;     /* octets read since the last write */
	u8 holds;          /* a hold is on */
	u8 ended;          /* a hold has ended, and what came after is not known yet */
	u8 more;           /* the present write said MSG_MORE */
	u8 late_state;

	struct hold hold;  /* the present one, or the last; its writer is the last that was seen */
	struct late late;  /* data that came right behind a late acknowledgment of ours */
	u64 late_ack_ns;   /* when it left */
	u64 tally_bytes;   /* bytes_sent when the tally began */
	u32 tally_segments;
	u32 tally_short_holds;
	u32 from;          /* the first octet held */
	u32 until;         /* what had been written when it was last looked at */
	u32 una;           /* the oldest octet unacknowledged when the hold began */
	u32 rcv_nxt;       /* what had arrived when the last hold ended */
	u32 late_ack_us;
	u32 ended_serial;  /* which hold that was */
	u32 slept_before;  /* how often the writer had slept when the hold began */
	u32 unseen;        /* segments before the first tally */
};
_Static_assert(__builtin_offsetof(struct conversation, hold) == 56, "one line of the cache");

struct {
	NUMBER(type, MAP_TYPE_SK_STORAGE);
	NUMBER(map_flags, MAP_NO_PREALLOC);
	TYPE(key, s32);
	TYPE(value, struct conversation);
} conversations SEC(".maps");
