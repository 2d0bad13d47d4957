/* What `tinygram watch` sees of the kernel's TCP: when a short segment is held back, why, by whose
 * write, until when, and what let it go.
 *
 * After each write (`sock_send_length`) the sender's own variables say whether octets are waiting
 * and which of tcp_write_xmit's tests they failed; a segment's way to the device (`net_dev_queue`)
 * says when they left, whatever brought it about: an acknowledgment, a loss probe, a time-out, an
 * option, a close, in every state of the connection. The next read or write then says whether the
 * peer had answered: whether anybody waited.
 *
 * State is kept in the socket's own storage, so it ends with the socket and is never mistaken for
 * another's. Most sockets show nothing of interest and have no storage: the programs see that at once
 * and look no further. */
#include "../../host/bpf/returns.h"
#include "conversation.h"
#include "delack.h"
#include "ends.h"
#include "quiet.h"
#include "ring.h"
#include "said.h"
#include "seen.h"
#include "settings.h"
#include "stack.h"
#include "tree.h"
#include "unread.h"
#include "view.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* A write begins to append, or goes on: kernels since 6.16. */
SEC("tp_btf/tcp_sendmsg_locked")
int write_goes_on(u64 *context)
{
	struct sock *sk = (void *)context[0];
	struct msghdr *message = (void *)context[1];
	struct conversation *talk = bpf_sk_storage_get(&conversations, sk, 0, 0);

	if (!talk)
		return 0;
	talk->entered_ns = bpf_ktime_get_ns();
	talk->more = !!(message->msg_flags & MSG_MORE);
	return 0;
}

/* A connection begins: its first acknowledgments are timed. */
SEC("tp_btf/inet_sock_set_state")
int state_changes(u64 *context)
{
	struct sock *sk = (void *)context[0];

	if ((s32)context[2] == STATE_ESTABLISHED && sk->sk_protocol == IPPROTO_TCP) {
		COUNT(connections);
		bpf_sk_storage_get(&conversations, sk, 0, STORAGE_CREATE);
	}
	return 0;
}

/* A write of so many octets has ended. */
INLINE int write_ends(struct sock *sk, s32 length)
{
	struct conversation *talk;
	struct tcp_sock *tp;
	struct view v = {};
	u64 now, entered;
	u8 reason, wrote_before;
	int dull;

	if (sk->sk_protocol != IPPROTO_TCP || length <= 0 || !looked_at())
		return 0;
	COUNT(writes);
	if (by_connection)
		count_write(sk);
	if (!tree_only && !is_known(sk) && is_quiet(sk))
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return 0;
	v.nxt = tp->snd_nxt;
	v.written = tp->write_seq;
	if (!tree_only && !is_known(sk) && v.written == v.nxt && !may_flood(tp))
		return 0;
	talk = conversation_of(sk, STORAGE_CREATE);
	if (!talk)
		return 0;
	talk->tally_writes++;
	talk->turn_read = 0;
	/* What has been sent just now bears the time; asking the clock costs as much as the rest. */
	now = v.written == v.nxt ? tp->tcp_mstamp * 1000 : bpf_ktime_get_ns();
	wrote_before = talk->write_ns != 0;
	if (now - talk->write_ns < CLOSE_NS)
		talk->tally_close++;
	talk->write_ns = now;
	entered = talk->entered_ns;
	talk->entered_ns = 0;
	if (talk->holds) {
		/* What is held goes on being held, or has left without being seen (a tunnel). */
		if (!after(v.nxt, talk->from)) {
			talk->until = v.written;
			talk->hold.writes++;
			return 0;
		}
		talk->holds = 0;
	}
	if (talk->late_state & LATE_READ)
		say_late_ack(talk, 1);
	if (talk->ended)
		say_after(talk, after(tp->copied_seq, talk->rcv_nxt) ? AFTER_ANSWER : AFTER_WRITE);
	/* The tally begins anew when it is said. */
	dull = is_dull(talk, tp);
	if (!talk->tally_ns || (talk->tally_writes >= TALLY_WRITES && now - talk->tally_ns > TALLY_NS)) {
		sign(talk);
		say_tally(tp, talk, now);
	}
	if (v.written == v.nxt) {
		if (!tree_only && dull) {
			bpf_sk_storage_delete(&conversations, sk);
			return 0;
		}
		/* Only because what was sent before had been acknowledged already. */
		if (wrote_before && length < tp->mss_cache && !nonagle_of(tp))
			talk->tally_slower++;
		return 0;
	}
	look(&v, sk, tp);
	reason = why(&v, entered ? talk->more : 0);
	if (!reason)
		return 0;
	sign(talk);
	measure(&talk->hold.ends, tp);
	begin(talk, &v, reason, entered ? entered : now);
	if (reason < REASON_CWND && affordable(most_stacks_of(talk), now))
		say_stack(talk->hold.ends.cookie, talk->hold.serial);
	if (tree_only) {
		u64 thread = talk->hold.writer;
		u32 *slept = bpf_map_lookup_elem(&sleeps, &thread), never = 0;

		talk->slept_before = slept ? *slept : 0;
		if (!slept)
			bpf_map_update_elem(&sleeps, &thread, &never, 0);
	}
	return 0;
}

