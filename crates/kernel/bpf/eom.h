/* EOM: the socket layer tells where a large message ends (Mogul & Minshall, section 5.3, figure 4). A write is large if
 * it reached the send buffer in several pieces: on Linux, if the writer slept for space. */
#pragma once
#include "previous_small.h"

struct memory {
	u8 ends_message; /* TF_EOM */
	struct previous_small previous;
};

INLINE void write_began(struct memory *memory, const struct vars *vars)
{
}

INLINE void piece_copied(struct memory *memory, const struct piece *piece)
{
	memory->ends_message = !piece->more_to_come && (piece->pieces_before || piece->more_on_entry);
}

INLINE void segments_sent(struct memory *memory, const struct sent *sent)
{
	note_previous(&memory->previous, sent);
}

INLINE enum verdict decide_as_eom(const struct offer *offer, const struct memory *memory)
{
	return offer->idle_on_entry || memory->ends_message ? SEND : HOLD;
}
