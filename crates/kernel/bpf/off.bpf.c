/* OFF: never holds, as TCP_NODELAY. */
#include "policy.h"
#include "nothing_observed.h"

INLINE enum verdict decide(const struct offer *offer, const struct vars *vars, const struct memory *memory)
{
	return SEND;
}

#define NEVER_HOLDS 1
#include "frame.h"
