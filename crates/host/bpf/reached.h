/* How a socket is read that was reached through a packet. */
#pragma once
#include "kernel.h"

/* A socket that was reached through a packet may not be read like one that was handed over. */
#define READ(tp, field) ({ \
	typeof(((struct tcp_sock *)0)->field) value = 0; \
	bpf_probe_read_kernel(&value, sizeof value, &(tp)->field); \
	value; })

INLINE u8 read_nonagle(struct tcp_sock *tp)
{
	u64 value = 0;

	bpf_probe_read_kernel(&value, FIELD_INFO(tp->nonagle, 1 /* byte size */),
			      (void *)tp + FIELD_INFO(tp->nonagle, 0 /* byte offset */));
	value <<= FIELD_INFO(tp->nonagle, 4 /* left shift */);
	return value >> FIELD_INFO(tp->nonagle, 5 /* right shift */);
}
