//! The options of an endpoint, and the named profiles.

use super::Metrics;
use cclab_algo::params::Flavour;
use cclab_algo::{Duration, Rate};
use std::sync::Arc;

/// Loss recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Go back N from cwnd = 1 (Jacobson 1988).
    Tahoe,
    /// Fast retransmit and fast recovery, left by the first new ACK (RFC 2581).
    Reno,
    /// Stays in recovery across partial ACKs (RFC 6582).
    NewReno,
    /// RFC 6675, the window steered by PRR (RFC 6937) unless `prr` is off.
    Sack,
    /// RACK-TLP (RFC 8985), the window steered by PRR.
    Rack,
}

/// How the retransmission timeout is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtoStyle {
    /// RTO = srtt + max(4 rttvar, `min`), mdev_max per round (Linux `tcp_rtt_estimator`).
    Linux,
    /// RTO = max(`min`, srtt + max(G, 4 rttvar)) (RFC 6298).
    Rfc6298,
}

/// Retransmission timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtoConfig {
    /// Whose rule.
    pub style: RtoStyle,
    /// Floor (of the RTO in RFC 6298, of the variance term in Linux).
    pub min: Duration,
    /// Ceiling, also of the back-off.
    pub max: Duration,
    /// Before the first RTT sample.
    pub initial: Duration,
    /// Clock granularity G: RTT samples are rounded up to it where it is not zero.
    pub granularity: Duration,
}

/// Delayed acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayedAck {
    /// An ACK for every n-th full segment; 1 acknowledges each.
    pub every: u32,
    /// First delay; Linux adapts it (ATO) when `adaptive`.
    pub timeout: Duration,
    /// Adapt the timeout to the gaps between segments (Linux ATO, 40 to 200 ms).
    pub adaptive: bool,
    /// Segments acknowledged at once at the start of a connection (Linux quick-ACK, up to 16).
    pub quickack: u32,
}

/// Pacing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// Segments leave as the window opens.
    Off,
    /// At 2 cwnd/srtt while cwnd < ssthresh/2 and 1.2 cwnd/srtt after (Linux `tcp_update_pacing_rate`),
    /// or at the law's own rate.
    On,
}

/// Explicit congestion notification: what is asked for, and agreed to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// None.
    #[default]
    Off,
    /// What the law needs: RFC 3168, with DCTCP's receiver (RFC 8257) for a law that counts marks, AccECN for one that
    /// sends ECT(1).
    On,
    /// AccECN (RFC 9768), whatever the law.
    Accurate,
    /// What the law needs, of a peer that asks for it; none is asked for (Linux's default).
    Accept,
    /// What the law needs, and AccECN of a peer that asks for it (Linux `tcp_ecn` 4).
    OnOrAccurate,
    /// AccECN or what the law needs, of a peer that asks for it; none is asked for (Linux `tcp_ecn` 5).
    AcceptAccurate,
}

/// Segments that leave the host together are cut out of one that is larger (Linux `tcp_tso_autosize`): the last of them is
/// marked PSH, and a receiver that has read all acknowledges it at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tso {
    /// So many at least, where window and data allow.
    pub min_segments: u32,
    /// They are more where the smallest RTT is short, as told in units of 2 to this power, us (`tcp_tso_rtt_log`).
    pub rtt_log: u32,
}

impl Tso {
    /// With the rest as Linux has it.
    pub const fn of(min_segments: u32) -> Tso {
        Tso { min_segments, rtt_log: 9 }
    }

    /// Segments of `mss` bytes of such a burst: what 1/1024 s of the pacing rate has, and of the `largest` packet a part that halves
    /// with each unit of the smallest RTT; the largest where the rate is not known.
    pub fn segments(self, rate: Option<Rate>, min_rtt: Option<Duration>, mss: u64, largest: u64) -> u64 {
        let units = min_rtt.map_or(u64::MAX, |rtt| (rtt.0 / 1000) >> self.rtt_log);
        let near = if units < 32 { largest >> units } else { 0 };
        let bytes = rate.map_or(largest, |rate| rate.as_bps_f64() as u64 / 8 / 1024 + near);
        (bytes.min(largest) / mss).max(self.min_segments.into())
    }
}

