/* What is said of a conversation: holds, what came after them, late acknowledgments, tallies. */
#pragma once
#include "conversation.h"
#include "ends.h"
#include "ring.h"
#include "tree.h"
#include "view.h"

/* The last hold is over, and so is the time in which its answer could come. */
INLINE void say_after(struct conversation *talk, u8 after)
{
	struct aftermath *said;

	talk->ended = 0;
	said = event(EVENT_AFTER, sizeof *said);
	if (!said)
		return;
	said->after = after;
	said->cookie = talk->hold.ends.cookie;
	said->serial = talk->ended_serial;
	bpf_ringbuf_submit(said, 0);
}

/* What came behind our late acknowledgment was read; was it answered? */
INLINE void say_late_ack(struct conversation *talk, u32 answered)
{
	struct late_ack *said = event(EVENT_LATE_ACK, sizeof *said);

	talk->late_state &= ~LATE_READ;
	if (!said)
		return;
	said->uid = talk->hold.uid;
	said->ends = talk->hold.ends;
	said->ends.min_rtt_us = talk->late.min_rtt_us;
	said->ends.mss = talk->late.mss;
	said->reader = talk->hold.writer;
	said->cgroup = talk->hold.cgroup;
	said->ack_ns = talk->late.ack_ns;
	said->read_ns = talk->late.read_ns;
	said->late_us = talk->late.late_us;
	said->length = talk->late.length;
	said->before = talk->late.before;
	said->answered = answered;
	said->bound_ms = talk->late.bound_ms;
	__builtin_memcpy(said->comm, talk->hold.comm, sizeof said->comm);
	bpf_ringbuf_submit(said, 0);
}

INLINE void say_tally(struct tcp_sock *tp, struct conversation *talk, u64 now)
{
	struct tally *said;
	u32 segments = tp->data_segs_out - talk->tally_segments;
	u64 bytes = tp->bytes_sent - talk->tally_bytes;

	/* Only who sends much in little is of interest. */
	if ((talk->tally_close && segments >= TALLY_SEGMENTS && bytes < (u64)segments * (tp->mss_cache / 2)) ||
	    talk->tally_short_holds || (tree_only && talk->tally_slower)) {
		said = event(EVENT_TALLY, sizeof *said);
		if (said) {
			said->ends = talk->hold.ends;
			measure(&said->ends, tp);
			said->writer = talk->hold.writer;
			said->cgroup = talk->hold.cgroup;
			said->uid = talk->hold.uid;
			said->start_ns = talk->tally_ns;
			said->end_ns = now;
			said->bytes = bytes;
			said->segments = segments;
			said->writes = talk->tally_writes;
			said->close = talk->tally_close;
			said->slower = talk->tally_slower;
			said->unseen = talk->unseen;
			said->turns = talk->tally_turns;
			said->short_holds = talk->tally_short_holds;
			said->nonagle = nonagle_of(tp);
			__builtin_memcpy(said->comm, talk->hold.comm, sizeof said->comm);
			bpf_ringbuf_submit(said, 0);
		}
	}
	if (!talk->tally_ns)
		talk->unseen = tp->data_segs_out;
	talk->tally_ns = now;
	talk->tally_bytes = tp->bytes_sent;
	talk->tally_segments = tp->data_segs_out;
	talk->tally_writes = talk->tally_slower = talk->tally_close = talk->tally_turns = talk->tally_short_holds = 0;
}

INLINE void say_hold(struct conversation *talk, u32 end, u32 rcv_nxt, u64 now, u8 by)
{
	struct hold *said;

	talk->holds = 0;
	if (talk->hold.reason >= REASON_CWND) {
		/* A window is no rule about short segments; but where it lets one segment go at a time, a
		 * delayed acknowledgment stops everything. */
		if (talk->hold.reason != REASON_CWND || talk->hold.packets > 1 || by != ENDED_ACK ||
		    now - talk->hold.start_ns < least_late_ack_ns + (u64)talk->hold.ends.min_rtt_us * 1000)
			return;
	} else if (now - talk->hold.start_ns < least_hold_ns) {
		talk->tally_short_holds++;
		return;
	}
	talk->hold.end_ns = now;
	talk->hold.held = end - talk->from;
	talk->hold.ended_by = by;
	talk->hold.slept = 0;
	if (tree_only) {
		u64 writer = talk->hold.writer;
		u32 *slept = bpf_map_lookup_elem(&sleeps, &writer);

		if (slept && *slept > talk->slept_before)
			talk->hold.slept = 1;
	}
	said = event(EVENT_HOLD, sizeof *said);
	if (!said)
		return;
	*said = talk->hold;
	bpf_ringbuf_submit(said, 0);
	talk->ended = 1;
	talk->ended_serial = talk->hold.serial;
	talk->rcv_nxt = rcv_nxt;
}

INLINE void begin(struct conversation *talk, const struct view *v, u8 reason, u64 now)
{
	talk->holds = 1;
	talk->from = v->nxt;
	talk->until = v->written;
	talk->una = v->una;
	talk->hold.reason = reason;
	talk->hold.start_ns = now;
	talk->hold.behind = v->nxt - v->una;
	talk->hold.packets = v->packets;
	talk->hold.nonagle = v->nonagle;
	talk->hold.writes = 1;
	talk->hold.serial++;
}
