//! A capture: what one host of every flow sends and receives, or what stations send on the air, as a pcapng file that Wireshark reads.
//!
//! Raw IPv4 packets (link type 101) with whole headers and zero payload; on the air in 802.11 frames (link type 127, [`air`]). What a
//! capture needs and the simulator does not carry is made up in one place, below: addresses, ports, initial sequence numbers, IP
//! identification.
//!
//! Sources: draft-ietf-opsawg-pcapng (blocks), RFC 791, 768, 9293, 7323, 2018, 9768 (headers and options).

mod air;

use super::config::{self, Point, Scenario};
use crate::app::config::{Flow, Traffic};
use crate::net::medium::routing::dsr;
use crate::wire::{Body, DSS_ACK, DSS_DATA, Datagram, Feedback, Flags, Packet, Segment};
use cclab_algo::Time;
use etherparse::{IpEcn, IpNumber, Ipv4Header, TcpHeader, TcpOptionElement as Opt, TcpOptions, UdpHeader};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};
use pcap_file::pcapng::blocks::name_resolution::{Ipv4Record, NameResolutionBlock, Record};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness};
use std::borrow::Cow;

/// The largest IPv4 packet (RFC 791 §3.1), and with it the largest payload.
static ZEROS: [u8; u16::MAX as usize] = [0; u16::MAX as usize];

/// Every host's time to live; what Linux starts with.
const TTL: usize = 64;

/// A capture in the making.
pub struct Capture {
    options: config::Capture,
    writer: PcapNgWriter<Vec<u8>>,
    flows: Vec<Ends>,
    air: Vec<air::Air>,
    bytes: Vec<u8>,
}

/// The two ends of a flow on the wire; client first.
#[derive(Clone, Copy)]
struct Ends {
    addresses: [[u8; 4]; 2],
    ports: [u16; 2],
    isns: [u32; 2],
    /// Time to live of the client's packets and of the server's, at the host that captures.
    ttls: [u8; 2],
    /// Where it is captured.
    interface: u32,
}

impl Capture {
    /// Opens a capture of every flow of `scenario`, run with `seed`.
    pub fn new(scenario: &Scenario, options: config::Capture, seed: u64) -> Capture {
        let comment = format!("scenario \"{}\", seed {seed}", printable(&scenario.name));
        let section = SectionHeaderBlock {
            endianness: Endianness::Little, // the same bytes on every machine
            options: vec![
                SectionHeaderOption::Comment(Cow::Owned(comment)),
                SectionHeaderOption::UserApplication(Cow::Borrowed(concat!("cclab ", env!("CARGO_PKG_VERSION")))),
            ],
            ..Default::default()
        };
        let writer = PcapNgWriter::with_section_header(Vec::new(), section).expect("memory takes every write");
        let mut capture = Capture { options, writer, flows: Vec::new(), air: Vec::new(), bytes: Vec::new() };
        capture.write_names(scenario);
        if options.point == Point::Air {
            capture.open_stations(scenario);
            capture.flows = (0..).zip(&scenario.flows).map(|(i, flow)| Ends::new(i, flow, false, 0)).collect();
            return capture;
        }
        let at_receiver = options.point == Point::Receiver;

        let mut interfaces = vec![None; scenario.nodes.len()];
        let mut opened = 0;
        for (i, flow) in scenario.flows.iter().enumerate() {
            let node = if at_receiver { flow.to } else { flow.from };
            let interface = *interfaces[node].get_or_insert_with(|| {
                capture.open_interface(scenario, node);
                opened += 1;
                opened - 1
            });
            capture.flows.push(Ends::new(i as u32, flow, at_receiver, interface));
        }
        capture
    }

