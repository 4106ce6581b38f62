//! TCP Santa Cruz: keep n packets in the bottleneck's queue, judged by relative delays of the forward path.
//!
//! Source: C. Parsa, J.J. Garcia-Luna-Aceves, "Improving TCP Congestion Control over Internets with
//! Heterogeneous Transmission Media", ICNP 1999. The receiver tells when each packet arrived, so delay and
//! loss of ACKs do not enter the judgement.
//!
//! For packets i and then j, sent at S and received at R, the relative forward delay is
//! D^F = (R_j − R_i) − (S_j − S_i): by so much did the queue grow. Summed from the start of the connection it
//! is the time a packet waits; divided by the mean spacing of arrivals at the receiver, which is the bottleneck's
//! service time while it is busy, it is the packets waiting, N. Once per window, N below n − δ lets W grow by one,
//! N above n + δ takes one off.
//!
//! Where we depart from the paper or go beyond it:
//!
//! * The paper adds quotients, N_t = N_{t−1} + M_W with M_W = ΣD^F / (mean service time in the window). We divide
//!   the whole sum by the last window's. Both are the same while the service time is constant; the sum of quotients
//!   drifts for ever once one window's service time was wrong, or the link's rate changed.
//! * A queue is never shorter than empty: a sum below zero means that the first packet had waited itself, and
//!   becomes the new zero.
//! * δ, and that slow start ends at N > n + δ, are ours: the text we could check does not give them.
//! * Retransmission by the option's bitmap belongs to loss recovery and is left out.

use super::{AckEvent, Build, Entry, OneWay, Phase, Window, WindowLaw, Windowed};
use crate::params::{Kind, Params, Spec, Value};
use crate::slow_start::SlowStart;
use crate::units::{NANOS_PER_SEC, Time};

pub(super) const ENTRY: Entry = Entry {
    name: "santa-cruz",
    summary: "keeps n packets in the bottleneck's queue, judged by one-way relative delays",
    source: "Parsa & Garcia-Luna-Aceves, ICNP 1999",
    params: &[
        Spec {
            name: "n",
            kind: Kind::Number { min: 0.5, max: 100.0 },
            default: Value::Number(3.0),
            paper_default: None,
            unit: "segments",
            doc: "the operating point: packets to keep waiting at the bottleneck; the authors studied 1.5, 3 and 5",
        },
        Spec {
            name: "delta",
            kind: Kind::Number { min: 0.0, max: 10.0 },
            default: Value::Number(0.5),
            paper_default: None,
            unit: "segments",
            doc: "the window stays as it is while the queue is within n ± delta; 0.5 is our choice, not the authors'",
        },
    ],
    build: Build::Native(|cx, params| Box::new(Windowed::new(cx, SlowStart::Standard, SantaCruz::new(params)))),
};

const MIN_WINDOW: f64 = 2.0;

/// Santa Cruz' window law.
pub struct SantaCruz {
    n: f64,
    delta: f64,
    path: ForwardPath,
    /// N as of the last window, in packets.
    queue: f64,
    /// The window is over once everything before this offset is acknowledged.
    window_end: u64,
}

/// What arrivals tell of the bottleneck. Times in ns.
#[derive(Default)]
struct ForwardPath {
    last: Option<OneWay>,
    /// ΣD^F: how long the last packet waited.
    waited: i64,
    /// Arrival of the last packet of the previous window, and the packets delivered until then.
    window_start: Option<(Time, f64)>,
    /// Mean spacing of arrivals, per packet, in the last window.
    spacing: Option<f64>,
}

impl ForwardPath {
    /// Takes in the next packet whose arrival the receiver tells of.
    ///
    /// With delayed or lost ACKs only some packets are seen. That changes nothing in the sum: relative delays
    /// telescope, D(i→k) = D(i→j) + D(j→k). Nor do idle times or retransmitted copies, whose stamps are their own.
    fn take_in(&mut self, j: OneWay) {
        let Some(i) = self.last.replace(j) else { return };
        let spread = j.arrived.0 as i64 - i.arrived.0 as i64;
        let gap = j.sent.0 as i64 - i.sent.0 as i64;
        self.waited = self.waited.saturating_add(spread.saturating_sub(gap)).max(0);
    }

