/* MIN+MORE (Mogul & Minshall, section 8). */
#include "minshall.h"
#define INCLUDES_MORE 1
#include "frame.h"