    /// Records a packet that passed the capturing host of its flow at `now`.
    pub fn record(&mut self, now: Time, packet: &Packet) {
        let ends = &self.flows[packet.flow as usize];
        let (interface, (me, _)) = (ends.interface, ends_of(packet));
        self.bytes.clear();
        ends.write(packet, ends.ttls[me], &[], &mut self.bytes);
        debug_assert_eq!(self.bytes.len(), packet.size as usize, "{packet:?}");
        self.write_packet(now, interface, 0, vec![]);
    }

    /// Writes down a packet with `link_bytes` before its IP header, and what there is to say of it.
    fn write_packet(&mut self, now: Time, interface: u32, link_bytes: usize, comments: Vec<String>) {
        let snaplen = self.options.snaplen.map_or(usize::MAX, |n| link_bytes.saturating_add(n as usize));
        let block = EnhancedPacketBlock {
            interface_id: interface,
            timestamp: std::time::Duration::from_nanos(now.0),
            original_len: self.bytes.len() as u32,
            data: Cow::Borrowed(&self.bytes[..self.bytes.len().min(snaplen)]),
            options: comments.into_iter().map(|text| EnhancedPacketOption::Comment(Cow::Owned(text))).collect(),
        };
        self.writer.write_pcapng_block(block).expect("memory takes every write");
    }

    /// Bytes so far.
    pub(crate) fn len(&self) -> usize {
        self.writer.get_ref().len()
    }

    /// The file.
    pub fn finish(self) -> Vec<u8> {
        self.writer.into_inner()
    }

    fn open_interface(&mut self, scenario: &Scenario, node: usize) {
        use InterfaceDescriptionOption as Option;
        let [a, b, c, d] = address(node);
        let side = if self.options.point == Point::Receiver { "receivers" } else { "senders" };
        let description = format!("{side} at {a}.{b}.{c}.{d}");
        let block = InterfaceDescriptionBlock {
            linktype: DataLink::RAW,
            snaplen: self.options.snaplen.unwrap_or(0), // 0: no limit
            options: vec![
                Option::IfName(Cow::Owned(printable(&scenario.nodes[node]))),
                Option::IfDescription(Cow::Owned(description)),
                Option::IfIpv4Addr(Cow::Owned(vec![a, b, c, d, 255, 0, 0, 0])),
                Option::IfTsResol(9), // 10^-9 s
            ],
        };
        self.writer.write_pcapng_block(block).expect("memory takes every write");
    }

    /// Tells Wireshark what the hosts of the flows are called (shown with `-N n`).
    fn write_names(&mut self, scenario: &Scenario) {
        let mut hosts: Vec<usize> = scenario.flows.iter().flat_map(|f| [f.from, f.to]).collect();
        if self.options.point == Point::Air {
            hosts.extend(scenario.media.iter().flat_map(|medium| medium.stations.iter().map(|station| station.node)));
        }
        hosts.sort_unstable();
        hosts.dedup();
        let record = |node: usize| {
            let names = vec![Cow::Owned(printable(&scenario.nodes[node]))];
            Record::Ipv4(Ipv4Record { ip_addr: Cow::Owned(address(node).to_vec()), names })
        };
        let block = NameResolutionBlock { records: hosts.into_iter().map(record).collect(), options: vec![] };
        self.writer.write_pcapng_block(block).expect("memory takes every write");
    }
}

impl Ends {
    fn new(i: u32, flow: &Flow, at_receiver: bool, interface: u32) -> Ends {
        // Odd times odd is odd: initial sequence numbers are never zero, and lie all over the 32 bits.
        let isn = |k: u32| (2 * k + 1).wrapping_mul(0x9E37_79B9);
        let isns = match flow.traffic {
            Traffic::Tcp { .. } => [isn(2 * i), isn(2 * i + 1)],
            Traffic::Cbr { .. } | Traffic::OnOff { .. } => [0, 0],
        };
        let after = |links: usize| TTL.saturating_sub(links.saturating_sub(1)).max(1) as u8;
        let ttls =
            if at_receiver { [after(flow.route.len()), TTL as u8] } else { [TTL as u8, after(flow.route_back.len())] };
        Ends { addresses: [address(flow.from), address(flow.to)], ports: ports(i), isns, ttls, interface }
    }

