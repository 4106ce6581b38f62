//! What a congestion control is: the events that it sees, and the questions that it answers.

mod feedback;
mod news;
mod sibling;

pub use feedback::{Cookie, Feedback};
pub use news::{News, NewsEvent, Notices, Resume, Standby, Standing};
pub use sibling::Share;

use crate::params::Flavour;
use crate::rng::Stream;
use crate::units::{Duration, Rate, Time};

/// What a law is told when its connection is made.
#[derive(Clone, Debug)]
pub struct Context {
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// Initial window, in segments.
    pub initial_window: u32,
    /// Initial slow-start threshold, in bytes; `None` is "arbitrarily high" (RFC 5681 §3.1).
    pub initial_ssthresh: Option<u64>,
    /// Whom to follow where Linux and the paper differ.
    pub flavour: Flavour,
    /// Whether the sender paces its segments.
    pub paced: bool,
    /// Whether the sender's host hands over segments in bursts, of a millisecond of the pacing rate.
    pub bursts: bool,
    /// A random stream of the flow's own.
    pub rng: Stream,
}

impl Context {
    /// A context for tests and notebooks: this MSS, an initial window of 10, Linux flavour, no pacing.
    pub fn new(mss: u32) -> Self {
        Context {
            mss,
            initial_window: 10,
            initial_ssthresh: None,
            flavour: Flavour::Linux,
            paced: false,
            bursts: false,
            rng: Stream::new(0, "cc"),
        }
    }
}

/// Where the sender stands in loss recovery (the names are Linux's).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Nothing wrong.
    #[default]
    Open,
    /// Duplicate or selective acknowledgements seen, nothing marked lost.
    Disorder,
    /// Reducing because of an ECN echo or a loss repaired by a tail probe.
    Cwr,
    /// Fast retransmit under way.
    Recovery,
    /// After a retransmission timeout.
    Loss,
}

/// Forward-path timing of the packet that caused an ACK (TCP Santa Cruz and other one-way-delay laws).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneWay {
    /// First sequence number of that packet.
    pub seq: u64,
    /// When this copy of it was sent, by the sender's clock.
    pub sent: Time,
    /// When it arrived, by the receiver's clock (the same clock in the simulator).
    pub arrived: Time,
}

/// An acknowledgement was taken in.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckEvent {
    /// Now.
    pub now: Time,
    /// Bytes newly acknowledged cumulatively, without those that SACK had reported before: what the window
    /// may grow by (a hole filled after a thousand SACKs is one segment, as in Linux).
    pub acked_bytes: u64,
    /// Bytes newly delivered: cumulatively or selectively acknowledged for the first time.
    pub delivered_bytes: u64,
    /// RTT sample of this ACK, if it has a valid one.
    pub rtt: Option<Duration>,
    /// Smoothed RTT; zero before the first sample.
    pub srtt: Duration,
    /// Smallest RTT seen on the connection (windowed as the endpoint is configured); zero before the first.
    pub min_rtt: Duration,
    /// Bytes in flight (RFC 6675's pipe) after this ACK.
    pub bytes_in_flight: u64,
    /// Bytes in flight before this ACK.
    pub prior_in_flight: u64,
    /// First unacknowledged offset, after this ACK.
    pub snd_una: u64,
    /// Next offset to be sent for the first time.
    pub snd_nxt: u64,
    /// Delivery-rate sample (draft-cheng-iccrg-delivery-rate-estimation), if valid.
    pub delivery_rate: Option<Rate>,
    /// Whether that sample was taken while the application limited the sender.
    pub app_limited: bool,
    /// Bytes delivered on the connection so far.
    pub delivered: u64,
    /// `delivered` when the newest packet acknowledged here was sent: a round has passed once this
    /// exceeds the `delivered` noted at its start.
    pub prior_delivered: u64,
    /// Bytes marked lost by this ACK.
    pub lost_bytes: u64,
    /// Whether the window may grow: the sender was limited by it, and recovery does not govern it.
    pub may_grow: bool,
    /// Where loss recovery stands after this ACK.
    pub phase: Phase,
    /// Forward-path timing of the packet that caused this ACK.
    pub one_way: Option<OneWay>,
    /// Whether the ACK carried an ECN echo.
    pub ecn_echo: bool,
    /// Bytes newly delivered that the receiver reports as marked Congestion Experienced (AccECN, or DCTCP's receiver);
    /// 0 with classic ECN.
    pub ce_bytes: u64,
    /// The congestion header that came back with the ACK.
    pub feedback: Feedback,
    /// Bytes marked lost on the connection so far.
    pub lost: u64,
    /// `lost` when the newest packet delivered by this ACK was sent. Filled in only for laws that
    /// [`tracks_packets`](CongestionControl::tracks_packets).
    pub prior_lost: u64,
    /// Bytes in flight right after that packet was sent, itself included. Filled in as `prior_lost`.
    pub tx_in_flight: u64,
    /// When that packet was sent.
    pub newest_sent: Option<Time>,
}

