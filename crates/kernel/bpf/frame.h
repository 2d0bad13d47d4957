/* The frame that every policy stands in: a congestion control that holds runts and leaves all else to the kernel's own.
 *
 * The kernel asks `min_tso_segs` before each round of transmission. There the policy decides, and a runt is held by
 * lowering snd_cwnd to what is in flight and the full segments that may leave. The next callback of any kind puts the
 * true window back. Nothing is called between the round and the kernel's look at whether the window limited it, so that
 * look is mistaken after a hold, and the frame looks for itself (window.h): the base's growth is called only where the
 * true window was the limit.
 *
 * A hold is made only while something is in flight, nothing is lost or selectively acknowledged, and the connection is
 * open in this direction. So an acknowledgment ends it, or a loss probe, or the retransmission timer, each of which
 * begins another round. */
#pragma once
#include "base.h"
#include "run.h"
#include "socket.h"
#include "state.h"
#include "window.h"

#ifndef INCLUDES_MORE
#define INCLUDES_MORE 0
#endif
#ifndef TAKES_WINDOW_CUTS
#define TAKES_WINDOW_CUTS 0
#endif
#ifndef NEVER_HOLDS
#define NEVER_HOLDS 0
#endif

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Whether this kernel tells where writes begin (tcp_sendmsg_locked, since 6.16) or only where calls end. */
const volatile u32 sees_writes = 1;

/* Whether the kernel tells apart that sending begins. The loader sets it, and what is never called is left out. */
const volatile u32 starts_apart = 0;

struct iov_iter {
	unsigned long count;
} KERNEL;

struct msghdr___frame {
	struct iov_iter msg_iter;
	u32 msg_flags;
} KERNEL;

/* Tells the policy what left since it was last told. */
INLINE void tell_what_left(struct state *state, struct tcp_sock *tp)
{
	u32 nxt = tp->snd_nxt, mss = tp->mss_cache;
	struct sent sent = {};

	if (nxt == state->seen_nxt || !mss)
		return;
	sent.end = nxt;
	sent.mss = mss;
	sent.buffered = state->round_written - state->round_una;
	sent.is_short = (nxt - state->seen_nxt) % mss != 0;
	state->seen_nxt = nxt;
	segments_sent(&state->memory, &sent);
}

/* Puts the true window back, and takes note of what happened since the last callback. */
INLINE void catch_up(struct state *state, struct tcp_sock *tp)
{
	u32 mss = tp->mss_cache;

	window_restored(&state->window, tp, mss ? (tp->snd_nxt - state->seen_nxt + mss - 1) / mss : 0);
	tell_what_left(state, tp);
}

/* Whether the write that a piece belongs to has more to copy: its thread is in the call, or sleeps there for space. */
INLINE int is_writing(struct state *state, struct tcp_sock *tp)
{
	return after(state->write_end, tp->write_seq) && !state->call_is_over
	    && (LAYER(tp)->sk_lock.owned || LAYER(tp)->sk_write_pending);
}

INLINE void begin_pass(struct state *state, struct tcp_sock *tp)
{
	state->entry_nxt = tp->snd_nxt;
	state->entry_outstanding = tp->snd_nxt - tp->snd_una;
	state->entry_idle = !tp->packets_out;
}

/* Tells the policy of a piece that is in the send buffer. */
INLINE void tell_piece(struct state *state, struct tcp_sock *tp)
{
	struct piece piece = {};

	piece.buffered = tp->write_seq - tp->snd_una;
	piece.mss = tp->mss_cache;
	piece.written = tp->write_seq;
	piece.more_to_come = is_writing(state, tp) || state->has_msg_more;
	piece.more_on_entry = state->left_unfinished;
	piece.pieces_before = state->pieces;
	state->pieces++;
	state->left_unfinished = piece.more_to_come;
	state->told_to = tp->write_seq;
	piece_copied(&state->memory, &piece);
}

