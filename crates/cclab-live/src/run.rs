//! A scenario on real kernels: a pair of hosts for each flow, the links between them, and at the end the tables.

use crate::clock::Clock;
use crate::host::{Host, Interface, Sysctls};
use crate::relay::{self, Plan, Port, Relay};
use crate::stamp::{Stamp, Ticks};
use crate::sys::Place;
use crate::transfer::{self, Moment, Opened, Options, Outcome, Path, Times, Transfer, Transfers, Work};
use crate::watch::Watch;
use crate::{Error, Result, check, fault, netlink, sys};
use cclab_algo::cc::PROGRAM;
use cclab_algo::{Duration, Rate, Time};
use cclab_sim::app::{FlowRow, FlowSample, FlowSamples, Flows, SessionRow, Sessions, aggregation_benefit};
use cclab_sim::measure::Histogram;
use cclab_sim::net::config::Link;
use cclab_sim::net::{Log, Network};
use cclab_sim::scenario::{Flow, Sampling, Scenario, Session, Traffic};
use cclab_sim::tcp::{Config, Ecn, Pacing};
use cclab_sim::wire::DSS_DATA;
use cclab_sim::world::{EngineStats, RunResult, jain};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::collections::BTreeSet;
use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;
use std::sync::Arc;

/// The two hosts of every flow have the same addresses: they never meet another's.
pub const SOURCE: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
/// That of the destination.
pub const DESTINATION: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
/// From when everything is ready until time zero, ns.
const LEAD: u64 = 20_000_000;
/// Up to this both threads stay on one processor. So a hypervisor that gives it to others stops all of a run, and the relay sees it; on two,
/// it may stop a sender that holds a connection's lock, and the ACKs of that time are answered at once. One carries 300 Mbit/s.
const ONE_PROCESSOR: Rate = Rate(200_000_000);
/// What a buffer may grow to, bytes; the kernel counts what is around a packet, too.
const BUFFER: u64 = 1 << 30;

/// The kernel's name of a law.
pub fn kernel_name(law: &str) -> &str {
    if law == "hstcp" { "highspeed" } else { law }
}

/// Why this kernel cannot run a law of this name, if it cannot: neither built in nor a module that may be loaded, or no program.
pub fn lacks(law: &str) -> Option<String> {
    if let Some(file) = law.strip_prefix(PROGRAM) {
        return Programs::default().add(file).err().map(|e| e.to_string());
    }
    let socket = TcpListener::bind("127.0.0.1:0");
    let set =
        socket.and_then(|socket| sys::set_text(&socket, libc::IPPROTO_TCP, libc::TCP_CONGESTION, kernel_name(law)));
    let has = set.map_or_else(|error| error.raw_os_error() != Some(libc::ENOENT), |()| true); // or it is for others to use
    let none = || {
        let has = laws().join(", ");
        let sysctl = "sysctl net.ipv4.tcp_available_congestion_control";
        format!("this kernel has no \"{law}\"; it has {has} ({sysctl}; others may come as modules, tcp_<name>)")
    };
    (!has).then(none)
}

/// The programs of a run that govern connections in the kernel, by their files.
#[derive(Default)]
struct Programs {
    #[cfg(feature = "bpf")]
    loaded: Vec<(String, crate::bpf::Law)>,
}

impl Programs {
    /// Loads a program unless it is there; the kernel's name of its law.
    #[cfg(feature = "bpf")]
    fn add(&mut self, file: &str) -> Result<String> {
        if let Some((_, law)) = self.loaded.iter().find(|(known, _)| known == file) {
            return Ok(law.name().into());
        }
        there_is(file)?;
        let law = crate::bpf::Law::load(file.as_ref())?;
        let name = law.name().to_string();
        self.loaded.push((file.into(), law));
        Ok(name)
    }

    #[cfg(not(feature = "bpf"))]
    fn add(&mut self, file: &str) -> Result<String> {
        there_is(file)?;
        let error = std::io::Error::from(std::io::ErrorKind::Unsupported);
        Err(fault(
            "this cclab was built without BPF (cargo feature bpf; it needs the headers of libelf and zlib)",
            error,
        ))
    }
}

fn there_is(file: &str) -> Result<()> {
    let error = match std::fs::metadata(file) {
        Ok(about) if about.is_file() => return Ok(()),
        Ok(_) => "is no file".into(),
        Err(error) => format!("cannot be read ({error}); a path is relative to the scenario's file"),
    };
    Err(Error::Program { program: file.into(), error })
}

