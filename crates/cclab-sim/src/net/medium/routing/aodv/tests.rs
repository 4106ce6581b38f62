use super::super::harness::{Given, Net, at, id, storm};
use super::*;
use crate::net::field::{Params, Value};
use crate::net::medium::Parcels;
use crate::wire::Packet;
use cclab_algo::rng::Stream;

const RFC: Given = ("profile", Value::Word("rfc3561"));
const NEWER: Given = ("repair_newer", Value::Flag(true));
const PATIENT: Given = ("buffer_timeout", Value::Time(Duration::from_secs(1000)));

fn diameter(hops: u64) -> Given {
    ("network_diameter", Value::Integer(hops))
}

/// One station, number 0, and what it says.
struct Bench {
    aodv: Aodv,
    parcels: Parcels,
    rng: Stream,
    now: Time,
    out: Vec<Action>,
}

impl Bench {
    fn new(given: &[Given]) -> Bench {
        let given: Vec<_> = config::FIELDS
            .iter()
            .map(|field| given.iter().find(|(name, _)| *name == field.name).map(|(_, value)| *value))
            .collect();
        let config = Config::new(&Params::new(config::FIELDS, &given));
        let (parcels, rng) = (Parcels::default(), Stream::new(1, "bench"));
        Bench { aodv: Aodv::new(id(0), config), parcels, rng, now: at(1.0), out: Vec::new() }
    }

    fn with(&mut self, act: impl FnOnce(&mut Aodv, Time, &mut Context)) -> Vec<(Option<u32>, Message)> {
        self.out.clear();
        let mut cx = Context {
            me: id(0),
            parcels: &mut self.parcels,
            recall: &mut |_| Vec::new(),
            rng: &mut self.rng,
            out: &mut self.out,
        };
        act(&mut self.aodv, self.now, &mut cx);
        let message = |action: &Action| match action {
            Action::Send { parcel, next, .. } => match self.parcels[*parcel].message.as_deref() {
                Some(super::super::Message::Aodv(message)) => Some((next.map(|next| next.0), message.clone())),
                _ => None,
            },
            _ => None,
        };
        self.out.iter().filter_map(message).collect()
    }

    fn parcel(&mut self, source: u32, to: u32, message: Option<Message>, ttl: u8, hops: u8) -> ParcelId {
        self.parcels.insert(Parcel {
            packet: Packet::udp(0, self.now, 0, 1000),
            source: id(source),
            destination: Some(id(to)),
            ttl,
            hops,
            message: message.map(|message| Box::new(super::super::Message::Aodv(message))),
            path: None,
        })
    }

    /// A message arrives that may make `ttl` more hops.
    fn hear(&mut self, from: u32, ttl: u8, message: Message) -> Vec<(Option<u32>, Message)> {
        let parcel = self.parcel(from, 0, Some(message), ttl, 1);
        let parcel = self.parcels.remove(parcel);
        self.with(|aodv, now, cx| aodv.on_message(now, &parcel, id(from), cx))
    }

    fn data(&mut self, source: u32, to: u32, from: Option<u32>) -> Vec<(Option<u32>, Message)> {
        let parcel = self.parcel(source, to, None, 9, 1);
        self.with(|aodv, now, cx| aodv.forward(now, parcel, from.map(id), cx))
    }

    fn fail(&mut self, source: u32, to: u32, next: u32, hops: u8) -> Vec<(Option<u32>, Message)> {
        let parcel = self.parcel(source, to, None, 9, hops);
        self.with(|aodv, now, cx| aodv.on_failure(now, parcel, id(next), cx))
    }

    /// Next hop and hops to `to`.
    fn way(&self, to: u32) -> Option<(u32, u8)> {
        self.aodv.next_hop(self.now, id(to)).map(|(next, hops)| (next.0, hops))
    }

    fn seq(&mut self, to: u32) -> Option<u32> {
        self.aodv.table.get(self.now, id(to)).and_then(|route| route.seq).map(|seq| seq.0)
    }

    fn until(&mut self, to: u32) -> f64 {
        self.aodv.table.up(self.now, id(to)).map_or(0.0, |route| route.until.since(self.now).as_secs_f64())
    }

    fn later(&mut self, seconds: f64) {
        self.now += Duration::from_secs_f64(seconds);
    }
}

fn reply(to: u32, seq: u32, hops: u8, from: u32) -> Message {
    let lifetime = Duration::from_secs(6);
    Message::Reply(Reply { to: id(to), to_seq: Seq(seq), from: id(from), hops, lifetime, asked: Time::ZERO })
}

