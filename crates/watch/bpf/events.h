/* What the programs say: the records of the ring buffer. crates/watch/src/kernel/record.rs has the same. */
#pragma once

enum what {
	EVENT_HOLD = 1,
	EVENT_AFTER = 2,
	EVENT_TALLY = 3,
	EVENT_LATE_ACK = 4,
	EVENT_STACK = 5,
	EVENT_SEEN = 6,
	EVENT_DELAYED_ACK = 7,
};

/* Why octets wait. From REASON_CWND on it is no rule about short segments. */
enum reason {
	REASON_NAGLE = 1,
	REASON_CORK = 2,
	REASON_MORE = 3,
	REASON_AUTOCORK = 4,
	REASON_CWND = 5,
	REASON_WINDOW = 6,
	REASON_OTHER = 7,
};

/* What ended a hold. */
enum ended_by {
	ENDED_ACK = 1,
	ENDED_CLOSE = 2,
	ENDED_OPTION = 3,
	ENDED_WRITE = 4,
	ENDED_LOSS_PROBE = 5,
	ENDED_TIMER = 6,
	ENDED_NEVER = 7,
};

/* What the connection saw next. */
enum after {
	AFTER_ANSWER = 1,
	AFTER_WRITE = 2,
	AFTER_PEERS_CLOSE = 3,
	AFTER_CLOSE = 4,
};

/* When a tally is said: at a write, once so many were counted and so much time has passed. */
enum { TALLY_SEGMENTS = 16, TALLY_WRITES = 16, TALLY_NS = 1000000000 };

/* Acknowledgments are timed from a connection's first segments on, and again once one was late. */
enum { YOUNG_SEGMENTS = 16 };

/* Writes so close to each other could have been one. */
enum { CLOSE_NS = 10000000 };

union address {
	u32 v4;
	struct in6_addr v6;
};

/* Who opened a connection: what is accepted has its listener's backlog, and what connects has none. */
enum { OPENED_KNOWN = 1, OPENED_BY_PEER = 2 };

struct ends {
	u64 cookie;
	union address local;
	union address remote;
	u32 netns;
	u32 mss;
	u32 srtt_us;
	u32 min_rtt_us;
	u16 family;
	u16 local_port;
	u16 remote_port;
	u16 opened;
};

struct hold {
	u32 what;
	u32 uid;
	struct ends ends;
	u64 writer;
	u64 cgroup;
	u64 start_ns;
	u64 end_ns;
	u32 serial;
	u32 held;
	u32 behind;
	u32 packets;
	u32 writes;
	u8 reason;
	u8 ended_by;
	u8 nonagle;
	u8 slept;      /* the thread has slept while it lasted; known of a tree only */
	char comm[16];
};

/* Where a write was made: the registers and the stack of the thread at its call, while the hold that it
 * begins is on; and, of a thread that runs Python, the interpreter's own frames, the innermost first. */
enum { STACK_OCTETS = 32768, PYTHON_FRAMES = 12 };

struct python_frame {
	u64 code;         /* the code object */
	u64 instruction;  /* in it */
};

struct stack {
	u32 what;
	u32 serial;       /* of the hold */
	u64 cookie;
	u64 writer;
	u64 instruction;
	u64 stack;        /* where the octets stood */
	u64 frame;        /* the frame pointer */
	u64 link;         /* the link register, where there is one */
	u32 length;
	u32 frames;
	struct python_frame python[PYTHON_FRAMES];
	u8 octets[STACK_OCTETS];
};

/* Where a thread that runs Python has its frames: offsets in octets, which the version decides. */
struct python {
	u64 thread_state;
	u16 current;      /* in the thread's state: the frame, or what points to it */
	u16 indirect;     /* in what points to it; NOWHERE if nothing does */
	u16 code;         /* in a frame */
	u16 previous;
	u16 instruction;
	u16 unused[3];
};

enum { NOWHERE = 0xffff };

struct aftermath {
	u32 what;
	u32 after;
	u64 cookie;
	u64 serial;
};

struct tally {
	u32 what;
	u32 uid;
	struct ends ends;
	u64 writer;
	u64 cgroup;
	u64 start_ns;
	u64 end_ns;
	u64 bytes;
	u32 segments;
	u32 writes;
	u32 turns;
	u32 short_holds;
	u32 close;
	u32 nonagle;
	u32 slower;
	u32 unseen;   /* segments of the connection before it was looked at */
	char comm[16];
};

struct late_ack {
	u32 what;
	u32 uid;
	struct ends ends;
	u64 reader;
	u64 cgroup;
	u64 ack_ns;
	u64 read_ns;
	u32 late_us;   /* from the last read to the acknowledgment */
	u32 length;
	u32 before;    /* octets read since the last write before that */
	u16 answered;
	u16 bound_ms;  /* no timer of this receiver delays an acknowledgment for longer; 0: not known */
	char comm[16];
};

/* The same while it is not known whether it is answered. */
struct late {
	u64 ack_ns;
	u64 read_ns;
	u32 late_us;
	u32 length;
	u32 before;
	u32 min_rtt_us;
	u32 mss;
	u32 bound_ms;
};

/* A receiver's timer of delayed acknowledgments has expired. */
struct delayed_ack {
	u32 what;
	u32 unread;   /* octets that the program could have read and had not */
	struct ends ends;
	u64 at_ns;
};

/* What was seen of one end of a connection: said at its first write, and when it ends. */
struct seen {
	u32 what;
	u32 uid;
	struct ends ends;
	u64 writer;     /* who wrote first */
	u64 cgroup;
	u32 writes;
	u32 segments;   /* sent since the first write that was seen */
	u32 segments_before;
	u32 ended;
	char comm[16];
};

/* What was seen in all, counted on each processor apart: a line of the cache each. */
enum { MOST_PROCESSORS = 256 };

struct totals {
	u64 connections;  /* that began */
	u64 writes;
	u64 segments;     /* sent; what offload joins counts once */
	u64 unused[5];
};
