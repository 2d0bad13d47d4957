/* What `follow.bpf.c` and `src/follow/record.rs` agree upon; both assert the same sizes and offsets. */
#pragma once
#include "values.h"

enum {
	MOST_SETTINGS = 4,
	MOST_PEERS = 8,
};

/* Which connections are followed; what does not apply is 0. */
enum rule_kind {
	RULE_LOCAL_PORT = 1,   /* netns, port */
	RULE_REMOTE_PORT = 2,  /* netns, port */
	RULE_PROCESS = 3,      /* id: that of the process that connects */
	RULE_NAMESPACE = 4,    /* netns */
	RULE_GROUP = 5,        /* id: a control group's, with those below it */
};

struct rule {
	u32 netns;
	u16 port;
	u16 kind;
	u64 id;
};

struct setting {
	union value to;
	u32 option;
	u32 argument; /* the number that the option takes, if it is not the one that is kept */
};

/* The other ends that are meant: those whose address and port, masked, are these. */
struct peer {
	u32 address[4]; /* IPv4 as ::ffff:a.b.c.d */
	u32 mask[4];
	u16 port; /* 0: any */
	u16 unused[3];
};

struct order_to_follow {
	struct setting settings[MOST_SETTINGS];
	struct peer peers[MOST_PEERS];
	u32 setting_count;
	u32 peer_count; /* 0: any */
};

enum follow_event {
	FOLLOW_OPENED = 1, /* `values` are those that it has */
	FOLLOW_DONE = 2,   /* `values` are those that it had; `results` and `errors` hold */
	FOLLOW_CLOSED = 3,
	FOLLOW_LISTENS = 4, /* a program: on `local_port` */
};

struct follow_record {
	u64 cookie;
	u32 netns;
	u32 event;
	union value values[MOST_SETTINGS];
	u32 results[MOST_SETTINGS]; /* enum result */
	s32 errors[MOST_SETTINGS];
	u16 local_port;
	u16 remote_port;
	u32 by_process; /* a process that is followed connected it */
	char program[16]; /* that connected or listens; empty if that is not known */
	u64 at_ns;        /* when it was done */
};

AT(struct rule, id, 8);
_Static_assert(sizeof(struct rule) == 16, "rule");
AT(struct order_to_follow, peers, 96);
_Static_assert(sizeof(struct order_to_follow) == 424, "order_to_follow");
AT(struct follow_record, values, 16);
AT(struct follow_record, errors, 96);
AT(struct follow_record, program, 120);
AT(struct follow_record, at_ns, 136);
_Static_assert(sizeof(struct follow_record) == 144, "follow_record");
