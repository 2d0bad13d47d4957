/* What `tinygram watch` sees of the kernel's TCP: when a short segment is held back, why, by whose
 * write, until when, and what let it go.
 *
 * After each write (`sock_send_length`) the sender's own variables say whether octets are waiting
 * and which of tcp_write_xmit's tests they failed; a segment's way to the device (`net_dev_queue`)
 * says when they left, whatever brought it about: an acknowledgment, a loss probe, a time-out, an
 * option, a close, in every state of the connection. The next read or write then says whether the
 * peer had answered: whether anybody waited.
 *
 * State is kept in the socket's own storage, so it ends with the socket and is never mistaken for
 * another's. Most sockets show nothing of interest and have no storage: the programs see that at once
 * and look no further. */
#include "../../host/bpf/kernel.h"
#include "events.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Set by the loader. */
const volatile u64 least_hold_ns = 1000000;
const volatile u64 least_late_ack_ns = 15000000;
const volatile u32 least_late_ack_jiffies = 4;  /* the same */
const volatile u32 tick_us = 4000;  /* a jiffy */
const volatile u8 tree_only = 0;  /* only processes in the tree, and whether their threads slept */
const volatile u32 most_stacks = 0;  /* stacks taken each second and processor; of sockets never held before whose process is known, an eighth */

const volatile u64 delack_timer = 0;  /* the address of tcp_delack_timer(); 0: it is not known */
const volatile u64 socket_waiter = 0; /* the address of woken_wake_function(); 0: it is not known */
const volatile u8 by_connection = 0;  /* what is seen is counted for each connection, and not only in all */

struct totals totals[MOST_PROCESSORS];

/* What was late, of an acknowledgment of ours. */
enum late_state {
	LATE_LEFT = 1,  /* it has left; what came behind it has not been read */
	LATE_READ = 2,  /* that was read; whether it is answered is not known */
};

/* One per socket. The kernel puts it eight octets into a line of the processor's cache: what every write,
 * segment and read looks at stands in the 56 octets of that line, so that looking costs one line. */
struct conversation {
	u64 entered_ns;    /* when the present write began; 0 if not known */
	u64 read_ns;       /* the last read that is not acknowledged yet, as far as is known; else 0 */
	u64 write_ns;      /* the last write; 0: there was a read since */
	u64 tally_ns;      /* since when the tally counts */
	u32 tally_writes;
	u32 tally_close;   /* writes close behind another */
	u32 tally_slower;  /* short writes that a slower acknowledgment would have held */
	u32 tally_turns;
	u32 turn_read;     /* octets read since the last write */
	u8 holds;          /* a hold is on */
	u8 ended;          /* a hold has ended, and what came after is not known yet */
	u8 more;           /* the present write said MSG_MORE */
	u8 late_state;

	struct hold hold;  /* the present one, or the last; its writer is the last that was seen */
	struct late late;  /* data that came right behind a late acknowledgment of ours */
	u64 late_ack_ns;   /* when it left */
	u64 tally_bytes;   /* bytes_sent when the tally began */
	u32 tally_segments;
	u32 tally_short_holds;
	u32 from;          /* the first octet held */
	u32 until;         /* what had been written when it was last looked at */
	u32 una;           /* the oldest octet unacknowledged when the hold began */
	u32 rcv_nxt;       /* what had arrived when the last hold ended */
	u32 late_ack_us;
	u32 ended_serial;  /* which hold that was */
	u32 slept_before;  /* how often the writer had slept when the hold began */
	u32 unseen;        /* segments before the first tally */
};
_Static_assert(__builtin_offsetof(struct conversation, hold) == 56, "one line of the cache");

struct {
	NUMBER(type, MAP_TYPE_SK_STORAGE);
	NUMBER(map_flags, MAP_NO_PREALLOC);
	TYPE(key, s32);
	TYPE(value, struct conversation);
} conversations SEC(".maps");

enum { RING_OCTETS = 1 << 21 };

struct {
	NUMBER(type, MAP_TYPE_RINGBUF);
	NUMBER(max_entries, RING_OCTETS);
} events SEC(".maps");

/* Events for which there was no room. */
struct {
	NUMBER(type, MAP_TYPE_PERCPU_ARRAY);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, u64);
} lost SEC(".maps");

/* The processes that are looked at, by number, if not all are. */
struct {
	NUMBER(type, MAP_TYPE_HASH);
	NUMBER(map_flags, MAP_NO_PREALLOC);
	NUMBER(max_entries, 65536);
	TYPE(key, u32);
	TYPE(value, u8);
} tree SEC(".maps");

/* How often a thread has slept since it was first seen to be held. */
struct {
	NUMBER(type, MAP_TYPE_LRU_HASH);
	NUMBER(max_entries, 16384);
	TYPE(key, u64);
	TYPE(value, u32);
} sleeps SEC(".maps");

/* Threads that run Python, by their number. */
struct {
	NUMBER(type, MAP_TYPE_LRU_HASH);
	NUMBER(max_entries, 16384);
	TYPE(key, u32);
	TYPE(value, struct python);
} pythons SEC(".maps");

/* The processes whose stack was taken. */
struct {
	NUMBER(type, MAP_TYPE_LRU_HASH);
	NUMBER(max_entries, 16384);
	TYPE(key, u32);
	TYPE(value, u8);
} looked_into SEC(".maps");

/* How many stacks were taken in this second. */
struct budget {
	u64 second;
	u32 taken;
};

