//! TCP Santa Cruz: keep n packets in the bottleneck's queue, judged by relative delays of the forward path.
//!
//! Source: C. Parsa, J.J. Garcia-Luna-Aceves, "Improving TCP Congestion Control over Internets with
//! Heterogeneous Transmission Media", ICNP 1999. The receiver tells when each packet arrived, so what happens to
//! the ACKs on their way back does not matter.
//!
//! For packets i and then j, sent at S and received at R, the relative forward delay is
//! D^F = (R_j − R_i) − (S_j − S_i): by so much did the queue grow. Summed from the start of the connection it
//! is the time a packet waits; divided by the bottleneck's service time per packet, the packets waiting, N. Once
//! per window, N below n − δ lets W grow by one, N above n + δ takes one off.
//!
//! Where we depart from the paper or go beyond it:
//!
//! * The paper adds quotients, N_t = N_{t−1} + M_W with M_W = ΣD^F / (mean service time in the window). We divide
//!   the whole sum by the last window's service time. Both are the same while the service time is constant; the
//!   sum of quotients drifts for ever once one window's service time was wrong, or the link's rate changed.
//! * A queue is never shorter than empty: a sum below zero means that the first packet had waited itself, and
//!   becomes the new zero.
//! * δ, and that slow start ends at N > n + δ, are ours: the text we could check does not give them.
//! * Retransmission by the option's bitmap belongs to loss recovery and is left out.

use super::{
    AckEvent, CongestionControl, CongestionEvent, Context, Entry, OneWay, Phase, RestartEvent, TimeoutEvent, UndoEvent,
    Window,
};
use crate::params::{Kind, Params, Spec, Value};
use crate::units::NANOS_PER_SEC;

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
    build: &|cx, params| Box::new(SantaCruz::new(cx, params)),
};

const MIN_WINDOW: f64 = 2.0;

/// Santa Cruz' window law.
pub struct SantaCruz {
    n: f64,
    delta: f64,
    window: Window,
    path: ForwardPath,
    /// N as of the last window, in packets.
    queue: f64,
    /// The window is over once everything before this offset is acknowledged.
    window_end: u64,
}

/// What relative delays tell of the bottleneck. Times in ns.
struct ForwardPath {
    mss: f64,
    last: Option<OneWay>,
    /// ΣD^F: how long the last packet waited.
    waited: i64,
    /// Arrival spacing of packets that kept the bottleneck busy in this window, and how many they were.
    spacing: f64,
    packets: f64,
    /// Mean service time per packet of the last window that had any.
    service: Option<f64>,
}

impl ForwardPath {
    /// Takes in the next packet whose arrival the receiver tells of.
    ///
    /// With delayed or lost ACKs only some packets are seen. That changes nothing in the sum: relative delays
    /// telescope, D(i→k) = D(i→j) + D(j→k). Nor do idle times or retransmitted copies, whose stamps are their own.
    fn take_in(&mut self, j: OneWay, phase: Phase) {
        let Some(i) = self.last.replace(j) else { return };
        let spread = j.arrived.0 as i64 - i.arrived.0 as i64;
        let gap = j.sent.0 as i64 - i.sent.0 as i64;
        let waited_i = self.waited;
        self.waited = waited_i.saturating_add(spread.saturating_sub(gap)).max(0);

        // The spacing of arrivals is service time only if the link was never idle between the two: if j was
        // sent before i was through, gap < waited_i + service. Taking the spacing per packet for the service time
        // makes the test strict: an idle time would enlarge the gap more than it. A hole or a retransmission in
        // between would miscount the packets.
        let packets = j.seq.saturating_sub(i.seq) as f64 / self.mss;
        let per_packet = spread as f64 / packets;
        if phase == Phase::Open && packets > 0.0 && spread > 0 && (gap as f64) < waited_i as f64 + per_packet {
            self.spacing += spread as f64;
            self.packets += packets;
        }
    }

    /// Mean service time per packet, of this window if it has one.
    fn service(&self) -> Option<f64> {
        if self.packets > 0.0 { Some(self.spacing / self.packets) } else { self.service }
    }

    /// Packets waiting.
    fn queue(&self) -> f64 {
        self.service().map_or(0.0, |s| self.waited as f64 / s)
    }

    /// A new window begins.
    fn next_window(&mut self) {
        self.service = self.service();
        (self.spacing, self.packets) = (0.0, 0.0);
    }
}

impl SantaCruz {
    /// The law for a new connection.
    pub fn new(cx: &Context, params: &Params) -> Self {
        SantaCruz {
            n: params.number("n"),
            delta: params.number("delta"),
            window: Window::new(cx),
            path: ForwardPath {
                mss: f64::from(cx.mss),
                last: None,
                waited: 0,
                spacing: 0.0,
                packets: 0.0,
                service: None,
            },
            queue: 0.0,
            window_end: 0,
        }
    }

    fn slow_start(&mut self, ev: &AckEvent) {
        if self.path.queue() > self.n + self.delta {
            self.window.ssthresh = self.window.cwnd;
        } else if ev.may_grow {
            self.window.slow_start(self.window.segments(ev.acked_bytes));
        }
    }

    /// Once per window: one up below n − δ, one down above n + δ.
    fn judge(&mut self, may_grow: bool) {
        if self.queue > self.n + self.delta {
            self.window.step_down(self.window.cwnd - 1.0);
        } else if self.queue < self.n - self.delta && may_grow {
            self.window.cwnd += 1.0;
        }
    }

    /// The next window: all that W lets be in flight from here on.
    ///
    /// It ends with the first packet that a larger W let go, not with the last one sent before: that one could
    /// not yet show what the change did, and W would swing by one for ever.
    fn next_window(&mut self, ev: &AckEvent) {
        self.path.next_window();
        self.window_end = match ev.may_grow {
            true => ev.snd_nxt.max(ev.snd_una.saturating_add(self.window.cwnd_bytes())),
            false => ev.snd_nxt, // the sender does not use all of W
        };
    }
}

