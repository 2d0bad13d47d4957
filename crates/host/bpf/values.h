/* The values of a socket's options, as the kernel keeps them. */
#pragma once
#include "hand.h"

static long (*bpf_setsockopt)(void *sk, int level, int name, void *value, int length) = (void *)49;

struct kernfs_node {
	u64 id;
} KERNEL;

struct cgroup {
	struct kernfs_node *kn;
} KERNEL;

struct sock_cgroup_data {
	struct cgroup *cgroup;
} KERNEL;

/* The same structures as in kernel.h, by other fields. */
struct sock___hand {
	struct socket *sk_socket;
	struct sock_cgroup_data sk_cgrp_data;
} KERNEL;

struct tcp_congestion_ops {
	char name[NAME_LENGTH];
} KERNEL;

struct inet_connection_sock___hand {
	const struct tcp_congestion_ops *icsk_ca_ops;
	u32 icsk_delack_max;
} KERNEL;

struct tcp_sock___hand {
	u32 notsent_lowat;
	u32 lsndtime; /* when data was sent last, in jiffies */
} KERNEL;

INLINE void name_of(struct tcp_sock *tp, char *name)
{
	const struct tcp_congestion_ops *ops = ((struct inet_connection_sock___hand *)tp)->icsk_ca_ops;

	if (ops)
		bpf_probe_read_kernel(name, NAME_LENGTH, &ops->name);
}

/* Writes the value that the socket has. */
INLINE void read_value(struct tcp_sock *tp, u32 option, union value *value)
{
	switch (option) {
	case OPTION_NODELAY: value->number = nonagle_of(tp) & NAGLE_OFF; break;
	case OPTION_DELACK_MAX: value->number = ((struct inet_connection_sock___hand *)tp)->icsk_delack_max; break;
	case OPTION_NOTSENT_LOWAT: value->number = ((struct tcp_sock___hand *)tp)->notsent_lowat; break;
	case OPTION_CONGESTION: name_of(tp, value->name); break;
	}
}

INLINE int equal(const union value *one, const union value *other)
{
	const u64 *left = (const u64 *)one, *right = (const u64 *)other;

	return left[0] == right[0] && left[1] == right[1];
}

/* Sets an option. `bearer` is what `bpf_setsockopt` takes in the program at hand. Returns the kernel's error. */
INLINE long set_value(void *bearer, u32 option, const union value *to, u32 argument)
{
	union value value = *to;
	u32 number = option == OPTION_DELACK_MAX ? argument : value.number;

	if (option == OPTION_CONGESTION)
		return bpf_setsockopt(bearer, IPPROTO_TCP, OPTION_CONGESTION, value.name, NAME_LENGTH);
	return bpf_setsockopt(bearer, IPPROTO_TCP, option, &number, sizeof(number));
}
