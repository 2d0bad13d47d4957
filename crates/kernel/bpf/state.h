/* What the frame remembers of a socket: the window that is put back, the round, the write under way, and the policy's own
 * memory. */
#pragma once
#include "socket.h"
#include "window.h"

/* What a socket is remembered by. The socket's lock guards all but `call_is_over`. */
struct state {
	struct window window;
	/* The round that was last begun. */
	u32 seen_nxt;
	u32 round_una;
	u32 round_written;
	/* When the pass began that the round belongs to. */
	u32 entry_nxt;
	u32 entry_outstanding;
	u8 entry_idle;
	u8 has_heard; /* an acknowledgment came since the last round */
	/* The write under way, and what the policy was told of it. */
	u8 is_piece_open;
	u8 has_slept;
	u8 has_msg_more;
	u8 left_unfinished; /* the last piece had more to come */
	u8 call_is_over;
	u32 write_end;
	u32 told_to;
	u32 pieces;
	u32 turn; /* rcv_nxt at the last round with something to send */
#ifdef PACES
	u32 pacing_before; /* sk_pacing_status as the socket came */
#endif
	struct memory memory;
};

struct {
	NUMBER(type, MAP_TYPE_SK_STORAGE);
	NUMBER(map_flags, MAP_NO_PREALLOC);
	TYPE(key, s32);
	TYPE(value, struct state);
} states SEC(".maps");

INLINE struct state *state_of(void *sk)
{
	return bpf_sk_storage_get(&states, sk, 0, 0);
}