struct {
	NUMBER(type, MAP_TYPE_PERCPU_ARRAY);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct budget);
} budgets SEC(".maps");

/* What was seen of the connections that were written to, by the sockets' cookies, until they end. */
struct {
	NUMBER(type, MAP_TYPE_HASH);
	NUMBER(map_flags, MAP_NO_PREALLOC);
	NUMBER(max_entries, 131072);
	TYPE(key, u64);
	TYPE(value, struct seen);
} seen SEC(".maps");

/* Adds one. A direct address, because each call costs more than the rest, and no locked instruction, which costs as much as
 * the tests behind it: each field belongs to one tracepoint, where nothing else takes the processor. An interrupt between
 * the two halves of a count can take one away. */
#define COUNT(field) \
	(*(volatile u64 *)&totals[bpf_get_smp_processor_id() & (MOST_PROCESSORS - 1)].field += 1)

INLINE int looked_at(void)
{
	u32 process;

	if (!tree_only)
		return 1;
	process = bpf_get_current_pid_tgid() >> 32;
	return !!bpf_map_lookup_elem(&tree, &process);
}

INLINE void *event(u32 what, u64 size)
{
	u32 zero = 0;
	u64 *count;
	u32 *record = bpf_ringbuf_reserve(&events, size, 0);

	if (record) {
		*record = what;
		return record;
	}
	count = bpf_map_lookup_elem(&lost, &zero);
	if (count)
		++*count;
	return 0;
}

INLINE void name(struct ends *ends, struct sock *sk)
{
	ends->cookie = bpf_get_socket_cookie(sk);
	ends->netns = sk->__sk_common.skc_net.net->ns.inum;
	ends->family = sk->__sk_common.skc_family;
	ends->local_port = sk->__sk_common.skc_num;
	ends->remote_port = __builtin_bswap16(sk->__sk_common.skc_dport);
	ends->opened = OPENED_KNOWN | (sk->sk_max_ack_backlog ? OPENED_BY_PEER : 0);
	if (ends->family == AF_INET6) {
		ends->local.v6 = sk->__sk_common.skc_v6_rcv_saddr;
		ends->remote.v6 = sk->__sk_common.skc_v6_daddr;
	} else {
		ends->local.v4 = sk->__sk_common.skc_rcv_saddr;
		ends->remote.v4 = sk->__sk_common.skc_daddr;
	}
}

INLINE void measure(struct ends *ends, struct tcp_sock *tp)
{
	ends->mss = tp->mss_cache;
	ends->srtt_us = tp->srtt_us >> 3;
	ends->min_rtt_us = tp->rtt_min.s[0].v;
}

/* What the tests of tcp_write_xmit look at. */
struct view {
	u32 una;
	u32 nxt;
	u32 sml;
	u32 wnd;
	u32 cwnd;
	u32 written;
	u32 pushed;
	u32 mss;
	u32 packets;    /* on the way, whatever became of them */
	u32 in_flight;  /* what counts against cwnd */
	u8 nonagle;
	u8 paced;
	u8 throttled;
};

/* Why the octets from `nxt` on are not sent: the tests of tcp_write_xmit in their order. */
INLINE u8 why(const struct view *v, u8 said_more)
{
	u32 tail = v->written - v->nxt, first = tail < v->mss ? tail : v->mss;

	if ((s32)tail <= 0)
		return 0;
	if (v->in_flight >= v->cwnd)
		return REASON_CWND;
	if (after(v->nxt + first, v->una + v->wnd))
		return REASON_WINDOW;
	if (tail >= v->mss)
		return REASON_OTHER;
	if (v->nonagle & NAGLE_CORK)
		return REASON_CORK;
	/* tcp_push() marks where a write without MSG_MORE ended. */
	if (said_more || v->pushed != v->written)
		return REASON_MORE;
	/* Minshall's rule: a short segment is on the way. */
	if (!v->nonagle && v->packets && after(v->sml, v->una) && !after(v->sml, v->nxt))
		return REASON_NAGLE;
	if (v->paced)
		return REASON_OTHER;
	return v->throttled ? REASON_AUTOCORK : REASON_OTHER;
}

/* The last hold is over, and so is the time in which its answer could come. */
INLINE void say_after(struct conversation *talk, u8 after)
{
	struct aftermath *said;

	talk->ended = 0;
	said = event(EVENT_AFTER, sizeof *said);
	if (!said)
		return;
	said->after = after;
	said->cookie = talk->hold.ends.cookie;
	said->serial = talk->ended_serial;
	bpf_ringbuf_submit(said, 0);
}

/* What bounds a receiver's timer. */
struct inet_connection_sock___acks {
	u32 icsk_delack_max; /* in jiffies */
	u32 icsk_rto_min;    /* in jiffies */
} KERNEL;

struct dst_entry {
	unsigned long _metrics; /* where the route's numbers are; its lowest two bits are flags */
} KERNEL;

struct sock___acks {
	struct dst_entry *sk_dst_cache; /* the route */
} KERNEL;

enum {
	ROUTE_LOCK = 0,     /* RTAX_LOCK, counted from 0: which of the numbers override the socket's */
	ROUTE_RTO_MIN = 12, /* RTAX_RTO_MIN, counted from 0: in milliseconds */
};

/* The longest that a receiver's timer delays an acknowledgment, in milliseconds: tcp_delack_max(), by the socket's own
 * bound, its least retransmission timeout and the route's. 0: this kernel does not say. */
