//! Proportional rate reduction (RFC 6937, with the SafeACK rule of RFC 9937 that Linux has).

/// State of one reduction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Prr {
    /// Bytes delivered since the reduction began.
    delivered: u64,
    /// Bytes sent since.
    out: u64,
    /// RecoverFS: what was in flight when it began (Linux: the window it had).
    prior: u64,
    /// pipe + what this ACK allows to be sent.
    window: u64,
}

impl Prr {
    /// A reduction begins with `prior` bytes in flight.
    pub fn new(prior: u64, pipe: u64) -> Prr {
        Prr { prior: prior.max(1), window: pipe, ..Prr::default() }
    }

    /// `bytes` leave.
    pub fn on_sent(&mut self, bytes: u64) {
        self.out += bytes;
    }
    /// What may be in flight now.
    pub fn window(&self) -> u64 {
        self.window
    }

    /// An ACK that delivered `delivered` bytes and left `pipe` in flight; `safe`: it advanced the
    /// cumulative point and marked nothing lost. Counts whole segments of `mss`, as Linux.
    pub fn on_ack(&mut self, delivered: u64, pipe: u64, ssthresh: u64, safe: bool, mss: u64) {
        self.delivered += delivered;
        let up = |bytes: u64| bytes.div_ceil(mss) * mss;
        let mut count = if pipe > ssthresh {
            let share = u128::from(self.delivered) * u128::from(ssthresh);
            up(share.div_ceil(u128::from(self.prior)) as u64).saturating_sub(self.out)
        } else {
            let extra = if safe { mss } else { 0 };
            let limit = self.delivered.saturating_sub(self.out).max(delivered) + extra;
            limit.min(ssthresh - pipe)
        };
        if self.out == 0 {
            count = count.max(mss); // the fast retransmit always leaves
        }
        self.window = pipe + count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 20 segments in flight, the first lost, 19 ACKs that deliver one each, always something to send
    /// (the two examples of RFC 6937 §3.1). What is sent and what is left are the RFC's; the pattern
    /// between may differ.
    fn run(ssthresh: u64) -> (u64, u64) {
        let mut prr = Prr::new(20, 20);
        // The first segment is lost, and not in the pipe; each ACK takes one out of it.
        let mut pipe = 19;
        let mut sent = 0;
        for _ in 0..19 {
            pipe -= 1;
            prr.on_ack(1, pipe, ssthresh, false, 1);
            let count = prr.window - pipe;
            prr.on_sent(count);
            sent += count;
            pipe += count;
        }
        (pipe, sent)
    }

    #[test]
    fn the_pipe_ends_at_ssthresh() {
        assert_eq!(run(14), (14, 14));
        assert_eq!(run(10), (10, 10));
    }
}
