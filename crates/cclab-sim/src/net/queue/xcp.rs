//! XCP's router: D. Katabi, M. Handley, C. Rohrs, SIGCOMM 2002, §3.5.
//!
//! Once per control interval d, the mean RTT of the traffic, the efficiency controller says by how many bytes all windows
//! together are to change, φ = α d S − β Q, S the spare rate, Q the queue that stayed. The fairness controller divides
//! it, and some traffic that is shuffled, among the packets of the next interval.

use super::{Discipline, Entry, FIFO, FREE, Kind, LIMIT, Parameters, Queue, Verdict, View};
use crate::wire::{Feedback, Packet};
use cclab_algo::rng::Stream;
use cclab_algo::{Duration, Time};

/// XCP's router in the registry.
pub const ENTRY: Entry = Entry {
    name: "xcp",
    summary: "drop-tail beside an XCP router",
    source: "Katabi, Handley, Rohrs, SIGCOMM 2002",
    fields: &[LIMIT],
    lane: FIFO,
    check: FREE,
    build: |params, around| Queue::new(around.limit(params), Config::PAPER),
};

/// Parameters of the router.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// α, the weight of spare bandwidth.
    pub alpha: f64,
    /// β, the weight of the queue.
    pub beta: f64,
    /// γ, the share of the traffic that is shuffled.
    pub gamma: f64,
    /// The control interval before any RTT is known.
    pub interval: Duration,
}

impl Config {
    /// The paper's parameters (§3.5.1: α = 0.4, β = 0.226; §3.5.2: γ = 0.1).
    pub const PAPER: Config = Config { alpha: 0.4, beta: 0.226, gamma: 0.1, interval: Duration::from_millis(50) };
}

impl Parameters for Config {
    fn name(&self) -> &'static str {
        ENTRY.name
    }
    fn start(&self, _: Stream) -> Kind {
        Kind::Arrival(Box::new(Xcp::new(*self)))
    }
}

/// What came in one control interval; RTTs in seconds.
#[derive(Clone, Copy, Debug, Default)]
struct Traffic {
    /// IP bytes, of whatever protocol.
    bytes: f64,
    /// Payload bytes with a congestion header, Σ s.
    asked: f64,
    /// Σ rtt s / cwnd.
    flows: f64,
    /// Σ rtt² s / cwnd.
    rtts: f64,
}

/// An XCP router beside a drop-tail queue.
pub struct Xcp {
    config: Config,
    traffic: Traffic,
    /// Smallest backlog of this interval, bytes.
    queue: u64,
    /// d, seconds.
    interval: f64,
    ends: Time,
    /// ξp and ξn.
    gain: f64,
    toll: f64,
}

impl Xcp {
    /// This router.
    pub fn new(config: Config) -> Xcp {
        let interval = config.interval.as_secs_f64();
        let ends = Time::ZERO + config.interval;
        Xcp { config, traffic: Traffic::default(), queue: u64::MAX, interval, ends, gain: 0.0, toll: 0.0 }
    }

    /// ξp and ξn for the next interval, after one in which the link could have carried `capacity` byte/s and `queue`
    /// bytes stayed (equations 1, 4, 7 and 8 of the paper).
    fn control(&mut self, capacity: f64, queue: f64) {
        let Traffic { bytes, asked, flows, rtts } = self.traffic;
        let d = self.interval;
        let phi = self.config.alpha * (d * capacity - bytes) - self.config.beta * queue;
        let shuffled = (self.config.gamma * bytes - phi.abs()).max(0.0);
        let share = |total: f64, sum: f64| if sum > 0.0 { total / (d * sum) } else { 0.0 };
        self.gain = share(shuffled + phi.max(0.0), flows);
        self.toll = share(shuffled + (-phi).max(0.0), asked);
        if flows > 0.0 {
            self.interval = rtts / flows; // a microsecond at least: headers know no shorter RTT but none
        }
        self.traffic = Traffic::default();
    }
}