/* Kernels since 6.3. */
SEC("tp_btf/sock_send_length")
int write_ended(u64 *context)
{
	return write_ends((void *)context[0], context[1]);
}

static __attribute__((noinline)) int write_returns(struct sock *sk, s32 length)
{
	return write_ends(sk, length);
}

/* Older ones: the function returns. */
SEC("fexit/tcp_sendmsg")
int sendmsg_returns(u64 *context)
{
	return write_returns((void *)context[0], context[SENDMSG_RESULT]);
}

/* sendfile and splice. */
SEC("fexit/tcp_sendpage")
int sendpage_returns(u64 *context)
{
	return write_returns((void *)context[0], context[SENDPAGE_RESULT]);
}

/* What let a segment go that was held. */
INLINE u8 released_by(const struct conversation *talk, struct tcp_sock *tp, u32 una, u8 nonagle, u32 end, u32 payload, u8 flags)
{
	if (talk->una != una && (talk->hold.reason != REASON_NAGLE || !after(READ(tp, snd_sml), una)))
		return ENDED_ACK;
	if (flags & FLAG_FIN)
		return ENDED_CLOSE;
	if (talk->hold.nonagle != nonagle)
		return ENDED_OPTION;
	if (payload >= talk->hold.ends.mss || after(end, talk->until))
		return ENDED_WRITE;
	if (READ(tp, inet_conn.icsk_pending) == PENDING_LOSS_PROBE)
		return ENDED_LOSS_PROBE;
	return ENDED_TIMER;
}

/* Whether data came last so long ago that an acknowledgment that leaves now is late; but for a
 * socket without a conversation it is not known how late exactly. */
INLINE int comes_late(struct tcp_sock *tp)
{
	u32 now = bpf_jiffies64();

	return now - READ(tp, inet_conn.icsk_ack.lrcvtime) >= least_late_ack_jiffies;
}

