/* Records what the programs at both ends of some connections do, by the sockets' cookies: each write and read with
 * its time, and each segment with data that leaves. From these a conversation can be played again. */
#include "reached.h"
#include "recorder.h"
#include "returns.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* How many more steps of a socket are recorded. The sockets are named from outside. */
struct {
	NUMBER(type, MAP_TYPE_HASH);
	NUMBER(map_flags, MAP_NO_PREALLOC);
	NUMBER(max_entries, 4096);
	TYPE(key, u64);
	TYPE(value, u32);
} recorded SEC(".maps");

enum { RING_OCTETS = 1 << 22 };

struct {
	NUMBER(type, MAP_TYPE_RINGBUF);
	NUMBER(max_entries, RING_OCTETS);
} steps SEC(".maps");

/* Steps for which there was no room. */
struct {
	NUMBER(type, MAP_TYPE_PERCPU_ARRAY);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, u64);
} unrecorded SEC(".maps");

typedef struct {
	s64 counter;
} KERNEL atomic64_t;

struct sock_common___cookie {
	atomic64_t skc_cookie;
} KERNEL;

/* A socket that was reached through a packet is not asked for its cookie. Those that are recorded have one. */
INLINE u64 cookie_of(struct sock *sk)
{
	u64 cookie = 0;

	bpf_probe_read_kernel(&cookie, sizeof cookie, &((struct sock_common___cookie *)sk)->skc_cookie);
	return cookie;
}

/* Whether a socket is recorded, and how many steps of it are left. */
INLINE int is_recorded(u64 cookie)
{
	u32 *left = bpf_map_lookup_elem(&recorded, &cookie);

	if (!left || !*left)
		return 0;
	/* The processor that loses a race counts a step too few. */
	--*left;
	return 1;
}

struct sock___pacing {
	unsigned long sk_pacing_rate;
	u32 sk_pacing_status;
} KERNEL;

/* A queue that paces (fq) takes segments at once; a socket that does it itself keeps them. */
INLINE u64 pacing_rate_of(struct sock *sk)
{
	struct sock___pacing *paced = (void *)sk;
	unsigned long rate = 0;
	u32 status = 0;

	bpf_probe_read_kernel(&status, sizeof status, &paced->sk_pacing_status);
	bpf_probe_read_kernel(&rate, sizeof rate, &paced->sk_pacing_rate);
	return status == PACING_NEEDED && rate != ~0UL ? rate : 0;
}

INLINE struct step *step(struct sock *sk, u64 cookie, u8 what, u32 length)
{
	struct step *step = bpf_ringbuf_reserve(&steps, sizeof *step, 0);
	struct tcp_sock *tp = (void *)sk;
	u32 zero = 0;
	u64 *count;

	if (!step) {
		count = bpf_map_lookup_elem(&unrecorded, &zero);
		if (count)
			++*count;
		return 0;
	}
	step->cookie = cookie;
	step->at_ns = bpf_ktime_get_ns();
	step->length = length;
	step->written = READ(tp, write_seq);
	step->sent = READ(tp, snd_nxt);
	step->acknowledged = READ(tp, snd_una);
	step->copied = READ(tp, copied_seq);
	step->data_segs_out = READ(tp, data_segs_out);
	step->segs_out = READ(tp, segs_out);
	step->min_rtt_us = READ(tp, rtt_min.s[0].v);
	step->mss = READ(tp, mss_cache);
	step->cwnd = READ(tp, snd_cwnd);
	step->what = what;
	step->more = 0;
	step->nonagle = read_nonagle(tp);
	step->pacing_rate = pacing_rate_of(sk);
	return step;
}

INLINE int write_ends(struct sock *sk, s32 length, u32 flags)
{
	struct step *said;
	u64 cookie;

	if (sk->sk_protocol != IPPROTO_TCP || length <= 0)
		return 0;
	cookie = bpf_get_socket_cookie(sk);
	if (!is_recorded(cookie))
		return 0;
	said = step(sk, cookie, WHAT_WROTE, length);
	if (!said)
		return 0;
	said->more = !!(flags & MSG_MORE);
	bpf_ringbuf_submit(said, 0);
	return 0;
}

INLINE int read_ends(struct sock *sk, s32 length, u32 flags)
{
	struct step *said;
	u64 cookie;

	if (sk->sk_protocol != IPPROTO_TCP || length <= 0 || (flags & MSG_PEEK))
		return 0;
	cookie = bpf_get_socket_cookie(sk);
	if (!is_recorded(cookie))
		return 0;
	said = step(sk, cookie, WHAT_READ, length);
	if (said)
		bpf_ringbuf_submit(said, 0);
	return 0;
}

SEC("tp_btf/sock_send_length")
int wrote(u64 *context)
{
	return write_ends((void *)context[0], context[1], context[2]);
}

SEC("tp_btf/sock_recv_length")
int read(u64 *context)
{
	return read_ends((void *)context[0], context[1], context[2]);
}

SEC("fexit/tcp_sendmsg")
int sendmsg_returns(u64 *context)
{
	struct msghdr *message = (void *)context[1];

	return write_ends((void *)context[0], context[SENDMSG_RESULT], message->msg_flags);
}

SEC("fexit/tcp_recvmsg")
int recvmsg_returns(u64 *context)
{
	return read_ends((void *)context[0], context[RECVMSG_RESULT], context[RECVMSG_FLAGS]);
}

SEC("tp_btf/net_dev_queue")
int sent(u64 *context)
{
	struct sk_buff *skb = (void *)context[0];
	struct sock *sk = skb->sk;
	u32 header, payload;
	struct step *said;
	u8 octets[20];
	u64 cookie;

	if (!sk || sk->__sk_common.skc_state == STATE_TIME_WAIT || sk->__sk_common.skc_state == STATE_NEW_SYN_RECV)
		return 0;
	if (sk->sk_protocol != IPPROTO_TCP)
		return 0;
	if (skb->truesize == TRUESIZE_PURE_ACK) {
		cookie = cookie_of(sk);
		said = is_recorded(cookie) ? step(sk, cookie, WHAT_ACKED, 0) : 0;
		if (said)
			bpf_ringbuf_submit(said, 0);
		return 0;
	}
	if (bpf_probe_read_kernel(octets, sizeof octets, skb->head + skb->transport_header))
		return 0;
	/* In a tunnel an outer header stands here. */
	if (*(u16 *)octets != __builtin_bswap16(sk->__sk_common.skc_num) ||
	    *(u16 *)(octets + 2) != sk->__sk_common.skc_dport)
		return 0;
	header = skb->transport_header - (u32)(skb->data - skb->head) + (octets[12] >> 4) * 4;
	payload = skb->len - header;
	if ((s32)payload <= 0)
		return 0;
	cookie = cookie_of(sk);
	if (!is_recorded(cookie))
		return 0;
	said = step(sk, cookie, WHAT_SENT, payload);
	if (!said)
		return 0;
	said->written = __builtin_bswap32(*(u32 *)(octets + 4)) + payload;
	bpf_ringbuf_submit(said, 0);
	return 0;
}
