/* What the programs need to know of the kernel: the fields they read and no others.
 *
 * Each structure names some fields of the kernel's own; the loader finds where they are on the
 * kernel at hand (CO-RE), so the order here means nothing. */
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;

#define SEC(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))
#define KERNEL __attribute__((preserve_access_index))

/* Maps in BTF's notation: numbers are lengths of arrays, types are pointees. */
#define NUMBER(name, value) int (*name)[value]
#define TYPE(name, type) type *name

enum {
	MAP_TYPE_HASH = 1,
	MAP_TYPE_PERCPU_ARRAY = 6,
	MAP_TYPE_LRU_HASH = 9,
	MAP_TYPE_SK_STORAGE = 24,
	MAP_TYPE_RINGBUF = 27,
	MAP_NO_PREALLOC = 1,
	STORAGE_CREATE = 1,
	RING_UNREAD = 0,
};

static void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*bpf_map_update_elem)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*bpf_map_delete_elem)(void *map, const void *key) = (void *)3;
static u64 (*bpf_ktime_get_ns)(void) = (void *)5;
static u32 (*bpf_get_smp_processor_id)(void) = (void *)8;
static u64 (*bpf_get_current_pid_tgid)(void) = (void *)14;
static u64 (*bpf_get_current_uid_gid)(void) = (void *)15;
static long (*bpf_get_current_comm)(void *buffer, u32 size) = (void *)16;
static u64 (*bpf_get_socket_cookie)(void *sk) = (void *)46;
static u64 (*bpf_get_current_cgroup_id)(void) = (void *)80;
static void *(*bpf_sk_storage_get)(void *map, void *sk, void *value, u64 flags) = (void *)107;
static long (*bpf_sk_storage_delete)(void *map, void *sk) = (void *)108;
static long (*bpf_probe_read_user)(void *into, u32 size, const void *from) = (void *)112;
static long (*bpf_probe_read_kernel)(void *into, u32 size, const void *from) = (void *)113;
static u64 (*bpf_jiffies64)(void) = (void *)118;
static void *(*bpf_ringbuf_reserve)(void *ring, u64 size, u64 flags) = (void *)131;
static void (*bpf_ringbuf_submit)(void *record, u64 flags) = (void *)132;
static void (*bpf_ringbuf_discard)(void *record, u64 flags) = (void *)133;
static u64 (*bpf_ringbuf_query)(void *ring, u64 what) = (void *)134;
static struct tcp_sock *(*bpf_skc_to_tcp_sock)(void *sk) = (void *)137;
static struct task_struct *(*bpf_get_current_task_btf)(void) = (void *)158;
static struct pt_regs *(*bpf_task_pt_regs)(struct task_struct *task) = (void *)175;

/* The kernel's numbers. */
enum {
	AF_INET = 2,
	AF_INET6 = 10,
	IPPROTO_TCP = 6,
	MSG_PEEK = 2,
	MSG_MORE = 0x8000,
	NAGLE_OFF = 1,
	NAGLE_CORK = 2,
	NAGLE_PUSH = 4,
	STATE_ESTABLISHED = 1,
	STATE_TIME_WAIT = 6,
	STATE_NEW_SYN_RECV = 12,
	TSQ_THROTTLED = 0,
	PACING_NEEDED = 1,
	PENDING_LOSS_PROBE = 5,
	ACK_SCHEDULED = 1, /* ICSK_ACK_SCHED: an acknowledgment is owed */
	ACK_BY_TIMER = 2,  /* ICSK_ACK_TIMER: and left to the timer */
	FLAG_FIN = 1,
	ECN_OK = 1, /* TCP_ECN_OK: both ends have agreed */
	WAITER_WOKEN = 2, /* WQ_FLAG_WOKEN */
	TRUESIZE_PURE_ACK = 2, /* skb_set_tcp_pure_ack() */
};

struct in6_addr {
	u8 octets[16];
};

struct ns_common {
	u32 inum;
} KERNEL;

struct net {
	struct ns_common ns;
} KERNEL;

typedef struct {
	struct net *net;
} KERNEL possible_net_t;

struct sock_common {
	u32 skc_daddr;
	u32 skc_rcv_saddr;
	u16 skc_dport;
	u16 skc_num;
	u16 skc_family;
	u8 skc_state;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
} KERNEL;

