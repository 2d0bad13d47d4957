/* The hand of `tinygram set` and `tinygram cure`: walks over the TCP sockets of a network namespace,
 * whoever owns them, and reports them or sets an option of those that are named by their cookies. */
#include "values.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

static long (*bpf_seq_write)(void *seq, const void *data, u32 length) = (void *)127;

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
} KERNEL;

struct bpf_iter__tcp {
	struct bpf_iter_meta *meta;
	struct sock_common *sk_common;
} KERNEL;

struct inode {
	unsigned long i_ino;
} KERNEL;

struct socket {
	u32 type;
} KERNEL;

struct socket_alloc {
	struct socket socket;
	struct inode vfs_inode;
} KERNEL;

struct {
	NUMBER(type, 2 /* array */);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct order);
} orders SEC(".maps");

/* In the order of their cookies: a search in an array costs less than to fill a hash table and to empty it. */
struct {
	NUMBER(type, 2 /* array */);
	NUMBER(max_entries, MOST_CHANGES);
	TYPE(key, u32);
	TYPE(value, struct change);
} changes SEC(".maps");

/* When a socket's program has set each option (`place_of`) last, since the hook was attached; 0: never. */
enum { OPTIONS = 5 };

struct times {
	u64 set_ns[OPTIONS];
};

struct {
	NUMBER(type, MAP_TYPE_SK_STORAGE);
	NUMBER(map_flags, MAP_NO_PREALLOC);
	TYPE(key, s32);
	TYPE(value, struct times);
} set_by_program SEC(".maps");

/* The process that walks: what it sets itself is not its program's. */
struct {
	NUMBER(type, 2 /* array */);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, u32);
} walker SEC(".maps");

enum { TCP_DELACK_MAX_US = 46 };

/* Returns where the option's time is; OPTIONS: it has none. */
INLINE u32 place_of(u32 option)
{
	switch (option) {
	case OPTION_NODELAY: return 0;
	case OPTION_CONGESTION: return 1;
	case OPTION_NOTSENT_LOWAT: return 2;
	case TCP_DELACK_MAX_US: /* the program's name for the same variable */
	case OPTION_DELACK_MAX: return 3;
	case OPTION_CORK: return 4;
	}
	return OPTIONS;
}

/* Returns where it is noted when the program has set the option; 0: nowhere. */
INLINE u64 *time_of(void *sk, u32 option, u64 flags)
{
	u32 place = place_of(option);
	struct times *times;

	if (place >= OPTIONS)
		return 0;
	times = bpf_sk_storage_get(&set_by_program, sk, 0, flags);
	return times ? &times->set_ns[place] : 0;
}

/* Returns whether the program has set the option after this time, and since the hook was attached. */
INLINE int is_set_by_program(struct tcp_sock *tp, u32 option, u64 since_ns)
{
	u64 *set_ns = time_of(tp, option, 0);

	return set_ns && *set_ns > since_ns;
}

/* What its program does from now on counts. */
INLINE void forget_program(struct tcp_sock *tp, u32 option)
{
	u64 *set_ns = time_of(tp, option, 0);

	if (set_ns)
		*set_ns = 0;
}

/* Returns the number of the descriptor's inode, as /proc/PID/fd shows it. */
INLINE u64 inode_of(struct sock___hand *sk)
{
	const void *socket = sk->sk_socket;
	unsigned long inode = 0;
	u32 at;

	if (!socket)
		return 0;
	at = FIELD_INFO(((struct socket_alloc *)0)->vfs_inode, 0) - FIELD_INFO(((struct socket_alloc *)0)->socket, 0)
	   + FIELD_INFO(((struct inode *)0)->i_ino, 0);
	bpf_probe_read_kernel(&inode, sizeof(inode), socket + at);
	return inode;
}

/* Returns whether it sent or received data, or was opened, within so many jiffies. */
INLINE int has_moved(struct tcp_sock *tp, u32 within)
{
	u32 now = bpf_jiffies64();

	return now - ((struct tcp_sock___hand *)tp)->lsndtime <= within
	    || now - tp->inet_conn.icsk_ack.lrcvtime <= within;
}

