use super::super::harness::{Given, Net, at, id, storm};
use super::*;
use crate::net::field::Value;

const RFC: Given = ("profile", Value::Word("rfc4728"));
const OFF: Value = Value::Flag(false);

fn ids(stations: &[u32]) -> Vec<StationId> {
    stations.iter().map(|&n| id(n)).collect()
}

/// What was said: when it had been sent (less the millisecond that takes), by whom, with how many hops allowed.
fn said(net: &Net) -> Vec<(f64, u32, u8, &Message)> {
    let each = net.told.iter().map(|(time, by, _, ttl, message)| match message {
        super::super::Message::Dsr(message) => (time.since(at(0.001)).as_secs_f64(), by.0, *ttl, message),
        _ => panic!("another protocol's"),
    });
    each.collect()
}

fn requests(net: &Net, by: u32) -> Vec<(f64, u8)> {
    let is = |said: &(f64, u32, u8, &Message)| said.1 == by && matches!(said.3, Message::Request { .. });
    said(net).into_iter().filter(is).map(|(time, _, ttl, _)| (time, ttl)).collect()
}

fn count(net: &Net, what: impl Fn(&Message) -> bool) -> usize {
    said(net).iter().filter(|said| what(said.3)).count()
}

fn is_reply(message: &Message) -> bool {
    matches!(message, Message::Reply { .. })
}

fn is_error(message: &Message) -> bool {
    matches!(message, Message::Error { .. })
}

/// Whatever moves and whatever is lost: no path passes a station twice, no parcel is lost sight of, and much arrives.
#[test]
fn no_path_passes_a_station_twice() {
    for given in [&[][..], &[RFC], &[("tap", OFF), ("cache_replies", OFF)]] {
        let mut delivered = 0;
        for seed in 0..10 {
            println!("seed {seed}, {given:?}");
            delivered += storm("dsr", given, seed).delivered.len();
        }
        assert!(delivered > 2_000, "{delivered}");
    }
}

/// §3.1, five stations in a row, A to E: the request gathers A, A B, A B C, A B C D; the reply brings the whole path back by the
/// same stations, and the parcel passes them.
#[test]
fn a_request_gathers_the_path() {
    let mut net = Net::chain("dsr", &[RFC], 5);
    net.send(0, 4);
    net.run(at(1.0));
    assert_eq!(net.delivered.iter().map(|arrival| (arrival.1, arrival.2)).collect::<Vec<_>>(), [(0, 4)]);
    let said = said(&net);
    let gathered: Vec<_> = said
        .iter()
        .filter_map(|(time, by, _, message)| match message {
            Message::Request { path, .. } if *time > 0.029 => Some((*by, path.clone())),
            _ => None,
        })
        .collect();
    assert_eq!(gathered, [(0, ids(&[0])), (1, ids(&[0, 1])), (2, ids(&[0, 1, 2])), (3, ids(&[0, 1, 2, 3]))]);
    let replied: Vec<_> = said
        .iter()
        .filter_map(|(_, by, _, message)| match message {
            Message::Reply { path, .. } => Some((*by, path.clone())),
            _ => None,
        })
        .collect();
    assert_eq!(replied, [4, 3, 2, 1].map(|by| (by, ids(&[0, 1, 2, 3, 4]))));
    // all of them know the way to both ends now, and the destination answers without asking
    for n in 1..4 {
        assert_eq!((net.next_hop(n, 0), net.next_hop(n, 4)), (Some((n - 1, n as u8)), Some((n + 1, 4 - n as u8))));
    }
    let before = net.told.len();
    net.send(4, 0);
    net.run(at(2.0));
    assert_eq!((net.delivered.len(), net.told.len()), (2, before));
}

/// §3.3.3 (NonpropRequestTimeout 30 ms): neighbours first; a request that goes no further is enough for one of them.
#[test]
fn neighbours_are_asked_first() {
    let mut net = Net::chain("dsr", &[RFC], 3);
    net.send(0, 1);
    net.run(at(1.0));
    assert_eq!((net.delivered.len(), requests(&net, 0)), (1, vec![(0.0, 1)]));
    net.send(0, 2);
    net.run(at(2.0));
    assert_eq!(net.delivered.len(), 2);
    // far enough away, the second request goes to all
    let mut net = Net::chain("dsr", &[RFC], 4);
    net.send(0, 3);
    net.run(at(1.0));
    let asked = requests(&net, 0);
    assert_eq!(asked.iter().map(|asked| asked.1).collect::<Vec<_>>(), [1, 62]);
    assert!((asked[1].0 - 0.03).abs() < 1e-9);
}

