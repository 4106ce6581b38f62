//! XCP: the routers say by how much the window is to change.
//!
//! Source: D. Katabi, M. Handley, C. Rohrs, "Congestion Control for High Bandwidth-Delay Product Networks", SIGCOMM
//! 2002, §3.2 and §3.3. Both flavours follow the paper but for what Reno does in them: W ← max(W + H_feedback, s) with
//! each ACK; a loss is answered as by TCP. Where no router on the path answered, the law is Reno.

use super::reno::Reno;
use super::window::bytes;
use super::{AckEvent, Build, Entry, EstablishedEvent, Feedback, Window, WindowLaw, Windowed};
use crate::slow_start::SlowStart;
use crate::units::{Duration, Time};

pub(super) const ENTRY: Entry = Entry {
    name: "xcp",
    summary: "the routers say by how much the window changes",
    source: "Katabi, Handley, Rohrs, SIGCOMM 2002",
    params: &[],
    build: Build::Native(|cx, _| {
        Box::new(Windowed::new(cx, SlowStart::Standard, Xcp { reno: Reno::plain(cx), srtt: Duration::ZERO }))
    }),
};

/// XCP's window law.
struct Xcp {
    /// What there is besides routers.
    reno: Reno,
    srtt: Duration,
}

impl WindowLaw for Xcp {
    fn measure(&mut self, w: &mut Window, ev: &AckEvent) {
        self.srtt = ev.srtt;
        if let Feedback::Xcp { delta, .. } = ev.feedback
            && delta.is_finite()
        {
            let to = w.cwnd + f64::from(delta) / w.mss();
            if to < w.cwnd || ev.may_grow {
                w.cwnd = to.max(1.0);
            }
        }
    }

    /// As Reno, where no router answered.
    fn grow(&mut self, w: &mut Window, acked: f64, ev: &AckEvent) {
        if matches!(ev.feedback, Feedback::Xcp { delta, .. } if !delta.is_finite()) {
            self.reno.grow(w, acked, ev);
        }
    }

    fn on_established(&mut self, _w: &mut Window, ev: &EstablishedEvent) {
        self.srtt = ev.srtt;
    }

    fn decrease(&mut self, w: &Window, now: Time, flight_size: u64) -> f64 {
        self.reno.decrease(w, now, flight_size)
    }

    /// To the nearest byte: what routers say is in bytes, which need not be exact in segments.
    fn cwnd(&self, w: &Window) -> u64 {
        bytes((w.cwnd * w.mss()).round().max(w.mss()))
    }

    /// As much as there is: the routers know how much.
    fn request(&self, w: &Window) -> Feedback {
        let cwnd = self.cwnd(w).min(u64::from(u32::MAX)) as u32;
        let rtt_us = (self.srtt.0 / 1000).min(u64::from(u32::MAX)) as u32;
        Feedback::Xcp { cwnd, rtt_us, delta: f32::INFINITY }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Context;

    fn ack(delta: f32) -> AckEvent {
        let feedback = Feedback::Xcp { cwnd: 0, rtt_us: 0, delta };
        AckEvent { acked_bytes: 1000, feedback, may_grow: true, srtt: Duration::from_millis(80), ..AckEvent::default() }
    }

    /// W ← max(W + H_feedback, s) (§3.3); without an answer Reno's slow start.
    #[test]
    fn the_window_does_as_it_is_told() {
        let cx = Context::new(1000);
        let mut law = ENTRY.make(&cx, &[]).unwrap();
        for (delta, cwnd) in [(72.0, 10_072), (-2_072.0, 8_000), (-90_000.0, 1_000), (f32::INFINITY, 2_000)] {
            law.on_ack(&ack(delta));
            assert_eq!(law.cwnd(), cwnd, "{delta}");
        }
        assert_eq!(law.request(), Feedback::Xcp { cwnd: 2_000, rtt_us: 80_000, delta: f32::INFINITY });
        law.on_ack(&AckEvent { may_grow: false, ..ack(500.0) });
        assert_eq!(law.cwnd(), 2_000);
        law.on_ack(&AckEvent { may_grow: false, ..ack(-500.0) });
        assert_eq!(law.cwnd(), 1_500);
    }
}
