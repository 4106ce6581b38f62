//! `[[flows]]`: who sends what, from when on, with which options.

use super::application;
use super::network::{Ends, Graph, Network, Path};
use super::quantity::{Amount, Integer, Name, Or, POSITIVE_RATE, POSITIVE_TIME, TIME, Words};
use super::reader::{Kind, Mistakes, Table};
use super::session::{self, Member, SessionSpec};
use super::tcp::{PACKET_SIZE, TcpSpec};
use super::{Flow, Traffic};
use crate::app::workload::Variate;
use crate::net::queue::bdp_bytes;
use cclab_algo::{Duration, Rate, Time};

/// One entry of `[[flows]]`.
#[derive(Clone, Debug)]
pub(super) struct FlowSpec {
    /// The entry: `flows[1]`.
    pub(super) path: String,
    pub(super) label: Option<String>,
    /// What the labels of unnamed flows begin with.
    pub(super) family: &'static str,
    pub(super) count: u64,
    pub(super) ends: Ends,
    /// Base RTT: propagation only.
    pub(super) rtt: Duration,
    start: Duration,
    start_jitter: Duration,
    stop: Option<Duration>,
    send_jitter: Duration,
    traffic: TrafficSpec,
    /// Which subflow it is of a connection over several paths.
    pub(super) member: Option<Box<Member>>,
}

#[derive(Clone, Debug)]
enum TrafficSpec {
    Tcp(Box<TcpSpec>),
    Cbr { rate: Rate, packet_size: u64 },
    OnOff { rate: Rate, packet_size: u64, on: Variate, off: Variate },
}

#[derive(Clone, Copy, PartialEq)]
enum TrafficKind {
    Tcp,
    Cbr,
    OnOff,
}
const KINDS: Words<TrafficKind> =
    Words(&[("tcp", TrafficKind::Tcp), ("cbr", TrafficKind::Cbr), ("onoff", TrafficKind::OnOff)]);
/// Replicas of one entry, and flows of a scenario.
pub(super) const MAX_FLOWS: u64 = 100_000;
const COUNT: Integer = Integer { min: 1, max: MAX_FLOWS };
const STOP: Or<super::quantity::Times> = Or("never", POSITIVE_TIME);

impl FlowSpec {
    /// Reads one entry, one flow or several that are the subflows of one; `None` after a mistake in something that has no default.
    pub(super) fn read(t: &mut Table, network: Option<&Network>, duration: Option<Duration>) -> Option<Vec<FlowSpec>> {
        let kind = t.or("kind", &KINDS, TrafficKind::Tcp);
        let label = t.optional("label", &Name);
        let count = t.or("count", &COUNT, 1);
        let paths = if kind == TrafficKind::Tcp { session::read_paths(t, network) } else { None };
        let place = match (&paths, network) {
            (Some(paths), _) => paths.first().and_then(|path| path.place.clone()),
            (None, Some(network)) => network.read_ends(t),
            (None, None) => Network::skip_ends(t),
        };
        let rtt = place.as_ref().map(|(_, rtt)| *rtt);
        let start = t.or("start", &TIME, Duration::ZERO);
        // Replicas that start at the same instant stay in step for long: spread them over one round trip.
        let apart = network.map_or(Duration::ZERO, |network| network.spread(rtt.unwrap_or_default()));
        let spread = if count > 1 { apart } else { Duration::ZERO };
        let start_jitter = t.or("start_jitter", &TIME, spread);
        let stop = t.or("stop", &STOP, None);
        let send_jitter = t.or("send_jitter", &TIME, Duration::ZERO);
        let mut common = None;
        let traffic = match kind {
            TrafficKind::Tcp if paths.is_some() => TcpSpec::read_multipath(t).map(|(tcp, coupled)| {
                common = Some(SessionSpec::read(t, tcp.size, tcp.config.receive_buffer, coupled));
                TrafficSpec::Tcp(Box::new(tcp))
            }),
            TrafficKind::Tcp => TcpSpec::read(t).map(|tcp| TrafficSpec::Tcp(Box::new(tcp))),
            TrafficKind::Cbr => TrafficSpec::read_cbr(t),
            TrafficKind::OnOff => TrafficSpec::read_onoff(t),
        };
        let latest = paths.iter().flatten().filter_map(|path| path.start).fold(start, Duration::max);
        check_times(t, latest + start_jitter, stop, duration);
        if let Some(TrafficSpec::Tcp(tcp)) = &traffic
            && let Some(application) = &tcp.application
        {
            let end = duration.unwrap_or_default();
            application::check(t, application, count, stop, stop.unwrap_or(end).min(end).saturating_sub(start));
        }
        if let Some(TrafficSpec::Tcp(tcp)) = &traffic
            && tcp.size.is_some()
            && stop.is_some()
        {
            t.mistake(
                "stop",
                format!("{} is given too: a transfer ends by itself; write one of them", t.field("size")),
            );
        }
        let ((ends, rtt), traffic) = (place?, traffic?);
        let family = match &traffic {
            TrafficSpec::Tcp(tcp) => tcp.cc.label(),
            TrafficSpec::Cbr { .. } => "cbr",
            TrafficSpec::OnOff { .. } => "onoff",
        };
        let flow = FlowSpec {
            path: t.path().into(),
            label,
            family,
            count,
            ends,
            rtt,
            start,
            start_jitter,
            stop,
            send_jitter,
            traffic,
            member: None,
        };
        match paths {
            None => Some(vec![flow]),
            Some(paths) => session::subflows(&flow, &common?, paths),
        }
    }

