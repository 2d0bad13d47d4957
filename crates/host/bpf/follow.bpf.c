/* The connections to come of `tinygram set --follow`: reports each that is opened, and sets its options at the next
 * sample of its round-trip time after the journal has it; reports when it is closed, too. */
#include "follow.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

static long (*bpf_sock_ops_cb_flags_set)(void *ctx, int flags) = (void *)59;

/* The first fields of the kernel's own structure, which programs know by this layout. */
struct bpf_sock_ops {
	u32 op;
	u32 args[4];
	u32 family;
	u32 addresses[10];
	u32 ports[2];
	u32 is_fullsock;
	u32 snd_cwnd;
	u32 srtt_us;
	u32 bpf_sock_ops_cb_flags;
	u32 numbers[20];
	u64 bytes_received;
	u64 bytes_acked;
	struct sock *sk;
};
AT(struct bpf_sock_ops, bpf_sock_ops_cb_flags, 84);
AT(struct bpf_sock_ops, sk, 184);

enum {
	CONNECTS = 3,
	ACTIVE_ESTABLISHED = 4,
	PASSIVE_ESTABLISHED = 5,
	STATE_CHANGE = 10,
	LISTENS = 11,
	RTT_SAMPLE = 12,
	STATE_FLAG = 1 << 2,
	RTT_FLAG = 1 << 3,
	STATE_CLOSE = 7,
	DEEPEST_GROUP = 12,
	MOST_RULES = 4096,
	RING_OCTETS = 1 << 20,
	NO_WAKEUP = 1,
	FORCE_WAKEUP = 2,
};

struct {
	NUMBER(type, 2 /* array */);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct order_to_follow);
} order SEC(".maps");

struct {
	NUMBER(type, MAP_TYPE_HASH);
	NUMBER(max_entries, MOST_RULES);
	TYPE(key, struct rule);
	TYPE(value, u32);
} rules SEC(".maps");

/* Sockets that the journal has. */
struct {
	NUMBER(type, MAP_TYPE_HASH);
	NUMBER(map_flags, MAP_NO_PREALLOC);
	NUMBER(max_entries, 1 << 20);
	TYPE(key, u64);
	TYPE(value, u32);
} approved SEC(".maps");

/* What a socket had when it was reported. */
struct reported {
	union value values[MOST_SETTINGS];
	u32 had_flag;   /* another program's */
	u16 by_process; /* a process that is followed connected it */
	u16 is_opened;  /* and reported */
	char program[16]; /* that connected it */
};

struct {
	NUMBER(type, MAP_TYPE_SK_STORAGE);
	NUMBER(map_flags, MAP_NO_PREALLOC);
	TYPE(key, s32);
	TYPE(value, struct reported);
} reported SEC(".maps");

struct {
	NUMBER(type, MAP_TYPE_RINGBUF);
	NUMBER(max_entries, RING_OCTETS);
} events SEC(".maps");

/* Connections whose beginning could not be reported, and those whose end could not be. */
struct {
	NUMBER(type, MAP_TYPE_PERCPU_ARRAY);
	NUMBER(max_entries, 2);
	TYPE(key, u32);
	TYPE(value, u64);
} unreported SEC(".maps");

struct ends {
	u32 netns;
	u16 local_port;
	u16 remote_port;
	u32 remote[4];
};

INLINE void ends_of(struct tcp_sock *tp, struct ends *ends)
{
	struct sock_common *skc = (struct sock_common *)tp;

	ends->netns = skc->skc_net.net->ns.inum;
	ends->local_port = skc->skc_num;
	ends->remote_port = __builtin_bswap16(skc->skc_dport);
	if (skc->skc_family == AF_INET6) {
		bpf_probe_read_kernel(ends->remote, 16, &skc->skc_v6_daddr);
	} else {
		ends->remote[2] = __builtin_bswap32(0xffff);
		ends->remote[3] = skc->skc_daddr;
	}
}

INLINE int has_rule(u32 netns, u16 kind, u16 port, u64 id)
{
	struct rule rule = {};

	rule.netns = netns;
	rule.kind = kind;
	rule.port = port;
	rule.id = id;
	return !!bpf_map_lookup_elem(&rules, &rule);
}

struct cgroup___levels {
	s32 level;
	struct cgroup *ancestors[DEEPEST_GROUP];
} KERNEL;

