//! What the sender does with ECN, and what it reads in the ACKs.

use super::super::ecn::{FIRST_CEP, Style};
use super::{Agreed, Outgoing, Sender, Taken};
use crate::wire::ecn::NOT_ECT;
use crate::wire::{AccEcn, Flags, Segment};
use cclab_algo::cc::EcnUse;

/// What the sender does with ECN.
#[derive(Clone, Debug)]
pub(super) struct Marking {
    style: Style,
    /// Codepoint of new data; 0 where ECN is not in use.
    ect: u8,
    /// All else carries it too: retransmissions, pure ACKs (Linux `tcp_ecn_send`: with AccECN, and for a law that lives on
    /// marks; RFC 8311 §4.3 lets them, RFC 3168 §6.1.4 and 6.1.5 do not).
    all: bool,
    /// The law reduces by [`AckEvent::ce_bytes`](cclab_algo::cc::AckEvent::ce_bytes) itself.
    by_law: bool,
    /// The next new segment says CWR.
    cwr_due: bool,
    /// CE packets that the peer has reported.
    cep: u32,
    /// The peer's counter was seen and is not cleared on the way.
    counts: bool,
    /// What AccECN's options say.
    option: Option<Box<Reported>>,
}

/// What the peer's AccECN options have reported.
#[derive(Clone, Debug, Default)]
struct Reported {
    /// There were any.
    seen: bool,
    /// What the first with counters said of those that do not begin at zero: not zero. `Some(false)`: they are cleared on the way, or
    /// came too late to tell how often they went round, and are not read.
    sound: Option<bool>,
    /// The last ACK that delivered anything had the option too.
    steady: bool,
    /// 64 times the mean of segments that an ACK acknowledges, over 64 of them.
    per_ack: u16,
    /// The newest timestamp of the peer.
    stamp: u32,
    /// Bytes under ECT(0) and ECT(1).
    e0b: u32,
    e1b: u32,
    /// CE bytes.
    ceb: u64,
    /// CE bytes that the law was told of: those, and estimates where the options were missing.
    told: u64,
}

impl Marking {
    pub fn new() -> Marking {
        Marking {
            style: Style::Off,
            ect: 0,
            all: false,
            by_law: false,
            cwr_due: false,
            cep: FIRST_CEP,
            counts: false,
            option: None,
        }
    }

    /// The handshake has agreed on `style`. `last` of the peer's segments ends it; with AccECN a client's says how the SYN-ACK
    /// arrived (RFC 9768 table 4).
    pub fn begin(&mut self, agreed: &Agreed, law: EcnUse, last: &Segment, fallback: bool) {
        let style = agreed.ecn;
        self.style = style;
        let reported = || Box::new(Reported { stamp: last.ts_val, ..Reported::default() });
        self.option = (style == Style::Accurate).then(reported);
        self.by_law = match law {
            EcnUse::Classic => false,
            EcnUse::Dctcp => matches!(style, Style::Dctcp | Style::Accurate),
            EcnUse::L4s => style == Style::Accurate,
        };
        self.all = self.by_law || style == Style::Accurate;
        self.ect = style.codepoint(law);
        if style == Style::Accurate && !last.flags.has(Flags::SYN) {
            self.see_option(last);
            self.see_counter(last);
            // A SYN-ACK that was not ECN-capable has no mark; data has the counter (RFC 9768 §3.2.2.3).
            let possible = style.handshake_codepoint(law) != NOT_ECT;
            match last.flags.ace() {
                _ if last.len > 0 => {}
                0b110 if possible || !fallback => self.cep += 1,
                0b011 | 0b100 | 0b110 if !possible && fallback => self.ect = NOT_ECT,
                _ => {}
            }
        }
        if agreed.bleached {
            self.ect = NOT_ECT;
        }
    }

