//! Anti-ECN: clears the bit where there is no room to spare. S. Kunniyur, "AntiECN Marking", ICC 2003.

use super::field::Field;
use super::{Discipline, Entry, FIFO, FREE, Kind, LIMIT, Parameters, Queue, Verdict, View};
use crate::wire::{Feedback, Packet};
use cclab_algo::Time;
use cclab_algo::rng::Stream;

/// Anti-ECN's router in the registry.
pub const ENTRY: Entry = Entry {
    name: "anti-ecn",
    summary: "drop-tail beside a router that clears anti-ECN's bit where there is no room to spare",
    source: "Kunniyur, ICC 2003",
    fields: &[LIMIT, Field::probability("share", 0.9, "rate of the virtual queue, of the link's")],
    lane: FIFO,
    check: FREE,
    build: |params, around| Queue::new(around.limit(params), Config { share: params.get("share") }),
};

/// Parameters of the router.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Rate of the virtual queue, as a share of the link's.
    pub share: f64,
}

impl Parameters for Config {
    fn name(&self) -> &'static str {
        ENTRY.name
    }
    fn start(&self, _: Stream) -> Kind {
        Kind::Arrival(Box::new(AntiEcn::new(*self)))
    }
}

/// An anti-ECN router: beside a drop-tail queue a virtual one, a little slower, which every packet passes.
pub struct AntiEcn {
    config: Config,
    /// Bytes in the virtual queue, and when.
    queued: f64,
    at: Time,
}

impl AntiEcn {
    /// This router.
    pub fn new(config: Config) -> AntiEcn {
        AntiEcn { config, queued: 0.0, at: Time::ZERO }
    }
}

impl Discipline for AntiEcn {
    fn enqueue(&mut self, view: &View, packet: &mut Packet) -> Verdict {
        let rate = view.rate.map_or(f64::INFINITY, |rate| self.config.share * rate.as_bps_f64() / 8.0);
        self.queued = (self.queued - rate * (view.now - self.at).as_secs_f64()).max(0.0);
        self.at = view.now;
        if let Some(Feedback::AntiEcn { room }) = packet.asked() {
            *room &= self.queued == 0.0;
        }
        if !view.full {
            self.queued += f64::from(packet.size);
        }
        Verdict::Pass
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Segment;
    use cclab_algo::{Duration, Rate};

    /// At 9 Mbit/s a packet of 1500 bytes takes 1.333 ms: the bit stays for those that come less often.
    #[test]
    fn the_bit_stays_while_the_virtual_queue_is_empty() {
        for (gap_us, stays) in [(1_400, true), (1_300, false)] {
            let mut router = AntiEcn::new(Config { share: 0.9 });
            let mut now = Time(1);
            let mut bit = true;
            for _ in 0..3 {
                let view = View { now, packets: 0, bytes: 0, free_at: now, rate: Some(Rate(10_000_000)), full: false };
                let feedback = Feedback::AntiEcn { room: true };
                let mut packet = Packet::tcp(0, true, now, &Segment { len: 1460, feedback, ..Segment::default() });
                router.enqueue(&view, &mut packet);
                bit = packet.asked().is_some_and(|f| *f == feedback);
                now += Duration::from_micros(gap_us);
            }
            assert_eq!(bit, stays, "{gap_us}");
        }
    }
}
