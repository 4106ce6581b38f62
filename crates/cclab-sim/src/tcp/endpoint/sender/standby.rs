//! Standing by: a sender that knows that its route is broken sends nothing, and for its timers time stands still.

use super::scoreboard::Skip;
use super::timer::{Kind, Timer};
use super::{Outgoing, Sender};
use cclab_algo::cc::{self, News, NewsEvent, Resume, Standing};
use cclab_algo::{Duration, Time};

/// A sender that stands by.
pub(super) struct Standby {
    /// As the law wished it.
    wish: cc::Standby,
    /// Since when time stands still, and the timer as it stood then.
    since: Time,
    timer: Timer,
    /// The next probe, and how long after it the one that follows.
    probe: Time,
    gap: Duration,
    /// The probe is to leave now.
    due: bool,
    /// Until when it waits.
    until: Time,
}

impl Standby {
    fn new(now: Time, wish: cc::Standby) -> Standby {
        let cc::Standby { probe, longest_probe, patience } = wish;
        let gap = (probe * 2).min(longest_probe);
        Standby {
            wish,
            since: now,
            timer: Timer::default(),
            probe: now + probe,
            gap,
            due: false,
            until: now + patience,
        }
    }
}

impl Standby {
    /// When it is to do something.
    fn alarm(&self) -> Timer {
        Timer { kind: Kind::Standby, at: self.probe.min(self.until) }
    }
}

impl Sender {
    /// News of the route came. Before the connection is established there is nothing to stand by with.
    pub fn on_news(&mut self, now: Time, news: News) {
        if self.open || self.standby.is_some() || matches!(news, News::Hops { .. }) {
            self.while_awake(now, |sender| sender.law.tell(|cc| cc.on_news(&NewsEvent { now, news })));
        }
    }

    /// An ACK was taken in while standing by. A timer that it set is for when the sender is awake.
    #[cold]
    #[inline(never)]
    pub(super) fn on_ack_in_standby(&mut self, now: Time) {
        let Some(standby) = &mut self.standby else { return };
        if self.timer.kind != Kind::Standby {
            let stood = now.since(standby.since);
            standby.timer = match self.timer.kind {
                Kind::Off => self.timer,
                _ => Timer { at: self.timer.at - stood, ..self.timer },
            };
            self.timer = standby.alarm();
        }
        if self.law.as_dyn().standing() != Standing::Standby(standby.wish) {
            self.while_awake(now, |_| {});
        }
    }

    /// The next segment to leave of a sender that is not open: a probe, if it stands by and one is due.
    #[cold]
    #[inline(never)]
    pub(super) fn poll_in_standby(&mut self, now: Time) -> Option<Outgoing> {
        let standby = self.standby.as_mut().filter(|standby| standby.due)?;
        standby.due = false;
        self.while_awake(now, |sender| match sender.board.is_empty() {
            false => Some(sender.retransmit(now, sender.board.head())),
            true => sender.new_in_window().map(|(len, fin)| sender.transmit_new(now, len, fin)),
        })
    }

    /// The timer of a sender that stands by: it has waited for long enough, or a probe is due.
    pub(super) fn on_standby_timer(&mut self, now: Time) {
        let Some(standby) = &mut self.standby else { return };
        if now >= standby.until {
            standby.until = now + standby.wish.patience;
            return self.on_news(now, News::Waited);
        }
        standby.due = true;
        (standby.probe, standby.gap) = (now + standby.gap, (standby.gap * 2).min(standby.wish.longest_probe));
        self.timer = standby.alarm();
    }

    /// Does something as a sender that is awake.
    fn while_awake<T>(&mut self, now: Time, act: impl FnOnce(&mut Sender) -> T) -> T {
        let before = self.thaw(now);
        let out = act(self);
        self.stand(now, before);
        out
    }

    /// Stands by, or goes on, or resumes, as the law says; `before`: how it stood by.
    #[cold]
    #[inline(never)]
    pub(super) fn stand(&mut self, now: Time, before: Option<Box<Standby>>) {
        match self.law.as_dyn().standing() {
            Standing::Standby(wish) => {
                let standby = before.filter(|standby| standby.wish == wish);
                self.freeze(now, standby.unwrap_or_else(|| Box::new(Standby::new(now, wish))));
            }
            Standing::Awake(resume) if before.is_some() => self.resume(now, &resume),
            Standing::Awake(_) => {}
        }
    }

    fn freeze(&mut self, now: Time, mut standby: Box<Standby>) {
        self.open = false;
        self.pacer.unblock();
        (standby.since, standby.timer) = (now, self.timer);
        self.timer = standby.alarm();
        self.standby = Some(standby);
    }

    /// Everything is as it was, as if no time had passed.
    #[cold]
    #[inline(never)]
    pub(super) fn thaw(&mut self, now: Time) -> Option<Box<Standby>> {
        let standby = self.standby.take()?;
        let stood = now.since(standby.since);
        self.open = true;
        self.timer = Timer { at: standby.timer.at + stood, ..standby.timer };
        self.board.shift(stood);
        self.rate.shift(stood);
        self.rack.shift(stood);
        self.pacer.shift(stood);
        self.usage.shift(stood);
        Some(standby)
    }

    /// The route is there again, as far as the law knows.
    fn resume(&mut self, now: Time, resume: &Resume) {
        let (from, to) = resume.lost;
        let (mut first, end) = (self.board.find(from), self.board.find(to.min(self.window.nxt())));
        if to > 0 && first == self.board.tail() && !self.board.is_empty() {
            first -= 1; // the peer has everything, but its ACKs were lost: ask for them
        }
        let mut i = self.board.scan(first, end, Skip::Sacked);
        if i < end {
            self.probe.forget();
            self.frto.end();
            self.episode.undo.forget();
            self.episode.enter_loss(to.min(self.window.nxt()));
            self.rearm_from(now);
        }
        while i < end {
            self.board.mark_lost(i);
            i = self.board.scan(i + 1, end, Skip::Sacked);
        }
        self.tell_losses(now);
        if resume.double_rto && self.timer.kind != Kind::Off {
            self.timer.at += self.rtt.rto();
        }
    }
}