    /// The first segment after the SYNs: a counter of zero is cleared on the path unless the option tells of marks, and then nothing that we send
    /// is ECN-capable
    /// (RFC 9768 §3.2.2.4).
    fn see_counter(&mut self, segment: &Segment) {
        let gone_round = self.marked_bytes(segment).is_some_and(|bytes| bytes > 0);
        if !self.counts && segment.flags.ace() == 0 && !gone_round {
            self.ect = 0;
        }
        self.counts = true;
    }

    /// Looks for the peer's option. The first that has counters shows whether they are cleared on the way (RFC 9768 §3.2.3.2.4; Linux
    /// `tcp_accecn_option_init`).
    pub fn see_option(&mut self, segment: &Segment) {
        let (Some(reported), Some(option)) = (&mut self.option, segment.accecn()) else { return };
        reported.seen = true;
        let [first, _, last] = option.fields;
        if reported.sound.is_none() && option.len > 0 {
            reported.sound = Some(first != 0 && (option.len < 3 || last != 0));
        }
        if reported.sound == Some(false) {
            return;
        }
        for (name, bytes) in AccEcn::names(option.kind).into_iter().zip(option.fields).take(option.len) {
            match name {
                "e0b" => reported.e0b = bytes.wrapping_sub(1),
                "e1b" => reported.e1b = bytes.wrapping_sub(1),
                _ => {}
            }
        }
    }
    /// `sent` bytes have left, and no option came: one that comes later cannot be told from one that went round (Linux).
    fn doubt_option(&mut self, sent: u64) {
        const TOO_LATE: u64 = (1 << 23) - 1;
        if let Some(reported) = &mut self.option
            && sent >= TOO_LATE
        {
            reported.sound.get_or_insert(false);
        }
    }
    /// Bytes that the option says were marked, if it is there and is read.
    fn marked_bytes(&self, segment: &Segment) -> Option<u32> {
        let read = self.option.as_ref().is_some_and(|reported| reported.sound != Some(false));
        segment.marked_bytes().filter(|_| read)
    }
    /// Whether the peer sends AccECN's option.
    pub fn saw_option(&self) -> bool {
        self.option.as_ref().is_some_and(|reported| reported.seen)
    }
    /// Bytes that the peer's options have reported under ECT(0), CE and ECT(1).
    pub fn delivered_bytes(&self) -> [u32; 3] {
        self.option.as_ref().map_or([0; 3], |reported| [reported.e0b, reported.ceb as u32, reported.e1b])
    }

    /// Segments that the peer has reported as marked.
    pub fn delivered_ce(&self) -> u32 {
        self.cep - FIRST_CEP
    }

    /// Whether ECN is in use.
    pub fn is_on(&self) -> bool {
        self.style != Style::Off
    }

    /// Codepoint of what is to leave.
    pub fn codepoint(&self, out: &Outgoing) -> u8 {
        if self.all || (out.len > 0 && !out.retransmission) { self.ect } else { 0 }
    }

    /// The window was reduced.
    pub fn owe_cwr(&mut self) {
        self.cwr_due = true;
    }

    /// Whether new data of `len` bytes says so (RFC 3168 §6.1.2).
    pub fn take_cwr(&mut self, len: u32) -> bool {
        let cwr = self.cwr_due && matches!(self.style, Style::Classic | Style::Dctcp) && len > 0;
        self.cwr_due &= !cwr;
        cwr
    }

    /// Whether an ACK has a newer timestamp than any before; a law that reduces by bytes waits for one that delivers some.
    fn stamps_newer(&mut self, segment: &Segment) -> bool {
        let Some(reported) = &mut self.option else { return false };
        let newer = segment.has_timestamps && segment.ts_val.wrapping_sub(reported.stamp) as i32 > 0;
        if newer {
            reported.stamp = segment.ts_val;
        }
        newer && !self.by_law
    }

