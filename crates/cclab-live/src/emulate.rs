//! Any programs at the ends of a path: what passes between their hosts is the relay's one flow, each direction a row.

use crate::clock::Clock;
use crate::host::{Host, Interface, Program, Tell};
use crate::relay::{Plan, Port, Relay};
use crate::run::{self, DESTINATION, SOURCE};
use crate::stamp::{Stamp, Ticks};
use crate::watch::Watch;
use crate::{Error, Result, check, fault};
use cclab_algo::{Duration, Time};
use cclab_sim::app::{FlowRow, FlowSample, FlowSamples, Flows};
use cclab_sim::measure::Histogram;
use cclab_sim::net::{Log, Network};
use cclab_sim::scenario::{Sampling, Scenario, Traffic};
use cclab_sim::world::{EngineStats, RunResult};
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering::Relaxed;

/// How often queues and directions are sampled where the scenario does not say.
const INTERVAL: Duration = Duration::from_millis(100);
/// What a server has to come up, before the program starts anyhow.
const PATIENCE: Time = Time(5_000_000_000);
/// The directions, as flows are called.
const LABELS: [&str; 2] = ["to-server", "to-client"];

/// How it stands.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Since the start, s.
    pub time_s: f64,
    /// Payload that came through, to the server and to the client.
    pub arrived_bytes: [u64; 2],
    /// One-way delay of the latest packet in each direction, s.
    pub delay_s: [f64; 2],
    /// Packets that wait on either way.
    pub queue_packets: [u64; 2],
}

/// Programs at work; they end when this is dropped.
pub struct Emulation {
    scenario: Scenario,
    clock: Clock,
    // before what carries their packets
    program: Program,
    server: Option<Program>,
    relay: Relay,
    hosts: [Host; 2],
    sysctls: Vec<(String, String)>,
    began: Ticks,
    interval: Duration,
    samples: FlowSamples,
    rtts: Histogram,
    seen_bytes: [u64; 2],
    ended: Option<(Time, i32)>,
}

impl Emulation {
    /// Starts `serve`, a line for the shell, in the destination of the scenario's first flow, and when it can be reached `command` in the
    /// source.
    ///
    /// # Errors
    /// This process may not, or a program cannot be started.
    pub fn start(scenario: &Scenario, seed: u64, command: &[String], serve: Option<&str>) -> Result<Emulation> {
        check::may_make_hosts()?;
        let flow = &scenario.flows[0];
        let (end, mtu) = (Time::ZERO + scenario.duration, run::packet_size(flow));
        let mut sysctls = run::sysctls(&flow.traffic);
        if let Traffic::Tcp { cc, .. } = &flow.traffic
            && may_be_default(run::kernel_name(cc.name))
        {
            sysctls.push(("ipv4/tcp_congestion_control", run::kernel_name(cc.name).into()));
        }
        let group = nix::unistd::getgid();
        sysctls.push(("ipv4/ping_group_range", format!("{group} {group}")));
        sysctls.push(("ipv4/ip_forward", "1".into())); // what is for elsewhere the destination answers as unreachable

        let mut network = Network::new(&scenario.links, seed, (Time::ZERO, end), Log::default());
        let ends = [(SOURCE, DESTINATION, &flow.route), (DESTINATION, SOURCE, &flow.route_back)];
        let (mut hosts, mut ports) = (Vec::new(), Vec::new());
        for (side, (address, peer, route)) in ends.into_iter().enumerate() {
            let (host, devices) = Host::new(&[Interface { address, peer, mtu }], &sysctls)?;
            if side == 0 {
                host.add_default_route().map_err(|e| fault("a default route", e))?;
            }
            hosts.push(host);
            network.add_flow(end);
            let (route, to) = (network.add_route(route), 1 - side);
            ports.extend(devices.into_iter().map(|device| Port { device, flow: side, forward: true, route, to }));
        }
        let hosts: [Host; 2] = hosts.try_into().expect("two");

        let server = serve.map(|line| serving(&hosts[1], line)).transpose()?;
        let interval = if let Sampling::Every(interval) = scenario.record.samples { interval } else { INTERVAL };
        let flows = vec![Watch::one_way(Time::ZERO, end); 2];
        let plan = Plan {
            network,
            ports,
            flows,
            mtu: mtu as usize,
            warmup: Time::ZERO,
            end,
            samples: Some(interval),
            processor: None,
        };
        let clock = Clock::starting_in(0);
        let relay = Relay::start(plan, clock.clone())?;
        let (name, arguments) = command.split_first().expect("a command");
        let mut command = Command::new(name);
        command.args(arguments);
        let program = started(&hosts[0], command, name)?;
        Ok(Emulation {
            scenario: scenario.clone(),
            clock,
            program,
            server,
            relay,
            hosts,
            sysctls: sysctls.into_iter().map(|(name, value)| (name.replace('/', "."), value)).collect(),
            began: Ticks::now(),
            interval,
            samples: FlowSamples::default(),
            rtts: Histogram::default(),
            seen_bytes: [0; 2],
            ended: None,
        })
    }

    /// How often [`look`](Emulation::look) is to be called.
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// Waits for the program, but no longer than this; its exit status when it has ended.
    pub fn wait(&mut self, longest: Duration) -> Option<i32> {
        if self.ended.is_none() {
            let status = self.program.wait(std::time::Duration::from_nanos(longest.0));
            self.ended = status.map(|status| (self.clock.now(), status));
        }
        self.ended.map(|(_, status)| status)
    }

