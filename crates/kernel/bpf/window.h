/* The true congestion window of a socket whose snd_cwnd is lowered for a hold, and whether it was the limit. */
#pragma once
#include "socket.h"

enum { EVENT_TX_START = 0 /* CA_EVENT_TX_START */ };

struct window {
	/* While the kernel's is lowered. */
	u32 true_cwnd;
	u32 lowered_to;
	u8 is_lowered;
	/* Whether the kernel's own idea of what limits may be of a lowered window. */
	u8 is_doubtful;
	u8 has_round;
	/* What tcp_cwnd_validate would know of the true window. */
	u8 is_limited;
	u32 most_out;
	u32 usage_seq;
	/* As the round began. */
	u32 round_flight;
	u32 round_out;
	u32 round_una;
	u32 round_stamp;
	/* What undoing is to restore, if the kernel read it from a lowered window. */
	u32 prior_cwnd;
	u32 prior_ssthresh;
};

INLINE void round_begun(struct window *window, struct tcp_sock *tp)
{
	window->has_round = 1;
	window->true_cwnd = tp->snd_cwnd;
	window->round_flight = in_flight(tp);
	window->round_out = tp->packets_out;
	window->round_una = tp->snd_una;
	window->round_stamp = FRAME(tp)->snd_cwnd_stamp;
}

INLINE void lower(struct window *window, struct tcp_sock *tp, u32 cwnd)
{
	window->lowered_to = cwnd;
	window->is_lowered = 1;
	window->is_doubtful = 1;
	tp->snd_cwnd = cwnd;
}

/* After the round: puts the true window back, and looks whether it was the limit. `segments` left in the round. */
INLINE void window_restored(struct window *window, struct tcp_sock *tp, u32 segments)
{
	u32 was_lowered = window->is_lowered;
	u32 is_limited = window->round_flight + segments >= window->true_cwnd;
	u32 out = window->round_out + segments;

	if (window->is_doubtful && !was_lowered && !is_limited_to_the_kernel(tp))
		window->is_doubtful = 0;
	if (!window->has_round)
		return;
	window->has_round = 0;
	if (was_lowered) {
		window->is_lowered = 0;
		if (tp->snd_cwnd == window->lowered_to) {
			tp->snd_cwnd = window->true_cwnd;
		} else if (tp->snd_cwnd < window->lowered_to) {
			/* tcp_cwnd_application_limited: halfway to what was used. */
			u32 used = 2 * tp->snd_cwnd - window->lowered_to;

			tp->snd_cwnd = (window->true_cwnd + used) / 2;
		}
	}
	/* tcp_cwnd_validate. */
	if ((segments || is_limited)
	    && (!after(window->usage_seq, window->round_una) || is_limited
		|| (!window->is_limited && out > window->most_out))) {
		window->is_limited = is_limited;
		window->most_out = out;
		window->usage_seq = tp->snd_nxt;
	}
	if (was_lowered && !is_limited) {
		/* The kernel took the hold for a full window: it was the application that sent no more. */
		u32 until = FRAME(tp)->delivered + in_flight(tp);

		FRAME(tp)->snd_cwnd_stamp = window->round_stamp;
		FRAME(tp)->app_limited = until ? until : 1;
	}
}

/* tcp_is_cwnd_limited, of the true window. */
INLINE int may_grow(struct window *window, struct tcp_sock *tp)
{
	if (!window->is_doubtful || window->is_limited)
		return 1;
	return is_in_slow_start(tp) && tp->snd_cwnd < 2 * window->most_out;
}

/* The window is about to be reduced. */
INLINE void remember_for_undo(struct window *window, struct tcp_sock *tp, int was_lowered)
{
	u32 cwnd = tp->snd_cwnd, ssthresh = FRAME(tp)->snd_ssthresh;
	u32 current = (cwnd >> 1) + (cwnd >> 2);

	window->prior_cwnd = was_lowered ? cwnd : 0;
	window->prior_ssthresh = ssthresh > current ? ssthresh : current;
}

INLINE u32 undo(struct window *window, struct tcp_sock *tp)
{
	if (window->prior_cwnd && FRAME(tp)->snd_ssthresh < window->prior_ssthresh)
		FRAME(tp)->snd_ssthresh = window->prior_ssthresh;
	return window->prior_cwnd;
}