INLINE u16 delack_bound_ms(struct tcp_sock *tp)
{
	struct inet_connection_sock___acks *own = (void *)tp;
	u32 locked = 0, route_ms = 0, rto_ms, bound_ms;
	const struct dst_entry *route;
	const u32 *metrics;

	if (!FIELD_INFO(own->icsk_delack_max, 2 /* exists */) || !FIELD_INFO(own->icsk_rto_min, 2))
		return 0;
	bound_ms = own->icsk_delack_max * (u64)tick_us / 1000;
	rto_ms = own->icsk_rto_min * (u64)tick_us / 1000;
	route = ((struct sock___acks *)tp)->sk_dst_cache;
	if (route) {
		metrics = (const u32 *)(route->_metrics & ~3ul);
		bpf_probe_read_kernel(&locked, sizeof locked, metrics + ROUTE_LOCK);
		if (locked & 1u << (ROUTE_RTO_MIN + 1) &&
		    !bpf_probe_read_kernel(&route_ms, sizeof route_ms, metrics + ROUTE_RTO_MIN))
			rto_ms = route_ms;
	}
	/* One jiffy less than the peer's timeout would be. */
	rto_ms = rto_ms > 2 * tick_us / 1000 ? rto_ms - tick_us / 1000 : tick_us / 1000;
	bound_ms = bound_ms < rto_ms ? bound_ms : rto_ms;
	return bound_ms < 0xffff ? bound_ms : 0xffff;
}

/* What came behind our late acknowledgment was read; was it answered? */
INLINE void say_late_ack(struct conversation *talk, u32 answered)
{
	struct late_ack *said = event(EVENT_LATE_ACK, sizeof *said);

	talk->late_state &= ~LATE_READ;
	if (!said)
		return;
	said->uid = talk->hold.uid;
	said->ends = talk->hold.ends;
	said->ends.min_rtt_us = talk->late.min_rtt_us;
	said->ends.mss = talk->late.mss;
	said->reader = talk->hold.writer;
	said->cgroup = talk->hold.cgroup;
	said->ack_ns = talk->late.ack_ns;
	said->read_ns = talk->late.read_ns;
	said->late_us = talk->late.late_us;
	said->length = talk->late.length;
	said->before = talk->late.before;
	said->answered = answered;
	said->bound_ms = talk->late.bound_ms;
	__builtin_memcpy(said->comm, talk->hold.comm, sizeof said->comm);
	bpf_ringbuf_submit(said, 0);
}

INLINE void say_tally(struct tcp_sock *tp, struct conversation *talk, u64 now)
{
	struct tally *said;
	u32 segments = tp->data_segs_out - talk->tally_segments;
	u64 bytes = tp->bytes_sent - talk->tally_bytes;

	/* Only who sends much in little is of interest. */
	if ((talk->tally_close && segments >= TALLY_SEGMENTS && bytes < (u64)segments * (tp->mss_cache / 2)) ||
	    talk->tally_short_holds || (tree_only && talk->tally_slower)) {
		said = event(EVENT_TALLY, sizeof *said);
		if (said) {
			said->ends = talk->hold.ends;
			measure(&said->ends, tp);
			said->writer = talk->hold.writer;
			said->cgroup = talk->hold.cgroup;
			said->uid = talk->hold.uid;
			said->start_ns = talk->tally_ns;
			said->end_ns = now;
			said->bytes = bytes;
			said->segments = segments;
			said->writes = talk->tally_writes;
			said->close = talk->tally_close;
			said->slower = talk->tally_slower;
			said->unseen = talk->unseen;
			said->turns = talk->tally_turns;
			said->short_holds = talk->tally_short_holds;
			said->nonagle = nonagle_of(tp);
			__builtin_memcpy(said->comm, talk->hold.comm, sizeof said->comm);
			bpf_ringbuf_submit(said, 0);
		}
	}
	if (!talk->tally_ns)
		talk->unseen = tp->data_segs_out;
	talk->tally_ns = now;
	talk->tally_bytes = tp->bytes_sent;
	talk->tally_segments = tp->data_segs_out;
	talk->tally_writes = talk->tally_slower = talk->tally_close = talk->tally_turns = talk->tally_short_holds = 0;
}

INLINE void say_hold(struct conversation *talk, u32 end, u32 rcv_nxt, u64 now, u8 by)
{
	struct hold *said;

	talk->holds = 0;
	if (talk->hold.reason >= REASON_CWND) {
		/* A window is no rule about short segments; but where it lets one segment go at a time, a
		 * delayed acknowledgment stops everything. */
		if (talk->hold.reason != REASON_CWND || talk->hold.packets > 1 || by != ENDED_ACK ||
		    now - talk->hold.start_ns < least_late_ack_ns + (u64)talk->hold.ends.min_rtt_us * 1000)
			return;
	} else if (now - talk->hold.start_ns < least_hold_ns) {
		talk->tally_short_holds++;
		return;
	}
	talk->hold.end_ns = now;
	talk->hold.held = end - talk->from;
	talk->hold.ended_by = by;
	talk->hold.slept = 0;
	if (tree_only) {
		u64 writer = talk->hold.writer;
		u32 *slept = bpf_map_lookup_elem(&sleeps, &writer);

		if (slept && *slept > talk->slept_before)
			talk->hold.slept = 1;
	}
	said = event(EVENT_HOLD, sizeof *said);
	if (!said)
		return;
	*said = talk->hold;
	bpf_ringbuf_submit(said, 0);
	talk->ended = 1;
	talk->ended_serial = talk->hold.serial;
	talk->rcv_nxt = rcv_nxt;
}

