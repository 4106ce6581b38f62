//! By predicted arrival: each segment goes where it should arrive first; everywhere while a path collapses.

use super::{Choice, Entry, Scene, Spread, View};
use cclab_algo::params::{Kind, Spec, Value};
use cclab_algo::{Rate, Time};
use std::collections::VecDeque;

/// The scheduler in the registry.
pub const ENTRY: Entry = Entry {
    name: "predicted-arrival",
    summary: "the subflow on which the segment should arrive first; redundant while the delivery rate of one collapses",
    source: "approximation of AR&P, J. Han et al., IEEE Trans. Wireless Comm. 2021, of which only the abstract was available",
    params: &[Spec {
        name: "collapse",
        kind: Kind::Number { min: 0.0, max: 1.0 },
        default: Value::Number(0.5),
        paper_default: None,
        unit: "",
        doc: "a delivery rate below so much of its largest within two RTT is a collapse; 0: never",
    }],
    build: |params| {
        Box::new(PredictedArrival { collapse: params.number("collapse"), rates: Vec::new(), until: Time::ZERO })
    },
};

struct PredictedArrival {
    collapse: f64,
    /// Of each subflow, delivery rates of the last two RTT, falling: the first is the largest.
    rates: Vec<VecDeque<(Time, Rate)>>,
    /// It is redundant until then: two RTT after the last collapse.
    until: Time,
}

/// Seconds until a segment that goes there now has arrived.
fn arrival_s(view: &View, len: u64) -> f64 {
    let before = view.queued + len;
    view.pacing_rate.map_or(0.0, |rate| rate.time_for(before).as_secs_f64()) + view.srtt.as_secs_f64() / 2.0
}

impl PredictedArrival {
    /// Takes in the delivery rates.
    fn look(&mut self, scene: &Scene) {
        self.rates.resize_with(scene.subflows.len(), VecDeque::new);
        for (view, rates) in scene.subflows.iter().zip(&mut self.rates) {
            let Some(rate) = view.delivery_rate.filter(|_| view.usable) else { continue };
            let window = view.srtt * 2;
            while rates.front().is_some_and(|&(at, _)| at + window < scene.now) {
                rates.pop_front();
            }
            while rates.back().is_some_and(|&(_, before)| before <= rate) {
                rates.pop_back();
            }
            rates.push_back((scene.now, rate));
            if (rate.0 as f64) < self.collapse * rates[0].1.0 as f64 {
                self.until = scene.now + window;
            }
        }
    }
}

impl Spread for PredictedArrival {
    fn copies(&self) -> bool {
        true
    }

    fn choose(&mut self, scene: &Scene) -> Choice {
        self.look(scene);
        if scene.now < self.until
            && !scene.again
            && let Some(k) = scene.fastest(|view| view.ready && view.behind > 0)
        {
            return Choice::Copy(k);
        }
        if scene.len == 0 {
            return Choice::Wait;
        }
        let ready = scene.subflows.iter().enumerate().filter(|(_, view)| view.ready);
        let first = ready.min_by(|(_, a), (_, b)| arrival_s(a, scene.len).total_cmp(&arrival_s(b, scene.len)));
        first.map_or(Choice::Wait, |(k, _)| Choice::New(k))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{scene, view};
    use super::*;

    fn mbps(rate: u64) -> Option<Rate> {
        Some(Rate(rate * 1_000_000))
    }

    fn scheduler() -> Box<dyn Spread> {
        ENTRY.make(&[]).expect("its own parameters")
    }

    /// 1000 bytes at 1 Mbit/s are 8 ms: 18 ms on the path of 20 ms, 15 on that of 30 ms without pacing, 16 at 8 Mbit/s.
    #[test]
    fn where_it_arrives_first() {
        let slow = View { pacing_rate: mbps(1), ..view(20, true) };
        assert_eq!(scheduler().choose(&scene(&[slow, view(30, true)])), Choice::New(1));
        assert_eq!(
            scheduler().choose(&scene(&[slow, View { pacing_rate: mbps(8), ..view(30, true) }])),
            Choice::New(1)
        );
        assert_eq!(scheduler().choose(&scene(&[slow, view(40, true)])), Choice::New(0), "18 against 20 ms");
        let queued = View { queued: 1000, ..slow };
        assert_eq!(scheduler().choose(&scene(&[queued, view(40, true)])), Choice::New(1), "26 against 20 ms");
    }

    /// From 10 to below 5 Mbit/s within two RTT: for two RTT whoever is behind copies.
    #[test]
    fn redundant_while_a_path_collapses() {
        let mut scheduler = scheduler();
        let mut ask = |ms: u64, rate: u64| {
            let paths = [
                View { delivery_rate: mbps(rate), ..view(20, false) },
                View { delivery_rate: mbps(3), behind: 5000, ..view(50, true) },
            ];
            scheduler.choose(&Scene { now: Time(ms * 1_000_000), ..scene(&paths) })
        };
        assert_eq!(ask(100, 10), Choice::New(1));
        assert_eq!(ask(120, 5), Choice::New(1));
        assert_eq!(ask(140, 4), Choice::Copy(1));
        assert_eq!(ask(179, 5), Choice::Copy(1));
        assert_eq!(ask(185, 5), Choice::New(1), "4 and 5 are all there is within 40 ms");
        assert_eq!(ask(400, 1), Choice::New(1), "slower, but not within two RTT");
    }
}