INLINE int has_group_rule(struct tcp_sock *tp)
{
	struct cgroup *group = ((struct sock___hand *)tp)->sk_cgrp_data.cgroup;
	struct cgroup *above = 0;
	int level;

	if (!group)
		return 0;
	for (level = 0; level < DEEPEST_GROUP; level++) {
		if (level > ((struct cgroup___levels *)group)->level)
			break;
		bpf_probe_read_kernel(&above, sizeof(above), &((struct cgroup___levels *)group)->ancestors[level]);
		if (above) {
			struct kernfs_node *kn = 0;
			u64 id = 0;

			bpf_probe_read_kernel(&kn, sizeof(kn), &above->kn);
			bpf_probe_read_kernel(&id, sizeof(id), &kn->id);
			if (has_rule(0, RULE_GROUP, 0, id))
				return 1;
		}
	}
	return 0;
}

INLINE int is_peer(const struct order_to_follow *order, const struct ends *ends)
{
	int index, word;

	if (!order->peer_count)
		return 1;
	for (index = 0; index < MOST_PEERS; index++) {
		const struct peer *peer = &order->peers[index];
		u32 differs = 0;

		if (index >= order->peer_count)
			break;
		for (word = 0; word < 4; word++)
			differs |= (ends->remote[word] & peer->mask[word]) ^ peer->address[word];
		if (!differs && (!peer->port || peer->port == ends->remote_port))
			return 1;
	}
	return 0;
}


INLINE int is_by_process(struct sock *sk)
{
	struct reported *was = bpf_sk_storage_get(&reported, sk, 0, 0);

	return was && was->by_process;
}

INLINE int is_followed(const struct order_to_follow *order, struct sock *sk, struct tcp_sock *tp, const struct ends *ends)
{
	if (!is_peer(order, ends))
		return 0;
	return has_rule(ends->netns, RULE_LOCAL_PORT, ends->local_port, 0)
	    || has_rule(ends->netns, RULE_REMOTE_PORT, ends->remote_port, 0)
	    || has_rule(ends->netns, RULE_NAMESPACE, 0, 0)
	    || is_by_process(sk)
	    || has_group_rule(tp);
}

struct task_struct___named {
	char comm[16];
} KERNEL;

/* A thread connects. */
INLINE void connects(struct sock *sk, const struct order_to_follow *order, struct tcp_sock *tp)
{
	struct task_struct *task = bpf_get_current_task_btf();
	int by_process = has_rule(0, RULE_PROCESS, 0, task->tgid);
	struct ends ends = {};
	struct reported *was;

	ends_of(tp, &ends);
	if (!by_process && !is_followed(order, sk, tp, &ends))
		return;
	was = bpf_sk_storage_get(&reported, sk, 0, STORAGE_CREATE);
	if (!was)
		return;
	was->by_process = by_process;
	bpf_probe_read_kernel(was->program, sizeof(was->program), &((struct task_struct___named *)task)->comm);
}

INLINE void not_reported(u32 which)
{
	u64 *count = bpf_map_lookup_elem(&unreported, &which);

	if (count)
		(*count)++;
}

/* Only what is new is urgent: the rest is read at the next look, or when it takes half of the room. */
INLINE u64 when_convenient(void)
{
	return bpf_ringbuf_query(&events, RING_UNREAD) > RING_OCTETS / 2 ? FORCE_WAKEUP : NO_WAKEUP;
}

INLINE void opened(struct bpf_sock_ops *ctx, struct sock *sk, const struct order_to_follow *order, struct tcp_sock *tp)
{
	struct ends ends = {};
	struct follow_record *record;
	struct reported *was;
	int index;

	ends_of(tp, &ends);
	if (!is_followed(order, sk, tp, &ends))
		return;
	was = bpf_sk_storage_get(&reported, sk, 0, STORAGE_CREATE);
	record = was ? bpf_ringbuf_reserve(&events, sizeof(*record), 0) : 0;
	if (!record) {
		not_reported(0);
		return;
	}
	__builtin_memset(record, 0, sizeof(*record));
	record->cookie = bpf_get_socket_cookie(ctx);
	record->netns = ends.netns;
	record->event = FOLLOW_OPENED;
	record->local_port = ends.local_port;
	record->remote_port = ends.remote_port;
	record->by_process = was->by_process;
	__builtin_memcpy(record->program, was->program, sizeof(record->program));
	for (index = 0; index < MOST_SETTINGS; index++) {
		if (index >= order->setting_count)
			break;
		read_value(tp, order->settings[index].option, &record->values[index]);
		was->values[index] = record->values[index];
	}
	was->had_flag = ctx->bpf_sock_ops_cb_flags & RTT_FLAG;
	was->is_opened = 1;
	bpf_ringbuf_submit(record, FORCE_WAKEUP);
	bpf_sock_ops_cb_flags_set(ctx, ctx->bpf_sock_ops_cb_flags | RTT_FLAG | STATE_FLAG);
}