INLINE void begin(struct conversation *talk, const struct view *v, u8 reason, u64 now)
{
	talk->holds = 1;
	talk->from = v->nxt;
	talk->until = v->written;
	talk->una = v->una;
	talk->hold.reason = reason;
	talk->hold.start_ns = now;
	talk->hold.behind = v->nxt - v->una;
	talk->hold.packets = v->packets;
	talk->hold.nonagle = v->nonagle;
	talk->hold.writes = 1;
	talk->hold.serial++;
}

/* Who writes. A socket may change hands, and a program its name. */
INLINE void sign(struct conversation *talk)
{
	talk->hold.writer = bpf_get_current_pid_tgid();
	talk->hold.uid = (u32)bpf_get_current_uid_gid();
	talk->hold.cgroup = bpf_get_current_cgroup_id();
	bpf_get_current_comm(talk->hold.comm, sizeof talk->hold.comm);
}

INLINE struct conversation *conversation_of(struct sock *sk, u64 flags)
{
	struct conversation *talk = bpf_sk_storage_get(&conversations, sk, 0, flags);

	if (talk && !talk->hold.what) {
		talk->hold.what = EVENT_HOLD;
		name(&talk->hold.ends, sk);
	}
	return talk;
}

/* One stack more? Half of the ring is kept for what matters more. */
INLINE int affordable(u32 most, u64 now)
{
	u32 zero = 0;
	u64 second = now / 1000000000;
	struct budget *budget = bpf_map_lookup_elem(&budgets, &zero);

	if (!budget)
		return 0;
	if (budget->second != second) {
		budget->second = second;
		budget->taken = 0;
	}
	if (budget->taken >= most || bpf_ringbuf_query(&events, RING_UNREAD) > RING_OCTETS / 2)
		return 0;
	budget->taken++;
	return 1;
}

/* How many stacks may be taken for a hold like this. Processes that end soon have few holds: the first counts as much
 * as the later ones of others. */
INLINE u32 most_stacks_of(const struct conversation *talk)
{
	u32 process = talk->hold.writer >> 32;

	return talk->hold.serial > 1 || !bpf_map_lookup_elem(&looked_into, &process) ? most_stacks : most_stacks / 8;
}

INLINE void read_registers(struct stack *said)
{
	void *registers = bpf_task_pt_regs(bpf_get_current_task_btf());
	struct pt_regs___x86 *x86 = registers;
	struct pt_regs___arm64 *arm64 = registers;

	if (FIELD_EXISTS(x86->bp)) {
		bpf_probe_read_kernel(&said->instruction, sizeof(u64), &x86->ip);
		bpf_probe_read_kernel(&said->stack, sizeof(u64), &x86->sp);
		bpf_probe_read_kernel(&said->frame, sizeof(u64), &x86->bp);
	} else if (FIELD_EXISTS(arm64->pc)) {
		bpf_probe_read_kernel(&said->instruction, sizeof(u64), &arm64->pc);
		bpf_probe_read_kernel(&said->stack, sizeof(u64), &arm64->sp);
		bpf_probe_read_kernel(&said->frame, sizeof(u64), &arm64->regs[29]);
		bpf_probe_read_kernel(&said->link, sizeof(u64), &arm64->regs[30]);
	}
}

/* A stack may end, and memory may not be there: then less is read. */
INLINE u32 read_stack(u8 *octets, const void *from)
{
	u32 length;

#pragma unroll
	for (length = STACK_OCTETS; length >= STACK_OCTETS / 64; length /= 2)
		if (!bpf_probe_read_user(octets, length, from))
			return length;
	return 0;
}

INLINE u64 read_pointer(u64 from)
{
	u64 value = 0;

	bpf_probe_read_user(&value, sizeof value, (const void *)from);
	return value;
}

INLINE u32 read_python(struct python_frame *frames, u32 thread)
{
	struct python *python = bpf_map_lookup_elem(&pythons, &thread);
	u64 frame;
	u32 i;

	if (!python)
		return 0;
	frame = read_pointer(python->thread_state + python->current);
	if (python->indirect != NOWHERE && frame)
		frame = read_pointer(frame + python->indirect);
	for (i = 0; i < PYTHON_FRAMES && frame; i++) {
		frames[i].code = read_pointer(frame + python->code);
		frames[i].instruction = read_pointer(frame + python->instruction);
		frame = read_pointer(frame + python->previous);
	}
	return i;
}

/* Where the present write was made. */
static __attribute__((noinline)) int say_stack(u64 cookie, u32 serial)
{
	u64 writer = bpf_get_current_pid_tgid();
	struct stack *said = event(EVENT_STACK, sizeof *said);
	u32 process = writer >> 32;
	u8 one = 1;

	if (!said)
		return 0;
	bpf_map_update_elem(&looked_into, &process, &one, 0);
	said->cookie = cookie;
	said->serial = serial;
	said->writer = writer;
	said->instruction = said->stack = said->frame = said->link = 0;
	read_registers(said);
	said->length = read_stack(said->octets, (const void *)said->stack);
	said->frames = read_python(said->python, writer);
	bpf_ringbuf_submit(said, 0);
	return 0;
}

