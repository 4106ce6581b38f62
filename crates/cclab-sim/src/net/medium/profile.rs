//! MAC profiles as data, and how long a frame is on the air.
//!
//! | profile | slot | SIFS | DIFS | CW | preamble | rates |
//! |---|---|---|---|---|---|---|
//! | `ns2-2M`, `ns2-2M-basic2`, `ns2-default-1M`, `standard` | 20 µs | 10 µs | 50 µs | 31–1023 | 192 µs | 1, 2 |
//! | `802.11b`, `802.11b-short` | 20 µs | 10 µs | 50 µs | 31–1023 | 192, 96 µs | 1, 2, 5.5, 11 |
//! | `802.11a` | 9 µs | 16 µs | 34 µs | 15–1023 | 20 µs | 6 … 54 |
//! | `802.11g` | 9 µs | 10 µs | 28 µs | 15–1023 | 20 µs, 6 µs behind | 6 … 54 |
//! | `802.11g-mixed` | 20 µs | 10 µs | 50 µs | 15–1023 | as `802.11g`; CTS to self as `802.11b` | 1 … 54 |
//! | `802.11n`, `802.11n-2.4` | 9 µs | 16, 10 µs | 43, 37 µs | 15–1023 | 36 µs; 6 µs behind at 2.4 GHz | 6.5 … 65, 7.2 … 72.2 |
//!
//! Sources: IEEE 802.11-1999 §15 (DSSS), 802.11-2012 §17 (CCK), §18 (OFDM), §19 (ERP), §20 (HT), and ns-2.35.

use super::config::{Backoff, Mac, Phy, Protection};
use cclab_algo::{Duration, Rate};

/// A named set of values.
pub struct Profile {
    /// Name in scenario files.
    pub name: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// Where its values are from.
    pub source: &'static str,
    /// The values.
    pub mac: fn() -> Mac,
}

/// All profiles.
pub const PROFILES: &[Profile] = &[
    Profile {
        name: "ns2-2M",
        summary: "ns-2's 802.11 as most papers set it: data at 2 Mbit/s, control frames at 1, RTS for every frame",
        source: "ns-2.35",
        mac: || ns2("ns2-2M", 2, 1),
    },
    Profile {
        name: "ns2-2M-basic2",
        summary: "the same with control frames at 2 Mbit/s",
        source: "ns-2.35",
        mac: || ns2("ns2-2M-basic2", 2, 2),
    },
    Profile {
        name: "ns2-default-1M",
        summary: "the same with everything at 1 Mbit/s, which ns-2 does unless it is told otherwise",
        source: "ns-2.35",
        mac: || ns2("ns2-default-1M", 1, 1),
    },
    Profile {
        name: "standard",
        summary: "802.11 DSSS as the standard has it: three addresses, LLC, back-off from 0 to CW, EIFS in the place of DIFS",
        source: "IEEE 802.11-1999",
        mac: || dsss("standard", LONG),
    },
    Profile {
        name: "802.11b",
        summary: "11 Mbit/s with the long preamble, acknowledged at 2 Mbit/s, no RTS",
        source: "IEEE 802.11-2012 §17",
        mac: || b("802.11b", LONG),
    },
    Profile {
        name: "802.11b-short",
        summary: "the same with the short preamble",
        source: "IEEE 802.11-2012 §17",
        mac: || b("802.11b-short", SHORT),
    },
    Profile {
        name: "802.11a",
        summary: "54 Mbit/s at 5 GHz, acknowledged at 24 Mbit/s, no RTS",
        source: "IEEE 802.11-2012 §18",
        mac: || ofdm("802.11a", Phy::Ofdm),
    },
    Profile {
        name: "802.11g",
        summary: "54 Mbit/s at 2.4 GHz among its like: short slots, acknowledged at 24 Mbit/s, no RTS",
        source: "IEEE 802.11-2012 §19",
        mac: || Mac { sifs: us(10), ..ofdm("802.11g", Phy::Erp(LONG)) },
    },
    Profile {
        name: "802.11g-mixed",
        summary: "the same where 802.11b stations listen: long slots, and a CTS to self at 2 Mbit/s protects every frame",
        source: "IEEE 802.11-2012 §19",
        mac: || Mac {
            sifs: us(10),
            slot: us(20),
            basic_rate: Rate(2_000_000),
            rts_threshold: 0,
            protection: Protection::CtsToSelf,
            ..ofdm("802.11g-mixed", Phy::Erp(LONG))
        },
    },
    Profile {
        name: "802.11n",
        summary: "65 Mbit/s at 5 GHz: one stream of 20 MHz without aggregation, best effort (AIFSN 3), QoS header",
        source: "IEEE 802.11-2012 §20",
        mac: || ht("802.11n", us(16), Duration::ZERO),
    },
    Profile {
        name: "802.11n-2.4",
        summary: "the same at 2.4 GHz",
        source: "IEEE 802.11-2012 §20",
        mac: || ht("802.11n-2.4", us(10), EXTENSION),
    },
];

