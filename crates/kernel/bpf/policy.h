/* What a send policy sees, as the traits `Rule` and `Vars` of the simulator's engine have it: a policy is one small
 * file that defines `struct memory`, `decide` and what it observes, and then includes frame.h. Sizes are in octets,
 * and sequence numbers are the connection's own. */
#pragma once
#include "../../host/bpf/kernel.h"

enum verdict { SEND, HOLD };

/* The sender's variables at the time of a decision. */
struct vars {
	u32 una;
	u32 nxt;
	u32 written;           /* one past the last octet that the program handed over */
	u32 mss;
	u8 is_idle;            /* nothing sent is unacknowledged, the pass's full segments included */
	u8 more_to_come;       /* the write under way has more to copy, or MSG_MORE was given */
};

/* A runt that could leave now. */
struct offer {
	u32 len;
	u32 outstanding_on_entry; /* unacknowledged when this pass began */
	u8 empties;               /* whether nothing unsent is left behind it; if not, the peer's window cut it */
	u8 idle_on_entry;         /* whether nothing was unacknowledged when this pass began */
	u8 pass_over_mss;         /* whether this pass began with more than one MSS to send */
};

/* A piece of a write that reached the send buffer: all of it, or what there was space for. */
struct piece {
	u32 buffered;      /* in the send buffer, unacknowledged octets included */
	u32 mss;
	u32 written;
	u8 more_to_come;
	u8 more_on_entry;  /* whether the piece before this one left its write unfinished */
	u32 pieces_before; /* of the same write */
};

/* What left since the policy was last told, up to this end. */
struct sent {
	u32 end;
	u32 buffered; /* in the send buffer when it left */
	u32 mss;
	u8 is_short;  /* whether the last segment of it was below the MSS */
};
