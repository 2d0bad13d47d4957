/* EVERY-SEGMENT, an ACK policy: each segment of data is acknowledged when it arrives.
 *
 * Linux tells a congestion control of arriving data only if ECN was negotiated and the algorithm says that it needs it
 * (CA_EVENT_ECN_NO_CE, CA_EVENT_ECN_IS_CE). So the connections of a control group ask for ECN (choice.h). */
#include "acks.h"

enum { EVENT_NO_CE = 4, EVENT_IS_CE = 5 };

INLINE void happened(struct tcp_sock *tp, u32 event)
{
	if (event == EVENT_NO_CE || event == EVENT_IS_CE)
		acknowledge_at_once(tp);
}

#define NEEDS_EVENTS 1
#include "frame.h"
