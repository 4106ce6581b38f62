//! How likely noise spoils a frame, by its rate, its length and its signal.
//!
//! OFDM and HT: bit errors of the constellation, and the union bound over the weight spectrum of the convolutional code for hard decisions
//! (G. Pei and T. R. Henderson, *Validation of OFDM error rate model in ns-3*, 2010; spectra of the punctured codes: D. Haccoun and G. Bégin,
//! IEEE Trans. Commun. 37(11), 1989). DSSS and CCK: union bounds of IEEE 802.15.2-2003. White noise over the channel; other frames are no noise,
//! they collide or are captured. Preambles and headers get through.

use super::config::Phy;
use super::profile::is_cck;
use cclab_algo::Rate;
use cclab_algo::math::{erfc, pow};
use cclab_algo::rng::Stream;

/// Bits per subcarrier, and the code, of the eight rates of OFDM and of HT.
const OFDM: [(u32, &Code); 8] = [
    (1, &HALF),
    (1, &THREE_QUARTERS),
    (2, &HALF),
    (2, &THREE_QUARTERS),
    (4, &HALF),
    (4, &THREE_QUARTERS),
    (6, &TWO_THIRDS),
    (6, &THREE_QUARTERS),
];
const HT: [(u32, &Code); 8] = [
    (1, &HALF),
    (2, &HALF),
    (2, &THREE_QUARTERS),
    (4, &HALF),
    (4, &THREE_QUARTERS),
    (6, &TWO_THIRDS),
    (6, &THREE_QUARTERS),
    (6, &FIVE_SIXTHS),
];

/// A punctured version of the code (133, 171): k of its rate k/n, its free distance, the step from weight to weight, and bits in error of the
/// paths of each.
struct Code {
    k: f64,
    free: u32,
    step: usize,
    spectrum: &'static [f64],
}

const HALF: Code = Code {
    k: 1.0,
    free: 10,
    step: 2,
    spectrum: &[36.0, 211.0, 1404.0, 11_633.0, 77_433.0, 502_690.0, 3_322_763.0, 21_292_910.0, 134_365_911.0],
};
const TWO_THIRDS: Code = Code {
    k: 2.0,
    free: 6,
    step: 1,
    spectrum: &[3.0, 70.0, 285.0, 1276.0, 6160.0, 27_128.0, 117_019.0, 498_860.0, 2_103_891.0, 8_784_123.0],
};
const THREE_QUARTERS: Code = Code {
    k: 3.0,
    free: 5,
    step: 1,
    spectrum: &[
        42.0,
        201.0,
        1492.0,
        10_469.0,
        62_935.0,
        379_644.0,
        2_253_373.0,
        13_073_811.0,
        75_152_755.0,
        428_005_675.0,
    ],
};
const FIVE_SIXTHS: Code = Code {
    k: 5.0,
    free: 4,
    step: 1,
    spectrum: &[
        92.0,
        528.0,
        8694.0,
        79_453.0,
        792_114.0,
        7_375_573.0,
        67_884_974.0,
        610_875_423.0,
        5_427_275_376.0,
        47_664_215_639.0,
    ],
};

/// Words of CCK by what their distance makes of the signal-to-noise ratio, at 11 and at 5.5 Mbit/s.
const CCK_11: [(f64, f64); 6] = [(4.0, 24.0), (6.0, 16.0), (8.0, 174.0), (10.0, 16.0), (12.0, 24.0), (16.0, 1.0)];
const CCK_5: [(f64, f64); 2] = [(8.0, 14.0), (16.0, 1.0)];

impl Code {
    /// Bit errors behind the decoder of so many before it: Σ c_d D^d / 2k, D² = 4p (1 - p).
    fn decoded(&self, p: f64) -> f64 {
        let d = (4.0 * p * (1.0 - p)).sqrt();
        let weights = (self.free..).step_by(self.step);
        let sum: f64 = self.spectrum.iter().zip(weights).map(|(c, weight)| c * pow(d, weight.into())).sum();
        (sum / (2.0 * self.k)).min(1.0)
    }
}

