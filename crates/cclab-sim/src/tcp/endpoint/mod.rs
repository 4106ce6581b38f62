//! The endpoint: one side of a connection.
//!
//! ```text
//!  segment ─► mod (states) ─► handshake
//!                          ─► sender ─► scoreboard, rto, rate ─► recovery ─► the law
//!                          ─► receiver
//!  poll    ◄─ sender (retransmissions, then new data, as window and pacer allow), else a pure ACK
//! ```

use super::{Config, Metrics};
use crate::wire::ecn::CE;
use crate::wire::{Flags, News, Segment};
use cclab_algo::cc::{CongestionControl, Phase, Share};
use cclab_algo::{Duration, Rate, Time};
use std::sync::Arc;

mod arrival;
mod compression;
mod ecn;
mod fast_open;
mod handshake;
mod moderation;
mod receive_rtt;
mod receiver;
mod sender;

pub use arrival::refusal;
use ecn::Style;
pub use fast_open::FastOpen;
use handshake::Handshake;
use receiver::Receiver;
use sender::{Outgoing, Sender};

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
    /// Segments retransmitted so far, SYN and SYN-ACK among them.
    pub total_retrans: u64,
    /// How many segments late one may be that is not lost (`tcpi_reordering`).
    pub reordering: u32,
    /// How often one came late (`tcpi_reord_seen`).
    pub reord_seen: u32,
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
    /// Segments that the peer has reported as marked (Linux `tcpi_delivered_ce`).
    pub delivered_ce: u32,
}

/// Counters since the start of the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Stats {
    /// Payload bytes received in order and handed to the application.
    pub bytes_received: u64,
    /// Pure ACKs sent.
    pub acks_sent: u64,
    /// Data segments sent, retransmissions included.
    pub segments_sent: u64,
    /// Payload bytes sent, retransmissions included.
    pub bytes_sent: u64,
    /// Payload bytes cumulatively acknowledged by the peer.
    pub bytes_acked: u64,
    /// Data segments retransmitted.
    pub segments_retransmitted: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Fast recoveries entered.
    pub recoveries: u64,
    /// Reductions undone.
    pub undos: u64,
    /// Tail-loss probes sent.
    pub probes: u64,
}

/// How long TIME-WAIT lasts (Linux `TCP_TIMEWAIT_LEN`).
const TIME_WAIT: Duration = Duration::from_secs(60);

/// One side of a TCP connection.
///
/// What a receiver needs lies first, then what a sender needs, last what both seldom do: with many connections each line of
/// memory is far away.
#[repr(C)]
pub struct Endpoint {
    handshake: Handshake,
    state: State,
    /// The application has closed, and reads no more.
    deaf: bool,
    /// All that is left of it answers what still comes, and knows nothing of ECN (Linux `tcp_time_wait`).
    remnant: bool,
    time_wait_ends: Time,
    /// An ACK of what came before marking began or ended (RFC 8257 §3.2), or before a block that has no room beside it.
    early: Option<Box<Segment>>,
    fast_open: Option<Box<FastOpen>>,
    rcv: Receiver,
    snd: Sender,
    /// When the last challenge ACK left (RFC 5961 §7), ms; `u32::MAX` before.
    challenged_ms: u32,
}

impl Endpoint {
    /// An endpoint that opens the connection: it has a SYN to transmit.
    pub fn connect(config: impl Into<Arc<Config>>, cc: Box<dyn CongestionControl>, _now: Time) -> Endpoint {
        let mut endpoint = Endpoint::listen(config, cc);
        endpoint.state = State::SynSent;
        endpoint.handshake.pending = true;
        endpoint
    }
    /// An endpoint that waits for a SYN. It tells the peer exact times only if its own law reads such: both ends have the same.
    pub fn listen(config: impl Into<Arc<Config>>, cc: Box<dyn CongestionControl>) -> Endpoint {
        let config = config.into();
        Endpoint {
            state: State::Listen,
            deaf: false,
            remnant: false,
            rcv: Receiver::new(Arc::clone(&config), cc.reads_one_way()),
            handshake: Handshake::new(),
            time_wait_ends: Time::NEVER,
            early: None,
            fast_open: config.fast_open.then(|| Box::new(FastOpen::acquainted())),
            snd: Sender::new(config, cc),
            challenged_ms: u32::MAX,
        }
    }

