/* DOUPNIK-LIBERAL: rules 1 to 3. */
#include "doupnik.h"

INLINE enum verdict decide(const struct offer *offer, const struct vars *vars, const struct memory *memory)
{
	return decide_as_doupnik(offer, vars, 1);
}

#define TAKES_WINDOW_CUTS 1
#include "frame.h"
