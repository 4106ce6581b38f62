use super::super::harness::{Given, Net, at, id, storm};
use super::*;
use crate::net::field::Value;
use crate::wire::Segment;

/// What was said: when it had been sent, by whom, for whom, with how many hops allowed.
fn said(net: &Net) -> Vec<(Time, u32, Option<u32>, u8, &Message)> {
    let each = net.told.iter().filter_map(|(time, by, next, ttl, message)| match message {
        super::super::Message::Abr(Message::Beacon) => None,
        super::super::Message::Abr(message) => Some((*time, by.0, next.map(|next| next.0), *ttl, message)),
        _ => panic!("another protocol's"),
    });
    each.collect()
}

/// Queries by their askers: who, how far, since then.
fn asked(net: &Net, since: f64) -> Vec<(u32, u8)> {
    let first = |message: &Message| matches!(message, Message::Query { path, .. } if path.len() == 1);
    said(net).into_iter().filter(|said| said.0 > at(since) && first(said.4)).map(|said| (said.1, said.3)).collect()
}

fn notified(net: &Net, since: f64) -> Vec<(u32, u32)> {
    let is = |message: &Message| matches!(message, Message::Notification { .. });
    let told = said(net).into_iter().filter(|said| said.0 > at(since) && is(said.4));
    told.filter_map(|said| Some((said.1, said.2?))).collect()
}

fn chain(stations: u32) -> Vec<(u32, u32)> {
    (1..stations).map(|n| (n - 1, n)).collect()
}

/// No route ever leads in a circle, whatever moves and whatever is lost, and no datagram is lost sight of.
#[test]
fn no_route_ever_leads_in_a_circle() {
    let whole: &[Given] = &[("local_query", Value::Flag(false))];
    for given in [&[][..], whole] {
        let mut delivered = 0;
        for seed in 0..40 {
            println!("seed {seed}, {given:?}");
            delivered += storm("abr", given, seed).delivered.len();
        }
        assert!(delivered > 3_000, "{delivered}");
    }
}

/// A link that has lasted is preferred, even over a shorter way; among stable ones the shorter.
#[test]
fn the_destination_prefers_links_that_last() {
    // 0 to 5 by 1 (two hops) or by 2, 3 (three hops)
    for (late, expected) in [(true, (2, 3)), (false, (1, 2))] {
        let mut net = Net::new("abr", &[], 6, &[(0, 1), (1, 5), (0, 2), (2, 3), (3, 5)], 1);
        if late {
            net.part(1, 5);
            net.run(at(9.0));
            net.join(1, 5);
        }
        net.run(at(12.5));
        net.send(0, 5);
        net.run(at(13.0));
        assert_eq!(net.next_hop(0, 5), Some(expected));
        assert_eq!(net.delivered.len(), 1);
    }
    // threshold ticks later the link is as good as the others
    let mut net = Net::new("abr", &[], 6, &[(0, 1), (0, 2), (2, 3), (3, 5)], 1);
    net.run(at(9.0));
    net.join(1, 5);
    net.run(at(15.1));
    net.send(0, 5);
    net.run(at(16.0));
    assert_eq!(net.next_hop(0, 5), Some((1, 2)));
}

/// LQ[H]: the station before the break asks as far as the end was, and holds what comes; the source hears nothing, nothing is lost.
#[test]
fn a_break_is_mended_where_it_is() {
    let mut net = Net::new("abr", &[], 8, &[&chain(6)[..], &[(3, 6), (6, 5)]].concat(), 1);
    net.part(3, 6);
    net.run(at(10.0));
    net.send(0, 5);
    net.run(at(11.0));
    assert_eq!(net.next_hop(0, 5), Some((1, 5)));
    net.join(3, 6);
    net.part(3, 4);
    for _ in 0..3 {
        net.send(0, 5);
    }
    net.run(at(11.5));
    assert_eq!(net.delivered.len(), 4, "{:?}", net.dropped);
    assert_eq!(asked(&net, 11.0), [(3, 2)], "H is what was left");
    assert_eq!(notified(&net, 11.0), []);
    assert_eq!((net.next_hop(3, 5), net.next_hop(0, 5)), (Some((6, 2)), Some((1, 5))));
    let lost: Vec<_> = net.news.iter().filter(|news| matches!(news.2, Action::RouteLost { .. })).collect();
    assert!(matches!(lost[..], [(_, by, Action::RouteLost { repairing: true, parcel: Some(_), .. })] if *by == id(3)));
}

/// A station that sent something itself long ago mends what others send, as one that never did.
#[test]
fn a_relay_that_once_sent_mends_too() {
    for (wait, local) in [(1.0, false), (10.0, true)] {
        let mut net = Net::new("abr", &[], 8, &[&chain(6)[..], &[(3, 6), (6, 5)]].concat(), 1);
        net.part(3, 6);
        net.run(at(10.0));
        net.send(3, 5);
        let since = 10.0 + wait;
        net.run(at(since));
        net.send(0, 5);
        net.run(at(since + 1.0));
        net.join(3, 6);
        net.part(3, 4);
        net.send(0, 5);
        net.run(at(since + 2.0));
        assert_eq!(asked(&net, since + 1.0), [(3, if local { 2 } else { 64 })]);
        assert_eq!(net.delivered.len(), 3);
    }
}

