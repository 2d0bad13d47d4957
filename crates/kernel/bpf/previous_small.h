/* `TF_SMALL_PREV`: whether the last segment sent was small (Mogul & Minshall, section 5.2). It does not count as small
 * if it ended data of a multiple of the copying unit; on Linux that unit is the MSS. */
#pragma once
#include "policy.h"

struct previous_small {
	u8 is_set;
};

INLINE void note_previous(struct previous_small *previous, const struct sent *sent)
{
	previous->is_set = sent->is_short && sent->mss && sent->buffered % sent->mss != 0;
}
