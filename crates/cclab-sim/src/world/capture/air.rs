//! The frames on the air: radiotap, 802.11, LLC, and the packet (radiotap.org; IEEE 802.11-2012 §8; RFC 1042).

use super::{Capture, Ends, address, ends_of, ip_header, ports, printable, write_ip};
use crate::net::medium::config::{Mac, Phy};
use crate::net::medium::routing::EXPERIMENT;
use crate::net::medium::{Carried, Frame, Missed, Parcel, Sent, StationId};
use crate::wire::{Body, NEWS, News, Packet};
use crate::world::config::Scenario;
use cclab_algo::{Duration, math};
use etherparse::IpNumber;
use pcap_file::DataLink;
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};
use std::borrow::Cow;
use std::f64::consts::LN_10;

/// A bit of radiotap's flags.
const HAS_FCS: u8 = 0x10;
/// Bits of the flags in radiotap's TX field: no ACK is expected.
const NO_ACK: u16 = 8;
/// The most that a duration field holds, µs (§8.2.4.2).
const MOST: u64 = 32_767;
const BROADCAST: [u8; 6] = [0xff; 6];
const IPV4: [u8; 2] = [0x08, 0x00];
const ARP: [u8; 2] = [0x08, 0x06];

/// A medium as its frames need it.
pub(super) struct Air {
    mac: Mac,
    /// W.
    power: f64,
    infrastructure: bool,
    /// Of each station.
    nodes: Vec<usize>,
    names: Vec<String>,
    /// Interface of its first station.
    first: u32,
    /// Ad hoc stations have a made-up BSS.
    cell: [u8; 6],
}

impl Air {
    fn ip(&self, station: StationId) -> [u8; 4] {
        address(self.nodes[station.index()])
    }

    /// Locally administered: 02:00 and the IP address.
    fn mac(&self, station: Option<StationId>) -> [u8; 6] {
        let Some(station) = station else { return BROADCAST };
        let [a, b, c, d] = self.ip(station);
        [2, 0, a, b, c, d]
    }

    fn name(&self, station: StationId) -> &str {
        &self.names[station.index()]
    }
}

impl Capture {
    /// An interface for each station of each medium.
    pub(super) fn open_stations(&mut self, scenario: &Scenario) {
        use InterfaceDescriptionOption as Option;
        let mut first = 0;
        for (number, medium) in (0..).zip(&scenario.media) {
            let nodes: Vec<usize> = medium.stations.iter().map(|station| station.node).collect();
            let count = nodes.len() as u32;
            let air = Air {
                mac: medium.mac.clone(),
                power: medium.radio.power,
                infrastructure: medium.infrastructure,
                names: nodes.iter().map(|&node| printable(&scenario.nodes[node])).collect(),
                nodes,
                first,
                cell: [2, 0, 0, 0, 0, number],
            };
            first += count;
            for station in (0..count).map(StationId) {
                let [a, b, c, d] = air.ip(station);
                let description = format!("what {a}.{b}.{c}.{d} sends, {}", printable(&medium.name));
                let block = InterfaceDescriptionBlock {
                    linktype: DataLink::IEEE802_11_RADIOTAP,
                    snaplen: 0, // no limit
                    options: vec![
                        Option::IfName(Cow::Owned(air.name(station).to_string())),
                        Option::IfDescription(Cow::Owned(description)),
                        Option::IfIpv4Addr(Cow::Owned(vec![a, b, c, d, 255, 0, 0, 0])),
                        Option::IfMacAddr(Cow::Owned(air.mac(Some(station)).to_vec())),
                        Option::IfTsResol(9), // 10^-9 s
                    ],
                };
                self.writer.write_pcapng_block(block).expect("memory takes every write");
            }
            self.air.push(air);
        }
    }

    /// Writes down what was sent, frames with the numbers of their media, in order of time.
    pub fn record_air(&mut self, sent: &[(usize, Sent)]) {
        let air = std::mem::take(&mut self.air);
        sent.iter().for_each(|(medium, sent)| self.record_frame(&air[*medium], sent));
        self.air = air;
    }

