//! What a medium is made of.

use super::StationId;
use super::routing::{self, Entry};
use crate::net::field::{Params, Value};
use crate::net::queue::Queue;
use cclab_algo::rng::Stream;
use cclab_algo::{Duration, Rate, Time};

/// A radio medium and its stations.
#[derive(Clone, Debug)]
pub struct Medium {
    /// Name.
    pub name: String,
    /// Its stations; [`StationId`] counts them.
    pub stations: Vec<Station>,
    /// Seed of their places and moves, in the place of the run's.
    pub seed: Option<u64>,
    /// Whether places at the start are drawn until every station reaches every other one, over others.
    pub connected: bool,
    /// How far signals carry.
    pub radio: Radio,
    /// How stations share the air.
    pub mac: Mac,
    /// What packets wait in at a station.
    pub queue: Queue,
    /// How they find their ways.
    pub routing: Routing,
    /// Whether addresses are resolved by ARP; else everybody knows them.
    pub arp: bool,
    /// Hops that a packet may make.
    pub ttl: u8,
    /// Whether the first station is an access point: every frame comes from it or goes to it.
    pub infrastructure: bool,
}

/// A station: a node with a radio.
#[derive(Clone, Debug)]
pub struct Station {
    /// Index of the node.
    pub node: usize,
    /// Where it is, and how it moves.
    pub motion: Motion,
    /// Rate of the data frames between it and others, in the place of the MAC's; of two stations' rates the lower.
    pub rate: Option<Rate>,
    /// Probability that a data frame to it or from it is lost, for whatever reason but a collision.
    pub loss: f64,
    /// What packets wait in, in the place of the medium's.
    pub queue: Option<Queue>,
}

impl Station {
    /// A station at the MAC's rate, without losses.
    pub fn new(node: usize, motion: Motion) -> Station {
        Station { node, motion, rate: None, loss: 0.0, queue: None }
    }
}

/// How a station moves; [`mobility`](super::mobility) makes it a [`Track`], leg by leg.
#[derive(Clone, Debug, PartialEq)]
pub enum Motion {
    /// Not at all.
    Standing(Place),
    /// Along these legs.
    Along(Track),
    /// Not at all, and anywhere in this area.
    Uniform(Area),
    /// To one random place after the other.
    Waypoint(Waypoint),
    /// With a speed and a direction that forget slowly.
    GaussMarkov(GaussMarkov),
}

impl Motion {
    /// Whether the station may leave its place.
    pub fn moves(&self) -> bool {
        !matches!(self, Motion::Standing(_) | Motion::Uniform(_))
    }

    /// Where the station is drawn, if it is.
    pub fn area(&self) -> Option<Area> {
        match self {
            Motion::Standing(_) | Motion::Along(_) => None,
            Motion::Uniform(area)
            | Motion::Waypoint(Waypoint { area, .. })
            | Motion::GaussMarkov(GaussMarkov { area, .. }) => Some(*area),
        }
    }
}

/// A rectangle from the origin.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Area {
    /// Its width, m.
    pub x: f64,
    /// Its height, m.
    pub y: f64,
}

/// Random waypoint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Waypoint {
    /// Where.
    pub area: Area,
    /// Smallest and largest speed of a leg, m/s; each leg draws evenly from them.
    pub speed: (f64, f64),
    /// Rest after each leg.
    pub pause: Duration,
    /// Whether it begins as if it had run for ever (Navidi and Camp 2004); else anywhere, with a rest.
    pub steady: bool,
}

/// Gauss–Markov.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GaussMarkov {
    /// Where.
    pub area: Area,
    /// How much of speed and direction stays from step to step: 0 nothing, 1 all.
    pub memory: f64,
    /// Mean speed, m/s.
    pub speed: f64,
    /// Standard deviation of the speed, m/s.
    pub speed_deviation: f64,
    /// Standard deviation of the direction, rad.
    pub direction_deviation: f64,
    /// Length of a step.
    pub step: Duration,
    /// So near an edge, m, it turns to the centre.
    pub margin: f64,
}