fn request(n: u32, from: u32, from_seq: u32, hops: u8, to: u32, to_seq: Option<u32>) -> Request {
    Request {
        id: n,
        to: id(to),
        to_seq: to_seq.map(Seq),
        from: id(from),
        from_seq: Seq(from_seq),
        hops,
        destination_only: false,
        gratuitous: false,
        asked: Time::ZERO,
    }
}

fn requests(net: &Net) -> Vec<(f64, u32, u8)> {
    let asked = |(time, by, _, ttl, message): &(Time, StationId, Option<StationId>, u8, super::super::Message)| {
        let is = matches!(message, super::super::Message::Aodv(Message::Request(_)));
        is.then(|| ((time.since(Time::ZERO).saturating_sub(Duration::from_millis(1))).as_secs_f64(), by.0, *ttl))
    };
    net.told.iter().filter_map(asked).collect()
}

fn count(net: &Net, what: impl Fn(&Message) -> bool) -> usize {
    net.told.iter().filter(|told| matches!(&told.4, super::super::Message::Aodv(message) if what(message))).count()
}

/// No route ever leads in a circle, whatever moves and whatever is lost, and no datagram is lost sight of. Both profiles, and with
/// hello messages in the place of the MAC's reports.
#[test]
fn no_route_ever_leads_in_a_circle() {
    let hello = [RFC, ("hello", Value::Flag(true)), ("link_layer", Value::Flag(false))];
    let mut delivered = 0;
    for seed in 0..20 {
        for given in [&[][..], &[NEWER], &[RFC], &hello] {
            println!("seed {seed}, {given:?}");
            delivered += storm("aodv", given, seed).delivered.len();
        }
    }
    assert!(delivered > 10_000, "{delivered}");
}

/// §6.1: signed arithmetic, over the end of the numbers too.
#[test]
fn a_sequence_number_is_newer_over_the_end() {
    assert!(Seq(6).newer(Seq(5)) && !Seq(5).newer(Seq(6)) && !Seq(5).newer(Seq(5)));
    assert!(Seq(0).newer(Seq(u32::MAX)) && Seq(u32::MAX).newer(Seq(u32::MAX - 1)));
    assert!(!Seq(u32::MAX).newer(Seq(3)));
    assert_eq!(Seq(2).max(Seq(u32::MAX)), Seq(2));
}

/// §6.2, §6.7: newer, or as new and shorter, or as new where the route is down.
#[test]
fn a_route_is_taken_if_it_is_newer_or_as_new_and_shorter() {
    let mut bench = Bench::new(&[RFC]);
    bench.hear(1, 9, reply(9, 5, 2, 0));
    assert_eq!(bench.way(9), Some((1, 3)));
    for (from, seq, hops, expected) in [
        (2, 4, 0, (1, 3)),                                           // older
        (2, 5, 2, (1, 3)),                                           // as new, as long
        (2, 5, 1, (2, 2)),                                           // shorter
        (3, 6, 8, (3, 9)),                                           // newer
        (4, 6_u32.wrapping_sub(1 << 31).wrapping_add(1), 0, (3, 9)), // newer only without a sign
    ] {
        bench.hear(from, 9, reply(9, seq, hops, 0));
        assert_eq!(bench.way(9), Some(expected), "seq {seq} over {hops} hops");
    }
    // down, and as new as what it was counted up to: taken though longer
    bench.fail(5, 9, 3, 1);
    assert_eq!((bench.way(9), bench.seq(9)), (None, Some(7)));
    bench.hear(2, 9, reply(9, 6, 0, 0));
    assert_eq!(bench.way(9), None);
    bench.hear(2, 9, reply(9, 7, 20, 0));
    assert_eq!(bench.way(9), Some((2, 21)));
}

/// §6.1: when its time is over the number counts up; behind DELETE_PERIOD (15 s) it is forgotten. §6.2: its use keeps it.
#[test]
fn an_unused_route_goes_down_and_is_forgotten() {
    let mut bench = Bench::new(&[RFC]);
    bench.hear(1, 9, reply(9, 5, 2, 0)); // good for 6 s
    bench.later(5.9);
    bench.data(0, 9, None);
    assert!((bench.until(9) - 3.0).abs() < 1e-9, "ACTIVE_ROUTE_TIMEOUT from its use");
    bench.later(2.9);
    assert_eq!((bench.way(9), bench.seq(9)), (Some((1, 3)), Some(5)));
    bench.later(0.1);
    assert_eq!((bench.way(9), bench.seq(9)), (None, Some(6)));
    bench.later(14.9);
    assert_eq!(bench.seq(9), Some(6));
    bench.later(0.1);
    assert_eq!(bench.seq(9), None);
}