const LONG: Duration = us(192);
const SHORT: Duration = us(96);
const EXTENSION: Duration = us(6);
const RTS: u32 = 20;
const ACK: u32 = 14;
/// LLC and SNAP.
const LLC: u32 = 8;

const fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

/// IEEE 802.11-1999, DSSS at 2 and 1 Mbit/s.
fn dsss(profile: &'static str, preamble: Duration) -> Mac {
    Mac {
        profile,
        phy: Phy::Dsss(preamble),
        slot: us(20),
        sifs: us(10),
        aifsn: 2,
        cw_min: 31,
        cw_max: 1023,
        data_rate: Rate(2_000_000),
        basic_rate: Rate(1_000_000),
        header: 28 + LLC,
        rts_threshold: 0,
        protection: Protection::RtsCts,
        short_retries: 7,
        long_retries: 4,
        backoff: Backoff::Standard,
    }
}

/// ns-2 has four addresses and no LLC.
fn ns2(profile: &'static str, data: u64, basic: u64) -> Mac {
    Mac {
        data_rate: Rate(data * 1_000_000),
        basic_rate: Rate(basic * 1_000_000),
        header: 34,
        backoff: Backoff::Ns2,
        ..dsss(profile, LONG)
    }
}

fn b(profile: &'static str, preamble: Duration) -> Mac {
    Mac { data_rate: Rate(11_000_000), basic_rate: Rate(2_000_000), rts_threshold: u32::MAX, ..dsss(profile, preamble) }
}

fn ofdm(profile: &'static str, phy: Phy) -> Mac {
    Mac {
        phy,
        slot: us(9),
        sifs: us(16),
        cw_min: 15,
        data_rate: Rate(54_000_000),
        basic_rate: Rate(24_000_000),
        rts_threshold: u32::MAX,
        ..dsss(profile, LONG)
    }
}

fn ht(profile: &'static str, sifs: Duration, extension: Duration) -> Mac {
    Mac { sifs, aifsn: 3, data_rate: Rate(65_000_000), header: 30 + LLC, ..ofdm(profile, Phy::Ht { extension }) }
}

impl Mac {
    /// The profile of this name.
    pub fn of(name: &str) -> Option<Mac> {
        PROFILES.iter().find(|profile| profile.name == name).map(|profile| (profile.mac)())
    }

    /// The rate at which a data frame of this rate is acknowledged: the basic rate, or where that is above it or of another kind the
    /// highest rate of its kind that everybody understands (IEEE 802.11-2012 §9.7.6.5.2).
    pub fn response(&self, rate: Rate) -> Rate {
        let cck = |rate: Rate| matches!(self.phy, Phy::Dsss(_)) || is_cck(rate);
        if rate >= self.basic_rate && cck(rate) == cck(self.basic_rate) {
            return self.basic_rate;
        }
        let mandatory: &[u64] = if cck(rate) { &[2, 1] } else { &[24, 12, 6] };
        let fits = mandatory.iter().map(|m| Rate(m * 1_000_000)).find(|m| *m <= rate);
        fits.unwrap_or(self.phy.lowest())
    }

