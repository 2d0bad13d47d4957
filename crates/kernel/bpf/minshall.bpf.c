/* MINSHALL (Mogul & Minshall, section 5.1). */
#include "minshall.h"
#include "frame.h"