/// A named set of options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// What a current kernel does.
    Linux,
    /// What a kernel of around 2010 did.
    Linux26,
    /// What the papers of around 2000 ran.
    Classic,
}

/// The options of one endpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Payload bytes of a full segment, options already taken off.
    pub mss: u32,
    /// Loss recovery.
    pub recovery: Recovery,
    /// Offer and use SACK.
    pub sack: bool,
    /// Report what came twice (DSACK, RFC 2883).
    pub dsack: bool,
    /// Offer and use timestamps (1 ms clock, RFC 7323).
    pub timestamps: bool,
    /// Offer and use window scaling.
    pub window_scaling: bool,
    /// It is a subflow of a connection over several paths: what it sends after the handshake carries a DSS option (RFC 8684 §3.3).
    pub multipath: bool,
    /// Explicit congestion notification.
    pub ecn: Ecn,
    /// ECN is not asked for, or not used, where the path seems to dislike it (Linux `tcp_ecn_fallback`).
    pub ecn_fallback: bool,
    /// AccECN's option by Linux's `tcp_ecn_option`: 0 never; else in the SYN-ACK, and to a peer that sends it too: 1 where a counter
    /// has changed and three times a round trip, 2 on every segment until the path is seen to drop it, 3 also then. `None`: only on
    /// ACKs after a counter has changed (RFC 9768 §3.2.3.3, simple scheme).
    pub accecn_option: Option<u8>,
    /// Ask for this rate on the SYN (Quick-Start, RFC 4782).
    pub quick_start: Option<Rate>,
    /// Data on the SYN (RFC 7413), with a cookie of an earlier connection.
    pub fast_open: bool,
    /// Hosts remember nothing of a connection that is over (Linux `tcp_no_metrics_save`).
    pub no_metrics_save: bool,
    /// Of what they remember, not the slow-start threshold (Linux `tcp_no_ssthresh_metrics_save`).
    pub no_ssthresh_metrics_save: bool,
    /// What is remembered of the peer.
    pub metrics: Option<Metrics>,
    /// How often a SYN, and a SYN-ACK, goes again before the connection is given up (Linux `tcp_syn_retries`, beside those that are a
    /// second apart, and `tcp_synack_retries`).
    pub syn_retries: u32,
    /// See `syn_retries`.
    pub synack_retries: u32,
    /// Initial window, in segments.
    pub initial_window: u32,
    /// Initial slow-start threshold, in bytes.
    pub initial_ssthresh: Option<u64>,
    /// The receive buffer, in bytes: the largest window offered, but for `adv_win_scale`.
    pub receive_buffer: u64,
    /// The buffer begins with this size and grows to `receive_buffer` as the application reads (Linux `tcp_rmem`); `None`: it
    /// has its size from the first segment on, and all of it is window.
    pub initial_receive_buffer: Option<u64>,
    /// It grows (Linux `tcp_moderate_rcvbuf`).
    pub moderate_receive_buffer: bool,
    /// What of the buffer is not window: 1/2^n of it if n is above 0, else all but 1/2^(-n) (Linux up to 6.5).
    pub adv_win_scale: Option<i8>,
    /// The send buffer, in bytes: most that may be sent and not acknowledged; with `initial_send_buffer` what that grows to.
    pub send_buffer: Option<u64>,
    /// The send buffer is memory, which begins with this size and grows with the window (Linux `tcp_wmem`).
    pub initial_send_buffer: Option<u64>,
    /// Segments that leave together.
    pub tso: Option<Tso>,
    /// In slow start the window grows by one segment for each ACK, whatever it acknowledges (Linux before 3.13).
    /// The ACK that ends a recovery raises nothing, and what SACK blocks tell of counts once it is acknowledged, not before.
    pub growth_per_ack: bool,
    /// Delayed acknowledgements.
    pub delayed_ack: DelayedAck,
    /// Duplicate ACKs after the third wait so long, or a twentieth of the RTT, for others to be said with them (Linux
    /// `tcp_comp_sack_delay_ns`); none do otherwise.
    pub comp_sack_delay: Option<Duration>,
    /// How much longer a timer may wait.
    pub comp_sack_slack: Duration,
    /// Most ACKs that do not leave.
    pub comp_sack_nr: u32,
    /// Retransmission timeout.
    pub rto: RtoConfig,
    /// The first six timeouts in a row of a sender with fewer than four segments out do not back off (Linux `tcp_thin_linear_timeouts`).
    pub thin_linear_timeouts: bool,
    /// Time between two answers to what is out of place and brings no data (Linux `tcp_invalid_ratelimit`).
    pub challenge_gap: Duration,
    /// Duplicate ACKs that mean a loss.
    pub dupthresh: u32,
    /// Most segments that this grows to where the path is seen to reorder (Linux `tcp_max_reordering`).
    pub max_reordering: u32,
    /// RACK's reordering window grows with each round trip that brings a DSACK (RFC 8985 §6.2).
    pub reo_wnd_adapts: bool,
    /// RACK has no patience where `dupthresh` segments are SACKed and no reordering was seen.
    pub rack_dupthresh: bool,
    /// New data on the first two duplicate ACKs (RFC 3042).
    pub limited_transmit: bool,
    /// Detect spurious timeouts (RFC 5682).
    pub frto: bool,
    /// Tail-loss probes (RFC 8985 §7); only with [`Recovery::Rack`].
    pub tlp: bool,
    /// Proportional rate reduction (RFC 6937) in [`Recovery::Sack`]; RACK always uses it.
    pub prr: bool,
    /// Undo reductions shown to be spurious (Eifel by timestamps, DSACK).
    pub undo: bool,
    /// Pacing.
    pub pacing: Pacing,
    /// Nagle's algorithm (Minshall's variant).
    pub nagle: bool,
    /// Let the window grow only while the sender is limited by it (RFC 7661's aim, Linux's test).
    pub cwnd_validation: bool,
    /// Shrink the window after idle times (RFC 2861, RFC 5681 §4.1).
    pub slow_start_after_idle: bool,
    /// Whom to follow where Linux and the paper differ; handed to the law too.
    pub flavour: Flavour,
}

