//! `[network.wireless]`: stations that share the air, in a row, a cross, a grid, anywhere, or where it is said.
//!
//! What all stations have is read in `radio.rs`, how they move in `motion.rs`.

use super::flow::FlowSpec;
use super::link::Surroundings;
use super::mesh::{HOPS, MAX_NODES, Names, PATHS, arm, cross_names, numbered, read_even};
use super::motion;
use super::network::{DIRECTIONS, Ends, Graph, Node, Path, Topology};
use super::quantity::{COORDINATE, Flag, Integer, Or, POSITIVE_DISTANCE, Reals};
use super::queue::QueueSpec;
use super::radio;
use super::reader::{Kind, Table, show};
use crate::net::medium::StationId;
use crate::net::medium::config::{Area, Crossing, Medium, Motion, Place, Station};
use crate::net::medium::routing::{aodv, static_routes};
use crate::net::queue::{Limit, Queue};
use cclab_algo::Duration;
use cclab_algo::rng::Stream;
use serde_json::{Value as Json, json};

/// Stations and the air between them, as written.
pub(super) struct Wireless {
    shape: Shape,
    nodes: Vec<String>,
    medium: Medium,
    /// At each station.
    queue: QueueSpec,
}

/// What decides how a flow says where it is.
#[derive(Clone, Copy, PartialEq)]
enum Shape {
    /// From end to end unless it says otherwise.
    Chain,
    /// Horizontal or vertical, through this many hops.
    Cross { hops: usize },
    /// It says.
    Free,
    /// It says, or chance does.
    Random,
}

/// Stations and where they are.
pub(super) struct Ground {
    shape: Shape,
    /// Their names; none where only their movements say how many there are.
    pub(super) nodes: Vec<String>,
    /// Their places, where they have some of their own.
    pub(super) places: Vec<Place>,
    /// Or where they may be.
    pub(super) area: Option<Area>,
    connected: bool,
}

const SIDE: Integer = Integer { min: 1, max: 100 };
const NODES: Integer = Integer { min: 2, max: MAX_NODES as u64 };
const SEED: Or<Integer> = Or("run", Integer { min: 0, max: u64::MAX });
/// What links have and stations have not.
const WIRED: [&str; 12] = [
    "rate",
    "rtt",
    "delay",
    "access",
    "queue",
    "overhead",
    "duplicate",
    "loss",
    "jitter",
    "reorder",
    "schedule",
    "reverse",
];
/// Spacing in a row, m: the reach of ns-2's radio.
const SPACING: f64 = 250.0;
/// Where stations that all ask for a way at the same instant drown each other's requests.
pub(super) const SPREAD: Duration = Duration::from_millis(100);
/// The word for a station that is drawn.
const RANDOM: &str = "random";

impl Wireless {
    /// Reads `[network]` whose stations share the air; `None` after a mistake that leaves its shape open.
    pub(super) fn read(t: &mut Table, topology: Topology) -> Option<Wireless> {
        let example =
            "this topology is one of stations that share the air; write e.g. wireless = { profile = \"ns2-2M\" }";
        t.require("wireless", example);
        let why =
            format!("does not apply: stations share the air, and what they have stands in {}", t.field("wireless"));
        WIRED.into_iter().for_each(|name| t.refuse(name, why.as_str()));
        t.refuse("tunnel", "a tunnel over the air is not simulated; it is one of a link");
        let mut w = t.table_or_empty("wireless");
        let mut ground = Ground::read(t, &mut w, topology);
        let (mac, queue, radio) = radio::read(&mut w);
        if queue.needs_rtt() && w.sound(&["queue"]) {
            w.mistake(
                "queue",
                "counts in BDP, but flows between stations have no base RTT; write packets, bytes or a time",
            );
        }
        let motions = motion::read(&mut w, ground.as_mut());
        let moves = motions.as_ref().is_some_and(|all| all.iter().any(Motion::moves));
        let routing = radio::read_routing(&mut w, if moves { &aodv::ENTRY } else { &static_routes::ENTRY });
        let arp = w.or("arp", &Flag, true);
        let ttl = w.or("ttl", &Integer { min: 1, max: 255 }, 64) as u8;
        let seed = w.or("seed", &SEED, None);
        t.put("wireless", w.finish());
        let Ground { shape, nodes, connected, .. } = ground?;
        if topology == Topology::Custom {
            t.put("nodes", Names.write(&nodes));
        }
        let station = |(node, motion)| Station::new(node, motion);
        let stations = motions?.into_iter().enumerate().map(station).collect();
        let medium = Medium {
            name: "air".into(),
            stations,
            seed,
            connected,
            radio,
            mac,
            queue: Queue::DropTail { limit: Limit::UNLIMITED }, // what it is follows when there is a graph
            routing: routing?,
            arp,
            ttl,
            infrastructure: false,
        };
        Some(Wireless { shape, nodes, medium, queue })
    }

