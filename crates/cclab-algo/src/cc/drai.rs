//! The Data Rate Adjustment Index of TCP Muzha: what a router advises, and the level that stands for it.
//!
//! The slides have five levels and a version before with three; their study goes from three to seven. Ours: which advice there is
//! beside the five, and which of them a scale of so many levels leaves out. What is left out falls to the next towards
//! [`Advice::Stabilising`], so the minimum along a path is the same whether it is taken of advice or of levels.

use super::Feedback;
use Advice::*;

/// What a router advises those who send through it, from less to more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Advice {
    /// Much less.
    AggressiveDeceleration,
    /// Rather less; in scales of seven levels.
    SharpDeceleration,
    /// A little less.
    ModerateDeceleration,
    /// As now.
    Stabilising,
    /// A little more.
    ModerateAcceleration,
    /// Rather more; in scales of six levels and more.
    SharpAcceleration,
    /// Much more.
    AggressiveAcceleration,
}

/// Fewest levels.
pub const MIN_LEVELS: u8 = 3;
/// Most levels: three bits, of which 0 is "no mark".
pub const MAX_LEVELS: u8 = 7;

/// The advice that each level stands for, from level 1 on.
fn scale(levels: u8) -> &'static [Advice] {
    match levels {
        0..=3 => &[AggressiveDeceleration, Stabilising, AggressiveAcceleration],
        4 => &[AggressiveDeceleration, Stabilising, ModerateAcceleration, AggressiveAcceleration],
        5 => &[AggressiveDeceleration, ModerateDeceleration, Stabilising, ModerateAcceleration, AggressiveAcceleration],
        6 => &[
            AggressiveDeceleration,
            ModerateDeceleration,
            Stabilising,
            ModerateAcceleration,
            SharpAcceleration,
            AggressiveAcceleration,
        ],
        _ => &[
            AggressiveDeceleration,
            SharpDeceleration,
            ModerateDeceleration,
            Stabilising,
            ModerateAcceleration,
            SharpAcceleration,
            AggressiveAcceleration,
        ],
    }
}

impl Advice {
    /// The level of this advice in a scale of so many.
    pub fn level(self, levels: u8) -> u8 {
        let scale = scale(levels);
        if self <= Stabilising {
            1 + scale.partition_point(|&advice| advice < self) as u8
        } else {
            scale.partition_point(|&advice| advice <= self) as u8
        }
    }

    /// What a level of a scale says; `None` is no mark.
    pub fn of(level: u8, levels: u8) -> Option<Advice> {
        scale(levels).get(usize::from(level).checked_sub(1)?).copied()
    }

    /// Writes this advice into a packet's header, if that is a DRAI and says no less already.
    pub fn stamp(self, header: &mut Feedback) {
        if let Feedback::Drai { level, levels } = header {
            *level = lower(*level, self.level(*levels));
        }
    }
}

/// The lower of two levels; 0, no mark, is none.
pub fn lower(one: u8, other: u8) -> u8 {
    if one == 0 || other == 0 { one | other } else { one.min(other) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Advice; 7] = [
        AggressiveDeceleration,
        SharpDeceleration,
        ModerateDeceleration,
        Stabilising,
        ModerateAcceleration,
        SharpAcceleration,
        AggressiveAcceleration,
    ];

    /// What arrives after these routers.
    fn path(routers: &[Advice], levels: u8) -> u8 {
        let mut header = Feedback::Drai { level: 0, levels };
        routers.iter().for_each(|advice| advice.stamp(&mut header));
        let Feedback::Drai { level, .. } = header else { unreachable!() };
        level
    }

    /// The slides' path: links of 11, 1, 1, 11 and 1 Mbit/s say 5, 1, 1, 5, 1; the MRAI is 1. No router, no mark.
    #[test]
    fn the_bottleneck_decides() {
        let (fast, slow) = (AggressiveAcceleration, AggressiveDeceleration);
        assert_eq!(path(&[fast, slow, slow, fast, slow], 5), 1);
        assert_eq!(path(&[fast, fast], 5), 5);
        assert_eq!(path(&[ModerateAcceleration, ModerateDeceleration, fast], 5), 2);
        assert_eq!(path(&[], 5), 0);
        let mut other = Feedback::AntiEcn { room: true };
        slow.stamp(&mut other);
        assert_eq!(other, Feedback::AntiEcn { room: true });
    }

    /// The slides' numbers: 5 aggressive and 4 moderate acceleration, 3 stabilising, 2 moderate and 1 aggressive deceleration.
    #[test]
    fn levels_are_the_slides() {
        assert_eq!(ALL.map(|advice| advice.level(5)), [1, 2, 2, 3, 4, 4, 5]);
        assert_eq!(ALL.map(|advice| advice.level(3)), [1, 2, 2, 2, 2, 2, 3]);
    }

    /// The minimum may be taken before or after advice becomes a level; a level says what it stands for.
    #[test]
    fn levels_keep_the_order() {
        for levels in MIN_LEVELS..=MAX_LEVELS {
            for (one, other) in ALL.iter().flat_map(|one| ALL.map(|other| (*one, other))) {
                assert_eq!(one.min(other).level(levels), one.level(levels).min(other.level(levels)));
            }
            assert!((1..=levels).all(|level| Advice::of(level, levels).is_some_and(|a| a.level(levels) == level)));
            assert_eq!((Advice::of(0, levels), Advice::of(levels + 1, levels)), (None, None));
        }
    }
}