/// A place in the plane, in metres.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Place {
    /// To the right.
    pub x: f64,
    /// Up.
    pub y: f64,
}

/// Where a station is, and where it goes: straight legs in order of time. Before each it stands where that begins, behind the
/// last where that ends.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Track {
    /// The legs; a station that never moves has one of no length.
    pub legs: Vec<Leg>,
}

/// From here to there, at a constant speed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Leg {
    /// When it leaves.
    pub start: Time,
    /// When it arrives.
    pub end: Time,
    /// From where.
    pub from: Place,
    /// Whereto.
    pub to: Place,
}

impl Place {
    /// How far it is to another place, m.
    #[inline]
    pub fn distance(self, other: Place) -> f64 {
        let (x, y) = (other.x - self.x, other.y - self.y);
        (x * x + y * y).sqrt()
    }
}

impl Track {
    /// A station that never moves.
    pub fn standing(place: Place) -> Track {
        Track { legs: vec![Leg::standing(Time::ZERO, place)] }
    }
}

impl Leg {
    /// No way at all.
    pub fn standing(at: Time, place: Place) -> Leg {
        Leg { start: at, end: at, from: place, to: place }
    }

    /// From here to there at this speed, m/s.
    pub fn at_speed(start: Time, from: Place, to: Place, speed: f64) -> Leg {
        Leg { start, end: start + Duration::from_secs_f64(from.distance(to) / speed), from, to }
    }

    /// Where it is.
    #[inline]
    pub fn at(&self, now: Time) -> Place {
        if now <= self.start {
            return self.from;
        }
        if now >= self.end {
            return self.to;
        }
        // Signed: processors convert those at once.
        let share = (now.0 - self.start.0) as i64 as f64 / (self.end.0 - self.start.0) as i64 as f64;
        let between = |from: f64, to: f64| from + (to - from) * share;
        Place { x: between(self.from.x, self.to.x), y: between(self.from.y, self.to.y) }
    }

    /// Speed on the way, m/s.
    pub fn speed(&self) -> f64 {
        let seconds = self.end.since(self.start).as_secs_f64();
        if seconds > 0.0 { self.from.distance(self.to) / seconds } else { 0.0 }
    }
}

impl Area {
    /// A place anywhere in it.
    pub fn draw(self, rng: &mut Stream) -> Place {
        Place { x: rng.between(0.0, self.x), y: rng.between(0.0, self.y) }
    }

    /// From corner to corner, m.
    pub fn diagonal(self) -> f64 {
        Place::default().distance(Place { x: self.x, y: self.y })
    }
}

/// Transmitter, receiver and what is between them. Powers in W, as ns-2's defaults for the WaveLAN card unless said otherwise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Radio {
    /// Law of attenuation.
    pub propagation: Propagation,
    /// Transmitted power, W.
    pub power: f64,
    /// Wavelength, m.
    pub wavelength: f64,
    /// Height of both antennas, m.
    pub height: f64,
    /// Weakest signal that is decoded, W.
    pub receive: f64,
    /// Weakest signal that is noticed, W.
    pub sense: f64,
    /// How many times stronger a frame must be than one that comes later, to survive it.
    pub capture: f64,
    /// Noise over the channel, that of the receiver included, W; `None`: it spoils nothing.
    pub noise: Option<f64>,
}

impl Radio {
    /// ns-2's default, the 914-MHz WaveLAN card: decoded up to 250 m, sensed up to 550 m.
    pub const WAVELAN: Radio = Radio {
        propagation: Propagation::TwoRayGround,
        power: 0.281_838_15,
        wavelength: 3e8 / 914e6,
        height: 1.5,
        receive: 3.652e-10,
        sense: 1.559e-11,
        capture: 10.0,
        noise: None,
    };
}