/// §6.2: a parcel keeps the routes to its destination, its next hop, its source and its previous hop.
#[test]
fn a_parcel_keeps_four_routes() {
    let mut bench = Bench::new(&[RFC, ("active_route_timeout", Value::Time(Duration::from_secs(4)))]);
    bench.hear(1, 9, reply(9, 5, 2, 0));
    bench.hear(2, 0, Message::Request(request(1, 8, 3, 1, 7, None)));
    bench.later(2.0);
    bench.data(8, 9, Some(2));
    for station in [1, 2] {
        assert!((bench.until(station) - 4.0).abs() < 1e-9, "to {station}: {}", bench.until(station));
    }
    bench.later(3.9);
    assert!([1, 2, 8, 9].iter().all(|&to| bench.way(to).is_some()));
    // in ns-2 the destination's alone
    let mut bench = Bench::new(&[]);
    bench.hear(1, 9, reply(9, 5, 2, 0));
    assert_eq!(bench.way(1), None);
}

/// §6.3, §6.4 with the RFC's own values: rings of 1, 3, 5, 7, then the network, NET_TRAVERSAL_TIME 2.8 s doubled each time, dropped
/// behind RREQ_RETRIES 2. RING_TRAVERSAL_TIME = 2 · 40 ms · (TTL + 2).
#[test]
fn rings_widen_and_waits_double() {
    let mut net = Net::chain("aodv", &[RFC, PATIENT, diameter(35)], 3);
    net.part(1, 2);
    net.send(0, 2);
    net.run(at(60.0));
    let asked: Vec<_> =
        requests(&net).into_iter().filter(|asked| asked.1 == 0).map(|asked| (asked.0, asked.2)).collect();
    let expected = [(0.0, 1), (0.24, 3), (0.64, 5), (1.2, 7), (1.92, 35), (4.72, 35), (10.32, 35)];
    assert_eq!(asked.len(), expected.len(), "{asked:?}");
    for (asked, expected) in asked.iter().zip(expected) {
        assert!((asked.0 - expected.0).abs() < 1e-6 && asked.1 == expected.1, "{asked:?}, not {expected:?}");
    }
    assert_eq!(net.dropped[&0], Why::NoRoute);
    // given up at 21.52 s
    let mut net = Net::chain("aodv", &[RFC, PATIENT, diameter(35)], 3);
    net.part(1, 2);
    net.send(0, 2);
    net.run(at(21.51));
    assert!(net.dropped.is_empty());
    net.run(at(21.53));
    assert_eq!(net.dropped.len(), 1);
}

/// ns-2.35: 5, 7, then the network, four times; waits of 2 · TTL · 30 ms, times how often the network was asked, looked at every
/// half second; then 10 s of silence.
#[test]
fn rings_of_ns2() {
    let mut net = Net::chain("aodv", &[PATIENT, diameter(30), ("ttl_start", Value::Integer(5))], 3);
    net.part(1, 2);
    net.send(0, 2);
    net.run(at(25.0));
    assert_eq!(net.dropped[&0], Why::NoRoute);
    net.send(0, 2);
    net.run(at(31.0));
    let asked: Vec<_> =
        requests(&net).into_iter().filter(|asked| asked.1 == 0).map(|asked| (asked.0, asked.2)).collect();
    let expected = [(0.0, 5), (0.5, 7), (1.0, 30), (3.0, 30), (7.0, 30), (12.5, 30), (30.0, 30)];
    assert_eq!(asked.len(), expected.len(), "{asked:?}");
    for (asked, expected) in asked.iter().zip(expected) {
        assert!((asked.0 - expected.0).abs() < 1e-6 && asked.1 == expected.1, "{asked:?}, not {expected:?}");
    }
}

/// ns-2.35: a fresh entry of its table was 255 hops away, so that the network is asked at once: a window of one segment carries
/// 61.0 kbit/s over 20 hops in 50 s, of 61.5 that its exchanges allow.
#[test]
fn ns2_asks_the_network_at_once() {
    let mut net = Net::chain("aodv", &[diameter(30)], 21);
    net.send(0, 20);
    net.run(at(0.45));
    assert_eq!(requests(&net)[0], (0.0, 0, 30));
    assert_eq!(net.delivered.len(), 1);
}

/// §6.4: a destination that was three hops away is looked for within five.
#[test]
fn the_first_ring_follows_the_last_distance() {
    for (given, ttl) in
        [(&[RFC, ("local_repair", Value::Flag(false))][..], 5), (&[("local_repair", Value::Flag(false))], 5)]
    {
        let mut net = Net::chain("aodv", given, 4);
        net.send(0, 3);
        net.run(at(1.9));
        assert_eq!(net.delivered.len(), 1);
        net.part(2, 3);
        net.send(0, 3);
        net.run(at(2.2));
        assert_eq!((net.next_hop(0, 3), net.delivered.len()), (None, 1), "an error has reached the source");
        let before = net.told.len();
        net.send(0, 3);
        net.run(at(2.3));
        let first = &net.told[before];
        assert_eq!((first.1, first.3), (id(0), ttl));
    }
}

