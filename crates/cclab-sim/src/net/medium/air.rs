//! What a station hears, and when its surroundings are quiet (semantics of ns-2's 802.11).
//!
//! Lazy: a frame on the air is an [`Arrival`] in the list of every station in carrier-sense range, and no event. A station
//! *settles* its arrivals, in order of time, when somebody looks at it or the next one comes, so a station that only listens costs
//! next to nothing.
//!
//! A frame that begins at the very instant at which a station looks comes too late: it is not heard yet. So two stations whose
//! back-offs end together both send, and the order of events at one instant does not matter.

use super::mac::Timing;
use cclab_algo::{Duration, Time};

/// For every station, not one.
pub(super) const EVERYBODY: u32 = u32::MAX;
/// The number of a frame at a station that it does not concern.
pub(super) const UNNUMBERED: u32 = u32::MAX;

/// A frame as one station gets it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) start: Time,
    pub(super) end: Time,
    /// Until when others are to be silent, if they understand it; its end where it is for this station.
    pub(super) reserved: Time,
    /// W.
    pub(super) power: f64,
    /// The transmission, if this station is asked whether it got it.
    pub(super) number: u32,
    /// Whether it is for this station, or for all.
    pub(super) mine: bool,
}

/// No frame.
const NONE: Arrival =
    Arrival { start: Time::NEVER, end: Time::NEVER, reserved: Time::ZERO, power: 0.0, number: UNNUMBERED, mine: false };

/// What becomes of the frame in reception.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// There is none.
    Quiet,
    /// It can be decoded so far.
    Good,
    /// It is too weak.
    Weak,
    /// The station itself was sending.
    Deaf,
    /// It collided.
    Collided,
}

/// What became of frames, each counted once, when it has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Receptions {
    /// Decoded, and for this station or for all.
    pub received: u64,
    /// Decoded, and for another.
    pub overheard: u64,
    /// Strong enough, but another frame was on the air.
    pub collided: u64,
    /// Strong enough, but the station itself was sending.
    pub deaf: u64,
    /// Too weak to be decoded.
    pub sensed: u64,
}

impl Receptions {
    /// All of them.
    pub fn all(&self) -> u64 {
        self.received + self.overheard + self.collided + self.deaf + self.sensed
    }
}

/// The receiver of a station, its carrier sense and its back-off: what a frame touches wherever it is sensed, in four lines of
/// memory.
#[repr(C, align(64))]
pub(super) struct Ear {
    /// When there has been no frame but the next, and that is over: at once if there is none, never if others are known of.
    alone: Time,
    /// The frame that begins next, or [`NONE`].
    next: Arrival,
    /// The last frame that began ends then, also one that another frame drowned and that is to be waited for.
    until: Time,
    /// The medium is reserved until then.
    pub(super) nav: Time,
    /// … and it waits for the answer until then.
    pub(super) engaged: Time,
    /// The station's own frame is on the air until then …
    pub(super) sending: Time,
    /// A frame that could not be understood is waited for until then (the standard's; ns-2 puts that into the NAV).
    resync: Time,
    /// How long nothing of that was so, up to the last time that something began.
    idle: Duration,
    /// Slots of the back-off that are left.
    slots: Option<u32>,
    /// The frame that was received last, until it is asked for.
    heard: u32,
    state: State,
    /// Frames that were sent here.
    came: u64,
    pub(super) counts: Receptions,
    /// Those that begin after the next one, in order; few, for all of them are on their way here.
    later: Vec<Arrival>,
    /// The slots that were drawn count from then on at the earliest.
    ready: Time,
    /// The frame in reception.
    frame: Arrival,
    /// The frame that was lost last because the station was sending.
    deaf: u32,
}

impl Ear {
    pub(super) fn new() -> Ear {
        Ear {
            alone: Time::ZERO,
            next: NONE,
            until: Time::ZERO,
            nav: Time::ZERO,
            engaged: Time::ZERO,
            sending: Time::ZERO,
            resync: Time::ZERO,
            idle: Duration::ZERO,
            slots: None,
            heard: UNNUMBERED,
            state: State::Quiet,
            came: 0,
            counts: Receptions::default(),
            later: Vec::new(),
            ready: Time::ZERO,
            frame: NONE,
            deaf: UNNUMBERED,
        }
    }

    /// A frame is on its way here, sent at `now`.
    #[inline(always)]
    pub(super) fn push(&mut self, now: Time, arrival: Arrival, timing: &Timing) {
        self.came += 1;
        if self.alone <= now {
            if self.next.start < Time::NEVER {
                self.pass(timing);
            }
            (self.alone, self.next) = (arrival.end, arrival);
        } else {
            self.line_up(now, arrival, timing);
        }
    }