    /// Reads the stations of a flow. Propagation takes microseconds: its base RTT is none.
    pub(super) fn read_ends(&self, t: &mut Table) -> Option<(Ends, Duration)> {
        if t.raw("rtt").is_some() {
            t.mistake("rtt", "does not apply: between stations it follows from what they send");
        }
        let last = self.nodes.len() - 1;
        let node = Node(&self.nodes);
        let (from, to) = match self.shape {
            Shape::Chain => (Some(t.or("from", &node, 0)), Some(t.or("to", &node, last))),
            Shape::Cross { hops } => {
                let arm = arm(t.or("path", &PATHS, false), hops);
                match t.or("direction", &DIRECTIONS, false) {
                    false => (Some(arm[0]), Some(arm[hops])),
                    true => (Some(arm[hops]), Some(arm[0])),
                }
            }
            Shape::Free => {
                let example = format!("\"{}\"", self.nodes[0]);
                (Some(t.required("from", &node, &example)?), Some(t.required("to", &node, &example)?))
            }
            Shape::Random => (t.or("from", &Or(RANDOM, node), None), t.or("to", &Or(RANDOM, Node(&self.nodes)), None)),
        };
        if from.is_some() && from == to && t.sound(&["from", "to"]) {
            t.mistake("to", format!("is the same node as {}", t.field("from")));
            return None;
        }
        Some((Ends::Stations(from, to), Duration::ZERO))
    }

    /// The graph: no links, one medium, and a way through it for each flow. Ends that are left to chance are drawn from the
    /// scenario's own seed.
    pub(super) fn build(&self, flows: &[&FlowSpec], around: &Surroundings) -> Graph {
        let queue = self.queue.build(Some(self.medium.mac.data_rate), around);
        let medium = Medium { queue, ..self.medium.clone() };
        let mut graph = Graph { nodes: self.nodes.clone(), media: vec![medium], ..Graph::default() };
        for (number, f) in flows.iter().enumerate() {
            if let Ends::Stations(from, to) = f.ends {
                let mut rng = Stream::new(around.seed, &format!("ends/{number}"));
                let (from, to) = drawn(from, to, self.nodes.len(), &mut rng);
                let [route, route_back] = [(from, to), (to, from)].map(|(from, to)| vec![graph.crossing(0, from, to)]);
                graph.paths.push(Path { from, to, route, route_back });
            }
        }
        graph
    }
}

/// Two different stations of so many, those that are not given drawn evenly.
fn drawn(from: Option<usize>, to: Option<usize>, count: usize, rng: &mut Stream) -> (usize, usize) {
    let any = |rng: &mut Stream| rng.below(count as u64) as usize;
    let other = |than: usize, rng: &mut Stream| (than + 1 + rng.below(count as u64 - 1) as usize) % count;
    match (from, to) {
        (Some(from), Some(to)) => (from, to),
        (Some(from), None) => (from, other(from, rng)),
        (None, Some(to)) => (other(to, rng), to),
        (None, None) => {
            let from = any(rng);
            (from, other(from, rng))
        }
    }
}

impl Graph {
    /// Adds a way through a medium; its number, which follows those of the links.
    pub(super) fn crossing(&mut self, medium: usize, from: usize, to: usize) -> usize {
        let [from, to] = [from, to].map(|station| StationId(station as u32));
        self.crossings.push(Crossing { medium, from, to });
        self.links.len() + self.crossings.len() - 1
    }
}

