//! Fair queueing with controlled delay: Høiland-Jørgensen et al., RFC 8290.
//!
//! Deficit round robin over the queues of hashed flows, those with little to send first; CoDel on each of them.

use super::codel::{self, Law};
use super::field::{Amount, Field};
use super::{ECN, Entry, Fifo, Kind, Ledger, Limit, Parameters, Queue, Scheduler, View};
use crate::net::Reason;
use crate::wire::Packet;
use cclab_algo::Time;
use cclab_algo::rng::Stream;
use std::cmp::Reverse;
use std::collections::VecDeque;

/// FQ-CoDel in the registry; its values are those of RFC 8290 §4 and §5.2.
pub const ENTRY: Entry = Entry {
    name: "fq-codel",
    summary: "fair queueing by deficit round robin, sparse flows first, CoDel on each queue",
    source: "RFC 8290",
    fields: &[
        Field::amount("limit", Amount::Packets(10_240), "largest amount waiting in all queues").or("unlimited"),
        Field::integer("flows", 1024, (1, 65_536), "queues over which flows are hashed"),
        Field::size("quantum", 1514, 1_000_000, "bytes that a queue may send in one turn"),
        codel::TARGET,
        codel::INTERVAL,
        codel::MTU,
        ECN,
        codel::CE_THRESHOLD,
    ],
    lane: five_tuple,
    check: codel::target_below_interval,
    build: |params, around| {
        let (limit, codel) = (around.limit(params), codel::Config::new(params, around));
        Queue::new(limit, Config { limit, flows: params.get("flows"), quantum: params.get("quantum"), codel })
    },
};

/// An overflow drops half the bytes of the fattest queue, but at most so many packets (RFC 8290 §4.1).
const DROP_BATCH: usize = 64;

/// Parameters of FQ-CoDel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Largest amount waiting in all queues.
    pub limit: Limit,
    /// Queues; flows are spread over them by a hash.
    pub flows: u64,
    /// Bytes that a queue may send in one turn.
    pub quantum: u64,
    /// CoDel of each queue.
    pub codel: codel::Config,
}

impl Parameters for Config {
    fn name(&self) -> &'static str {
        ENTRY.name
    }
    fn start(&self, rng: Stream) -> Kind {
        Kind::Served(Box::new(FqCodel::new(*self, rng)))
    }
}

/// Addresses and ports are those of flow and direction.
fn five_tuple(packet: &Packet) -> u64 {
    u64::from(packet.flow) << 1 | u64::from(packet.forward)
}

/// The queue of the flows of one hash value.
struct Flow {
    hash: u32,
    queue: Fifo,
    law: Law,
    /// Bytes that it may still send in this turn.
    deficit: i64,
    /// Whether it is on one of the lists.
    active: bool,
}

/// FQ-CoDel at work.
pub struct FqCodel {
    config: Config,
    /// What the hash is mixed with, so that other flows collide in another run.
    perturbation: u64,
    /// The queues that were ever used, in the order of their first packets: links with many queues are many, and a queue
    /// that empties keeps its law.
    flows: Vec<Flow>,
    places: Places,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
}

impl FqCodel {
    /// Empty queues; the hash is drawn from `rng`.
    pub fn new(config: Config, mut rng: Stream) -> FqCodel {
        FqCodel {
            config,
            perturbation: rng.below(u64::MAX),
            flows: Vec::new(),
            places: Places::default(),
            new: VecDeque::new(),
            old: VecDeque::new(),
        }
    }

    /// The hash value of a packet.
    fn hash(&self, packet: &Packet) -> u32 {
        // SplitMix64 (Steele, Lea & Flood 2014)
        let mut x = (self.perturbation ^ five_tuple(packet)).wrapping_add(0x9e37_79b9_7f4a_7c15);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) % self.config.flows) as u32
    }

    /// The queue of a hash value.
    fn place(&mut self, hash: u32) -> usize {
        self.places.find(hash, &self.flows).unwrap_or_else(|| {
            self.flows.push(Flow { hash, queue: Fifo::default(), law: Law::default(), deficit: 0, active: false });
            self.places.add(&self.flows);
            self.flows.len() - 1
        })
    }

    /// Drops from the head of the queue with the most bytes; how many bytes.
    fn drop_from_fattest(&mut self, ledger: &mut Ledger) -> u64 {
        let fattest = self.flows.iter_mut().max_by_key(|flow| (flow.queue.bytes(), Reverse(flow.hash)));
        let queue = &mut fattest.expect("there is a queue at least").queue;
        let before = queue.bytes();
        for _ in 0..DROP_BATCH {
            let Some((_, packet)) = queue.pop() else { break };
            ledger.drop(packet, Reason::Dropped);
            if queue.bytes() <= before / 2 {
                break;
            }
        }
        before - queue.bytes()
    }
}

