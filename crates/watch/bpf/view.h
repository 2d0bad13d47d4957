/* What the sender goes by, read from its socket, and why octets wait. */
#pragma once
#include "../../host/bpf/reached.h"
#include "settings.h"

/* What the tests of tcp_write_xmit look at. */
struct view {
	u32 una;
	u32 nxt;
	u32 sml;
	u32 wnd;
	u32 cwnd;
	u32 written;
	u32 pushed;
	u32 mss;
	u32 packets;    /* on the way, whatever became of them */
	u32 in_flight;  /* what counts against cwnd */
	u8 nonagle;
	u8 paced;
	u8 throttled;
};

/* Why the octets from `nxt` on are not sent: the tests of tcp_write_xmit in their order. */
INLINE u8 why(const struct view *v, u8 said_more)
{
	u32 tail = v->written - v->nxt, first = tail < v->mss ? tail : v->mss;

	if ((s32)tail <= 0)
		return 0;
	if (v->in_flight >= v->cwnd)
		return REASON_CWND;
	if (after(v->nxt + first, v->una + v->wnd))
		return REASON_WINDOW;
	if (tail >= v->mss)
		return REASON_OTHER;
	if (v->nonagle & NAGLE_CORK)
		return REASON_CORK;
	/* tcp_push() marks where a write without MSG_MORE ended. */
	if (said_more || v->pushed != v->written)
		return REASON_MORE;
	/* Minshall's rule: a short segment is on the way. */
	if (!v->nonagle && v->packets && after(v->sml, v->una) && !after(v->sml, v->nxt))
		return REASON_NAGLE;
	if (v->paced)
		return REASON_OTHER;
	return v->throttled ? REASON_AUTOCORK : REASON_OTHER;
}

INLINE void look(struct view *v, struct sock *sk, struct tcp_sock *tp)
{
	v->una = tp->snd_una;
	v->sml = tp->snd_sml;
	v->wnd = tp->snd_wnd;
	v->cwnd = tp->snd_cwnd;
	v->pushed = tp->pushed_seq;
	v->mss = tp->mss_cache;
	v->packets = tp->packets_out;
	v->in_flight = v->packets - tp->sacked_out - tp->lost_out + tp->retrans_out;
	v->nonagle = nonagle_of(tp);
	v->paced = sk->sk_pacing_status == PACING_NEEDED;
	v->throttled = !!(sk->sk_tsq_flags & (1 << TSQ_THROTTLED));
}

INLINE void look_at_distance(struct view *v, struct tcp_sock *tp, u32 segments)
{
	v->sml = READ(tp, snd_sml);
	v->wnd = READ(tp, snd_wnd);
	v->cwnd = READ(tp, snd_cwnd);
	v->written = READ(tp, write_seq);
	v->pushed = READ(tp, pushed_seq);
	v->packets = READ(tp, packets_out) + segments;
	v->in_flight = v->packets - READ(tp, sacked_out) - READ(tp, lost_out) + READ(tp, retrans_out);
}
