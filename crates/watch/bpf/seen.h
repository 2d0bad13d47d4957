/* What was seen of each connection. */
#pragma once
#include "ends.h"
#include "ring.h"

/* What was seen of the connections that were written to, by the sockets' cookies, until they end. */
struct {
	NUMBER(type, MAP_TYPE_HASH);
	NUMBER(map_flags, MAP_NO_PREALLOC);
	NUMBER(max_entries, 131072);
	TYPE(key, u64);
	TYPE(value, struct seen);
} seen SEC(".maps");

/* Somebody has written: counted for the connection. */
static __attribute__((noinline)) int count_write(struct sock *sk)
{
	u64 cookie = bpf_get_socket_cookie(sk);
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	struct seen *known = bpf_map_lookup_elem(&seen, &cookie), *said, first = {};

	if (!tp)
		return 0;
	if (known) {
		known->writes++;
		known->segments = tp->segs_out;
		return 0;
	}
	first.what = EVENT_SEEN;
	first.uid = (u32)bpf_get_current_uid_gid();
	name(&first.ends, sk);
	first.writer = bpf_get_current_pid_tgid();
	first.cgroup = bpf_get_current_cgroup_id();
	first.writes = 1;
	first.segments = tp->segs_out;
	/* The segment of the write itself has left already, if it may. */
	first.segments_before = tp->segs_out ? tp->segs_out - 1 : 0;
	bpf_get_current_comm(first.comm, sizeof first.comm);
	bpf_map_update_elem(&seen, &cookie, &first, 0);
	said = event(EVENT_SEEN, sizeof *said);
	if (said) {
		*said = first;
		bpf_ringbuf_submit(said, 0);
	}
	return 0;
}

/* The connection has ended, and what was seen of it is said. */
static __attribute__((noinline)) int say_seen(struct sock *sk)
{
	u64 cookie = bpf_get_socket_cookie(sk);
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	struct seen *known = bpf_map_lookup_elem(&seen, &cookie), *said;

	if (!known || !tp)
		return 0;
	said = event(EVENT_SEEN, sizeof *said);
	if (said) {
		*said = *known;
		said->segments = tp->segs_out;
		said->ended = 1;
		bpf_ringbuf_submit(said, 0);
	}
	bpf_map_delete_elem(&seen, &cookie);
	return 0;
}
