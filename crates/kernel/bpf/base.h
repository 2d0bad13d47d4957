/* The kernel's own congestion controls, which do all that is not holding.
 *
 * They are called as kernel functions. The object's calls have numbers of our own, from KERNEL_FUNCTIONS on; the loader
 * puts the running kernel's in their place (`src/object.rs` has the same list, in the same order). */
#pragma once
#include "policy.h"

struct ack_sample;
struct rate_sample;

enum { KERNEL_FUNCTIONS = 0x7f000000 };
#define FUNCTION(number) ((void *)(KERNEL_FUNCTIONS + number))

static void (*cubictcp_init)(struct sock *sk) = FUNCTION(0);
static u32 (*cubictcp_recalc_ssthresh)(struct sock *sk) = FUNCTION(1);
static void (*cubictcp_cong_avoid)(struct sock *sk, u32 ack, u32 acked) = FUNCTION(2);
static void (*cubictcp_state)(struct sock *sk, u8 state) = FUNCTION(3);
static void (*cubictcp_cwnd_event)(struct sock *sk, u32 event) = FUNCTION(4);
static void (*cubictcp_acked)(struct sock *sk, const struct ack_sample *sample) = FUNCTION(5);
static u32 (*tcp_reno_ssthresh)(struct sock *sk) = FUNCTION(6);
static void (*tcp_reno_cong_avoid)(struct sock *sk, u32 ack, u32 acked) = FUNCTION(7);
static u32 (*tcp_reno_undo_cwnd)(struct sock *sk) = FUNCTION(8);
static void (*bbr_init)(struct sock *sk) = FUNCTION(9);
static void (*bbr_main)(struct sock *sk, u32 ack, int flag, const struct rate_sample *sample) = FUNCTION(10);
static u32 (*bbr_sndbuf_expand)(struct sock *sk) = FUNCTION(11);
static u32 (*bbr_undo_cwnd)(struct sock *sk) = FUNCTION(12);
static void (*bbr_cwnd_event)(struct sock *sk, u32 event) = FUNCTION(13);
static u32 (*bbr_ssthresh)(struct sock *sk) = FUNCTION(14);
static u32 (*bbr_min_tso_segs)(struct sock *sk) = FUNCTION(15);
static void (*bbr_set_state)(struct sock *sk, u8 state) = FUNCTION(16);
/* Kernels that tell apart that sending begins have these instead of the two for all events. */
static void (*cubictcp_cwnd_event_tx_start)(struct sock *sk) = FUNCTION(17);
static void (*bbr_cwnd_event_tx_start)(struct sock *sk) = FUNCTION(18);

enum base { BASE_CUBIC, BASE_RENO, BASE_BBR };

/* Which of them it is. The loader sets it, and what is never called of the others is left out by the verifier. */
const volatile u32 base = BASE_CUBIC;