/// Where the queue of a hash value is: a table with open addressing, at most half full.
#[derive(Default)]
struct Places {
    /// Index among the queues, + 1; 0 is empty.
    table: Vec<u32>,
}

impl Places {
    /// The entries to look at for `hash`, in order.
    fn probes(&self, hash: u32) -> impl Iterator<Item = usize> + use<> {
        let mask = self.table.len().wrapping_sub(1);
        (0..self.table.len()).map(move |step| (hash as usize + step) & mask)
    }

    fn find(&self, hash: u32, flows: &[Flow]) -> Option<usize> {
        let used = self.probes(hash).map_while(|at| (self.table[at] as usize).checked_sub(1));
        used.into_iter().find(|&place| flows[place].hash == hash)
    }

    /// Takes in the last of `flows`.
    fn add(&mut self, flows: &[Flow]) {
        if 2 * flows.len() > self.table.len() {
            self.table = vec![0; 4 * flows.len().next_power_of_two()];
            (0..flows.len()).for_each(|place| self.enter(flows[place].hash, place));
        } else {
            self.enter(flows[flows.len() - 1].hash, flows.len() - 1);
        }
    }

    fn enter(&mut self, hash: u32, place: usize) {
        let free = self.probes(hash).find(|&at| self.table[at] == 0);
        self.table[free.expect("half of the table is empty")] = place as u32 + 1;
    }
}

impl Scheduler for FqCodel {
    fn enqueue(&mut self, view: &View, packet: Packet, ledger: &mut Ledger) -> Result<(), Reason> {
        let index = self.place(self.hash(&packet));
        let size = u64::from(packet.size);
        let flow = &mut self.flows[index];
        flow.queue.push(view.now, packet);
        if !flow.active {
            flow.active = true;
            flow.deficit = self.config.quantum as i64;
            self.new.push_back(index);
        }
        if view.full {
            // One packet is enough where packets are counted, half a queue need not be where bytes are.
            let mut dropped = self.drop_from_fattest(ledger);
            while matches!(self.config.limit, Limit::Bytes(limit) if view.bytes + size > limit.saturating_add(dropped))
            {
                dropped += self.drop_from_fattest(ledger);
            }
        }
        Ok(())
    }

    fn dequeue(&mut self, view: &View, ledger: &mut Ledger) -> Option<(Time, Packet)> {
        loop {
            let is_new = !self.new.is_empty();
            let index = *if is_new { &self.new } else { &self.old }.front()?;
            let flow = &mut self.flows[index];
            if flow.deficit <= 0 {
                flow.deficit += self.config.quantum as i64;
                if is_new { &mut self.new } else { &mut self.old }.pop_front();
                self.old.push_back(index);
                continue;
            }
            if let Some((at, packet)) = flow.law.dequeue(view.now, &mut flow.queue, &self.config.codel, ledger) {
                flow.deficit -= i64::from(packet.size);
                return Some((at, packet));
            }
            // A new queue that is empty waits its turn among the old ones, lest it be new again at once.
            if is_new {
                self.new.pop_front();
                self.old.push_back(index);
            } else {
                self.old.pop_front();
                flow.active = false;
            }
        }
    }

    fn withdraw(&mut self, wanted: &mut dyn FnMut(&Packet) -> bool) {
        self.flows.iter_mut().for_each(|flow| flow.queue.withdraw(wanted));
    }

