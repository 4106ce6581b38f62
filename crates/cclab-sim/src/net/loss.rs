//! Which packets are lost.

use super::config::{AppliesTo, Loss, LossModel};
use crate::wire::Packet;
use cclab_algo::rng::Stream;

/// A loss model at work on one link, with its own random stream.
#[derive(Clone, Debug)]
pub struct Lottery {
    loss: Loss,
    rng: Stream,
    /// Gilbert-Elliott: in the bad state.
    bad: bool,
    /// Packets counted so far (periodic, named).
    counted: u64,
    /// How many of the named packets have passed.
    named: usize,
}

impl Lottery {
    /// The model, drawing from `rng`.
    pub fn new(loss: &Loss, rng: Stream) -> Lottery {
        Lottery { loss: loss.clone(), rng, bad: false, counted: 0, named: 0 }
    }

    /// Whether this packet, the next to come, is lost.
    pub fn loses(&mut self, packet: &Packet) -> bool {
        let applies = match self.loss.applies_to {
            AppliesTo::Data => packet.payload() > 0,
            AppliesTo::Ack => packet.payload() == 0,
            AppliesTo::All => true,
        };
        if !applies {
            return false;
        }
        match &self.loss.model {
            LossModel::Bernoulli { p } => self.rng.chance(*p),
            LossModel::GilbertElliott { p, r, good, bad } => {
                self.bad ^= self.rng.chance(if self.bad { *r } else { *p });
                self.rng.chance(if self.bad { *bad } else { *good })
            }
            LossModel::Periodic { every } => {
                self.counted += 1;
                self.counted.is_multiple_of(*every)
            }
            LossModel::Named { flow, packets } => {
                if flow.is_some_and(|f| f as u32 != packet.flow) {
                    return false;
                }
                self.counted += 1;
                let hit = packets.get(self.named) == Some(&self.counted);
                self.named += usize::from(hit);
                hit
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cclab_algo::Time;

    fn lost(model: LossModel, applies_to: AppliesTo, sizes: &[(usize, u32)]) -> Vec<usize> {
        let mut lottery = Lottery::new(&Loss { applies_to, model }, Stream::new(1, "loss"));
        let packet = |i: usize| Packet::udp(sizes[i].0, Time::ZERO, i as u64, sizes[i].1);
        (0..sizes.len()).filter(|&i| lottery.loses(&packet(i))).collect()
    }

    #[test]
    fn every_third_data_packet() {
        let sizes = [(0, 100), (0, 28), (0, 100), (0, 100), (0, 28), (0, 100), (0, 100), (0, 100)];
        assert_eq!(lost(LossModel::Periodic { every: 3 }, AppliesTo::Data, &sizes), [3, 7]);
        assert_eq!(lost(LossModel::Periodic { every: 2 }, AppliesTo::Ack, &sizes), [4]);
        assert_eq!(lost(LossModel::Periodic { every: 3 }, AppliesTo::All, &sizes), [2, 5]);
    }

    #[test]
    fn named_packets_are_counted_per_flow_from_one() {
        let sizes = [(0, 100), (1, 100), (1, 100), (0, 100), (1, 100), (0, 100)];
        let named = |flow| LossModel::Named { flow, packets: vec![1, 3] };
        assert_eq!(lost(named(Some(1)), AppliesTo::All, &sizes), [1, 4]);
        assert_eq!(lost(named(None), AppliesTo::All, &sizes), [0, 2]);
    }

    /// Bernoulli p = 0.01 in 10^6 packets: sd of the count 99.5; five of them, false alarm 6e-7.
    #[test]
    fn bernoulli_rate() {
        let lost = lost(LossModel::Bernoulli { p: 0.01 }, AppliesTo::All, &vec![(0, 100); 1_000_000]);
        assert!(lost.len().abs_diff(10_000) < 498, "{}", lost.len());
    }

    /// Gilbert-Elliott with p = 0.01, r = 0.25, losing all in the bad state: rate p / (p + r) = 0.03846, mean
    /// burst 1 / r = 4. In n = 10^6 packets there are about n p r / (p + r) = 9615 bursts.
    ///
    /// The indicator of the bad state has correlation ρ^k, ρ = 1 - p - r = 0.74, so the variance of the count is
    /// n π (1 - π) (1 + ρ) / (1 - ρ): sd 497. Burst lengths are geometric with sd √(1 - r) / r = 3.46, so the mean
    /// has sd 0.0353. Five of each: false alarm 6e-7 a test.
    #[test]
    fn gilbert_elliott_rate_and_bursts() {
        let model = LossModel::GilbertElliott { p: 0.01, r: 0.25, good: 0.0, bad: 1.0 };
        let lost = lost(model, AppliesTo::All, &vec![(0, 100); 1_000_000]);
        let bursts = 1 + lost.windows(2).filter(|w| w[1] != w[0] + 1).count();
        assert!(lost.len().abs_diff(38_462) < 2485, "{}", lost.len());
        let mean_burst = lost.len() as f64 / bursts as f64;
        assert!((mean_burst - 4.0).abs() < 0.177, "{mean_burst}");
    }
}
