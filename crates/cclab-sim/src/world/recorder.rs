//! Samples of flows and links, signals of laws, captures, as they come.

use super::capture::Capture;
use super::config::{Point, Sampling};
use crate::app::{Flow, FlowSamples, SOURCE, Signals, Socket};
use crate::net::LinkSamples;
use cclab_algo::Time;

/// What is recorded beside the summary.
pub(super) struct Recorder {
    pub(super) sampling: Sampling,
    pub(super) samples: FlowSamples,
    pub(super) link_samples: LinkSamples,
    pub(super) signals: Signals,
    /// The capture, and where.
    pub(super) capture: Option<(Capture, Point)>,
}

impl Recorder {
    /// A row of a flow, number `index`, whose sockets are these.
    pub(super) fn sample(&mut self, now: Time, index: usize, flow: &mut Flow, own: &[Socket]) {
        if !flow.is_sampled() {
            return;
        }
        self.samples.push(&flow.sample(own, now, index));
        if let Some(source) = own[SOURCE].transport.tcp() {
            let law = source.congestion_control();
            law.signals(&mut |name, value| self.signals.push((now, index, name, value)));
        }
    }

    /// A row if the window, the threshold or an RTT has changed since the last one.
    pub(super) fn sample_change(&mut self, now: Time, index: usize, flow: &mut Flow, own: &[Socket]) {
        let Some(source) = own[SOURCE].transport.tcp() else { return };
        let law = source.congestion_control();
        let state = Some((law.cwnd(), law.ssthresh(), source.info().srtt, own[SOURCE].rtt));
        if state != flow.sampled {
            flow.sampled = state;
            self.sample(now, index, flow, own);
        }
    }
}
