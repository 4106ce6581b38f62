//! The congestion control as the sender holds it: what it answers is asked for after each event, not on
//! each segment.

use cclab_algo::Rate;
use cclab_algo::cc::{
    AckEvent, CongestionControl, CongestionEvent, EstablishedEvent, IdleEvent, LostEvent, NewsEvent, RecoveredEvent,
    RestartEvent, Share, TimeoutEvent, UndoEvent,
};

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
    units: Option<Units>,
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
        let Some(units) = self.units else {
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
    #[cold]
    pub fn resize(&mut self, from: u32, to: u32) {
        let its = self.units.map_or(from, |units| units.its);
        let units = Units { its, ours: to };
        self.units = Some(units).filter(|units| units.its != units.ours);
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

/// Payload bytes of the law's segments, and of ours.
#[derive(Clone, Copy, Debug)]
struct Units {
    its: u32,
    ours: u32,
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
}

/// A law that is told of as many of its own segments. Offsets and totals, of which it takes the order, stay.
struct Resized<'a> {
    law: &'a mut dyn CongestionControl,
    units: Units,
}

impl CongestionControl for Resized<'_> {
    fn on_ack(&mut self, ev: &AckEvent) {
        let its = |bytes| self.units.its(bytes);
        self.law.on_ack(&AckEvent {
            acked_bytes: its(ev.acked_bytes),
            delivered_bytes: its(ev.delivered_bytes),
            bytes_in_flight: its(ev.bytes_in_flight),
            prior_in_flight: its(ev.prior_in_flight),
            delivery_rate: ev.delivery_rate.map(|rate| Rate(its(rate.0))),
            lost_bytes: its(ev.lost_bytes),
            ce_bytes: its(ev.ce_bytes),
            tx_in_flight: its(ev.tx_in_flight),
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
        let (bytes, tx_in_flight) = (self.units.its(ev.bytes), self.units.its(ev.tx_in_flight));
        self.law.on_lost(&LostEvent { bytes, tx_in_flight, ..*ev });
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
