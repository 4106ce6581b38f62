//! Laws that are a window: slow start and a window law, each in its own place, put together.

use super::{
    AckEvent, CongestionControl, CongestionEvent, Context, EcnUse, EstablishedEvent, Feedback, IdleEvent, NewsEvent,
    Notices, RecoveredEvent, RestartEvent, Share, Standing, TimeoutEvent, UndoEvent, Window,
};
use crate::slow_start::SlowStart;
use crate::units::{Rate, Time};

/// What a window law says: by how much W grows beyond slow start, and what congestion leaves of it.
///
/// [`Windowed`] makes a congestion control of it. Every hook but [`decrease`](Self::decrease) does what Reno does unless the law
/// says otherwise; `w` is the law's window, in segments.
pub trait WindowLaw: Send {
    /// W grows in congestion avoidance: `acked` segments were acknowledged beyond slow start. By default W += acked/W
    /// (RFC 5681 eq. 3).
    #[inline]
    fn avoid(&mut self, w: &mut Window, acked: f64, _ev: &AckEvent) {
        w.add_fraction(w.cwnd, acked);
    }
    /// What congestion leaves of W, at least 2; may note down what there was. `flight_size` as in [`CongestionEvent`].
    fn decrease(&mut self, w: &Window, now: Time, flight_size: u64) -> f64;

    /// An ACK was taken in, whether W may grow by it or not: what is to be measured.
    fn measure(&mut self, _w: &mut Window, _ev: &AckEvent) {}
    /// W may grow, `acked` segments were acknowledged: slow start, and [`avoid`](Self::avoid) with what that leaves.
    #[inline]
    fn grow(&mut self, w: &mut Window, acked: f64, ev: &AckEvent) {
        let left = w.slow_start(acked);
        if left > 0.0 {
            self.avoid(w, left, ev);
        }
    }
    /// An ACK was taken in: [`measure`](Self::measure), and [`grow`](Self::grow) if W may.
    #[inline]
    fn on_ack(&mut self, w: &mut Window, ev: &AckEvent) {
        self.measure(w, ev);
        if ev.may_grow {
            self.grow(w, w.segments(ev.acked_bytes), ev);
        }
    }

    /// As [`CongestionControl::on_established`].
    fn on_established(&mut self, _w: &mut Window, _ev: &EstablishedEvent) {}
    /// As [`CongestionControl::on_congestion`]: W and ssthresh fall to what [`decrease`](Self::decrease) leaves.
    fn on_congestion(&mut self, w: &mut Window, ev: &CongestionEvent) {
        let to = self.decrease(w, ev.now, ev.flight_size);
        w.reduce(to);
    }
    /// As [`CongestionControl::on_timeout`]: W = 1 (what stays in flight is added for it), and the first time ssthresh falls to what `decrease` leaves.
    fn on_timeout(&mut self, w: &mut Window, ev: &TimeoutEvent) {
        let to = ev.first.then(|| self.decrease(w, ev.now, ev.flight_size));
        w.time_out(to);
    }
    /// As [`CongestionControl::on_recovered`].
    fn on_recovered(&mut self, _w: &mut Window, _ev: &RecoveredEvent) {}
    /// As [`CongestionControl::on_undo`]: W and ssthresh as they were.
    fn on_undo(&mut self, w: &mut Window, _ev: &UndoEvent) {
        w.undo();
    }
    /// As [`CongestionControl::on_idle`].
    fn on_idle(&mut self, _w: &mut Window, _ev: &IdleEvent) {}
    /// As [`CongestionControl::on_restart`]: the window proposed.
    fn on_restart(&mut self, w: &mut Window, ev: &RestartEvent) {
        w.restart(ev);
    }