impl CongestionControl for SantaCruz {
    fn on_ack(&mut self, ev: &AckEvent) {
        if let Some(packet) = ev.one_way {
            self.path.take_in(packet, ev.phase);
        }
        let was_slow_start = self.window.in_slow_start();
        if was_slow_start {
            self.slow_start(ev);
        }
        if ev.snd_una >= self.window_end {
            self.queue = self.path.queue();
            if !was_slow_start && ev.phase == Phase::Open {
                self.judge(ev.may_grow);
            }
            self.next_window(ev);
        }
    }

    fn on_congestion(&mut self, _ev: &CongestionEvent) {
        self.window.reduce((self.window.cwnd / 2.0).max(MIN_WINDOW));
    }

    fn on_timeout(&mut self, ev: &TimeoutEvent) {
        let half = (self.window.cwnd / 2.0).max(MIN_WINDOW);
        self.window.time_out(ev.first.then_some(half));
    }

    fn on_undo(&mut self, _ev: &UndoEvent) {
        self.window.undo();
    }

    fn on_restart(&mut self, ev: &RestartEvent) {
        self.window.restart(ev);
    }

    fn cwnd(&self) -> u64 {
        self.window.cwnd_bytes()
    }

    fn ssthresh(&self) -> u64 {
        self.window.ssthresh_bytes()
    }

    fn signals(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("queue_estimate_packets", self.queue);
        record("service_time_s", self.path.service.map_or(f64::NAN, |ns| ns / NANOS_PER_SEC as f64));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::closed_loop::{Loop, MSS};
    use crate::params::{Flavour, Given};
    use crate::units::{Duration, Time};

    fn law(n: f64, initial_window: u32, initial_ssthresh: Option<u64>) -> SantaCruz {
        let given = [("n".to_string(), Given::Number(n))];
        let cx = Context { initial_window, initial_ssthresh, ..Context::new(MSS as u32) };
        SantaCruz::new(&cx, &Params::resolve(ENTRY.params, &given, Flavour::Paper).unwrap())
    }
    fn us(us: u64) -> Time {
        Time::ZERO + Duration::from_micros(us)
    }
    fn packet(k: u64, sent: Time, arrived: Time) -> OneWay {
        OneWay { seq: k * MSS, sent, arrived }
    }

    /// Ten packets sent 1 ms apart arrive 1.2 ms apart: ΣD^F = 9 · 0.2 ms, service 1.2 ms, so 1.5 more wait
    /// (9 ms of sending, 7.5 packets served). Seen one in two or one in three, the same.
    #[test]
    fn relative_delays_add_up() {
        for seen in [1, 3, 9] {
            let mut law = law(3.0, 10, Some(1));
            // the link was busy all along
            law.path.waited = 100_000_000;
            for k in (0..=9).step_by(seen) {
                law.path.take_in(packet(k, us(1000 * k), us(40_000 + 1200 * k)), Phase::Open);
            }
            let grown = law.path.queue() - 100_000_000.0 / 1_200_000.0;
            assert!((grown - 1.5).abs() < 1e-9, "{grown}");
        }
    }

    /// n = 3, δ = 0.5: N = 2 → +1; 3.2 → hold; 4 → −1.
    #[test]
    fn the_operating_point() {
        for (queue, step) in [(2.0, 1.0), (3.2, 0.0), (4.0, -1.0)] {
            let mut law = law(3.0, 20, Some(1));
            law.queue = queue;
            law.judge(true);
            assert_eq!(law.window.cwnd, 20.0 + step);
        }
    }

    /// Packets sent further apart than the bottleneck serves them find it idle: their spacing tells nothing.
    #[test]
    fn an_idle_link_tells_no_service_time() {
        let mut law = law(3.0, 10, Some(1));
        for k in 0..10 {
            law.path.take_in(packet(k, us(9_000 * k), us(40_000 + 9_000 * k)), Phase::Open);
        }
        assert_eq!(law.path.service(), None);
        // Two back to back do; that a second later the link was idle does not spoil it.
        law.path.take_in(packet(10, us(81_000), us(123_000)), Phase::Open);
        law.path.take_in(packet(11, us(1_000_000), us(1_040_000)), Phase::Open);
        assert_eq!((law.path.service(), law.path.waited), (Some(2_000_000.0), 0));
    }

    /// A link that becomes half as fast: five packets waiting stay five.
    #[test]
    fn the_queue_follows_the_rate_of_the_link() {
        let mut path = law(3.0, 10, Some(1)).path;
        path.service = Some(5e6);
        path.waited = 25_000_000;
        path.last = Some(packet(0, us(0), us(65_000)));
        // from now on 10 ms each: the second packet waits for five of them
        path.take_in(packet(1, us(10_000), us(75_000 + 25_000)), Phase::Open);
        path.next_window();
        path.take_in(packet(2, us(20_000), us(110_000)), Phase::Open);
        assert_eq!(path.queue(), 5.0);
    }

    /// The queue settles around n and W stands still; with n = 1.5 W's peak is BDP + n = 18 and the queue stays
    /// between one and two packets (figures 9 and 10 of Parsa's thesis).
    #[test]
    fn a_closed_loop_settles_at_the_operating_point() {
        for (n, w) in [(1.5, 18), (3.0, 19), (5.0, 21)] {
            let path = Loop::run(Box::new(law(n, 2, None)), 1, 60.0);
            let ((w_min, w_max), (q_min, q_max)) = path.settled(10.0);
            assert_eq!((w_min, w_max), (w, w), "n = {n}");
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
