//! Anti-ECN: Reno, but fast while every link of the path has room to spare.
//!
//! Source: S. Kunniyur, "AntiECN Marking: A Marking Scheme for High Bandwidth Delay Connections", ICC 2003. A packet
//! starts with the bit set; a router whose virtual queue is not empty clears it. Each ACK that brings the bit back adds
//! one segment to W beyond slow start; one that does not is Reno's.

use super::reno::Reno;
use super::{AckEvent, Build, Entry, Feedback, Window, WindowLaw, Windowed};

use crate::slow_start::SlowStart;
use crate::units::Time;

pub(super) const ENTRY: Entry = Entry {
    name: "anti-ecn",
    summary: "Reno, growing as in slow start while every link has room to spare",
    source: "Kunniyur, ICC 2003",
    params: &[],
    build: Build::Native(|cx, _| Box::new(Windowed::new(cx, SlowStart::Standard, AntiEcn { reno: Reno::plain(cx) }))),
};

/// Anti-ECN's window law.
struct AntiEcn {
    reno: Reno,
}

impl WindowLaw for AntiEcn {
    fn grow(&mut self, w: &mut Window, acked: f64, ev: &AckEvent) {
        let avoids = !w.in_slow_start();
        self.reno.grow(w, acked, ev);
        if avoids && ev.feedback == (Feedback::AntiEcn { room: true }) {
            w.cwnd += 1.0;
        }
    }

    fn decrease(&mut self, w: &Window, now: Time, flight_size: u64) -> f64 {
        self.reno.decrease(w, now, flight_size)
    }

    fn request(&self, _w: &Window) -> Feedback {
        Feedback::AntiEcn { room: true }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Context;

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
