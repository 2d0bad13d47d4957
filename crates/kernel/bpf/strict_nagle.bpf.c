/* Strict Nagle: idleness is tested for every segment (RFC 896; Doupnik, sections 1.3 and 1.4). */
#include "policy.h"
#include "nothing_observed.h"

INLINE enum verdict decide(const struct offer *offer, const struct vars *vars, const struct memory *memory)
{
	return vars->is_idle ? SEND : HOLD;
}

#include "frame.h"