    /// A window ends, `delivered` packets since the start of the connection.
    ///
    /// Packets are counted by delivery, so that holes, retransmissions and unseen packets are counted right.
    fn end_window(&mut self, delivered: f64) {
        let Some(last) = self.last else { return };
        if let Some((start, before)) = self.window_start {
            let (spread, packets) = (last.arrived.since(start).0, delivered - before);
            if spread > 0 && packets > 0.0 {
                self.spacing = Some(spread as f64 / packets);
            }
        }
        self.window_start = Some((last.arrived, delivered));
    }

    /// Packets waiting: by Little's law the time that one waits, over the mean time between two.
    ///
    /// While the bottleneck is busy that mean is its service time. While it is idle part of the time, the
    /// mean is longer, and a burst that waits for itself counts for less: there is room for a larger W.
    fn queue(&self) -> f64 {
        self.spacing.map_or(0.0, |spacing| self.waited as f64 / spacing)
    }
}

impl SantaCruz {
    /// The law for a new connection.
    pub fn new(params: &Params) -> Self {
        SantaCruz {
            n: params.number("n"),
            delta: params.number("delta"),
            path: ForwardPath::default(),
            queue: 0.0,
            window_end: 0,
        }
    }

    fn slow_start(&mut self, w: &mut Window, ev: &AckEvent) {
        // The spacing is the last window's, and W doubles: packets come twice as close now.
        if 2.0 * self.path.queue() > self.n + self.delta {
            w.ssthresh = w.cwnd;
        } else if ev.may_grow {
            w.slow_start(w.segments(ev.acked_bytes));
        }
    }

    /// Once per window: one up below n − δ, one down above n + δ.
    fn judge(&mut self, w: &mut Window, may_grow: bool) {
        if self.queue > self.n + self.delta {
            w.step_down(w.cwnd - 1.0);
        } else if self.queue < self.n - self.delta && may_grow {
            w.cwnd += 1.0;
        }
    }

    /// The next window: all that W lets be in flight from here on.
    ///
    /// It ends with the first packet that a larger W let go, not with the last one sent before: that one could
    /// not yet show what the change did, and W would swing by one for ever.
    fn next_window(&mut self, w: &Window, ev: &AckEvent) {
        self.window_end = match ev.may_grow {
            true => ev.snd_nxt.max(ev.snd_una.saturating_add(w.cwnd_bytes())),
            false => ev.snd_nxt, // the sender does not use all of W
        };
    }
}

impl WindowLaw for SantaCruz {
    fn on_ack(&mut self, w: &mut Window, ev: &AckEvent) {
        if let Some(packet) = ev.one_way {
            self.path.take_in(packet);
        }
        let was_slow_start = w.in_slow_start();
        if was_slow_start {
            self.slow_start(w, ev);
        }
        if ev.snd_una >= self.window_end {
            self.path.end_window(w.segments(ev.delivered));
            self.queue = self.path.queue();
            if !was_slow_start && ev.phase == Phase::Open {
                self.judge(w, ev.may_grow);
            }
            self.next_window(w, ev);
        }
    }

    fn decrease(&mut self, w: &Window, _now: Time, _flight_size: u64) -> f64 {
        (w.cwnd / 2.0).max(MIN_WINDOW)
    }

    fn reads_one_way(&self) -> bool {
        true
    }

