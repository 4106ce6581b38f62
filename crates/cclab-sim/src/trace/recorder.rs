//! Rows as they come, in nanoseconds; columns in seconds at the end.

use super::{FlowSamples, LinkSamples, PacketRows, Signals};
use crate::tcp::Endpoint;
use crate::wire::{Body, Packet};
use cclab_algo::{Duration, Rate, Time};

/// What happened to a packet: the index into [`PacketRows::EVENTS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventKind {
    Sent,
    Queued,
    Dropped,
    Lost,
    Forwarded,
    Received,
}

/// Every packet at every link.
#[derive(Default)]
pub(crate) struct PacketLog {
    times: Vec<Time>,
    rows: PacketRows,
}

impl PacketLog {
    pub(crate) fn push(&mut self, at: Time, link: u32, kind: EventKind, packet: &Packet) {
        let (seq, ack, retransmission) = match &packet.body {
            Body::Tcp(segment) => (segment.seq, segment.ack, segment.retransmission),
            Body::Udp(datagram) => (datagram.number, 0, false),
        };
        self.times.push(at);
        let rows = &mut self.rows;
        rows.link.push(link);
        rows.flow.push(packet.flow);
        rows.event.push(kind as u8);
        rows.seq.push(seq);
        rows.ack.push(ack);
        rows.size_bytes.push(packet.size);
        rows.payload_bytes.push(packet.payload());
        rows.retransmission.push(retransmission);
    }

    pub(crate) fn len(&self) -> usize {
        self.times.len()
    }

    /// The rows before `end` in order of time. (A packet lost behind a link is known to be before it leaves.)
    pub(crate) fn finish(self, end: Time) -> PacketRows {
        let mut order: Vec<usize> = (0..self.times.len()).filter(|&i| self.times[i] < end).collect();
        order.sort_by_key(|&i| self.times[i]);
        fn pick<T: Copy>(order: &[usize], column: &[T]) -> Vec<T> {
            order.iter().map(|&i| column[i]).collect()
        }
        let rows = &self.rows;
        PacketRows {
            time_s: order.iter().map(|&i| self.times[i].as_secs_f64()).collect(),
            link: pick(&order, &rows.link),
            flow: pick(&order, &rows.flow),
            event: pick(&order, &rows.event),
            seq: pick(&order, &rows.seq),
            ack: pick(&order, &rows.ack),
            size_bytes: pick(&order, &rows.size_bytes),
            payload_bytes: pick(&order, &rows.payload_bytes),
            retransmission: pick(&order, &rows.retransmission),
        }
    }
}

impl LinkSamples {
    pub(crate) fn push(&mut self, at: Time, link: usize, packets: u64, bytes: u64) {
        self.time_s.push(at.as_secs_f64());
        self.link.push(link as u32);
        self.queue_packets.push(packets as f64);
        self.queue_bytes.push(bytes as f64);
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
