//! Whether what was sent is what the script expects.

use super::ast::{Ecn, Opt, Options, Packet};
use super::setup::Setup;
use crate::wire::Flags;
use cclab_algo::Duration;

/// The timestamps of the endpoint by the names that the script gives them.
///
/// As in packetdrill a `TS val` of an expected packet is a name for whatever the endpoint sends there, which
/// a later `ecr` of an injected packet may use, unless `--tcp_ts_tick_usecs` says how fast it is to run.
#[derive(Debug, Default)]
pub struct Stamps(Vec<(u32, u32)>);

impl Stamps {
    /// The value on the wire that the script calls `ecr`.
    pub fn on_wire(&self, ecr: u32) -> u32 {
        if ecr == 0 {
            return 0;
        }
        match self.0.iter().rev().find(|(script, _)| *script == ecr) {
            Some((_, wire)) => *wire,
            None => self.0.first().map_or(ecr, |(script, wire)| ecr.wrapping_add(wire.wrapping_sub(*script))),
        }
    }

    /// The script calls `wire` by the name of `script`; says what it should have been if it cannot be that.
    fn check(&mut self, script: u32, wire: u32, setup: &Setup) -> Result<(), u32> {
        let ticks = setup.timestamp_tick > 0;
        let first = self.0.first().filter(|_| ticks);
        let due = first.map(|(first, first_wire)| script.wrapping_add(first_wire.wrapping_sub(*first)));
        let slack = setup.tolerance(Duration::ZERO).0 / 1000 / setup.timestamp_tick.max(1);
        match due {
            Some(due) if u64::from((wire.wrapping_sub(due) as i32).unsigned_abs()) > slack => Err(due),
            _ => {
                self.0.push((script, wire));
                Ok(())
            }
        }
    }
}

/// The first thing in which `actual` differs from what `expected` asks for.
///
/// PSH is not compared: the endpoint counts bytes, and does not know where a write ended.
pub fn difference(expected: &Packet, actual: &Packet, stamps: &mut Stamps, setup: &Setup) -> Option<String> {
    let without_push = |flags: Flags| Flags(flags.0 & !Flags::PSH.0);
    let differ =
        |what: &str, expected: String, actual: String| Some(format!("{what}: expected {expected}, actual {actual}"));
    if without_push(expected.flags) != without_push(actual.flags) {
        return differ("flags", format!("{:?}", expected.flags), format!("{:?}", actual.flags));
    }
    if expected.seq != actual.seq {
        return differ("sequence number", expected.seq.to_string(), actual.seq.to_string());
    }
    if expected.len != actual.len {
        return differ("payload", format!("{} bytes", expected.len), format!("{} bytes", actual.len));
    }
    if let (Some(due), Some(ack)) = (expected.ack, actual.ack)
        && due != ack
    {
        return differ("ack", due.to_string(), ack.to_string());
    }
    if let (Some(due), Some(window)) = (expected.window, actual.window)
        && due != window
    {
        return differ("win", due.to_string(), window.to_string());
    }
    if let (Some(due), Some(ecn)) = (expected.ecn, actual.ecn) {
        let either = due == Ecn::Either && matches!(ecn, Ecn::Ect0 | Ecn::Ect1);
        if due != ecn && !either {
            return differ("ECN field", due.to_string(), ecn.to_string());
        }
    }
    options_difference(&expected.options, &actual.options, stamps, setup)
}

fn options_difference(expected: &Options, actual: &Options, stamps: &mut Stamps, setup: &Setup) -> Option<String> {
    let (Options::These(due), Options::These(sent)) = (expected, actual) else { return None };
    let missing = due.iter().find(|option| kind_in(sent, option).is_none());
    if let Some(option) = missing {
        return Some(format!("options: expected {option}, which is not there"));
    }
    if let Some(option) = sent.iter().find(|option| kind_in(due, option).is_none()) {
        return Some(format!("options: {option} is there, and not expected"));
    }
    for option in due {
        let found = kind_in(sent, option)?;
        match (option, found) {
            (Opt::Timestamps(val, ecr), Opt::Timestamps(wire, wire_ecr)) => {
                if ecr != wire_ecr {
                    return Some(format!("options: expected ecr {ecr}, actual ecr {wire_ecr}"));
                }
                if let Err(due) = stamps.check(*val, *wire, setup) {
                    return Some(format!("options: TS val {val} should be {due} on the wire, actual {wire}"));
                }
            }
            _ if option != found => return Some(format!("options: expected {option}, actual {found}")),
            _ => {}
        }
    }
    None
}