    /// Takes in a segment that arrived at `now`. `ce`: its IP header was marked Congestion Experienced.
    pub fn on_segment(&mut self, now: Time, segment: &Segment, ce: bool) {
        self.snd.begin();
        match self.state {
            State::Closed => self.early = refusal(now, segment).map(Box::new),
            State::Listen | State::SynSent => self.on_handshake_segment(now, segment),
            _ => self.on_connected_segment(now, segment, ce),
        }
    }

    fn on_connected_segment(&mut self, now: Time, segment: &Segment, ce: bool) {
        if !self.expects(segment) && !self.takes(now, segment) {
            return;
        }
        if segment.has_timestamps {
            self.rcv.note_timestamp(segment);
        }
        self.snd.on_ack(now, segment);
        if segment.seq_len() > 0 {
            if !segment.feedback.is_none() && segment.asks_routers() {
                self.rcv.take_header(segment.feedback);
            }
            if self.rcv.marks.style != Style::Off {
                self.note_mark(now, segment, if ce { CE } else { segment.ecn });
            }
            if self.rcv.must_say_first(segment) {
                self.say_first(now);
            }
            self.snd.stats.bytes_received += self.rcv.on_data(now, segment, self.snd.rtt());
        } else if ce && self.rcv.marks.style == Style::Accurate {
            self.rcv.ack_now |= self.rcv.marks.count_empty();
        }
        self.move_on(now);
    }

    /// Data arrived under this ECN codepoint. Where DCTCP's receiver sees marking begin or end, it acknowledges first
    /// what came before.
    #[inline(never)]
    fn note_mark(&mut self, now: Time, segment: &Segment, codepoint: u8) {
        if self.rcv.marks.turns(codepoint) && self.rcv.owes_ack() {
            self.say_first(now);
        }
        self.snd.see_option(segment);
        self.rcv.take_ecn(segment, codepoint);
    }

    /// Acknowledges what came before the segment that is just arriving.
    #[cold]
    fn say_first(&mut self, now: Time) {
        let mut early = Segment::default();
        self.ack(now, Flags::ACK | self.rcv.marks.flags(), &mut early);
        self.early = Some(Box::new(early));
    }

    /// News of the route came.
    pub fn on_news(&mut self, now: Time, news: News) {
        self.snd.on_news(now, news);
    }

    /// Both directions' FINs move the state.
    fn move_on(&mut self, now: Time) {
        let (sent, acked) = (self.snd.fin_sent(), self.snd.fin_acked());
        let received = self.rcv.fin_received;
        let next = match self.state {
            State::Established
            | State::CloseWait
            | State::FinWait1
            | State::FinWait2
            | State::Closing
            | State::LastAck => match (received, sent, acked) {
                (false, false, _) => State::Established,
                (false, true, false) => State::FinWait1,
                (false, true, true) => State::FinWait2,
                (true, false, _) => State::CloseWait,
                // Who closed second waits for the last ACK; who closed first, or at once, waits out TIME-WAIT.
                (true, true, false) => {
                    if matches!(self.state, State::CloseWait | State::LastAck) {
                        State::LastAck
                    } else {
                        State::Closing
                    }
                }
                (true, true, true) => {
                    if self.state == State::LastAck {
                        State::Closed
                    } else {
                        State::TimeWait
                    }
                }
            },
            other => other,
        };
        if next != self.state {
            // No FIN of ours will take the ACK of the peer's along.
            self.rcv.ack_now |= received && matches!(self.state, State::FinWait1 | State::FinWait2);
            if next == State::TimeWait {
                self.time_wait_ends = now + TIME_WAIT;
            }
            self.state = next;
        }
    }

    /// Does what is due at `now`; harmless when nothing is.
    pub fn on_timer(&mut self, now: Time) {
        self.on_handshake_timer(now);
        self.snd.on_timer(now);
        self.rcv.on_timer(now);
        if now >= self.time_wait_ends {
            self.time_wait_ends = Time::NEVER;
            self.state = State::Closed;
        }
    }

