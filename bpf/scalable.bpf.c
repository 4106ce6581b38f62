/* SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0
 *
 * Scalable TCP (T. Kelly, ACM CCR 33(2), 2003): W += 0.01 for each segment acknowledged, W -= W/8 on loss; at windows where
 * that is less than Reno's one segment per RTT, Reno's growth.
 */
#include "tcp.h"

#define PER_SEGMENT 100 /* 1/a */
#define SHARE_SHIFT 3   /* b = 1/8 */

SEC("struct_ops")
void BPF_PROG(cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	acked = beyond_slow_start(tp, acked);
	if (acked)
		grow(tp, tp->snd_cwnd < PER_SEGMENT ? tp->snd_cwnd : PER_SEGMENT, acked);
}

SEC("struct_ops")
__u32 BPF_PROG(ssthresh, struct sock *sk)
{
	__u32 window = tcp_sk(sk)->snd_cwnd;

	return max(window - (window >> SHARE_SHIFT), 2);
}

SEC("struct_ops")
__u32 BPF_PROG(undo_cwnd, struct sock *sk) { return tcp_reno_undo_cwnd(sk); }

LAW(scalable, "bpf_scalable", .cong_avoid = (void *)cong_avoid, .ssthresh = (void *)ssthresh, .undo_cwnd = (void *)undo_cwnd);