/* A write begins, or goes on after it slept for space. */
INLINE void begin_piece(struct state *state, struct tcp_sock *tp, int is_new)
{
	struct vars vars = {};

	vars.una = tp->snd_una;
	vars.nxt = tp->snd_nxt;
	vars.written = tp->write_seq;
	vars.mss = tp->mss_cache;
	vars.is_idle = !tp->packets_out;
	vars.more_to_come = state->left_unfinished;
	if (is_new)
		state->pieces = 0;
	state->has_slept = 0;
	state->call_is_over = 0;
	begin_pass(state, tp);
	write_began(&state->memory, &vars);
}

SEC("tp_btf/tcp_sendmsg_locked")
int write_copies(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct msghdr___frame *msg = (struct msghdr___frame *)ctx[1];
	struct state *state;
	struct tcp_sock *tp;
	u32 end;
	int is_new;

	/* Most sockets of a host have no policy. */
	if (!sk->sk_bpf_storage || !(state = state_of(sk)) || !(tp = bpf_skc_to_tcp_sock(sk)))
		return 0;
	end = tp->write_seq + (u32)msg->msg_iter.count;
	is_new = state->call_is_over || end != state->write_end;
	if (!is_new && !state->has_slept)
		return 0;
	tell_what_left(state, tp);
	/* What a round has not shown: the kernel may leave out the round behind a write (autocorking). */
	if (is_new && tp->write_seq != state->told_to)
		tell_piece(state, tp);
	state->write_end = end;
	state->has_msg_more = !!(msg->msg_flags & MSG_MORE);
	state->is_piece_open = 1;
	begin_piece(state, tp, is_new);
	return 0;
}

SEC("tp_btf/sock_send_length")
int call_ends(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct state *state;

	if (sk->sk_bpf_storage && (state = state_of(sk)))
		state->call_is_over = 1;
	return 0;
}

#ifdef SEES_QUEUES
#include "queues.h"
#endif

/* Takes note of a round: whose pass it belongs to, and what was written. */
INLINE void begin_round(struct state *state, struct tcp_sock *tp)
{
	int is_owned = LAYER(tp)->sk_lock.owned;
	int is_full = LAYER(tp)->sk_wmem_queued >= LAYER(tp)->sk_sndbuf;
	int goes_on = !state->has_heard && tp->snd_una == state->round_una && tp->write_seq == state->round_written;

	if (!sees_writes && tp->write_seq != state->told_to) {
		state->write_end = tp->write_seq;
		begin_piece(state, tp, state->call_is_over);
		state->is_piece_open = 1;
	}
	/* All rounds of a call are one pass; so are those that the device or the pacing timer interrupted. */
	if (!(state->is_piece_open && is_owned) && !goes_on)
		begin_pass(state, tp);
	if (tp->write_seq != state->told_to && (tp->write_seq == state->write_end || !is_owned || is_full))
		tell_piece(state, tp);
	if (tp->write_seq == state->write_end || !is_owned)
		state->is_piece_open = 0;
	state->has_heard = 0;
	state->round_una = tp->snd_una;
	state->round_written = tp->write_seq;
}

/* Returns how many full segments may leave if the runt behind them is held; more than there are, if it is not. */
INLINE u32 judge(struct state *state, struct tcp_sock *tp)
{
	u32 mss = tp->mss_cache, unsent = tp->write_seq - tp->snd_nxt;
	u32 offered = tp->snd_una + tp->snd_wnd - tp->snd_nxt;
	u32 sendable = (s32)offered < 0 ? 0 : (offered < unsent ? offered : unsent);
	struct offer offer = {};
	struct vars vars = {};
	u32 full;

	if (!mss || !sendable)
		return ~0u;
	full = sendable / mss;
	offer.len = sendable - full * mss;
	offer.empties = sendable == unsent;
	/* With nothing in flight nothing would end the hold. */
	if (!offer.len || (!full && !tp->packets_out))
		return ~0u;
	/* 4.4BSD: half of the largest window ever offered is enough for a segment. */
	if (offer.len >= FRAME(tp)->max_window / 2)
		return ~0u;
	offer.outstanding_on_entry = state->entry_outstanding;
	offer.idle_on_entry = state->entry_idle;
	offer.pass_over_mss = (s32)(tp->snd_nxt + sendable - state->entry_nxt) > (s32)mss;
	vars.una = tp->snd_una;
	vars.nxt = tp->snd_nxt + full * mss;
	vars.written = tp->write_seq;
	vars.mss = mss;
	vars.is_idle = !tp->packets_out && !full;
	vars.more_to_come = is_writing(state, tp) || state->has_msg_more;
	if (full) {
		struct sent sent = {};

		/* They leave before it. */
		sent.end = vars.nxt;
		sent.mss = mss;
		sent.buffered = tp->write_seq - tp->snd_una;
		segments_sent(&state->memory, &sent);
	}
	if (!offer.empties && !TAKES_WINDOW_CUTS)
		return full;
	/* A piece that is still being copied ends in no runt. */
	if (after(state->write_end, tp->write_seq) && LAYER(tp)->sk_lock.owned && !state->call_is_over
	    && LAYER(tp)->sk_wmem_queued < LAYER(tp)->sk_sndbuf)
		return full;
	if (INCLUDES_MORE && vars.more_to_come)
		return full;
	return decide(&offer, &vars, &state->memory) == HOLD ? full : ~0u;
}