    /// CE bytes that an ACK of `delivered` new bytes reports (RFC 9768 §3.2.2.5.2, appendix A). Where ACKs are for many segments each,
    /// more than a round of the three bits is not taken for lost ACKs (Linux `__tcp_accecn_process`). `few` says that the three bits
    /// cannot have gone round.
    fn read(&mut self, segment: &Segment, delivered: u64, mss: u64, few: bool) -> u64 {
        const MANY_PER_ACK: u16 = 4 << 6;
        let option = self.marked_bytes(segment);
        let Some(reported) = &mut self.option else { return 0 };
        let packets = delivered.div_ceil(mss);
        if packets > 0 {
            let now = (packets << 6).min(0xffff);
            let mean = u64::from(reported.per_ack);
            reported.per_ack = if mean == 0 { now } else { ((mean << 6) - mean + now) >> 6 } as u16;
        }
        let least = u64::from(u32::from(segment.flags.ace()).wrapping_sub(self.cep) & 7);
        let told = reported.told;
        // A step of half the 24 bits or more is one back (as Linux `tcp_update_ecn_bytes` reads it): the counter was overtaken or
        // rewritten, and tells nothing.
        let new =
            option.map(|ceb| u64::from(ceb.wrapping_sub(reported.ceb as u32) & 0xff_ffff)).filter(|&n| n < 1 << 23);
        let steady = std::mem::replace(&mut reported.steady, new.is_some() && delivered > 0);
        let ce_packets = if let Some(new) = new {
            if new > 0 && least == 0 && few && steady && reported.steady {
                // Marked bytes without a marked packet: somebody rewrites the feedback (RFC 9768 §3.2.3.2.5).
                self.ect = NOT_ECT;
            }
            reported.ceb += new;
            reported.told = reported.told.max(reported.ceb);
            // The bytes tell how often the three bits went round: to the nearest.
            least + 8 * ((new / mss + 4).saturating_sub(least) / 8)
        } else {
            // Without them: as many marks as there can be (the safest likely case).
            let many = packets > least && reported.per_ack <= MANY_PER_ACK;
            let most = if many { packets - (packets - least) % 8 } else { least };
            reported.told += (most * mss).min(delivered);
            most
        };
        self.cep = self.cep.wrapping_add(ce_packets as u32);
        reported.told - told
    }
}