/// The laws that this kernel has ready, but those that runs like these have loaded.
pub fn laws() -> Vec<String> {
    let text = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
    text.split_whitespace().filter(|law| !is_of_a_run(law)).map(String::from).collect()
}

/// Whether a law has a name that a run gives one: `name_<process>_<number>`, in hexadecimal.
fn is_of_a_run(law: &str) -> bool {
    let is_hex = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_hexdigit());
    matches!(law.rsplitn(3, '_').collect::<Vec<_>>()[..], [number, process, _] if is_hex(number) && is_hex(process))
}

/// A run in progress; it ends when it is dropped.
pub struct Run {
    scenario: Scenario,
    seed: u64,
    clock: Clock,
    // the senders first: they are gone before what carries their packets
    transfers: Transfers,
    relay: Relay,
    hosts: Vec<Arc<Host>>,
    _programs: Programs,
    sysctls: Vec<(String, String)>,
    began: Ticks,
    /// Other runs go elsewhere as long as this is held.
    _place: Option<Place>,
}

impl Run {
    /// Makes the hosts of `scenario` and starts it. What is beyond this backend is the caller's to refuse.
    ///
    /// # Errors
    /// This process may not, or the kernel refuses an option.
    pub fn start(scenario: &Scenario, seed: u64) -> Result<Run> {
        check::may_make_hosts()?;
        allow_descriptors();
        let (warmup, end) = (Time::ZERO + scenario.warmup, Time::ZERO + scenario.duration);
        let mut network = Network::new(&scenario.links, seed, (warmup, end), Log::default());
        let (mut ports, mut watches, mut transfers, mut all) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut said: Vec<(String, String)> = Vec::new();
        let mut programs = Programs::default();
        let mut largest = 0;
        for (own, session) in connections(scenario) {
            let flow = &scenario.flows[own.start];
            let (mtu, sysctls) = (packet_size(flow), sysctls(&flow.traffic));
            largest = largest.max(mtu);
            for (name, value) in &sysctls {
                let pair = (name.replace('/', "."), value.clone());
                if !said.contains(&pair) {
                    said.push(pair);
                }
            }
            let (start, stop) = (flow.start_in(seed), flow.stop);
            let work = work(flow, session, seed, &mut programs)?;
            let size = if let (Work::Tcp(_, size), None) = (&work, session) { *size } else { None };
            for _ in own.clone() {
                network.add_flow(stop.unwrap_or(end));
                watches.push(Watch::new(start.max(warmup), stop.unwrap_or(end).min(end), size));
            }
            let (mut hosts, first_port) = (Vec::new(), ports.len());
            for side in 0..2 {
                let interfaces: Vec<_> = (0..own.len()).map(|path| interface(path, side, mtu)).collect();
                let (host, devices) = Host::new(&interfaces, &sysctls)?;
                hosts.push(Arc::new(host));
                for (path, device) in devices.into_iter().enumerate() {
                    let flow = own.start + path;
                    let routes = [&scenario.flows[flow].route, &scenario.flows[flow].route_back];
                    let route = network.add_route(routes[side]);
                    let to = first_port + (1 - side) * own.len() + path; // the source's come first
                    ports.push(Port { device, flow, forward: side == 0, route, to });
                }
            }
            let paths: Vec<Ipv4Addr> = (0..own.len()).map(|path| interface(path, 0, mtu).address).collect();
            if session.is_some() {
                let further: Vec<_> = (0..).zip(&paths).skip(1).map(|(n, path)| (*path, format!("tun{n}"))).collect();
                let most = further.len() as u32;
                let told = hosts[0].enter(|| netlink::set_paths(most, &further));
                let told = told.and_then(|()| hosts[1].enter(|| netlink::set_paths(most, &[])));
                told.map_err(|e| fault("endpoints of MPTCP", e))?;
            }
            all.extend(hosts.iter().cloned());
            let hosts = hosts.try_into().expect("two");
            transfers.push(Transfer { work, start, stop, hosts, to: DESTINATION, paths, first: own.start });
        }
        let samples = if let Sampling::Every(interval) = scenario.record.samples { Some(interval) } else { None };
        let opened = Opened::of(transfers)?;
        let clock = Clock::starting_in(LEAD);
        let place = (carried(scenario) <= ONE_PROCESSOR).then(|| Place::take("cclab live")).flatten();
        let processor = place.as_ref().map(|place| place.processor);
        let plan = Plan { network, ports, flows: watches, mtu: largest as usize, warmup, end, samples, processor };
        let relay = Relay::start(plan, clock.clone())?;
        let board = Arc::clone(&relay.board);
        let transfers = Transfers::start(opened, Times { warmup, end, samples }, clock.clone(), board, processor)?;
        let began = Ticks::now();
        Ok(Run {
            scenario: scenario.clone(),
            seed,
            clock,
            transfers,
            relay,
            hosts: all,
            _programs: programs,
            sysctls: said,
            began,
            _place: place,
        })
    }