fn kind_in<'a>(options: &'a [Opt], like: &Opt) -> Option<&'a Opt> {
    options.iter().find(|option| std::mem::discriminant(*option) == std::mem::discriminant(like))
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::super::{Setting, What};
    use super::*;

    fn packet(text: &str) -> Packet {
        match parse(&format!("+0 > {text}")).unwrap().events.remove(0).what {
            What::Expect(packet) => packet,
            other => panic!("{other:?}"),
        }
    }

    fn setup(tick: &str) -> Setup {
        let option = Setting { line: 1, key: "tcp_ts_tick_usecs".into(), value: tick.into() };
        Setup::new(&[], &[option], &mut Vec::new()).unwrap()
    }

    fn differ(expected: &str, actual: &str) -> Option<String> {
        difference(&packet(expected), &packet(actual), &mut Stamps::default(), &setup("0"))
    }

    #[test]
    fn what_is_not_written_is_not_compared() {
        let actual = "[ect0] . 1:1001(1000) ack 5 win 300";
        assert_eq!(differ(". 1:1001(1000)", actual), None);
        assert_eq!(differ("P. 1:1001(1000) ack 5", actual), None);
        assert_eq!(differ("[ect01] . 1:1001(1000) ack 5 win 300", actual), None);
        assert_eq!(differ(". 1:1001(1000) <...>", ". 1:1001(1000) <nop,nop,sack 1:2>"), None);
    }

    #[test]
    fn every_field_can_differ() {
        let actual = "[ect0] . 1:1001(1000) ack 5 win 300 <nop,nop,TS val 7 ecr 9,nop,nop,sack 1:2 3:4>";
        for (expected, difference) in [
            ("F. 1:1001(1000) ack 5 <...>", "flags: expected F., actual ."),
            (". 2:1002(1000) ack 5 <...>", "sequence number: expected 2, actual 1"),
            (". 1:1002(1001) ack 5 <...>", "payload: expected 1001 bytes, actual 1000 bytes"),
            (". 1:1001(1000) ack 6 <...>", "ack: expected 6, actual 5"),
            (". 1:1001(1000) ack 5 win 301 <...>", "win: expected 301, actual 300"),
            ("[noecn] . 1:1001(1000) ack 5 <...>", "ECN field: expected noecn, actual ect0"),
            (". 1:1001(1000) ack 5", "options: TS val 7 ecr 9 is there, and not expected"),
            (". 1:1001(1000) ack 5 <TS val 7 ecr 9>", "options: sack 1:2 3:4 is there, and not expected"),
            (
                ". 1:1001(1000) ack 5 <sack 3:4 1:2,TS val 7 ecr 9>",
                "options: expected sack 3:4 1:2, actual sack 1:2 3:4",
            ),
            (". 1:1001(1000) ack 5 <sack 1:2 3:4,TS val 7 ecr 8>", "options: expected ecr 8, actual ecr 9"),
            (". 1:1001(1000) ack 5 <mss 9,TS val 7 ecr 9>", "options: expected mss 9, which is not there"),
        ] {
            assert_eq!(differ(expected, actual).as_deref(), Some(difference), "{expected}");
        }
    }

    #[test]
    fn timestamps_are_names_unless_they_tick() {
        let sent = |val: u32| packet(&format!(". 1:1(0) ack 1 <nop,nop,TS val {val} ecr 5>"));
        let mut stamps = Stamps::default();
        let names = setup("0");
        assert_eq!(difference(&sent(100), &sent(7), &mut stamps, &names), None);
        assert_eq!(difference(&sent(900), &sent(8), &mut stamps, &names), None, "any name will do");
        assert_eq!((stamps.on_wire(900), stamps.on_wire(0), stamps.on_wire(103)), (8, 0, 10));
        assert_eq!(difference(&sent(100), &sent(9), &mut stamps, &names), None, "a name may be used again");
        assert_eq!(stamps.on_wire(100), 9, "and is the latest then");

        let mut stamps = Stamps::default();
        let ticks = setup("1000");
        assert_eq!(difference(&sent(100), &sent(7), &mut stamps, &ticks), None);
        assert_eq!(difference(&sent(200), &sent(103), &mut stamps, &ticks), None, "4 ms of 4 ms tolerance");
        assert!(difference(&sent(200), &sent(112), &mut stamps, &ticks).unwrap().contains("should be 107"));
    }
}
