//! Packets on their way, in order, packed: a cache line each, and half as much again for those that carry options.

use crate::wire::{Options, Packed, Packet};
use cclab_algo::Time;
use std::collections::VecDeque;

/// Packets in the order in which they come out, each at its time.
#[derive(Default)]
pub struct Pipe {
    packets: VecDeque<(Time, Packed)>,
    options: VecDeque<Options>,
    /// When the last one put in comes out.
    last: Time,
}

impl Pipe {
    /// Puts a packet in, to come out at `at` or with the one before it if that is later. Says when, if it is
    /// the only one, so that its event is to be scheduled.
    #[inline]
    pub fn push(&mut self, at: Time, packet: &Packet) -> Option<Time> {
        self.last = self.last.max(at);
        let has_options = packet.has_options();
        self.packets.push_back((self.last, packet.pack(has_options)));
        if has_options {
            self.push_options(packet);
        }
        (self.packets.len() == 1 && self.last < Time::NEVER).then_some(self.last)
    }

    /// Keeps what few packets carry.
    #[inline(never)]
    fn push_options(&mut self, packet: &Packet) {
        self.options.extend(packet.options());
    }

    /// Takes the first packet out, into `packet`; whether there was one.
    #[inline]
    pub fn pop(&mut self, packet: &mut Packet) -> bool {
        let Some((_, packed)) = self.packets.front() else { return false };
        let options = if packed.has_options() { self.options.front() } else { None };
        packed.unpack(options, packet);
        if options.is_some() {
            self.options.pop_front();
        }
        self.packets.pop_front();
        true
    }

    /// When the first packet comes out, if it ever does.
    #[inline]
    pub fn due(&self) -> Option<Time> {
        Some(self.next()).filter(|&at| at < Time::NEVER)
    }

    /// When the first packet comes out; [`Time::NEVER`] when there is none.
    #[inline]
    pub fn next(&self) -> Time {
        self.packets.front().map_or(Time::NEVER, |&(at, _)| at)
    }

    /// The packet that comes out `n` after the next.
    #[inline]
    pub fn ahead(&self, n: usize) -> Option<&Packed> {
        self.packets.get(n).map(|(_, packed)| packed)
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// None at all.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// The packets, first to last, without their options.
    pub fn packets(&self) -> impl Iterator<Item = &Packed> {
        self.packets.iter().map(|(_, packed)| packed)
    }
}