impl Ground {
    /// Reads the shape of a topology, and `spacing` of its stations.
    fn read(t: &mut Table, w: &mut Table, topology: Topology) -> Option<Ground> {
        let rows = matches!(topology, Topology::Chain | Topology::Cross | Topology::Grid);
        let spacing = if rows { w.or("spacing", &POSITIVE_DISTANCE, SPACING) } else { 0.0 };
        let at = |x: usize, y: usize| Place { x: x as f64 * spacing, y: y as f64 * spacing };
        let ground = |shape, nodes, places| Ground { shape, nodes, places, area: None, connected: false };
        match topology {
            Topology::Chain => {
                let hops = t.required("hops", &HOPS, "4")? as usize;
                let places = (0..=hops).map(|k| at(k, 0)).collect();
                Some(ground(Shape::Chain, numbered(hops + 1), places))
            }
            Topology::Cross => {
                let hops = read_even(t)? as usize;
                let mut places = vec![Place::default(); 2 * hops + 1];
                for k in 0..=hops {
                    places[arm(false, hops)[k]] = at(k, hops / 2);
                    places[arm(true, hops)[k]] = at(hops / 2, hops - k);
                }
                Some(ground(Shape::Cross { hops }, cross_names(hops), places))
            }
            Topology::Grid => {
                let (rows, columns) = (t.required("rows", &SIDE, "5"), t.required("columns", &SIDE, "5"));
                let (rows, columns) = (rows? as usize, columns? as usize);
                if rows * columns < 2 {
                    t.mistake("columns", "one row of one column is one station; there are at least two");
                    return None;
                }
                let cells = || (0..rows).flat_map(|r| (0..columns).map(move |c| (r, c)));
                let names = cells().map(|(r, c)| format!("r{r}c{c}")).collect();
                Some(ground(Shape::Free, names, cells().map(|(r, c)| at(c, r)).collect()))
            }
            Topology::Random => {
                let count = t.required("nodes", &NODES, "30");
                let sides = t.required("area", &Pair(POSITIVE_DISTANCE), "[\"1000 m\", \"1000 m\"]");
                let connected = t.or("connected", &Flag, false);
                let area = sides.map(|(x, y)| Area { x, y });
                Some(Ground {
                    area: Some(area?),
                    connected,
                    ..ground(Shape::Random, numbered(count? as usize), vec![])
                })
            }
            _ => {
                let nodes = t.optional("nodes", &Names);
                let places = t.optional("places", &Places).unwrap_or_default();
                let names = nodes.unwrap_or_else(|| numbered(places.len()));
                if names.len() != places.len() && !places.is_empty() && t.sound(&["nodes", "places"]) {
                    t.mistake("places", format!("{} places for {} nodes", places.len(), names.len()));
                }
                t.sound(&["nodes", "places"]).then(|| ground(Shape::Free, names, places))
            }
        }
    }
}

/// Two quantities.
pub(super) struct Pair(pub(super) Reals);
impl Kind for Pair {
    type Value = (f64, f64);
    fn read(&self, json: &Json) -> Result<(f64, f64), String> {
        match json.as_array().map(Vec::as_slice) {
            Some([x, y]) => Ok((self.0.read(x)?, self.0.read(y)?)),
            _ => Err(format!("{} is not a list of two, e.g. {}", show(json), json!([self.0.example, self.0.example]))),
        }
    }
    fn write(&self, (x, y): &(f64, f64)) -> Json {
        json!([self.0.write(x), self.0.write(y)])
    }
}

/// A place: x and y; they may be negative.
pub(super) struct At;
impl Kind for At {
    type Value = Place;
    fn read(&self, json: &Json) -> Result<Place, String> {
        Pair(COORDINATE).read(json).map(|(x, y)| Place { x, y })
    }
    fn write(&self, place: &Place) -> Json {
        Pair(COORDINATE).write(&(place.x, place.y))
    }
}

