/* NAGLE as in BSD: a runt leaves on an idle connection, and idleness is tested once per output pass (Mogul & Minshall,
 * section 3, figure 3). */
#include "policy.h"
#include "nothing_observed.h"

INLINE enum verdict decide(const struct offer *offer, const struct vars *vars, const struct memory *memory)
{
	return offer->idle_on_entry ? SEND : HOLD;
}

#include "frame.h"
