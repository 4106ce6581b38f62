//! The congestion control as the sender holds it: what it answers is asked for after each event, not on
//! each segment.

use cclab_algo::cc::{
    AckEvent, CongestionControl, CongestionEvent, EstablishedEvent, IdleEvent, LostEvent, NewsEvent, RecoveredEvent,
    RestartEvent, Share, TimeoutEvent, UndoEvent,
};
use cclab_algo::{Rate, Time};

/// A law and its last answers.
pub(super) struct Law {
    law: Box<dyn CongestionControl>,
    cwnd: u64,
    ssthresh: u64,
    pacing_rate: Option<Rate>,
    governs_recovery: bool,
    tracks_packets: bool,
    asks: bool,
    /// The size of its segments, and of those that leave, where they differ.
    units: Option<Box<Units>>,
}

impl Law {
    pub fn new(law: Box<dyn CongestionControl>) -> Law {
        let (cwnd, ssthresh, pacing_rate) = (law.cwnd(), law.ssthresh(), law.pacing_rate());
        let (governs_recovery, tracks_packets) = (law.governs_recovery(), law.tracks_packets());
        let asks = !law.request().is_none();
        Law { law, cwnd, ssthresh, pacing_rate, governs_recovery, tracks_packets, asks, units: None }
    }

    /// Tells the law of an event.
    pub fn tell(&mut self, event: impl FnOnce(&mut dyn CongestionControl)) {
        let Some(units) = self.units.as_deref().copied() else {
            event(&mut *self.law);
            return self.ask(|bytes| bytes);
        };
        event(&mut Resized { law: &mut *self.law, units });
        self.ask(|bytes| units.ours(bytes));
    }

    fn ask(&mut self, ours: impl Fn(u64) -> u64) {
        self.cwnd = ours(self.law.cwnd());
        self.ssthresh = ours(self.law.ssthresh());
        self.pacing_rate = self.law.pacing_rate().map(|rate| Rate(ours(rate.0)));
    }

    /// Segments of `from` bytes are segments of `to` bytes now: so many as before make the window (Linux counts them).
    /// So much has been delivered and marked lost.
    #[cold]
    pub fn resize(&mut self, now: Time, from: u32, to: u32, delivered: u64, lost: u64) {
        let (its, delivered, lost) = match self.units.as_deref() {
            None => (from, Total::new(delivered), Total::new(lost)),
            Some(&units) => (units.its, units.delivered.grown(delivered, units), units.lost.grown(lost, units)),
        };
        let units = Units { its, before: from, ours: to, since: now, delivered, lost };
        self.units = Some(Box::new(units));
        self.ask(|bytes| units.ours(bytes));
    }

    /// Congestion window, bytes.
    pub fn cwnd(&self) -> u64 {
        self.cwnd
    }
    /// Slow-start threshold, bytes; `u64::MAX` while arbitrarily high.
    pub fn ssthresh(&self) -> u64 {
        self.ssthresh
    }
    /// Whether its data asks something of the routers.
    pub fn asks(&self) -> bool {
        self.asks
    }
    /// The law's own pacing rate.
    pub fn pacing_rate(&self) -> Option<Rate> {
        self.pacing_rate
    }
    /// Whether its window holds in recovery too.
    pub fn governs_recovery(&self) -> bool {
        self.governs_recovery
    }
    /// Whether it is told of each packet lost, and of what was in flight when a packet was sent.
    pub fn tracks_packets(&self) -> bool {
        self.tracks_packets
    }
    /// The law itself.
    pub fn as_dyn(&self) -> &dyn CongestionControl {
        &*self.law
    }
}

/// Payload bytes of the law's segments, of ours, and of ours before they shrank.
#[derive(Clone, Copy, Debug)]
struct Units {
    its: u32,
    before: u32,
    ours: u32,
    /// When they shrank.
    since: Time,
    delivered: Total,
    lost: Total,
}

/// A total of the connection when segments shrank, in our bytes and in the law's: from there on it grows by the new size.
#[derive(Clone, Copy, Debug)]
struct Total {
    ours: u64,
    its: u64,
}

impl Total {
    fn new(bytes: u64) -> Total {
        Total { ours: bytes, its: bytes }
    }
    fn its(self, bytes: u64, units: Units) -> u64 {
        match bytes.checked_sub(self.ours) {
            Some(more) => self.its + units.its(more),
            None => self.its.saturating_sub(units.its_before(self.ours - bytes)),
        }
    }
    fn grown(self, bytes: u64, units: Units) -> Total {
        Total { ours: bytes, its: self.its(bytes, units) }
    }
}

impl Units {
    fn convert(bytes: u64, from: u32, to: u32) -> u64 {
        if bytes == u64::MAX { bytes } else { (u128::from(bytes) * u128::from(to) / u128::from(from)) as u64 }
    }
    fn its(self, bytes: u64) -> u64 {
        Units::convert(bytes, self.ours, self.its)
    }
    fn ours(self, bytes: u64) -> u64 {
        Units::convert(bytes, self.its, self.ours)
    }
    /// What is of the old size.
    fn its_before(self, bytes: u64) -> u64 {
        Units::convert(bytes, self.before, self.its)
    }
    /// What belongs to a packet that left at `sent`.
    fn its_at(self, sent: Time, bytes: u64) -> u64 {
        if sent < self.since { self.its_before(bytes) } else { self.its(bytes) }
    }
}

