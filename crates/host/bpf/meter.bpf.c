/* Measures turns on sockets that are named by cookie: from the first write after a read to the next read that
 * brings data. Of a client that is how long it waits for an answer; of a server, how long its peer takes to ask
 * again. */
#include "meter.h"
#include "returns.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct {
	NUMBER(type, MAP_TYPE_HASH);
	NUMBER(map_flags, MAP_NO_PREALLOC);
	NUMBER(max_entries, 1 << 20);
	TYPE(key, u64);
	TYPE(value, u64); /* when it wrote, in nanoseconds; 0: it has read since */
} measured SEC(".maps");

enum { RING_OCTETS = 1 << 21 };

struct {
	NUMBER(type, MAP_TYPE_RINGBUF);
	NUMBER(max_entries, RING_OCTETS);
} turns SEC(".maps");

/* Turns for which there was no room. */
struct {
	NUMBER(type, MAP_TYPE_PERCPU_ARRAY);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, u64);
} unmeasured SEC(".maps");

INLINE int write_ends(struct sock *sk, s32 length)
{
	u64 cookie, *wrote_ns;

	if (sk->sk_protocol != IPPROTO_TCP || length <= 0)
		return 0;
	cookie = bpf_get_socket_cookie(sk);
	wrote_ns = bpf_map_lookup_elem(&measured, &cookie);
	if (wrote_ns && !*wrote_ns)
		*wrote_ns = bpf_ktime_get_ns();
	return 0;
}

INLINE int read_ends(struct sock *sk, s32 length, u32 flags)
{
	u64 cookie, *wrote_ns, *count;
	struct turn *turn;
	u32 zero = 0;

	if (sk->sk_protocol != IPPROTO_TCP || length <= 0 || (flags & MSG_PEEK))
		return 0;
	cookie = bpf_get_socket_cookie(sk);
	wrote_ns = bpf_map_lookup_elem(&measured, &cookie);
	if (!wrote_ns || !*wrote_ns)
		return 0;
	turn = bpf_ringbuf_reserve(&turns, sizeof *turn, 0);
	if (turn) {
		turn->cookie = cookie;
		turn->wrote_ns = *wrote_ns;
		turn->read_ns = bpf_ktime_get_ns();
		bpf_ringbuf_submit(turn, 0);
	} else {
		count = bpf_map_lookup_elem(&unmeasured, &zero);
		if (count)
			(*count)++;
	}
	*wrote_ns = 0;
	return 0;
}

SEC("tp_btf/sock_send_length")
int wrote(u64 *context)
{
	return write_ends((void *)context[0], context[1]);
}

SEC("tp_btf/sock_recv_length")
int read(u64 *context)
{
	return read_ends((void *)context[0], context[1], context[2]);
}

SEC("fexit/tcp_sendmsg")
int sendmsg_returns(u64 *context)
{
	return write_ends((void *)context[0], context[SENDMSG_RESULT]);
}

SEC("fexit/tcp_recvmsg")
int recvmsg_returns(u64 *context)
{
	return read_ends((void *)context[0], context[RECVMSG_RESULT], context[RECVMSG_FLAGS]);
}
