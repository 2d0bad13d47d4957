/* What the hand's programs and `src/hand/record.rs` agree upon; both assert the same sizes and offsets. */
#pragma once
#include "kernel.h"

enum { NAME_LENGTH = 16 };

/* The options, by the numbers that `bpf_setsockopt` takes. */
enum option {
	OPTION_NODELAY = 1,
	OPTION_CORK = 3, /* which the kernel takes from a descriptor's owner alone */
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
	u32 netns;
	u32 delack_max;     /* in jiffies */
	u32 notsent_lowat;  /* 0: the namespace's */
	u32 data_segs_out;
	u16 local_port;
	u16 remote_port;
	u8 local[16];
	u8 remote[16];
	char congestion[NAME_LENGTH];
	u8 state;
	u8 nonagle;
	u8 is_v6;
	u8 is_corked_by_program; /* its program has set TCP_CORK since the hook was attached */
	u32 data_segs_in;
	u8 unused[4];
};

/* What shall be done to a socket. */
struct change {
	u64 cookie;
	union value to;
	union value expected;  /* where `only_if` is set, another value is left alone */
	u32 argument;          /* the number that the option takes, if it is not the one that is kept */
	u8 only_if;
	u8 gives_way;          /* where its program has set the option since it was changed first, it is left alone */
	u8 is_done;            /* the walk has met the socket, and may meet it again */
	u8 unused;
	u64 since_ns;          /* when it was changed first, for `gives_way` */
};

enum result {
	RESULT_CHANGED = 0,
	RESULT_DIFFERS = 1,  /* from what was expected */
	RESULT_REFUSED = 2,  /* by the kernel: `error` */
	RESULT_GAVE_WAY = 3, /* to its program, which has set the option since */
};

/* What was done to a socket. */
struct change_record {
	u64 cookie;
	union value before;
	union value after;
	s32 error;
	u32 result;
};

/* The most sockets that one sweep changes. */
enum { MOST_CHANGES = 1 << 16 };

/* What a sweep is for. */
struct order {
	u32 option;   /* 0: report sockets */
	u32 changes;  /* how many there are */
	u32 within;   /* report those alone that sent or received data in as many jiffies; 0: all */
};

#define AT(type, field, offset) _Static_assert(__builtin_offsetof(type, field) == (offset), #field)
AT(struct socket_record, local, 44);
AT(struct socket_record, congestion, 76);
AT(struct socket_record, state, 92);
_Static_assert(sizeof(struct socket_record) == 104, "socket_record");
AT(struct change, argument, 40);
AT(struct change, since_ns, 48);
_Static_assert(sizeof(struct change) == 56, "change");
AT(struct change_record, error, 40);
_Static_assert(sizeof(struct change_record) == 48, "change_record");
