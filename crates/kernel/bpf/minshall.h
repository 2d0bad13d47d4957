/* MINSHALL: a runt waits only while an earlier small segment is unacknowledged (Mogul & Minshall, section 5.1;
 * draft-minshall-nagle-01: `snd_sml_add` and `snd_sml_snt`). */
#pragma once
#include "policy.h"

struct memory {
	u32 added; /* the end of the program's data when all of it was less than an MSS */
	u32 sent;  /* the end of the last segment that was sent and ended there */
	u8 has_added;
	u8 has_sent;
};

INLINE void write_began(struct memory *memory, const struct vars *vars)
{
}

INLINE void piece_copied(struct memory *memory, const struct piece *piece)
{
	if (piece->buffered < piece->mss) {
		memory->added = piece->written;
		memory->has_added = 1;
	}
}

INLINE void segments_sent(struct memory *memory, const struct sent *sent)
{
	if (sent->is_short && memory->has_added && sent->end == memory->added) {
		memory->sent = sent->end;
		memory->has_sent = 1;
	}
}

INLINE enum verdict decide(const struct offer *offer, const struct vars *vars, const struct memory *memory)
{
	if (offer->idle_on_entry || !memory->has_sent)
		return SEND;
	/* The second test: the numbers come round, and the mark may be old. */
	return after(memory->sent, vars->una) && !after(memory->sent, vars->nxt) ? HOLD : SEND;
}
