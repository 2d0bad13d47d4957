/* FIRST-OF-TURN, an ACK policy: the first data behind an acknowledgment of our own data is acknowledged when it arrives.
 *
 * It is what Nagle's algorithm waits for at the end that answers in several writes. An acknowledgment calls the
 * congestion control whether ECN was negotiated or not. Data that acknowledges nothing new mostly does not. */
#include "acks.h"

INLINE void heard(struct tcp_sock *tp)
{
	acknowledge_at_once(tp);
}

#define NEEDS_ACKS 1
#include "frame.h"