/// §6.3: at most 10 requests a second.
#[test]
fn requests_are_rationed() {
    let links: Vec<_> = (1..20).map(|n| (0, n)).collect();
    let mut net = Net::new("aodv", &[RFC], 20, &links, 1);
    net.run(at(5.0));
    for n in 1..20 {
        net.send(0, n);
    }
    net.run(at(5.999));
    assert_eq!(requests(&net).iter().filter(|asked| asked.1 == 0).count(), 10);
    net.run(at(6.5));
    assert_eq!(net.delivered.len(), 19);
}

/// §6.5: hop count up, TTL down, once; the reverse route lives 2 · NET_TRAVERSAL − 2 · hops · NODE_TRAVERSAL.
#[test]
fn a_request_is_passed_on_once() {
    let mut bench = Bench::new(&[RFC, diameter(35), ("jitter", Value::Time(Duration::ZERO))]);
    let asked = request(7, 8, 3, 2, 9, Some(4));
    let said = bench.hear(1, 5, Message::Request(asked));
    assert_eq!(said, [(None, Message::Request(Request { hops: 3, ..asked }))]);
    let Some(Action::Send { parcel, .. }) = bench.out.last() else { panic!() };
    assert_eq!(bench.parcels[*parcel].ttl, 5);
    assert_eq!((bench.way(8), bench.seq(8)), (Some((1, 3)), Some(3)));
    assert!((bench.until(8) - (5.6 - 2.0 * 3.0 * 0.04)).abs() < 1e-9);
    assert_eq!((bench.way(1), bench.seq(1)), (Some((1, 1)), None), "the previous hop, without a number");
    // heard again from another one, within PATH_DISCOVERY_TIME = 2 · NET_TRAVERSAL_TIME; and later
    assert_eq!(bench.hear(2, 5, Message::Request(Request { hops: 0, ..asked })), []);
    assert_eq!(bench.way(8), Some((1, 3)));
    bench.later(5.5);
    assert_eq!(bench.hear(2, 5, Message::Request(asked)), []);
    bench.later(0.2);
    assert_eq!(bench.hear(2, 5, Message::Request(Request { from_seq: Seq(8), ..asked })).len(), 1);
    // no hops left
    assert_eq!(bench.hear(1, 0, Message::Request(Request { id: 8, ..asked })), []);
    // own
    assert_eq!(bench.hear(1, 5, Message::Request(Request { from: id(0), ..asked })), []);
    // the newest that is known of the destination goes along, and what is asked for changes nothing here
    bench.hear(1, 9, reply(9, 6, 2, 0));
    bench.fail(5, 9, 1, 0);
    let said = bench.hear(2, 5, Message::Request(Request { id: 9, from_seq: Seq(9), ..asked }));
    let is =
        |known| matches!(said[..], [(None, Message::Request(Request { to_seq: Some(Seq(seq)), .. }))] if seq == known);
    assert!(is(7), "{said:?}");
    bench.hear(2, 5, Message::Request(Request { id: 10, from_seq: Seq(10), to_seq: Some(Seq(20)), ..asked }));
    assert_eq!(bench.seq(9), Some(7));
}

/// §6.6.1: the destination answers with its own number, raised to what was asked for; ns-2 counts on to an even one.
#[test]
fn the_destination_answers() {
    for (given, asked, expected) in
        [(&[RFC][..], None, 0), (&[RFC], Some(4), 4), (&[], None, 2), (&[], Some(4), 6), (&[], Some(5), 6)]
    {
        let mut bench = Bench::new(given);
        let said = bench.hear(1, 0, Message::Request(request(1, 8, 3, 2, 0, asked)));
        let [(Some(1), Message::Reply(reply))] = said[..] else { panic!("{said:?}") };
        assert_eq!((reply.to_seq.0, reply.hops, reply.to.0, reply.from.0), (expected, 0, 0, 8));
        let lifetime = if given.is_empty() { 10 } else { 6 };
        assert_eq!(reply.lifetime, Duration::from_secs(lifetime), "MY_ROUTE_TIMEOUT");
    }
}