/// §4.3: RequestPeriod 500 ms, doubled up to MaxRequestPeriod 10 s (ns-2: four times as long each), MaxRequestRexmt 16.
#[test]
fn requests_back_off() {
    for (given, waits) in
        [(&[RFC][..], [0.5, 1.0, 2.0, 4.0, 8.0, 10.0, 10.0]), (&[], [0.5, 2.0, 8.0, 10.0, 10.0, 10.0, 10.0])]
    {
        let patient = [given, &[("buffer_timeout", Value::Time(Duration::from_secs(1000)))]].concat();
        let mut net = Net::chain("dsr", &patient, 3);
        net.part(1, 2);
        net.send(0, 2);
        net.run(at(300.0));
        let asked = requests(&net, 0);
        assert_eq!(asked.len(), 17, "one to the neighbours, 16 to all");
        for (n, wait) in (1..).zip(waits) {
            assert!((asked[n + 1].0 - asked[n].0 - wait).abs() < 1e-6, "{n}: {asked:?}");
        }
        assert_eq!(net.dropped[&0], Why::NoRoute);
    }
}

/// §3.3.2: F asks for E, and C, which knows the way, answers; E hears nothing. Without, the request goes on.
#[test]
fn a_station_on_the_way_answers() {
    for cache_replies in [true, false] {
        let mut links: Vec<_> = (1..5).map(|n| (n - 1, n)).collect();
        links.push((2, 5));
        let given = [RFC, ("cache_replies", Value::Flag(cache_replies)), ("tap", OFF)];
        let mut net = Net::new("dsr", &given, 6, &links, 1);
        net.send(0, 4);
        net.run(at(1.0));
        let before = net.told.len();
        net.send(5, 4);
        net.run(at(2.0));
        let by: Vec<u32> = said(&net)[before..].iter().filter(|said| is_reply(said.3)).map(|said| said.1).collect();
        assert_eq!(by, if cache_replies { vec![2] } else { vec![4, 3, 2] });
        assert_eq!((net.delivered.len(), net.next_hop(5, 4)), (2, Some((2, 3))));
    }
}

/// §3.3.2: a path that would pass a station twice is not told: F beyond C knows E by C, and may not answer C.
#[test]
fn an_answer_does_not_lead_back() {
    let mut net = Net::chain("dsr", &[RFC, ("tap", OFF)], 4);
    net.send(3, 0);
    net.run(at(1.0));
    // 2 and 3 know 0 by 1; 1 asks, having lost its link: whatever they say would pass 1
    net.part(0, 1);
    net.send(1, 0);
    net.run(at(2.0));
    let replies: Vec<_> = said(&net).into_iter().filter(|said| said.0 > 1.0 && is_reply(said.3)).collect();
    assert!(replies.is_empty(), "{replies:?}");
    assert_eq!(net.next_hop(1, 0), None);
}

/// §3.1: the target answers every copy, and who asked takes the shortest path.
#[test]
fn the_target_answers_every_copy() {
    let links = [(0, 1), (1, 4), (0, 2), (2, 3), (3, 4)];
    let mut net = Net::new("dsr", &[RFC, ("cache_replies", OFF), ("tap", OFF)], 5, &links, 1);
    net.send(0, 4);
    net.run(at(1.0));
    assert_eq!(net.next_hop(0, 4), Some((1, 2)));
    assert_eq!(count(&net, is_reply), 2 + 3);
    // the other one is in the cache: when the first breaks, nobody is asked
    net.part(1, 4);
    let before = net.told.len();
    net.send(0, 4);
    net.send(0, 4);
    net.run(at(2.0));
    assert_eq!(net.next_hop(0, 4), Some((2, 3)));
    assert!(said(&net)[before..].iter().all(|said| is_error(said.3)));
}

/// §3.2: C cannot reach D; the error goes back by B to A, and each of them forgets the link. §3.4.4: A's next request tells it.
#[test]
fn a_broken_link_is_told_to_the_source() {
    let mut net = Net::chain("dsr", &[RFC], 5);
    net.send(0, 4);
    net.run(at(1.0));
    net.part(2, 3);
    net.send(0, 4);
    net.run(at(1.1));
    assert_eq!(net.dropped[&1], Why::Unreachable);
    let errors: Vec<_> = said(&net).into_iter().filter(|said| is_error(said.3)).map(|said| said.1).collect();
    assert_eq!(errors, [2, 1]);
    assert_eq!([0, 1, 2].map(|n| net.next_hop(n, 4)), [None; 3]);
    assert_eq!(net.next_hop(0, 2), Some((1, 2)), "as far as it goes");
    let lost: Vec<_> =
        net.news.iter().filter(|news| matches!(news.2, Action::RouteLost { .. })).map(|news| news.1.0).collect();
    assert_eq!(lost, [2, 0]);
    net.send(0, 4);
    net.run(at(1.2));
    let told =
        |message: &Message| matches!(message, Message::Request { broken: Some(link), .. } if *link == (id(2), id(3)));
    assert!(count(&net, told) >= 1);
}

