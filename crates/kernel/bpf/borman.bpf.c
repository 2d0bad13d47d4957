/* BORMAN: the decision is made once for each buffer that the program writes (Mogul & Minshall, section 5.5, figure 5).
 * It includes MORE, as the paper's implementation does. */
#include "policy.h"

struct memory {
	u8 idle_on_entry;
	u8 more_on_entry;
	u8 is_exempt; /* TF_NODELAY, as the variant sets it at the end of a buffer */
};

INLINE void write_began(struct memory *memory, const struct vars *vars)
{
	memory->idle_on_entry = vars->is_idle;
	memory->more_on_entry = vars->more_to_come;
	memory->is_exempt = 0;
}

INLINE void piece_copied(struct memory *memory, const struct piece *piece)
{
	if (!piece->more_to_come)
		memory->is_exempt = memory->idle_on_entry || memory->more_on_entry;
}

INLINE void segments_sent(struct memory *memory, const struct sent *sent)
{
}

INLINE enum verdict decide(const struct offer *offer, const struct vars *vars, const struct memory *memory)
{
	return offer->idle_on_entry || memory->is_exempt ? SEND : HOLD;
}

#define INCLUDES_MORE 1
#include "frame.h"