    /// The share of its time that is done; 1 when it can be finished.
    pub fn done(&self) -> f64 {
        if self.transfers.is_finished() {
            return 1.0;
        }
        (self.clock.now().as_secs_f64() / self.scenario.duration.as_secs_f64()).min(1.0 - f64::EPSILON)
    }

    /// Its tables, and how good it was.
    ///
    /// # Errors
    /// A connection failed, or the stamp is bad.
    pub fn finish(self) -> Result<(RunResult, Stamp)> {
        let sent = self.transfers.finish()?;
        let relay = self.relay.finish()?;
        let drops = self.hosts.iter().map(|host| host.dropped()).sum::<std::io::Result<u64>>();
        let drops = drops.map_err(|e| fault("/proc/net/dev", e))?;
        let stamp = Stamp::of(&relay, drops, self.began, self.sysctls, sent.real_time, sent.processor);
        for ((own, _), outcome) in connections(&self.scenario).into_iter().zip(&sent.flows) {
            if let Some(error) = &outcome.error {
                let flow = self.scenario.flows[own.start].label.clone();
                return Err(Error::Connection { flow, error: error.clone() });
            }
        }
        if let Some((place, detail)) = relay.network.imbalance() {
            panic!("packets do not add up at {place}: {detail}");
        }
        if let Some(flaw) = stamp.flaw() {
            return Err(Error::Stamp(flaw));
        }
        Ok((result(&self.scenario, self.seed, &relay, &sent), stamp))
    }
}

/// The most that crosses the network, as far as links say: the sum over those that are some flow's slowest.
fn carried(scenario: &Scenario) -> Rate {
    let fastest = |link: &Link| {
        let later = link.schedule.iter().filter_map(|change| change.rate);
        let most = link.rate.map(|rate| later.fold(rate, Rate::max));
        most.filter(|_| link.trace.is_none()).unwrap_or(Rate(u64::MAX)) // (a trace's rate is its mean)
    };
    let slowest = |flow: &Flow| flow.route.iter().copied().min_by_key(|&link| fastest(&scenario.links[link]));
    let links: BTreeSet<Option<usize>> = scenario.flows.iter().map(slowest).collect();
    let rate = |link: Option<usize>| link.map_or(u64::MAX, |link| fastest(&scenario.links[link]).0);
    Rate(links.into_iter().map(rate).fold(0, u64::saturating_add))
}

/// The flows of each connection, and the session whose subflows they are.
fn connections(scenario: &Scenario) -> Vec<(Range<usize>, Option<&Session>)> {
    let mut all = Vec::new();
    let mut next = 0;
    while next < scenario.flows.len() {
        let session = scenario.sessions.iter().find(|session| session.flows.start == next);
        let own = session.map_or(next..next + 1, |session| session.flows.clone());
        next = own.end;
        all.push((own, session));
    }
    all
}

/// The interface of a host, that of the source or of the destination, on one of its paths.
fn interface(path: usize, side: usize, mtu: u32) -> Interface {
    let on_path = |address: Ipv4Addr| {
        let [a, b, _, d] = address.octets();
        Ipv4Addr::new(a, b, path as u8, d)
    };
    let ends = [SOURCE, DESTINATION].map(on_path);
    Interface { address: ends[side], peer: ends[1 - side], mtu }
}

/// Each flow takes a dozen descriptors: as many as this process may have.
fn allow_descriptors() {
    if let Ok((_, most)) = getrlimit(Resource::RLIMIT_NOFILE) {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, most, most); // where it may not, opening says so
    }
}

/// The largest IP packet of a flow: what its hosts' interfaces carry.
pub(crate) fn packet_size(flow: &Flow) -> u32 {
    match &flow.traffic {
        Traffic::Tcp { config, .. } => {
            let options = [(config.timestamps, 12), (config.multipath, DSS_DATA)];
            config.mss + 40 + options.iter().map(|(there, bytes)| if *there { *bytes } else { 0 }).sum::<u32>()
        }
        Traffic::Cbr { packet_size, .. } | Traffic::OnOff { packet_size, .. } => (*packet_size).max(68),
    }
}