    /// The same as a subflow: on this path, said in this field, from another time on if that is given.
    pub(super) fn as_subflow(
        &self,
        path: String,
        place: (Ends, Duration),
        start: Option<Duration>,
        member: Member,
    ) -> FlowSpec {
        let (ends, rtt) = place;
        let start = start.unwrap_or(self.start);
        FlowSpec { path, ends, rtt, start, member: Some(Box::new(member)), ..self.clone() }
    }

    /// Where an entry of the background begins and ends.
    pub(super) fn place(path: String, ends: Ends, rtt: Duration, tcp: TcpSpec) -> FlowSpec {
        FlowSpec {
            path,
            label: None,
            family: tcp.cc.label(),
            count: 1,
            ends,
            rtt,
            start: Duration::ZERO,
            start_jitter: Duration::ZERO,
            stop: None,
            send_jitter: Duration::ZERO,
            traffic: TrafficSpec::Tcp(Box::new(tcp)),
            member: None,
        }
    }

    /// Whether it goes from right to left.
    pub(super) fn is_reverse(&self) -> bool {
        matches!(self.ends, Ends::Routers(from, to) if from > to) || matches!(self.ends, Ends::Wifi { up: true, .. })
    }

    /// The full name of a field of this entry.
    pub(super) fn field(&self, name: &str) -> String {
        let entry = match &self.member {
            Some(member) if name != "rtt" => &member.flow,
            _ => &self.path,
        };
        format!("{entry}.{name}")
    }

    /// Bytes of a full IP packet.
    pub(super) fn packet_size(&self) -> u64 {
        match &self.traffic {
            TrafficSpec::Tcp(tcp) => tcp.packet_size,
            TrafficSpec::Cbr { packet_size, .. } | TrafficSpec::OnOff { packet_size, .. } => *packet_size,
        }
    }

    /// The initial ssthresh in bytes; a BDP is that of the slowest link and the flow's own base RTT.
    pub(super) fn initial_ssthresh(&self, tcp: &TcpSpec, slowest: Option<Rate>, mistakes: &Mistakes) -> Option<u64> {
        let bytes = match (tcp.initial_ssthresh?, slowest) {
            (Amount::Packets(n), _) => n.saturating_mul(tcp.config.mss.into()),
            (Amount::Bytes(n), _) => n,
            (Amount::Bdp(billionths), Some(rate)) => bdp_bytes(rate, self.rtt, billionths),
            (Amount::Time(d), Some(rate)) => bdp_bytes(rate, d, 1_000_000_000),
            (Amount::Bdp(_) | Amount::Time(_), None) => {
                mistakes.add(self.field("initial_ssthresh"), "no link of the route has a rate, so there is no BDP");
                return None;
            }
        };
        Some(bytes.max(tcp.config.mss.into()))
    }

