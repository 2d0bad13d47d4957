/* What the meter's programs and `src/meter.rs` agree upon. */
#pragma once
#include "kernel.h"

/* Times are the monotonic clock's. */
struct turn {
	u64 cookie;
	u64 wrote_ns;
	u64 read_ns;
};
