//! `[network.wifi]`: the right end of a dumbbell is an access point, and the hosts there are its stations.

use super::link::Surroundings;
use super::mesh::MAX_NODES;
use super::network::Node;
use super::quantity::{Integer, Or, POSITIVE_DISTANCE, POSITIVE_RATE, Probability};
use super::queue::QueueSpec;
use super::radio;
use super::reader::Table;
use crate::net::medium::config::{Medium, Motion, Place, Routing, Station};
use crate::net::medium::routing::direct;
use crate::net::queue::{Limit, Queue};
use cclab_algo::math;
use serde_json::Value as Json;
use std::f64::consts::TAU;

/// An access point and its stations, as written.
pub(super) struct Wifi {
    /// Names of the stations.
    pub(super) names: Vec<String>,
    /// The access point first; its node, and those of the stations, are known once there is a graph, and so are queues.
    medium: Medium,
    /// What the access point has, and each station that differs.
    queue: QueueSpec,
    queues: Vec<Option<QueueSpec>>,
}

/// From the access point to its stations, m, unless it is said: all the same, so that no frame captures another one there.
const DISTANCE: f64 = 5.0;
const STATIONS: Integer = Integer { min: 1, max: MAX_NODES as u64 };
/// A flow's station, unless it says which: the next one.
const EACH: &str = "each";

impl Wifi {
    /// Reads `wifi`; `None` where there is none.
    pub(super) fn read(t: &mut Table) -> Option<Wifi> {
        let mut w = t.table("wifi")?;
        let mac = radio::read_mac(&mut w, "802.11g");
        let queue = radio::read_queue(&mut w, &mac);
        let radio = radio::read_radio(&mut w);
        let (mut queues, mut distances) = (vec![None], Vec::new());
        let list = w.raw("stations").is_some_and(Json::is_array);
        let mut stations = vec![Station::new(0, Motion::Standing(Place::default()))];
        if list {
            let mut normal = Vec::new();
            for mut s in w.tables("stations").unwrap_or_default() {
                let rate = s.or("rate", &POSITIVE_RATE, mac.data_rate);
                radio::check_rate(&s, "rate", rate, &mac);
                distances.push(s.or("distance", &POSITIVE_DISTANCE, DISTANCE));
                let loss = s.or("loss", &Probability, 0.0);
                queues.push(s.raw("queue").is_some().then(|| queue.clone().overridden(&mut s, Some(rate))));
                stations.push(Station { rate: Some(rate), loss, ..stations[0].clone() });
                normal.push(s.finish());
            }
            if normal.is_empty() && w.sound(&["stations"]) {
                w.mistake("stations", "is empty; write at least one, e.g. [{ rate = \"54 Mbit/s\" }], or how many");
            }
            w.put("stations", normal.into());
        } else {
            let count = w.or("stations", &STATIONS, 1);
            stations.extend(vec![stations[0].clone(); count as usize]);
        }
        t.put("wifi", w.finish());
        let count = stations.len() - 1;
        distances.resize(count, DISTANCE);
        for (k, station) in stations.iter_mut().enumerate().skip(1) {
            let angle = TAU * (k - 1) as f64 / count as f64;
            let distance = distances[k - 1];
            let place = Place { x: distance * math::cos(angle), y: distance * math::sin(angle) };
            station.motion = Motion::Standing(place);
        }
        stations[0].rate = stations.iter().filter_map(|station| station.rate).max();
        let medium = Medium {
            name: "air".into(),
            stations,
            seed: None,
            connected: false,
            radio,
            mac,
            routing: Routing::new(&direct::ENTRY),
            queue: Queue::DropTail { limit: Limit::UNLIMITED },
            arp: false,
            ttl: 64,
            infrastructure: true,
        };
        queues.resize(count + 1, None);
        Some(Wifi { names: (0..count).map(|k| format!("w{k}")).collect(), medium, queue, queues })
    }

    /// Reads the station of a flow; `None` is the next one.
    pub(super) fn read_station(&self, t: &mut Table) -> Option<usize> {
        t.or("station", &Or(EACH, Node(&self.names)), None)
    }

    /// The medium, its access point at `node` and the stations behind those nodes that there are.
    pub(super) fn medium(&self, node: usize, nodes: &mut Vec<String>, around: &Surroundings) -> Medium {
        let rate = self.medium.mac.data_rate;
        let mut medium = Medium { queue: self.queue.build(Some(rate), around), ..self.medium.clone() };
        let first = nodes.len();
        nodes.extend(self.names.iter().cloned());
        for (k, station) in medium.stations.iter_mut().enumerate() {
            station.node = if k == 0 { node } else { first + k - 1 };
            station.queue =
                self.queues[k].as_ref().map(|queue| queue.build(Some(station.rate.unwrap_or(rate)), around));
        }
        medium
    }
}

