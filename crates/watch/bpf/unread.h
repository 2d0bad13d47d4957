/* What a reader could have read and has not. */
#pragma once
#include "settings.h"
#include "view.h"

/* Through an address that is no pointer of the verifier's. */
#define GET(sk, field) ({ \
	typeof(((struct sock *)0)->field) value; \
	bpf_probe_read_kernel(&value, sizeof value, &(sk)->field); \
	value; })

enum { MOST_WAITERS = 8 };

/* Whether a thread sleeps in a read of the socket and was not woken: it asked for more than has arrived. */
INLINE int awaits_more(struct sock *sk)
{
	struct wait_queue_entry *none = 0;
	struct socket_wq *queue = GET(sk, sk_wq);
	struct list_head *head, *link;
	u32 at = FIELD_INFO(none->entry, 0 /* byte offset */);

	if (!queue || !socket_waiter)
		return 0;
	head = (void *)queue + FIELD_INFO(((struct socket_wq *)0)->wait, 0)
	     + FIELD_INFO(((struct wait_queue_head *)0)->head, 0);
	link = head;
	for (int i = 0; i < MOST_WAITERS; i++) {
		struct wait_queue_entry *waiter;
		void *wakes = 0;
		u32 flags = 0;

		bpf_probe_read_kernel(&link, sizeof link, (void *)link + FIELD_INFO(((struct list_head *)0)->next, 0));
		if (!link || link == head)
			return 0;
		waiter = (void *)link - at;
		bpf_probe_read_kernel(&wakes, sizeof wakes, &waiter->func);
		bpf_probe_read_kernel(&flags, sizeof flags, &waiter->flags);
		if ((u64)wakes == socket_waiter && !(flags & WAITER_WOKEN))
			return 1;
	}
	return 0;
}

/* Returns how many octets a reader could have read and has not. */
INLINE u32 unread_of(struct sock *sk)
{
	u32 unread = READ((struct tcp_sock *)sk, rcv_nxt) - READ((struct tcp_sock *)sk, copied_seq);
	s32 least = GET(sk, sk_rcvlowat);

	/* A FIN is counted as an octet of the sequence, and is no data; so is what comes with an error. */
	if ((s32)unread < least || awaits_more(sk))
		return 0;
	return unread;
}