    fn signals(&self, _w: &Window, record: &mut dyn FnMut(&'static str, f64)) {
        record("queue_estimate_packets", self.queue);
        record("service_time_s", self.path.spacing.map_or(f64::NAN, |ns| ns / NANOS_PER_SEC as f64));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::closed_loop::{Loop, MSS};
    use crate::cc::{CongestionControl, CongestionEvent, Context, RestartEvent, TimeoutEvent, UndoEvent};
    use crate::params::{Flavour, Given};
    use crate::units::{Duration, Time};

    fn law(n: f64, initial_window: u32, initial_ssthresh: Option<u64>) -> Windowed<SantaCruz> {
        let given = [("n".to_string(), Given::Number(n))];
        let cx = Context { initial_window, initial_ssthresh, ..Context::new(MSS as u32) };
        Windowed::new(
            &cx,
            SlowStart::Standard,
            SantaCruz::new(&Params::resolve(ENTRY.params, &given, Flavour::Paper).unwrap()),
        )
    }
    fn us(us: u64) -> Time {
        Time::ZERO + Duration::from_micros(us)
    }
    fn packet(k: u64, sent: Time, arrived: Time) -> OneWay {
        OneWay { seq: k * MSS, sent, arrived }
    }

    /// Ten packets sent 1 ms apart arrive 1.2 ms apart: ΣD^F = 9 · 0.2 ms, service 1.2 ms, so 1.5 more wait
    /// (9 ms of sending, 7.5 packets served). Seen one in three, or only the first and the last, the same.
    #[test]
    fn relative_delays_add_up() {
        for seen in [1, 3, 9] {
            let mut path = ForwardPath::default();
            for k in (0..=9).step_by(seen) {
                path.take_in(packet(k, us(1000 * k), us(40_000 + 1200 * k)));
                if k == 0 {
                    path.end_window(1.0);
                }
            }
            path.end_window(10.0);
            assert!((path.queue() - 1.5).abs() < 1e-9, "{}", path.queue());
        }
    }

    /// n = 3, δ = 0.5: N = 2 → +1; 3.2 → hold; 4 → −1.
    #[test]
    fn the_operating_point() {
        for (queue, step) in [(2.0, 1.0), (3.2, 0.0), (4.0, -1.0)] {
            let mut law = law(3.0, 20, Some(1));
            law.queue = queue;
            law.law.judge(&mut law.window, true);
            assert_eq!(law.window.cwnd, 20.0 + step);
        }
    }

    /// Both edges of n ± δ belong to the band in which W stays; below it W grows only where the sender uses it.
    #[test]
    fn the_band_in_which_the_window_stays() {
        for (queue, may_grow, w) in [(2.5, true, 20.0), (3.5, true, 20.0), (2.0, false, 20.0), (4.0, false, 19.0)] {
            let mut law = law(3.0, 20, Some(1));
            law.queue = queue;
            law.law.judge(&mut law.window, may_grow);
            assert_eq!(law.window.cwnd, w, "N = {queue}");
        }
    }

    /// The algorithm is one of congestion avoidance: while packets are missing, W is recovery's.
    #[test]
    fn judges_in_open_only() {
        for (phase, w) in [(Phase::Open, 21.0), (Phase::Disorder, 20.0), (Phase::Recovery, 20.0), (Phase::Loss, 20.0)] {
            let mut law = law(3.0, 20, Some(1)); // nothing waits
            law.on_ack(&AckEvent { acked_bytes: MSS, snd_una: MSS, may_grow: true, phase, ..AckEvent::default() });
            assert_eq!(law.window.cwnd, w, "{phase:?}");
        }
    }

    /// Slow start ends where twice the queue of the last window is more than n + δ = 3.5 packets, not before.
    #[test]
    fn slow_start_ends_before_the_queue_doubles_past_the_operating_point() {
        for (waited_ms, ends) in [(17, false), (18, true)] {
            let mut law = law(3.0, 20, None);
            law.path.spacing = Some(10_000_000.0);
            law.path.waited = waited_ms * 1_000_000;
            law.on_ack(&AckEvent { acked_bytes: MSS, may_grow: true, ..AckEvent::default() });
            assert_eq!((law.window.cwnd, law.window.in_slow_start()), if ends { (20.0, false) } else { (21.0, true) });
        }
    }

    /// A loss halves W, at least to two; a timeout leaves one, ssthresh half (once for the same data); an undo
    /// restores both (RFC 5681 §3.1, as in Reno).
    #[test]
    fn losses_are_renos() {
        let (now, zero) = (Time::ZERO, Duration::ZERO);
        let signal = crate::cc::Signal::Loss;
        for (w, left) in [(20, 10_000), (21, 10_500), (3, 2_000)] {
            let mut law = law(3.0, w, None);
            law.on_congestion(&CongestionEvent { now, signal, flight_size: 99_000, srtt: zero, min_rtt: zero });
            assert_eq!((law.cwnd(), law.ssthresh()), (left, left));
            law.on_undo(&UndoEvent { now });
            assert_eq!((law.cwnd(), law.ssthresh()), (u64::from(w) * MSS, u64::MAX));
        }
        let mut law = law(3.0, 20, None);
        for first in [true, false] {
            law.on_timeout(&TimeoutEvent { now, flight_size: 20_000, first, in_flight: 0 });
            assert_eq!((law.cwnd(), law.ssthresh()), (1_000, 10_000), "first: {first}");
        }
    }

    /// After an idle time W is the one that the endpoint proposes (RFC 2861).
    #[test]
    fn restarts_from_the_proposed_window() {
        let mut law = law(3.0, 20, Some(MSS));
        law.on_restart(&RestartEvent { now: Time::ZERO, cwnd: 10_000, ssthresh: 15_000 });
        assert_eq!((law.cwnd(), law.ssthresh()), (10_000, 15_000));
    }

    /// Bursts of ten every 100 ms over a link that takes 5 ms each: the last of a burst waits 45 ms, half the time
    /// the link is idle, and W may grow as if 4.5 packets waited.
    #[test]
    fn an_idle_link_leaves_room() {
        let mut path = ForwardPath::default();
        for k in 0..100 {
            path.take_in(packet(k, us(k / 10 * 100_000), us(k / 10 * 100_000 + 40_000 + k % 10 * 5_000)));
            if k % 10 == 9 {
                path.end_window(k as f64 + 1.0);
            }
        }
        assert_eq!((path.waited, path.queue()), (45_000_000, 4.5));
    }

    /// A link that becomes half as fast: five packets waiting stay five.
    #[test]
    fn the_queue_follows_the_rate_of_the_link() {
        let mut path = ForwardPath::default();
        for k in 0..100 {
            // 5 ms each, then 10 ms; sent so that five wait
            let service = |k: u64| 5_000 * k + 5_000 * k.saturating_sub(50);
            path.take_in(packet(k, us(service(k)), us(40_000 + service(k + 5))));
            path.end_window(k as f64);
        }
        path.waited += 25_000_000; // the first, too, had waited for five
        assert_eq!(path.queue(), 5.0);
    }

    /// An earlier queue of somebody else's: the shortest delay seen becomes the zero.
    #[test]
    fn the_queue_is_never_shorter_than_empty() {
        let mut path = ForwardPath::default();
        for (k, owd) in [(0, 90_000), (1, 40_000), (2, 45_000)] {
            path.take_in(packet(k, us(k * 10_000), us(k * 10_000 + owd)));
        }
        assert_eq!(path.waited, 5_000_000);
    }

    /// The queue settles around n and W stands still; with n = 1.5 W's peak is BDP + n = 18 and the queue stays
    /// between one and two packets (figures 9 and 10 of Parsa's thesis).
    #[test]
    fn a_closed_loop_settles_at_the_operating_point() {
        for (n, w) in [(1.5, 18), (3.0, 19), (5.0, 21)] {
            let path = Loop::run(Box::new(law(n, 2, None)), 1, 60.0);
            let ((w_min, w_max), (q_min, q_max)) = path.settled(10.0);
            assert_eq!((w_min, w_max), (w, w), "n = {n}");
            // what W holds beyond the 87 ms · 187.5 packets/s = 16.3 in the path waits
            assert!(((w as f64 - 16.3125) - q_max).abs() < 0.01, "n = {n}: {q_max}");
            assert!(n - 1.0 <= q_min && q_max <= n + 1.5, "n = {n}: {q_min} to {q_max}");
            if n == 1.5 {
                let peak = path.log.iter().map(|(_, w, _)| *w).max();
                assert_eq!(peak, Some(18));
                assert!(q_min >= 1.0 && q_max <= 2.0, "{q_min} to {q_max}");
            }
        }
    }

    /// Every second or every fourth packet acknowledged: bursts, but the same operating point.
    #[test]
    fn sparse_acks_do_not_move_the_operating_point() {
        for ack_every in [2, 4] {
            for n in [3.0, 5.0] {
                let path = Loop::run(Box::new(law(n, 4, None)), ack_every, 60.0);
                let ((w_min, w_max), (q_min, q_max)) = path.settled(20.0);
                let burst = ack_every as f64;
                assert!(w_max - w_min <= 1, "{w_min} to {w_max}");
                assert!(n - 1.0 - burst <= q_min && q_max <= n + 1.5 + burst, "{q_min} to {q_max}");
            }
        }
    }
}
