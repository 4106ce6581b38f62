//! The endpoint: one side of a connection.

use super::{Config, Segment};
use cclab_algo::cc::{CongestionControl, Phase};
use cclab_algo::{Duration, Rate, Time};

/// Where the connection stands (RFC 9293 §3.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are RFC 9293's")]
pub enum State {
    Closed,
    Listen,
    SynSent,
    SynReceived,
    Established,
    FinWait1,
    FinWait2,
    CloseWait,
    Closing,
    LastAck,
    TimeWait,
}

/// A snapshot for probes and `tcp_info` assertions; segments count as Linux counts them.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// Where the connection stands.
    pub state: State,
    /// Where recovery stands.
    pub phase: Phase,
    /// Window that governs sending now (recovery's own while it lasts), in bytes.
    pub cwnd: u64,
    /// Slow-start threshold, in bytes; `u64::MAX` while arbitrarily high.
    pub ssthresh: u64,
    /// Smoothed RTT, once there is a sample.
    pub srtt: Option<Duration>,
    /// RTT variation.
    pub rttvar: Duration,
    /// Smallest RTT, once there is a sample.
    pub min_rtt: Option<Duration>,
    /// Retransmission timeout, back-off included.
    pub rto: Duration,
    /// Back-offs in a row.
    pub backoff: u32,
    /// Bytes in flight (RFC 6675's pipe).
    pub bytes_in_flight: u64,
    /// Segments sent and not cumulatively acknowledged (Linux `packets_out`, `tcpi_unacked`).
    pub packets_out: u32,
    /// Of these, selectively acknowledged (`tcpi_sacked`; duplicate ACKs where there is no SACK).
    pub sacked_out: u32,
    /// Of these, marked lost (`tcpi_lost`).
    pub lost_out: u32,
    /// Of these, retransmitted and in flight again (`tcpi_retrans`).
    pub retrans_out: u32,
    /// Segments retransmitted so far.
    pub total_retrans: u64,
    /// Pacing rate, if pacing.
    pub pacing_rate: Option<Rate>,
    /// Last delivery-rate sample.
    pub delivery_rate: Option<Rate>,
    /// First unacknowledged offset.
    pub snd_una: u64,
    /// Next new offset.
    pub snd_nxt: u64,
    /// Next offset expected from the peer.
    pub rcv_nxt: u64,
    /// Window the peer offers, in bytes.
    pub snd_wnd: u64,
}

/// Counters since the start of the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Data segments sent, retransmissions included.
    pub segments_sent: u64,
    /// Data segments retransmitted.
    pub segments_retransmitted: u64,
    /// Payload bytes sent, retransmissions included.
    pub bytes_sent: u64,
    /// Payload bytes cumulatively acknowledged by the peer.
    pub bytes_acked: u64,
    /// Payload bytes received in order and handed to the application.
    pub bytes_received: u64,
    /// Pure ACKs sent.
    pub acks_sent: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Fast recoveries entered.
    pub recoveries: u64,
    /// Reductions undone.
    pub undos: u64,
    /// Tail-loss probes sent.
    pub probes: u64,
}

/// One side of a TCP connection.
pub struct Endpoint {
    config: Config,
    cc: Box<dyn CongestionControl>,
}

impl Endpoint {
    /// An endpoint that opens the connection: it has a SYN to transmit.
    pub fn connect(config: Config, cc: Box<dyn CongestionControl>, _now: Time) -> Endpoint {
        Endpoint { config, cc }
    }
    /// An endpoint that waits for a SYN.
    pub fn listen(config: Config, cc: Box<dyn CongestionControl>) -> Endpoint {
        Endpoint { config, cc }
    }

    /// Takes in a segment that arrived at `now`. `ce`: its IP header was marked Congestion Experienced.
    pub fn on_segment(&mut self, _now: Time, _segment: &Segment, _ce: bool) {}
    /// Does what is due at `now`; harmless when nothing is.
    pub fn on_timer(&mut self, _now: Time) {}
    /// The next segment to leave at `now`; call until it gives `None`.
    pub fn poll_transmit(&mut self, _now: Time) -> Option<Segment> {
        None
    }
    /// When [`on_timer`](Self::on_timer) wants to be called; [`Time::NEVER`] when it does not.
    pub fn next_timer(&self) -> Time {
        Time::NEVER
    }

    /// The application writes `bytes` more; `u64::MAX` for a bulk source without end.
    pub fn write(&mut self, _now: Time, _bytes: u64) {}
    /// The application will write no more: a FIN follows the data.
    pub fn close(&mut self, _now: Time) {}
    /// Whether the application reads at once whatever arrives in order (the default) or calls
    /// [`read`](Self::read).
    pub fn set_auto_read(&mut self, _auto: bool) {}
    /// In-order bytes waiting for the application.
    pub fn readable(&self) -> u64 {
        0
    }
    /// The application takes up to `max` bytes; the window opens accordingly.
    pub fn read(&mut self, _now: Time, _max: u64) -> u64 {
        0
    }

    /// A snapshot.
    pub fn info(&self) -> Info {
        todo!()
    }
    /// Where the connection stands.
    pub fn state(&self) -> State {
        State::Closed
    }
    /// Counters.
    pub fn stats(&self) -> &Stats {
        todo!()
    }
    /// The last RTT sample taken, if one was taken by the last [`on_segment`](Self::on_segment).
    pub fn last_rtt_sample(&self) -> Option<Duration> {
        None
    }
    /// The law.
    pub fn congestion_control(&self) -> &dyn CongestionControl {
        &*self.cc
    }
    /// The options.
    pub fn config(&self) -> &Config {
        &self.config
    }
}