    /// As [`CongestionControl::cwnd`].
    fn cwnd(&self, w: &Window) -> u64 {
        w.cwnd_bytes()
    }
    /// As [`CongestionControl::pacing_rate`].
    fn pacing_rate(&self, _w: &Window) -> Option<Rate> {
        None
    }
    /// As [`CongestionControl::ecn`].
    fn ecn(&self) -> EcnUse {
        EcnUse::Classic
    }
    /// As [`CongestionControl::reads_one_way`].
    fn reads_one_way(&self) -> bool {
        false
    }
    /// As [`CongestionControl::request`].
    fn request(&self, _w: &Window) -> Feedback {
        Feedback::None
    }
    /// As [`CongestionControl::notices`].
    fn notices(&self) -> Notices {
        Notices::None
    }
    /// As [`CongestionControl::on_news`].
    fn on_news(&mut self, _w: &mut Window, _ev: &NewsEvent) {}
    /// As [`CongestionControl::standing`].
    fn standing(&self) -> Standing {
        Standing::default()
    }
    /// As [`CongestionControl::share`].
    fn share(&self, _w: &Window, _share: &mut Share) {}
    /// As [`CongestionControl::on_siblings`].
    fn on_siblings(&mut self, _w: &mut Window, _all: &[Share], _me: usize) {}
    /// As [`CongestionControl::signals`].
    fn signals(&self, _w: &Window, _record: &mut dyn FnMut(&'static str, f64)) {}
}

/// A congestion control made of slow start and a window law.
#[derive(Debug)]
pub struct Windowed<L> {
    /// W and ssthresh, and slow start.
    pub window: Window,
    /// The window law.
    pub law: L,
}

impl<L: WindowLaw> Windowed<L> {
    /// The congestion control of a new connection.
    pub fn new(cx: &Context, slow_start: SlowStart, law: L) -> Self {
        Windowed { window: Window::new(cx, slow_start), law }
    }
}

impl<L: WindowLaw> CongestionControl for Windowed<L> {
    fn on_ack(&mut self, ev: &AckEvent) {
        self.law.on_ack(&mut self.window, ev);
    }
    fn on_congestion(&mut self, ev: &CongestionEvent) {
        self.law.on_congestion(&mut self.window, ev);
    }
    fn on_timeout(&mut self, ev: &TimeoutEvent) {
        self.law.on_timeout(&mut self.window, ev);
        self.window.keep(ev.in_flight);
    }
    fn on_established(&mut self, ev: &EstablishedEvent) {
        self.law.on_established(&mut self.window, ev);
    }
    fn on_recovered(&mut self, ev: &RecoveredEvent) {
        self.law.on_recovered(&mut self.window, ev);
    }
    fn on_undo(&mut self, ev: &UndoEvent) {
        self.law.on_undo(&mut self.window, ev);
    }
    fn on_idle(&mut self, ev: &IdleEvent) {
        self.law.on_idle(&mut self.window, ev);
    }
    fn on_restart(&mut self, ev: &RestartEvent) {
        self.law.on_restart(&mut self.window, ev);
    }
    fn cwnd(&self) -> u64 {
        self.law.cwnd(&self.window)
    }
    fn ssthresh(&self) -> u64 {
        self.window.ssthresh_bytes()
    }
    fn pacing_rate(&self) -> Option<Rate> {
        self.law.pacing_rate(&self.window)
    }
    fn ecn(&self) -> EcnUse {
        self.law.ecn()
    }
    fn reads_one_way(&self) -> bool {
        self.law.reads_one_way()
    }
    fn request(&self) -> Feedback {
        self.law.request(&self.window)
    }
    fn notices(&self) -> Notices {
        self.law.notices()
    }
    fn on_news(&mut self, ev: &NewsEvent) {
        self.law.on_news(&mut self.window, ev);
    }
    fn standing(&self) -> Standing {
        self.law.standing()
    }
    fn share(&self, share: &mut Share) {
        self.law.share(&self.window, share);
    }
    fn on_siblings(&mut self, all: &[Share], me: usize) {
        self.law.on_siblings(&mut self.window, all, me);
    }
    fn signals(&self, record: &mut dyn FnMut(&'static str, f64)) {
        self.law.signals(&self.window, record);
    }
}
