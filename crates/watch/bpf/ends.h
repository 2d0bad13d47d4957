/* Who and where the ends of a connection are. */
#pragma once
#include "conversation.h"

INLINE void name(struct ends *ends, struct sock *sk)
{
	ends->cookie = bpf_get_socket_cookie(sk);
	ends->netns = sk->__sk_common.skc_net.net->ns.inum;
	ends->family = sk->__sk_common.skc_family;
	ends->local_port = sk->__sk_common.skc_num;
	ends->remote_port = __builtin_bswap16(sk->__sk_common.skc_dport);
	ends->opened = OPENED_KNOWN | (sk->sk_max_ack_backlog ? OPENED_BY_PEER : 0);
	if (ends->family == AF_INET6) {
		ends->local.v6 = sk->__sk_common.skc_v6_rcv_saddr;
		ends->remote.v6 = sk->__sk_common.skc_v6_daddr;
	} else {
		ends->local.v4 = sk->__sk_common.skc_rcv_saddr;
		ends->remote.v4 = sk->__sk_common.skc_daddr;
	}
}

INLINE void measure(struct ends *ends, struct tcp_sock *tp)
{
	ends->mss = tp->mss_cache;
	ends->srtt_us = tp->srtt_us >> 3;
	ends->min_rtt_us = tp->rtt_min.s[0].v;
}

/* Who writes. A socket may change hands, and a program its name. */
INLINE void sign(struct conversation *talk)
{
	talk->hold.writer = bpf_get_current_pid_tgid();
	talk->hold.uid = (u32)bpf_get_current_uid_gid();
	talk->hold.cgroup = bpf_get_current_cgroup_id();
	bpf_get_current_comm(talk->hold.comm, sizeof talk->hold.comm);
}

INLINE struct conversation *conversation_of(struct sock *sk, u64 flags)
{
	struct conversation *talk = bpf_sk_storage_get(&conversations, sk, 0, flags);

	if (talk && !talk->hold.what) {
		talk->hold.what = EVENT_HOLD;
		name(&talk->hold.ends, sk);
	}
	return talk;
}
