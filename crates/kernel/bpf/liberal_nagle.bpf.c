/* Liberal Nagle: the size test applies to all that may be sent, so a runt may follow the full segments of its own pass
 * (Doupnik, section 1.5). */
#include "policy.h"
#include "nothing_observed.h"

INLINE enum verdict decide(const struct offer *offer, const struct vars *vars, const struct memory *memory)
{
	if (offer->pass_over_mss)
		return SEND;
	return vars->is_idle && offer->empties ? SEND : HOLD;
}

#define TAKES_WINDOW_CUTS 1
#include "frame.h"