    #[inline(never)]
    fn line_up(&mut self, now: Time, arrival: Arrival, timing: &Timing) {
        self.live(now, timing);
        self.insert(arrival);
        self.look_ahead();
    }

    /// In order of time; of frames that begin together the one that was sent first is the first, as in ns-2.
    fn insert(&mut self, arrival: Arrival) {
        if self.next.start <= arrival.start {
            let place = self.later.partition_point(|other| other.start <= arrival.start);
            return self.later.insert(place, arrival);
        }
        // The first, or one from nearer by that was sent later.
        let second = std::mem::replace(&mut self.next, arrival);
        if second.start < Time::NEVER {
            self.later.insert(0, second);
        }
    }

    /// Lives through what has begun before `now` and ended by then. At one instant ends come before beginnings.
    #[inline(never)]
    pub(super) fn settle(&mut self, now: Time, timing: &Timing) {
        if self.alone > now {
            self.live(now, timing);
            self.look_ahead();
        } else if self.next.start < Time::NEVER {
            self.pass(timing);
            (self.alone, self.next) = (Time::ZERO, NONE);
        }
    }

    #[inline]
    fn live(&mut self, now: Time, timing: &Timing) {
        loop {
            if self.state != State::Quiet && self.frame.end <= self.next.start {
                if self.frame.end > now {
                    return;
                }
                let (frame, state) = (self.frame, std::mem::replace(&mut self.state, State::Quiet));
                self.end(&frame, state, timing);
            } else if self.next.start < now {
                let arrival = self.next;
                self.next = if self.later.is_empty() { NONE } else { self.later.remove(0) };
                if self.state == State::Quiet {
                    self.state = self.begin(&arrival, timing);
                    self.frame = arrival;
                } else {
                    self.overlap(arrival, timing);
                }
            } else {
                return;
            }
        }
    }

    /// Notes when the next frame has come and gone, as nearly all of them do, alone.
    #[inline]
    fn look_ahead(&mut self) {
        self.alone = match () {
            () if self.state != State::Quiet || !self.later.is_empty() => Time::NEVER,
            () if self.next.start == Time::NEVER => Time::ZERO,
            () => self.next.end,
        };
    }

    /// Lives through a next frame that has come and gone alone.
    #[inline(always)]
    fn pass(&mut self, timing: &Timing) {
        let frame = self.next;
        let state = self.begin(&frame, timing);
        self.end(&frame, state, timing);
    }

    /// A frame begins while there is no other.
    #[inline(always)]
    fn begin(&mut self, frame: &Arrival, timing: &Timing) -> State {
        self.stop_counting(frame.start, timing);
        self.until = self.until.max(frame.end);
        match () {
            () if frame.start < self.sending => State::Deaf,
            () if frame.power < timing.receive => State::Weak,
            () => State::Good,
        }
    }

    /// A frame begins during another one.
    fn overlap(&mut self, arrival: Arrival, timing: &Timing) {
        let now = arrival.start;
        let state = if now < self.sending { State::Deaf } else { State::Collided };
        if self.frame.power / arrival.power >= timing.capture {
            // The first frame survives; what is left of the other one is noise.
            self.count_lost(&arrival, state, timing);
            if timing.eifs_in_nav {
                self.nav = self.nav.max(now + timing.eifs + (arrival.end - now));
            } else {
                self.until = self.until.max(arrival.end);
            }
        } else {
            // Both are lost; the one that ends last is followed to its end.
            self.until = self.until.max(arrival.end);
            let first = if self.state == State::Deaf { State::Deaf } else { State::Collided };
            let longer = arrival.end > self.frame.end;
            let gone = if longer { std::mem::replace(&mut self.frame, arrival) } else { arrival };
            self.count_lost(&gone, if longer { first } else { state }, timing);
            self.state = if longer { state } else { first };
        }
    }

    /// The frame in reception ends.
    #[inline(always)]
    fn end(&mut self, frame: &Arrival, state: State, timing: &Timing) {
        if state == State::Good && frame.end >= self.sending {
            self.resync = Time::ZERO;
            self.heard = frame.number;
            self.nav = self.nav.max(frame.reserved);
            *if frame.mine { &mut self.counts.received } else { &mut self.counts.overheard } += 1;
        } else if frame.end < self.sending {
            // The station heard nothing of it.
            self.count_lost(frame, State::Deaf, timing);
        } else {
            self.count_lost(frame, state, timing);
            if timing.eifs_in_nav {
                self.nav = self.nav.max(frame.end + timing.eifs);
            } else {
                self.resync = frame.end + timing.eifs.saturating_sub(timing.difs);
            }
        }
    }

