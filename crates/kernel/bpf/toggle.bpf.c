/* TOGGLE: hold as Nagle does or send at once, whichever left less waiting when both were tried (the engine's toggle.rs has
 * the whole rule and why). Time is cut into slots of 5 ms, and fifty of them are a round: in the first slot every connection
 * holds, in the second every one sends, and in the others each does what was better. CLOCK_TAI keeps the connections of
 * all hosts in step; a leap of whole seconds is a whole number of rounds.
 *
 * What is measured is one end's two queues, by Little's law: what was written and is not acknowledged, and what came and is
 * not read. They are looked at in rounds, where acknowledgments and data arrive, and where data is read.
 *
 * A congestion control has no timer, so a hold ends with an acknowledgment, and not, as the engine's, after twice the time
 * that one takes. Instead a connection that was held for longer than a slot holds nothing for a hundred rounds. The
 * waiting of slots in which nothing happened counts in the slot in which it began.
 *
 * Reads happen without the socket's lock. Two looks at the same instant may count a moment twice, or not at all. */
#include "policy.h"

static u64 (*bpf_ktime_get_tai_ns)(void) = (void *)208;

enum {
	SLOT_NS = 5000000,
	ROUND = 50,
	/* Fewer are not worth a trial. */
	LEAST_WRITES = 8,
	/* For so many slots a connection holds nothing that was held for longer than one. */
	REFRAINS = 100 * ROUND,
};

/* A queue's area, in octets times nanoseconds, and the octets that left it. */
struct account {
	u64 area;
	u64 left;
};

struct queue {
	u64 since; /* when it was looked at last; 0 if it never was */
	u32 octets;
	u32 left_to; /* the sequence number up to which all left */
	struct account account;
};

/* What was found in some slots; older ones count less. */
struct found {
	struct account unacknowledged;
	struct account unread;
	u64 writes;
};

struct memory {
	struct queue unacknowledged;
	struct queue unread;
	u64 slot;
	u64 slot_ends;
	u64 settles;       /* when the queues are the slot's own, if it began with those that the other rule left */
	u64 held_since;    /* 0 if nothing is held */
	u64 refrains_to;   /* the slot before which nothing is held */
	u64 writes;        /* of this slot */
	u64 recent_writes; /* four times the mean of the last slots */
	struct found holding; /* where all held */
	struct found sending; /* where all sent */
	struct found lasting; /* of late, where this connection sent */
	u8 prefers_holding;
	u8 holds; /* in this slot */
};

INLINE void look_at(struct queue *queue, u64 now, u32 octets, u32 left_to)
{
	u64 passed = now - queue->since;

	if (queue->since) {
		if ((s64)passed > 0)
			queue->account.area += queue->octets * passed;
		if (after(left_to, queue->left_to))
			queue->account.left += left_to - queue->left_to;
	}
	queue->since = now;
	queue->octets = octets;
	queue->left_to = left_to;
}

INLINE void look_at_unread(struct memory *memory, struct tcp_sock *tp, u64 now)
{
	u32 came = tp->rcv_nxt, read = tp->copied_seq;

	look_at(&memory->unread, now, after(came, read) ? came - read : 0, read);
}

INLINE void forget_accounts(struct memory *memory)
{
	memory->unacknowledged.account.area = 0;
	memory->unacknowledged.account.left = 0;
	memory->unread.account.area = 0;
	memory->unread.account.left = 0;
}

/* Counts a half of what was found before, or three quarters. */
INLINE u64 kept(u64 value, int half)
{
	return half ? value / 2 : value - value / 4;
}

INLINE void add_account(struct account *to, const struct account *more, int half)
{
	to->area = kept(to->area, half) + more->area;
	to->left = kept(to->left, half) + more->left;
}

INLINE void add(struct found *to, const struct memory *memory, int half)
{
	add_account(&to->unacknowledged, &memory->unacknowledged.account, half);
	add_account(&to->unread, &memory->unread.account, half);
	to->writes = kept(to->writes, half) + memory->writes;
}

/* How long an octet waited, in nanoseconds; 0 if none left. */
INLINE u64 wait_in(const struct account *account)
{
	return account->left ? account->area / account->left : 0;
}