/// §6.6.2: one on the way answers if what it knows is as new as what is asked for and the D flag is clear, with its hops and what is
/// left of the lifetime; both next hops become precursors. §6.6.3: and tells the destination.
#[test]
fn one_on_the_way_answers_if_it_knows_enough() {
    let ask = |bench: &mut Bench, n, to_seq, destination_only, gratuitous| {
        let asked = request(n, 8, 30 + n, 1, 9, to_seq);
        bench.hear(2, 5, Message::Request(Request { destination_only, gratuitous, ..asked }))
    };
    let mut bench = Bench::new(&[RFC]);
    bench.hear(1, 9, reply(9, 5, 2, 0));
    bench.later(1.5);
    for (n, to_seq) in [(1, None), (2, Some(4)), (3, Some(5))] {
        let said = ask(&mut bench, n, to_seq, false, false);
        let [(Some(2), Message::Reply(reply))] = said[..] else { panic!("{said:?}") };
        assert_eq!((reply.to.0, reply.to_seq.0, reply.hops, reply.from.0), (9, 5, 3, 8));
        assert_eq!(reply.lifetime, Duration::from_millis(4500));
    }
    let precursors =
        |bench: &mut Bench, to| bench.aodv.table.up(bench.now, id(to)).map(|route| route.precursors.clone());
    assert_eq!(precursors(&mut bench, 9), Some(vec![id(2)]));
    assert_eq!(precursors(&mut bench, 8), Some(vec![id(1)]));
    for (n, to_seq, only) in [(4, Some(6), false), (5, Some(5), true)] {
        let said = ask(&mut bench, n, to_seq, only, false);
        assert!(matches!(said[..], [(None, Message::Request(_))]), "{said:?}");
    }
    let said = ask(&mut bench, 6, None, false, true);
    let [(Some(2), Message::Reply(_)), (Some(1), Message::Reply(told))] = said[..] else { panic!("{said:?}") };
    assert_eq!((told.to.0, told.to_seq.0, told.hops, told.from.0), (8, 36, 2, 9));
    // a route whose number nobody told answers nothing
    let mut bench = Bench::new(&[RFC]);
    bench.hear(9, 9, reply(7, 5, 0, 6));
    assert_eq!((bench.way(9), bench.seq(9)), (Some((9, 1)), None));
    assert!(matches!(ask(&mut bench, 1, None, false, false)[..], [(None, Message::Request(_))]));
}

/// §6.7: a reply goes on one hop longer, along the reverse route, and who gets it becomes a precursor.
#[test]
fn a_reply_is_passed_back() {
    let mut bench = Bench::new(&[RFC]);
    bench.hear(2, 5, Message::Request(request(1, 8, 3, 1, 9, None)));
    let said = bench.hear(1, 9, reply(9, 5, 2, 8));
    let [(Some(2), Message::Reply(told))] = said[..] else { panic!("{said:?}") };
    assert_eq!((told.hops, told.to_seq.0), (3, 5));
    let route = bench.aodv.table.up(bench.now, id(9)).map(|route| (route.hops, route.precursors.clone()));
    assert_eq!(route, Some((3, vec![id(2)])));
    // one that is not taken is not passed on
    assert_eq!(bench.hear(3, 9, reply(9, 5, 7, 8)), []);
}

/// §6.8: requests of a neighbour that a reply did not reach are ignored for BLACKLIST_TIMEOUT (5.6 s).
#[test]
fn a_neighbour_that_does_not_hear_is_ignored() {
    let mut bench = Bench::new(&[RFC]);
    let parcel = bench.parcel(0, 2, Some(reply(9, 5, 2, 8)), 9, 0);
    bench.with(|aodv, now, cx| aodv.on_failure(now, parcel, id(2), cx));
    assert_eq!(bench.hear(2, 5, Message::Request(request(1, 8, 3, 1, 9, None))), []);
    assert_eq!(bench.hear(3, 5, Message::Request(request(1, 8, 3, 1, 9, None))).len(), 1);
    bench.later(5.7);
    assert_eq!(bench.hear(2, 5, Message::Request(request(2, 8, 4, 1, 9, None))).len(), 1);
}

/// §6.9: a station on a route says hello every second; a neighbour from which nothing came for two seconds is gone.
#[test]
fn hellos_notice_that_a_neighbour_is_gone() {
    let given = [RFC, ("hello", Value::Flag(true)), ("link_layer", Value::Flag(false))];
    let mut net = Net::chain("aodv", &given, 3);
    net.run(at(5.0));
    assert_eq!(net.told.len(), 0, "no route, no hello");
    net.send(0, 2);
    let keep = |net: &mut Net, until: f64| {
        while net.now < at(until) {
            net.send(0, 2);
            let next = net.now + Duration::from_millis(500);
            net.run(next);
        }
    };
    keep(&mut net, 10.0);
    let hellos = count(&net, |message| matches!(message, Message::Hello { .. }));
    assert!((12..=15).contains(&hellos), "three stations, five seconds: {hellos}");
    net.part(1, 2);
    keep(&mut net, 10.9);
    assert_eq!(net.next_hop(1, 2).map(|way| way.0), Some(2));
    keep(&mut net, 13.6);
    assert_eq!(net.next_hop(1, 2), None);
    assert!(count(&net, |message| matches!(message, Message::Error { .. })) >= 1);
}