INLINE int may_hold(struct tcp_sock *tp)
{
	u8 at = ((struct sock_common *)tp)->skc_state;

	/* Closing in this direction, the FIN goes, and the data before it. Recovery is the base's alone. */
	return (at == STATE_ESTABLISHED || at == STATE_CLOSE_WAIT) && !tp->sacked_out && !tp->lost_out && !tp->retrans_out
	    && !after(FRAME(tp)->snd_up, tp->snd_una);
}

INLINE u32 segments_at_once(struct sock *sk)
{
	struct net___frame *net = (struct net___frame *)sk->__sk_common.skc_net.net;

	if (base == BASE_BBR)
		return bbr_min_tso_segs(sk);
	return net->ipv4.sysctl_tcp_min_tso_segs;
}

SEC("lsm/struct_ops")
int min_tso_segs(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct state *state = state_of(sk);
	u32 full;

	if (!state)
		return segments_at_once(sk);
	catch_up(state, tp);
	begin_round(state, tp);
#ifdef SEES_QUEUES
	round_begins(&state->memory, tp);
#endif
#ifdef PACES
	pace(tp, &state->turn);
#endif
	if (NEVER_HOLDS || !may_hold(tp)) {
		round_begun(&state->window, tp);
		return segments_at_once(sk);
	}
	full = judge(state, tp);
	round_begun(&state->window, tp);
	/* The true window may be the lower one. */
	if (full < tp->snd_cwnd && in_flight(tp) + full < tp->snd_cwnd)
		lower(&state->window, tp, in_flight(tp) + full);
	return segments_at_once(sk);
}

SEC("lsm/struct_ops")
int init(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct run *run = own_run();
	struct state *state;

	if (run)
		__sync_fetch_and_add(&run->holders, 1);
	if (base == BASE_CUBIC)
		cubictcp_init(sk);
	else if (base == BASE_BBR)
		bbr_init(sk);
	/* Without a state the connection is the base's alone. */
	state = bpf_sk_storage_get(&states, sk, 0, STORAGE_CREATE);
	if (!state)
		return 0;
	__builtin_memset(state, 0, sizeof(*state));
	state->seen_nxt = tp->snd_nxt;
	state->told_to = tp->write_seq;
	state->write_end = tp->write_seq;
#ifdef PACES
	state->pacing_before = LAYER(tp)->sk_pacing_status;
#endif
	return 0;
}

SEC("lsm/struct_ops")
int release(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct state *state = state_of(sk);
	struct run *run = own_run();

	if (run)
		__sync_fetch_and_add(&run->holders, -1);
	if (!state)
		return 0;
	catch_up(state, (struct tcp_sock *)sk);
#ifdef PACES
	/* The kernel computes the rate anew at the next acknowledgment, but leaves the status as it is. */
	LAYER(sk)->sk_pacing_status = state->pacing_before;
#endif
	bpf_sk_storage_delete(&states, sk);
	return 0;
}