/// Places of stations.
struct Places;
impl Kind for Places {
    type Value = Vec<Place>;
    fn read(&self, json: &Json) -> Result<Vec<Place>, String> {
        let list = json.as_array().filter(|l| (2..=MAX_NODES).contains(&l.len()));
        let wrong = || format!("{} is not a list of 2 to {MAX_NODES} places, [x, y]", show(json));
        list.ok_or_else(wrong)?.iter().map(|place| At.read(place)).collect()
    }
    fn write(&self, value: &Vec<Place>) -> Json {
        value.iter().map(|place| At.write(place)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Scenario, ScenarioError};
    use crate::net::medium::config::{Motion, Place};

    fn read(network: &str, flows: &str) -> Result<Scenario, ScenarioError> {
        Scenario::from_toml(&format!("duration = \"10 s\"\nnetwork = {network}\nflows = [{flows}]"))
    }

    fn good(network: &str, flows: &str) -> Scenario {
        read(network, flows).unwrap_or_else(|e| panic!("{network}: {e}"))
    }

    /// Where stations stand, m.
    fn places(scenario: &Scenario) -> Vec<(f64, f64)> {
        let place = |motion: &Motion| match motion {
            Motion::Standing(Place { x, y }) => (*x, *y),
            other => panic!("{other:?} stands nowhere"),
        };
        scenario.media[0].stations.iter().map(|station| place(&station.motion)).collect()
    }

    const RENO: &str = "{ cc = \"reno\" }";

    #[test]
    fn shapes() {
        let chain = good("{ topology = \"chain\", hops = 3, wireless = { spacing = \"200 m\" } }", RENO);
        assert_eq!(places(&chain), [(0.0, 0.0), (200.0, 0.0), (400.0, 0.0), (600.0, 0.0)]);
        assert_eq!((chain.nodes[0].as_str(), chain.links.len(), chain.media.len()), ("n0", 0, 1));
        let flow = &chain.flows[0];
        let ends = |route: &[usize]| {
            let crossing = chain.crossings[route[0] - chain.links.len()];
            (route.len(), crossing.medium, crossing.from.0, crossing.to.0)
        };
        assert_eq!((ends(&flow.route), ends(&flow.route_back)), ((1, 0, 0, 3), (1, 0, 3, 0)));

        let vertical = "{ cc = \"reno\", path = \"vertical\", direction = \"reverse\" }";
        let cross = good("{ topology = \"cross\", hops = 2, wireless = {} }", vertical);
        assert_eq!(cross.nodes, ["h0", "middle", "h2", "v0", "v2"]);
        assert_eq!(places(&cross), [(0.0, 250.0), (250.0, 250.0), (500.0, 250.0), (250.0, 500.0), (250.0, 0.0)]);
        assert_eq!((cross.flows[0].from, cross.flows[0].to), (4, 3));

        let corner = "{ cc = \"reno\", from = \"r0c0\", to = \"r1c2\" }";
        let grid = good("{ topology = \"grid\", rows = 2, columns = 3, wireless = { spacing = \"100 m\" } }", corner);
        assert_eq!((places(&grid)[5], grid.nodes[5].as_str()), ((200.0, 100.0), "r1c2"));

        let there = "{ cc = \"reno\", from = \"a\", to = 1 }";
        let custom = good(
            "{ topology = \"custom\", nodes = [\"a\", \"b\"], places = [[\"0 m\", \"-5 m\"], [\"0.1 km\", \"0 m\"]], wireless = {} }",
            there,
        );
        assert_eq!(places(&custom), [(0.0, -5.0), (100.0, 0.0)]);
    }

    /// Ends left to chance are two different stations, the same for every seed of a run, others for another flow.
    #[test]
    fn random_ends() {
        let network = "{ topology = \"random\", nodes = 20, area = [\"1 km\", \"1 km\"], wireless = {} }";
        let ends = |flow: &str| {
            let scenario = good(network, flow);
            scenario.flows.iter().map(|f| (f.from, f.to)).collect::<Vec<_>>()
        };
        let drawn = ends("{ cc = \"reno\", count = 50 }");
        assert!(drawn.iter().all(|(from, to)| from != to));
        let distinct: std::collections::BTreeSet<_> = drawn.iter().collect();
        assert!(distinct.len() > 40, "{}", distinct.len());
        assert_eq!(drawn, ends("{ cc = \"reno\", count = 50 }"));
        assert!(ends("{ cc = \"reno\", from = \"n3\", count = 50 }").iter().all(|(from, to)| *from == 3 && *to != 3));
    }

    /// `range` sets the power, `sense_range` the threshold of carrier sense: there, and not a hair further.
    #[test]
    fn ranges() {
        let radio = |fields: &str| {
            let network = format!("{{ topology = \"chain\", hops = 2, wireless = {{ {fields} }} }}");
            good(&network, RENO).media[0].radio
        };
        let found = radio("range = \"100 m\", sense_range = \"150 m\"");
        assert!(found.power_at(100.0) >= found.receive && found.power_at(100.001) < found.receive);
        assert!(found.power_at(150.0) >= found.sense && found.power_at(150.001) < found.sense);
        // What ns-2 gives for 100 m (wireless-phy's comments): 7.214 mW.
        assert!((radio("range = \"100 m\"").power / 7.214e-3 - 1.0).abs() < 1e-3);
        assert_eq!(radio("power = \"20 dBm\"").power, 0.1);
        assert_eq!(radio("capture = \"off\"").capture, f64::INFINITY);
    }

    /// Ways known once and for all are the default only where they stay right; who asks for them gets them.
    #[test]
    fn who_moves_looks_for_ways() {
        let routing = |fields: &str| {
            let network = format!(
                "{{ topology = \"random\", nodes = 9, area = [\"300 m\", \"300 m\"], wireless = {{ {fields} }} }}"
            );
            good(&network, RENO).media[0].routing.entry.name
        };
        assert_eq!(routing(""), "static");
        assert_eq!(routing("mobility = \"static\""), "static");
        assert_eq!(routing("mobility = { model = \"waypoint\", speed = [\"1 m/s\", \"2 m/s\"] }"), "aodv");
        assert_eq!(routing("mobility = \"gauss-markov\""), "aodv");
        assert_eq!(routing("mobility = \"gauss-markov\", routing = \"static\""), "static");
        let moves = |moves: &str| {
            let mobility = format!("{{ model = \"moves\", moves = [{moves}] }}");
            let network = format!("{{ topology = \"chain\", hops = 2, wireless = {{ mobility = {mobility} }} }}");
            good(&network, RENO).media[0].routing.entry.name
        };
        let away = "{ node = \"n1\", at = \"3 s\", to = [\"0 m\", \"9 m\"], speed = \"2 m/s\" }";
        assert_eq!(moves(away), "aodv");
    }

    /// The normal form reads as the same scenario.
    #[test]
    fn the_normal_form_is_whole() {
        let networks = [
            "{ topology = \"chain\", hops = 4, wireless = { profile = \"802.11b\", range = \"100 m\", sense_range = \"200 m\", propagation = \"shadowing\", rts_threshold = \"500 B\" } }",
            "{ topology = \"random\", nodes = 9, area = [\"300 m\", \"1.5 km\"], wireless = { seed = 3, mobility = { model = \"waypoint\", speed = [\"1 m/s\", \"72 km/h\"] } } }",
            "{ topology = \"random\", nodes = 9, connected = true, area = [\"300 m\", \"1.5 km\"], wireless = { mobility = \"gauss-markov\", capture = \"off\" } }",
            "{ topology = \"chain\", hops = 2, wireless = { mobility = { model = \"moves\", moves = [{ node = \"n1\", at = \"3 s\", to = [\"0 m\", \"9 m\"], speed = \"2 m/s\" }] } } }",
        ];
        for network in networks {
            let scenario = good(network, RENO);
            let again = Scenario::from_json(&scenario.source).unwrap_or_else(|e| panic!("{network}: {e}"));
            assert_eq!(again.source, scenario.source);
            assert_eq!(again.resolved(), scenario.resolved());
        }
    }

    /// The fields that a table allows, as an unknown one is told.
    fn allowed(network: &str, table: &str) -> Vec<String> {
        let error = read(network, RENO).expect_err(network).to_string();
        let start = format!("{table}.junk: unknown field; allowed: ");
        let line = error.lines().find_map(|line| line.strip_prefix(&start)).unwrap_or_else(|| panic!("{error}"));
        line.split(", ").map(Into::into).collect()
    }

    /// What is read is what `list`, `describe` and the reference say.
    #[test]
    fn every_field_is_listed_and_described() {
        let registry = super::super::registry_json();
        let listed = |kind: &str, name: &str| -> Vec<String> {
            let entry = registry[kind].as_array().and_then(|list| list.iter().find(|e| e["name"] == name)).expect(name);
            let params = entry["params"].as_array().expect("a list").iter();
            params.map(|p| p["name"].as_str().expect("a name").into()).collect()
        };
        let area = "nodes = 3, area = [\"1 m\", \"1 m\"]";
        let moving = |model: &str, area: &str| {
            format!("{area}, wireless = {{ mobility = {{ model = \"{model}\", junk = 1 }} }} }}")
        };
        let random = |model: &str| moving(model, &format!("{{ topology = \"random\", {area}"));
        let chain = |model: &str| moving(model, "{ topology = \"chain\", hops = 1");
        let cases = [
            ("{ topology = \"grid\", junk = 1, wireless = {} }".to_string(), "network", "topologies", "grid"),
            ("{ topology = \"random\", junk = 1, wireless = {} }".to_string(), "network", "topologies", "random"),
            (random("waypoint"), "network.wireless.mobility", "mobility", "waypoint"),
            (random("gauss-markov"), "network.wireless.mobility", "mobility", "gauss-markov"),
            (chain("trace"), "network.wireless.mobility", "mobility", "trace"),
            (chain("moves"), "network.wireless.mobility", "mobility", "moves"),
            (
                "{ topology = \"chain\", hops = 1, wireless = { junk = 1 } }".to_string(),
                "network.wireless",
                "profiles",
                "ns2-2M",
            ),
        ];
        let page = include_str!("../../../../docs/reference/scenario.md");
        for (network, table, kind, name) in cases {
            let mut found = allowed(&network, table);
            found.retain(|field| field != "topology" && field != "model");
            for field in &found {
                assert!(page.contains(&format!("`{field}`")), "{name}: {field} is not described");
            }
            let listed = listed(kind, name);
            let missing: Vec<&String> = listed.iter().filter(|field| !found.contains(field)).collect();
            assert!(missing.is_empty(), "{name}: {missing:?} of {found:?}");
            assert!(kind == "profiles" || found.len() == listed.len(), "{name}: {listed:?}, {found:?}");
        }
    }

    /// Movements of a file say how many stations there are, unless the scenario does.
    #[test]
    fn a_trace_places_its_stations() {
        let text = "$node_(0) set X_ 1.0\\n$node_(1) set X_ 2.0\\n$ns_ at 3.0 \\\"$node_(1) setdest 5.0 0.0 1.0\\\"";
        let trace = format!("mobility = {{ model = \"trace\", text = \"{text}\" }}");
        let flow = "{ cc = \"reno\", from = \"n0\", to = \"n1\" }";
        let scenario = good(&format!("{{ topology = \"custom\", wireless = {{ {trace} }} }}"), flow);
        assert_eq!(scenario.nodes, ["n0", "n1"]);
        assert!(matches!(&scenario.media[0].stations[1].motion, Motion::Along(track) if track.legs.len() == 2));
        assert_eq!(Scenario::from_json(&scenario.source).expect("its own normal form").source, scenario.source);
        let error = read(
            "{ topology = \"custom\", places = [[\"0 m\", \"0 m\"], [\"1 m\", \"0 m\"]], wireless = { mobility = { model = \"trace\", text = \"$node_(7) set X_ 1\" } } }",
            flow,
        );
        assert_eq!(
            error.expect_err("a station too many").to_string(),
            "network.wireless.mobility: moves node 7, but there are 2 nodes, counted from 0"
        );
    }

    /// Every sentence: field, value, what is allowed.
    #[test]
    fn mistakes() {
        let chain = |fields: &str| format!("{{ topology = \"chain\", hops = 4, {fields} }}");
        let wireless = |fields: &str| chain(&format!("wireless = {{ {fields} }}"));
        let cases = [
            (chain("rate = \"2 Mbit/s\", wireless = {}"), "network.rate: does not apply: stations share the air, and what they have stands in network.wireless"),
            (wireless("profile = \"ns2\""), "network.wireless.profile: unknown \"ns2\"; allowed: ns2-2M, ns2-2M-basic2, ns2-default-1M, standard, 802.11b, 802.11b-short, 802.11a, 802.11g, 802.11g-mixed, 802.11n, 802.11n-2.4"),
            (wireless("data_rate = \"3 Mbit/s\""), "network.wireless.data_rate: \"3 Mbit/s\" is no rate of \"ns2-2M\"; allowed: 1, 2, 5.5, 11 Mbit/s"),
            (wireless("spacing = 250"), "network.wireless.spacing: 250 has no unit; write e.g. \"250 m\""),
            (wireless("range = \"100 m\", power = \"1 W\""), "network.wireless.range: network.wireless.power is given too; write one of them"),
            (wireless("propagation = \"friis\", sense_threshold = \"1e-24 W\""), "network.wireless.sense_threshold: \"1e-24 W\" is sensed up to 1e7 km away, under shadowing by one frame in a billion; allowed: 1e6 km; write more, less power, or a smaller deviation"),
            (wireless("propagation = { law = \"shadowing\", deviation = 40 }, receive_threshold = \"1e-9 W\", sense_threshold = \"1e-9 W\""), "network.wireless.sense_threshold: \"1e-9 W\" is sensed up to 4e11 km away, under shadowing by one frame in a billion; allowed: 1e6 km; write more, less power, or a smaller deviation"),
            (wireless("sense_range = \"100 m\""), "network.wireless.sense_range: what is decoded is sensed too: signals are to be sensed at least as far as they are decoded"),
            (wireless("rts_threshold = 0"), "network.wireless.rts_threshold: 0 has no unit; write e.g. \"1500 B\", or \"always\" or \"never\""),
            (wireless("queue = { limit = \"2 BDP\" }"), "network.wireless.queue: counts in BDP, but flows between stations have no base RTT; write packets, bytes or a time"),
            (wireless("routing = \"ospf\""), "network.wireless.routing: unknown \"ospf\""),
            (wireless("mobility = { model = \"waypoint\" }"), "network.wireless.mobility.model: \"waypoint\" needs an area: it is for the topology \"random\""),
            (wireless("mobility = { model = \"trace\", file = \"m.tcl\" }"), "network.wireless.mobility.file: \"m.tcl\" was not read: a scenario that is no file of its own has no folder; give what it says as text"),
            (wireless("mobility = { model = \"trace\", text = \"$node_(0) set X_ far\" }"), "network.wireless.mobility.text: line 1, \"$node_(0) set X_ far\": \"far\" is not a number"),
            ("{ topology = \"grid\", rows = 2, columns = 2 }".into(), "network.wireless: missing; this topology is one of stations that share the air; write e.g. wireless = { profile = \"ns2-2M\" }"),
            ("{ topology = \"random\", nodes = 5, area = [\"1 m\"], wireless = {} }".into(), "network.area: [\"1 m\"] is not a list of two, e.g. [\"250 m\",\"250 m\"]"),
            ("{ topology = \"random\", nodes = 5, area = [\"9 m\", \"9 m\"], wireless = { mobility = { model = \"waypoint\", speed = [\"5 m/s\", \"1 m/s\"] } } }".into(), "network.wireless.mobility.speed: [\"5 m/s\",\"1 m/s\"] is not in rising order"),
            ("{ topology = \"dumbbell\", rate = \"1 Mbit/s\", rtt = \"9 ms\", wireless = {} }".into(), "network.wireless: does not apply to this topology; stations that share the air form one of chain, cross, grid, random, custom"),
        ];
        for (network, expected) in cases {
            let error = read(&network, RENO).expect_err(&network).to_string();
            assert!(
                error.lines().next().is_some_and(|line| line.starts_with(expected)),
                "{network}\n{error}\n{expected}"
            );
            assert!(error.lines().count() == 1 || network.contains("grid"), "{network}\n{error}");
        }
    }
}