    /// The flow of the checked scenario, on its path through the graph.
    pub(super) fn build(&self, label: String, path: Path, graph: &Graph, mistakes: &Mistakes) -> Flow {
        let traffic = match &self.traffic {
            TrafficSpec::Tcp(tcp) => {
                let initial_ssthresh = self.initial_ssthresh(tcp, graph.slowest(&path.route), mistakes);
                let config = tcp.config_with(initial_ssthresh);
                let size = tcp.size.filter(|_| self.member.is_none()); // that of subflows is their session's
                let application = tcp.application.clone();
                Traffic::Tcp { size, application, config, cc: tcp.cc, cc_params: tcp.cc_params.clone() }
            }
            TrafficSpec::Cbr { rate, packet_size } => Traffic::Cbr { rate: *rate, packet_size: *packet_size as u32 },
            TrafficSpec::OnOff { rate, packet_size, on, off } => {
                Traffic::OnOff { rate: *rate, packet_size: *packet_size as u32, on: on.clone(), off: off.clone() }
            }
        };
        let peers = match self.ends {
            Ends::Routers(from, to) => (from, to, self.rtt),
            _ => (path.from, path.to, Duration::ZERO),
        };
        Flow {
            label,
            peers,
            from: path.from,
            to: path.to,
            route: path.route,
            route_back: path.route_back,
            start: Time::ZERO + self.start,
            start_jitter: self.start_jitter,
            stop: self.stop.map(|d| Time::ZERO + d),
            send_jitter: self.send_jitter,
            traffic,
            tunnel: false,
        }
    }
}

impl TrafficSpec {
    fn read_cbr(t: &mut Table) -> Option<TrafficSpec> {
        let rate = t.required("rate", &POSITIVE_RATE, "\"1 Mbit/s\"");
        let packet_size = t.or("packet_size", &PACKET_SIZE, 1500);
        Some(TrafficSpec::Cbr { rate: rate?, packet_size })
    }

    fn read_onoff(t: &mut Table) -> Option<TrafficSpec> {
        let rate = t.required("rate", &POSITIVE_RATE, "\"1 Mbit/s\"");
        let packet_size = t.or("packet_size", &PACKET_SIZE, 1500);
        let [on, off] = application::read_bursts(t);
        Some(TrafficSpec::OnOff { rate: rate?, packet_size, on, off })
    }
}

/// A flow starts before the run ends and stops after it started.
pub(super) fn check_times(t: &Table, latest: Duration, stop: Option<Duration>, duration: Option<Duration>) {
    if !t.sound(&["start", "start_jitter", "stop"]) {
        return;
    }
    let print = |d: Duration| TIME.write(&d);
    if let Some(end) = duration.filter(|end| latest >= *end) {
        t.mistake(
            "start",
            format!("the latest start, {}, is not before the end of the run, {}", print(latest), print(end)),
        );
    }
    if let Some(stop) = stop.filter(|stop| *stop <= latest) {
        t.mistake("stop", format!("{} is not after the latest start, {}", print(stop), print(latest)));
    }
}

/// The labels of all flows: as written, with a number where there are several; else the family and a number
/// that counts over the scenario; of a subflow with its path behind it. The index of its entry comes with each.
pub(super) fn labels(specs: &[FlowSpec]) -> Vec<(usize, String)> {
    let mut counted: std::collections::BTreeMap<&str, u64> = std::collections::BTreeMap::new();
    let mut labels = Vec::new();
    for (index, spec) in specs.iter().enumerate() {
        if spec.member.as_ref().is_some_and(|member| member.number > 0) {
            continue; // it stands with the first
        }
        for k in 1..=spec.count {
            let label = match &spec.label {
                Some(label) if spec.count == 1 => label.clone(),
                Some(label) => format!("{label}-{k}"),
                None => {
                    let number = counted.entry(spec.family).or_default();
                    *number += 1;
                    format!("{}-{number}", spec.family)
                }
            };
            match &spec.member {
                None => labels.push((index, label)),
                Some(first) => labels.extend((index..index + first.count).map(|subflow| {
                    let path = specs[subflow].member.as_ref().map_or("", |member| &member.name);
                    (subflow, format!("{label}/{path}"))
                })),
            }
        }
    }
    labels
}