impl Sender {
    /// What the ACK says of marks.
    #[inline(never)]
    pub(super) fn take_marks(&mut self, segment: &Segment, taken: &mut Taken) {
        match self.marking.style {
            Style::Off => {}
            Style::Classic | Style::Dctcp => {
                taken.echo = segment.flags.has(Flags::ECE);
                self.marking.cep += if taken.echo { taken.delivered_bytes.div_ceil(self.mss()) as u32 } else { 0 };
                taken.ce_bytes = if taken.echo && self.marking.by_law { taken.delivered_bytes } else { 0 };
            }
            Style::Accurate => {
                let newer = self.marking.stamps_newer(segment);
                // What delivers nothing has perhaps been overtaken; its timestamp may tell. A copy is no progress.
                let delivered = taken.delivered_bytes - taken.copied_bytes;
                if delivered > 0 || newer {
                    self.marking.see_option(segment);
                    self.marking.doubt_option(self.stats.bytes_sent);
                    self.marking.see_counter(segment);
                    let before = self.marking.cep;
                    let again = taken.sacked || taken.dsack || taken.retransmitted_acked;
                    let few = taken.segments < 8 && !again;
                    taken.ce_bytes = self.marking.read(segment, delivered, self.mss(), few);
                    taken.echo = self.marking.cep != before;
                }
            }
        }
        taken.ece = taken.echo && !self.marking.by_law;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cclab_algo::cc::Feedback;

    /// Of a sender whose ACKs are for one segment each.
    fn marking() -> Marking {
        let reported = Reported { per_ack: 1 << 6, ..Reported::default() };
        Marking { option: Some(Box::new(reported)), ..Marking::new() }
    }

    fn ack(ace: u32, ceb: Option<u32>) -> Segment {
        let feedback = ceb.map_or(Feedback::None, |ceb| Feedback::AccEcn { e0b: 1, ceb, e1b: 1, form: 0 });
        Segment { flags: Flags::ACK | Flags::of_ace(ace), feedback, ..Segment::default() }
    }

    /// RFC 9768 appendix A.2: an increment of two may be ten if the ACK covers ten packets; a counter that counts more
    /// than the ACK covers is believed.
    #[test]
    fn three_bits_alone_are_read_on_the_safe_side() {
        for (ace, packets, marked) in
            [(5, 1, 0), (7, 2, 2), (7, 9, 2), (7, 10, 10), (7, 17, 10), (7, 18, 18), (2, 5, 5)]
        {
            let mut marking = marking();
            assert_eq!(marking.read(&ack(ace, None), packets * 1000, 1000, true), marked * 1000, "{ace} {packets}");
            assert_eq!(u64::from(marking.cep), 5 + marked);
        }
    }

    /// With the option the bytes are exact whatever was lost, and what was estimated too high is not told twice.
    #[test]
    fn bytes_make_it_exact() {
        let mut marking = marking();
        assert_eq!(marking.read(&ack(5 + 12, Some(12_000)), 40_000, 1000, true), 12_000);
        assert_eq!(marking.cep, 17);
        assert_eq!(marking.read(&ack(5 + 14, None), 10_000, 1000, true), 10_000, "two, or ten");
        assert_eq!(marking.read(&ack(5 + 14, Some(14_000)), 1_000, 1000, true), 0);
        assert_eq!(marking.read(&ack(5 + 25, Some(25_000)), 20_000, 1000, true), 3_000, "22 were told");
        // A counter that goes back is as if it were not there.
        assert_eq!(marking.read(&ack(5 + 26, Some(24_000)), 1_000, 1000, true), 1000);
        assert_eq!(marking.read(&ack(5 + 26, Some(26_000)), 1_000, 1000, true), 0, "it was told");
        // 24 bits go round.
        let reported = marking.option.as_mut().unwrap();
        reported.ceb = 0xff_ff00;
        reported.told = reported.ceb;
        assert_eq!(marking.read(&ack(5 + 27, Some(744)), 2_000, 1000, true), 1000);
    }

    /// RFC 9768 §3.2.3.2.5: marked bytes without a marked packet end ECN-capable transport; not so where the last ACK had no option, or
    /// this one is for so many segments that three bits may have gone round.
    #[test]
    fn bytes_without_a_packet_are_made_up() {
        for (first, few, ect) in [(Some(0), true, 0), (None, true, 2), (Some(0), false, 2)] {
            let mut marking = marking();
            marking.ect = 2;
            marking.read(&ack(5, first), 1000, 1000, true);
            assert_eq!((marking.ect, marking.cep), (2, 5));
            marking.read(&ack(5, Some(1000)), 2000, 1000, few);
            assert_eq!(marking.ect, ect, "{first:?} {few}");
        }
    }

    /// An option whose first counters are zero is not read (RFC 9768 §3.2.3.2.4), nor one that comes after 2^23 bytes (Linux).
    #[test]
    fn options_that_are_not_read() {
        let first = |kind, fields, len| {
            let mut marking = marking();
            let option = AccEcn { kind, len, fields };
            marking.see_option(&Segment { feedback: option.feedback(), ..Segment::default() });
            (marking.saw_option(), marking.marked_bytes(&ack(5, Some(7))))
        };
        for kind in [AccEcn::ECT0_FIRST, AccEcn::ECT1_FIRST] {
            assert_eq!(first(kind, [1, 0, 1], 3), (true, Some(7)));
            assert_eq!(first(kind, [9, 0, 1], 0), (true, Some(7)), "without counters");
            for (fields, len) in [([0, 0, 1], 3), ([1, 0, 0], 3), ([0, 0, 1], 1), ([0, 3, 1], 2)] {
                assert_eq!(first(kind, fields, len), (true, None), "{fields:?} {len}");
            }
        }
        let mut marking = marking();
        marking.doubt_option((1 << 23) - 2);
        assert_eq!(marking.marked_bytes(&ack(5, Some(7))), Some(7));
        marking.doubt_option((1 << 23) - 1);
        assert_eq!(marking.marked_bytes(&ack(5, Some(7))), None);
    }
}
