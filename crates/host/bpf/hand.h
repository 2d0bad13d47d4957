/* What the hand's programs and `src/hand/record.rs` agree upon. `tests/layout.rs` compares the two by
 * the object's BTF. */
#pragma once
#include "../../../bpf/kernel.h"

enum { NAME_LENGTH = 16 };

/* The options, by the numbers that `bpf_setsockopt` takes. */
enum option {
	OPTION_NODELAY = 1,
	OPTION_CONGESTION = 13,
	OPTION_NOTSENT_LOWAT = 25,
	OPTION_DELACK_MAX = 1003, /* TCP_BPF_DELACK_MAX */
};

/* The value of an option: a number in its first octets, or a name. A bound of the delayed ACK is in
 * jiffies, as the kernel keeps it. */
union value {
	u32 number;
	char name[NAME_LENGTH];
};

/* A socket, as a sweep that changes nothing reports it. */
struct socket_record {
	u64 cookie;
	u64 inode;          /* 0: no descriptor leads to it */
	u64 cgroup;         /* the ID of its creator's control group */
	u64 bytes_sent;
	u32 netns;
	u32 uid;
	u32 delack_max;     /* in jiffies */
	u32 notsent_lowat;  /* 0: the namespace's */
	u32 data_segs_out;
	u32 data_segs_in;
	u32 srtt_us;        /* eight times the smoothed round trip */
	u16 local_port;
	u16 remote_port;
	u8 local[16];
	u8 remote[16];
	char congestion[NAME_LENGTH];
	u8 state;
	u8 nonagle;
	u8 is_v6;
	u8 unused[5];
};

/* What shall be done to a socket. */
struct change {
	union value to;
	union value expected;  /* where `only_if` is set, another value is left alone */
	u32 argument;          /* the number that the option takes, if it is not the one that is kept */
	u32 only_if;
};

enum result {
	RESULT_CHANGED = 0,
	RESULT_DIFFERS = 1,  /* from what was expected */
	RESULT_REFUSED = 2,  /* by the kernel: `error` */
};

/* What was done to a socket. */
struct change_record {
	u64 cookie;
	union value before;
	union value after;
	s32 error;
	u32 result;
};

/* What a sweep is for. */
struct order {
	u32 option;  /* 0: report every socket */
};