SEC("lsm/struct_ops")
int in_ack_event(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct state *state = state_of(sk);

#ifdef NEEDS_ACKS
	heard((struct tcp_sock *)sk);
#endif
	if (!state)
		return 0;
	catch_up(state, (struct tcp_sock *)sk);
#ifdef SEES_QUEUES
	acknowledged(&state->memory, (struct tcp_sock *)sk);
#endif
	state->has_heard = 1;
	if (LAYER(sk)->sk_write_pending)
		state->has_slept = 1;
	return 0;
}

SEC("lsm/struct_ops")
int pkts_acked(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct state *state = state_of(sk);

	if (state)
		catch_up(state, (struct tcp_sock *)sk);
	if (base == BASE_CUBIC)
		cubictcp_acked(sk, (const struct ack_sample *)ctx[1]);
	return 0;
}

SEC("lsm/struct_ops")
int cong_avoid(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct state *state = state_of(sk);

	if (state) {
		catch_up(state, tp);
		if (!may_grow(&state->window, tp))
			return 0;
	}
	if (base == BASE_CUBIC)
		cubictcp_cong_avoid(sk, ctx[1], ctx[2]);
	else if (base == BASE_RENO)
		tcp_reno_cong_avoid(sk, ctx[1], ctx[2]);
	return 0;
}

SEC("lsm/struct_ops")
int cong_control(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct state *state = state_of(sk);

	if (state)
		catch_up(state, (struct tcp_sock *)sk);
	if (base == BASE_BBR)
		bbr_main(sk, ctx[1], ctx[2], (const struct rate_sample *)ctx[3]);
	return 0;
}

SEC("lsm/struct_ops")
int ssthresh(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct state *state = state_of(sk);

	if (state) {
		/* The kernel has read what undoing is to restore, perhaps from a lowered window. */
		u32 was_lowered = state->window.is_lowered;

		catch_up(state, tp);
		remember_for_undo(&state->window, tp, was_lowered);
	}
	if (base == BASE_CUBIC)
		return cubictcp_recalc_ssthresh(sk);
	if (base == BASE_BBR)
		return bbr_ssthresh(sk);
	return tcp_reno_ssthresh(sk);
}

SEC("lsm/struct_ops")
int undo_cwnd(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct state *state = state_of(sk);
	u32 cwnd, own = 0;

	if (state) {
		catch_up(state, (struct tcp_sock *)sk);
		own = undo(&state->window, (struct tcp_sock *)sk);
	}
	cwnd = base == BASE_BBR ? bbr_undo_cwnd(sk) : tcp_reno_undo_cwnd(sk);
	return cwnd > own ? cwnd : own;
}

SEC("lsm/struct_ops")
int set_state(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct state *state = state_of(sk);

	if (state)
		catch_up(state, (struct tcp_sock *)sk);
	if (base == BASE_CUBIC)
		cubictcp_state(sk, ctx[1]);
	else if (base == BASE_BBR)
		bbr_set_state(sk, ctx[1]);
	return 0;
}

SEC("lsm/struct_ops")
int cwnd_event(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];

#ifdef NEEDS_EVENTS
	happened((struct tcp_sock *)sk, ctx[1]);
#endif
	/* TX_START comes from within a round: what the round lowered stays. */
	if ((u32)ctx[1] != EVENT_TX_START) {
		struct state *state = state_of(sk);

		if (state)
			catch_up(state, (struct tcp_sock *)sk);
	}
	if (starts_apart)
		return 0;
	if (base == BASE_CUBIC)
		cubictcp_cwnd_event(sk, ctx[1]);
	else if (base == BASE_BBR)
		bbr_cwnd_event(sk, ctx[1]);
	return 0;
}

/* As with TX_START above, what the round lowered stays. */
SEC("lsm/struct_ops")
int cwnd_event_tx_start(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];

	if (base == BASE_CUBIC)
		cubictcp_cwnd_event_tx_start(sk);
	else if (base == BASE_BBR)
		bbr_cwnd_event_tx_start(sk);
	return 0;
}

SEC("lsm/struct_ops")
int sndbuf_expand(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];

	return base == BASE_BBR ? bbr_sndbuf_expand(sk) : 2;
}

#include "choice.h"
