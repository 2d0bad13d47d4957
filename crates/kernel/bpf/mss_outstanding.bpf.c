/* Moldeklev & Gunningberg's change: a runt may also leave if at least an MSS is unacknowledged (section 4.2.1; "at
 * least" is the conclusions' word). */
#include "policy.h"
#include "nothing_observed.h"

INLINE enum verdict decide(const struct offer *offer, const struct vars *vars, const struct memory *memory)
{
	if (offer->idle_on_entry)
		return SEND;
	return offer->outstanding_on_entry >= vars->mss ? SEND : HOLD;
}

#include "frame.h"