/// §6.11, case i: all routes over the neighbour, their numbers one higher, to who sends this way: to the only one, or to all; to
/// nobody where nobody does. ns-2 tells all in every case.
#[test]
fn a_broken_link_is_told_to_who_sends_over_it() {
    let setup = |given: &[Given]| {
        let mut bench = Bench::new(&[given, &[("local_repair", Value::Flag(false))]].concat());
        for (to, seq) in [(7, 5), (8, 9), (9, 3)] {
            bench.hear(1, 9, reply(to, seq, 2, 0));
        }
        bench.hear(2, 5, Message::Request(request(1, 4, 3, 1, 8, None)));
        bench
    };
    let told = |seqs: &[(u32, u32)]| Message::Error {
        repaired: false,
        unreachable: seqs.iter().map(|&(to, seq)| (id(to), Some(Seq(seq)))).collect(),
    };
    let mut bench = setup(&[RFC]);
    assert_eq!(bench.fail(4, 8, 1, 0), [(Some(2), told(&[(8, 10)]))]);
    assert_eq!(
        [7, 8, 9].map(|to| (bench.way(to), bench.seq(to))),
        [(None, Some(6)), (None, Some(10)), (None, Some(4))]
    );
    let lost = bench.out.iter().filter(|action| matches!(action, Action::RouteLost { .. })).count();
    assert_eq!(lost, 4, "three destinations and the neighbour");
    let mut bench = setup(&[RFC]);
    bench.hear(3, 5, Message::Request(request(1, 6, 3, 1, 9, None)));
    assert_eq!(bench.fail(4, 8, 1, 0), [(None, told(&[(8, 10), (9, 4)]))]);
    let mut bench = setup(&[]);
    assert_eq!(bench.fail(4, 8, 1, 0), [(None, told(&[(7, 6), (8, 10), (9, 4)]))]);
}

/// §6.11, case ii: a parcel for which there is no route. At most 10 errors a second.
#[test]
fn a_parcel_without_a_route_makes_an_error() {
    let mut bench = Bench::new(&[RFC]);
    bench.hear(1, 9, reply(9, 5, 2, 0));
    bench.later(6.0);
    let error = Message::Error { repaired: false, unreachable: vec![(id(9), Some(Seq(6)))] };
    for n in 0..12 {
        let said = bench.data(8, 9, Some(2));
        assert_eq!(said, if n < 10 { vec![(None, error.clone())] } else { vec![] });
        assert!(matches!(bench.out[0], Action::Drop(_, Why::NoRoute)));
    }
    bench.later(1.0);
    assert_eq!(bench.data(8, 9, Some(2)).len(), 1);
}

/// §6.11, case iii: only routes over who says so, with the number that it says; passed on to who sends this way. An error that is
/// older than the route is about another one.
#[test]
fn an_error_is_believed_of_the_next_hop_and_passed_on() {
    let error = |seq| Message::Error { repaired: false, unreachable: vec![(id(9), Some(Seq(seq)))] };
    let mut bench = Bench::new(&[RFC]);
    bench.hear(1, 9, reply(9, 5, 2, 0));
    bench.hear(2, 5, Message::Request(request(1, 4, 3, 1, 9, None)));
    assert_eq!(bench.hear(3, 0, error(8)), []);
    assert_eq!(bench.hear(1, 0, error(4)), []);
    assert_eq!(bench.way(9), Some((1, 3)));
    assert_eq!(bench.hear(1, 0, error(8)), [(Some(2), error(8))]);
    assert_eq!((bench.way(9), bench.seq(9)), (None, Some(8)));
    // nobody sends over this station
    let mut bench = Bench::new(&[RFC]);
    bench.hear(1, 9, reply(9, 5, 2, 0));
    assert_eq!(bench.hear(1, 0, error(6)), []);
    assert_eq!(bench.way(9), None);
    // repaired: nobody forgets it
    let mut bench = Bench::new(&[RFC]);
    bench.hear(1, 9, reply(9, 5, 2, 0));
    bench.hear(2, 5, Message::Request(request(1, 4, 3, 1, 9, None)));
    let repaired = Message::Error { repaired: true, unreachable: vec![(id(9), Some(Seq(8)))] };
    let said = bench.hear(1, 0, repaired);
    assert!(matches!(said[..], [(Some(2), Message::Error { repaired: true, .. })]));
    assert_eq!(bench.way(9), Some((1, 3)));
}