/* Somebody has written: counted for the connection. */
static __attribute__((noinline)) int count_write(struct sock *sk)
{
	u64 cookie = bpf_get_socket_cookie(sk);
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	struct seen *known = bpf_map_lookup_elem(&seen, &cookie), *said, first = {};

	if (!tp)
		return 0;
	if (known) {
		known->writes++;
		known->segments = tp->segs_out;
		return 0;
	}
	first.what = EVENT_SEEN;
	first.uid = (u32)bpf_get_current_uid_gid();
	name(&first.ends, sk);
	first.writer = bpf_get_current_pid_tgid();
	first.cgroup = bpf_get_current_cgroup_id();
	first.writes = 1;
	first.segments = tp->segs_out;
	/* The segment of the write itself has left already, if it may. */
	first.segments_before = tp->segs_out ? tp->segs_out - 1 : 0;
	bpf_get_current_comm(first.comm, sizeof first.comm);
	bpf_map_update_elem(&seen, &cookie, &first, 0);
	said = event(EVENT_SEEN, sizeof *said);
	if (said) {
		*said = first;
		bpf_ringbuf_submit(said, 0);
	}
	return 0;
}

/* The connection has ended, and what was seen of it is said. */
static __attribute__((noinline)) int say_seen(struct sock *sk)
{
	u64 cookie = bpf_get_socket_cookie(sk);
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	struct seen *known = bpf_map_lookup_elem(&seen, &cookie), *said;

	if (!known || !tp)
		return 0;
	said = event(EVENT_SEEN, sizeof *said);
	if (said) {
		*said = *known;
		said->segments = tp->segs_out;
		said->ended = 1;
		bpf_ringbuf_submit(said, 0);
	}
	bpf_map_delete_elem(&seen, &cookie);
	return 0;
}

/* A write begins to append, or goes on: kernels since 6.16. */
SEC("tp_btf/tcp_sendmsg_locked")
int write_goes_on(u64 *context)
{
	struct sock *sk = (void *)context[0];
	struct msghdr *message = (void *)context[1];
	struct conversation *talk = bpf_sk_storage_get(&conversations, sk, 0, 0);

	if (!talk)
		return 0;
	talk->entered_ns = bpf_ktime_get_ns();
	talk->more = !!(message->msg_flags & MSG_MORE);
	return 0;
}

INLINE void look(struct view *v, struct sock *sk, struct tcp_sock *tp)
{
	v->una = tp->snd_una;
	v->sml = tp->snd_sml;
	v->wnd = tp->snd_wnd;
	v->cwnd = tp->snd_cwnd;
	v->pushed = tp->pushed_seq;
	v->mss = tp->mss_cache;
	v->packets = tp->packets_out;
	v->in_flight = v->packets - tp->sacked_out - tp->lost_out + tp->retrans_out;
	v->nonagle = nonagle_of(tp);
	v->paced = sk->sk_pacing_status == PACING_NEEDED;
	v->throttled = !!(sk->sk_tsq_flags & (1 << TSQ_THROTTLED));
}

/* Whether the socket's storage is worth a look: only then may it have a conversation. Programs of
 * other loaders may keep something there, too. */
INLINE int is_known(struct sock *sk)
{
	return sk->sk_bpf_storage != 0;
}

/* Whether little is sent in many segments, and more than one after another. Requests and answers in
 * turn are not: each is acknowledged by the other. */
INLINE int may_flood(struct tcp_sock *tp)
{
	u32 segments = tp->data_segs_out;

	return (tp->packets_out > 1 || segments > 2 * tp->data_segs_in + TALLY_SEGMENTS) &&
	       tp->bytes_sent < (u64)segments * (tp->mss_cache / 2);
}

/* Whether a write can have left nothing to look at, by the socket's own fields alone. Each call of the kernel's
 * costs as much as all of this where returns are guarded, and the call that gives TCP's fields is one. A flood each
 * segment of which is acknowledged before the next shows in TCP's fields alone: these are looked at in four of 32
 * ticks of the clock, because the writes of a flood follow each other closely. */
INLINE int is_quiet(struct sock *sk)
{
	struct rb_node *on_the_way;

	if (sk->sk_write_queue.qlen)
		return 0;
	on_the_way = sk->tcp_rtx_queue.rb_node;
	if (on_the_way && (on_the_way->rb_left || on_the_way->rb_right))
		return 0;
	return (bpf_jiffies64() & 31) >= 4;
}

/* Whether nothing was found for a while: the conversation can be forgotten, until something is. */
INLINE int is_dull(const struct conversation *talk, struct tcp_sock *tp)
{
	return talk->tally_writes >= TALLY_WRITES && !talk->tally_close && !talk->hold.serial &&
	       !talk->late_ack_ns && !may_flood(tp);
}

/* The same for a socket that reads and never writes. */
INLINE int is_dull_reader(const struct conversation *talk, struct tcp_sock *tp)
{
	return tp->data_segs_in > YOUNG_SEGMENTS && !talk->tally_ns && !talk->tally_writes && !talk->hold.serial &&
	       !talk->late_ack_ns;
}

/* A connection begins: its first acknowledgments are timed. */
SEC("tp_btf/inet_sock_set_state")
int state_changes(u64 *context)
{
	struct sock *sk = (void *)context[0];

	if ((s32)context[2] == STATE_ESTABLISHED && sk->sk_protocol == IPPROTO_TCP) {
		COUNT(connections);
		bpf_sk_storage_get(&conversations, sk, 0, STORAGE_CREATE);
	}
	return 0;
}