INLINE int report(struct bpf_iter__tcp *ctx, struct tcp_sock *tp, struct sock_common *skc)
{
	struct socket_record record = {};
	struct sock___hand *sk = (struct sock___hand *)tp;
	struct inet_connection_sock___hand *icsk = (struct inet_connection_sock___hand *)tp;
	struct cgroup *group = sk->sk_cgrp_data.cgroup;

	record.cookie = bpf_get_socket_cookie(tp);
	record.inode = inode_of(sk);
	if (group && group->kn)
		record.cgroup = group->kn->id;
	record.netns = skc->skc_net.net->ns.inum;
	record.delack_max = icsk->icsk_delack_max;
	record.notsent_lowat = ((struct tcp_sock___hand *)tp)->notsent_lowat;
	record.data_segs_out = tp->data_segs_out;
	record.data_segs_in = tp->data_segs_in;
	record.local_port = skc->skc_num;
	record.remote_port = __builtin_bswap16(skc->skc_dport);
	record.state = skc->skc_state;
	record.nonagle = nonagle_of(tp);
	record.is_v6 = skc->skc_family == AF_INET6;
	record.is_corked_by_program = is_set_by_program(tp, OPTION_CORK, 0);
	if (record.is_v6) {
		bpf_probe_read_kernel(record.local, 16, &skc->skc_v6_rcv_saddr);
		bpf_probe_read_kernel(record.remote, 16, &skc->skc_v6_daddr);
	} else {
		*(u32 *)record.local = skc->skc_rcv_saddr;
		*(u32 *)record.remote = skc->skc_daddr;
	}
	name_of(tp, record.congestion);
	bpf_seq_write(ctx->meta->seq, &record, sizeof(record));
	return 0;
}

INLINE void set(struct bpf_iter__tcp *ctx, struct tcp_sock *tp, u32 option, const struct change *change)
{
	struct change_record record = {};
	long error;

	record.cookie = bpf_get_socket_cookie(tp);
	read_value(tp, option, &record.before);
	if (change->gives_way && is_set_by_program(tp, option, change->since_ns)) {
		record.result = RESULT_GAVE_WAY;
		record.after = record.before;
	} else if (change->only_if && !equal(&record.before, &change->expected)) {
		record.result = RESULT_DIFFERS;
		record.after = record.before;
	} else {
		forget_program(tp, option);
		error = set_value(tp, option, &change->to, change->argument);
		read_value(tp, option, &record.after);
		record.error = error;
		record.result = error ? RESULT_REFUSED : RESULT_CHANGED;
	}
	bpf_seq_write(ctx->meta->seq, &record, sizeof(record));
}

/* Returns the change of the socket, if there is one. */
INLINE struct change *change_of(u64 cookie, u32 count)
{
	u32 low = 0, high = count;

	/* MOST_CHANGES is halved as often. */
	for (int i = 0; i <= 16 && low < high; i++) {
		u32 middle = (low + high) / 2;
		struct change *change = bpf_map_lookup_elem(&changes, &middle);

		if (!change)
			return 0;
		if (change->cookie == cookie)
			return change;
		if (change->cookie < cookie)
			low = middle + 1;
		else
			high = middle;
	}
	return 0;
}

SEC("iter/tcp")
int sweep(struct bpf_iter__tcp *ctx)
{
	struct sock_common *skc = ctx->sk_common;
	struct tcp_sock *tp;
	struct order *order;
	struct change *change;
	u32 zero = 0;
	u32 tgid = bpf_get_current_pid_tgid() >> 32;
	u64 cookie;

	if (!skc) {
		bpf_map_update_elem(&walker, &zero, &tgid, 0);
		return 0;
	}
	/* Neither a request nor what is left in TIME-WAIT. */
	tp = bpf_skc_to_tcp_sock(skc);
	order = bpf_map_lookup_elem(&orders, &zero);
	if (!tp || !order)
		return 0;
	if (!order->option)
		return order->within && !has_moved(tp, order->within) ? 0 : report(ctx, tp, skc);
	cookie = bpf_get_socket_cookie(tp);
	change = change_of(cookie, order->changes);
	if (!change || change->is_done)
		return 0;
	set(ctx, tp, order->option, change);
	change->is_done = 1;
	return 0;
}

/* `struct bpf_sockopt`, which programs know by this layout. */
struct bpf_sockopt {
	struct sock *sk;
	void *value;
	void *value_end;
	s32 level;
	s32 option;
	s32 length;
	s32 result;
};

enum { LEAST_PAGE = 4096 };  /* the kernel copies a page of a value at most */

/* A program sets an option. This only takes a note of it. */
SEC("cgroup/setsockopt")
int notice(struct bpf_sockopt *ctx)
{
	u32 zero = 0, *own = bpf_map_lookup_elem(&walker, &zero);
	u64 *set_ns;

	/* A value that the kernel did not copy as a whole is taken from the program. Any other may have been changed by
	 * somebody else's hook (`tinygram run --cgroup`), whose word counts. */
	if (ctx->length > LEAST_PAGE)
		ctx->length = 0;
	if (ctx->level != IPPROTO_TCP || (own && *own == (u32)(bpf_get_current_pid_tgid() >> 32)))
		return 1;
	set_ns = time_of(ctx->sk, ctx->option, STORAGE_CREATE);
	if (set_ns)
		*set_ns = bpf_ktime_get_ns();
	return 1;
}