/// §6.12: the station before the broken link finds a way round; the source hears that it is longer, and nothing is lost. A request
/// for the repair goes max(hops to the destination, half of those to the source) + LOCAL_ADD_TTL 2 far.
#[test]
fn a_route_is_repaired_where_it_broke() {
    let mut links: Vec<_> = (1..7).map(|n| (n - 1, n)).collect();
    links.extend([(5, 7), (7, 8), (8, 6)]);
    let mut net = Net::new("aodv", &[RFC], 9, &links, 1);
    net.send(0, 6);
    net.run(at(2.0));
    assert_eq!(net.next_hop(0, 6), Some((1, 6)));
    net.part(5, 6);
    let before = net.told.len();
    for _ in 0..3 {
        net.send(0, 6);
    }
    net.run(at(2.5));
    assert_eq!(net.delivered.len(), 4, "{:?}", net.dropped);
    assert_eq!((net.next_hop(5, 6), net.next_hop(0, 6)), (Some((7, 3)), Some((1, 6))));
    let (_, by, _, ttl, _) = net.told[before];
    assert_eq!((by, ttl), (id(5), 5 / 2 + 2));
    let longer = |message: &Message| matches!(message, Message::Error { repaired: true, .. });
    assert_eq!(count(&net, longer), 5, "from 5 to 0, hop by hop");
    let lost = |news: &(Time, StationId, Action)| matches!(news.2, Action::RouteLost { repairing: true, .. });
    assert_eq!(net.news.iter().filter(|news| lost(news)).map(|news| news.1).collect::<Vec<_>>(), [id(5)]);
}

/// §6.12: with no way round, what waited is dropped and all who send this way hear it.
#[test]
fn a_repair_that_fails_is_told() {
    for given in [&[RFC][..], &[NEWER, ("ttl_start", Value::Integer(5))]] {
        let mut net = Net::chain("aodv", given, 6);
        net.send(0, 5);
        net.run(at(2.0));
        net.part(4, 5);
        net.send(0, 5);
        net.run(at(3.6));
        assert_eq!(net.dropped[&1], Why::NoRoute);
        assert_eq!(net.next_hop(4, 5), None);
        let rfc = given[0] == RFC;
        assert_eq!(net.next_hop(0, 5).is_none(), rfc, "ns-2 tells nobody");
        net.send(0, 5);
        net.run(at(3.9));
        assert_eq!(net.next_hop(0, 5), None, "but who sends on hears it");
    }
}

/// ns-2 repairs what has made more hops than are left, and drops the rest with all that waits for that neighbour.
#[test]
fn ns2_repairs_in_the_second_half() {
    for (broken, repaired) in [(1, false), (2, false), (3, true), (4, true)] {
        let mut net = Net::chain("aodv", &[], 6);
        net.send(0, 5);
        net.run(at(2.0));
        net.part(broken, broken + 1);
        net.send(0, 5);
        net.run(at(2.1));
        let kept = net.dropped.is_empty();
        assert_eq!(kept, repaired, "{broken} hops made, {} left", 5 - broken);
    }
}

/// A false alarm in a row of stations: who asks for a newer route has one at once. ns-2 asks for no newer one; the neighbours answer
/// with what they know, which is not taken, until as much time has passed as before (here 2 s and the wait) and who sends on hears
/// that there is no route.
#[test]
fn ns2_seldom_repairs() {
    for (given, repaired) in [(&[][..], false), (&[NEWER], true)] {
        let mut net = Net::chain("aodv", given, 6);
        net.send(0, 5);
        net.run(at(2.0));
        net.part(3, 4);
        net.send(0, 5);
        net.run(at(2.0045));
        net.join(3, 4);
        for (time, way) in [(2.4, repaired), (4.0, repaired), (4.3, repaired), (8.0, true)] {
            net.run(at(time));
            assert_eq!(net.next_hop(3, 5).is_some(), way, "{time}");
            net.send(0, 5);
        }
    }
}

