/* What the loader sets, and what is counted in all. */
#pragma once
#include "../../host/bpf/kernel.h"
#include "events.h"

/* Set by the loader. */
const volatile u64 least_hold_ns = 1000000;
const volatile u64 least_late_ack_ns = 15000000;
const volatile u32 least_late_ack_jiffies = 4;  /* the same */
const volatile u32 tick_us = 4000;  /* a jiffy */
const volatile u8 tree_only = 0;  /* only processes in the tree, and whether their threads slept */
const volatile u32 most_stacks = 0;  /* stacks taken each second and processor; of sockets never held before whose process is known, an eighth */

const volatile u64 delack_timer = 0;  /* the address of tcp_delack_timer(); 0: it is not known */
const volatile u64 socket_waiter = 0; /* the address of woken_wake_function(); 0: it is not known */
const volatile u8 by_connection = 0;  /* what is seen is counted for each connection, and not only in all */

struct totals totals[MOST_PROCESSORS];

/* Adds one. A direct address, because each call costs more than the rest, and no locked instruction, which costs as much as
 * the tests behind it: each field belongs to one tracepoint, where nothing else takes the processor. An interrupt between
 * the two halves of a count can take one away. */
#define COUNT(field) \
	(*(volatile u64 *)&totals[bpf_get_smp_processor_id() & (MOST_PROCESSORS - 1)].field += 1)