INLINE void sampled(struct bpf_sock_ops *ctx, struct sock *sk, const struct order_to_follow *order, struct tcp_sock *tp)
{
	u64 cookie = bpf_get_socket_cookie(ctx);
	struct reported *was = bpf_sk_storage_get(&reported, sk, 0, 0);
	struct follow_record *record;
	int index;

	if (!was || !bpf_map_lookup_elem(&approved, &cookie))
		return;
	record = bpf_ringbuf_reserve(&events, sizeof(*record), 0);
	if (!record)
		return; /* at the next sample */
	__builtin_memset(record, 0, sizeof(*record));
	record->cookie = cookie;
	record->netns = ((struct sock_common *)tp)->skc_net.net->ns.inum;
	record->event = FOLLOW_DONE;
	record->at_ns = bpf_ktime_get_ns();
	for (index = 0; index < MOST_SETTINGS; index++) {
		const struct setting *setting = &order->settings[index];
		long error;

		if (index >= order->setting_count)
			break;
		read_value(tp, setting->option, &record->values[index]);
		if (!equal(&record->values[index], &was->values[index])) {
			record->results[index] = RESULT_DIFFERS;
			continue;
		}
		error = set_value(ctx, setting->option, &setting->to, setting->argument);
		record->errors[index] = error;
		record->results[index] = error ? RESULT_REFUSED : RESULT_CHANGED;
	}
	bpf_ringbuf_submit(record, when_convenient());
	bpf_map_delete_elem(&approved, &cookie);
	if (!was->had_flag)
		bpf_sock_ops_cb_flags_set(ctx, ctx->bpf_sock_ops_cb_flags & ~RTT_FLAG);
}

INLINE void closed(struct bpf_sock_ops *ctx, struct sock *sk, struct tcp_sock *tp)
{
	struct reported *was = bpf_sk_storage_get(&reported, sk, 0, 0);
	struct follow_record *record;

	if (!was || !was->is_opened)
		return;
	record = bpf_ringbuf_reserve(&events, sizeof(*record), 0);
	if (!record) {
		not_reported(1);
		return;
	}
	__builtin_memset(record, 0, sizeof(*record));
	record->cookie = bpf_get_socket_cookie(ctx);
	record->netns = ((struct sock_common *)tp)->skc_net.net->ns.inum;
	record->event = FOLLOW_CLOSED;
	bpf_ringbuf_submit(record, when_convenient());
}

/* A thread listens: from now on it is known whose connections come in there. */
INLINE void listens(struct tcp_sock *tp)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct follow_record *record;
	struct ends ends = {};

	record = bpf_ringbuf_reserve(&events, sizeof(*record), 0);
	if (!record) {
		not_reported(0);
		return;
	}
	ends_of(tp, &ends);
	__builtin_memset(record, 0, sizeof(*record));
	record->netns = ends.netns;
	record->event = FOLLOW_LISTENS;
	record->local_port = ends.local_port;
	bpf_probe_read_kernel(record->program, sizeof(record->program), &((struct task_struct___named *)task)->comm);
	bpf_ringbuf_submit(record, when_convenient());
}

SEC("sockops")
int follow(struct bpf_sock_ops *ctx)
{
	struct order_to_follow *to_do;
	struct tcp_sock *tp;
	struct sock *sk = ctx->sk;
	u32 zero = 0;

	if (!sk || !(to_do = bpf_map_lookup_elem(&order, &zero)))
		return 1;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return 1;
	switch (ctx->op) {
	case CONNECTS: connects(sk, to_do, tp); break;
	case LISTENS: listens(tp); break;
	case ACTIVE_ESTABLISHED:
	case PASSIVE_ESTABLISHED: opened(ctx, sk, to_do, tp); break;
	case RTT_SAMPLE: sampled(ctx, sk, to_do, tp); break;
	case STATE_CHANGE:
		if (ctx->args[1] == STATE_CLOSE)
			closed(ctx, sk, tp);
		break;
	}
	return 1;
}