    /// How long a frame of this many bytes, header and check sequence included, is on the air at this rate.
    pub fn airtime(&self, bytes: u32, rate: Rate) -> Duration {
        self.phy.airtime(bytes, rate)
    }

    /// Of an RTS.
    pub fn rts(&self) -> Duration {
        self.airtime(RTS, self.basic_rate)
    }

    /// Of a CTS, and of an ACK.
    pub fn ack(&self) -> Duration {
        self.airtime(ACK, self.basic_rate)
    }

    /// DIFS, or AIFS: SIFS and some slots.
    pub fn difs(&self) -> Duration {
        self.sifs + self.slot * u64::from(self.aifsn)
    }

    /// EIFS: SIFS, DIFS and an ACK at the lowest rate (IEEE 802.11-1999 §9.2.10).
    pub fn eifs(&self) -> Duration {
        self.sifs + self.difs() + self.airtime(ACK, self.phy.lowest())
    }
}

/// Data bits of an OFDM symbol at 1 Mbit/s: 4 µs.
const SYMBOL: u64 = 4;
/// SERVICE and tail.
const SERVICE_AND_TAIL: u64 = 16 + 6;
/// Of HT's rates with the long guard interval, 6.5 Mbit/s (N_DBPS = 26) … 65 Mbit/s (260); 3.6-µs symbols make them 10/9 as fast.
const HT_BITS: [u64; 8] = [26, 52, 78, 104, 156, 208, 234, 260];

impl Phy {
    /// Rates that it has, bit/s.
    pub fn rates(self) -> Vec<Rate> {
        const CCK: [u64; 4] = [1_000_000, 2_000_000, 5_500_000, 11_000_000];
        const OFDM: [u64; 8] =
            [6_000_000, 9_000_000, 12_000_000, 18_000_000, 24_000_000, 36_000_000, 48_000_000, 54_000_000];
        let rates: Vec<u64> = match self {
            Phy::Dsss(_) => CCK.to_vec(),
            Phy::Ofdm => OFDM.to_vec(),
            Phy::Erp(_) => [CCK.as_slice(), &OFDM].concat(),
            Phy::Ht { .. } => {
                let (long, short) = (HT_BITS.map(long_guard), HT_BITS.map(short_guard));
                [OFDM.as_slice(), &long, &short].concat()
            }
        };
        rates.into_iter().map(Rate).collect()
    }

    /// The lowest rate, which everybody understands.
    pub fn lowest(self) -> Rate {
        self.rates()[0]
    }

    /// The index of a rate in 802.11n's table, and whether its guard interval is the short one; none of other rates.
    pub fn mcs(self, rate: Rate) -> Option<(u8, bool)> {
        let Phy::Ht { .. } = self else { return None };
        let of = |rate_of: fn(u64) -> u64| HT_BITS.iter().position(|bits| rate_of(*bits) == rate.0);
        of(long_guard).map(|index| (index as u8, false)).or_else(|| Some((of(short_guard)? as u8, true)))
    }

    /// Whether frames begin with the short preamble of DSSS.
    pub fn is_short_preamble(self) -> bool {
        matches!(self, Phy::Dsss(SHORT) | Phy::Erp(SHORT))
    }

    /// How long a frame is on the air.
    pub fn airtime(self, bytes: u32, rate: Rate) -> Duration {
        let bits = SERVICE_AND_TAIL + 8 * u64::from(bytes);
        let symbols = |per_symbol: u64| bits.div_ceil(per_symbol.max(1));
        let legacy = || us(20) + us(SYMBOL) * symbols(SYMBOL * rate.0 / 1_000_000);
        match self {
            // LENGTH is in whole microseconds (§17.2.3.5).
            Phy::Dsss(preamble) => preamble + us((rate.time_for(bytes.into()).0).div_ceil(1000)),
            Phy::Ofdm => legacy(),
            Phy::Erp(preamble) if is_cck(rate) => Phy::Dsss(preamble).airtime(bytes, rate),
            Phy::Erp(_) => legacy() + EXTENSION,
            Phy::Ht { extension } => {
                let of = |rate_of: fn(u64) -> u64| HT_BITS.into_iter().find(|bits| rate_of(*bits) == rate.0);
                let data = match (of(long_guard), of(short_guard)) {
                    (Some(bits), _) => us(36) + us(SYMBOL) * symbols(bits),
                    // The last symbol ends on the grid of 4 µs (§20.4.3; equation 19-90 from the edition of 2016 on).
                    (_, Some(bits)) => us(36) + us((symbols(bits) * 36).div_ceil(40) * SYMBOL),
                    (None, None) => legacy(),
                };
                data + extension
            }
        }
    }
}

