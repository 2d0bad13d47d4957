/* Doupnik's new transmission policy: a partial segment leaves if it ends the program's data, whatever is
 * unacknowledged (section 2.1). Each write is one set of data. */
#pragma once
#include "policy.h"
#include "nothing_observed.h"

INLINE enum verdict decide_as_doupnik(const struct offer *offer, const struct vars *vars, int is_liberal)
{
	/* Rule 2. */
	if (offer->empties && !vars->more_to_come)
		return SEND;
	/* Rule 3. */
	return is_liberal && offer->pass_over_mss ? SEND : HOLD;
}
