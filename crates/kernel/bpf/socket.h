/* The fields of the kernel's sockets that the frame reads and writes. What follows `___` is not the kernel's. */
#pragma once
#include "policy.h"

typedef struct {
	s32 owned;
} KERNEL socket_lock_t;

struct netns_ipv4___frame {
	u8 sysctl_tcp_min_tso_segs;
} KERNEL;

struct net___frame {
	struct netns_ipv4___frame ipv4;
} KERNEL;

struct sock___frame {
	socket_lock_t sk_lock;
	s32 sk_write_pending; /* writers that sleep for space */
	s32 sk_wmem_queued;
	s32 sk_sndbuf;
	unsigned long sk_pacing_rate;
	u32 sk_pacing_status;
} KERNEL;

struct inet_connection_sock___frame {
	u8 icsk_ca_state : 5;
} KERNEL;

struct tcp_sock___frame {
	u32 max_window;
	u32 snd_up;
	u32 snd_ssthresh;
	u32 snd_cwnd_stamp;
	u32 delivered;
	u32 app_limited;
	u8 is_cwnd_limited : 1;
	u64 tcp_wstamp_ns;
	u64 tcp_clock_cache;
} KERNEL;

enum {
	STATE_CLOSE_WAIT = 8,
	OPEN_WINDOW = 0x7fffffff, /* TCP_INFINITE_SSTHRESH */
	PACING_NONE = 0,
};

#define FRAME(tp) ((struct tcp_sock___frame *)(tp))
#define LAYER(tp) ((struct sock___frame *)(tp))

INLINE u32 in_flight(struct tcp_sock *tp)
{
	return tp->packets_out - tp->sacked_out - tp->lost_out + tp->retrans_out;
}

/* Whether the kernel believes that the congestion window limits. */
INLINE int is_limited_to_the_kernel(struct tcp_sock *tp)
{
	const void *at = (const void *)tp + FIELD_INFO(FRAME(tp)->is_cwnd_limited, 0 /* byte offset */);
	u64 value;

	switch (FIELD_INFO(FRAME(tp)->is_cwnd_limited, 1 /* byte size */)) {
	case 1: value = *(const u8 *)at; break;
	case 2: value = *(const u16 *)at; break;
	case 4: value = *(const u32 *)at; break;
	default: value = *(const u64 *)at; break;
	}
	value <<= FIELD_INFO(FRAME(tp)->is_cwnd_limited, 4 /* left shift */);
	return value >> FIELD_INFO(FRAME(tp)->is_cwnd_limited, 5 /* right shift */);
}

INLINE int is_in_slow_start(struct tcp_sock *tp)
{
	return tp->snd_cwnd < FRAME(tp)->snd_ssthresh;
}
