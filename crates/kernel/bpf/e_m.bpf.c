/* E+M: EOM and MORE (Mogul & Minshall, section 5.4). */
#include "eom.h"

INLINE enum verdict decide(const struct offer *offer, const struct vars *vars, const struct memory *memory)
{
	return decide_as_eom(offer, memory);
}

#define INCLUDES_MORE 1
#include "frame.h"