/// What the hosts of such a flow are told.
pub(crate) fn sysctls(traffic: &Traffic) -> Sysctls {
    let Traffic::Tcp { config, .. } = traffic else { return Vec::new() };
    let flag = |on: bool| u8::from(on).to_string();
    let mut all = vec![
        ("net/ipv4/tcp_sack", flag(config.sack)),
        ("net/ipv4/tcp_timestamps", flag(config.timestamps)),
        ("net/ipv4/tcp_window_scaling", flag(config.window_scaling)),
        ("net/ipv4/tcp_ecn", if config.ecn == Ecn::Accept { "2".into() } else { flag(config.ecn == Ecn::On) }),
        ("net/ipv4/tcp_dsack", flag(config.dsack)),
        ("net/ipv4/tcp_frto", if config.frto { 2 } else { 0 }.to_string()),
        ("net/ipv4/tcp_early_retrans", if config.tlp { 3 } else { 0 }.to_string()),
        ("net/ipv4/tcp_slow_start_after_idle", flag(config.slow_start_after_idle)),
        ("net/ipv4/tcp_rmem", format!("4096 131072 {BUFFER}")),
        ("net/ipv4/tcp_wmem", send_buffer(config)),
    ];
    if config.multipath {
        // what comes in on a path is for the first one's address
        all.extend(["net/ipv4/conf/all/rp_filter", "net/ipv4/conf/default/rp_filter"].map(|name| (name, flag(false))));
        all.push(("net/mptcp/enabled", flag(true)));
    }
    let usual = Config::linux(config.mss).rto;
    if config.rto.min != usual.min {
        all.push(("net/ipv4/tcp_rto_min_us", (config.rto.min.0 / 1000).to_string()));
    }
    if config.rto.max != usual.max {
        all.push(("net/ipv4/tcp_rto_max_ms", (config.rto.max.0 / 1_000_000).to_string()));
    }
    all.into_iter().map(|(name, value)| (&name["net/".len()..], value)).collect()
}

/// `tcp_wmem`: one that never limits unless the scenario says otherwise.
fn send_buffer(config: &Config) -> String {
    let initial = config.initial_send_buffer.unwrap_or(16_384).min(BUFFER);
    let most = config.send_buffer.unwrap_or(BUFFER);
    format!("{} {initial} {}", initial.min(4096), most.clamp(initial, BUFFER))
}

fn work(flow: &Flow, session: Option<&Session>, seed: u64, programs: &mut Programs) -> Result<Work> {
    Ok(match (&flow.traffic, flow.datagrams(seed)) {
        (Traffic::Tcp { size, config, cc, .. }, _) => {
            let limited = config.receive_buffer < Config::linux(config.mss).receive_buffer;
            let options = Options {
                cc: match cc.name.strip_prefix(PROGRAM) {
                    Some(file) => programs.add(file)?,
                    None => kernel_name(cc.name).into(),
                },
                window: limited.then_some(config.receive_buffer as u32),
                nagle: config.nagle,
                pacing: config.pacing == Pacing::On && cc.name != "bbr", // (which paces by itself)
                multipath: session.is_some(),
            };
            Work::Tcp(options, session.map_or(*size, |session| session.size))
        }
        (_, Some(datagrams)) => Work::Udp(datagrams),
        (_, None) => unreachable!("what is not TCP is a source of datagrams"),
    })
}

fn result(scenario: &Scenario, seed: u64, relay: &relay::Report, sent: &transfer::Report) -> RunResult {
    let (mut flows, mut sessions) = (Flows::default(), Sessions::default());
    for ((own, session), outcome) in connections(scenario).into_iter().zip(&sent.flows) {
        let start = scenario.flows[own.start].start_in(seed);
        for (number, path) in own.clone().zip(&outcome.paths) {
            let (flow, watch, lost) = (&scenario.flows[number], &relay.flows[number], relay.network.lost(number));
            row(scenario, flow, start, watch, (outcome, path), lost, &mut flows);
        }
        if let Some(session) = session {
            session_row(session, &scenario.flows[own.start], start, outcome, &mut sessions);
        }
    }
    let alone = |number: &usize| !scenario.sessions.iter().any(|session| session.flows.contains(number));
    let mut samples = FlowSamples::default();
    sent.samples.iter().for_each(|sample| samples.push_row(sample_row(scenario, sample)));
    let is_tcp = |number: &usize| matches!(scenario.flows[*number].traffic, Traffic::Tcp { .. });
    let measured = (0..flows.len()).filter(is_tcp).filter(|number| flows.measured_s[*number] > 0.0);
    let engine = EngineStats {
        events: relay.events,
        data_packets: relay.network.data_packets(),
        simulated_s: scenario.duration.as_secs_f64(),
    };
    RunResult {
        jain: jain(measured.filter(alone).map(|number| flows.goodput_bps[number]).chain(sessions.goodput_bps.clone())),
        links: relay.network.table(),
        link_samples: relay.link_samples.clone(),
        flows,
        sessions,
        samples,
        engine,
        ..RunResult::default()
    }
}

