/* DOUPNIK: rules 1 and 2. */
#include "doupnik.h"

INLINE enum verdict decide(const struct offer *offer, const struct vars *vars, const struct memory *memory)
{
	return decide_as_doupnik(offer, vars, 0);
}

#include "frame.h"
