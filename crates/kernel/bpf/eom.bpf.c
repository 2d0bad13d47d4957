/* EOM (Mogul & Minshall, section 5.3). */
#include "eom.h"

INLINE enum verdict decide(const struct offer *offer, const struct vars *vars, const struct memory *memory)
{
	return decide_as_eom(offer, memory);
}

#include "frame.h"