    #[inline(always)]
    fn count_lost(&mut self, frame: &Arrival, state: State, timing: &Timing) {
        *match state {
            _ if frame.power < timing.receive => &mut self.counts.sensed,
            State::Collided => &mut self.counts.collided,
            _ => {
                self.deaf = frame.number;
                &mut self.counts.deaf
            }
        } += 1;
    }

    /// Whether this transmission, which has just ended here, was lost because the station was sending; else another one drowned it.
    pub(super) fn was_deaf(&mut self, number: u32) -> bool {
        std::mem::replace(&mut self.deaf, UNNUMBERED) == number
    }

    /// Whether this transmission, which has just ended here, was received.
    pub(super) fn got(&mut self, number: u32) -> bool {
        let got = self.heard == number;
        self.heard = UNNUMBERED;
        got
    }

    /// From when on nothing that the station knows of keeps it from counting.
    #[inline]
    fn quiet_from(&self) -> Time {
        self.until.max(self.nav).max(self.engaged).max(self.resync)
    }

    /// Whether the medium is free, as far as is known.
    pub(super) fn is_idle(&self, now: Time) -> bool {
        self.state == State::Quiet && self.quiet_from() <= now
    }

    /// Whether it has been so for a DIFS.
    pub(super) fn is_free(&self, now: Time, timing: &Timing) -> bool {
        self.state == State::Quiet && self.free_from(timing) <= now
    }

    /// From when on nothing that the station knows of has kept it from counting for a DIFS: before the run it was quiet for ever.
    #[inline]
    fn free_from(&self, timing: &Timing) -> Time {
        match self.quiet_from() {
            Time::ZERO => Time::ZERO,
            quiet => quiet + timing.difs,
        }
    }

    /// Something begins: whole slots that have passed are subtracted.
    #[inline(always)]
    fn stop_counting(&mut self, now: Time, timing: &Timing) {
        let quiet = self.quiet_from();
        if now > quiet {
            self.idle.0 += now.0 - quiet.0;
            if self.slots.is_some() {
                self.subtract(now, timing);
            }
        }
    }

    /// Subtracts the slots that have passed.
    #[inline(never)]
    fn subtract(&mut self, now: Time, timing: &Timing) {
        let Some(slots) = self.slots else { return };
        let from = self.free_from(timing).max(self.ready);
        let over = now >= from + timing.slot * u64::from(slots);
        self.slots = (!over).then(|| slots - (now.since(from).0 / timing.slot.0) as u32);
    }

    /// The station begins to send, until `end`, and waits for an answer until `engaged`. A frame in reception is lost.
    pub(super) fn send(&mut self, now: Time, end: Time, engaged: Time, timing: &Timing) {
        self.stop_counting(now, timing);
        (self.sending, self.engaged) = (end, engaged);
        if self.state == State::Good {
            self.state = State::Deaf;
        }
    }

    /// Backs off for so many slots, which count from `ready` on at the earliest: a DIFS after they are drawn, at once where the
    /// medium is free.
    pub(super) fn back_off(&mut self, ready: Time, slots: u32) {
        (self.slots, self.ready) = (Some(slots), ready);
    }

    /// The back-off is over.
    pub(super) fn stop_backoff(&mut self) {
        self.slots = None;
    }

    /// Whether there is a back-off.
    pub(super) fn backs_off(&self) -> bool {
        self.slots.is_some()
    }

    /// When the back-off ends if nothing else begins.
    #[inline]
    pub(super) fn backoff_end(&self, timing: &Timing) -> Option<Time> {
        let slots = self.slots?;
        Some(self.free_from(timing).max(self.ready) + timing.slot * u64::from(slots))
    }

    /// The earliest that the back-off may end: a frame that is understood ends the wait for one that was not, and nobody is told.
    #[inline]
    pub(super) fn earliest_end(&self, now: Time, timing: &Timing) -> Option<Time> {
        let end = self.backoff_end(timing)?;
        if self.resync <= now {
            return Some(end);
        }
        let quiet = self.until.max(self.nav).max(self.engaged).max(now);
        Some(end.min((quiet + timing.difs).max(self.ready) + timing.slot * u64::from(self.slots?)))
    }

    /// How long it has been sending, receiving, sensing or kept quiet by others, up to `now`.
    pub(super) fn busy(&self, now: Time) -> Duration {
        let idle = self.idle + now.since(self.quiet_from());
        (now - Time::ZERO).saturating_sub(idle)
    }

