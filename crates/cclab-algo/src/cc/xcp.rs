//! XCP: the routers say by how much the window is to change.
//!
//! Source: D. Katabi, M. Handley, C. Rohrs, "Congestion Control for High Bandwidth-Delay Product Networks", SIGCOMM
//! 2002, §3.2 and §3.3. Both flavours follow the paper but for what Reno does in them: W ← max(W + H_feedback, s) with
//! each ACK; a loss is answered as by TCP. Where no router on the path answered, the law is Reno.

use super::reno::Reno;
use super::{
    AckEvent, Build, CongestionControl, CongestionEvent, Context, Entry, EstablishedEvent, Feedback, RestartEvent,
    TimeoutEvent, UndoEvent,
};
use crate::units::Duration;

pub(super) const ENTRY: Entry = Entry {
    name: "xcp",
    summary: "the routers say by how much the window changes",
    source: "Katabi, Handley, Rohrs, SIGCOMM 2002",
    params: &[],
    build: Build::Native(|cx: &Context, _| Box::new(Xcp { reno: Reno::plain(cx), srtt: Duration::ZERO })),
};

/// XCP's window law.
struct Xcp {
    /// Its window, and what there is besides routers.
    reno: Reno,
    srtt: Duration,
}

impl CongestionControl for Xcp {
    fn on_ack(&mut self, ev: &AckEvent) {
        self.srtt = ev.srtt;
        match ev.feedback {
            Feedback::Xcp { delta, .. } if delta.is_finite() => {
                let window = &mut self.reno.window;
                let to = window.cwnd + f64::from(delta) / window.mss();
                if to < window.cwnd || ev.may_grow {
                    window.cwnd = to.max(1.0);
                }
            }
            Feedback::Xcp { .. } => self.reno.on_ack(ev),
            _ => {}
        }
    }

    fn on_established(&mut self, ev: &EstablishedEvent) {
        self.srtt = ev.srtt;
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

    /// To the nearest byte: what routers say is in bytes, which need not be exact in segments.
    fn cwnd(&self) -> u64 {
        let window = &self.reno.window;
        (window.cwnd * window.mss()).round().max(window.mss()) as u64
    }

    fn ssthresh(&self) -> u64 {
        self.reno.ssthresh()
    }

    /// As much as there is: the routers know how much.
    fn request(&self) -> Feedback {
        let cwnd = self.cwnd().min(u64::from(u32::MAX)) as u32;
        let rtt_us = (self.srtt.0 / 1000).min(u64::from(u32::MAX)) as u32;
        Feedback::Xcp { cwnd, rtt_us, delta: f32::INFINITY }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
