/* SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0
 *
 * What a congestion control sees of the kernel: the fields that the laws here use and no others, found by their names in the
 * running kernel (CO-RE), so an object runs on any kernel with BTF that lets struct_ops govern TCP (6.0 and later).
 */
#pragma once

#include <linux/types.h>
#include <stdbool.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define KERNEL __attribute__((preserve_access_index))

struct sock {
	unsigned long sk_pacing_rate;
} KERNEL;

struct inet_connection_sock {
	__u64 icsk_ca_priv[13];
} KERNEL;

struct tcp_sock {
	__u32 snd_cwnd;
	__u32 snd_cwnd_cnt;
	__u32 snd_ssthresh;
	__u32 delivered;
	__u32 srtt_us; /* eighths */
	__u32 max_packets_out;
	__u8 is_cwnd_limited : 1;
} KERNEL;

struct ack_sample {
	__u32 pkts_acked;
	__s32 rtt_us;
} KERNEL;

struct tcp_congestion_ops {
	char name[16];
	__u32 flags;
	__u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
	__u32 (*undo_cwnd)(struct sock *sk);
	void (*init)(struct sock *sk);
	void (*set_state)(struct sock *sk, __u8 state);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
};

/* Any socket may choose it: without this only a privileged one may. */
#define TCP_CONG_NON_RESTRICTED 1

enum { TCP_CA_Open, TCP_CA_Disorder, TCP_CA_CWR, TCP_CA_Recovery, TCP_CA_Loss };

extern __u32 tcp_slow_start(struct tcp_sock *tp, __u32 acked) __ksym;
extern __u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

#define tcp_sk(sk) ((struct tcp_sock *)(sk))
/* A law's own state: 104 bytes, zero when the connection begins. */
#define private(sk) ((void *)((struct inet_connection_sock *)(sk))->icsk_ca_priv)

static inline __u32 max(__u32 a, __u32 b) { return a > b ? a : b; }

static inline bool in_slow_start(struct tcp_sock *tp) { return tp->snd_cwnd < tp->snd_ssthresh; }

/* The window, not the application, is what limits the sender (RFC 7661); in slow start it may be twice what is used. */
static inline bool window_limited(struct tcp_sock *tp)
{
	if (in_slow_start(tp) && tp->snd_cwnd < 2 * tp->max_packets_out)
		return true;
	return BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited);
}

/* Slow start by as many segments as `acked`: those that are left for growth beyond it; none where the application limits the sender. */
static inline __u32 beyond_slow_start(struct tcp_sock *tp, __u32 acked)
{
	if (!window_limited(tp))
		return 0;
	return in_slow_start(tp) ? tcp_slow_start(tp, acked) : acked;
}

/* One segment more for each `every` of `credit` segments, which is counted in snd_cwnd_cnt. */
static inline void grow(struct tcp_sock *tp, __u32 every, __u32 credit)
{
	__u32 count = tp->snd_cwnd_cnt + credit;

	if (every == 0)
		every = 1;
	tp->snd_cwnd += count / every;
	tp->snd_cwnd_cnt = count % every;
}

#define LAW(which, as, ...) \
	SEC(".struct_ops.link") \
	struct tcp_congestion_ops which = { .name = as, .flags = TCP_CONG_NON_RESTRICTED, __VA_ARGS__ }

char LICENSE[] SEC("license") = "Dual MIT/GPL";