    /// Whether every frame that came is counted, once, or still on the air.
    pub(super) fn adds_up(&self) -> bool {
        let coming = u64::from(self.next.start < Time::NEVER) + self.later.len() as u64;
        self.came == self.counts.all() + coming + u64::from(self.state != State::Quiet)
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::{Backoff, Mac, Radio};
    use super::*;

    const STRONG: f64 = 4e-9;
    const WEAK: f64 = 1e-10;

    fn timing(backoff: Backoff) -> Timing {
        Timing::new(&Mac { backoff, ..Mac::of("ns2-2M").expect("a profile") }, &Radio::WAVELAN)
    }

    fn us(us: u64) -> Time {
        Time(us * 1000)
    }

    /// A frame for another station from `start` to `end` (µs), which reserves the medium for another 500.
    fn frame(start: u64, end: u64, power: f64) -> Arrival {
        Arrival { start: us(start), end: us(end), reserved: us(end + 500), power, number: UNNUMBERED, mine: false }
    }

    /// One that reserves nothing.
    fn alone(start: u64, end: u64, power: f64) -> Arrival {
        Arrival { reserved: us(end), ..frame(start, end, power) }
    }

    /// What becomes of these frames, and when the medium is free again.
    fn hears(rule: Backoff, frames: &[Arrival]) -> (Receptions, Time) {
        let (mut ear, timing) = (Ear::new(), timing(rule));
        frames.iter().for_each(|frame| ear.push(Time::ZERO, *frame, &timing));
        ear.settle(us(100_000), &timing);
        assert!(ear.adds_up());
        (ear.counts, ear.quiet_from())
    }

    #[test]
    fn a_frame_for_another_reserves_the_medium() {
        let one = Receptions { overheard: 1, ..Receptions::default() };
        assert_eq!(hears(Backoff::Ns2, &[frame(10, 110, STRONG)]), (one, us(610)));
        // one that is to stay silent for longer is not let go by a shorter one
        let short = Arrival { reserved: us(201), ..frame(150, 200, STRONG) };
        assert_eq!(hears(Backoff::Ns2, &[frame(10, 110, STRONG), short]).1, us(610));
    }

    /// One that cannot be decoded is noticed: EIFS of 364 µs and then DIFS in ns-2, EIFS in its place in the standard, where the
    /// next frame that is understood ends the wait.
    #[test]
    fn a_weak_frame_makes_it_wait() {
        let one = Receptions { sensed: 1, ..Receptions::default() };
        assert_eq!(hears(Backoff::Ns2, &[frame(10, 110, WEAK)]), (one, us(110 + 364)));
        assert_eq!(hears(Backoff::Standard, &[frame(10, 110, WEAK)]), (one, us(110 + 364 - 50)));
        let good = alone(120, 150, STRONG);
        assert_eq!(hears(Backoff::Standard, &[frame(10, 110, WEAK), good]).1, us(150));
        assert_eq!(hears(Backoff::Ns2, &[frame(10, 110, WEAK), good]).1, us(474));
    }

    /// The first survives if it is ten times as strong; the station is quiet for EIFS and as long as the other one takes.
    #[test]
    fn a_stronger_frame_survives_if_it_came_first() {
        let found = Receptions { overheard: 1, collided: 1, ..Receptions::default() };
        let nav = alone(10, 110, 10.0 * STRONG);
        assert_eq!(hears(Backoff::Ns2, &[nav, frame(50, 250, STRONG)]), (found, us(50 + 364 + 200)));
        assert_eq!(hears(Backoff::Standard, &[nav, frame(50, 250, STRONG)]), (found, us(250)));
        // a weak one may be drowned too
        let found = Receptions { overheard: 1, sensed: 1, ..Receptions::default() };
        assert_eq!(hears(Backoff::Ns2, &[nav, frame(50, 60, WEAK)]).0, found);
        // not ten times as strong, or too late: both are lost, and the last to end is waited for
        let lost = Receptions { collided: 2, ..Receptions::default() };
        for power in [9.99 * STRONG, STRONG, STRONG / 1000.0 * 9999.0] {
            assert_eq!(hears(Backoff::Ns2, &[frame(10, 110, power), frame(50, 250, STRONG)]), (lost, us(250 + 364)));
        }
        let late = frame(50, 90, 1e6 * STRONG);
        assert_eq!(hears(Backoff::Ns2, &[frame(10, 110, STRONG), late]), (lost, us(110 + 364)));
        // a frame that cannot be decoded spoils one that could
        let found = Receptions { sensed: 1, collided: 1, ..Receptions::default() };
        assert_eq!(hears(Backoff::Ns2, &[frame(10, 110, WEAK), frame(50, 90, 1e3 * STRONG)]).0, found);
    }

    /// Ends come before beginnings: frames back to back do not collide.
    #[test]
    fn one_ends_where_the_next_begins() {
        let found = Receptions { overheard: 2, ..Receptions::default() };
        assert_eq!(hears(Backoff::Ns2, &[frame(10, 110, STRONG), frame(110, 210, STRONG)]).0, found);
    }

    /// A station that sends hears nothing that begins or ends meanwhile, nor what it interrupts.
    #[test]
    fn a_sender_is_deaf() {
        for frames in
            [[frame(10, 400, STRONG), frame(500, 501, STRONG)], [frame(210, 400, STRONG), frame(500, 501, STRONG)]]
        {
            let (mut ear, timing) = (Ear::new(), timing(Backoff::Ns2));
            frames.iter().for_each(|frame| ear.push(Time::ZERO, *frame, &timing));
            ear.settle(us(200), &timing);
            ear.send(us(200), us(300), us(300), &timing);
            ear.settle(us(450), &timing);
            assert_eq!(ear.quiet_from(), us(400 + 364), "what it heard the end of it could not understand");
            ear.settle(us(10_000), &timing);
            assert_eq!(ear.counts, Receptions { deaf: 1, overheard: 1, ..Receptions::default() });
        }
        // and was deaf to the first one, whatever collides with it later
        let (mut ear, timing) = (Ear::new(), timing(Backoff::Ns2));
        [frame(10, 400, STRONG), frame(350, 500, STRONG)]
            .iter()
            .for_each(|frame| ear.push(Time::ZERO, *frame, &timing));
        ear.settle(us(200), &timing);
        ear.send(us(200), us(300), us(300), &timing);
        ear.settle(us(10_000), &timing);
        assert_eq!(ear.counts, Receptions { deaf: 1, collided: 1, ..Receptions::default() });
        // of what ends meanwhile it has no idea
        let mut ear = Ear::new();
        ear.push(Time::ZERO, frame(210, 290, STRONG), &timing);
        ear.send(us(200), us(300), us(300), &timing);
        ear.settle(us(450), &timing);
        assert_eq!((ear.quiet_from(), ear.counts.deaf), (us(300), 1));
    }

    /// Before the run nobody sends: the medium is free in its first microseconds as it is at any other time of day.
    #[test]
    fn it_was_quiet_before_the_run() {
        let timing = timing(Backoff::Standard);
        let mut ear = Ear::new();
        assert!(ear.is_free(us(0), &timing) && ear.is_free(us(7), &timing));
        ear.back_off(us(7), 0);
        assert_eq!(ear.backoff_end(&timing), Some(us(7)));
        ear.push(us(7), frame(8, 10, STRONG), &timing);
        ear.settle(us(10), &timing);
        assert!(!ear.is_free(us(559), &timing) && ear.is_free(us(560), &timing));
    }

    /// A frame that begins when the back-off ends is too late to stop it; one nanosecond earlier it does, and whole slots are
    /// gone.
    #[test]
    fn a_backoff_counts_whole_slots() {
        let timing = timing(Backoff::Ns2);
        let mut ear = Ear::new();
        ear.back_off(us(150), 10);
        assert_eq!(ear.backoff_end(&timing), Some(us(350)));
        ear.push(us(100), frame(350, 360, STRONG), &timing);
        ear.settle(us(350), &timing);
        assert!(ear.is_idle(us(350)) && ear.backoff_end(&timing) == Some(us(350)));
        // busy from 219 µs on: DIFS and three slots have passed; seven and DIFS follow the reservation
        let mut ear = Ear::new();
        ear.back_off(us(150), 10);
        ear.push(us(100), frame(219, 300, STRONG), &timing);
        ear.settle(us(230), &timing);
        assert!(!ear.is_idle(us(230)));
        ear.settle(us(300), &timing);
        assert_eq!(ear.backoff_end(&timing), Some(us(300 + 500 + 50 + 7 * 20)));
        // it was quiet for 219 µs
        assert_eq!(ear.busy(us(800)), Duration::from_micros(800 - 219));
        assert_eq!(ear.busy(us(900)), Duration::from_micros(800 - 219));
    }

    /// A station that nobody looks at does not gather frames for ever.
    #[test]
    fn what_is_past_is_forgotten() {
        let (mut ear, timing) = (Ear::new(), timing(Backoff::Ns2));
        for i in 0..10_000 {
            ear.push(us(100 * i), frame(100 * i, 100 * i + 50, STRONG), &timing);
        }
        assert!(ear.later.is_empty() && ear.counts.overheard == 9_999);
    }
}