impl Config {
    /// The `linux` profile: what a current kernel does, with this MSS.
    pub fn linux(mss: u32) -> Config {
        Config {
            mss,
            recovery: Recovery::Rack,
            sack: true,
            dsack: true,
            timestamps: true,
            window_scaling: true,
            multipath: false,
            ecn: Ecn::Off,
            ecn_fallback: true,
            accecn_option: None,
            quick_start: None,
            fast_open: false,
            no_metrics_save: true,
            no_ssthresh_metrics_save: true,
            metrics: None,
            syn_retries: 6,
            synack_retries: 5,
            initial_window: 10,
            initial_ssthresh: None,
            receive_buffer: 256 << 20,
            initial_receive_buffer: None,
            moderate_receive_buffer: true,
            adv_win_scale: None,
            send_buffer: None,
            initial_send_buffer: None,
            tso: None,
            growth_per_ack: false,
            delayed_ack: DelayedAck { every: 2, timeout: Duration::from_millis(40), adaptive: true, quickack: 16 },
            comp_sack_delay: None,
            comp_sack_slack: Duration::from_micros(100),
            comp_sack_nr: 44,
            rto: RtoConfig {
                style: RtoStyle::Linux,
                min: Duration::from_millis(200),
                max: Duration::from_secs(120),
                initial: Duration::from_secs(1),
                granularity: Duration::ZERO,
            },
            thin_linear_timeouts: false,
            challenge_gap: Duration::from_millis(500),
            dupthresh: 3,
            max_reordering: 300,
            reo_wnd_adapts: true,
            rack_dupthresh: true,
            limited_transmit: true,
            frto: true,
            tlp: true,
            prr: true,
            undo: true,
            pacing: Pacing::Off,
            nagle: false,
            cwnd_validation: true,
            slow_start_after_idle: true,
            flavour: Flavour::Linux,
        }
    }

