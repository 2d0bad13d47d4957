/* What is known of a loaded policy, which `src/run.rs` has, too: the map is how `tinygram bpf --list` finds it. */
#pragma once
#include "policy.h"

struct run {
	char policy[24];
	char base[8];
	char registered[16];
	u64 loader_began; /* in the kernel's ticks since the machine was started */
	u32 loader_pid;
	u32 unused;
	u64 chosen;     /* sockets that were given the policy by their control group */
	u64 refused;
	u64 given_back;
	u64 holders;    /* sockets that have it now */
};
_Static_assert(sizeof(struct run) == 96, "src/run.rs");

struct {
	NUMBER(type, 2 /* array */);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct run);
} tinygram_bpf SEC(".maps");

INLINE struct run *own_run(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&tinygram_bpf, &zero);
}