/// A law of attenuation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Propagation {
    /// Free space.
    Friis,
    /// Free space near, d⁻⁴ far.
    TwoRayGround,
    /// Log-distance with a normal deviate in dB for each pair and frame.
    Shadowing {
        /// Path-loss exponent.
        exponent: f64,
        /// Standard deviation, dB.
        deviation: f64,
        /// Reference distance, m; Friis up to there.
        reference: f64,
    },
}

/// The MAC and the physical layer under it; [`profile`](super::profile) has the sets of values that there are names for.
#[derive(Clone, Debug, PartialEq)]
pub struct Mac {
    /// Name of the profile.
    pub profile: &'static str,
    /// How a frame becomes time.
    pub phy: Phy,
    /// A slot of the back-off.
    pub slot: Duration,
    /// Short interframe space.
    pub sifs: Duration,
    /// Slots of a DIFS (or of an AIFS) beyond SIFS.
    pub aifsn: u32,
    /// Smallest contention window, slots less one.
    pub cw_min: u32,
    /// Largest.
    pub cw_max: u32,
    /// Rate of data frames.
    pub data_rate: Rate,
    /// Rate of RTS, CTS, ACK and of what is for all.
    pub basic_rate: Rate,
    /// Bytes of a data frame around its IP packet: header, check sequence, LLC.
    pub header: u32,
    /// Frames of at least so many bytes are announced; `u32::MAX` none.
    pub rts_threshold: u32,
    /// How they are.
    pub protection: Protection,
    /// Attempts of RTS, and of frames without.
    pub short_retries: u32,
    /// Attempts of frames behind an RTS.
    pub long_retries: u32,
    /// How back-offs are drawn and collisions waited for.
    pub backoff: Backoff,
}

/// What precedes a frame on the air, and how its bits are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phy {
    /// DSSS and CCK: a preamble of this length, then bits at the frame's rate.
    Dsss(Duration),
    /// 802.11a: 20 µs, then symbols of 4 µs.
    Ofdm,
    /// 802.11g: the same and 6 µs of signal extension; 1, 2, 5.5 and 11 Mbit/s as DSSS.
    Erp(Duration),
    /// 802.11n, 20 MHz, one stream, mixed format: 36 µs, then symbols of 4 or 3.6 µs; rates of 802.11a as there.
    Ht {
        /// Signal extension behind a frame: 6 µs at 2.4 GHz.
        extension: Duration,
    },
}

/// How a frame is announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// By an RTS, which the receiver answers by a CTS.
    RtsCts,
    /// By a CTS of the sender to itself, which nobody answers.
    CtsToSelf,
}

/// Whose back-off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backoff {
    /// The standard's: uniform in 0..=cw; EIFS in the place of DIFS.
    Standard,
    /// ns-2's: uniform in 0..cw; EIFS and then DIFS.
    Ns2,
}

/// How stations find their ways: a protocol, and what its fields hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Routing {
    /// The protocol.
    pub entry: &'static Entry,
    /// Its fields.
    pub params: Params,
}

impl Routing {
    /// A protocol with its defaults.
    pub fn new(entry: &'static Entry) -> Routing {
        Routing::with(entry, &vec![None; entry.fields.len()])
    }

    /// A protocol with what was given, in the order of its fields, and defaults for the rest.
    pub fn with(entry: &'static Entry, given: &[Option<Value>]) -> Routing {
        Routing { entry, params: Params::new(entry.fields, given) }
    }

    /// The protocol at every station; `neighbours` are those that decode each other at the start, sorted.
    pub fn start(&self, neighbours: &[Vec<StationId>]) -> Vec<Box<dyn routing::Routing>> {
        (self.entry.start)(&self.params, neighbours)
    }
}

/// A pair of stations: where a route enters a medium, and where it leaves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// Index of the medium.
    pub medium: usize,
    /// Where it enters.
    pub from: StationId,
    /// Where it leaves.
    pub to: StationId,
}
