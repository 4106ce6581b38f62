//! Senders that are told of their route, over chains of stations of which one goes away for a while.

use crate::support::*;
use cclab_algo::params::Given;
use cclab_algo::{Duration, Time};
use cclab_sim::app::Flows;
use cclab_sim::net::StationId;
use cclab_sim::net::field::{FREE, Field};
use cclab_sim::net::medium::ParcelId;
use cclab_sim::net::medium::config::{self, *};
use cclab_sim::net::medium::routing::{Action, Context, Entry, Routing, Why, abr, aodv, dsr};
use cclab_sim::net::queue::{Limit, Queue};
use cclab_sim::scenario::{Crossing, Scenario, Traffic};
use cclab_sim::tcp::{self, Recovery};

/// Routing along a row of stations, of which number `gone` is away for a while, or never (0).
static ROW: Entry = Entry {
    name: "row",
    summary: "",
    source: "",
    fields: &[
        Field::integer("gone", 0, (0, 100), ""),
        Field::time("at", Duration::ZERO, ""),
        Field::time("for", Duration::ZERO, ""),
        Field::flag("error", false, "the source's station learns of it"),
    ],
    check: FREE,
    start: |params, neighbours| {
        let (gone, from): (u64, Duration) = (params.get("gone"), params.get("at"));
        let for_: Duration = params.get("for");
        let (from, until) = (Time::ZERO + from, Time::ZERO + from + for_);
        let station = |me| Row {
            me,
            last: neighbours.len() as u32 - 1,
            gone: gone as u32,
            away: (from, until),
            error: params.get("error"),
            // a route error takes its time
            due: match (gone, me) {
                (0, _) => Time::NEVER,
                (_, 0) => from + Duration::from_millis(200),
                _ => from,
            },
        };
        (0..neighbours.len() as u32).map(|me| Box::new(station(me)) as Box<dyn Routing>).collect()
    },
};

struct Row {
    me: u32,
    last: u32,
    gone: u32,
    away: (Time, Time),
    error: bool,
    due: Time,
}

impl Row {
    fn is_broken(&self, now: Time, next: u32) -> bool {
        self.gone > 0 && self.away.0 <= now && now < self.away.1 && (self.me == self.gone || next == self.gone)
    }
    fn step(&self, to: StationId) -> u32 {
        if to.0 > self.me { self.me + 1 } else { self.me - 1 }
    }
}

impl Routing for Row {
    fn forward(&mut self, now: Time, parcel: ParcelId, _: Option<StationId>, cx: &mut Context) {
        let next = self.step(cx.parcels[parcel].destination.expect("for somebody"));
        match self.is_broken(now, next) {
            true => cx.drop(parcel, Why::NoRoute),
            false => cx.send(parcel, StationId(next)),
        }
    }
    fn on_failure(&mut self, _: Time, parcel: ParcelId, _: StationId, cx: &mut Context) {
        cx.drop(parcel, Why::Unreachable);
    }
    fn on_timer(&mut self, now: Time, cx: &mut Context) {
        if now < self.due {
            return;
        }
        let lost = now < self.away.1;
        let to = StationId(self.last);
        let concerned = self.me + 1 == self.gone || (self.error && self.me == 0);
        if lost {
            for next in [self.me.wrapping_sub(1), self.me + 1] {
                let waiting = if self.is_broken(now, next) { (cx.recall)(StationId(next)) } else { vec![] };
                if next > self.me && concerned {
                    cx.out.push(Action::RouteLost { to, parcel: waiting.first().copied(), repairing: false });
                }
                waiting.into_iter().for_each(|parcel| cx.drop(parcel, Why::Unreachable));
            }
        } else if concerned {
            cx.out.push(Action::RouteFound { to, hops: (self.last - self.me) as u8 });
        }
        self.due = if lost { self.away.1 } else { Time::NEVER };
    }
    fn next_timer(&self) -> Time {
        self.due
    }
    fn next_hop(&self, now: Time, to: StationId) -> Option<(StationId, u8)> {
        let next = self.step(to);
        let passes = (self.me < self.gone) == (self.gone <= to.0);
        let away = self.gone > 0 && self.away.0 <= now && now < self.away.1 && passes;
        (!away).then_some((StationId(next), self.me.abs_diff(to.0) as u8))
    }
}

/// One flow over so many hops of 250 m with a window of so many packets.
fn chain(seconds: f64, hops: u32, cc: &str, window: u64, routing: config::Routing) -> Scenario {
    let mut scenario = path(seconds, link("there", None, Duration::ZERO), link("back", None, Duration::ZERO));
    scenario.nodes = (0..=hops).map(|i| format!("n{i}")).collect();
    scenario.links.clear();
    let place = |i: u32| Place { x: f64::from(i) * 250.0, y: 0.0 };
    scenario.media = vec![Medium {
        name: "air".into(),
        stations: (0..=hops).map(|i| Station::new(i as usize, Motion::Standing(place(i)))).collect(),
        radio: Radio::WAVELAN,
        mac: Mac::of("ns2-2M").expect("a profile"),
        queue: Queue::DropTail { limit: Limit::Packets(50) },
        seed: None,
        connected: false,
        routing,
        arp: false,
        ttl: 64,
        infrastructure: false,
    }];
    let mut config = tcp::Config::classic(1000, Recovery::NewReno);
    config.receive_buffer = window * 1000;
    config.delayed_ack.every = 1;
    let flow = bulk("t", cc, config);
    scenario.crossings = [(0, hops), (hops, 0)]
        .map(|(from, to)| Crossing { medium: 0, from: StationId(from), to: StationId(to) })
        .to_vec();
    scenario.flows.push(cclab_sim::scenario::Flow { to: hops as usize, ..flow });
    scenario
}

