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
    /// W.
    pub(super) power: f64,
    /// Its duration field, ns.
    pub(super) nav: u32,
    /// The station that it is for, or [`EVERYBODY`].
    pub(super) to: u32,
    /// The transmission, if this station is asked whether it got it.
    pub(super) number: u32,
}

/// No frame.
const NONE: Arrival =
    Arrival { start: Time::NEVER, end: Time::ZERO, power: 0.0, nav: 0, to: EVERYBODY, number: UNNUMBERED };

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
#[repr(align(64))]
pub(super) struct Ear {
    me: u32,
    /// The frame that begins next, or [`NONE`].
    next: Arrival,
    /// Those that begin after it, in order; few, for all of them are on their way here.
    later: Vec<Arrival>,
    /// The frame in reception, or the last one.
    frame: Arrival,
    state: State,
    /// The frame that was received last, until it is asked for.
    heard: u32,
    /// The frame that was lost last because the station was sending.
    deaf: u32,
    /// The medium is reserved until then.
    pub(super) nav: Time,
    /// A frame that could not be understood is waited for until then (the standard's; ns-2 puts that into the NAV).
    resync: Time,
    /// The end of a frame that was drowned by another one (likewise).
    drowned: Time,
    /// The station's own frame is on the air until then …
    pub(super) sending: Time,
    /// … and it waits for the answer until then.
    pub(super) engaged: Time,
    /// How long nothing of that was so, up to the last time that something began.
    idle: Duration,
    /// Slots of the back-off that are left.
    slots: Option<u32>,
    /// When they were drawn.
    drawn: Time,
    /// Frames that were sent here.
    came: u64,
    pub(super) counts: Receptions,
}

impl Ear {
    pub(super) fn new(me: u32) -> Ear {
        Ear {
            me,
            next: NONE,
            later: Vec::new(),
            frame: NONE,
            state: State::Quiet,
            heard: UNNUMBERED,
            deaf: UNNUMBERED,
            nav: Time::ZERO,
            resync: Time::ZERO,
            drowned: Time::ZERO,
            sending: Time::ZERO,
            engaged: Time::ZERO,
            idle: Duration::ZERO,
            slots: None,
            drawn: Time::ZERO,
            came: 0,
            counts: Receptions::default(),
        }
    }

    /// A frame is on its way here, sent at `now`.
    #[inline(always)]
    pub(super) fn push(&mut self, now: Time, arrival: Arrival, timing: &Timing) {
        self.came += 1;
        self.live(now, timing);
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
        self.live(now, timing);
    }

    #[inline(always)]
    fn live(&mut self, now: Time, timing: &Timing) {
        loop {
            if self.state != State::Quiet && self.frame.end <= self.next.start {
                if self.frame.end > now {
                    return;
                }
                let state = std::mem::replace(&mut self.state, State::Quiet);
                self.end(self.frame, state, timing);
            } else if self.next.start < now {
                let arrival = self.next;
                match self.later.is_empty() {
                    true => self.next.start = Time::NEVER,
                    false => self.next = self.later.remove(0),
                }
                if self.state != State::Quiet {
                    self.overlap(arrival, timing);
                    continue;
                }
                self.stop_counting(arrival.start, timing);
                let state = match () {
                    () if arrival.start < self.sending => State::Deaf,
                    () if arrival.power < timing.receive => State::Weak,
                    () => State::Good,
                };
                if arrival.end <= now && arrival.end <= self.next.start {
                    // As nearly all of them do, it comes and goes alone.
                    self.frame.end = arrival.end;
                    self.end(arrival, state, timing);
                } else {
                    (self.frame, self.state) = (arrival, state);
                }
            } else {
                return;
            }
        }
    }