/// Bit errors of BPSK, QPSK, 16-QAM and 64-QAM.
fn constellation(bits: u32, snr: f64) -> f64 {
    match bits {
        1 => 0.5 * erfc(snr.sqrt()),
        2 => 0.5 * erfc((snr / 2.0).sqrt()),
        4 => 0.375 * erfc((snr / 10.0).sqrt()),
        _ => 7.0 / 24.0 * erfc((snr / 42.0).sqrt()),
    }
}

/// Q(√x), the tail of the normal distribution.
fn q(x: f64) -> f64 {
    0.5 * erfc((x / 2.0).sqrt())
}

impl Phy {
    /// How likely noise spoils a frame of this many bytes at this rate; `snr` is a ratio of powers.
    pub fn frame_error(self, rate: Rate, bytes: u32, snr: f64) -> f64 {
        let words = |words: &[(f64, f64)]| words.iter().map(|(distance, count)| count * q(distance * snr)).sum::<f64>();
        let (bits, bit) = if matches!(self, Phy::Dsss(_)) || is_cck(rate) {
            let bit = match rate.0 {
                1_000_000 => q(11.0 * snr),
                2_000_000 => q(5.5 * snr),
                5_500_000 => 8.0 / 15.0 * words(&CCK_5),
                _ => 128.0 / 255.0 * words(&CCK_11),
            };
            (8 * bytes, bit)
        } else {
            // Those of 802.11a come first but for CCK's; HT has its own behind them, twice.
            let place = self.rates().into_iter().filter(|rate| !is_cck(*rate)).position(|of| of == rate).unwrap_or(0);
            let (modulation, code) = if place < 8 { OFDM[place] } else { HT[place % 8] };
            (16 + 8 * bytes + 6, code.decoded(constellation(modulation, snr)))
        };
        1.0 - pow(1.0 - bit.min(1.0), bits.into())
    }
}

/// Noise at the stations of a medium.
pub(super) struct Noise {
    /// W.
    power: f64,
    rng: Stream,
    /// What was asked lately: received power, rate and bytes of a frame, and how likely it is spoiled.
    known: Vec<(f64, Rate, u32, f64)>,
}

impl Noise {
    pub(super) fn new(power: f64, rng: Stream) -> Noise {
        Noise { power, rng, known: vec![(0.0, Rate(0), 0, 0.0); 64] }
    }