INLINE u64 wait_of(const struct found *found)
{
	u64 unacknowledged = wait_in(&found->unacknowledged);

	return unacknowledged ? unacknowledged + wait_in(&found->unread) : 0;
}

/* Holding left less waiting, by more than chance: as many times vary by a part of one over the square root of their
 * number, if each varies by as much as it lasts. */
INLINE void prefer(struct memory *memory)
{
	u64 held = wait_of(&memory->holding), sent = wait_of(&memory->sending), lasting = wait_of(&memory->lasting);
	u64 writes = memory->holding.writes < memory->sending.writes ? memory->holding.writes : memory->sending.writes;
	u64 share;

	if (!held || !sent)
		return;
	if (lasting > sent)
		sent = lasting;
	/* The gain, in parts of 1024. */
	share = held < sent ? (sent - held) * 1024 / sent : 0;
	memory->prefers_holding = share * share * (u32)writes > 1024 * 1024;
}

INLINE int holds_in(const struct memory *memory, u64 slot)
{
	u64 at = slot % ROUND;

	if (memory->recent_writes < 4 * LEAST_WRITES || slot < memory->refrains_to)
		return 0;
	return at == 0 || (at != 1 && memory->prefers_holding);
}

/* Ends the slot whose time has passed: takes its account, and decides anew. */
INLINE void next_slot(struct memory *memory, u64 now)
{
	u64 slot = now / SLOT_NS, at = memory->slot % ROUND;
	int held = memory->holds;

	if (!memory->slot_ends) {
		/* The first look. */
	} else if (at == 0 && held) {
		add(&memory->holding, memory, 1);
	} else if (at == 1) {
		add(&memory->sending, memory, 1);
		if (memory->prefers_holding)
			add(&memory->lasting, memory, 1);
	} else if (!held) {
		add(&memory->lasting, memory, 0);
	}
	prefer(memory);
	memory->recent_writes = slot - memory->slot > 16 ? 0 : kept(memory->recent_writes, 0) + memory->writes;
	memory->writes = 0;
	memory->slot = slot;
	memory->slot_ends = (slot + 1) * SLOT_NS;
	memory->holds = holds_in(memory, slot);
	memory->settles = memory->holds != held ? slot * SLOT_NS + SLOT_NS / 4 : 0;
	forget_accounts(memory);
}

/* Takes note of both queues. The socket's lock is held. */
INLINE u64 look(struct memory *memory, struct tcp_sock *tp)
{
	u64 now = bpf_ktime_get_tai_ns();

	look_at(&memory->unacknowledged, now, tp->write_seq - tp->snd_una, tp->snd_una);
	look_at_unread(memory, tp, now);
	if (now >= memory->slot_ends)
		next_slot(memory, now);
	if (memory->settles && now > memory->settles) {
		memory->settles = 0;
		forget_accounts(memory);
	}
	return now;
}

/* What was held may leave now. */
INLINE void acknowledged(struct memory *memory, struct tcp_sock *tp)
{
	u64 now = look(memory, tp);

	if (memory->held_since && now - memory->held_since > SLOT_NS) {
		memory->refrains_to = memory->slot + REFRAINS;
		memory->holds = 0;
	}
	memory->held_since = 0;
}

INLINE void unread_changed(struct memory *memory, struct tcp_sock *tp)
{
	if (memory->unread.since)
		look_at_unread(memory, tp, bpf_ktime_get_tai_ns());
}

INLINE void round_begins(struct memory *memory, struct tcp_sock *tp)
{
	look(memory, tp);
}

INLINE void write_began(struct memory *memory, const struct vars *vars)
{
}

INLINE void piece_copied(struct memory *memory, const struct piece *piece)
{
	if (!piece->pieces_before)
		memory->writes++;
}

INLINE void segments_sent(struct memory *memory, const struct sent *sent)
{
}

INLINE enum verdict decide(const struct offer *offer, const struct vars *vars, struct memory *memory)
{
	if (!memory->holds || offer->idle_on_entry)
		return SEND;
	if (!memory->held_since)
		memory->held_since = memory->unacknowledged.since;
	return HOLD;
}

#define SEES_QUEUES 1
#include "frame.h"
