mod support;
use cclab_algo::params::Given;
use cclab_algo::{Duration, Rate, cc};
use cclab_sim::scenario::*;
use cclab_sim::tcp::{Config, DelayedAck, Recovery};
use support::*;

fn w1(law: &str, params: &[(&str, Given)], mut config: Config) -> Scenario {
    let bottleneck = Queue::DropTail { limit: Limit::Packets(17) };
    let slow = |name| Link { queue: bottleneck, ..link(name, Some(1_500_000), Duration::from_millis(40)) };
    let fast = |name| link(name, Some(10_000_000), Duration::ZERO);
    let mut scenario = path(200.0, fast("source"), fast("back-from-sink"));
    scenario.links.extend([slow("bottleneck"), fast("sink"), slow("bottleneck-reverse"), fast("back-to-source")]);
    scenario.warmup = Duration::from_secs(20);
    config.rto.min = Duration::from_millis(200);
    let mut f = bulk(law, law, config);
    if let Traffic::Tcp { cc_params, .. } = &mut f.traffic {
        *cc_params = params.iter().map(|(n, g)| (n.to_string(), g.clone())).collect();
    }
    scenario.flows = vec![Flow { route: vec![0, 2, 3], route_back: vec![1, 4, 5], ..f }];
    scenario.record.samples = Sampling::Every(Duration::from_millis(500));
    scenario
}
fn num(x: f64) -> Given {
    Given::Number(x)
}
fn show(what: &str, s: &Scenario) {
    let r = run(s);
    let (f, l) = (&r.flows[0], &r.links[2]);
    println!(
        "{what:38} thr {:.3} util {:.4} owd {:.2} ms sd {:.2} cwnd {:.1}..{:.1} mean {:.1} qmax {} rtx {} to {}",
        f.throughput_bps / 1e6,
        l.utilisation,
        f.owd.mean * 1e3,
        f.owd.variance.sqrt() * 1e3,
        f.cwnd_min_segments,
        f.cwnd_max_segments,
        f.cwnd_mean_segments,
        l.queue_max_packets,
        f.segments_retransmitted,
        f.timeouts
    );
    if std::env::var("TRACE").is_ok() {
        for (i, t) in r.samples.time_s.iter().enumerate() {
            if *t < 15.0 {
                println!(
                    "   {t:.1} cwnd {:.1} ssth {:.1}",
                    r.samples.cwnd_bytes[i] / 960.0,
                    r.samples.ssthresh_bytes[i] / 960.0
                );
            }
        }
        for i in 0..r.signals.time_s.len() {
            if r.signals.time_s[i] < 15.0 {
                println!(
                    "   {:.1} {} {:.4}",
                    r.signals.time_s[i], r.signals.names[r.signals.name[i] as usize], r.signals.value[i]
                );
            }
        }
    }
}
#[test]
fn w1_all() {
    for every in [1u32, 2] {
        let cfg = |rec| {
            let mut c = Config::classic(960, rec);
            c.delayed_ack = DelayedAck { every, ..c.delayed_ack };
            c
        };
        let nr = || cfg(Recovery::NewReno);
        println!("== classic, ack every {every}");
        show("reno", &w1("reno", &[], cfg(Recovery::Reno)));
        show("newreno", &w1("newreno", &[], nr()));
        show("sack", &w1("newreno", &[], cfg(Recovery::Sack)));
        show("cubic paper", &w1("cubic", &[], cfg(Recovery::Sack)));
        for (a, b) in [(1.0, 3.0), (2.0, 4.0)] {
            show(&format!("vegas paper {a} {b}"), &w1("vegas", &[("alpha", num(a)), ("beta", num(b))], nr()));
            let mut c = nr();
            c.flavour = cclab_algo::params::Flavour::Linux;
            show(&format!("vegas linux {a} {b}"), &w1("vegas", &[("alpha", num(a)), ("beta", num(b))], c));
        }
        for n in [1.5, 3.0, 5.0] {
            show(&format!("santa-cruz {n}"), &w1("santa-cruz", &[("n", num(n))], nr()));
        }
    }
    println!("== linux profile");
    let lx = || Config::linux(960 - 12);
    for law in ["reno", "cubic", "vegas", "santa-cruz"] {
        show(law, &w1(law, &[], lx()));
    }
    show("cubic hystart++", &w1("cubic", &[("hystart", Given::Text("hystart++".into()))], lx()));
    show("cubic off", &w1("cubic", &[("hystart", Given::Text("off".into()))], lx()));
}