#[cfg(test)]
mod tests {
    use super::super::Scenario;
    use cclab_algo::Rate;

    fn read(wifi: &str, flows: &str) -> Result<Scenario, super::super::ScenarioError> {
        let network = format!("{{ rate = \"100 Mbit/s\", rtt = \"20 ms\", wifi = {wifi} }}");
        Scenario::from_toml(&format!("duration = \"10 s\"\nnetwork = {network}\nflows = [{flows}]"))
    }

    /// Ten thousand stations hear each other: a hundred million pairs. With the samples of many flows that does not fit.
    #[test]
    fn pairs_of_stations_take_memory() {
        let of = |stations: u32| {
            let wifi = format!("{{ rate = \"100 Mbit/s\", rtt = \"20 ms\", wifi = {{ stations = {stations} }} }}");
            let flows = "[{ cc = \"reno\", count = 600 }]\nrecord.samples = \"1 ms\"";
            Scenario::from_toml(&format!("duration = \"10 s\"\nnetwork = {wifi}\nflows = {flows}"))
        };
        assert!(of(5000).is_ok());
        let error = of(10_000).expect_err("it does not fit").to_string();
        assert!(
            error.contains("network.wifi.stations: 10001 stations, each in range of some 10000, 2.4 GB of the "),
            "{error}"
        );
    }

    /// Down: host, access link, bottleneck, air; up: air, bottleneck back, access link. The base RTT is that of the wires.
    #[test]
    fn a_path_ends_in_the_air() {
        let wifi =
            "{ profile = \"802.11b\", stations = [{ rate = \"11 Mbit/s\" }, { rate = \"1 Mbit/s\", loss = \"5%\" }] }";
        let flows = "{ cc = \"reno\", count = 3 }, { cc = \"reno\", station = \"w1\", direction = \"reverse\" }";
        let s = read(wifi, flows).unwrap_or_else(|e| panic!("{e}"));
        let names = |route: &[usize]| -> Vec<String> {
            let name = |hop: &usize| match s.links.get(*hop) {
                Some(link) => link.name.clone(),
                None => {
                    let crossing = s.crossings[hop - s.links.len()];
                    let node = |k: u32| s.nodes[s.media[0].stations[k as usize].node].clone();
                    format!("{}~{}", node(crossing.from.0), node(crossing.to.0))
                }
            };
            route.iter().map(name).collect()
        };
        assert_eq!(names(&s.flows[1].route), ["s2->left", "bottleneck", "right~w1"]);
        assert_eq!(names(&s.flows[1].route_back), ["w1~right", "bottleneck-reverse", "left->s2"]);
        assert_eq!(names(&s.flows[2].route)[2], "right~w0");
        assert_eq!(names(&s.flows[3].route), ["w1~right", "bottleneck-reverse", "left->s4"]);
        assert_eq!(names(&s.flows[3].route_back), ["s4->left", "bottleneck", "right~w1"]);
        let wires =
            |route: &[usize]| route.iter().filter_map(|hop| s.links.get(*hop)).map(|link| link.delay.0).sum::<u64>();
        assert!(s.flows.iter().all(|flow| wires(&flow.route) + wires(&flow.route_back) == 20_000_000));
        let rates: Vec<Option<Rate>> = s.media[0].stations.iter().map(|station| station.rate).collect();
        assert_eq!(rates, [11, 11, 1].map(|rate| Some(Rate(rate * 1_000_000))));
        assert_eq!(s.media[0].stations[2].loss, 0.05);
        assert_eq!(Scenario::from_json(&s.source).expect("its own normal form").source, s.source);
    }

    #[test]
    fn mistakes() {
        let reno = "{ cc = \"reno\" }";
        let cases = [
            ("{ stations = 0 }", reno, "network.wifi.stations: 0 is not a whole number from 1 to 10000"),
            (
                "{ stations = [] }",
                reno,
                "network.wifi.stations: is empty; write at least one, e.g. [{ rate = \"54 Mbit/s\" }], or how many",
            ),
            (
                "{ stations = [{ rate = \"7 Mbit/s\" }] }",
                reno,
                "network.wifi.stations[0].rate: \"7 Mbit/s\" is no rate of \"802.11g\"; allowed: 1, 2, 5.5, 11, 6, 9, 12, 18, 24, 36, 48, 54 Mbit/s",
            ),
            (
                "{}",
                "{ cc = \"reno\", station = \"w7\" }",
                "flows[0].station: unknown node \"w7\" (did you mean \"w0\"?); allowed: w0, or \"each\"",
            ),
        ];
        for (wifi, flows, expected) in cases {
            assert_eq!(read(wifi, flows).expect_err(wifi).to_string(), expected);
        }
    }
}