    /// The `linux-2.6` profile: what a kernel of around 2010 did, with this MSS. Growth per ACK, RFC 3517 without RACK, tail
    /// probes and PRR, initial window 3, initial RTO 3 s (RFC 3390, RFC 2988).
    pub fn linux_2_6(mss: u32) -> Config {
        let linux = Config::linux(mss);
        Config {
            recovery: Recovery::Sack,
            initial_window: 3,
            rto: RtoConfig { initial: Duration::from_secs(3), ..linux.rto },
            tlp: false,
            prr: false,
            max_reordering: 127,
            growth_per_ack: true,
            ..linux
        }
    }

    /// The same for a connection to a peer of which this is remembered (Linux `tcp_init_metrics`).
    pub fn knowing(self: &Arc<Config>, metrics: Metrics) -> Arc<Config> {
        if self.no_metrics_save || metrics == Metrics::default() {
            return Arc::clone(self);
        }
        let mut config = Config { metrics: Some(metrics), ..(**self).clone() };
        if metrics.ssthresh > 0 && !config.no_ssthresh_metrics_save {
            config.initial_ssthresh = Some(metrics.ssthresh * u64::from(config.mss));
        }
        Arc::new(config)
    }

    /// The largest window that the receiver offers, in bytes.
    pub fn receive_window(&self) -> u64 {
        self.adv_win_scale.map_or(self.receive_buffer, |n| window_of(self.receive_buffer, n))
    }

    /// The `classic` profile: the papers of around 2000, with this MSS. No SACK unless asked, no timestamps,
    /// no pacing, initial window 2, RTO of RFC 6298 with a floor of 1 s, an ACK for every second segment
    /// within 100 ms.
    pub fn classic(mss: u32, recovery: Recovery) -> Config {
        let sack = matches!(recovery, Recovery::Sack | Recovery::Rack);
        Config {
            recovery,
            sack,
            timestamps: false,
            window_scaling: true,
            initial_window: 2,
            delayed_ack: DelayedAck { every: 2, timeout: Duration::from_millis(100), adaptive: false, quickack: 0 },
            rto: RtoConfig {
                style: RtoStyle::Rfc6298,
                min: Duration::from_secs(1),
                max: Duration::from_secs(64),
                initial: Duration::from_secs(3),
                granularity: Duration::ZERO,
            },
            max_reordering: 3,
            limited_transmit: false,
            frto: false,
            tlp: false,
            prr: false,
            undo: false,
            cwnd_validation: false,
            slow_start_after_idle: false,
            flavour: Flavour::Paper,
            ..Config::linux(mss)
        }
    }
}

/// What of a buffer of so many bytes is window, with this `adv_win_scale`.
pub(super) fn window_of(bytes: u64, scale: i8) -> u64 {
    if scale > 0 { bytes - (bytes >> scale) } else { bytes >> -scale }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::memory::{BELOW_PLAIN, largest};

    /// The bursts of Linux 6.18 on a TUN device, of segments of 1000 bytes: by `tcp_tso_rtt_log`, smallest RTT and pacing rate.
    #[test]
    fn bursts_are_as_long_as_the_kernels() {
        for (rtt_log, min_rtt_us, rate, segments) in [
            (9, 100_250, 399_001, 2),
            (14, 100_160, 398_132, 2),
            (15, 100_191, 399_234, 8),
            (9, 2300, 4_825_235, 8),
            (0, 2300, 4_807_836, 4),
        ] {
            let tso = Tso { rtt_log, ..Tso::of(2) };
            let min_rtt = Some(Duration::from_micros(min_rtt_us));
            let burst = tso.segments(Some(Rate(8 * rate)), min_rtt, 1000, largest(BELOW_PLAIN));
            assert_eq!(burst, segments, "{rtt_log}, {min_rtt_us} us, {rate} byte/s");
        }
        assert_eq!(Tso::of(2).segments(None, None, 1000, largest(BELOW_PLAIN)), 65, "no rate is known");
    }
}
