/* Which sockets get the policy: those that a control group's programs open from now on; and how they lose it. */
#pragma once
#include "../../host/bpf/values.h"
#include "run.h"

/* The part of the kernel's structure that is read here, which programs know by this layout. */
struct bpf_sock_ops {
	u32 op;
	u32 reply;
	u32 others[44];
	struct sock *sk;
};
_Static_assert(__builtin_offsetof(struct bpf_sock_ops, sk) == 184, "the kernel's layout");

enum { ACTIVE_ESTABLISHED = 4, PASSIVE_ESTABLISHED = 5, NEEDS_ECN = 6 };

/* The name under which the policy is registered; the loader sets it. */
const volatile char registered[NAME_LENGTH] = {};

/* What a socket had before. */
struct before {
	union value congestion;
	u32 nodelay;
};

struct {
	NUMBER(type, MAP_TYPE_SK_STORAGE);
	NUMBER(map_flags, MAP_NO_PREALLOC);
	TYPE(key, s32);
	TYPE(value, struct before);
} befores SEC(".maps");

INLINE void own_name(union value *value)
{
	int index;

	for (index = 0; index < NAME_LENGTH; index++)
		value->name[index] = registered[index];
}

SEC("sockops")
int choose(struct bpf_sock_ops *ctx)
{
	union value nodelay = { .number = 1 }, name = {};
	struct sock *sk = ctx->sk;
	struct run *run = own_run();
	struct before *before;
	struct tcp_sock *tp;

#ifdef NEEDS_EVENTS
	if (ctx->op == NEEDS_ECN) {
		ctx->reply = 1;
		return 1;
	}
#endif
	if ((ctx->op != ACTIVE_ESTABLISHED && ctx->op != PASSIVE_ESTABLISHED) || !sk || !run)
		return 1;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return 1;
#ifdef NEEDS_EVENTS
	/* With TCP_CONG_NEEDS_ECN the kernel marks what leaves as ECN-capable, whatever the peer has agreed to. */
	if (!(tp->ecn_flags & ECN_OK)) {
		__sync_fetch_and_add(&run->refused, 1);
		return 1;
	}
#endif
	before = bpf_sk_storage_get(&befores, sk, 0, STORAGE_CREATE);
	if (!before) {
		__sync_fetch_and_add(&run->refused, 1);
		return 1;
	}
	name_of(tp, before->congestion.name);
	before->nodelay = nonagle_of(tp) & NAGLE_OFF;
	own_name(&name);
	if (set_value(ctx, OPTION_CONGESTION, &name, 0)) {
		__sync_fetch_and_add(&run->refused, 1);
		return 1;
	}
	/* So that the kernel's own rule never holds. */
	set_value(ctx, OPTION_NODELAY, &nodelay, 0);
	__sync_fetch_and_add(&run->chosen, 1);
	return 1;
}

struct bpf_iter__tcp {
	void *meta;
	struct sock_common *sk_common;
} KERNEL;

/* Gives sockets back what they had, unless they were given something else since. */
SEC("iter/tcp")
int give_back(struct bpf_iter__tcp *ctx)
{
	union value now = {}, name = {}, nodelay = {};
	struct sock_common *skc = ctx->sk_common;
	struct before *before;
	struct tcp_sock *tp;
	struct run *run;

	if (!skc)
		return 0;
	run = own_run();
	if (!run)
		return 0;
	tp = bpf_skc_to_tcp_sock(skc);
	if (!tp)
		return 0;
	own_name(&name);
	name_of(tp, now.name);
	if (!equal(&now, &name))
		return 0;
	before = bpf_sk_storage_get(&befores, tp, 0, 0);
	if (!before)
		return 0;
	if (set_value(tp, OPTION_CONGESTION, &before->congestion, 0)) {
		__sync_fetch_and_add(&run->refused, 1);
		return 0;
	}
	nodelay.number = before->nodelay;
	set_value(tp, OPTION_NODELAY, &nodelay, 0);
	__sync_fetch_and_add(&run->given_back, 1);
	return 0;
}