impl Discipline for Xcp {
    fn enqueue(&mut self, view: &View, packet: &mut Packet) -> Verdict {
        self.queue = self.queue.min(view.bytes);
        self.traffic.bytes += f64::from(packet.size);
        let size = f64::from(packet.payload());
        let Some(Feedback::Xcp { cwnd, rtt_us, delta }) = packet.asked() else { return Verdict::Pass };
        let (cwnd, rtt) = (f64::from(*cwnd).max(size), f64::from(*rtt_us) * 1e-6);
        self.traffic.asked += size;
        self.traffic.flows += rtt * size / cwnd;
        self.traffic.rtts += rtt * rtt * size / cwnd;
        let change = self.gain * rtt * rtt * size / cwnd - self.toll * rtt * size;
        *delta = delta.min(change as f32);
        Verdict::Pass
    }

    fn next_timer(&self) -> Time {
        self.ends
    }

    fn on_timer(&mut self, view: &View) {
        let capacity = view.rate.map_or(0.0, |rate| rate.as_bps_f64() / 8.0);
        let queue = std::mem::replace(&mut self.queue, u64::MAX).min(view.bytes);
        self.control(capacity, queue as f64);
        self.ends = view.now + Duration::from_secs_f64(self.interval);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Segment;
    use cclab_algo::Rate;

    /// 10 Mbit/s, of which 8 are used, 5000 bytes that stay, d = 0.1 s: φ = 8870 B and 1130 B shuffled. Of two flows with
    /// windows of 60 and 40 kB the packets get 83.33 − 11.3 and 125 − 11.3 B each, 4322 and 4548 B per interval.
    #[test]
    fn the_smaller_flow_gets_more() {
        let view =
            View { now: Time(1), packets: 5, bytes: 5000, free_at: Time(2), rate: Some(Rate(10_000_000)), full: false };
        let send = |router: &mut Xcp, cwnd| {
            let feedback = Feedback::Xcp { cwnd, rtt_us: 100_000, delta: f32::INFINITY };
            let mut packet = Packet::tcp(0, true, view.now, &Segment { len: 1000, feedback, ..Segment::default() });
            packet.size = 1000;
            router.enqueue(&view, &mut packet);
            let Some(Feedback::Xcp { delta, .. }) = packet.asked() else { panic!("the header is gone") };
            f64::from(*delta)
        };
        let mut router = Xcp::new(Config { interval: Duration::from_millis(100), ..Config::PAPER });
        (0..60).for_each(|_| assert_eq!(send(&mut router, 60_000), 0.0, "nothing is known yet"));
        (0..40).for_each(|_| assert_eq!(send(&mut router, 40_000), 0.0));
        router.on_timer(&view);
        let totals = [60, 40].map(|n| (0..n).map(|_| send(&mut router, 1000 * n)).sum::<f64>());
        assert!((totals[0] - 4322.0).abs() < 0.5 && (totals[1] - 4548.0).abs() < 0.5, "{totals:?}");
        assert!((router.interval - 0.1).abs() < 1e-12);
    }

    /// Time goes on, whatever a header says: the control interval is never shorter than the unit of its RTT.
    #[test]
    fn the_interval_is_a_microsecond_at_least() {
        let mut router = Xcp::new(Config::PAPER);
        let mut now = router.next_timer();
        for (rtts, expected) in [(&[0; 9][..], 50_000_000), (&[0, 1, 0, 1, 1], 1000), (&[0], 1000), (&[1, 1, 3], 2200)]
        {
            for rtt_us in rtts {
                let view = View { now, packets: 0, bytes: 0, free_at: now, rate: Some(Rate(1)), full: false };
                let feedback = Feedback::Xcp { cwnd: u32::MAX, rtt_us: *rtt_us, delta: 0.0 };
                let mut packet = Packet::tcp(0, true, now, &Segment { len: 1, feedback, ..Segment::default() });
                router.enqueue(&view, &mut packet);
            }
            router.on_timer(&View { now, packets: 0, bytes: 0, free_at: now, rate: Some(Rate(1)), full: false });
            assert_eq!(router.next_timer().since(now), Duration(expected));
            now = router.next_timer();
        }
    }
}