/// A packet was marked lost.
#[derive(Clone, Copy, Debug)]
pub struct LostEvent {
    /// Now.
    pub now: Time,
    /// Its payload bytes.
    pub bytes: u64,
    /// When it was sent.
    pub sent: Time,
    /// Bytes in flight right after it was sent, itself included.
    pub tx_in_flight: u64,
    /// Bytes marked lost on the connection when it was sent.
    pub prior_lost: u64,
    /// Bytes marked lost on the connection so far, this packet included.
    pub lost: u64,
    /// Bytes delivered on the connection when it was sent.
    pub prior_delivered: u64,
    /// Bytes delivered on the connection so far.
    pub delivered: u64,
    /// Whether the application limited the sender when it was sent.
    pub app_limited: bool,
}

/// What a law makes of ECN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnUse {
    /// ECT(0), and [`CongestionControl::on_congestion`] with [`Signal::Ecn`] once per window (RFC 3168).
    #[default]
    Classic,
    /// ECT(0) and [`AckEvent::ce_bytes`]; the law reduces by itself (RFC 8257).
    Dctcp,
    /// ECT(1) and [`AckEvent::ce_bytes`] by AccECN; the law reduces by itself (RFC 9331).
    L4s,
}

/// Why the law is told to reduce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// A loss was detected; the first of its window.
    Loss,
    /// An ECN echo; the first of its window.
    Ecn,
    /// A tail-loss probe repaired a loss.
    TailLoss,
}

/// Congestion was detected: once per window of data.
#[derive(Clone, Copy, Debug)]
pub struct CongestionEvent {
    /// Now.
    pub now: Time,
    /// How it was detected.
    pub signal: Signal,
    /// Bytes sent and not yet cumulatively acknowledged (RFC 5681's FlightSize).
    pub flight_size: u64,
    /// Smoothed RTT.
    pub srtt: Duration,
    /// Smallest RTT.
    pub min_rtt: Duration,
}

/// The retransmission timer expired.
#[derive(Clone, Copy, Debug)]
pub struct TimeoutEvent {
    /// Now.
    pub now: Time,
    /// Bytes sent and not yet cumulatively acknowledged (RFC 5681's FlightSize).
    pub flight_size: u64,
    /// Whether this is the first timeout for this data: only then does ssthresh fall (RFC 5681 §3.1).
    pub first: bool,
    /// Bytes that stay in flight: sent so recently that RACK does not take them for lost. A window of one segment has no room
    /// for them; Linux's has (`tcp_enter_loss`).
    pub in_flight: u64,
}

/// The connection is established; the window may still be set.
#[derive(Clone, Copy, Debug)]
pub struct EstablishedEvent {
    /// Now.
    pub now: Time,
    /// RTT of the handshake; zero if it has no sample.
    pub srtt: Duration,
}

/// Recovery ended; everything that was outstanding when it began has been acknowledged.
#[derive(Clone, Copy, Debug)]
pub struct RecoveredEvent {
    /// Now.
    pub now: Time,
    /// Which phase was left.
    pub phase: Phase,
}

/// The last reduction turned out to be a mistake (Eifel, DSACK, F-RTO): restore what it took.
#[derive(Clone, Copy, Debug)]
pub struct UndoEvent {
    /// Now.
    pub now: Time,
}

/// Data leaves while nothing was in flight (Linux `CA_EVENT_TX_START`), whatever becomes of the window: that time is not
/// one in which the window was used (RFC 9438 §5.8).
#[derive(Clone, Copy, Debug)]
pub struct IdleEvent {
    /// Now.
    pub now: Time,
    /// Since data was last sent.
    pub idle: Duration,
    /// Whether it was for want of data, rather than of room at the receiver.
    pub app_limited: bool,
}

