//! How good a live run was: what the machine did to it beside what the scenario says.

use crate::relay;
use cclab_algo::Duration;
use cclab_sim::measure::Distribution;
use serde_json::{Value as Json, json};
use std::fs;

/// The latest that one packet in a hundred may leave.
pub const LATENESS: Duration = Duration::from_micros(500);

/// The latest that any may, and how long all stops of the machine may be that are left out of a short run: a longer one holds up
/// few packets, but the run with them.
pub const WORST: Duration = Duration::from_millis(50);

/// What the machine did to a run.
#[derive(Clone, Debug)]
pub struct Stamp {
    /// How late packets left that were due, s.
    pub lateness: Distribution,
    /// How long the machine stood still, which is left out of the run's time, s.
    pub stopped: f64,
    /// Packets that an interface had no room for, or a host refused.
    pub drops: u64,
    /// Share of the processors' time that the hypervisor gave to others; NaN where the kernel does not tell.
    pub steal: f64,
    /// The kernel.
    pub kernel: String,
    /// What was set in the hosts.
    pub sysctls: Vec<(String, String)>,
    /// Whether relay and senders had real-time priority.
    pub real_time: bool,
    /// The processor that relay and senders stayed on; `None`: on any.
    pub processor: Option<usize>,
}

impl Stamp {
    /// What is wrong with it, if that is too much.
    pub fn flaw(&self) -> Option<String> {
        let late = self.lateness.p99 > LATENESS.as_secs_f64() || self.lateness.max > WORST.as_secs_f64();
        let lateness = || {
            let [p50, p99, max] = [self.lateness.p50, self.lateness.p99, self.lateness.max].map(|s| s * 1e6);
            let [bound, worst] = [LATENESS, WORST].map(|most| most.as_secs_f64() * 1e6);
            let why = if self.real_time { "" } else { ", without real-time priority" };
            let stopped = self.stopped;
            let still = if stopped > 0.0 {
                format!("; {stopped:.3} s, when the machine stood still, are left out")
            } else {
                String::new()
            };
            format!(
                "packets left late (median {p50:.0} us, 99th percentile {p99:.0} us, worst {max:.0} us; at most {bound:.0} us at the 99th and {worst:.0} us at worst{why}{still})"
            )
        };
        match self.drops {
            0 => late.then(lateness),
            drops => Some(format!("{drops} packets were dropped between a host and the relay")),
        }
    }

    /// It, in SI units.
    pub fn json(&self) -> Json {
        let late = &self.lateness;
        let finite = |x: f64| x.is_finite().then_some(x);
        json!({
            "lateness_p50_s": finite(late.p50),
            "lateness_p99_s": finite(late.p99),
            "lateness_max_s": finite(late.max),
            "stopped_s": self.stopped,
            "packets": late.count,
            "drops": self.drops,
            "steal": finite(self.steal),
            "real_time": self.real_time,
            "processor": self.processor,
            "kernel": self.kernel,
            "sysctls": self.sysctls.iter().map(|(name, value)| (name.clone(), json!(value))).collect::<serde_json::Map<_, _>>(),
        })
    }
}

/// The processors' time, in ticks: stolen, and in all.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ticks {
    stolen: u64,
    all: u64,
}

impl Ticks {
    /// Until now.
    pub fn now() -> Ticks {
        fs::read_to_string("/proc/stat").map_or(Ticks::default(), |stat| Ticks::of(&stat))
    }

    /// `cpu user nice system idle iowait irq softirq steal …`; guests' time is in user's already.
    fn of(stat: &str) -> Ticks {
        let line = stat.lines().next().unwrap_or_default();
        let ticks: Vec<u64> = line.split_whitespace().skip(1).take(8).filter_map(|n| n.parse().ok()).collect();
        Ticks { stolen: ticks.get(7).copied().unwrap_or(0), all: ticks.iter().sum() }
    }

    /// The share stolen since then.
    pub fn steal_since(self, then: Ticks) -> f64 {
        (self.stolen - then.stolen.min(self.stolen)) as f64 / self.all.saturating_sub(then.all) as f64
    }
}

/// The kernel's release.
pub fn kernel() -> String {
    fs::read_to_string("/proc/sys/kernel/osrelease").map_or_else(|_| "unknown".into(), |text| text.trim().into())
}

impl Stamp {
    /// Of a relay that is done. Of the senders: whether they had real-time priority, and the processor that they stayed on.
    pub(crate) fn of(
        report: &relay::Report,
        drops: u64,
        began: Ticks,
        sysctls: Vec<(String, String)>,
        fifo: bool,
        processor: Option<usize>,
    ) -> Stamp {
        Stamp {
            lateness: report.lateness.summary(),
            stopped: report.stopped.as_secs_f64(),
            drops: drops + report.refused,
            steal: Ticks::now().steal_since(began),
            kernel: kernel(),
            sysctls,
            real_time: report.real_time && fifo,
            processor: report.processor.filter(|_| report.processor == processor),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stolen_time() {
        let [then, now] = ["100 0 50 800 0 0 0 50 0 0", "150 0 60 860 0 0 0 130 7 7"]
            .map(|numbers| Ticks::of(&format!("cpu  {numbers}\ncpu0 1 2 3 4 5 6 7 8 9 10\n")));
        assert_eq!(now.steal_since(then), 0.4);
        assert!(then.steal_since(then).is_nan());
    }

    #[test]
    fn what_is_too_bad() {
        let stamp = Stamp {
            lateness: Distribution { count: 9, p50: 4e-6, p99: 40e-6, max: 2e-3, ..Distribution::default() },
            stopped: 0.0,
            drops: 0,
            steal: f64::NAN,
            kernel: "6.18".into(),
            sysctls: vec![],
            real_time: true,
            processor: Some(1),
        };
        assert_eq!(stamp.flaw(), None);
        assert!(stamp.json()["steal"].is_null());
        assert_eq!(stamp.json()["processor"], 1);
        assert!(Stamp { processor: None, ..stamp.clone() }.json()["processor"].is_null());
        let dropped = Stamp { drops: 3, ..stamp.clone() };
        assert!(dropped.flaw().is_some_and(|flaw| flaw.starts_with("3 packets were dropped")));
        // the machine stood still for a second: few packets were due in it, for nothing came back
        let lateness = Distribution { max: 1.005, ..stamp.lateness };
        assert!(Stamp { lateness, ..stamp.clone() }.flaw().is_some_and(|flaw| flaw.contains("worst 1005000 us")));
        let lateness = Distribution { p99: 700e-6, ..stamp.lateness };
        let late = Stamp { lateness, real_time: false, ..stamp };
        assert!(
            late.flaw()
                .is_some_and(|flaw| flaw.contains("99th percentile 700 us") && flaw.contains("without real-time"))
        );
    }
}