/// A law that is told of as many of its own segments. Offsets, of which it takes the order, stay.
struct Resized<'a> {
    law: &'a mut dyn CongestionControl,
    units: Units,
}

impl CongestionControl for Resized<'_> {
    fn on_ack(&mut self, ev: &AckEvent) {
        let units = self.units;
        let its = |bytes| units.its(bytes);
        let newest_sent = ev.newest_sent.unwrap_or(ev.now);
        self.law.on_ack(&AckEvent {
            acked_bytes: its(ev.acked_bytes),
            delivered_bytes: its(ev.delivered_bytes),
            bytes_in_flight: its(ev.bytes_in_flight),
            prior_in_flight: its(ev.prior_in_flight),
            // The sample spans what was delivered since its newest packet left: of a packet of the old size, such packets.
            delivery_rate: ev.delivery_rate.map(|rate| Rate(units.its_at(newest_sent, rate.0))),
            lost_bytes: its(ev.lost_bytes),
            ce_bytes: its(ev.ce_bytes),
            delivered: units.delivered.its(ev.delivered, units),
            prior_delivered: units.delivered.its(ev.prior_delivered, units),
            lost: units.lost.its(ev.lost, units),
            prior_lost: units.lost.its(ev.prior_lost, units),
            tx_in_flight: units.its_at(newest_sent, ev.tx_in_flight),
            ..*ev
        });
    }
    fn on_congestion(&mut self, ev: &CongestionEvent) {
        self.law.on_congestion(&CongestionEvent { flight_size: self.units.its(ev.flight_size), ..*ev });
    }
    fn on_timeout(&mut self, ev: &TimeoutEvent) {
        let (flight_size, in_flight) = (self.units.its(ev.flight_size), self.units.its(ev.in_flight));
        self.law.on_timeout(&TimeoutEvent { flight_size, in_flight, ..*ev });
    }
    fn on_restart(&mut self, ev: &RestartEvent) {
        let (cwnd, ssthresh) = (self.units.its(ev.cwnd), self.units.its(ev.ssthresh));
        self.law.on_restart(&RestartEvent { cwnd, ssthresh, ..*ev });
    }
    fn on_lost(&mut self, ev: &LostEvent) {
        let units = self.units;
        self.law.on_lost(&LostEvent {
            // What is cut is lost before the totals grow by the new size.
            bytes: if ev.lost > units.lost.ours { units.its(ev.bytes) } else { units.its_before(ev.bytes) },
            tx_in_flight: units.its_at(ev.sent, ev.tx_in_flight),
            prior_lost: units.lost.its(ev.prior_lost, units),
            lost: units.lost.its(ev.lost, units),
            prior_delivered: units.delivered.its(ev.prior_delivered, units),
            delivered: units.delivered.its(ev.delivered, units),
            ..*ev
        });
    }
    fn on_established(&mut self, ev: &EstablishedEvent) {
        self.law.on_established(ev);
    }
    fn on_recovered(&mut self, ev: &RecoveredEvent) {
        self.law.on_recovered(ev);
    }
    fn on_undo(&mut self, ev: &UndoEvent) {
        self.law.on_undo(ev);
    }
    fn on_idle(&mut self, ev: &IdleEvent) {
        self.law.on_idle(ev);
    }
    fn on_news(&mut self, ev: &NewsEvent) {
        self.law.on_news(ev);
    }
    fn on_siblings(&mut self, all: &[Share], me: usize) {
        self.law.on_siblings(all, me);
    }
    fn cwnd(&self) -> u64 {
        self.law.cwnd()
    }
    fn ssthresh(&self) -> u64 {
        self.law.ssthresh()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cclab_algo::Duration;
    use cclab_algo::cc::{self, Context};

    const ITS: u64 = 1460;
    const RTT: Duration = Duration::from_millis(50);

    /// An ACK of `bytes`, the newest of which left at `sent`.
    fn ack_of(now: Time, sent: Time, bytes: u64) -> AckEvent {
        AckEvent {
            now,
            acked_bytes: bytes,
            delivered_bytes: bytes,
            srtt: RTT,
            min_rtt: RTT,
            rtt: Some(RTT),
            may_grow: true,
            newest_sent: Some(sent),
            ..AckEvent::default()
        }
    }

    /// BBRv3 on a path that loses one segment of twenty, from the tenth round trip on; there segments shrink to `size` bytes.
    /// Its window, in segments.
    fn rounds_of(size: u64) -> Vec<f64> {
        let cx = Context { initial_window: 10, ..Context::new(ITS as u32) };
        let mut law = Law::new(cc::find("bbr3").unwrap().make(&cx, &[]).unwrap());
        let (mut now, mut unit, mut delivered, mut lost) = (Time::ZERO + RTT, ITS, 0, 0);
        let mut windows = Vec::new();
        law.tell(|cc| cc.on_established(&EstablishedEvent { now, srtt: RTT }));
        for round in 0..60 {
            if round == 10 && size != ITS {
                law.resize(now, ITS as u32, size as u32, delivered, lost);
                unit = size;
            }
            let out = (law.cwnd() / unit).clamp(4, 200);
            let (sent, prior_delivered, prior_lost) = (now, delivered, lost);
            now += RTT;
            for i in 0..out {
                let (bytes, tx_in_flight) = (unit, out * unit);
                let (bytes_in_flight, app_limited) = (tx_in_flight - i * unit, false);
                if round >= 10 && i % 20 == 7 {
                    lost += bytes;
                    let ev = LostEvent {
                        now,
                        bytes,
                        sent,
                        tx_in_flight,
                        prior_lost,
                        lost,
                        prior_delivered,
                        delivered,
                        app_limited,
                    };
                    law.tell(|cc| cc.on_lost(&ev));
                    continue;
                }
                delivered += bytes;
                let ack = AckEvent {
                    bytes_in_flight,
                    prior_in_flight: bytes_in_flight + unit,
                    delivery_rate: Some(Rate(out.min(100) * unit * 8 * 20)),
                    delivered,
                    prior_delivered,
                    lost,
                    prior_lost,
                    tx_in_flight,
                    ..ack_of(now, sent, bytes)
                };
                law.tell(|cc| cc.on_ack(&ack));
            }
            windows.push(law.cwnd() as f64 / unit as f64);
        }
        windows
    }

    /// Linux counts segments: whatever their size, the law goes the same way.
    #[test]
    fn a_resized_law_goes_the_way_of_its_own_segments() {
        let windows = rounds_of(ITS);
        for size in [1160, 512] {
            for (round, (a, b)) in windows.iter().zip(rounds_of(size)).enumerate() {
                assert!((a - b).abs() < 0.05, "round {round} of {size}: {b} segments, {a} without");
            }
        }
    }

    /// A flight is in the air when segments shrink: its ACKs show so many of its own segments a second as those before, and the
    /// first of the new size as many as they are.
    #[test]
    fn a_rate_is_of_the_size_that_was_sent() {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let (rate, size) = (10_000_000, 512);
        let mut law = Law::new(cc::find("bbr").unwrap().make(&Context::new(ITS as u32), &[]).unwrap());
        let ack = |law: &mut Law, now, sent, rate, prior_delivered, bytes| {
            let ev = AckEvent {
                delivery_rate: Some(Rate(rate)),
                delivered: prior_delivered + bytes,
                prior_delivered,
                ..ack_of(now, sent, bytes)
            };
            law.tell(|cc| cc.on_ack(&ev));
            let mut found = f64::NAN;
            law.as_dyn().signals(&mut |name, value| {
                if name == "btl_bw_bps" {
                    found = value
                }
            });
            found / 10e6
        };
        let flight = 10 * ITS;
        law.tell(|cc| cc.on_established(&EstablishedEvent { now: at(50), srtt: RTT }));
        let before = ack(&mut law, at(100), at(50), rate, 0, flight);
        law.resize(at(120), ITS as u32, size, flight, 0);
        let in_the_air = ack(&mut law, at(150), at(100), rate, flight, flight);
        // 5 % more segments a second, of the new size.
        let rate = rate * u64::from(size) * 105 / 100 / ITS;
        let after = ack(&mut law, at(200), at(150), rate, 2 * flight, 10 * u64::from(size));
        for (found, expected) in [(before, 1.0), (in_the_air, 1.0), (after, 1.05)] {
            assert!((found / expected - 1.0_f64).abs() < 1e-3, "{before} {in_the_air} {after}");
        }
    }

    /// A packet that left before segments shrank, and is lost after, was one of so many as there were then; a second shrinking
    /// keeps what the first has counted.
    #[test]
    fn totals_go_on_where_they_were() {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let cx = Context::new(ITS as u32);
        let mut law = Law::new(cc::find("bbr3").unwrap().make(&cx, &[]).unwrap());
        law.resize(at(10), 1460, 730, 14_600, 2920);
        law.resize(at(20), 730, 365, 14_600 + 7300, 2920 + 730);
        let units = *law.units.unwrap();
        let delivered = [14_600, 14_600 + 7300, 14_600 + 7300 + 3650].map(|bytes| units.delivered.its(bytes, units));
        assert_eq!(delivered, [10, 20, 30].map(|segments| segments * ITS));
        assert_eq!(
            [2920, 3650, 4015].map(|bytes| units.lost.its(bytes, units)),
            [2, 3, 4].map(|segments| segments * ITS)
        );
        assert_eq!((units.its_at(at(15), 7300), units.its_at(at(20), 3650)), (10 * ITS, 10 * ITS));
    }
}