fn row(gone: u64, at: f64, seconds: f64, error: bool) -> config::Routing {
    use cclab_sim::net::field::Value;
    let mut routing = config::Routing::new(&ROW);
    let time = |s: f64| Value::Time(Duration::from_secs_f64(s));
    let given = [Some(Value::Integer(gone)), Some(time(at)), Some(time(seconds)), Some(Value::Flag(error))];
    routing.params = routing.params.overridden(&given);
    routing
}

/// What a flow got, the mean of three runs.
struct Got {
    kbps: f64,
    timeouts: u64,
    again: u64,
    cwnd: f64,
}

fn got(scenario: &Scenario) -> Got {
    let runs = [1, 2, 3]
        .map(|seed| cclab_sim::world::run(scenario, seed).unwrap_or_else(|e| panic!("seed {seed}: {e}")).flows);
    let mean = |x: fn(&Flows) -> f64| runs.iter().map(x).sum::<f64>() / runs.len() as f64;
    Got {
        kbps: mean(|flows| flows.goodput_bps[0] / 1e3),
        cwnd: mean(|flows| flows.cwnd_mean_segments[0]),
        timeouts: runs.iter().map(|flows| flows.timeouts[0]).sum(),
        again: runs.iter().map(|flows| flows.segments_retransmitted[0]).sum(),
    }
}

/// A chain of six hops whose fourth station is away for `away` seconds from second 10 on, 40 s in all.
fn broken(cc: &str, window: u64, away: f64) -> Got {
    got(&chain(40.0, 6, cc, window, row(4, 10.0, away, false)))
}

/// TCP-F and BuS never time out, however long the break; what they gain grows with it. BuS sends less again than TCP-F, and gets as
/// much through as that, to a hundredth, and both more than NewReno, whose timer expires 1, 3, 7, 15 s after its last ACK: these breaks
/// end in between.
#[test]
fn bus_is_as_good_as_tcp_f_and_that_as_newreno() {
    let mut gains = vec![];
    for away in [0.1, 1.5, 5.0, 10.0, 20.0] {
        let [bus, tcp_f, newreno] = ["bus", "tcp-f", "newreno"].map(|cc| broken(cc, 2, away));
        println!(
            "{away} s: {:.1} {:.1} {:.1} kbit/s, {} {} again, {} {} {} timeouts",
            bus.kbps, tcp_f.kbps, newreno.kbps, bus.again, tcp_f.again, bus.timeouts, tcp_f.timeouts, newreno.timeouts
        );
        assert_eq!((bus.timeouts, tcp_f.timeouts), (0, 0), "{away} s");
        assert!(bus.again <= tcp_f.again, "{away} s");
        assert!(bus.kbps >= 0.99 * tcp_f.kbps, "{away} s");
        if away >= 1.0 {
            assert!(newreno.timeouts > 0 && tcp_f.kbps >= newreno.kbps, "{away} s");
            gains.push(tcp_f.kbps - newreno.kbps);
        }
    }
    assert!(gains.is_sorted() && gains[3] > 4.0 * gains[0], "{gains:?}");
}

/// ELFN: no timeout while it stands by; one or two afterwards, for what was in flight beside the probe, or none if that is sent again at
/// once. More through than NewReno from breaks of 10 s, then from 5 s on. Probing seldom costs.
#[test]
fn elfn_beats_newreno() {
    let elfn = |away: f64, given: (&str, Given)| {
        let mut scenario = chain(40.0, 6, "elfn", 2, row(4, 10.0, away, true));
        if let Traffic::Tcp { cc_params, .. } = &mut scenario.flows[0].traffic {
            *cc_params = vec![(given.0.into(), given.1)];
        }
        got(&scenario)
    };
    for (resend, away, timeouts) in
        [(false, 10.0, 6), (false, 20.0, 6), (true, 5.0, 0), (true, 10.0, 0), (true, 20.0, 0)]
    {
        let (elfn, newreno) = (elfn(away, ("resend", Given::Flag(resend))), broken("newreno", 2, away));
        println!(
            "{away} s: {:.1} {:.1} kbit/s, {} {} timeouts",
            elfn.kbps, newreno.kbps, elfn.timeouts, newreno.timeouts
        );
        assert!(elfn.kbps > newreno.kbps && elfn.timeouts <= timeouts, "{away} s");
    }
    let through = [1.0, 2.0, 6.0, 12.0, 24.0].map(|s| elfn(5.0, ("probe_interval", Given::Number(s))).kbps);
    assert!(through.is_sorted_by(|a, b| a > b) && through[4] < 0.7 * through[0], "{through:?}");
}

