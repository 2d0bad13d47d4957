/* MSMV: a runt leaves if the segment before it was full-sized (Mogul & Minshall, section 5.2). */
#include "previous_small.h"

struct memory {
	struct previous_small previous;
};

INLINE void write_began(struct memory *memory, const struct vars *vars)
{
}

INLINE void piece_copied(struct memory *memory, const struct piece *piece)
{
}

INLINE void segments_sent(struct memory *memory, const struct sent *sent)
{
	note_previous(&memory->previous, sent);
}

INLINE enum verdict decide(const struct offer *offer, const struct vars *vars, const struct memory *memory)
{
	return offer->idle_on_entry || !memory->previous.is_set ? SEND : HOLD;
}

#include "frame.h"
