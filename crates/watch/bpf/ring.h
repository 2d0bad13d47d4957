/* The records on their way to the loader. */
#pragma once
#include "settings.h"

enum { RING_OCTETS = 1 << 21 };

struct {
	NUMBER(type, MAP_TYPE_RINGBUF);
	NUMBER(max_entries, RING_OCTETS);
} events SEC(".maps");

/* Events for which there was no room. */
struct {
	NUMBER(type, MAP_TYPE_PERCPU_ARRAY);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, u64);
} lost SEC(".maps");

INLINE void *event(u32 what, u64 size)
{
	u32 zero = 0;
	u64 *count;
	u32 *record = bpf_ringbuf_reserve(&events, size, 0);

	if (record) {
		*record = what;
		return record;
	}
	count = bpf_map_lookup_elem(&lost, &zero);
	if (count)
		++*count;
	return 0;
}