/// ATCP: partitions of 5 and 20 s without a timeout; the probes at 5, 15 and 35 s find the route again.
#[test]
fn atcp_sits_partitions_out() {
    for (away, back) in [(5.0, 15.0), (20.0, 45.0)] {
        let of = |seconds: f64| got(&chain(seconds, 6, "atcp", 4, row(4, 10.0, away, false)));
        let (before, after, end) = (of(back - 0.1), of(back + 0.4), of(back + 10.0));
        let bytes = |got: &Got, seconds: f64| got.kbps * seconds / 8.0;
        assert_eq!(end.timeouts, 0);
        assert!(bytes(&after, back + 0.4) > bytes(&before, back - 0.1) + 1.0, "nothing comes within half a second");
        assert!(bytes(&end, back + 10.0) > bytes(&before, back - 0.1) + 200.0);
    }
}

/// Losses of congestion and contention are no news: without a break all are what NewReno is, to the bit.
#[test]
fn without_a_break_nobody_is_told() {
    let of = |cc: &str| run(&chain(40.0, 6, cc, 32, row(0, 0.0, 0.0, true))).flows;
    let newreno = of("newreno");
    assert!(newreno.recoveries[0] > 5);
    for cc in ["tcp-f", "elfn", "bus"] {
        let flows = of(cc);
        let shown = |flows: &Flows| (flows.goodput_bps[0], flows.segments_sent[0], flows.cwnd_mean_segments[0]);
        assert_eq!(shown(&flows), shown(&newreno), "{cc}");
    }
}

/// The limit by hops, under AODV, which takes contention for breaks: within 10 % of the best window there is on chains of 4 to 10
/// hops, and at 12 a fifth more than no limit.
#[test]
fn cwl_finds_the_best_window() {
    let of = |cc: &str, hops, window| got(&chain(40.0, hops, cc, window, config::Routing::new(&aodv::ENTRY))).kbps;
    for hops in [4, 6, 8, 10] {
        let best = (1..=5).map(|window| of("newreno", hops, window)).fold(0.0, f64::max);
        let found = of("cwl", hops, 32);
        println!("{hops} hops: {found:.1}, best {best:.1}");
        assert!(found > 0.9 * best, "{hops} hops: {found} {best}");
    }
    let (found, free) = (of("cwl", 12, 32), of("newreno", 12, 32));
    println!("12 hops: {found:.1} {free:.1}");
    assert!(found > 1.2 * free, "{found} {free}");
}

/// Fractional growth on a chain of eight hops: a smaller window, more through.
#[test]
fn few_keeps_the_window_small() {
    let of = |cc: &str| got(&chain(40.0, 8, cc, 32, config::Routing::new(&aodv::ENTRY)));
    let (few, newreno) = (of("few"), of("newreno"));
    println!("{:.2} {:.2} segments, {:.1} {:.1} kbit/s", few.cwnd, newreno.cwnd, few.kbps, newreno.kbps);
    assert!(few.cwnd < newreno.cwnd && few.kbps > newreno.kbps);
}

/// The middle of five stations drives out of range and comes back.
fn driven(cc: &str, away: f64, routing: &'static Entry) -> Got {
    let mut scenario = chain(40.0, 4, cc, 2, config::Routing::new(routing));
    let at = |s: f64| Time::ZERO + Duration::from_secs_f64(s);
    let (here, there) = (Place { x: 500.0, y: 0.0 }, Place { x: 500.0, y: 1000.0 });
    let leave = Leg { start: at(10.0), end: at(10.1), from: here, to: there };
    let back = Leg { start: at(10.0 + away), end: at(10.1 + away), from: there, to: here };
    scenario.media[0].stations[2].motion = Motion::Along(Track { legs: vec![leave, back] });
    got(&scenario)
}

/// The same under protocols that find routes: far fewer timeouts than NewReno's, whatever the protocol; with ABR, which it was made
/// for, BuS has none and sends less again than TCP-F (Kim et al. 2000).
#[test]
fn a_station_drives_away() {
    for routing in [&aodv::ENTRY, &dsr::ENTRY, &abr::ENTRY] {
        for away in [2.0, 5.0] {
            let newreno = driven("newreno", away, routing);
            let mut flooded = 0;
            for cc in ["tcp-f", "elfn", "atcp", "bus"] {
                let found = driven(cc, away, routing);
                let Got { kbps, timeouts, again, .. } = found;
                println!(
                    "{routing:?} {away} s {cc}: {kbps:.1} kbit/s {timeouts} timeouts {again} again, NewReno {:.1} {}",
                    newreno.kbps, newreno.timeouts
                );
                assert!(timeouts < newreno.timeouts && kbps > 0.9 * newreno.kbps, "{routing:?} {away} s {cc}");
                if cc == "tcp-f" {
                    flooded = again;
                }
                if (routing.name, cc) == ("abr", "bus") {
                    assert!(timeouts == 0 && again <= flooded, "{timeouts} {again} {flooded}");
                }
            }
        }
    }
}
