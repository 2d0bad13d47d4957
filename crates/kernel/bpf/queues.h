/* Tells a policy where its socket's receive queue changes: where data comes, and where it is read. */
#pragma once
#include "state.h"

INLINE int receive_queue_changed(struct sock *sk)
{
	struct state *state;
	struct tcp_sock *tp;

	if (sk->sk_bpf_storage && (state = state_of(sk)) && (tp = bpf_skc_to_tcp_sock(sk)))
		unread_changed(&state->memory, tp);
	return 0;
}

SEC("tp_btf/sk_data_ready")
int data_came(u64 *ctx)
{
	return receive_queue_changed((struct sock *)ctx[0]);
}

SEC("tp_btf/sock_recv_length")
int data_read(u64 *ctx)
{
	return receive_queue_changed((struct sock *)ctx[0]);
}