/// §5.1 to §5.3, in UDP over IP; ns-2 counts a word more in requests and replies, and no UDP.
#[test]
fn messages_have_their_sizes() {
    let asked = Message::Request(request(1, 8, 3, 1, 9, None));
    let error = Message::Error { repaired: false, unreachable: vec![(id(1), None), (id(2), None)] };
    let hello = Message::Hello { seq: Seq(1), lifetime: Duration::ZERO };
    let sizes = |profile| [&asked, &reply(9, 5, 2, 0), &error, &hello].map(|message| message.bytes(profile));
    assert_eq!(sizes(config::Profile::Rfc3561), [28 + 24, 28 + 20, 28 + 20, 28 + 20]);
    assert_eq!(sizes(config::Profile::Ns2), [20 + 28, 20 + 24, 20 + 20, 20 + 24]);
}

/// 64 parcels wait; the 65th pushes the first out. After 30 s nobody waits any more. What waited leaves 10 ms apart.
#[test]
fn parcels_wait_for_a_route() {
    let mut net = Net::chain("aodv", &[], 2);
    net.part(0, 1);
    for _ in 0..66 {
        net.send(0, 1);
    }
    assert_eq!(net.dropped.keys().copied().collect::<Vec<_>>(), [0, 1]);
    net.run(at(1.2));
    net.join(0, 1);
    net.run(at(7.0));
    assert_eq!(net.delivered.len(), 64);
    for (earlier, later) in net.delivered.iter().zip(&net.delivered[1..]) {
        assert_eq!(later.0.since(earlier.0), Duration::from_millis(10));
        assert_eq!(later.1, earlier.1 + 1, "first come, first served");
    }
    let mut net = Net::chain("aodv", &[("rreq_retries", Value::Integer(50))], 2);
    net.part(0, 1);
    net.send(0, 1);
    net.run(at(29.9));
    assert!(net.dropped.is_empty());
    net.run(at(30.1));
    assert_eq!(net.dropped[&0], Why::Buffer);
}

/// What is passed on waits up to 10 ms, so that neighbours do not answer at once.
#[test]
fn what_is_passed_on_is_jittered() {
    let links: Vec<_> = (1..200).map(|n| (0, n)).collect();
    let mut net = Net::new("aodv", &[], 200, &links, 1);
    net.watch = false;
    net.part(0, 199);
    net.send(0, 199);
    net.run(at(0.4));
    let waits: Vec<f64> = requests(&net).iter().filter(|asked| asked.1 != 0).map(|asked| asked.0 - 0.001).collect();
    assert_eq!(waits.len(), 198);
    let mean = waits.iter().sum::<f64>() / 198.0;
    // uniform in 0 to 10 ms: the mean of 198 has a deviation of 0.205 ms; five of them
    assert!((mean - 0.005).abs() < 0.00103 && waits.iter().all(|wait| (0.0..0.01).contains(wait)), "{mean}");
}

/// With ns-2's diameter of 30 a chain of 32 hops delivers nothing, and one of 30 does; with 64 both do.
#[test]
fn a_diameter_of_30_is_too_small_for_32_hops() {
    for (hops, diameter_, delivered) in [(30, 30, 1), (32, 30, 0), (32, 64, 1)] {
        let mut net = Net::chain("aodv", &[diameter(diameter_)], hops + 1);
        net.watch = false;
        net.send(0, hops);
        net.run(at(20.0));
        assert_eq!(net.delivered.len(), delivered, "{hops} hops, diameter {diameter_}");
    }
}

/// §6.5: the life of a reverse route is max(ExistingLifetime, MinimalLifetime); so it is in ns-2. 2 has a way to 0 for 6 s (10 s) by a
/// reply; a request of 0, newer, that nobody answers asks for 100 ms only.
#[test]
fn a_request_shortens_no_life() {
    let brief = ("reverse_route_life", Value::Time(Duration::from_millis(100)));
    for (given, life) in [(&[RFC, brief][..], 6.0), (&[brief], 10.0)] {
        let mut net = Net::chain("aodv", given, 4);
        net.part(2, 3);
        net.send(2, 0);
        net.run(at(1.0));
        assert_eq!((net.delivered.len(), net.next_hop(2, 0)), (1, Some((1, 2))));
        net.send(0, 3);
        net.run(at(life - 0.3));
        assert_eq!(net.next_hop(2, 0), Some((1, 2)), "{given:?}");
    }
}

/// §6.3: not more than RREQ_RATELIMIT in a second, whichever second.
#[test]
fn an_allowance_is_of_any_second() {
    let mut allowance = Allowance::default();
    assert_eq!(allowance.take(at(0.0), Some(10)), Ok(()));
    (0..9).for_each(|_| assert_eq!(allowance.take(at(0.9), Some(10)), Ok(())));
    assert_eq!(allowance.take(at(0.99), Some(10)), Err(at(1.0)));
    assert_eq!(allowance.take(at(1.0), Some(10)), Ok(()));
    assert_eq!(allowance.take(at(1.0), Some(10)), Err(at(1.9)));
}