    /// How it stands, which is kept as a sample.
    pub fn look(&mut self) -> Look {
        let (now, board) = (self.clock.now(), &self.relay.board);
        let of = |side: usize| &board.flows[side];
        let arrived_bytes = [0, 1].map(|side| of(side).arrived.load(Relaxed));
        let delay_s = [0, 1].map(|side| Duration(of(side).owd_ns.load(Relaxed)).as_secs_f64());
        let flow = &self.scenario.flows[0];
        let waiting =
            |route: &[usize]| route.iter().map(|&link| board.queues.get(link).map_or(0, |q| q.load(Relaxed))).sum();
        let queue_packets = [waiting(&flow.route), waiting(&flow.route_back)];
        let both = delay_s.iter().all(|&s| s > 0.0);
        let rtt_s = if both { delay_s.iter().sum() } else { f64::NAN };
        if both && arrived_bytes != self.seen_bytes {
            self.rtts.record(Duration::from_secs_f64(rtt_s));
        }
        self.seen_bytes = arrived_bytes;
        for (flow, delivered) in arrived_bytes.into_iter().enumerate() {
            self.samples.push_row(FlowSample {
                time_s: now.as_secs_f64(),
                flow: flow as u32,
                cwnd_bytes: f64::NAN,
                ssthresh_bytes: f64::NAN,
                srtt_s: f64::NAN,
                rtt_s,
                in_flight_bytes: f64::NAN,
                delivered_bytes: delivered as f64,
                pacing_rate_bps: f64::NAN,
            });
        }
        Look { time_s: now.as_secs_f64(), arrived_bytes, delay_s, queue_packets }
    }

    /// Asks the program to be interrupted, or to end.
    pub fn tell(&self, to: Tell) {
        self.program.tell(to);
    }

    /// Ends what has not ended; tables up to the end of the program, and how good it was.
    ///
    /// # Errors
    /// A device failed.
    pub fn finish(mut self) -> Result<(RunResult, Stamp)> {
        self.look();
        let now = self.ended.map_or(self.clock.now(), |(at, _)| at);
        let end = now.min(Time::ZERO + self.scenario.duration);
        drop((self.program, self.server));
        self.relay.stop();
        let mut relay = self.relay.finish()?;
        let drops = self.hosts.iter().map(Host::dropped).sum::<std::io::Result<u64>>();
        let drops = drops.map_err(|e| fault("/proc/net/dev", e))?;
        if let Some((place, detail)) = relay.network.imbalance() {
            panic!("packets do not add up at {place}: {detail}");
        }
        relay.network.end(end);
        let stamp = Stamp::of(&relay, drops, self.began, self.sysctls, true, None);
        let mut flows = Flows::default();
        for (side, watch) in relay.flows.iter().enumerate() {
            row(side, watch, &self.rtts, relay.network.lost(side), end.as_secs_f64(), &mut flows);
        }
        let engine = EngineStats {
            events: relay.events,
            data_packets: relay.network.data_packets(),
            simulated_s: end.as_secs_f64(),
        };
        let result = RunResult {
            jain: f64::NAN,
            links: relay.network.table(),
            link_samples: relay.link_samples,
            flows,
            samples: self.samples,
            engine,
            ..RunResult::default()
        };
        Ok((result, stamp))
    }
}

/// Whether a host may have this law as its default: one that the machine leaves to everybody.
fn may_be_default(law: &str) -> bool {
    let text = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control").unwrap_or_default();
    text.split_whitespace().any(|allowed| allowed == law)
}

/// A server that can be reached, or has had time enough.
fn serving(host: &Host, line: &str) -> Result<Program> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", line]).stdin(Stdio::null()).stdout(std::io::stderr());
    let server = started(host, command, line)?;
    let clock = Clock::starting_in(0);
    while clock.now() < PATIENCE && !host.listens().map_err(|e| fault("/proc/net", e))? {
        if let Some(status) = server.wait(std::time::Duration::from_millis(20)) {
            return Err(Error::Program { program: line.into(), error: format!("ended with status {status}") });
        }
    }
    Ok(server)
}

fn started(host: &Host, mut command: Command, program: &str) -> Result<Program> {
    command.env("CCLAB_CLIENT", SOURCE.to_string()).env("CCLAB_SERVER", DESTINATION.to_string());
    host.spawn(command).map_err(|e| Error::Program { program: program.into(), error: e.to_string() })
}

/// The row of a direction: what is counted is data packets, those that carry something.
fn row(side: usize, watch: &Watch, rtts: &Histogram, lost: u64, seconds: f64, into: &mut Flows) {
    let rate = |bytes: u64| bytes as f64 * 8.0 / seconds;
    into.push_row(FlowRow {
        label: LABELS[side],
        cc: "any",
        start_s: 0.0,
        measured_s: seconds,
        goodput_bps: rate(watch.payload_arrived),
        throughput_bps: rate(watch.destination.bytes_arrived),
        delivered_bytes: watch.arrived,
        segments_sent: watch.data_sent,
        segments_retransmitted: 0,
        packets_received: watch.destination.delay.count(),
        packets_lost: lost,
        timeouts: 0,
        recoveries: 0,
        rtt: rtts.summary(),
        owd: watch.destination.delay.summary(),
        owd_mean_abs_diff_s: watch.destination.owd_mean_abs_diff(),
        cwnd_mean_segments: f64::NAN,
        cwnd_min_segments: f64::NAN,
        cwnd_max_segments: f64::NAN,
        ecn: "unknown",
        connect_s: f64::NAN,
        fct_s: f64::NAN,
        fct_receiver_s: f64::NAN,
    });
}