/* A segment is on its way to the device. */
SEC("tp_btf/net_dev_queue")
int segment_leaves(u64 *context)
{
	struct sk_buff *skb = (void *)context[0];
	struct sock *sk = skb->sk;
	struct tcp_sock *tp = (void *)sk;
	struct conversation *talk;
	struct view v = {};
	u32 header, payload, end;
	u8 octets[20], reason;
	u64 now;

	if (!sk || sk->__sk_common.skc_state == STATE_TIME_WAIT || sk->__sk_common.skc_state == STATE_NEW_SYN_RECV)
		return 0;
	if (sk->sk_protocol != IPPROTO_TCP)
		return 0;
	COUNT(segments);
	if (!is_known(sk)) {
		/* From now on its acknowledgments are timed. */
		if (!tree_only && skb->truesize == TRUESIZE_PURE_ACK && comes_late(tp)) {
			/* Whoever reads or writes next names it. */
			talk = bpf_sk_storage_get(&conversations, sk, 0, STORAGE_CREATE);
			if (talk)
				talk->late_ack_ns = bpf_ktime_get_ns();
		}
		return 0;
	}
	talk = bpf_sk_storage_get(&conversations, sk, 0, 0);
	if (!talk || (!talk->holds && !talk->read_ns))
		return 0;
	/* Data acknowledges, too. */
	if (!talk->holds && skb->truesize != TRUESIZE_PURE_ACK) {
		talk->read_ns = 0;
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
	/* Nothing but an acknowledgment: is it late? */
	if (!payload && talk->read_ns) {
		now = bpf_ktime_get_ns();
		if (now - talk->read_ns >= least_late_ack_ns) {
			talk->late_state |= LATE_LEFT;
			talk->late_ack_ns = now;
			talk->late_ack_us = (now - talk->read_ns) / 1000;
		}
	}
	talk->read_ns = 0;
	end = __builtin_bswap32(*(u32 *)(octets + 4)) + payload;
	if (!talk->holds || !after(end, talk->from))
		return 0;

	now = bpf_ktime_get_ns();
	v.nxt = end;
	v.una = READ(tp, snd_una);
	v.nonagle = read_nonagle(tp);
	v.mss = talk->hold.ends.mss;
	reason = talk->hold.reason;
	say_hold(talk, end, READ(tp, rcv_nxt), now, released_by(talk, tp, v.una, v.nonagle, end, payload, octets[13]));
	if (reason < REASON_CWND || !v.mss)
		return 0;
	/* A window let some go; what is left may now be held for another reason. */
	look_at_distance(&v, tp, (payload + v.mss - 1) / v.mss);
	reason = why(&v, 0);
	if (reason)
		begin(talk, &v, reason, now);
	return 0;
}

/* Somebody has read. */
INLINE int read_ends(struct sock *sk, s32 length, u32 flags)
{
	struct conversation *talk;
	struct tcp_sock *tp;
	u64 now;

	if (sk->sk_protocol != IPPROTO_TCP || length < 0 || (flags & MSG_PEEK) || !looked_at())
		return 0;
	if (!tree_only && !is_known(sk))
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return 0;
	talk = conversation_of(sk, tree_only ? STORAGE_CREATE : 0);
	if (!talk)
		return 0;
	if (!tree_only && is_dull_reader(talk, tp)) {
		bpf_sk_storage_delete(&conversations, sk);
		return 0;
	}
	if (talk->ended && (!length || after(tp->copied_seq, talk->rcv_nxt)))
		say_after(talk, length ? AFTER_ANSWER : AFTER_PEERS_CLOSE);
	if (!length)
		return 0;
	if (talk->write_ns) {
		talk->write_ns = 0;
		talk->tally_turns++;
	}
	/* When the last segment came, in all likelihood the one that is read. */
	now = tp->tcp_mstamp * 1000;
	if (talk->late_state & LATE_LEFT) {
		if (talk->late_state & LATE_READ)
			say_late_ack(talk, 0);
		talk->late_state = LATE_READ;
		talk->late.min_rtt_us = tp->rtt_min.s[0].v;
		talk->late.mss = tp->mss_cache;
		talk->late.bound_ms = delack_bound_ms(tp);
		talk->late.read_ns = now;
		talk->late.ack_ns = talk->late_ack_ns;
		talk->late.late_us = talk->late_ack_us;
		talk->late.length = length;
		talk->late.before = talk->turn_read;
		sign(talk);
	}
	talk->turn_read += length;
	talk->read_ns = now;
	return 0;
}

SEC("tp_btf/sock_recv_length")
int read_ended(u64 *context)
{
	return read_ends((void *)context[0], context[1], context[2]);
}

SEC("fexit/tcp_recvmsg")
int recvmsg_returns(u64 *context)
{
	return read_ends((void *)context[0], context[RECVMSG_RESULT], context[RECVMSG_FLAGS]);
}

/* The socket ends. */
SEC("tp_btf/tcp_destroy_sock")
int socket_ends(u64 *context)
{
	struct sock *sk = (void *)context[0];
	struct conversation *talk = bpf_sk_storage_get(&conversations, sk, 0, 0);
	struct tcp_sock *tp;
	u64 now;

	if (by_connection)
		say_seen(sk);
	if (!talk)
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return 0;
	now = bpf_ktime_get_ns();
	if (talk->holds)
		say_hold(talk, talk->until, tp->rcv_nxt, now, ENDED_NEVER);
	if (talk->ended)
		say_after(talk, tp->rcv_nxt != talk->rcv_nxt ? AFTER_PEERS_CLOSE : AFTER_CLOSE);
	if (talk->late_state & LATE_READ)
		say_late_ack(talk, 0);
	if (talk->tally_ns)
		say_tally(tp, talk, now);
	return 0;
}

/* A process of the tree makes another. */
SEC("tp_btf/sched_process_fork")
int process_forks(u64 *context)
{
	struct task_struct *parent = (void *)context[0], *child = (void *)context[1];
	u32 process = parent->tgid;
	u8 one = 1;

	if (!bpf_map_lookup_elem(&tree, &process))
		return 0;
	process = child->tgid;
	bpf_map_update_elem(&tree, &process, &one, 0);
	return 0;
}

/* A thread sleeps, and not because another was to run. */
SEC("tp_btf/sched_switch")
int thread_sleeps(u64 *context)
{
	struct task_struct *previous = (void *)context[1];
	u64 thread;
	u32 *slept;

	if (!(u32)context[3])
		return 0;
	thread = (u64)previous->tgid << 32 | (u32)previous->pid;
	slept = bpf_map_lookup_elem(&sleeps, &thread);
	if (slept)
		(*slept)++;
	return 0;
}

/* A timer expires. That of delayed acknowledgments says which acknowledgments were late because of it, and not
 * because a thread read late. */
SEC("tp_btf/timer_expire_entry")
int acknowledgment_is_due(u64 *context)
{
	struct timer_list *timer = (void *)context[0];
	struct inet_connection_sock *none = 0;
	struct delayed_ack *said;
	struct sock *sk;
	struct net *net;
	u8 pending;

	if ((u64)timer->function != delack_timer)
		return 0;
	sk = (void *)timer - FIELD_INFO(none->icsk_delack_timer, 0 /* byte offset */);
	/* The kernel leaves the timer running when data has carried the acknowledgment: then it expires and sends
	 * nothing. */
	pending = READ((struct tcp_sock *)sk, inet_conn.icsk_ack.pending);
	if ((pending & (ACK_SCHEDULED | ACK_BY_TIMER)) != (ACK_SCHEDULED | ACK_BY_TIMER))
		return 0;
	said = event(EVENT_DELAYED_ACK, sizeof *said);
	if (!said)
		return 0;
	__builtin_memset(&said->ends, 0, sizeof said->ends);
	said->unread = unread_of(sk);
	said->at_ns = bpf_ktime_get_ns();
	net = GET(sk, __sk_common.skc_net.net);
	bpf_probe_read_kernel(&said->ends.netns, sizeof said->ends.netns, &net->ns.inum);
	said->ends.family = GET(sk, __sk_common.skc_family);
	said->ends.local_port = GET(sk, __sk_common.skc_num);
	said->ends.remote_port = __builtin_bswap16(GET(sk, __sk_common.skc_dport));
	if (said->ends.family == AF_INET6) {
		said->ends.local.v6 = GET(sk, __sk_common.skc_v6_rcv_saddr);
		said->ends.remote.v6 = GET(sk, __sk_common.skc_v6_daddr);
	} else {
		said->ends.local.v4 = GET(sk, __sk_common.skc_rcv_saddr);
		said->ends.remote.v4 = GET(sk, __sk_common.skc_daddr);
	}
	bpf_ringbuf_submit(said, 0);
	return 0;
}
