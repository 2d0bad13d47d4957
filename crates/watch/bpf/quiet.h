/* Which sockets show nothing of interest, by what costs least to look at. */
#pragma once
#include "conversation.h"

/* Whether the socket's storage is worth a look: only then may it have a conversation. Programs of
 * other loaders may keep something there, too. */
INLINE int is_known(struct sock *sk)
{
	return sk->sk_bpf_storage != 0;
}

/* Whether little is sent in many segments, and more than one after another. Requests and answers in
 * turn are not: each is acknowledged by the other. */
INLINE int may_flood(struct tcp_sock *tp)
{
	u32 segments = tp->data_segs_out;

	return (tp->packets_out > 1 || segments > 2 * tp->data_segs_in + TALLY_SEGMENTS) &&
	       tp->bytes_sent < (u64)segments * (tp->mss_cache / 2);
}

/* Whether a write can have left nothing to look at, by the socket's own fields alone. Each call of the kernel's
 * costs as much as all of this where returns are guarded, and the call that gives TCP's fields is one. A flood each
 * segment of which is acknowledged before the next shows in TCP's fields alone: these are looked at in four of 32
 * ticks of the clock, because the writes of a flood follow each other closely. */
INLINE int is_quiet(struct sock *sk)
{
	struct rb_node *on_the_way;

	if (sk->sk_write_queue.qlen)
		return 0;
	on_the_way = sk->tcp_rtx_queue.rb_node;
	if (on_the_way && (on_the_way->rb_left || on_the_way->rb_right))
		return 0;
	return (bpf_jiffies64() & 31) >= 4;
}

/* Whether nothing was found for a while: the conversation can be forgotten, until something is. */
INLINE int is_dull(const struct conversation *talk, struct tcp_sock *tp)
{
	return talk->tally_writes >= TALLY_WRITES && !talk->tally_close && !talk->hold.serial &&
	       !talk->late_ack_ns && !may_flood(tp);
}

/* The same for a socket that reads and never writes. */
INLINE int is_dull_reader(const struct conversation *talk, struct tcp_sock *tp)
{
	return tp->data_segs_in > YOUNG_SEGMENTS && !talk->tally_ns && !talk->tally_writes && !talk->hold.serial &&
	       !talk->late_ack_ns;
}