    /// Whether a frame that is received with this power is spoiled.
    pub(super) fn spoils(&mut self, phy: Phy, rate: Rate, bytes: u32, power: f64) -> bool {
        let place = (power.to_bits() >> 20 ^ rate.0 ^ u64::from(bytes)) as usize % self.known.len();
        let known = &mut self.known[place];
        if (known.0, known.1, known.2) != (power, rate, bytes) {
            *known = (power, rate, bytes, phy.frame_error(rate, bytes, power / self.power));
        }
        self.rng.chance(known.3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cclab_algo::Duration;
    use cclab_algo::math::cos;
    use std::collections::BTreeMap;
    use std::f64::consts::PI;

    /// The signal-to-noise ratio, dB, at which one frame in ten is spoiled.
    fn one_in_ten(phy: Phy, rate: f64, bytes: u32) -> f64 {
        let (mut low, mut high) = (-20.0, 60.0);
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            let p = phy.frame_error(Rate((rate * 1e6) as u64), bytes, pow(10.0, middle / 10.0));
            if p > 0.1 { low = middle } else { high = middle }
        }
        low
    }

    /// Minimum input sensitivities of IEEE 802.11-2012, clauses 18 and 20: what a receiver of noise figure 10 dB with 5 dB for its make has to decode, 1000 and 4096 bytes,
    /// with one error in ten. The bound for hard decisions comes to that within 2 dB.
    #[test]
    fn sensitivities_of_the_standard() {
        let noise = -174.0 + 73.0 + 10.0 + 5.0; // dBm in 20 MHz
        let sensitivities = [-82.0, -81.0, -79.0, -77.0, -74.0, -70.0, -66.0, -65.0];
        for (rate, dbm) in [6.0, 9.0, 12.0, 18.0, 24.0, 36.0, 48.0, 54.0].into_iter().zip(sensitivities) {
            let found = one_in_ten(Phy::Ofdm, rate, 1000);
            assert!((found - (dbm - noise)).abs() < 2.0, "{rate} Mbit/s: {found} dB, {}", dbm - noise);
            assert_eq!(found, one_in_ten(Phy::Erp(Duration::ZERO), rate, 1000));
        }
        let ht = [-82.0, -79.0, -77.0, -74.0, -70.0, -66.0, -65.0, -64.0];
        for (rate, dbm) in [6.5, 13.0, 19.5, 26.0, 39.0, 52.0, 58.5, 65.0].into_iter().zip(ht) {
            let found = one_in_ten(Phy::Ht { extension: Duration::ZERO }, rate, 4096);
            assert!((found - (dbm - noise)).abs() < 2.5, "{rate} Mbit/s: {found} dB, {}", dbm - noise);
        }
    }

    /// The words of IEEE 802.11-2012 §17.4.6.5, all 256 of 11 Mbit/s and 16 of 5.5: of one another ρ apart they are told by Q(√(8 (1 - ρ) SNR)).
    #[test]
    fn distances_of_cck() {
        let quarter = |k: u32| f64::from(k) * PI / 2.0;
        let word = |p: [f64; 4]| {
            let [a, b, c, d] = p;
            [a + b + c + d, a + c + d, a + b + d, a + d + PI, a + b + c, a + c, a + b + PI, a]
        };
        let spectrum = |words: &[[f64; 8]]| {
            let mut counts = BTreeMap::new();
            for other in &words[1..] {
                let phases = words[0].iter().zip(other).map(|(one, other)| one - other);
                let real: f64 = phases.map(cos).sum();
                *counts.entry((8.0 - real).round() as u32).or_insert(0) += 1;
            }
            counts.into_iter().map(|(distance, count)| (f64::from(distance), f64::from(count))).collect::<Vec<_>>()
        };
        let all: Vec<_> =
            (0..256).map(|k| word([k, k >> 2, k >> 4, k >> 6].map(|digit: u32| quarter(digit & 3)))).collect();
        assert_eq!(spectrum(&all), CCK_11);
        let few: Vec<_> = (0..16_u32)
            .map(|k| word([quarter(k & 3), quarter(k >> 2 & 1) * 2.0 + PI / 2.0, 0.0, quarter(k >> 3 & 1) * 2.0]))
            .collect();
        assert_eq!(spectrum(&few), CCK_5);
    }

    /// Of 1 Mbit/s a bit in 10⁵ is wrong where Q(4.265) is: Barker's word of eleven chips spreads its noise.
    #[test]
    fn slow_rates_need_little() {
        let phy = Phy::Dsss(Duration::ZERO);
        let error = |snr: f64| phy.frame_error(Rate(1_000_000), 1, snr) / 8.0;
        assert!((error(4.265 * 4.265 / 11.0) / 1e-5 - 1.0).abs() < 0.01, "{}", error(4.265 * 4.265 / 11.0));
        let needs: Vec<f64> = [1.0, 2.0, 5.5, 11.0].map(|rate| one_in_ten(phy, rate, 1024)).to_vec();
        // two bits to a word are half the energy for each; at 5.5 Mbit/s the bound for coherent words is even below
        assert!((needs[1] - needs[0] - 3.01).abs() < 0.01 && needs[2] < needs[3] && needs[3] < 10.0, "{needs:?}");
    }
}