    /// The next segment to leave at `now`; call until it gives `None`.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        let mut segment = Segment::default();
        self.transmit(now, &mut segment).then_some(segment)
    }

    /// As [`poll_transmit`](Self::poll_transmit), into `segment`, for that is not copied then. Says whether there is one.
    pub fn transmit(&mut self, now: Time, segment: &mut Segment) -> bool {
        if self.handshake.pending {
            *segment = self.handshake_segment(now);
            return true;
        }
        if self.early.is_some() {
            return self.early_ack(segment);
        }
        let ack_alone = std::mem::take(&mut self.handshake.ack_alone);
        if !ack_alone && let Some(out) = self.snd.poll(now) {
            if out.fin {
                self.move_on(now);
            }
            self.data_segment(now, out, segment);
            return true;
        }
        self.pure_ack(now, ack_alone, segment)
    }

    /// As [`poll_transmit`](Self::poll_transmit), but what is no ACK alone waits.
    pub fn poll_ack(&mut self, now: Time) -> Option<Segment> {
        let mut segment = Segment::default();
        let ack_alone = std::mem::take(&mut self.handshake.ack_alone);
        self.pure_ack(now, ack_alone, &mut segment).then_some(segment)
    }

    fn pure_ack(&mut self, now: Time, ack_alone: bool, segment: &mut Segment) -> bool {
        if (ack_alone || self.rcv.ack_now) && !matches!(self.state, State::Closed | State::Listen | State::SynSent) {
            let flags = match ack_alone {
                true => self.handshake.last_flags(),
                false if self.remnant => Flags::ACK,
                false => Flags::ACK | self.rcv.marks.flags(),
            };
            self.ack(now, flags, segment);
            return true;
        }
        false
    }

    #[cold]
    #[inline(never)]
    fn early_ack(&mut self, segment: &mut Segment) -> bool {
        self.early.take().map(|early| *segment = *early).is_some()
    }

    fn data_segment(&mut self, now: Time, out: Outgoing, segment: &mut Segment) {
        let mut flags = Flags::ACK | self.rcv.marks.flags();
        if out.fin {
            flags = flags | Flags::FIN;
        }
        if out.cwr {
            flags = flags | Flags::CWR;
        }
        if out.push {
            flags = flags | Flags::PSH;
        }
        let ecn = self.snd.codepoint(&out);
        self.segment(now, out, flags, ecn, segment);
    }

    /// A segment without data.
    fn ack(&mut self, now: Time, flags: Flags, segment: &mut Segment) {
        self.snd.stats.acks_sent += 1;
        let out = Outgoing { seq: self.snd.nxt(), ..Outgoing::default() };
        let ecn = self.snd.codepoint(&out);
        self.segment(now, out, flags, ecn, segment);
    }

    /// A segment, which also acknowledges what was received.
    fn segment(&mut self, now: Time, out: Outgoing, flags: Flags, ecn: u8, segment: &mut Segment) {
        let timestamps = self.snd.timestamps();
        let window = self.rcv.window_field(false);
        let sack = self.rcv.on_ack_sent(timestamps);
        *segment = Segment {
            seq: out.seq,
            ack: self.rcv.rcv_nxt,
            sent: now,
            echo: self.rcv.echo(),
            sack,
            len: out.len,
            ts_val: timestamp(now),
            ts_ecr: self.rcv.ts_recent,
            window,
            flags,
            has_timestamps: timestamps,
            ecn,
            retransmission: out.retransmission,
            ..Segment::default()
        };
        if self.snd.asks() || !self.rcv.returning.is_none() || self.rcv.marks.style == Style::Accurate {
            self.fill_header(segment);
        }
    }

    /// Puts the congestion header on a segment, if it has one.
    #[inline(never)]
    fn fill_header(&mut self, segment: &mut Segment) {
        let request = if segment.len > 0 { self.snd.request() } else { None };
        if let Some(request) = request {
            segment.feedback = request;
        } else if segment.len == 0 && !self.rcv.returning.is_none() {
            segment.feedback = std::mem::take(&mut self.rcv.returning);
        } else if self.rcv.marks.style == Style::Accurate && !self.remnant {
            let (srtt, seen) = (self.snd.rtt().srtt(), self.snd.saw_option());
            let Segment { sent, sack, has_timestamps, .. } = segment;
            segment.feedback = self.rcv.marks.report(*sent, srtt, sack, *has_timestamps, seen);
        }
    }

    /// When [`on_timer`](Self::on_timer) wants to be called; [`Time::NEVER`] when it does not.
    pub fn next_timer(&self) -> Time {
        self.snd.next_timer().min(self.rcv.deadline).min(self.handshake.deadline).min(self.time_wait_ends)
    }

    /// Asks for what an ACK is likely to need of the heap.
    #[inline]
    pub(crate) fn fetch_heap(&self) {
        self.snd.fetch_heap();
    }

    /// What is remembered of segments takes so much.
    pub(crate) fn kept_bytes(&self) -> usize {
        self.snd.kept_bytes() + self.rcv.kept_bytes()
    }

    /// The application writes `bytes` more; `u64::MAX` for a bulk source without end.
    pub fn write(&mut self, _now: Time, bytes: u64) {
        self.snd.write(bytes);
    }
    /// The application will write no more: a FIN follows the data. A source without end stops where it is.
    pub fn close(&mut self, _now: Time) {
        self.snd.close();
    }
    /// The application of a source without end has nothing more for now: what was not sent it takes back.
    pub fn pause(&mut self) {
        self.snd.pause();
    }
    /// Changes options in the course of the connection; those that count only at its beginning do nothing.
    ///
    /// # Errors
    /// Those of `change`.
    pub fn reconfigure<E>(&mut self, change: impl FnOnce(&mut Config) -> Result<(), E>) -> Result<(), E> {
        let mut config = self.snd.config().clone();
        change(&mut config)?;
        self.rcv.marks.set_option(config.accecn_option);
        let config = Arc::new(config);
        self.rcv.set_config(Arc::clone(&config));
        self.snd.set_config(config);
        Ok(())
    }
    /// How often the SYN goes again, beside those a second apart (TCP_SYNCNT).
    pub fn set_syn_retries(&mut self, retries: u32) {
        let Ok(()) = self.reconfigure(|config| {
            config.syn_retries = retries;
            Ok::<(), std::convert::Infallible>(())
        });
    }
    /// Nagle's algorithm on or off (TCP_NODELAY is its opposite).
    pub fn set_nagle(&mut self, nagle: bool) {
        self.snd.set_nagle(nagle);
    }
    /// Whether the application reads at once whatever arrives in order (the default) or calls
    /// [`read`](Self::read).
    pub fn set_auto_read(&mut self, auto: bool) {
        self.rcv.set_auto_read(auto);
    }
    /// The peer's packets that are longer are made of segments of this size: what counts as full in a buffer that is counted.
    pub fn set_peer_segment(&mut self, bytes: u32) {
        self.rcv.set_peer_segment(bytes);
    }
    /// The receive buffer has this size from now on (SO_RCVBUF). Says whether what it holds is counted at all.
    pub fn set_receive_buffer(&mut self, bytes: u64) -> bool {
        self.rcv.set_buffer(bytes)
    }
    /// The size of the receive buffer, where it is not fixed from the beginning.
    pub fn receive_buffer(&self) -> Option<u64> {
        self.rcv.buffer()
    }
    /// Whether the receive buffer may grow at all: that of a connection that was not accepted does not (Linux `sk_socket`).
    pub fn let_buffer_grow(&mut self, may: bool) {
        self.rcv.let_buffer_grow(may);
    }
    /// In-order bytes waiting for the application.
    pub fn readable(&self) -> u64 {
        self.rcv.readable()
    }
    /// The application takes up to `max` bytes; the window opens accordingly.
    pub fn read(&mut self, now: Time, max: u64) -> u64 {
        self.rcv.read(now, max)
    }

    /// The newest timestamp of an earlier connection between the same ports (RFC 6191).
    pub fn set_recent_timestamp(&mut self, ts: u32) {
        self.rcv.ts_recent = ts;
    }

    /// Bytes of the stream that have been sent at least once.
    pub fn bytes_begun(&self) -> u64 {
        self.snd.nxt().saturating_sub(1)
    }

    /// As a subflow: more data waits at its connection, which hands it out by the segment; so it is not the application that limits
    /// this sender.
    pub fn set_more(&mut self, more: bool) {
        self.snd.set_more(more);
    }
    /// As a subflow that has what its connection waited for: no delayed ACK.
    pub fn acknowledge_now(&mut self) {
        self.rcv.ack_now = true;
    }
    /// As a subflow: bytes of new data that could leave now; 0 while it repairs, or where some that it was given wait.
    pub fn room(&mut self, now: Time) -> u64 {
        self.snd.room(now)
    }
    /// As a subflow: what its siblings may know.
    pub fn share(&self) -> Share {
        self.snd.share()
    }
    /// As a subflow: tells the law of its siblings, of which it is number `me`, and asks again for window and rate.
    pub fn on_siblings(&mut self, all: &[Share], me: usize) {
        self.snd.on_siblings(all, me);
    }
    /// As a subflow that holds up a faster one: half the window, and half the threshold unless in slow start.
    pub fn penalise(&mut self, now: Time) {
        self.snd.penalise(now);
    }
    /// As a subflow whose interface is there again: what is out is sent again now, not when the timer says so.
    pub fn retry(&mut self, now: Time) {
        if self.handshake.deadline < Time::NEVER {
            self.handshake.deadline = now;
            self.on_handshake_timer(now);
        }
        self.snd.retry(now);
    }
    /// The path takes packets of `mtu` bytes and no longer ones (RFC 1191): segments shrink, and what is too long goes again.
    pub fn on_path_mtu(&mut self, now: Time, mtu: u32) {
        /// Headers of IPv4 and TCP.
        const HEADERS: u32 = 40;
        let longest = mtu.saturating_sub(HEADERS).max(1);
        let timestamps = if self.handshake.timestamps { handshake::TIMESTAMPS } else { 0 };
        let option = self.rcv.marks.style == Style::Accurate && self.snd.saw_option();
        let options = timestamps + if option { self.rcv.marks.option_bytes() } else { 0 };
        self.snd.on_path_mss(now, longest, longest.saturating_sub(options).max(1));
    }
    /// Asks a silent peer whether it is there: an old empty segment, which it has to answer (RFC 9293 §3.8.4, as Linux).
    pub fn ask(&mut self, now: Time) {
        self.snd.stats.acks_sent += 1;
        let out = Outgoing { seq: self.snd.una() - 1, ..Outgoing::default() };
        let mut probe = Segment::default();
        self.segment(now, out, Flags::ACK | self.rcv.marks.flags(), self.snd.codepoint(&out), &mut probe);
        self.early = Some(Box::new(probe));
    }
    /// The longest segment that has come.
    pub fn full_segment(&self) -> u32 {
        self.rcv.full_segment()
    }
    /// The longest retransmission timeout.
    pub fn rto_max(&self) -> Duration {
        self.snd.config().rto.max
    }
    /// Retransmission timeouts since anything was last acknowledged.
    pub fn timeouts_in_a_row(&self) -> u32 {
        self.snd.timeouts_in_a_row()
    }

    /// A snapshot.
    pub fn info(&self) -> Info {
        let info = self.snd.info(self.state, self.rcv.rcv_nxt);
        Info { total_retrans: info.total_retrans + u64::from(self.handshake.retransmissions), ..info }
    }
    /// Where the connection stands.
    pub fn state(&self) -> State {
        self.state
    }
    /// Bytes under ECT(0), CE and ECT(1) by AccECN's counters: those that came, and those that the peer says have come.
    pub fn accecn_bytes(&self) -> ([u32; 3], [u32; 3]) {
        (self.rcv.marks.received_bytes(), self.snd.delivered_ecn_bytes())
    }
    /// Packets that came with CE, by AccECN's counter.
    pub fn received_ce(&self) -> u32 {
        self.rcv.marks.cep - ecn::FIRST_CEP
    }
    /// What came of the ECN that this end asked for: `"rfc3168"`, `"accecn"` or `"lost"`; `"none"` if it asked for none.
    pub fn ecn(&self) -> &'static str {
        match (Style::wanted(self.snd.config(), self.snd.ecn_use()), self.rcv.marks.style) {
            (Style::Off, _) => "none",
            (_, Style::Off) => "lost",
            (_, Style::Accurate) => "accecn",
            _ => "rfc3168",
        }
    }
    /// When the connection came up.
    pub fn established(&self) -> Option<Time> {
        Some(self.handshake.ended).filter(|&at| at < Time::NEVER)
    }
    /// The connection is over: what the host remembers of the peer, if it does.
    pub fn save(&self, known: &mut Metrics) {
        let config = self.snd.config();
        if !config.no_metrics_save {
            known.save(&self.info(), self.snd.mss(), config.dupthresh, !config.no_ssthresh_metrics_save);
        }
    }
    /// Counters.
    pub fn stats(&self) -> &Stats {
        &self.snd.stats
    }
    /// The last RTT sample taken, if one was taken by the last [`on_segment`](Self::on_segment).
    pub fn last_rtt_sample(&self) -> Option<Duration> {
        self.snd.last_rtt()
    }
    /// The law.
    pub fn congestion_control(&self) -> &dyn CongestionControl {
        self.snd.law()
    }
    /// Payload bytes of a full segment, as far as negotiated.
    pub fn mss(&self) -> u32 {
        self.snd.mss() as u32
    }
}

/// The 1 ms timestamp clock (RFC 7323 §5.4), the same for everybody in the simulator. It begins at 1: an echo of zero is none.
fn timestamp(now: Time) -> u32 {
    (now.0 / 1_000_000) as u32 + 1
}

#[cfg(test)]
mod tests;