/// The rate of this many bits in 4 µs.
fn long_guard(bits: u64) -> u64 {
    bits * 250_000
}

/// The rate of this many bits in 3.6 µs, as it is written: 7.2, 14.4 … 72.2 Mbit/s.
fn short_guard(bits: u64) -> u64 {
    (bits * 100 + 18) / 36 * 100_000
}

pub(super) fn is_cck(rate: Rate) -> bool {
    matches!(rate.0, 1_000_000 | 2_000_000 | 5_500_000 | 11_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mac(name: &str) -> Mac {
        Mac::of(name).expect("a profile")
    }

    fn micros(d: Duration) -> f64 {
        d.0 as f64 / 1000.0
    }

    const M: u64 = 1_000_000;

    /// Times of RTS, CTS and ACK at both basic rates, and of the data frames of a 1500-byte and a 40-byte packet: 192 µs and the bits.
    #[test]
    fn frames_of_the_ns2_radio() {
        let found = |name: &str| {
            let mac = mac(name);
            let data = |bytes| micros(mac.airtime(bytes + mac.header, mac.data_rate));
            [micros(mac.rts()), micros(mac.ack()), data(1500), data(40)]
        };
        assert_eq!(found("ns2-2M"), [352.0, 304.0, 6328.0, 488.0]);
        assert_eq!(found("ns2-2M-basic2"), [272.0, 248.0, 6328.0, 488.0]);
        assert_eq!(found("ns2-default-1M"), [352.0, 304.0, 12464.0, 784.0]);
    }

    /// IEEE 802.11-1999 §9.2.10, and the tables of 802.11-2012 §17–§20; AIFS of best effort has three slots.
    #[test]
    fn interframe_spaces() {
        let found = |name: &str| [mac(name).difs(), mac(name).eifs()].map(micros);
        assert_eq!(found("ns2-2M"), [50.0, 364.0]);
        assert_eq!(found("ns2-2M-basic2"), [50.0, 364.0], "always at the lowest rate");
        assert_eq!(found("802.11b-short"), [50.0, 268.0]);
        assert_eq!(found("802.11a"), [34.0, 94.0]);
        assert_eq!(found("802.11g")[0], 28.0);
        assert_eq!(found("802.11g-mixed"), [50.0, 364.0]);
        assert_eq!((found("802.11n")[0], found("802.11n-2.4")[0]), (43.0, 37.0));
    }

    /// M. Gast, *When is 54 not equal to 54?* (O'Reilly, 2003): a TCP segment, a TCP ACK and an 802.11 ACK at the highest rate. His
    /// figures are those of ns-3's tests too, which add those of 802.11g and n.
    #[test]
    fn published_times_on_the_air() {
        let found = |phy: Phy, rate: u64| [1536, 76, 14].map(|bytes| micros(phy.airtime(bytes, Rate(rate))));
        assert_eq!(found(Phy::Dsss(LONG), 11 * M), [1310.0, 248.0, 203.0]);
        assert_eq!(found(Phy::Ofdm, 54 * M), [248.0, 32.0, 24.0]);
        assert_eq!(found(Phy::Erp(LONG), 54 * M), [254.0, 38.0, 30.0]);
        assert_eq!(found(Phy::Erp(LONG), 11 * M), [1310.0, 248.0, 203.0]);
        let ht = Phy::Ht { extension: Duration::ZERO };
        assert_eq!(found(ht, 65 * M), [228.0, 48.0, 40.0]);
        // There the last short symbol ends where it ends: 1742.4, 126 and 57.6.
        assert_eq!(found(ht, 7_200_000), [1744.0, 128.0, 60.0]);
    }

    /// Gast again: DIFS, a TCP segment, SIFS, an ACK; DIFS, a TCP ACK, SIFS, an ACK. So many of them in a second, at 54 Mbit/s alone,
    /// and behind a CTS to self or an RTS and a CTS at 11 Mbit/s.
    #[test]
    fn published_transactions_per_second() {
        let (erp, bare) = (mac("802.11g"), |mac: &Mac, bytes| micros(mac.airtime(bytes, Rate(54 * M))));
        let sifs = micros(erp.sifs);
        let transaction = |mac: &Mac, before: f64| {
            let exchange = |bytes| micros(mac.difs()) + before + bare(mac, bytes) + sifs + bare(mac, ACK);
            1e6 / (exchange(1536) + exchange(76))
        };
        let mixed = Mac { basic_rate: Rate(11 * M), ..mac("802.11g-mixed") };
        let cts = micros(mixed.ack()) + sifs;
        let found =
            [transaction(&erp, 0.0), transaction(&mixed, cts), transaction(&mixed, cts + micros(mixed.rts()) + sifs)];
        assert_eq!(found.map(f64::floor), [2336.0, 1113.0, 750.0]);
    }

    /// IEEE 802.11-2012 §18.1.1: an ACK at 6, 12 and 24 Mbit/s takes 44, 32 and 28 µs.
    #[test]
    fn acknowledgements_at_the_mandatory_rates() {
        assert_eq!([6, 12, 24].map(|rate| micros(Phy::Ofdm.airtime(14, Rate(rate * M)))), [44.0, 32.0, 28.0]);
        assert_eq!(micros(Phy::Ht { extension: Duration::ZERO }.airtime(14, Rate(24 * M))), 28.0);
    }

    /// Slow data are acknowledged slowly: 54 at 24, 18 at 12, 9 at 6, 11 and 2 at 2, 1 at 1 Mbit/s; symbols by symbols.
    #[test]
    fn acknowledgements_are_no_faster_than_data() {
        let response = |name: &str, mbps: f64| mac(name).response(Rate((mbps * 1e6) as u64)).0 / M;
        assert_eq!([54.0, 24.0, 18.0, 9.0, 6.0].map(|rate| response("802.11a", rate)), [24, 24, 12, 6, 6]);
        assert_eq!([11.0, 5.5, 2.0, 1.0].map(|rate| response("802.11b", rate)), [2, 2, 2, 1]);
        assert_eq!([54.0, 11.0, 1.0].map(|rate| response("802.11g", rate)), [24, 2, 1]);
        assert_eq!([54.0, 6.0, 11.0, 1.0].map(|rate| response("802.11g-mixed", rate)), [24, 6, 2, 1]);
        assert_eq!([65.0, 6.5].map(|rate| response("802.11n", rate)), [24, 6]);
        assert_eq!([2.0, 1.0].map(|rate| response("ns2-2M", rate)), [1, 1]);
    }

    /// IEEE 802.11-2012 table 20-30.
    #[test]
    fn rates_of_one_stream() {
        let rates: Vec<f64> = Phy::Ht { extension: Duration::ZERO }.rates().iter().map(|r| r.0 as f64 / 1e6).collect();
        assert_eq!(rates[8..16], [6.5, 13.0, 19.5, 26.0, 39.0, 52.0, 58.5, 65.0]);
        assert_eq!(rates[16..], [7.2, 14.4, 21.7, 28.9, 43.3, 57.8, 65.0, 72.2]);
    }

    #[test]
    fn every_profile_has_its_own_rates() {
        for profile in PROFILES {
            let mac = (profile.mac)();
            assert_eq!(mac.profile, profile.name);
            for rate in [mac.data_rate, mac.basic_rate] {
                assert!(mac.phy.rates().contains(&rate), "{}: {rate:?}", profile.name);
            }
        }
    }
}
