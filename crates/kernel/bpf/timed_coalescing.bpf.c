/* Timed coalescing: of a connection's runts, one leaves in each interval. The first of a turn pays nothing.
 *
 * The kernel's pacing timer holds them: what may leave next is later by the runt's length over the rate. The rate and
 * whether it counts are set before each round. A runt that follows something that came from the peer leaves at once,
 * whatever the rate says, because a new turn has begun. Full segments are not paced. The kernel paces nothing before a
 * connection's tenth data segment. */
#include "policy.h"
#include "nothing_observed.h"
#include "socket.h"

/* In microseconds. The loader may set another. */
const volatile u32 interval_us = 100;

INLINE enum verdict decide(const struct offer *offer, const struct vars *vars, const struct memory *memory)
{
	return SEND;
}

#define NEVER_HOLDS 1
#define PACES 1

INLINE void pace(struct tcp_sock *tp, u32 *turn)
{
	u32 unsent = tp->write_seq - tp->snd_nxt;
	int is_late = FRAME(tp)->tcp_wstamp_ns > FRAME(tp)->tcp_clock_cache;

	if (!unsent || unsent >= tp->mss_cache || (is_late && tp->rcv_nxt != *turn)) {
		LAYER(tp)->sk_pacing_status = PACING_NONE;
	} else {
		LAYER(tp)->sk_pacing_rate = (u64)unsent * 1000000 / (interval_us ? interval_us : 1);
		LAYER(tp)->sk_pacing_status = PACING_NEEDED;
	}
	if (unsent)
		*turn = tp->rcv_nxt;
}

#include "frame.h"
