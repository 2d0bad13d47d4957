/* NAGLIM: Solaris's `tcp_naglim_def`, the number of octets that are gathered (Davids). */
#include "policy.h"
#include "nothing_observed.h"

/* In octets; the smaller of this and the MSS counts. The loader may set another. */
const volatile u32 limit = 65535;

INLINE enum verdict decide(const struct offer *offer, const struct vars *vars, const struct memory *memory)
{
	u32 least = limit < vars->mss ? limit : vars->mss;

	return vars->is_idle || offer->len >= least ? SEND : HOLD;
}

#include "frame.h"