/// Nobody answers within H: the next upstream takes over, with a wider query.
#[test]
fn the_next_upstream_takes_over() {
    let mut net = Net::new("abr", &[], 9, &[&chain(7)[..], &[(3, 7), (7, 8), (8, 6)]].concat(), 1);
    net.part(3, 7);
    net.run(at(10.0));
    net.send(0, 6);
    net.send(0, 6);
    net.run(at(11.0));
    net.join(3, 7);
    net.part(5, 6);
    net.send(0, 6);
    net.run(at(12.0));
    assert_eq!(asked(&net, 11.0), [(5, 1), (4, 2), (3, 3)]);
    assert_eq!(notified(&net, 11.0), [(5, 4), (4, 3)]);
    assert_eq!(net.next_hop(3, 6), Some((7, 3)));
    // what waited at 5 was given up with the attempt there
    assert_eq!(net.dropped.len(), 1);
    net.send(0, 6);
    net.run(at(12.5));
    assert_eq!(net.delivered.len(), 3);
}

/// Behind the middle nobody tries any more: the source asks all.
#[test]
fn behind_the_middle_the_source_asks() {
    let mut net = Net::new("abr", &[], 9, &[&chain(7)[..], &[(0, 7), (7, 8), (8, 6)]].concat(), 1);
    net.part(0, 7);
    net.run(at(10.0));
    net.send(0, 6);
    net.send(0, 6);
    net.run(at(11.0));
    net.join(0, 7);
    net.part(4, 5);
    net.send(0, 6);
    net.run(at(12.0));
    // 4 tries (2 hops were left), 3 is in the middle and tries, 2 and 1 pass it on
    assert_eq!(asked(&net, 11.0), [(4, 2), (3, 3), (0, 64)]);
    assert_eq!(notified(&net, 11.0), [(4, 3), (3, 2), (2, 1), (1, 0)]);
    assert_eq!(net.next_hop(0, 6), Some((7, 3)));
}

/// At the source there is nobody upstream: it asks all at once, and the parcel waits.
#[test]
fn the_source_asks_at_once() {
    let mut net = Net::new("abr", &[], 4, &[(0, 1), (1, 3), (0, 2), (2, 3)], 1);
    net.run(at(10.0));
    net.send(0, 3);
    net.run(at(11.0));
    let next = net.next_hop(0, 3).expect("a way").0;
    net.part(0, next);
    net.send(0, 3);
    net.run(at(11.5));
    assert_eq!(asked(&net, 11.0), [(0, 64)]);
    assert_eq!(net.delivered.len(), 2);
}

/// TCP-BuS: the query names the first segment that waits, the answer what the receiver had in order; the station before the break
/// knows it then.
#[test]
fn a_query_and_its_answer_carry_sequence_numbers() {
    let mut net = Net::new("abr", &[], 5, &[(0, 1), (1, 2), (2, 3), (1, 4), (4, 3)], 1);
    net.part(4, 3);
    net.run(at(10.0));
    let mut number = 0;
    let mut segment = |net: &mut Net, from, to, len, ack| {
        let segment = Segment { seq: number, len, ack, ..Segment::default() };
        let packet = Packet::tcp(7, len > 0, net.now, &segment);
        net.send_packet(from, to, packet);
        number += 1;
    };
    segment(&mut net, 0, 3, 1000, 0);
    segment(&mut net, 3, 0, 0, 1234);
    net.run(at(12.0));
    net.join(4, 3);
    net.part(2, 3);
    net.part(1, 2);
    segment(&mut net, 0, 3, 1000, 0);
    net.run(at(13.0));
    let heads: Vec<_> = said(&net)
        .into_iter()
        .filter(|said| said.0 > at(12.0))
        .filter_map(|said| match said.4 {
            Message::Query { head, path, .. } if path.len() == 1 => Some((said.1, *head)),
            _ => None,
        })
        .collect();
    assert_eq!(heads, [(1, Some((7, 2)))]);
    assert_eq!(net.stations[1].received(7), Some(1234));
    assert_eq!(net.delivered.len(), 3);
}

/// A destination that is not there: eight more queries, the waits doubled up to 10 s.
#[test]
fn queries_back_off() {
    let patient: &[Given] = &[("buffer_timeout", Value::Time(Duration::from_secs(1000)))];
    let mut net = Net::new("abr", patient, 3, &[(0, 1)], 1);
    net.send(0, 2);
    net.run(at(100.0));
    let times: Vec<f64> = said(&net)
        .into_iter()
        .filter(|said| said.1 == 0 && matches!(said.4, Message::Query { .. }))
        .map(|said| said.0.as_secs_f64())
        .collect();
    assert_eq!(times.len(), 9);
    for (n, wait) in [0.5, 1.0, 2.0, 4.0, 8.0, 10.0, 10.0, 10.0].into_iter().enumerate() {
        assert!((times[n + 1] - times[n] - wait).abs() < 0.005, "{times:?}");
    }
    assert_eq!(net.dropped[&0], Why::NoRoute);
}