    fn record_frame(&mut self, air: &Air, sent: &Sent) {
        let mut comments = told(air, &sent.missed);
        let mut out = std::mem::take(&mut self.bytes);
        out.clear();
        radiotap(&air.mac, air.power, sent, &mut out);
        let header = out.len();
        let duration = (sent.nav.0.div_ceil(1000).min(MOST) as u16).to_le_bytes();
        let [receiver, transmitter] = [sent.to, Some(sent.from)].map(|station| air.mac(station));
        let control = |kind: u8, out: &mut Vec<u8>| {
            out.extend([kind, 0]);
            out.extend(duration);
            out.extend(receiver);
        };
        let mut before_ip = usize::MAX;
        match &sent.frame {
            Frame::Rts => {
                control(0xb4, &mut out);
                out.extend(transmitter);
            }
            Frame::Cts => control(0xc4, &mut out),
            Frame::Ack => control(0xd4, &mut out),
            Frame::Data { content, sequence, retry } => {
                let qos = matches!(air.mac.phy, Phy::Ht { .. });
                // To and from the distribution system; in both directions the access point is the BSS and the end.
                let [to_ds, from_ds] = match air.infrastructure {
                    true => [sent.from != StationId(0), sent.from == StationId(0)],
                    false => [false; 2],
                };
                let third = match (to_ds, from_ds) {
                    (true, _) => receiver,
                    (_, true) => transmitter,
                    _ => air.cell,
                };
                let flags = u8::from(to_ds) | u8::from(from_ds) << 1 | u8::from(*retry) << 3;
                out.extend([if qos { 0x88 } else { 0x08 }, flags]);
                out.extend(duration);
                [receiver, transmitter, third].iter().for_each(|address| out.extend(address));
                out.extend((sequence << 4).to_le_bytes());
                if qos {
                    out.extend([0, 0]); // best effort
                }
                out.extend([0xaa, 0xaa, 3, 0, 0, 0]);
                out.extend(if matches!(content, Carried::Parcel(_)) { IPV4 } else { ARP });
                self.bytes = out;
                before_ip = self.bytes.len();
                comments.extend(self.put_content(air, sent, content));
                out = std::mem::take(&mut self.bytes);
            }
        }
        let check = fcs(&out[header..]);
        out.extend(check.to_le_bytes());
        self.bytes = out;
        self.write_packet(sent.start, air.first + sent.from.0, before_ip, comments);
    }

    /// Writes what a data frame carries; what its bytes do not say.
    fn put_content(&mut self, air: &Air, sent: &Sent, content: &Carried) -> Option<String> {
        let parcel = match content {
            Carried::ArpRequest(whom) => {
                self.put_arp(air, 1, sent.from, ([0; 6], *whom));
                return None;
            }
            Carried::ArpReply => {
                let whom = sent.to.unwrap_or(sent.from);
                self.put_arp(air, 2, sent.from, (air.mac(Some(whom)), whom));
                return None;
            }
            Carried::Parcel(parcel) => parcel,
        };
        // Counted down already when it is sent.
        let ttl = parcel.ttl.saturating_add(1);
        let station_ip = |station: StationId| air.ip(station);
        let (ends, protocol, payload, comment) = match (&parcel.message, &parcel.packet.body) {
            (Some(message), _) => {
                let encoded = message.encode(sent.from, &station_ip);
                let ours = encoded.protocol == EXPERIMENT;
                (encoded.ends, encoded.protocol, encoded.payload, ours.then(|| encoded.summary.to_string()))
            }
            (None, Body::Tcp(_) | Body::Udp(_)) if parcel.packet.flow != Packet::NO_FLOW => {
                self.put_packet(air, parcel, ttl);
                return None;
            }
            (None, body) => {
                let news = if let Body::News(news) = body { Some(news) } else { None };
                let (words, payload) = notice(news, parcel.packet.to.0);
                (None, EXPERIMENT, payload, Some(words.to_string()))
            }
        };
        let (from, to) = ends.unwrap_or((sent.from, sent.to));
        let to = to.map_or([255; 4], station_ip);
        write_ip(ip_header(air.ip(from), to, IpNumber(protocol), payload.len(), ttl), &[], &mut self.bytes);
        self.bytes.extend(payload);
        comment
    }

    /// Writes a packet of a flow, of the scenario or of the background.
    fn put_packet(&mut self, air: &Air, parcel: &Parcel, ttl: u8) {
        let Parcel { packet, source, destination, path, .. } = parcel;
        let ends = self.flows.get(packet.flow as usize).copied().unwrap_or_else(|| {
            let mut addresses = [source, &destination.unwrap_or(*source)].map(|&station| air.ip(station));
            let (me, _) = ends_of(packet);
            addresses.rotate_left(me);
            Ends { addresses, ports: ports(packet.flow), isns: [0; 2], ttls: [0; 2], interface: 0 }
        });
        let protocol = if matches!(packet.body, Body::Tcp(_)) { 6 } else { 17 };
        let shim = path.as_ref().map_or_else(Vec::new, |path| path.encode(protocol, &|station| air.ip(station)));
        let before = self.bytes.len();
        ends.write(packet, ttl, &shim, &mut self.bytes);
        debug_assert_eq!(self.bytes.len() - before, parcel.size() as usize, "{parcel:?}");
    }

    /// RFC 826.
    fn put_arp(&mut self, air: &Air, operation: u8, from: StationId, to: ([u8; 6], StationId)) {
        self.bytes.extend([0, 1, 8, 0, 6, 4, 0, operation]);
        self.bytes.extend(air.mac(Some(from)));
        self.bytes.extend(air.ip(from));
        self.bytes.extend(to.0);
        self.bytes.extend(air.ip(to.1));
    }
}