fn since(from: Option<Time>, to: Option<Time>) -> f64 {
    from.zip(to).map_or(f64::NAN, |(from, to)| to.since(from).as_secs_f64())
}

/// The row of a flow.
fn row(
    scenario: &Scenario,
    flow: &Flow,
    start: Time,
    watch: &Watch,
    (outcome, path): (&Outcome, &Path),
    lost: u64,
    into: &mut Flows,
) {
    let (warmup, end) = (Time::ZERO + scenario.warmup, Time::ZERO + scenario.duration);
    let end = flow.stop.unwrap_or(end).min(end);
    let transferred = watch.finished.filter(|_| outcome.received_all.is_some());
    let (cc, from, to) = match &flow.traffic {
        Traffic::Tcp { cc, .. } => {
            let to = transferred.or(path.to.map(|moment| moment.at));
            (cc.name, path.from.map(|moment| moment.at), to)
        }
        Traffic::Cbr { .. } | Traffic::OnOff { .. } => {
            ("udp", Some(start.max(warmup)), Some(end.max(start.max(warmup))))
        }
    };
    let measured_s = if from.is_some() { since(from, to) } else { 0.0 };
    let rate = |bytes: u64| if measured_s > 0.0 { bytes as f64 * 8.0 / measured_s } else { f64::NAN };
    let counted = |of: fn(&Moment) -> u64| match (&path.from, &path.to) {
        (Some(from), Some(to)) => of(to) - of(from).min(of(to)),
        _ => 0,
    };
    let is_tcp = cc != "udp";
    let cwnd = to.zip(path.cwnd.as_ref()).map(|(to, cwnd)| cwnd.summary(to, 1.0));
    let (cwnd_mean_segments, cwnd_min_segments, cwnd_max_segments) = cwnd.unwrap_or((f64::NAN, f64::NAN, f64::NAN));
    into.push_row(FlowRow {
        label: &flow.label,
        cc,
        start_s: start.as_secs_f64(),
        measured_s,
        goodput_bps: rate(if is_tcp { counted(|m| m.received) } else { watch.payload_arrived }),
        throughput_bps: rate(watch.destination.bytes_arrived),
        delivered_bytes: if is_tcp { path.to.map_or(0, |to| to.received) } else { watch.arrived },
        segments_sent: if is_tcp { counted(|m| m.source.data_segs_out.into()) } else { watch.data_sent },
        segments_retransmitted: counted(|m| m.source.total_retrans.into()),
        packets_received: watch.destination.delay.count(),
        packets_lost: lost,
        timeouts: counted(|m| m.source.total_rto.into()),
        recoveries: counted(|m| m.recoveries),
        rtt: watch.source.delay.summary(),
        owd: watch.destination.delay.summary(),
        owd_mean_abs_diff_s: watch.destination.owd_mean_abs_diff(),
        cwnd_mean_segments,
        cwnd_min_segments,
        cwnd_max_segments,
        ecn: "unknown",
        connect_s: since(outcome.opened, outcome.connected),
        fct_s: since(outcome.opened, transferred),
        fct_receiver_s: since(outcome.opened, outcome.received_all),
    });
}

