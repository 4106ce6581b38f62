//! A network driven by a clock instead of the wheel, as a relay between devices drives it: packets offered when they came in a
//! run of the simulator arrive when they did there, however late the clock wakes up.

use crate::support::*;
use cclab_algo::{Duration, Time};
use cclab_sim::measure::Packets;
use cclab_sim::net::{Event, Links, Log, Network, Sink};
use cclab_sim::scenario::*;
use cclab_sim::wire::{Body, Packet};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What is due, in order of time and of insertion.
#[derive(Default)]
struct Alarms {
    due: BinaryHeap<Reverse<(Time, usize)>>,
    events: Vec<Event>,
}

impl Sink for Alarms {
    fn at(&mut self, time: Time, event: Event) {
        self.due.push(Reverse((time, self.events.len())));
        self.events.push(event);
    }
}

/// A network, a clock that reads `now`, and what reached its host: when it was due there, flow and number.
struct Relay {
    network: Network,
    alarms: Alarms,
    arrived: Vec<(Time, u32, u64)>,
}

impl Relay {
    fn deliver(&mut self, due: Time, packet: &Packet) {
        let Body::Udp(datagram) = packet.body else { panic!("a datagram") };
        self.arrived.push((due, packet.flow, datagram.number));
    }

    /// The clock wakes up: everything due by now is done as of when it was due, so being late adds up to nothing.
    fn wake(&mut self, now: Time) {
        while let Some(&Reverse((due, number))) = self.alarms.due.peek()
            && due <= now
        {
            self.alarms.due.pop();
            let mut packet = Packet::udp(0, due, 0, 0);
            if self.network.on_event(due, self.alarms.events[number], &mut packet, &mut self.alarms) {
                self.deliver(due, &packet);
            }
        }
    }
}

/// Times, flows and numbers of one kind of event at a host.
fn at_hosts(packets: &Packets, event: &str) -> Vec<(Time, u32, u64)> {
    let time = |i: usize| Time((packets.time_s[i] * 1e9).round() as u64);
    let row = |i: usize| (time(i), packets.flow[i], packets.seq[i]);
    (0..packets.len()).filter(|&i| &packets.event[i] == event && packets.link[i] == u32::MAX).map(row).collect()
}

/// Two links, the first served by PIE with its timer, with jitter, reordering, duplicates and losses, the second a full
/// drop-tail queue, which one of the flows alone crosses.
fn scenario() -> Scenario {
    let ms = Duration::from_millis;
    let pie = "duration = '1 s'\nflows = [{ cc = 'reno' }]\n[network]\nrate = '2 Mbit/s'\nrtt = '20 ms'\n\
               queue = { discipline = 'pie', limit = '60 packets' }";
    let pie = Scenario::from_toml(pie).unwrap_or_else(|e| panic!("{e}")).links[0].queue.clone();
    let first = Link {
        queue: pie,
        jitter: Some(Jitter::Exponential { mean: ms(1) }),
        reorder: Some(Reorder { probability: 0.05, delay: ms(9) }),
        duplicate: 0.02,
        loss: vec![Loss { applies_to: AppliesTo::All, model: LossModel::Bernoulli { p: 0.03 } }],
        loss_place: LossPlace::AfterLink,
        ..link("first", Some(2_000_000), ms(10))
    };
    let queue = Queue::DropTail { limit: Limit::Packets(5) };
    let mut scenario = path(20.0, first, link("back", None, Duration::ZERO));
    scenario.links.push(Link { queue, ..link("second", Some(2_100_000), ms(5)) });
    scenario.flows = vec![
        Flow { route: vec![0, 2], send_jitter: ms(20), ..cbr("both", 2_200_000, 500) },
        Flow { route: vec![2], send_jitter: ms(20), ..cbr("second", 500_000, 300) },
    ];
    scenario.record.packets = true;
    scenario
}

#[test]
fn a_clock_drives_the_network_as_the_wheel_does() {
    let scenario = scenario();
    let result = run(&scenario);
    let log = result.packets.as_ref().expect("asked for");
    let (sent, received) = (at_hosts(log, "sent"), at_hosts(log, "received"));
    let rows: Vec<_> = result.links.rows().collect();
    assert!(rows[0].early_drops > 50 && rows[0].losses > 50 && rows[2].drops > 50, "there is something to get wrong");
    // The clock wakes up when a packet comes and at each tick of its own.
    for tick in [Duration::from_millis(4), Duration::from_secs(100)] {
        let end = Time::ZERO + scenario.duration;
        let mut network = Network::new(&scenario.links, scenario.seed, (Time::ZERO, end), Log::default());
        let routes = scenario.flows.iter().map(|flow| network.add_route(&flow.route)).collect::<Vec<_>>();
        scenario.flows.iter().for_each(|_| network.add_flow(end));
        let mut relay = Relay { network, alarms: Alarms::default(), arrived: vec![] };
        relay.network.begin(&mut relay.alarms);
        let mut woken = Time::ZERO;
        for &(now, flow, number) in &sent {
            while woken + tick < now {
                woken += tick;
                relay.wake(woken);
            }
            relay.wake(now);
            let size = [500, 300][flow as usize];
            let mut packet = Packet::udp(flow as usize, now, number, size);
            if relay.network.send(now, &mut packet, routes[flow as usize], &mut relay.alarms) {
                relay.deliver(now, &packet);
            }
        }
        relay.wake(Time(end.0 - 1));
        assert_eq!(relay.arrived.len(), received.len());
        assert_eq!(relay.arrived, received);
        let counted = |links: &Links| links.rows().map(|l| (l.arrived, l.drops, l.losses, l.sent)).collect::<Vec<_>>();
        assert_eq!(counted(&relay.network.table()), counted(&result.links));
    }
}

/// What belongs to no flow crosses the same links, is lost and dropped there, and is in no flow's books.
#[test]
fn a_packet_may_belong_to_no_flow() {
    let scenario = scenario();
    let end = Time::ZERO + scenario.duration;
    let mut network = Network::new(&scenario.links, scenario.seed, (Time::ZERO, end), Log::default());
    let route = network.add_route(&scenario.flows[0].route);
    let mut relay = Relay { network, alarms: Alarms::default(), arrived: vec![] };
    for number in 0..1000 {
        let now = Time(2_000_000 * number);
        relay.wake(now);
        let mut packet = Packet::udp(0, now, number, 500);
        packet.flow = Packet::NO_FLOW;
        assert!(!relay.network.send(now, &mut packet, route, &mut relay.alarms));
    }
    relay.wake(end);
    assert!((500..1000).contains(&relay.arrived.len()), "{}", relay.arrived.len());
    assert!(relay.arrived.iter().all(|&(_, flow, _)| flow == Packet::NO_FLOW));
}