    fn each(&self, each: &mut dyn FnMut(&Packet)) {
        self.flows.iter().for_each(|flow| flow.queue.each(each));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cclab_algo::{Duration, Rate};

    fn fq(quantum: u64) -> FqCodel {
        let codel = codel::Config {
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            mtu: 1500,
            ecn: true,
            ce_threshold: None,
        };
        FqCodel::new(Config { limit: Limit::Packets(10_240), flows: 1024, quantum, codel }, Stream::new(1, "fq"))
    }
    fn view(packets: u64, full: bool) -> View {
        View { now: Time(1), packets, bytes: 0, free_at: Time(2), rate: Some(Rate(1)), full }
    }
    fn put(fq: &mut FqCodel, flow: usize, number: u64, size: u32) {
        let taken = fq.enqueue(&view(0, false), Packet::udp(flow, Time(1), number, size), &mut Ledger::default());
        assert_eq!(taken, Ok(()));
    }
    fn flows(fq: &mut FqCodel, n: usize) -> Vec<u32> {
        let mut next = || fq.dequeue(&view(0, false), &mut Ledger::default());
        (0..n).map_while(|_| Some(next()?.1.flow)).collect()
    }

    /// Each turn is worth a quantum of bytes, whatever the size of the packets.
    #[test]
    fn turns_are_of_bytes() {
        let mut fq = fq(1500);
        for number in 0..30 {
            put(&mut fq, 1, number, 1500);
            put(&mut fq, 2, number, 500);
        }
        // the first turns of the new queues, then round after round
        assert_eq!(flows(&mut fq, 12), [1, 2, 2, 2, 1, 2, 2, 2, 1, 2, 2, 2]);
    }

    /// A queue that was empty goes before those with a backlog, once.
    #[test]
    fn sparse_flows_go_first() {
        let mut fq = fq(1500);
        for number in 0..10 {
            put(&mut fq, 1, number, 1500);
            put(&mut fq, 2, number, 1500);
        }
        assert_eq!(flows(&mut fq, 4), [1, 2, 1, 2]);
        put(&mut fq, 3, 0, 100);
        assert_eq!(flows(&mut fq, 1), [3]);
        // it is served as new, found empty, and has to queue behind the others before it may be new again
        assert_eq!(flows(&mut fq, 1), [1]);
        put(&mut fq, 3, 1, 100);
        put(&mut fq, 4, 0, 100);
        assert_eq!(flows(&mut fq, 4), [4, 3, 2, 1]);
    }

    /// Of a full queue of 100, half the bytes of the fattest go, the oldest first, at most 64 packets.
    #[test]
    fn overflow_is_paid_by_the_fattest() {
        for (packets, size, dropped) in [(80, 1500, 40), (300, 1000, 64)] {
            let mut fq = fq(1500);
            (0..10).for_each(|number| put(&mut fq, 1, number, 1500));
            (0..packets).for_each(|number| put(&mut fq, 2, number, size));
            let mut ledger = Ledger::default();
            let newest = Packet::udp(3, Time(1), 0, 100);
            assert_eq!(fq.enqueue(&view(packets + 10, true), newest, &mut ledger), Ok(()));
            assert_eq!(ledger.dropped.len(), dropped);
            let from_two = |(packet, reason): &(Packet, Reason)| packet.flow == 2 && *reason == Reason::Dropped;
            assert!(ledger.dropped.iter().all(from_two));
            let mut left = 0;
            fq.each(&mut |_| left += 1);
            assert_eq!(left, packets as usize + 11 - dropped);
        }
    }

    /// Of 65,536 queues those are there that were used.
    #[test]
    fn queues_are_made_when_needed() {
        let mut fq = fq(1500);
        fq.config.flows = 65_536;
        let used: std::collections::BTreeSet<u32> = (0..500)
            .map(|flow| {
                put(&mut fq, flow, 0, 100);
                put(&mut fq, flow, 1, 100);
                fq.hash(&Packet::udp(flow, Time(1), 0, 100))
            })
            .collect();
        assert_eq!(fq.flows.len(), used.len());
        for &hash in &used {
            let place = fq.place(hash);
            assert_eq!(fq.flows[place].hash, hash);
        }
        assert_eq!(fq.flows.len(), used.len());
        assert!((2 * used.len()..8 * used.len()).contains(&fq.places.table.len()));
    }

    /// A limit of 1600 bytes, full; half of the fattest queue does not make room for 1500.
    #[test]
    fn a_limit_in_bytes_holds() {
        let mut fq = fq(1500);
        fq.config.limit = Limit::Bytes(1600);
        for (number, size) in [800, 10, 790].into_iter().enumerate() {
            put(&mut fq, 1, number as u64, size);
        }
        let full = View { bytes: 1600, ..view(3, true) };
        let taken = fq.enqueue(&full, Packet::udp(2, Time(1), 0, 1500), &mut Ledger::default());
        let mut left = 0;
        fq.each(&mut |packet| left += packet.size);
        assert!(taken.is_ok() && left <= 1600, "{left} bytes wait");
    }

    /// n flows over 1024 queues: a given one shares its queue with probability 1 - (1 - 1/1024)^(n - 1).
    #[test]
    fn collisions() {
        let n = 100;
        let mut shared = 0;
        for run in 0..1000 {
            let mut fq = fq(1500);
            fq.perturbation = Stream::new(run, "perturbation").below(u64::MAX);
            let queue = |flow| fq.hash(&Packet::udp(flow, Time(1), 0, 100));
            shared += u32::from((1..n).any(|other| queue(other) == queue(0)));
        }
        // 9.2 % of 1000: sd 9.1, five of them
        assert!((f64::from(shared) - 92.0).abs() < 46.0, "{shared}");
    }
}
