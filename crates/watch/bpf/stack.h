/* Where a write was made. */
#pragma once
#include "ring.h"

/* Threads that run Python, by their number. */
struct {
	NUMBER(type, MAP_TYPE_LRU_HASH);
	NUMBER(max_entries, 16384);
	TYPE(key, u32);
	TYPE(value, struct python);
} pythons SEC(".maps");

/* The processes whose stack was taken. */
struct {
	NUMBER(type, MAP_TYPE_LRU_HASH);
	NUMBER(max_entries, 16384);
	TYPE(key, u32);
	TYPE(value, u8);
} looked_into SEC(".maps");

/* How many stacks were taken in this second. */
struct budget {
	u64 second;
	u32 taken;
};

struct {
	NUMBER(type, MAP_TYPE_PERCPU_ARRAY);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct budget);
} budgets SEC(".maps");

/* One stack more? Half of the ring is kept for what matters more. */
INLINE int affordable(u32 most, u64 now)
{
	u32 zero = 0;
	u64 second = now / 1000000000;
	struct budget *budget = bpf_map_lookup_elem(&budgets, &zero);

	if (!budget)
		return 0;
	if (budget->second != second) {
		budget->second = second;
		budget->taken = 0;
	}
	if (budget->taken >= most || bpf_ringbuf_query(&events, RING_UNREAD) > RING_OCTETS / 2)
		return 0;
	budget->taken++;
	return 1;
}

/* How many stacks may be taken for a hold like this. Processes that end soon have few holds: the first counts as much
 * as the later ones of others. */
INLINE u32 most_stacks_of(const struct conversation *talk)
{
	u32 process = talk->hold.writer >> 32;

	return talk->hold.serial > 1 || !bpf_map_lookup_elem(&looked_into, &process) ? most_stacks : most_stacks / 8;
}

INLINE void read_registers(struct stack *said)
{
	void *registers = bpf_task_pt_regs(bpf_get_current_task_btf());
	struct pt_regs___x86 *x86 = registers;
	struct pt_regs___arm64 *arm64 = registers;

	if (FIELD_EXISTS(x86->bp)) {
		bpf_probe_read_kernel(&said->instruction, sizeof(u64), &x86->ip);
		bpf_probe_read_kernel(&said->stack, sizeof(u64), &x86->sp);
		bpf_probe_read_kernel(&said->frame, sizeof(u64), &x86->bp);
	} else if (FIELD_EXISTS(arm64->pc)) {
		bpf_probe_read_kernel(&said->instruction, sizeof(u64), &arm64->pc);
		bpf_probe_read_kernel(&said->stack, sizeof(u64), &arm64->sp);
		bpf_probe_read_kernel(&said->frame, sizeof(u64), &arm64->regs[29]);
		bpf_probe_read_kernel(&said->link, sizeof(u64), &arm64->regs[30]);
	}
}

/* A stack may end, and memory may not be there: then less is read. */
INLINE u32 read_stack(u8 *octets, const void *from)
{
	u32 length;

#pragma unroll
	for (length = STACK_OCTETS; length >= STACK_OCTETS / 64; length /= 2)
		if (!bpf_probe_read_user(octets, length, from))
			return length;
	return 0;
}

INLINE u64 read_pointer(u64 from)
{
	u64 value = 0;

	bpf_probe_read_user(&value, sizeof value, (const void *)from);
	return value;
}

INLINE u32 read_python(struct python_frame *frames, u32 thread)
{
	struct python *python = bpf_map_lookup_elem(&pythons, &thread);
	u64 frame;
	u32 i;

	if (!python)
		return 0;
	frame = read_pointer(python->thread_state + python->current);
	if (python->indirect != NOWHERE && frame)
		frame = read_pointer(frame + python->indirect);
	for (i = 0; i < PYTHON_FRAMES && frame; i++) {
		frames[i].code = read_pointer(frame + python->code);
		frames[i].instruction = read_pointer(frame + python->instruction);
		frame = read_pointer(frame + python->previous);
	}
	return i;
}

/* Where the present write was made. */
static __attribute__((noinline)) int say_stack(u64 cookie, u32 serial)
{
	u64 writer = bpf_get_current_pid_tgid();
	struct stack *said = event(EVENT_STACK, sizeof *said);
	u32 process = writer >> 32;
	u8 one = 1;

	if (!said)
		return 0;
	bpf_map_update_elem(&looked_into, &process, &one, 0);
	said->cookie = cookie;
	said->serial = serial;
	said->writer = writer;
	said->instruction = said->stack = said->frame = said->link = 0;
	read_registers(said);
	said->length = read_stack(said->octets, (const void *)said->stack);
	said->frames = read_python(said->python, writer);
	bpf_ringbuf_submit(said, 0);
	return 0;
}