/* A write has ended: kernels since 6.3. */
SEC("tp_btf/sock_send_length")
int write_ended(u64 *context)
{
	struct sock *sk = (void *)context[0];
	struct conversation *talk;
	struct tcp_sock *tp;
	struct view v = {};
	u64 now, entered;
	u8 reason, wrote_before;
	int dull;

	if (sk->sk_protocol != IPPROTO_TCP || (s32)context[1] <= 0 || !looked_at())
		return 0;
	COUNT(writes);
	if (by_connection)
		count_write(sk);
	if (!tree_only && !is_known(sk) && is_quiet(sk))
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return 0;
	v.nxt = tp->snd_nxt;
	v.written = tp->write_seq;
	if (!tree_only && !is_known(sk) && v.written == v.nxt && !may_flood(tp))
		return 0;
	talk = conversation_of(sk, STORAGE_CREATE);
	if (!talk)
		return 0;
	talk->tally_writes++;
	talk->turn_read = 0;
	/* What has been sent just now bears the time; asking the clock costs as much as the rest. */
	now = v.written == v.nxt ? tp->tcp_mstamp * 1000 : bpf_ktime_get_ns();
	wrote_before = talk->write_ns != 0;
	if (now - talk->write_ns < CLOSE_NS)
		talk->tally_close++;
	talk->write_ns = now;
	entered = talk->entered_ns;
	talk->entered_ns = 0;
	if (talk->holds) {
		/* What is held goes on being held, or has left without being seen (a tunnel). */
		if (!after(v.nxt, talk->from)) {
			talk->until = v.written;
			talk->hold.writes++;
			return 0;
		}
		talk->holds = 0;
	}
	if (talk->late_state & LATE_READ)
		say_late_ack(talk, 1);
	if (talk->ended)
		say_after(talk, after(tp->copied_seq, talk->rcv_nxt) ? AFTER_ANSWER : AFTER_WRITE);
	/* The tally begins anew when it is said. */
	dull = is_dull(talk, tp);
	if (!talk->tally_ns || (talk->tally_writes >= TALLY_WRITES && now - talk->tally_ns > TALLY_NS)) {
		sign(talk);
		say_tally(tp, talk, now);
	}
	if (v.written == v.nxt) {
		if (!tree_only && dull) {
			bpf_sk_storage_delete(&conversations, sk);
			return 0;
		}
		/* Only because what was sent before had been acknowledged already. */
		if (wrote_before && (s32)context[1] < tp->mss_cache && !nonagle_of(tp))
			talk->tally_slower++;
		return 0;
	}
	look(&v, sk, tp);
	reason = why(&v, entered ? talk->more : 0);
	if (!reason)
		return 0;
	sign(talk);
	measure(&talk->hold.ends, tp);
	begin(talk, &v, reason, entered ? entered : now);
	if (reason < REASON_CWND && affordable(most_stacks_of(talk), now))
		say_stack(talk->hold.ends.cookie, talk->hold.serial);
	if (tree_only) {
		u64 thread = talk->hold.writer;
		u32 *slept = bpf_map_lookup_elem(&sleeps, &thread), never = 0;

		talk->slept_before = slept ? *slept : 0;
		if (!slept)
			bpf_map_update_elem(&sleeps, &thread, &never, 0);
	}
	return 0;
}

/* A socket that was reached through a packet may not be read like one that was handed over. */
#define READ(tp, field) ({ \
	typeof(((struct tcp_sock *)0)->field) value = 0; \
	bpf_probe_read_kernel(&value, sizeof value, &(tp)->field); \
	value; })

INLINE u8 read_nonagle(struct tcp_sock *tp)
{
	u64 value = 0;

	bpf_probe_read_kernel(&value, FIELD_INFO(tp->nonagle, 1 /* byte size */),
			      (void *)tp + FIELD_INFO(tp->nonagle, 0 /* byte offset */));
	value <<= FIELD_INFO(tp->nonagle, 4 /* left shift */);
	return value >> FIELD_INFO(tp->nonagle, 5 /* right shift */);
}

INLINE void look_at_distance(struct view *v, struct tcp_sock *tp, u32 segments)
{
	v->sml = READ(tp, snd_sml);
	v->wnd = READ(tp, snd_wnd);
	v->cwnd = READ(tp, snd_cwnd);
	v->written = READ(tp, write_seq);
	v->pushed = READ(tp, pushed_seq);
	v->packets = READ(tp, packets_out) + segments;
	v->in_flight = v->packets - READ(tp, sacked_out) - READ(tp, lost_out) + READ(tp, retrans_out);
}

/* What let a segment go that was held. */
INLINE u8 released_by(const struct conversation *talk, struct tcp_sock *tp, u32 una, u8 nonagle, u32 end, u32 payload, u8 flags)
{
	if (talk->una != una && (talk->hold.reason != REASON_NAGLE || !after(READ(tp, snd_sml), una)))
		return ENDED_ACK;
	if (flags & FLAG_FIN)
		return ENDED_CLOSE;
	if (talk->hold.nonagle != nonagle)
		return ENDED_OPTION;
	if (payload >= talk->hold.ends.mss || after(end, talk->until))
		return ENDED_WRITE;
	if (READ(tp, inet_conn.icsk_pending) == PENDING_LOSS_PROBE)
		return ENDED_LOSS_PROBE;
	return ENDED_TIMER;
}

/* Whether data came last so long ago that an acknowledgment that leaves now is late; but for a
 * socket without a conversation it is not known how late exactly. */
INLINE int comes_late(struct tcp_sock *tp)
{
	u32 now = bpf_jiffies64();

	return now - READ(tp, inet_conn.icsk_ack.lrcvtime) >= least_late_ack_jiffies;
}

