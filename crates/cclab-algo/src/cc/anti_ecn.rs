//! Anti-ECN: Reno, but fast while every link of the path has room to spare.
//!
//! Source: S. Kunniyur, "AntiECN Marking: A Marking Scheme for High Bandwidth Delay Connections", ICC 2003. A packet
//! starts with the bit set; a router whose virtual queue is not empty clears it. Each ACK that brings the bit back adds
//! one segment to W beyond slow start; one that does not is Reno's.

use super::reno::Reno;
use super::{
    AckEvent, Build, CongestionControl, CongestionEvent, Context, Entry, Feedback, RestartEvent, TimeoutEvent,
    UndoEvent,
};

pub(super) const ENTRY: Entry = Entry {
    name: "anti-ecn",
    summary: "Reno, growing as in slow start while every link has room to spare",
    source: "Kunniyur, ICC 2003",
    params: &[],
    build: Build::Native(|cx: &Context, _| Box::new(AntiEcn { reno: Reno::plain(cx) })),
};

/// Anti-ECN's window law.
struct AntiEcn {
    reno: Reno,
}

impl CongestionControl for AntiEcn {
    fn on_ack(&mut self, ev: &AckEvent) {
        let avoids = !self.reno.window.in_slow_start();
        self.reno.on_ack(ev);
        if avoids && ev.may_grow && ev.feedback == (Feedback::AntiEcn { room: true }) {
            self.reno.window.cwnd += 1.0;
        }
    }

    fn on_congestion(&mut self, ev: &CongestionEvent) {
        self.reno.on_congestion(ev);
    }

    fn on_timeout(&mut self, ev: &TimeoutEvent) {
        self.reno.on_timeout(ev);
    }

    fn on_undo(&mut self, ev: &UndoEvent) {
        self.reno.on_undo(ev);
    }

    fn on_restart(&mut self, ev: &RestartEvent) {
        self.reno.on_restart(ev);
    }

    fn cwnd(&self) -> u64 {
        self.reno.cwnd()
    }

    fn ssthresh(&self) -> u64 {
        self.reno.ssthresh()
    }

    fn request(&self) -> Feedback {
        Feedback::AntiEcn { room: true }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In congestion avoidance a window of ten ACKs with the bit doubles W, without it adds one.
    #[test]
    fn the_bit_makes_it_slow_start() {
        for (room, grown) in [(true, 21_000), (false, 11_000)] {
            let mut law = ENTRY.make(&Context { initial_ssthresh: Some(1), ..Context::new(1000) }, &[]).unwrap();
            for _ in 0..10 {
                let feedback = Feedback::AntiEcn { room };
                law.on_ack(&AckEvent { acked_bytes: 1000, feedback, may_grow: true, ..AckEvent::default() });
            }
            assert!((grown - 1000..=grown).contains(&law.cwnd()), "{}", law.cwnd());
        }
    }
}