/// §3.4.1: C knows another way to E and sends the parcel there, the source hears of the link all the same.
#[test]
fn a_parcel_is_salvaged() {
    for salvage in [15, 0] {
        let mut links: Vec<_> = (1..5).map(|n| (n - 1, n)).collect();
        links.extend([(2, 5), (5, 4)]);
        let given = [RFC, ("max_salvage_count", Value::Integer(salvage)), ("tap", OFF), ("cache_replies", OFF)];
        let mut net = Net::new("dsr", &given, 6, &links, 1);
        // 2 learns both ways, 2 3 4 and 2 5 4
        net.send(2, 4);
        net.run(at(1.0));
        net.send(0, 4);
        net.run(at(2.0));
        let middle = net.next_hop(2, 4).expect("a way").0;
        net.part(2, middle);
        net.send(0, 4);
        net.run(at(2.5));
        assert_eq!(net.delivered.len(), 2 + usize::from(salvage > 0), "{:?}", net.dropped);
        assert!(count(&net, is_error) >= 2);
    }
}

/// §3.4.3 automatic route shortening: D has come near B and hears it send to C what D is to get: A hears of the shorter path, once a
/// second (GratReplyHoldoff).
#[test]
fn a_path_is_shortened() {
    let mut net = Net::chain("dsr", &[RFC], 4);
    net.send(0, 3);
    net.run(at(1.0));
    assert_eq!(net.next_hop(0, 3), Some((1, 3)));
    net.join(1, 3);
    let before = count(&net, is_reply);
    net.send(0, 3);
    net.run(at(1.5));
    assert_eq!(net.next_hop(0, 3), Some((1, 2)));
    assert_eq!(count(&net, is_reply) - before, 2, "from 3 to 1, from 1 to 0");
    net.send(0, 3);
    net.run(at(1.6));
    assert_eq!(net.delivered.last().map(|arrival| arrival.2), Some(2));
}

/// §3.3.1: what is overheard is learnt.
#[test]
fn a_neighbour_learns_from_what_it_hears() {
    for tap in [true, false] {
        let mut links: Vec<_> = (1..4).map(|n| (n - 1, n)).collect();
        links.push((1, 4));
        let mut net = Net::new("dsr", &[RFC, ("tap", Value::Flag(tap))], 5, &links, 1);
        net.send(0, 3);
        net.run(at(1.0));
        assert_eq!(net.next_hop(4, 3), tap.then_some((1, 3)));
    }
}

/// §6.3, §6.7: an option's length octet tells of 63 addresses at most; who knows the second half of a longer path does not answer.
#[test]
fn no_path_is_longer_than_an_option_tells() {
    for max_hops in [62, 16] {
        let mut net = Net::chain("dsr", &[RFC, ("max_hops", Value::Integer(max_hops))], 100);
        let (half, end) = (max_hops as u32 / 2, max_hops as u32);
        net.send(half, end);
        net.run(at(1.0));
        net.send(0, end);
        net.run(at(2.0));
        assert_eq!(net.delivered.len(), 2, "just as long as it may be");
        net.send(half, end + 1);
        net.run(at(3.0));
        net.send(0, end + 1);
        net.run(at(40.0));
        assert_eq!((net.delivered.len(), net.dropped[&3]), (3, Why::Buffer));
        for (.., message) in said(&net) {
            let path = match message {
                Message::Request { path, .. } => path,
                Message::Reply { path, .. } => path,
                Message::Error { way, .. } => &way.stations,
            };
            assert!(path.len() as u64 <= max_hops + 1, "{message:?}");
            message.encode(&|station| station.0.to_be_bytes());
        }
    }
}

/// §6: a fixed header of 4, request 8 and 4 for each address, reply 3 and 4 for each, error 16; a source route 4 and 4 for each station
/// between its ends.
#[test]
fn messages_have_their_sizes() {
    let way = SourceRoute { stations: ids(&[3, 2, 1, 0]), at: 0, salvaged: 0 };
    assert_eq!(way.bytes(), 4 + 4 + 2 * 4);
    let request = Message::Request { id: 1, target: id(3), path: ids(&[0, 1, 2]), broken: None };
    assert_eq!(request.bytes(), 20 + 4 + 8 + 2 * 4);
    assert_eq!(Message::Reply { path: ids(&[0, 1, 2, 3]), way: way.clone() }.bytes(), 20 + 16 + 3 + 3 * 4);
    assert_eq!(Message::Error { link: (id(1), id(2)), way }.bytes(), 20 + 16 + 16);
}