/* A segment is on its way to the device. */
SEC("tp_btf/net_dev_queue")
int segment_leaves(u64 *context)
{
	struct sk_buff *skb = (void *)context[0];
	struct sock *sk = skb->sk;
	struct tcp_sock *tp = (void *)sk;
	struct conversation *talk;
	struct view v = {};
	u32 header, payload, end;
	u8 octets[20], reason;
	u64 now;

	if (!sk || sk->__sk_common.skc_state == STATE_TIME_WAIT || sk->__sk_common.skc_state == STATE_NEW_SYN_RECV)
		return 0;
	if (sk->sk_protocol != IPPROTO_TCP)
		return 0;
	COUNT(segments);
	if (!is_known(sk)) {
		/* From now on its acknowledgments are timed. */
		if (!tree_only && skb->truesize == TRUESIZE_PURE_ACK && comes_late(tp)) {
			/* Whoever reads or writes next names it. */
			talk = bpf_sk_storage_get(&conversations, sk, 0, STORAGE_CREATE);
			if (talk)
				talk->late_ack_ns = bpf_ktime_get_ns();
		}
		return 0;
	}
	talk = bpf_sk_storage_get(&conversations, sk, 0, 0);
	if (!talk || (!talk->holds && !talk->read_ns))
		return 0;
	/* Data acknowledges, too. */
	if (!talk->holds && skb->truesize != TRUESIZE_PURE_ACK) {
		talk->read_ns = 0;
		return 0;
	}
	if (bpf_probe_read_kernel(octets, sizeof octets, skb->head + skb->transport_header))
		return 0;
	/* In a tunnel an outer header stands here. */
	if (*(u16 *)octets != __builtin_bswap16(sk->__sk_common.skc_num) ||
	    *(u16 *)(octets + 2) != sk->__sk_common.skc_dport)
		return 0;
	header = skb->transport_header - (u32)(skb->data - skb->head) + (octets[12] >> 4) * 4;
	payload = skb->len - header;
	/* Nothing but an acknowledgment: is it late? */
	if (!payload && talk->read_ns) {
		now = bpf_ktime_get_ns();
		if (now - talk->read_ns >= least_late_ack_ns) {
			talk->late_state |= LATE_LEFT;
			talk->late_ack_ns = now;
			talk->late_ack_us = (now - talk->read_ns) / 1000;
		}
	}
	talk->read_ns = 0;
	end = __builtin_bswap32(*(u32 *)(octets + 4)) + payload;
	if (!talk->holds || !after(end, talk->from))
		return 0;

	now = bpf_ktime_get_ns();
	v.nxt = end;
	v.una = READ(tp, snd_una);
	v.nonagle = read_nonagle(tp);
	v.mss = talk->hold.ends.mss;
	reason = talk->hold.reason;
	say_hold(talk, end, READ(tp, rcv_nxt), now, released_by(talk, tp, v.una, v.nonagle, end, payload, octets[13]));
	if (reason < REASON_CWND || !v.mss)
		return 0;
	/* A window let some go; what is left may now be held for another reason. */
	look_at_distance(&v, tp, (payload + v.mss - 1) / v.mss);
	reason = why(&v, 0);
	if (reason)
		begin(talk, &v, reason, now);
	return 0;
}

/* Somebody has read. */
SEC("tp_btf/sock_recv_length")
int read_ended(u64 *context)
{
	struct sock *sk = (void *)context[0];
	s32 length = context[1], flags = context[2];
	struct conversation *talk;
	struct tcp_sock *tp;
	u64 now;

	if (sk->sk_protocol != IPPROTO_TCP || length < 0 || (flags & MSG_PEEK) || !looked_at())
		return 0;
	if (!tree_only && !is_known(sk))
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return 0;
	talk = conversation_of(sk, tree_only ? STORAGE_CREATE : 0);
	if (!talk)
		return 0;
	if (!tree_only && is_dull_reader(talk, tp)) {
		bpf_sk_storage_delete(&conversations, sk);
		return 0;
	}
	if (talk->ended && (!length || after(tp->copied_seq, talk->rcv_nxt)))
		say_after(talk, length ? AFTER_ANSWER : AFTER_PEERS_CLOSE);
	if (!length)
		return 0;
	if (talk->write_ns) {
		talk->write_ns = 0;
		talk->tally_turns++;
	}
	/* When the last segment came, in all likelihood the one that is read. */
	now = tp->tcp_mstamp * 1000;
	if (talk->late_state & LATE_LEFT) {
		if (talk->late_state & LATE_READ)
			say_late_ack(talk, 0);
		talk->late_state = LATE_READ;
		talk->late.min_rtt_us = tp->rtt_min.s[0].v;
		talk->late.mss = tp->mss_cache;
		talk->late.bound_ms = delack_bound_ms(tp);
		talk->late.read_ns = now;
		talk->late.ack_ns = talk->late_ack_ns;
		talk->late.late_us = talk->late_ack_us;
		talk->late.length = length;
		talk->late.before = talk->turn_read;
		sign(talk);
	}
	talk->turn_read += length;
	talk->read_ns = now;
	return 0;
}

/* The socket ends. */
SEC("tp_btf/tcp_destroy_sock")
int socket_ends(u64 *context)
{
	struct sock *sk = (void *)context[0];
	struct conversation *talk = bpf_sk_storage_get(&conversations, sk, 0, 0);
	struct tcp_sock *tp;
	u64 now;

	if (by_connection)
		say_seen(sk);
	if (!talk)
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return 0;
	now = bpf_ktime_get_ns();
	if (talk->holds)
		say_hold(talk, talk->until, tp->rcv_nxt, now, ENDED_NEVER);
	if (talk->ended)
		say_after(talk, tp->rcv_nxt != talk->rcv_nxt ? AFTER_PEERS_CLOSE : AFTER_CLOSE);
	if (talk->late_state & LATE_READ)
		say_late_ack(talk, 0);
	if (talk->tally_ns)
		say_tally(tp, talk, now);
	return 0;
}