    /// Writes a packet with this time to live, and with `shim` between IP and transport if there is any.
    fn write(&self, packet: &Packet, ttl: u8, shim: &[u8], out: &mut Vec<u8>) {
        match &packet.body {
            Body::Tcp(segment) => self.tcp(packet, segment, ttl, shim, out),
            Body::Udp(datagram) => self.udp(packet, datagram, ttl, shim, out),
            Body::News(_) => unreachable!("a notice belongs to no flow"),
        }
    }

    fn tcp(&self, packet: &Packet, segment: &Segment, ttl: u8, shim: &[u8], out: &mut Vec<u8>) {
        let (me, peer) = ends_of(packet);
        let has = |flag| segment.flags.has(flag);
        let mut tcp = TcpHeader {
            source_port: self.ports[me],
            destination_port: self.ports[peer],
            sequence_number: self.isns[me].wrapping_add(segment.seq as u32),
            acknowledgment_number: if has(Flags::ACK) { self.isns[peer].wrapping_add(segment.ack as u32) } else { 0 },
            fin: has(Flags::FIN),
            syn: has(Flags::SYN),
            rst: has(Flags::RST),
            psh: has(Flags::PSH),
            ack: has(Flags::ACK),
            ece: has(Flags::ECE),
            cwr: has(Flags::CWR),
            ns: has(Flags::AE),
            window_size: segment.window,
            options: options(segment, self.isns[peer]),
            ..Default::default()
        };
        let payload = &ZEROS[..segment.len as usize];
        let id = identification(segment.sent.0 ^ segment.seq.rotate_left(20) ^ segment.ack.rotate_left(40));
        let ip = self.ip(packet, IpNumber::TCP, tcp.header_len() + payload.len(), id, ttl);
        tcp.checksum = tcp.calc_checksum_ipv4(&ip, payload).expect("an IP packet holds a segment");
        write_ip(ip, shim, out);
        out.extend_from_slice(&tcp.to_bytes());
        out.extend_from_slice(payload);
    }

    fn udp(&self, packet: &Packet, datagram: &Datagram, ttl: u8, shim: &[u8], out: &mut Vec<u8>) {
        let (me, peer) = ends_of(packet);
        let payload = &ZEROS[..datagram.len as usize];
        let id = identification(datagram.number);
        let ip = self.ip(packet, IpNumber::UDP, UdpHeader::LEN + payload.len(), id, ttl);
        let udp = UdpHeader::with_ipv4_checksum(self.ports[me], self.ports[peer], &ip, payload)
            .expect("an IP packet holds a datagram");
        write_ip(ip, shim, out);
        out.extend_from_slice(&udp.to_bytes());
        out.extend_from_slice(payload);
    }

    fn ip(&self, packet: &Packet, protocol: IpNumber, payload_len: usize, id: u16, ttl: u8) -> Ipv4Header {
        let (me, peer) = ends_of(packet);
        let mut ip = ip_header(self.addresses[me], self.addresses[peer], protocol, payload_len, ttl);
        ip.identification = id;
        ip.ecn = IpEcn::try_new(packet.ecn & 3).expect("two bits");
        ip
    }
}

/// An IP header whose checksum is to come.
fn ip_header(from: [u8; 4], to: [u8; 4], protocol: IpNumber, payload_len: usize, ttl: u8) -> Ipv4Header {
    let len = u16::try_from(payload_len).expect("packets fit IPv4's 65,535 bytes");
    let mut ip = Ipv4Header::new(len, ttl, protocol, from, to).expect("packets fit IPv4's 65,535 bytes");
    ip.dont_fragment = true;
    ip
}