/// The row of a connection over several paths; what happens between them the kernel keeps to itself.
fn session_row(session: &Session, flow: &Flow, start: Time, outcome: &Outcome, into: &mut Sessions) {
    let Traffic::Tcp { cc, .. } = &flow.traffic else { return };
    let [from, to] = [outcome.paths[0].from, outcome.paths[0].to].map(|moment| moment.map(|moment| moment.at));
    let measured_s = since(from, outcome.received_all.or(to));
    let measured_s = if measured_s.is_nan() { 0.0 } else { measured_s };
    let bytes = outcome.read[1] - outcome.read[0];
    let goodput_bps = if measured_s > 0.0 { bytes as f64 * 8.0 / measured_s } else { f64::NAN };
    into.push_row(SessionRow {
        label: &session.label,
        cc: cc.name,
        coupled: session.coupled,
        scheduler: session.scheduler.name,
        subflows: outcome.paths.iter().filter(|path| path.to.is_some()).count() as u64,
        start_s: start.as_secs_f64(),
        measured_s,
        goodput_bps,
        delivered_bytes: outcome.read[1],
        duplicate_bytes: 0,
        reinjected_bytes: 0,
        opportunistic_bytes: 0,
        penalties: 0,
        reorder: Histogram::default().summary(),
        buffer_mean_bytes: f64::NAN,
        buffer_max_bytes: f64::NAN,
        stall_max_s: f64::NAN,
        aggregation_benefit: aggregation_benefit(goodput_bps, &session.capacities),
        fct_s: f64::NAN,
        fct_receiver_s: since(outcome.opened, outcome.received_all),
    });
}

fn sample_row(scenario: &Scenario, sample: &transfer::Sample) -> FlowSample<'static> {
    let paced = match &scenario.flows[sample.flow].traffic {
        Traffic::Tcp { config, cc, .. } => config.pacing == Pacing::On || cc.name == "bbr",
        _ => false,
    };
    let of = |value: fn(&sys::TcpInfo) -> f64| sample.source.as_ref().map_or(f64::NAN, value);
    FlowSample {
        time_s: sample.at.as_secs_f64(),
        flow: sample.flow as u32,
        cwnd_bytes: of(|info| f64::from(info.snd_cwnd) * f64::from(info.snd_mss)),
        ssthresh_bytes: of(|info| match info.snd_ssthresh {
            transfer::NO_SSTHRESH => f64::NAN,
            segments => f64::from(segments) * f64::from(info.snd_mss),
        }),
        srtt_s: of(|info| if info.rtt == 0 { f64::NAN } else { f64::from(info.rtt) * 1e-6 }),
        rtt_s: if sample.rtt_ns == 0 { f64::NAN } else { Duration(sample.rtt_ns).as_secs_f64() },
        in_flight_bytes: of(|info| {
            let segments =
                i64::from(info.unacked) - i64::from(info.sacked) - i64::from(info.lost) + i64::from(info.retrans);
            segments.max(0) as f64 * f64::from(info.snd_mss)
        }),
        delivered_bytes: sample.delivered as f64,
        pacing_rate_bps: if paced { of(|info| info.pacing_rate as f64 * 8.0) } else { f64::NAN },
    }
}

#[cfg(test)]
mod tests {
    use super::is_of_a_run;
    use cclab_sim::tcp::Config;

    /// The kernel's are 31 bits, a scenario's more.
    #[test]
    fn send_buffers_of_any_size() {
        let of = |initial_send_buffer, send_buffer| {
            super::send_buffer(&Config { initial_send_buffer, send_buffer, ..Config::linux(1448) })
        };
        assert_eq!(of(None, None), "4096 16384 1073741824");
        assert_eq!(of(Some(1000), Some(65_536)), "1000 1000 65536");
        assert_eq!(of(Some(1 << 40), None), "4096 1073741824 1073741824");
        assert_eq!(of(Some(1 << 40), Some(1 << 40)), "4096 1073741824 1073741824");
    }

    /// Two flows over one link of 100 Mbit/s, which becomes one of 150.
    #[test]
    fn what_crosses_the_network() {
        let of = |more: &str| {
            let text = format!(
                "duration = '1 s'\n[network]\nrate = '100 Mbit/s'\nrtt = '20 ms'\n{more}\n[[flows]]\ncc = 'reno'\ncount = 2\n"
            );
            super::carried(&cclab_sim::scenario::Scenario::from_toml(&text).unwrap()).0
        };
        assert_eq!(of(""), 100_000_000);
        assert_eq!(of("schedule = [{ at = '500 ms', rate = '150 Mbit/s' }]"), 150_000_000);
    }

    #[test]
    fn laws_of_runs() {
        assert!(is_of_a_run("htcp_4d2_0") && is_of_a_run("scalab_1f4e9_a3"));
        for law in ["reno", "bpf_cubic", "dctcp_reno", "bpf_reno_ack", "htcp__0", "x_y_1"] {
            assert!(!is_of_a_run(law), "{law}");
        }
    }
}
