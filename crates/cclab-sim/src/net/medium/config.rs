//! What a medium is made of.

use super::StationId;
use super::routing::{self, Entry};
use crate::net::field::Params;
use cclab_algo::{Duration, Rate, Time};

/// A radio medium and its stations.
#[derive(Clone, Debug)]
pub struct Medium {
    /// Name.
    pub name: String,
    /// Its stations; [`StationId`] counts them.
    pub stations: Vec<Station>,
    /// How far signals carry.
    pub radio: Radio,
    /// How stations share the air.
    pub mac: Mac,
    /// How they find their ways.
    pub routing: Routing,
    /// Whether addresses are resolved by ARP; else everybody knows them.
    pub arp: bool,
    /// Hops that a packet may make.
    pub ttl: u8,
}

/// A station: a node with a radio.
#[derive(Clone, Debug)]
pub struct Station {
    /// Index of the node.
    pub node: usize,
    /// Where it is.
    pub track: Track,
}

/// A place in the plane, in metres.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Place {
    /// To the right.
    pub x: f64,
    /// Up.
    pub y: f64,
}

/// Where a station is, and where it goes: straight legs in order of time. Before the first it stands where that begins, behind the
/// last it stands where that ends; between two legs it stands.
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

impl Track {
    /// A station that never moves.
    pub fn standing(place: Place) -> Track {
        Track { legs: vec![Leg { start: Time::ZERO, end: Time::ZERO, from: place, to: place }] }
    }

    /// Whether it ever moves.
    pub fn moves(&self) -> bool {
        self.legs.iter().any(|leg| leg.from != leg.to)
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

/// The MAC and the physical layer under it.
#[derive(Clone, Debug, PartialEq)]
pub struct Mac {
    /// Name of the profile.
    pub profile: String,
    /// A slot of the back-off.
    pub slot: Duration,
    /// Short interframe space.
    pub sifs: Duration,
    /// Smallest contention window, slots less one.
    pub cw_min: u32,
    /// Largest.
    pub cw_max: u32,
    /// Rate of data frames.
    pub data_rate: Rate,
    /// Rate of RTS, CTS, ACK and of what is for all.
    pub basic_rate: Rate,
    /// How a frame becomes time.
    pub preamble: Preamble,
    /// Bytes of a data frame's header with its check sequence.
    pub header: u32,
    /// Frames of at least so many bytes are announced by RTS; `u32::MAX` none.
    pub rts_threshold: u32,
    /// Attempts of RTS, and of frames without.
    pub short_retries: u32,
    /// Attempts of announced frames.
    pub long_retries: u32,
    /// How back-offs are drawn and collisions waited for.
    pub backoff: Backoff,
    /// Packets in the interface queue.
    pub queue: usize,
}

/// What precedes a frame on the air, and how its bits are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preamble {
    /// This long, then bits at the frame's rate.
    Plain(Duration),
    /// OFDM: this long, then 4-µs symbols with 22 bits of service and tail, then a signal extension.
    Ofdm {
        /// Preamble and SIGNAL.
        preamble: Duration,
        /// Extension behind (802.11g: 6 µs).
        extension: Duration,
    },
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
        Routing { entry, params: Params::new(entry.fields, &vec![None; entry.fields.len()]) }
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

impl Mac {
    pub(super) fn difs(&self) -> Duration {
        self.sifs + self.slot * 2
    }
    pub(super) fn eifs(&self) -> Duration {
        self.sifs + self.difs() + self.airtime(14, Rate(1_000_000))
    }
    pub(super) fn airtime(&self, bytes: u32, rate: Rate) -> Duration {
        match self.preamble {
            Preamble::Plain(preamble) => preamble + rate.time_for(bytes.into()),
            Preamble::Ofdm { preamble, .. } => preamble,
        }
    }
}