/// Writes an IP header, and behind it a shim that has taken its protocol in.
fn write_ip(mut ip: Ipv4Header, shim: &[u8], out: &mut Vec<u8>) {
    if !shim.is_empty() {
        ip.protocol = IpNumber(dsr::PROTOCOL);
        ip.total_len += shim.len() as u16;
    }
    ip.header_checksum = ip.calc_header_checksum();
    out.extend_from_slice(&ip.to_bytes());
    out.extend_from_slice(shim);
}

/// Dynamic ports (RFC 6335 §6) of which tshark assumes no protocol, of the `i`-th flow.
fn ports(i: u32) -> [u16; 2] {
    [49152 + (i % 4096) as u16, 40000 + (i / 4096) as u16]
}

/// Sender and receiver of a packet, as indices into [`Ends`].
fn ends_of(packet: &Packet) -> (usize, usize) {
    if packet.forward { (0, 1) } else { (1, 0) }
}

/// 10.0.0.1 for node 0, counting up.
fn address(node: usize) -> [u8; 4] {
    let [_, b, c, d] = (node as u32 + 1).to_be_bytes();
    [10, b, c, d]
}

/// An IP identification that is one packet's at every host and differs for a retransmission. Unfragmented
/// packets may carry any (RFC 6864 §4.1); Linux counts.
fn identification(packet: u64) -> u16 {
    (packet.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 48) as u16
}

/// TCP options in the order and with the padding of Linux (`tcp_options_write`), so that each header is as long
/// as [`Segment::option_bytes`] says.
fn options(segment: &Segment, peer_isn: u32) -> TcpOptions {
    let mut list = Vec::with_capacity(9);
    if segment.mss != 0 {
        list.push(Opt::MaximumSegmentSize(segment.mss));
    }
    // Timestamps (10 bytes) and SACK permitted (2) pad each other; either alone takes two bytes of padding.
    if segment.has_timestamps != segment.sack_permitted {
        list.extend([Opt::Noop, Opt::Noop]);
    }
    if segment.sack_permitted {
        list.push(Opt::SelectiveAcknowledgementPermitted);
    }
    if segment.has_timestamps {
        list.push(Opt::Timestamp(segment.ts_val, segment.ts_ecr));
    }
    if let Some(shift) = segment.window_scale {
        list.extend([Opt::Noop, Opt::WindowScale(shift)]);
    }
    let block = |&(start, end): &(u32, u32)| (start.wrapping_add(peer_isn), end.wrapping_add(peer_isn));
    let mut blocks = segment.sack.as_slice().iter().map(block);
    if let Some(first) = blocks.next() {
        let rest = [blocks.next(), blocks.next(), blocks.next()];
        list.extend([Opt::Noop, Opt::Noop, Opt::SelectiveAcknowledgement(first, rest)]);
    }
    let options = TcpOptions::try_from_elements(&list).expect("a segment's options fit 40 bytes");
    let cookie = if let Feedback::FastOpen(cookie) = segment.feedback { Some(cookie) } else { None };
    if segment.dss == 0 && segment.accecn().is_none() && cookie.is_none() {
        return options;
    }
    let mut bytes = options.as_slice().to_vec();
    if segment.dss != 0 {
        bytes.extend(dss(segment));
    }
    if let Some(cookie) = cookie {
        bytes.extend([34, 2 + cookie.bytes().len() as u8]);
        bytes.extend(cookie.bytes());
        bytes.resize(bytes.len().next_multiple_of(4), 1); // NOP
    }
    if let Some(accecn) = segment.accecn() {
        bytes.extend([accecn.kind, 2 + 3 * accecn.len as u8]);
        accecn.fields[..accecn.len].iter().for_each(|field| bytes.extend(&field.to_be_bytes()[1..]));
        bytes.resize(bytes.len().next_multiple_of(4), 1); // NOP
    }
    TcpOptions::try_from_slice(&bytes).expect("a segment's options fit 40 bytes")
}

