/* SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0
 *
 * H-TCP (D. Leith, R. Shorten, PFLDnet 2004; draft-leith-tcp-htcp): the longer ago the last loss, the faster the window grows,
 *
 *   alpha(D) = 1 for D <= D_L, else 1 + 10 (D - D_L) + ((D - D_L)/2)^2, D in s and D_L = 1 s; times 2 (1 - beta),
 *
 * and a loss leaves beta = RTTmin/RTTmax of it, within 0.5 ... 0.8; 0.5 where the throughput before the loss is more than a fifth
 * off that before the last one. Where Linux's H-TCP has rules of its own, this has those, as the simulator's `variant = "linux"`:
 * whole factors, scaled by RTTmin/100 ms within 1/10 ... 2; one segment at a time, when the segments acknowledged since the last
 * step reach W/alpha, and the ACK that finds them so counts for no other; D from the end of the recovery; beta adapts from the
 * second steady loss on and above 10 ms; RTTmax rises by 20 ms at most and forgets 5 % of the queue at a loss. An undo brings
 * back D alone: the kernel asks for the threshold, which changes the rest, before it tells of the phase. There is no floating
 * point here: alpha and beta are in 128ths, D in ms.
 */
#include "tcp.h"

#define ONE 128
#define HALF 64      /* 0.5 */
#define BETA_MAX 102 /* 0.8 */
#define MS 1000000ull

struct htcp {
	__u64 since;       /* of D, ns: the end of the last recovery, or the connection's start */
	__u64 began;       /* of the throughput's measurement, ns */
	__u64 prior_since; /* what an undo brings back */
	__u32 prior_max_rtt, prior_before;
	__u32 segments;         /* acknowledged in it */
	__u32 throughput;       /* segments per second, smoothed */
	__u32 best;             /* the largest since the last loss */
	__u32 before;           /* the same at the loss before */
	__u32 min_rtt, max_rtt; /* us */
	__u32 alpha, beta;      /* 128ths */
	__u32 newest;           /* segments of the newest ACK */
	__u8 state;
	bool steady; /* the last loss found the throughput so */
};

SEC("struct_ops")
void BPF_PROG(init, struct sock *sk)
{
	struct htcp *law = private(sk);

	law->since = law->began = bpf_ktime_get_ns();
	law->alpha = ONE;
	law->beta = HALF;
	law->newest = 1;
}

static __u64 ms_of(__u32 us) { return (us + 999) / 1000; }

/* 2 (1 - beta) alpha(D), in 128ths. */
static void update_alpha(struct htcp *law)
{
	__u64 ms = (bpf_ktime_get_ns() - law->since) / MS, d = ms > 1000 ? ms - 1000 : 0, factor;

	if (d > 1000000)
		d = 1000000; /* 1000 s: far beyond what any window reaches */
	factor = 1 + (10 * d + (d / 2) * (d / 2) / 1000) / 1000;
	if (law->min_rtt) {
		__u64 scale = 8000 / (10 * ms_of(law->min_rtt)); /* eighths of 100 ms/RTT */

		factor = max(factor * 8 / (scale < 4 ? 4 : scale > 80 ? 80 : scale), 1);
	}
	law->alpha = max(2 * factor * (ONE - law->beta), 1);
}

SEC("struct_ops")
void BPF_PROG(pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct htcp *law = private(sk);
	__u64 now = bpf_ktime_get_ns(), took = now - law->began, rate;

	if (law->state == TCP_CA_Open)
		law->newest = sample->pkts_acked;
	if (sample->rtt_us > 0) {
		__u32 rtt = sample->rtt_us;

		if (law->min_rtt == 0 || rtt < law->min_rtt)
			law->min_rtt = rtt;
		law->max_rtt = max(law->max_rtt, law->min_rtt);
		if (law->state == TCP_CA_Open && rtt <= law->max_rtt + 20000)
			law->max_rtt = max(law->max_rtt, rtt);
	}
	if (law->state != TCP_CA_Open && law->state != TCP_CA_Disorder) {
		law->segments = 0;
		law->began = now;
		return;
	}
	law->segments += sample->pkts_acked;
	if (law->min_rtt == 0 || took < max(law->min_rtt, 1000) * 1000ull)
		return;
	if (law->segments + max(law->alpha / ONE, 1) < tp->snd_cwnd)
		return;
	rate = law->segments * 1000 * MS / took;
	if ((now - law->since) / 1000 / law->min_rtt <= 3) { /* just after a loss */
		law->throughput = law->best = rate;
	} else {
		law->throughput = (3ull * law->throughput + rate) / 4;
		law->best = max(law->best, law->throughput);
	}
	law->segments = 0;
	law->began = now;
}

SEC("struct_ops")
void BPF_PROG(cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct htcp *law = private(sk);

	if (in_slow_start(tp)) {
		beyond_slow_start(tp, acked);
		return;
	}
	if (!window_limited(tp))
		return;
	if ((__u64)tp->snd_cwnd_cnt * law->alpha / ONE >= tp->snd_cwnd) {
		tp->snd_cwnd++;
		tp->snd_cwnd_cnt = 0;
		update_alpha(law);
	} else {
		tp->snd_cwnd_cnt += law->newest;
	}
	law->newest = 1;
}

/* A loss: beta for this one. */
SEC("struct_ops")
__u32 BPF_PROG(ssthresh, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct htcp *law = private(sk);
	__u64 best = law->best, before = law->before;
	__u32 queueing = law->max_rtt - law->min_rtt;

	law->before = law->best;
	law->beta = HALF;
	if (5 * best < 4 * before || 5 * best > 6 * before) {
		law->steady = false;
	} else if (law->steady && law->min_rtt > 10000) {
		law->beta = max(ms_of(law->min_rtt) * ONE / ms_of(law->max_rtt), HALF);
		if (law->beta > BETA_MAX)
			law->beta = BETA_MAX;
	} else {
		law->steady = true;
	}
	update_alpha(law);
	law->max_rtt = law->min_rtt + queueing * 95ull / 100;
	return max((__u64)tp->snd_cwnd * law->beta / ONE, 2);
}

SEC("struct_ops")
void BPF_PROG(set_state, struct sock *sk, __u8 state)
{
	struct htcp *law = private(sk);
	bool recovers = state == TCP_CA_CWR || state == TCP_CA_Recovery || state == TCP_CA_Loss;

	if (state == TCP_CA_Open && law->prior_since) { /* the recovery is over */
		law->since = bpf_ktime_get_ns();
		law->prior_since = 0;
	}
	if (recovers) {
		if (!law->prior_since) { /* else a timeout within recovery: an undo goes back to before both */
			law->prior_since = law->since;
			law->prior_max_rtt = law->max_rtt;
			law->prior_before = law->before;
		}
		law->since = bpf_ktime_get_ns();
		tcp_sk(sk)->snd_cwnd_cnt = 0;
	}
	law->state = state;
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
