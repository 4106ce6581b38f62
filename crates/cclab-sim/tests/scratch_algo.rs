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
fn w2(law: &str, rtt_ms: u64, q: u64, params: &[(&str, Given)], config: Config, secs: f64) -> Scenario {
    let bottleneck = Queue::DropTail { limit: Limit::Packets(q) };
    let half = Duration::from_micros(rtt_ms * 500 - 2000);
    let slow = |name| Link { queue: bottleneck, ..link(name, Some(250_000_000), half) };
    let fast = |name| link(name, Some(1_000_000_000), Duration::from_millis(1));
    let mut scenario = path(secs, fast("s1"), fast("b1"));
    scenario.links.extend([slow("bottleneck"), fast("k1"), slow("bottleneck-reverse"), fast("x1"), fast("s2"), fast("k2"), fast("x2"), fast("b2")]);
    scenario.warmup = Duration::from_secs_f64(secs/4.0);
    let mk = |label: &str| { let mut f = bulk(label, law, config.clone());
    if let Traffic::Tcp { cc_params, .. } = &mut f.traffic { *cc_params = params.iter().map(|(n,g)| (n.to_string(), g.clone())).collect(); } f };
    scenario.flows = vec![Flow { route: vec![0, 2, 3], route_back: vec![1, 4, 5], ..mk("a") }, Flow { start: cclab_algo::Time::ZERO+Duration::from_secs(1), route: vec![6, 2, 7], route_back: vec![9, 4, 8], ..mk("b") }];
    scenario
}
#[test]
fn w2_all() {
    for (rtt, q) in [(42, 175), (162, 675)] {
        for law in ["reno", "cubic", "vegas"] {
            let t = std::time::Instant::now();
            let r = run(&w2(law, rtt, q, &[], Config::linux(1448), 200.0));
            let l = &r.links[2];
            println!("{law} rtt {rtt}: util {:.4} goodput {:.1} {:.1} jain {:.3} loss {:.2e} wall {:.1}", l.utilisation, r.flows[0].goodput_bps/1e6, r.flows[1].goodput_bps/1e6, r.jain, l.drops as f64 / l.arrived as f64, t.elapsed().as_secs_f64());
        }
    }
}
#[test]
fn start() {
    for (law, h) in [("cubic","hystart"),("cubic","hystart++"),("cubic","off")] {
        for (rtt, q) in [(42, 875), (42, 175), (162, 675)] {
            let mut s = w2(law, rtt, q, &[("hystart", Given::Text(h.into()))], Config::linux(1448), 10.0);
            s.flows.truncate(1); s.warmup = Duration::ZERO; s.record.samples = Sampling::Every(Duration::from_millis(100));
            let r = run(&s);
            let l = &r.links[2]; let f = &r.flows[0];
            let at = |i: usize| r.samples.cwnd_bytes[i]/1448.0;
            println!("{h:10} rtt {rtt} q {q}: 10 s util {:.3} drops {} rtx {} to {} cwnd at .3 s {:.0} .5 {:.0} 1 s {:.0} 2 s {:.0} 4 s {:.0}; ssthresh at 2 s {:.0}", l.utilisation, l.drops, f.segments_retransmitted, f.timeouts, at(3), at(5), at(10), at(20), at(40), r.samples.ssthresh_bytes[20]/1448.0);
        }
    }
}
#[test]
fn reverse() {
    // traffic on the reverse link (thesis): B at the far side sends to router 1's side
    for rq in [17u64] { for bw in [20u64, 25, 1000] {
    for (law, n) in [("newreno", 0.0), ("vegas", 0.0), ("santa-cruz", 5.0), ("santa-cruz", 3.0), ("santa-cruz", 1.5)] {
        for every in [1, 2] {
        let p: Vec<(&str, Given)> = if law == "santa-cruz" { vec![("n", num(n))] } else if law == "vegas" { vec![("alpha", num(1.0)),("beta",num(3.0))] } else { vec![] };
        let mut c = Config::classic(960, Recovery::NewReno); c.delayed_ack = DelayedAck { every, ..c.delayed_ack };
        let mut s = w1(law, &p, c.clone());
        s.links[4].queue = Queue::DropTail { limit: Limit::Packets(rq) };
        c.receive_buffer = bw*960; let back = bulk("back", "newreno", c);
        s.flows.push(Flow { route: vec![1, 4, 5], route_back: vec![0, 2, 3], ..back });
        let r = run(&s);
        let (f, l) = (&r.flows[0], &r.links[2]);
        println!("B window {bw} {law} {n} every {every}: thr {:.3} util {:.3} cwnd {:.0}..{:.0} mean {:.1} owd {:.1} back {:.3}", f.throughput_bps/1e6, l.utilisation, f.cwnd_min_segments, f.cwnd_max_segments, f.cwnd_mean_segments, f.owd.mean*1e3, r.flows[1].throughput_bps/1e6);
    }}}}
}
