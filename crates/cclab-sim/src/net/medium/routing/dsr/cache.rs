//! DSR's cache of paths (RFC 4728 §4.1).

use super::StationId;
use cclab_algo::{Duration, Time};
use std::collections::VecDeque;

/// Paths from a station, the oldest first.
pub(super) struct Cache {
    limit: usize,
    max_hops: usize,
    life: Option<Duration>,
    paths: VecDeque<(Time, Vec<StationId>)>,
}

impl Cache {
    /// Room for `limit` paths of so many hops, each kept for so long.
    pub(super) fn new(limit: usize, max_hops: u8, life: Option<Duration>) -> Cache {
        Cache { limit, max_hops: max_hops.into(), life, paths: VecDeque::new() }
    }

    /// Keeps a path, which begins at this station, as far as there is room for its hops; a part of it is not kept beside it. Whether
    /// it was not known.
    pub(super) fn add(&mut self, now: Time, path: &[StationId]) -> bool {
        let path = &path[..path.len().min(self.max_hops + 1)];
        if path.len() < 2 || repeats(path) {
            return false;
        }
        if let Some(known) = self.paths.iter_mut().find(|(_, known)| known.starts_with(path)) {
            known.0 = now;
            return false;
        }
        self.paths.retain(|(_, known)| !path.starts_with(known));
        if self.paths.len() == self.limit {
            self.paths.pop_front();
        }
        self.paths.push_back((now, path.to_vec()));
        true
    }

    /// The shortest path to `to`; of equals the one learnt last.
    pub(super) fn find(&self, now: Time, to: StationId) -> Option<&[StationId]> {
        let young = |since: Time| self.life.is_none_or(|life| now.since(since) < life);
        let length = |path: &[StationId]| path.iter().position(|&station| station == to).filter(|&end| end > 0);
        let paths = self.paths.iter().rev().filter(|(since, _)| young(*since));
        let (end, path) = paths.filter_map(|(_, path)| Some((length(path)?, path))).min_by_key(|(end, _)| *end)?;
        Some(&path[..=end])
    }

    /// This link is gone, both ways: paths end before it.
    pub(super) fn cut(&mut self, a: StationId, b: StationId) {
        for (_, path) in &mut self.paths {
            let link = path.windows(2).position(|link| link == [a, b] || link == [b, a]);
            if let Some(at) = link {
                path.truncate(at + 1);
            }
        }
        self.paths.retain(|(_, path)| path.len() > 1);
    }
}

/// Whether a station is twice on a path.
pub(super) fn repeats(path: &[StationId]) -> bool {
    path.iter().enumerate().any(|(at, station)| path[..at].contains(station))
}
