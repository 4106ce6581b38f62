//! What the application has written, and how it is cut into segments.

/// The stream as the application leaves it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outbox {
    /// Offset after the last byte written, and, where there is a send buffer, in it; `u64::MAX` for a source without end.
    end: u64,
    /// End of the last segment sent that was not full (Minshall).
    small_end: u64,
    /// A FIN follows the data.
    closing: bool,
    fin_sent: bool,
    /// More waits at the connection that this is a subflow of.
    more: bool,
    /// More waits for room in the send buffer.
    held: bool,
    /// Nagle's algorithm is on.
    nagle: bool,
    /// Segments of a burst that are still to leave.
    burst: u8,
    /// What the congestion window has room for waits until it has more.
    deferred: bool,
}

impl Outbox {
    pub fn new(nagle: bool) -> Outbox {
        Outbox {
            end: 1,
            small_end: 0,
            closing: false,
            fin_sent: false,
            more: false,
            held: false,
            nagle,
            burst: 0,
            deferred: false,
        }
    }

    /// The application writes `bytes` more.
    pub fn write(&mut self, bytes: u64) {
        if !self.closing {
            self.end = self.end.saturating_add(bytes);
        }
    }

    /// The application closes. A source without end stops at `nxt`.
    pub fn close(&mut self, nxt: u64) {
        self.closing = true;
        self.pause(nxt);
    }

    /// A source without end stops at `nxt`.
    pub fn pause(&mut self, nxt: u64) {
        if self.end == u64::MAX {
            self.end = nxt.max(1);
        }
    }

    /// What was written and lies beyond `nxt` is taken back, to go through a buffer; how much that is, `u64::MAX` without end.
    pub fn hold(&mut self, nxt: u64) -> u64 {
        let held = if self.end == u64::MAX { u64::MAX } else { self.waiting(nxt) };
        self.end = self.end.min(nxt);
        self.held = held > 0;
        held
    }

    /// `bytes` more are in the buffer; `held`: others wait for room.
    pub fn fill(&mut self, bytes: u64, held: bool) {
        (self.end, self.held) = (self.end + bytes, held);
    }

    /// Whether the application has closed.
    pub fn is_closing(&self) -> bool {
        self.closing
    }

    /// Offset after the last byte written.
    pub fn end(&self) -> u64 {
        self.end
    }

    pub fn set_nagle(&mut self, nagle: bool) {
        self.nagle = nagle;
    }

    pub fn set_more(&mut self, more: bool) {
        self.more = more;
    }
    pub fn has_more(&self) -> bool {
        self.more
    }

    pub fn fin_sent(&self) -> bool {
        self.fin_sent
    }

    /// Bytes of new data in the segment that begins at `nxt` and whether the FIN goes with it; `None`: nothing to send.
    pub fn next(&self, nxt: u64, mss: u64) -> Option<(u32, bool)> {
        let waiting = self.waiting(nxt);
        let len = waiting.min(mss);
        let fin = self.closing && !self.fin_sent && !self.held && len == waiting;
        (len > 0 || fin).then_some((len as u32, fin))
    }

    /// So many segments leave together; one is no burst.
    pub fn begin_burst(&mut self, segments: u64) {
        self.burst = if segments > 1 { segments.min(255) as u8 } else { 0 };
    }
    /// The next segment leaves with the one before.
    pub fn in_burst(&self) -> bool {
        self.burst > 0
    }
    /// A segment leaves: whether it is the last of a burst.
    pub fn ends_burst(&mut self) -> bool {
        let left = self.burst;
        self.burst = left.saturating_sub(1);
        left == 1
    }
    /// What may leave waits for more; `limited`: the congestion window has to let it.
    pub fn defer(&mut self, limited: bool) {
        self.deferred = limited;
    }
    /// The sender stops: whether it waits for the congestion window to let more leave at once.
    pub fn end_burst(&mut self) -> bool {
        self.burst = 0;
        std::mem::take(&mut self.deferred)
    }
    /// Bytes written and not sent up to `nxt`.
    pub fn waiting(&self, nxt: u64) -> u64 {
        self.end - nxt.min(self.end)
    }

    /// Nagle's rule as Minshall changed it: no second small segment while one is unacknowledged.
    pub fn holds(&self, len: u32, fin: bool, mss: u64, una: u64) -> bool {
        self.nagle && !fin && u64::from(len) < mss && self.small_end > una
    }

    /// `len` bytes that end at `end` leave, and the FIN with them.
    pub fn on_sent(&mut self, len: u32, fin: bool, end: u64, mss: u64) {
        self.fin_sent |= fin;
        if u64::from(len) < mss {
            self.small_end = end;
        }
    }
}