/// What became of a frame where it was to be received, if not everything went well.
fn told(air: &Air, missed: &[(StationId, Missed)]) -> Vec<String> {
    let all = |why: Missed, words: &str| {
        let names: Vec<&str> =
            missed.iter().filter(|(_, cause)| *cause == why).map(|(station, _)| air.name(*station)).collect();
        (!names.is_empty()).then(|| format!("{words} {}", names.join(", ")))
    };
    let causes = [
        (Missed::Collided, "collided at"),
        (Missed::Deaf, "not heard while sending itself:"),
        (Missed::Lost, "lost by chance at"),
        (Missed::Weak, "too weak at"),
    ];
    causes.into_iter().filter_map(|(why, words)| all(why, words)).collect()
}

/// Fields in the order of their bits, each at a multiple of its size.
fn radiotap(mac: &Mac, power: f64, sent: &Sent, out: &mut Vec<u8>) {
    let mcs = mac.phy.mcs(sent.rate);
    let signal = sent.power.map(dbm);
    let present = 1 | 1 << 1 | u32::from(mcs.is_none()) << 2 | 1 << 3 | u32::from(signal.is_some()) << 5;
    let present = present | 1 << 10 | 1 << 15 | u32::from(mcs.is_some()) << 19;
    out.extend([0, 0, 0, 0]);
    out.extend(present.to_le_bytes());
    // As cards stamp it, and Wireshark believes: the end of the frame.
    out.extend((sent.end.0 / 1000).to_le_bytes());
    let short = mac.phy.is_short_preamble();
    out.push(HAS_FCS | u8::from(short) << 1);
    out.push(if mcs.is_none() { (sent.rate.0 / 500_000) as u8 } else { 0 });
    let (frequency, flags) = channel(mac.phy);
    out.extend(frequency.to_le_bytes());
    out.extend(flags.to_le_bytes());
    out.extend(signal.map(|dbm| dbm as u8));
    out.push(dbm(power) as u8);
    out.resize(out.len().next_multiple_of(2), 0);
    let answers = sent.to.is_some() && matches!(sent.frame, Frame::Data { .. });
    out.extend((if answers { 0 } else { NO_ACK }).to_le_bytes());
    if let Some((index, short_guard)) = mcs {
        // Known are bandwidth (20 MHz), index, guard interval, format (mixed), coding (BCC), and that nothing else is used.
        out.extend([0x7f, u8::from(short_guard) << 2, index]);
    }
    let length = out.len() as u16;
    out[2..4].copy_from_slice(&length.to_le_bytes());
}

/// The check sequence (§8.2.4.8), CRC-32.
fn fcs(frame: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut byte = 0;
        while byte < 256 {
            let mut bits = byte as u32;
            let mut n = 0;
            while n < 8 {
                bits = if bits & 1 == 1 { bits >> 1 ^ 0xedb8_8320 } else { bits >> 1 };
                n += 1;
            }
            table[byte] = bits;
            byte += 1;
        }
        table
    };
    !frame.iter().fold(!0, |crc: u32, byte| TABLE[((crc ^ u32::from(*byte)) & 0xff) as usize] ^ crc >> 8)
}

/// To the nearest dBm.
fn dbm(watts: f64) -> i8 {
    (10.0 * math::ln(watts * 1e3) / LN_10).round() as i8
}

/// Channel 1 at 2.4 GHz or 36 at 5 GHz, and radiotap's flags of the kind of modulation.
fn channel(phy: Phy) -> (u16, u16) {
    const CCK: u16 = 0x20;
    const OFDM: u16 = 0x40;
    const DYNAMIC: u16 = 0x400;
    const GHZ2: u16 = 0x80;
    const GHZ5: u16 = 0x100;
    match phy {
        Phy::Dsss(_) => (2412, GHZ2 | CCK),
        Phy::Erp(_) => (2412, GHZ2 | DYNAMIC),
        Phy::Ht { extension } if extension > Duration::ZERO => (2412, GHZ2 | DYNAMIC),
        Phy::Ofdm | Phy::Ht { .. } => (5180, GHZ5 | OFDM),
    }
}

/// A notice in words and in bytes: its kind, the socket of the flow, and what it says; `None` is a query that makes routing look
/// for a way.
fn notice(news: Option<&News>, socket: u32) -> (&'static str, Vec<u8>) {
    let (kind, words, value) = match news {
        None => (0_u8, "query for a way", 0),
        Some(News::RouteFailed) => (1, "RFN: route failed", 0),
        Some(News::RouteRestored) => (2, "RRN: route restored", 0),
        Some(News::LinkFailed { seq }) => (3, "ELFN: link failed", *seq),
        Some(News::Unreachable) => (4, "destination unreachable", 0),
        Some(News::Disconnected { head }) => (5, "ERDN: route disconnected", *head),
        Some(News::Reconnected { received }) => (6, "ERSN: route reconnected", *received),
        Some(News::Hops { round_trip }) => (7, "hops", u64::from(*round_trip)),
        Some(News::Waited) => (8, "waited", 0),
    };
    let mut bytes = vec![kind, 0, 0, 0];
    bytes.extend(socket.to_be_bytes());
    bytes.extend(value.to_be_bytes());
    bytes.resize((NEWS - crate::wire::IP_HEADER) as usize, 0);
    (words, bytes)
}