    /// A frame begins during another one.
    fn overlap(&mut self, arrival: Arrival, timing: &Timing) {
        let now = arrival.start;
        if self.frame.power / arrival.power >= timing.capture {
            // The first frame survives; what is left of the other one is noise.
            self.count_lost(&arrival, State::Collided, timing);
            if timing.eifs_in_nav {
                self.nav = self.nav.max(now + timing.eifs + (arrival.end - now));
            } else {
                self.drowned = self.drowned.max(arrival.end);
            }
        } else {
            // Both are lost; the one that ends last is followed to its end.
            let longer = arrival.end > self.frame.end;
            let gone = if longer { std::mem::replace(&mut self.frame, arrival) } else { arrival };
            self.count_lost(&gone, State::Collided, timing);
            self.state = State::Collided;
        }
    }

    /// The frame in reception ends.
    #[inline(always)]
    fn end(&mut self, frame: Arrival, state: State, timing: &Timing) {
        let now = frame.end;
        if now < self.sending {
            // The station heard nothing of it.
            return self.count_lost(&frame, State::Deaf, timing);
        }
        if state != State::Good {
            self.count_lost(&frame, state, timing);
            if timing.eifs_in_nav {
                self.nav = self.nav.max(now + timing.eifs);
            } else {
                self.resync = now + (timing.eifs.saturating_sub(timing.difs));
            }
            return;
        }
        self.resync = Time::ZERO;
        self.heard = frame.number;
        if frame.to == self.me || frame.to == EVERYBODY {
            self.counts.received += 1;
        } else {
            self.counts.overheard += 1;
            self.nav = self.nav.max(now + Duration(u64::from(frame.nav)));
        }
    }