/// The DSS option (RFC 8684 §3.3) of a connection whose data begin at 1 in both directions: with data an acknowledgement of
/// none, both sequence numbers, length, no checksum; else an acknowledgement of 8 bytes.
fn dss(segment: &Segment) -> Vec<u8> {
    const KIND: u8 = 30;
    const SUBTYPE: u8 = 2 << 4;
    const ACK: u8 = 1;
    const LONG_ACK: u8 = 2;
    const MAPPING: u8 = 4;
    let number = segment.dss.to_be_bytes();
    if segment.len == 0 {
        return [&[KIND, DSS_ACK as u8, SUBTYPE, ACK | LONG_ACK, 0, 0, 0, 0][..], &number].concat();
    }
    let (place, len) = ((segment.seq as u32).to_be_bytes(), (segment.len as u16).to_be_bytes());
    [&[KIND, DSS_DATA as u8, SUBTYPE, ACK | MAPPING, 0, 0, 0, 1][..], &number, &place, &len, &[0, 0]].concat()
}

/// `text` without control characters (a terminal would obey them), at most 200 characters of it.
fn printable(text: &str) -> String {
    text.chars().take(200).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::Config;
    use crate::wire::SackBlocks;
    use crate::world::config::{Record as Recorded, Sampling};
    use cclab_algo::{Duration, cc};
    use pcap_file::pcapng::{Block, PcapNgReader};

    fn scenario(flows: Vec<Traffic>) -> Scenario {
        let flow = |(i, traffic): (usize, Traffic)| Flow {
            label: format!("flow-{i}"),
            peers: (0, 1, Duration::ZERO),
            from: 0,
            to: 1,
            route: vec![0, 1, 2],
            route_back: vec![3, 4, 5],
            start: Time::ZERO,
            start_jitter: Duration::ZERO,
            stop: None,
            send_jitter: Duration::ZERO,
            traffic,
            tunnel: false,
        };
        Scenario {
            name: "evil \u{1b}[2J name".to_string(),
            duration: Duration::from_secs(1),
            warmup: Duration::ZERO,
            seed: 1,
            nodes: vec!["source".to_string(), "sink\n".to_string()],
            links: vec![],
            media: vec![],
            crossings: vec![],
            flows: flows.into_iter().enumerate().map(flow).collect(),
            sessions: vec![],
            background: vec![],
            record: Recorded { samples: Sampling::Off, packets: false, frames: false, capture: None },
            max_events: 1,
            source: serde_json::Value::Null,
        }
    }

    fn tcp() -> Traffic {
        let config = Config::linux(1448).into();
        Traffic::Tcp {
            size: None,
            application: None,
            config,
            cc: cc::find("reno").expect("registered"),
            cc_params: vec![],
        }
    }

    fn cbr() -> Traffic {
        Traffic::Cbr { rate: cclab_algo::Rate(1_000_000), packet_size: 1000 }
    }

    /// The bytes of one packet of flow 0, captured whole at the sender.
    fn bytes(traffic: Traffic, packet: &Packet) -> Vec<u8> {
        let options = config::Capture { point: Point::Sender, snaplen: None };
        let mut capture = Capture::new(&scenario(vec![traffic]), options, 1);
        capture.record(Time::ZERO, packet);
        packets(&capture.finish()).remove(0).1
    }

    fn tcp_bytes(forward: bool, segment: Segment) -> Vec<u8> {
        bytes(tcp(), &Packet::tcp(0, forward, Time::ZERO, &segment))
    }

    /// (nanoseconds, data, original length) of every packet.
    fn packets(file: &[u8]) -> Vec<(u128, Vec<u8>, u32)> {
        let mut reader = PcapNgReader::new(file).expect("a section header");
        let mut found = Vec::new();
        while let Some(block) = reader.next_block() {
            if let Block::EnhancedPacket(p) = block.expect("a block") {
                found.push((p.timestamp.as_nanos(), p.data.to_vec(), p.original_len));
            }
        }
        found
    }

    /// The one's complement sum of RFC 1071 §1.
    fn ones_complement_sum(bytes: &[u8]) -> u16 {
        let mut sum: u32 = bytes.chunks(2).map(|w| u32::from(w[0]) << 8 | w.get(1).map_or(0, |b| u32::from(*b))).sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum as u16
    }

    /// Sums of the IP header and of the transport under its pseudo-header: both 0xffff when right.
    fn checksums(packet: &[u8]) -> (u16, u16) {
        let (ip, transport) = packet.split_at(20);
        let mut covered = [&ip[12..20], &[0, ip[9]], &(transport.len() as u16).to_be_bytes()].concat();
        covered.extend_from_slice(transport);
        (ones_complement_sum(ip), ones_complement_sum(&covered))
    }

    fn data() -> Segment {
        Segment { seq: 1, ack: 1, len: 1448, window: 512, flags: Flags::ACK, ..Segment::default() }
    }

    #[test]
    fn checksums_are_those_of_rfc_1071() {
        // The RFC's own example, §3.
        assert_eq!(ones_complement_sum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), 0xddf2);
        // A UDP packet's IP header whose checksum, b861, is known from text books.
        let mut known = vec![0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0xb8, 0x61];
        known.extend([192, 168, 0, 1, 192, 168, 0, 199]);
        assert_eq!(ones_complement_sum(&known), 0xffff);

        let mut sack = SackBlocks::NONE;
        sack.push(u64::from(u32::MAX) - 5, u64::from(u32::MAX) + 1449);
        let ack = Segment { has_timestamps: true, ts_val: 9, ts_ecr: 8, sack, len: 0, ..data() };
        let odd = Segment { len: 777, flags: Flags::ACK | Flags::PSH | Flags::FIN | Flags::ECE | Flags::CWR, ..data() };
        for segment in [data(), ack, odd] {
            for from_client in [true, false] {
                let packet = tcp_bytes(from_client, Segment { ecn: 2, ..segment });
                assert_eq!(checksums(&packet), (0xffff, 0xffff), "{segment:?}");
            }
        }
        let packet = bytes(cbr(), &Packet::udp(0, Time::ZERO, 7, 1001));
        assert_eq!(checksums(&packet), (0xffff, 0xffff));
        assert_eq!((packet.len(), packet[9], &packet[24..26]), (1001, 17, &[0x03, 0xd5][..]));
    }

    #[test]
    fn the_ip_header_says_who_and_how_marked() {
        let out = tcp_bytes(true, Segment { ecn: 2, ..data() });
        assert_eq!(&out[..4], &[0x45, 0x02, 0x05, 0xd0], "IPv4, ECT(0), 20 + 20 + 1448 bytes");
        assert_eq!(&out[6..10], &[0x40, 0x00, 64, 6], "don't fragment, TTL, TCP");
        assert_eq!(&out[12..20], &[10, 0, 0, 1, 10, 0, 0, 2]);
        let back = tcp_bytes(false, Segment { len: 0, ecn: 3, ..data() });
        assert_eq!(back[1], 3, "CE");
        assert_eq!(back[8], 62, "three links: two routers took one each");
        assert_eq!(&back[12..20], &[10, 0, 0, 2, 10, 0, 0, 1]);
        assert_eq!((&out[20..22], &out[22..24]), (&back[22..24], &back[20..22]), "ports change places");
    }

    #[test]
    fn options_lie_as_linux_lays_them() {
        let syn = Segment {
            mss: 1460,
            sack_permitted: true,
            has_timestamps: true,
            ts_val: 0x0102_0304,
            window_scale: Some(7),
            flags: Flags::SYN,
            ..Segment::default()
        };
        // What a Linux SYN carries: mss 1460, sackOK, TS val ecr, nop, wscale 7.
        let linux = [2, 4, 5, 0xb4, 4, 2, 8, 10, 1, 2, 3, 4, 0, 0, 0, 0, 1, 3, 3, 7];
        assert_eq!(tcp_bytes(true, syn)[40..], linux);

        for bits in 0..32 {
            let mut sack = SackBlocks::NONE;
            for n in 0..bits % 4 {
                sack.push(3000 * n + 1449, 3000 * n + 2897);
            }
            let on = |bit: u64| bits & bit != 0;
            let segment = if on(4) {
                Segment { sack_permitted: on(8), has_timestamps: on(16), ..syn }
            } else {
                Segment { sack, has_timestamps: on(16), ..data() }
            };
            let packet = tcp_bytes(true, segment);
            let header = TcpHeader::from_slice(&packet[20..]).expect("a TCP header").0;
            assert_eq!(header.options.len() as u32, segment.option_bytes(), "{segment:?}");
            assert_eq!(packet.len() as u32, 40 + segment.option_bytes() + segment.len);
            assert!(header.options_iterator().all(|o| o.is_ok()));
        }
    }

    #[test]
    fn sequence_numbers_wrap_at_32_bits() {
        let field = |packet: &[u8], at: usize| u32::from_be_bytes(packet[at..at + 4].try_into().expect("4 bytes"));
        let isn = field(&tcp_bytes(true, Segment { flags: Flags::SYN, ..Segment::default() }), 24);
        assert_ne!(isn, 0);
        // The offset whose number on the wire is 0, four gigabytes further on.
        let zero = (1 << 32) + u64::from(isn.wrapping_neg());
        let packet = tcp_bytes(true, Segment { seq: zero - 1448, ..data() });
        assert_eq!(field(&packet, 24), 1448_u32.wrapping_neg());
        let mut sack = SackBlocks::NONE;
        sack.push(zero - 1, zero + 1);
        let packet = tcp_bytes(false, Segment { ack: zero - 2, sack, ..data() });
        assert_eq!(field(&packet, 28), u32::MAX - 1);
        assert_eq!((field(&packet, 44), field(&packet, 48)), (u32::MAX, 1), "the SACK block");
    }

    #[test]
    fn a_file_has_whole_names_nanoseconds_and_the_snap_length() {
        let options = config::Capture { point: Point::Receiver, snaplen: Some(96) };
        let mut capture = Capture::new(&scenario(vec![tcp(), cbr()]), options, 42);
        capture.record(Time(1_234_567_890_123), &Packet::tcp(0, true, Time::ZERO, &data()));
        capture.record(Time(1_234_567_890_124), &Packet::udp(1, Time::ZERO, 0, 30));
        let file = capture.finish();

        // Section header block, its length, byte-order magic of a little-endian file, version 1.0.
        assert_eq!(file[..4], [0x0a, 0x0d, 0x0d, 0x0a]);
        assert_eq!(file[8..16], [0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0]);
        let text = String::from_utf8_lossy(&file);
        assert!(text.contains("scenario \"evil \u{fffd}[2J name\", seed 42"), "{text}");
        assert!(!file.contains(&0x1b), "no escape sequences");

        let mut reader = PcapNgReader::new(&file[..]).expect("a section header");
        while reader.next_block().is_some() {}
        let [interface] = reader.interfaces() else { panic!("one host, one interface") };
        assert_eq!((interface.linktype, interface.snaplen), (DataLink::RAW, 96));
        assert!(interface.options.contains(&InterfaceDescriptionOption::IfTsResol(9)));
        assert!(interface.options.contains(&InterfaceDescriptionOption::IfName(Cow::Borrowed("sink\u{fffd}"))));

        let found = packets(&file);
        assert_eq!((found[0].0, found[0].1.len(), found[0].2), (1_234_567_890_123, 96, 1488));
        assert_eq!((found[1].0, found[1].1.len(), found[1].2), (1_234_567_890_124, 30, 30));
    }
}
