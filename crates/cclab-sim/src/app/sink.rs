//! Where datagrams go to.

use crate::wire::Datagram;

/// Numbers behind the highest one of which it is known whether they have come; what comes later than that counts as new. (RFC 4303
/// §3.4.3 tells replayed packets so; unlike here, it rejects what is left of the window.)
const WINDOW: u64 = 1 << 14;
const WORDS: usize = (WINDOW / 64) as usize;

/// The receiver of a flow of datagrams, which counts each once.
#[derive(Default)]
pub(crate) struct Sink {
    /// Payload bytes, without those of duplicates.
    pub(crate) bytes: u64,
    /// Above the highest number that has come.
    next: u64,
    /// Which of the last numbers have come: bit n mod 2^14 is n's.
    came: Option<Box<[u64; WORDS]>>,
}

impl Sink {
    /// A datagram has come.
    pub(crate) fn take(&mut self, datagram: &Datagram) {
        let number = datagram.number;
        let came = self.came.get_or_insert_with(|| Box::new([0; WORDS]));
        for skipped in self.next.max((number + 1).saturating_sub(WINDOW))..=number {
            came[word(skipped)] &= !bit(skipped);
        }
        let is_late = number + WINDOW < self.next;
        if is_late || came[word(number)] & bit(number) == 0 {
            self.bytes += u64::from(datagram.len);
        }
        if !is_late {
            came[word(number)] |= bit(number);
        }
        self.next = self.next.max(number + 1);
    }
}

fn word(number: u64) -> usize {
    (number % WINDOW / 64) as usize
}
fn bit(number: u64) -> u64 {
    1 << (number % 64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// In any order, each of any number of times: as many as there are different ones.
        #[test]
        fn each_counts_once(steps in proptest::collection::vec((0_u64..6000, 0_u64..9000), 1..400)) {
            let (mut sink, mut seen, mut at) = (Sink::default(), BTreeSet::new(), WINDOW);
            for (ahead, behind) in steps {
                at += ahead * u64::from(behind % 7 == 0);
                let number = at - behind;
                seen.insert(number);
                sink.take(&Datagram { number, len: 100 });
                prop_assert_eq!(sink.bytes, 100 * seen.len() as u64);
            }
        }
    }

    #[test]
    fn what_is_too_old_to_know_counts() {
        let mut sink = Sink::default();
        for number in [0, WINDOW - 1, 0, WINDOW, WINDOW + 1, 0, 0, u64::from(u32::MAX), WINDOW] {
            sink.take(&Datagram { number, len: 1 });
        }
        assert_eq!(sink.bytes, 8, "all but the 0 that is still known");
    }
}
