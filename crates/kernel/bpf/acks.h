/* What the ACK policies share: they hold nothing, and may say that the acknowledgment which is owed leaves at once. */
#pragma once
#include "policy.h"
#include "nothing_observed.h"

#define NEVER_HOLDS 1

INLINE enum verdict decide(const struct offer *offer, const struct vars *vars, const struct memory *memory)
{
	return SEND;
}

enum { ACK_NOW = 16 /* ICSK_ACK_NOW */ };

struct inet_connection_sock___acks {
	struct {
		u8 pending;
	} KERNEL icsk_ack;
} KERNEL;

/* The acknowledgment of the data that is arriving, or of the next that arrives, is not delayed. It is once. */
INLINE void acknowledge_at_once(struct tcp_sock *tp)
{
	((struct inet_connection_sock___acks *)tp)->icsk_ack.pending |= ACK_NOW;
}