    #[inline]
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
        self.frame.end.max(self.nav).max(self.engaged).max(self.resync).max(self.drowned)
    }

    /// Whether the medium is free, as far as is known.
    pub(super) fn is_idle(&self, now: Time) -> bool {
        self.state == State::Quiet && self.quiet_from() <= now
    }

    /// Whether it has been so for a DIFS.
    pub(super) fn is_free(&self, now: Time, timing: &Timing) -> bool {
        self.state == State::Quiet && self.quiet_from() + timing.difs <= now
    }

    /// Something begins: whole slots that have passed are subtracted.
    #[inline]
    fn stop_counting(&mut self, now: Time, timing: &Timing) {
        let quiet = self.quiet_from();
        if now <= quiet {
            return;
        }
        self.idle += now - quiet;
        if let Some(end) = self.backoff_end(timing) {
            let counted = now.since(quiet.max(self.drawn) + timing.difs).0 / timing.slot.0;
            self.slots = if now >= end { None } else { self.slots.map(|slots| slots - counted as u32) };
        }
    }

    /// The station begins to send, until `end`, and waits for an answer until `engaged`. A frame in reception is lost.
    pub(super) fn send(&mut self, now: Time, end: Time, engaged: Time, timing: &Timing) {
        self.stop_counting(now, timing);
        (self.sending, self.engaged) = (end, engaged);
        if self.state == State::Good {
            self.state = State::Deaf;
        }
    }

    /// Draws a back-off of so many slots.
    pub(super) fn draw(&mut self, now: Time, slots: u32) {
        (self.slots, self.drawn) = (Some(slots), now);
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
        Some(self.quiet_from().max(self.drawn) + timing.difs + timing.slot * u64::from(slots))
    }

    /// The earliest that the back-off may end: a frame that is understood ends the wait for one that was not, and nobody is told.
    #[inline]
    pub(super) fn earliest_end(&self, now: Time, timing: &Timing) -> Option<Time> {
        let end = self.backoff_end(timing)?;
        if self.resync <= now {
            return Some(end);
        }
        let quiet = self.frame.end.max(self.nav).max(self.engaged).max(self.drowned).max(self.drawn).max(now);
        Some(end.min(quiet + timing.difs + timing.slot * u64::from(self.slots?)))
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

    /// Station 7.
    fn ear() -> Ear {
        Ear::new(7)
    }

    /// A frame for station 3 from `start` to `end` (µs), which reserves the medium for another 500.
    fn frame(start: u64, end: u64, power: f64) -> Arrival {
        Arrival { start: us(start), end: us(end), power, nav: 500_000, to: 3, number: UNNUMBERED }
    }

    /// What becomes of these frames, and when the medium is free again.
    fn hears(rule: Backoff, frames: &[Arrival]) -> (Receptions, Time) {
        let (mut ear, timing) = (ear(), timing(rule));
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
        let short = Arrival { nav: 1000, ..frame(150, 200, STRONG) };
        assert_eq!(hears(Backoff::Ns2, &[frame(10, 110, STRONG), short]).1, us(610));
    }

    /// One that cannot be decoded is noticed: EIFS of 364 µs and then DIFS in ns-2, EIFS in its place in the standard, where the
    /// next frame that is understood ends the wait.
    #[test]
    fn a_weak_frame_makes_it_wait() {
        let one = Receptions { sensed: 1, ..Receptions::default() };
        assert_eq!(hears(Backoff::Ns2, &[frame(10, 110, WEAK)]), (one, us(110 + 364)));
        assert_eq!(hears(Backoff::Standard, &[frame(10, 110, WEAK)]), (one, us(110 + 364 - 50)));
        let good = Arrival { nav: 0, ..frame(120, 150, STRONG) };
        assert_eq!(hears(Backoff::Standard, &[frame(10, 110, WEAK), good]).1, us(150));
        assert_eq!(hears(Backoff::Ns2, &[frame(10, 110, WEAK), good]).1, us(474));
    }

    /// The first survives if it is ten times as strong; the station is quiet for EIFS and as long as the other one takes.
    #[test]
    fn a_stronger_frame_survives_if_it_came_first() {
        let found = Receptions { overheard: 1, collided: 1, ..Receptions::default() };
        let nav = Arrival { nav: 0, ..frame(10, 110, 10.0 * STRONG) };
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
            let (mut ear, timing) = (ear(), timing(Backoff::Ns2));
            frames.iter().for_each(|frame| ear.push(Time::ZERO, *frame, &timing));
            ear.settle(us(200), &timing);
            ear.send(us(200), us(300), us(300), &timing);
            ear.settle(us(450), &timing);
            assert_eq!(ear.quiet_from(), us(400 + 364), "what it heard the end of it could not understand");
            ear.settle(us(10_000), &timing);
            assert_eq!(ear.counts, Receptions { deaf: 1, overheard: 1, ..Receptions::default() });
        }
        // of what ends meanwhile it has no idea
        let (mut ear, timing) = (ear(), timing(Backoff::Ns2));
        ear.push(Time::ZERO, frame(210, 290, STRONG), &timing);
        ear.send(us(200), us(300), us(300), &timing);
        ear.settle(us(450), &timing);
        assert_eq!((ear.quiet_from(), ear.counts.deaf), (us(300), 1));
    }

    /// A frame that begins when the back-off ends is too late to stop it; one nanosecond earlier it does, and whole slots are
    /// gone.
    #[test]
    fn a_backoff_counts_whole_slots() {
        let timing = timing(Backoff::Ns2);
        let mut ear = ear();
        ear.draw(us(100), 10);
        assert_eq!(ear.backoff_end(&timing), Some(us(350)));
        ear.push(us(100), frame(350, 360, STRONG), &timing);
        ear.settle(us(350), &timing);
        assert!(ear.is_idle(us(350)) && ear.backoff_end(&timing) == Some(us(350)));
        // busy from 219 µs on: DIFS and three slots have passed; seven and DIFS follow the reservation
        let mut ear = super::Ear::new(7);
        ear.draw(us(100), 10);
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
        let (mut ear, timing) = (ear(), timing(Backoff::Ns2));
        for i in 0..10_000 {
            ear.push(us(100 * i), frame(100 * i, 100 * i + 50, STRONG), &timing);
        }
        assert!(ear.later.is_empty() && ear.counts.overheard == 9_999);
    }
}
