/* The processes that are looked at, and whether their threads slept. */
#pragma once
#include "settings.h"

/* The processes that are looked at, by number, if not all are. */
struct {
	NUMBER(type, MAP_TYPE_HASH);
	NUMBER(map_flags, MAP_NO_PREALLOC);
	NUMBER(max_entries, 65536);
	TYPE(key, u32);
	TYPE(value, u8);
} tree SEC(".maps");

/* How often a thread has slept since it was first seen to be held. */
struct {
	NUMBER(type, MAP_TYPE_LRU_HASH);
	NUMBER(max_entries, 16384);
	TYPE(key, u64);
	TYPE(value, u32);
} sleeps SEC(".maps");

INLINE int looked_at(void)
{
	u32 process;

	if (!tree_only)
		return 1;
	process = bpf_get_current_pid_tgid() >> 32;
	return !!bpf_map_lookup_elem(&tree, &process);
}
