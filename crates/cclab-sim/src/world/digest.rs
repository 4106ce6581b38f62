//! A hash of every number in a result, to tell whether two results are the same to the bit.

use super::RunResult;
use crate::measure::Distribution;

/// FNV-1a with 128 bits, fed 64-bit words (parameters: draft-eastlake-fnv §5).
struct Fnv(u128);

impl Fnv {
    const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = (1 << 88) + 0x13b;

    fn word(&mut self, x: u64) {
        self.0 = (self.0 ^ u128::from(x)).wrapping_mul(Self::PRIME);
    }
    fn float(&mut self, x: f64) {
        // one NaN: its payload is the platform's business
        self.word(if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() });
    }
    fn text(&mut self, s: &str) {
        self.word(s.len() as u64);
        s.bytes().for_each(|b| self.word(u64::from(b)));
    }
    fn floats(&mut self, column: &[f64]) {
        self.word(column.len() as u64);
        column.iter().for_each(|&x| self.float(x));
    }
    fn words<T: Copy + Into<u64>>(&mut self, column: &[T]) {
        self.word(column.len() as u64);
        column.iter().for_each(|&x| self.word(x.into()));
    }
    fn distribution(&mut self, d: &Distribution) {
        let Distribution { count, mean, variance, min, max, p50, p95, p99 } = *d;
        self.word(count);
        [mean, variance, min, max, p50, p95, p99].into_iter().for_each(|x| self.float(x));
    }
}

impl RunResult {
    /// A hash of every number and name in the result, as 32 hexadecimal digits.
    pub fn digest(&self) -> String {
        let mut h = Fnv(Fnv::OFFSET);
        for f in self.flows.rows() {
            h.text(f.label);
            h.text(f.cc);
            h.floats(&[f.start_s, f.measured_s, f.goodput_bps, f.throughput_bps]);
            h.words(&[f.delivered_bytes, f.segments_sent, f.segments_retransmitted, f.timeouts, f.recoveries]);
            h.words(&[f.packets_received, f.packets_lost]);
            h.distribution(&f.rtt);
            h.distribution(&f.owd);
            h.floats(&[f.owd_mean_abs_diff_s, f.cwnd_mean_segments, f.cwnd_min_segments, f.cwnd_max_segments]);
            h.floats(&[f.fct_s, f.fct_receiver_s]);
        }
        for l in self.links.rows() {
            h.text(l.name);
            h.floats(&[l.utilisation, l.throughput_bps, l.queue_mean_packets]);
            h.words(&[l.arrived, l.sent, l.data_sent, l.drops, l.losses, l.marks, l.queue_max_packets]);
            // only some disciplines have any
            if l.early_drops > 0 {
                h.word(l.early_drops);
            }
            h.distribution(&l.sojourn);
        }
        for b in self.background.rows() {
            [b.label, b.cc].into_iter().for_each(|text| h.text(text));
            [b.direction, b.kind].into_iter().for_each(|text| h.text(text));
            h.floats(&[b.measured_s, b.users, b.load, b.offered_load, b.carried_load, b.offered_bps, b.carried_bps]);
            h.floats(&[b.returned_bps, b.size_mean_bytes, b.goodput_mean_bps, b.packet_interval_mean_s]);
            h.words(&[b.connections_started, b.connections_completed, b.connections_failed, b.connections_unfinished]);
            h.words(&[b.connections_most, b.delivered_bytes, b.segments_sent, b.segments_retransmitted]);
            h.words(&[b.timeouts, b.packets_lost]);
            [&b.fct, &b.fct_receiver].into_iter().for_each(|d| h.distribution(d));
        }
        for row in self.fct.rows() {
            h.text(row.label);
            h.text(row.direction);
            h.floats(&[row.size_from_bytes as f64, row.size_to_bytes]);
            [&row.fct, &row.fct_receiver].into_iter().for_each(|d| h.distribution(d));
        }
        let s = &self.samples;
        h.words(&s.flow);
        for column in [
            &s.time_s,
            &s.cwnd_bytes,
            &s.ssthresh_bytes,
            &s.srtt_s,
            &s.rtt_s,
            &s.in_flight_bytes,
            &s.delivered_bytes,
            &s.pacing_rate_bps,
        ] {
            h.floats(column);
        }
        let s = &self.link_samples;
        h.words(&s.link);
        [&s.time_s, &s.queue_packets, &s.queue_bytes].into_iter().for_each(|column| h.floats(column));
        let s = &self.signals;
        s.name.names().iter().for_each(|name| h.text(name));
        [&*s.flow, s.name.codes()].into_iter().for_each(|column| h.words(column));
        [&s.time_s, &s.value].into_iter().for_each(|column| h.floats(column));
        if let Some(p) = &self.packets {
            h.floats(&p.time_s);
            let columns: [&[u32]; 4] = [&p.link, &p.flow, &p.size_bytes, &p.payload_bytes];
            columns.into_iter().for_each(|column| h.words(column));
            let kinds = ["sent", "queued", "dropped", "lost", "forwarded", "received"];
            let kind = |event| kinds.iter().position(|&kind| kind == event).expect("one of them") as u64;
            h.words(&p.rows().map(|row| kind(row.event)).collect::<Vec<_>>());
            [&p.seq, &p.ack].into_iter().for_each(|column| h.words(column));
            h.words(&p.retransmission);
        }
        if let Some(capture) = &self.capture {
            h.words(capture);
        }
        h.float(self.jain);
        h.words(&[self.engine.events, self.engine.data_packets]);
        format!("{:032x}", h.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bit_makes_another_digest() {
        let one = RunResult { jain: 1.0, ..RunResult::default() };
        let other = RunResult { jain: 1.0 + f64::EPSILON, ..RunResult::default() };
        assert_eq!(one.digest(), one.clone().digest());
        assert_ne!(one.digest(), other.digest());
        assert_eq!(one.digest().len(), 32);
    }
}
