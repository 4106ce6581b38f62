/* SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0
 *
 * Reno as before Linux 4.0: the window grows by ACKs, not by the segments that they acknowledge. W += 1 per ACK in slow start
 * and 1/W per ACK beyond (RFC 5681 (2), without RFC 3465), so delayed and lost ACKs slow it down. A loss halves it.
 */
#include "tcp.h"

SEC("struct_ops")
void BPF_PROG(cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (beyond_slow_start(tp, 1))
		grow(tp, tp->snd_cwnd, 1);
}

SEC("struct_ops")
__u32 BPF_PROG(ssthresh, struct sock *sk) { return max(tcp_sk(sk)->snd_cwnd / 2, 2); }

SEC("struct_ops")
__u32 BPF_PROG(undo_cwnd, struct sock *sk) { return tcp_reno_undo_cwnd(sk); }

LAW(reno_per_ack, "bpf_reno_ack", .cong_avoid = (void *)cong_avoid, .ssthresh = (void *)ssthresh, .undo_cwnd = (void *)undo_cwnd);
