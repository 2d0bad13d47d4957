/* How long a receiver's timer delays an acknowledgment. */
#pragma once
#include "settings.h"

/* What bounds a receiver's timer. */
struct inet_connection_sock___acks {
	u32 icsk_delack_max; /* in jiffies */
	u32 icsk_rto_min;    /* in jiffies */
} KERNEL;

struct dst_entry {
	unsigned long _metrics; /* where the route's numbers are; its lowest two bits are flags */
} KERNEL;

struct sock___acks {
	struct dst_entry *sk_dst_cache; /* the route */
} KERNEL;

enum {
	ROUTE_LOCK = 0,     /* RTAX_LOCK, counted from 0: which of the numbers override the socket's */
	ROUTE_RTO_MIN = 12, /* RTAX_RTO_MIN, counted from 0: in milliseconds */
};

/* The longest that a receiver's timer delays an acknowledgment, in milliseconds: tcp_delack_max(), by the socket's own
 * bound, its least retransmission timeout and the route's. 0: this kernel does not say. */
INLINE u16 delack_bound_ms(struct tcp_sock *tp)
{
	struct inet_connection_sock___acks *own = (void *)tp;
	u32 locked = 0, route_ms = 0, rto_ms, bound_ms;
	const struct dst_entry *route;
	const u32 *metrics;

	if (!FIELD_INFO(own->icsk_delack_max, 2 /* exists */) || !FIELD_INFO(own->icsk_rto_min, 2))
		return 0;
	bound_ms = own->icsk_delack_max * (u64)tick_us / 1000;
	rto_ms = own->icsk_rto_min * (u64)tick_us / 1000;
	route = ((struct sock___acks *)tp)->sk_dst_cache;
	if (route) {
		metrics = (const u32 *)(route->_metrics & ~3ul);
		bpf_probe_read_kernel(&locked, sizeof locked, metrics + ROUTE_LOCK);
		if (locked & 1u << (ROUTE_RTO_MIN + 1) &&
		    !bpf_probe_read_kernel(&route_ms, sizeof route_ms, metrics + ROUTE_RTO_MIN))
			rto_ms = route_ms;
	}
	/* One jiffy less than the peer's timeout would be. */
	rto_ms = rto_ms > 2 * tick_us / 1000 ? rto_ms - tick_us / 1000 : tick_us / 1000;
	bound_ms = bound_ms < rto_ms ? bound_ms : rto_ms;
	return bound_ms < 0xffff ? bound_ms : 0xffff;
}
