/* SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0
 *
 * H-TCP (D. Leith, R. Shorten, PFLDnet 2004; draft-leith-tcp-htcp): the longer ago the last loss, the faster the window grows,
 *
 *   alpha(D) = 1 for D <= D_L, else 1 + 10 (D - D_L) + ((D - D_L)/2)^2, D in s and D_L = 1 s; times 2 (1 - beta),
 *
 * and a loss leaves beta = RTTmin/RTTmax of it, within 0.5 ... 0.8; 0.5 where the throughput before the loss is more than a fifth
 * off that before the last one. There is no floating point here: alpha and beta are in 128ths, D in ms.
 */
#include "tcp.h"

#define ONE 128
#define HALF 64      /* 0.5 */
#define BETA_MAX 102 /* 0.8 */
#define MS 1000000ull

struct htcp {
	__u64 since;        /* of D, ns: the last loss, or the connection's start */
	__u64 rtt_began;    /* of the throughput's measurement, ns */
	__u32 rtt_delivered;
	__u32 throughput;   /* segments per second over about the last RTT */
	__u32 before;       /* the same at the last loss */
	__u32 min_rtt;      /* us */
	__u32 max_rtt;      /* us, since the last loss */
	__u32 alpha, beta;  /* 128ths */
	__u64 prior_since;  /* what an undo brings back */
	__u32 prior_max_rtt, prior_before;
	bool in_loss;
};

SEC("struct_ops")
void BPF_PROG(init, struct sock *sk)
{
	struct htcp *law = private(sk);

	law->since = law->rtt_began = bpf_ktime_get_ns();
	law->alpha = ONE;
	law->beta = HALF;
}

/* alpha(D) 2 (1 - beta), in 128ths. */
static __u32 alpha_of(__u64 since_ms, __u32 beta)
{
	__u64 d = since_ms > 1000 ? since_ms - 1000 : 0, thousandths = 1000;

	if (d > 1000000)
		d = 1000000; /* 1000 s: far beyond what any window reaches */
	thousandths += 10 * d + d * d / 4000;
	return max(thousandths * 2 * (ONE - beta) / 1000, ONE);
}

SEC("struct_ops")
void BPF_PROG(pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct htcp *law = private(sk);
	__u64 now = bpf_ktime_get_ns();
	__u64 rtt_ns = (__u64)(tp->srtt_us >> 3) * 1000;

	if (sample->rtt_us > 0) {
		__u32 rtt = sample->rtt_us;

		if (law->min_rtt == 0 || rtt < law->min_rtt)
			law->min_rtt = rtt;
		if (rtt > law->max_rtt)
			law->max_rtt = rtt;
	}
	if (now - law->rtt_began >= rtt_ns && now > law->rtt_began) {
		law->throughput = (__u64)(tp->delivered - law->rtt_delivered) * 1000 * MS / (now - law->rtt_began);
		law->rtt_began = now;
		law->rtt_delivered = tp->delivered;
	}
}

SEC("struct_ops")
void BPF_PROG(cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct htcp *law = private(sk);

	acked = beyond_slow_start(tp, acked);
	if (!acked)
		return;
	law->alpha = alpha_of((bpf_ktime_get_ns() - law->since) / MS, law->beta);
	/* alpha segments per window: snd_cwnd_cnt is in 128ths of a segment here */
	grow(tp, tp->snd_cwnd * ONE, acked * law->alpha);
}

/* A loss: beta for this one, and a new epoch. */
SEC("struct_ops")
__u32 BPF_PROG(ssthresh, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct htcp *law = private(sk);
	__u64 b = law->throughput, last = law->before;
	bool steady = 5 * b >= 4 * last && 5 * b <= 6 * last;

	law->beta = HALF;
	if (steady && law->max_rtt) {
		law->beta = max((__u64)law->min_rtt * ONE / law->max_rtt, HALF);
		if (law->beta > BETA_MAX)
			law->beta = BETA_MAX;
	}
	return max((__u64)tp->snd_cwnd * law->beta / ONE, 2);
}

SEC("struct_ops")
void BPF_PROG(set_state, struct sock *sk, __u8 state)
{
	struct htcp *law = private(sk);

	if (state == TCP_CA_Open)
		law->in_loss = false;
	if (state != TCP_CA_CWR && state != TCP_CA_Recovery && state != TCP_CA_Loss)
		return;
	if (!law->in_loss) { /* else a timeout within recovery: an undo goes back to before both */
		law->prior_since = law->since;
		law->prior_max_rtt = law->max_rtt;
		law->prior_before = law->before;
		law->in_loss = true;
	}
	law->since = bpf_ktime_get_ns();
	law->before = law->throughput;
	law->max_rtt = law->min_rtt;
	tcp_sk(sk)->snd_cwnd_cnt = 0;
}

SEC("struct_ops")
__u32 BPF_PROG(undo_cwnd, struct sock *sk)
{
	struct htcp *law = private(sk);

	if (law->prior_since) {
		law->since = law->prior_since;
		law->max_rtt = max(law->max_rtt, law->prior_max_rtt);
		law->before = law->prior_before;
		law->prior_since = 0;
	}
	return tcp_reno_undo_cwnd(sk);
}

LAW(htcp, "bpf_htcp", .init = (void *)init, .pkts_acked = (void *)pkts_acked, .cong_avoid = (void *)cong_avoid,
    .ssthresh = (void *)ssthresh, .set_state = (void *)set_state, .undo_cwnd = (void *)undo_cwnd);