/// The endpoint proposes a smaller window: the sender was idle or did not use the one it has (RFC 2861, RFC 5681 §4.1), or
/// a SYN was lost (§3.1). A law that governs its window in recovery is asked for the last only.
#[derive(Clone, Copy, Debug)]
pub struct RestartEvent {
    /// Now.
    pub now: Time,
    /// Proposed window, in bytes.
    pub cwnd: u64,
    /// Proposed slow-start threshold, in bytes.
    pub ssthresh: u64,
}

/// A law of congestion control.
///
/// Hooks are past events; they return nothing and read no clock. The window is asked for afterwards.
pub trait CongestionControl: Send {
    /// An ACK was taken in. In [`Phase::Recovery`] and [`Phase::Cwr`] recovery governs the window.
    fn on_ack(&mut self, ev: &AckEvent);
    /// Congestion was detected, for the first time in this window. The law lowers its window and its
    /// [`ssthresh`](Self::ssthresh) at once; the endpoint steers the bytes in flight there.
    fn on_congestion(&mut self, ev: &CongestionEvent);
    /// The retransmission timer expired.
    fn on_timeout(&mut self, ev: &TimeoutEvent);
    /// The connection is established, nothing has been sent yet.
    fn on_established(&mut self, _ev: &EstablishedEvent) {}
    /// Recovery ended.
    fn on_recovered(&mut self, _ev: &RecoveredEvent) {}
    /// The last reduction was a mistake.
    fn on_undo(&mut self, ev: &UndoEvent);
    /// Data leaves while nothing was in flight; told after [`on_restart`](Self::on_restart) where the window shrinks too.
    fn on_idle(&mut self, _ev: &IdleEvent) {}
    /// A smaller window is proposed.
    fn on_restart(&mut self, ev: &RestartEvent);

    /// Congestion window, in bytes; at least one MSS.
    fn cwnd(&self) -> u64;
    /// Slow-start threshold, in bytes; `u64::MAX` while it is arbitrarily high.
    fn ssthresh(&self) -> u64;
    /// The law's own pacing rate. `None`: the endpoint derives one from cwnd and srtt if pacing is on.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }
    /// A packet was marked lost; told only to laws that [`tracks_packets`](Self::tracks_packets).
    fn on_lost(&mut self, _ev: &LostEvent) {}
    /// Whether the law wants to know of each packet lost, and what was in flight when a packet was sent.
    fn tracks_packets(&self) -> bool {
        false
    }
    /// Whether the law's window holds in recovery too, instead of recovery's own (rate-based laws).
    fn governs_recovery(&self) -> bool {
        false
    }
    /// What the law makes of ECN, where the flow uses it.
    fn ecn(&self) -> EcnUse {
        EcnUse::Classic
    }
    /// Whether the law reads [`AckEvent::one_way`]: an endpoint of which nobody asks need not carry the echo.
    fn reads_one_way(&self) -> bool {
        false
    }
    /// What its data packets are to ask of the routers; a law that asks for nothing at first never does.
    fn request(&self) -> Feedback {
        Feedback::None
    }
    /// What stations of an ad hoc network are to tell it.
    fn notices(&self) -> Notices {
        Notices::None
    }
    /// News of the route came.
    fn on_news(&mut self, _ev: &NewsEvent) {}
    /// Whether the sender works; it stands by from some news on, not otherwise.
    fn standing(&self) -> Standing {
        Standing::default()
    }
    /// What it lets its siblings know, beside its window and RTT, which are in `share` already.
    fn share(&self, _share: &mut Share) {}
    /// Something happened to a subflow of its connection: all of them, of which it is number `me`. A connection of one path never
    /// says so.
    fn on_siblings(&mut self, _all: &[Share], _me: usize) {}
    /// When and why the law could not go on, if so: one written in another language may fail.
    fn failed(&self) -> Option<(Time, String)> {
        None
    }
    /// What the law wants recorded, under its own names, in SI units or segments.
    fn signals(&self, _record: &mut dyn FnMut(&'static str, f64)) {}
}
