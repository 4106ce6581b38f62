//! What an analyser would see of the frames on the air: kept whole when a capture is asked for, and made bytes when the run is over.

use super::air::EVERYBODY;
use super::interface_queue::Content;
use super::mac::{Kind, Transmission};
use super::{Parcel, Parcels, StationId};
use cclab_algo::{Duration, Rate, Time};

/// A frame as its station sent it.
pub struct Sent {
    /// When it begins there.
    pub start: Time,
    /// When it ends there.
    pub end: Time,
    /// Who sends it.
    pub from: StationId,
    /// For whom; `None` is everybody.
    pub to: Option<StationId>,
    /// What it is.
    pub frame: Frame,
    /// Its duration field.
    pub nav: Duration,
    /// At which rate.
    pub rate: Rate,
    /// With what power it arrives where it is to be received, W; unknown of a frame for all, and under shadowing.
    pub power: Option<f64>,
    /// Who was to receive it and did not, so far.
    pub missed: Vec<(StationId, Missed)>,
}

/// A frame.
pub enum Frame {
    /// May I?
    Rts,
    /// You may; to the sender itself: I will.
    Cts,
    /// I have it.
    Ack,
    /// A packet.
    Data {
        /// What it carries.
        content: Carried,
        /// Its number.
        sequence: u16,
        /// It was sent before.
        retry: bool,
    },
}

/// What a data frame carries.
pub enum Carried {
    /// Who is this?
    ArpRequest(StationId),
    /// I am.
    ArpReply,
    /// An IP packet.
    Parcel(Box<Parcel>),
}

/// Why a frame was not received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missed {
    /// Another one was on the air.
    Collided,
    /// The station was sending itself.
    Deaf,
    /// By the given probability.
    Lost,
    /// It was too weak there.
    Weak,
}

/// Keeps what is sent in a medium.
pub(super) struct Sniffer {
    /// Bytes of each packet that the capture is to keep.
    snaplen: u32,
    pub(super) sent: Vec<Sent>,
    /// Number of the last data frame of each station.
    last: Vec<Option<u16>>,
    /// What all of it takes, about.
    pub(super) bytes: usize,
}

impl Sniffer {
    pub(super) fn new(stations: usize, snaplen: u32) -> Sniffer {
        Sniffer { snaplen, sent: Vec::new(), last: vec![None; stations], bytes: 0 }
    }

    /// A frame goes on the air.
    pub(super) fn see(
        &mut self,
        frame: &Transmission,
        (start, end): (Time, Time),
        (rate, power): (Rate, Option<f64>),
        lost: bool,
        parcels: &Parcels,
    ) {
        let &Transmission { kind, from, to, nav, ref ears, .. } = frame;
        self.bytes += size_of::<Sent>();
        let frame = match kind {
            Kind::Rts => Frame::Rts,
            Kind::Cts => Frame::Cts,
            Kind::Ack => Frame::Ack,
            Kind::Data { content, sequence } => {
                let retry = self.last[from as usize].replace(sequence) == Some(sequence);
                let content = match content {
                    Content::ArpRequest(whom) => Carried::ArpRequest(whom),
                    Content::ArpReply => Carried::ArpReply,
                    Content::Parcel(id) => {
                        self.bytes += size_of::<Parcel>() + self.snaplen.min(parcels[id].size()) as usize;
                        Carried::Parcel(Box::new(parcels[id].clone()))
                    }
                };
                Frame::Data { content, sequence, retry }
            }
        };
        let unheard = ![from, EVERYBODY].contains(&to) && !ears.iter().any(|ear| ear.1 == to);
        let missed = unheard.then_some((StationId(to), if lost { Missed::Lost } else { Missed::Weak }));
        let to = (to != EVERYBODY).then_some(StationId(to));
        let (from, missed) = (StationId(from), missed.into_iter().collect());
        self.sent.push(Sent { start, end, from, to, frame, nav, rate, power, missed });
    }
}
