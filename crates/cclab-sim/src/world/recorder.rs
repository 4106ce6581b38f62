//! Samples of flows and links, signals of laws, captures, as they come.

use super::capture::Capture;
use super::config::Sampling;
use crate::app::{DESTINATION, Flow, SOURCE, Socket, Transport};
use crate::measure::{FlowSamples, LinkSamples, Signals};
use crate::tcp::Endpoint;
use cclab_algo::{Duration, Rate, Time};

/// What is recorded beside the summary.
pub(super) struct Recorder {
    pub(super) sampling: Sampling,
    pub(super) samples: FlowSamples,
    pub(super) link_samples: LinkSamples,
    pub(super) signals: Signals,
    /// The capture, and whether it is at the sources.
    pub(super) capture: Option<(Capture, bool)>,
}

impl Recorder {
    /// A row of a flow, number `index`, whose sockets are these.
    pub(super) fn sample(&mut self, now: Time, index: usize, flow: &mut Flow, own: &[Socket]) {
        if !flow.is_sampled() {
            return;
        }
        match (&own[SOURCE].transport, &own[DESTINATION].transport) {
            (Transport::Tcp(source), Transport::Tcp(destination)) => {
                self.samples.push(now, index, source, flow.rtt, destination);
                self.signals.push(now, index, source);
            }
            (_, Transport::Sink(delivered)) => self.samples.push_udp(now, index, *delivered),
            _ => {}
        }
    }

    /// A row if the window, the threshold or an RTT has changed since the last one.
    pub(super) fn sample_change(&mut self, now: Time, index: usize, flow: &mut Flow, own: &[Socket]) {
        let Some(source) = own[SOURCE].transport.tcp() else { return };
        let law = source.congestion_control();
        let state = Some((law.cwnd(), law.ssthresh(), source.info().srtt, flow.rtt));
        if state != flow.sampled {
            flow.sampled = state;
            self.sample(now, index, flow, own);
        }
    }
}

/// Time that may be missing, s.
fn secs(d: Option<Duration>) -> f64 {
    d.map_or(f64::NAN, Duration::as_secs_f64)
}

impl FlowSamples {
    /// A row of a TCP flow: its sender, its latest RTT sample, its receiver.
    pub(crate) fn push(
        &mut self,
        at: Time,
        flow: usize,
        sender: &Endpoint,
        rtt: Option<Duration>,
        receiver: &Endpoint,
    ) {
        let (info, law) = (sender.info(), sender.congestion_control());
        let ssthresh = law.ssthresh();
        self.time_s.push(at.as_secs_f64());
        self.flow.push(flow as u32);
        self.cwnd_bytes.push(law.cwnd() as f64);
        self.ssthresh_bytes.push(if ssthresh == u64::MAX { f64::NAN } else { ssthresh as f64 });
        self.srtt_s.push(secs(info.srtt));
        self.rtt_s.push(secs(rtt));
        self.in_flight_bytes.push(info.bytes_in_flight as f64);
        self.delivered_bytes.push(receiver.stats().bytes_received as f64);
        self.pacing_rate_bps.push(info.pacing_rate.map_or(f64::NAN, Rate::as_bps_f64));
    }

    /// A row of a UDP flow, which has delivered this much and has nothing else to tell.
    pub(crate) fn push_udp(&mut self, at: Time, flow: usize, delivered: u64) {
        self.time_s.push(at.as_secs_f64());
        self.flow.push(flow as u32);
        self.delivered_bytes.push(delivered as f64);
        for column in [
            &mut self.cwnd_bytes,
            &mut self.ssthresh_bytes,
            &mut self.srtt_s,
            &mut self.rtt_s,
            &mut self.in_flight_bytes,
            &mut self.pacing_rate_bps,
        ] {
            column.push(f64::NAN);
        }
    }
}

impl Signals {
    /// A row for each signal of a flow's law.
    pub(crate) fn push(&mut self, at: Time, flow: usize, sender: &Endpoint) {
        sender.congestion_control().signals(&mut |name, value| {
            let known = self.names.iter().position(|&n| n == name);
            let index = known.unwrap_or_else(|| {
                self.names.push(name);
                self.names.len() - 1
            });
            self.time_s.push(at.as_secs_f64());
            self.flow.push(flow as u32);
            self.name.push(index as u32);
            self.value.push(value);
        });
    }
}