struct bpf_local_storage;

struct sk_buff_head {
	u32 qlen;
} KERNEL;

struct rb_node {
	struct rb_node *rb_right;
	struct rb_node *rb_left;
} KERNEL;

struct rb_root {
	struct rb_node *rb_node;
} KERNEL;

struct list_head {
	struct list_head *next;
} KERNEL;

struct wait_queue_head {
	struct list_head head;
} KERNEL;

struct wait_queue_entry {
	u32 flags;
	void *func;
	struct list_head entry;
} KERNEL;

struct socket_wq {
	struct wait_queue_head wait;
} KERNEL;

struct sock {
	struct sock_common __sk_common;
	struct socket_wq *sk_wq; /* who waits for the socket */
	s32 sk_rcvlowat;         /* fewer octets wake no reader */
	u32 sk_max_ack_backlog;  /* of a listener, and of what it accepts */
	struct bpf_local_storage *sk_bpf_storage;
	struct sk_buff_head sk_write_queue; /* what has not been sent */
	struct rb_root tcp_rtx_queue;       /* what has, and is not acknowledged, by segment */
	unsigned long sk_tsq_flags;
	u32 sk_pacing_status;
	u16 sk_protocol;
} KERNEL;

struct inet_sock {
	struct sock sk;
} KERNEL;

struct timer_list {
	void *function;
} KERNEL;

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	struct timer_list icsk_delack_timer;
	u8 icsk_pending;
	struct {
		u8 pending;   /* ICSK_ACK_SCHED and others */
		u32 lrcvtime; /* when data came last, in jiffies */
	} KERNEL icsk_ack;
} KERNEL;

struct minmax_sample {
	u32 t;
	u32 v;
} KERNEL;

struct minmax {
	struct minmax_sample s[3];
} KERNEL;

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u32 snd_una;
	u32 snd_nxt;
	u32 snd_sml;
	u32 snd_wnd;
	u32 snd_cwnd;
	u32 write_seq;
	u32 pushed_seq;
	u32 rcv_nxt;
	u32 copied_seq;
	u32 mss_cache;
	u32 packets_out;
	u32 sacked_out;
	u32 lost_out;
	u32 retrans_out;
	u32 data_segs_in;
	u32 data_segs_out;
	u32 segs_out;
	u32 srtt_us;
	u8 ecn_flags;
	u64 bytes_sent;
	u64 tcp_mstamp; /* in microseconds, of the monotonic clock */
	struct minmax rtt_min;
	u8 nonagle : 4;
} KERNEL;

struct sk_buff {
	struct sock *sk;
	u32 len;
	u32 truesize;
	u16 transport_header;
	u8 *head;
	u8 *data;
} KERNEL;

struct task_struct {
	s32 pid;
	s32 tgid;
} KERNEL;

/* The registers that a thread had when it called the kernel. What follows `___` is not the kernel's: on
 * each processor one of the two has the fields. */
struct pt_regs___x86 {
	unsigned long ip;
	unsigned long sp;
	unsigned long bp;
} KERNEL;

struct pt_regs___arm64 {
	u64 regs[31];
	u64 sp;
	u64 pc;
} KERNEL;

struct msghdr {
	u32 msg_flags;
} KERNEL;

/* Whether the kernel at hand has the field. */
#define FIELD_EXISTS(field) __builtin_preserve_field_info(field, 2)

/* A bit field: how wide it is, and where, is the loader's to say. */
#define FIELD_INFO(field, what) __builtin_preserve_field_info(field, what)
INLINE u8 nonagle_of(struct tcp_sock *tp)
{
	const void *at = (const void *)tp + FIELD_INFO(tp->nonagle, 0 /* byte offset */);
	u64 value;

	switch (FIELD_INFO(tp->nonagle, 1 /* byte size */)) {
	case 1: value = *(const u8 *)at; break;
	case 2: value = *(const u16 *)at; break;
	case 4: value = *(const u32 *)at; break;
	default: value = *(const u64 *)at; break;
	}
	value <<= FIELD_INFO(tp->nonagle, 4 /* left shift */);
	return value >> FIELD_INFO(tp->nonagle, 5 /* right shift */);
}

INLINE int after(u32 one, u32 other)
{
	return (s32)(one - other) > 0;
}