/* A process of the tree makes another. */
SEC("tp_btf/sched_process_fork")
int process_forks(u64 *context)
{
	struct task_struct *parent = (void *)context[0], *child = (void *)context[1];
	u32 process = parent->tgid;
	u8 one = 1;

	if (!bpf_map_lookup_elem(&tree, &process))
		return 0;
	process = child->tgid;
	bpf_map_update_elem(&tree, &process, &one, 0);
	return 0;
}

/* A thread sleeps, and not because another was to run. */
SEC("tp_btf/sched_switch")
int thread_sleeps(u64 *context)
{
	struct task_struct *previous = (void *)context[1];
	u64 thread;
	u32 *slept;

	if (!(u32)context[3])
		return 0;
	thread = (u64)previous->tgid << 32 | (u32)previous->pid;
	slept = bpf_map_lookup_elem(&sleeps, &thread);
	if (slept)
		(*slept)++;
	return 0;
}

/* Through an address that is no pointer of the verifier's. */
#define GET(sk, field) ({ \
	typeof(((struct sock *)0)->field) value; \
	bpf_probe_read_kernel(&value, sizeof value, &(sk)->field); \
	value; })

enum { MOST_WAITERS = 8 };

/* Whether a thread sleeps in a read of the socket and was not woken: it asked for more than has arrived. */
INLINE int awaits_more(struct sock *sk)
{
	struct wait_queue_entry *none = 0;
	struct socket_wq *queue = GET(sk, sk_wq);
	struct list_head *head, *link;
	u32 at = FIELD_INFO(none->entry, 0 /* byte offset */);

	if (!queue || !socket_waiter)
		return 0;
	head = (void *)queue + FIELD_INFO(((struct socket_wq *)0)->wait, 0)
	     + FIELD_INFO(((struct wait_queue_head *)0)->head, 0);
	link = head;
	for (int i = 0; i < MOST_WAITERS; i++) {
		struct wait_queue_entry *waiter;
		void *wakes = 0;
		u32 flags = 0;

		bpf_probe_read_kernel(&link, sizeof link, (void *)link + FIELD_INFO(((struct list_head *)0)->next, 0));
		if (!link || link == head)
			return 0;
		waiter = (void *)link - at;
		bpf_probe_read_kernel(&wakes, sizeof wakes, &waiter->func);
		bpf_probe_read_kernel(&flags, sizeof flags, &waiter->flags);
		if ((u64)wakes == socket_waiter && !(flags & WAITER_WOKEN))
			return 1;
	}
	return 0;
}

/* Returns how many octets a reader could have read and has not. */
INLINE u32 unread_of(struct sock *sk)
{
	u32 unread = READ((struct tcp_sock *)sk, rcv_nxt) - READ((struct tcp_sock *)sk, copied_seq);
	s32 least = GET(sk, sk_rcvlowat);

	/* A FIN is counted as an octet of the sequence, and is no data; so is what comes with an error. */
	if ((s32)unread < least || awaits_more(sk))
		return 0;
	return unread;
}

/* A timer expires. That of delayed acknowledgments says which acknowledgments were late because of it, and not
 * because a thread read late. */
SEC("tp_btf/timer_expire_entry")
int acknowledgment_is_due(u64 *context)
{
	struct timer_list *timer = (void *)context[0];
	struct inet_connection_sock *none = 0;
	struct delayed_ack *said;
	struct sock *sk;
	struct net *net;
	u8 pending;

	if ((u64)timer->function != delack_timer)
		return 0;
	sk = (void *)timer - FIELD_INFO(none->icsk_delack_timer, 0 /* byte offset */);
	/* The kernel leaves the timer running when data has carried the acknowledgment: then it expires and sends
	 * nothing. */
	pending = READ((struct tcp_sock *)sk, inet_conn.icsk_ack.pending);
	if ((pending & (ACK_SCHEDULED | ACK_BY_TIMER)) != (ACK_SCHEDULED | ACK_BY_TIMER))
		return 0;
	said = event(EVENT_DELAYED_ACK, sizeof *said);
	if (!said)
		return 0;
	__builtin_memset(&said->ends, 0, sizeof said->ends);
	said->unread = unread_of(sk);
	said->at_ns = bpf_ktime_get_ns();
	net = GET(sk, __sk_common.skc_net.net);
	bpf_probe_read_kernel(&said->ends.netns, sizeof said->ends.netns, &net->ns.inum);
	said->ends.family = GET(sk, __sk_common.skc_family);
	said->ends.local_port = GET(sk, __sk_common.skc_num);
	said->ends.remote_port = __builtin_bswap16(GET(sk, __sk_common.skc_dport));
	if (said->ends.family == AF_INET6) {
		said->ends.local.v6 = GET(sk, __sk_common.skc_v6_rcv_saddr);
		said->ends.remote.v6 = GET(sk, __sk_common.skc_v6_daddr);
	} else {
		said->ends.local.v4 = GET(sk, __sk_common.skc_rcv_saddr);
		said->ends.remote.v4 = GET(sk, __sk_common.skc_daddr);
	}
	bpf_ringbuf_submit(said, 0);
	return 0;
}
