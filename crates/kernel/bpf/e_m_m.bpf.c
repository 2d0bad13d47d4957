/* E+M+M: EOM, MORE and MSMV (Mogul & Minshall, section 8). */
#include "eom.h"

INLINE enum verdict decide(const struct offer *offer, const struct vars *vars, const struct memory *memory)
{
	return memory->previous.is_set ? decide_as_eom(offer, memory) : SEND;
}

#define INCLUDES_MORE 1
#include "frame.h"
