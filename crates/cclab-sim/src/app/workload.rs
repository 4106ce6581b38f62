//! What background traffic draws: sizes, times and RTTs by inverse CDF, and the pages of a web user.
//!
//! A draw of one uniform number gives one value, so equal streams give equal values whatever else changes.

use cclab_algo::math;
use cclab_algo::rng::Stream;

/// A distribution of a positive quantity: bytes or seconds.
#[derive(Clone, Debug, PartialEq)]
pub enum Variate {
    /// Always this.
    Fixed(f64),
    /// F(x) = (x - from) / (to - from).
    Uniform {
        /// Smallest.
        from: f64,
        /// Largest.
        to: f64,
    },
    /// F(x) = 1 - exp(-x / mean).
    Exponential {
        /// Mean.
        mean: f64,
    },
    /// F(x) = 1 - (min / x)^shape.
    Pareto {
        /// Smallest (k).
        min: f64,
        /// Tail index (α).
        shape: f64,
    },
    /// ln x is normal; of that the part from `min` to `max` (0 and infinity: all of it).
    Lognormal {
        /// Mean of ln x.
        mu: f64,
        /// Standard deviation of ln x.
        sigma: f64,
        /// Lower end of the part.
        min: f64,
        /// Upper end of the part.
        max: f64,
    },
    /// F(x) = 1 - exp(-(x / scale)^shape).
    Weibull {
        /// Scale (a).
        scale: f64,
        /// Shape (b).
        shape: f64,
    },
    /// Body and tail: `body` with probability `share`, else `tail`, which begins where the body ends.
    Hybrid {
        /// Probability of the body.
        share: f64,
        /// Below.
        body: Box<Variate>,
        /// Above.
        tail: Box<Variate>,
    },
    /// One of these, ascending, each with the probability of not being exceeded.
    Values(Vec<(f64, f64)>),
}

impl Variate {
    /// The value that a share `u` in [0, 1) of all lies below.
    pub fn quantile(&self, u: f64) -> f64 {
        match self {
            Variate::Fixed(x) => *x,
            Variate::Uniform { from, to } => from + u * (to - from),
            Variate::Exponential { mean } => -mean * math::ln(1.0 - u),
            Variate::Pareto { min, shape } => min * math::pow(1.0 - u, -1.0 / shape),
            Variate::Weibull { scale, shape } => scale * math::pow(-math::ln(1.0 - u), 1.0 / shape),
            Variate::Lognormal { mu, sigma, min, max } => {
                let below = |x: f64| if x > 0.0 { normal_cdf((math::ln(x) - mu) / sigma) } else { 0.0 };
                let (low, high) = (below(*min), if max.is_finite() { below(*max) } else { 1.0 });
                let p = low + u * (high - low);
                if p <= 0.0 { *min } else { math::exp(mu + sigma * normal_quantile(p)).clamp(*min, *max) }
            }
            Variate::Hybrid { share, body, .. } if u < *share => body.quantile(u / share),
            Variate::Hybrid { share, tail, .. } => tail.quantile((u - share) / (1.0 - share)),
            Variate::Values(values) => {
                let at = values.partition_point(|(_, p)| *p <= u);
                values[at.min(values.len() - 1)].0
            }
        }
    }

    /// The mean; infinite where there is none.
    pub fn mean(&self) -> f64 {
        match self {
            Variate::Fixed(x) => *x,
            Variate::Uniform { from, to } => (from + to) / 2.0,
            Variate::Exponential { mean } => *mean,
            Variate::Pareto { min, shape } if *shape > 1.0 => min * shape / (shape - 1.0),
            Variate::Pareto { .. } => f64::INFINITY,
            Variate::Weibull { scale, shape } => scale * math::gamma(1.0 + 1.0 / shape),
            Variate::Lognormal { mu, sigma, min, max } => {
                // E[x; x <= c] = exp(mu + sigma²/2) Φ((ln c - mu) / sigma - sigma)
                let part = |shift: f64| {
                    let below = |x: f64| if x > 0.0 { normal_cdf((math::ln(x) - mu) / sigma - shift) } else { 0.0 };
                    if max.is_finite() { below(*max) - below(*min) } else { 1.0 - below(*min) }
                };
                math::exp(mu + sigma * sigma / 2.0) * part(*sigma) / part(0.0)
            }
            Variate::Hybrid { share, body, tail } => share * body.mean() + (1.0 - share) * tail.mean(),
            Variate::Values(_) => self.expect(|x| x),
        }
    }

    /// The mean of `f` of it, by quadrature on the quantiles, which are the closer the nearer they are to 1.
    pub fn expect(&self, f: impl Fn(f64) -> f64) -> f64 {
        const OCTAVES: u32 = 44;
        const POINTS: u32 = 512;
        let mut sum = 0.0;
        let mut rest = 1.0; // of the probability, still to come
        for octave in 0..OCTAVES {
            let width = if octave + 1 == OCTAVES { rest } else { rest / 2.0 };
            let from = 1.0 - rest;
            let point = |k: u32| f(self.quantile(from + width * (f64::from(k) + 0.5) / f64::from(POINTS)));
            sum += width * (0..POINTS).map(point).sum::<f64>() / f64::from(POINTS);
            rest -= width;
        }
        sum
    }

    /// A draw.
    pub fn draw(&self, rng: &mut Stream) -> f64 {
        self.quantile(rng.uniform())
    }

    /// What is left of a time of which one is under way since long ago: a uniform part of a time that is met in
    /// proportion to its length. Closed form for Pareto (shape - 1) and exponential times; else of a plain draw.
    fn residual(&self, rng: &mut Stream) -> f64 {
        let (u, part) = (rng.uniform(), rng.uniform());
        match self {
            Variate::Exponential { .. } => self.quantile(u),
            Variate::Pareto { min, shape } => part * Variate::Pareto { min: *min, shape: shape - 1.0 }.quantile(u),
            _ => part * self.quantile(u),
        }
    }
}

/// Φ.
fn normal_cdf(x: f64) -> f64 {
    0.5 * math::erfc(-x / std::f64::consts::SQRT_2)
}

/// Φ⁻¹: a rational start (Abramowitz and Stegun 26.2.23, error below 4.5e-4), then Halley's method.
fn normal_quantile(p: f64) -> f64 {
    let tail = p.min(1.0 - p).max(f64::MIN_POSITIVE);
    let t = (-2.0 * math::ln(tail)).sqrt();
    let start =
        t - (2.515_517 + t * (0.802_853 + t * 0.010_328)) / (1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308)));
    let mut x = -start; // of the lower tail
    for _ in 0..3 {
        let density = math::exp(-x * x / 2.0) / (2.0 * std::f64::consts::PI).sqrt();
        let step = (normal_cdf(x) - tail) / density;
        x -= step / (1.0 + x * step / 2.0);
    }
    if p < 0.5 { x } else { -x }
}

/// Sizes of transfers: whole bytes, at least one, at most `cap`.
#[derive(Clone, Debug, PartialEq)]
pub struct Sizes {
    /// Of what size.
    pub variate: Variate,
    /// What is larger is cut down to this, bytes.
    pub cap: u64,
    /// Whether every [`BLOCK`] transfers in a row are a stratified sample.
    pub stratified: bool,
}

/// Transfers of a stratified sample: one from each 1024th of the distribution, in random order.
pub const BLOCK: usize = 1024;

impl Sizes {
    fn at(&self, u: f64) -> u64 {
        (self.variate.quantile(u).min(self.cap as f64).round() as u64).max(1)
    }

    /// The mean of `f` of a size.
    pub fn expect(&self, f: impl Fn(u64) -> f64) -> f64 {
        self.variate.expect(|x| f((x.min(self.cap as f64).round() as u64).max(1)))
    }
}

/// Sizes in the order of the transfers.
pub(crate) struct SizeSource {
    sizes: Sizes,
    rng: Stream,
    strata: Vec<u16>,
}

impl SizeSource {
    pub(crate) fn new(sizes: Sizes, rng: Stream) -> SizeSource {
        SizeSource { sizes, rng, strata: Vec::new() }
    }

    /// The size of the next transfer, bytes.
    pub(crate) fn draw(&mut self) -> u64 {
        if !self.sizes.stratified {
            return self.sizes.at(self.rng.uniform());
        }
        if self.strata.is_empty() {
            self.strata.extend(0..BLOCK as u16);
            for last in (1..BLOCK).rev() {
                self.strata.swap(last, self.rng.below(last as u64 + 1) as usize); // Fisher and Yates
            }
        }
        let stratum = self.strata.pop().map_or(0.0, f64::from);
        self.sizes.at((stratum + self.rng.uniform()) / BLOCK as f64)
    }
}

/// What a web user does, again and again: a page, then a time to think (Barford and Crovella 1998).
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    /// Objects of a page, rounded to whole ones; the base object is one of them.
    pub objects: Variate,
    /// From the end of an object to the request of the next on the same connection slot, s.
    pub active_off: Variate,
    /// From the end of a page to the next, s.
    pub think: Variate,
    /// Objects fetched at the same time, after the base object.
    pub parallel: u32,
    /// How long an object is taken to last where it has to be known beforehand, s.
    pub fetch_s: f64,
}

/// More objects than this has no page.
const MAX_OBJECTS: f64 = 1000.0;

/// When the objects of a page would be requested, and how long it would take, if each lasted `fetch_s`.
#[derive(Clone, Debug, Default)]
struct Plan {
    requests: Vec<f64>,
    length: f64,
    /// Sum of the times between objects, s.
    off: f64,
}

impl Page {
    /// Draws the number of objects of a page.
    pub(crate) fn draw_objects(&self, rng: &mut Stream) -> u32 {
        self.round(self.objects.draw(rng))
    }

    fn round(&self, objects: f64) -> u32 {
        objects.round().clamp(1.0, MAX_OBJECTS) as u32
    }

    /// Mean number of objects of a page.
    pub fn mean_objects(&self) -> f64 {
        self.objects.expect(|x| f64::from(self.round(x)))
    }

    fn plan(&self, pages: &mut Stream, offs: &mut Stream) -> Plan {
        let objects = self.draw_objects(pages);
        let mut plan = Plan { requests: vec![0.0], length: self.fetch_s, off: 0.0 };
        let mut free = vec![self.fetch_s; self.parallel as usize];
        for _ in 1..objects {
            let off = self.active_off.draw(offs);
            let first = (0..free.len()).min_by(|&a, &b| free[a].total_cmp(&free[b])).unwrap_or(0);
            plan.off += off;
            plan.requests.push(free[first] + off);
            free[first] += off + self.fetch_s;
            plan.length = plan.length.max(free[first]);
        }
        plan
    }

    /// Mean time from the beginning of a page to that of the next, s.
    ///
    /// One object at a time: E[n] fetch + (E[n] - 1) E[off] + E[think]. With several the page is shorter by what
    /// overlaps, which is the mean of 2^16 pages drawn from a stream of its own; of fewer where pages have many objects.
    pub fn mean_cycle(&self) -> f64 {
        let objects = self.mean_objects();
        let in_turn = objects * self.fetch_s + (objects - 1.0) * self.active_off.mean();
        in_turn - self.mean_overlap(objects) + self.think.mean()
    }

    fn mean_overlap(&self, objects: f64) -> f64 {
        if self.parallel == 1 {
            return 0.0;
        }
        const PAGES: u32 = 1 << 16;
        let pages_drawn = PAGES.min((f64::from(4 * PAGES) / objects) as u32);
        let (mut pages, mut offs) = (Stream::new(0, "pages"), Stream::new(0, "offs"));
        let overlap = |plan: Plan| plan.requests.len() as f64 * self.fetch_s + plan.off - plan.length;
        (0..pages_drawn).map(|_| overlap(self.plan(&mut pages, &mut offs))).sum::<f64>() / f64::from(pages_drawn)
    }

    /// Where a user who has been at it for long is at time 0: until when the present page's further objects, as far as
    /// they can be requested now, wait (s), how many more follow, and, between pages, how long until the next one.
    pub(crate) fn in_equilibrium(
        &self,
        cycle: f64,
        pages: &mut Stream,
        offs: &mut Stream,
        think: &mut Stream,
    ) -> Phase {
        if think.uniform() * cycle < self.think.mean() {
            return Phase::Thinks(self.think.residual(think));
        }
        // A page under way is met in proportion to its length: one of a few, chosen so. Pages of many objects are alike.
        const CANDIDATES: usize = 64;
        let mut plans = vec![self.plan(pages, offs)];
        let mut objects = plans[0].requests.len();
        while plans.len() < CANDIDATES && objects < MAX_OBJECTS as usize {
            plans.push(self.plan(pages, offs));
            objects += plans[plans.len() - 1].requests.len();
        }
        let mut at = pages.uniform() * plans.iter().map(|p| p.length).sum::<f64>();
        let mut chosen = plans.len() - 1;
        for (k, plan) in plans.iter().enumerate() {
            if at < plan.length {
                chosen = k;
                break;
            }
            at -= plan.length;
        }
        let plan = &plans[chosen];
        let mut waits: Vec<f64> = plan.requests.iter().map(|r| r - at).filter(|wait| *wait > 0.0).collect();
        if waits.is_empty() {
            return Phase::Thinks((plan.length - at).max(0.0) + self.think.draw(think));
        }
        waits.sort_by(f64::total_cmp);
        let more = waits.len().saturating_sub(self.parallel as usize);
        waits.truncate(self.parallel as usize);
        Phase::Reads { waits, more: more as u32 }
    }
}

/// Where a user is.
pub(crate) enum Phase {
    /// The next page begins after so long, s.
    Thinks(f64),
    /// In the middle of a page.
    Reads {
        /// Until each of the next objects is requested, s.
        waits: Vec<f64>,
        /// Objects after these.
        more: u32,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64, tolerance: f64) {
        assert!((found / expected - 1.0).abs() < tolerance, "{found}, not {expected}");
    }

    const BODY: Variate = Variate::Lognormal { mu: 9.357, sigma: 1.318, min: 0.0, max: f64::INFINITY };
    const BODY_CUT: Variate = Variate::Lognormal { mu: 9.357, sigma: 1.318, min: 0.0, max: 133_000.0 };
    const TAIL: Variate = Variate::Pareto { min: 133_000.0, shape: 1.1 };
    const ACTIVE_OFF: Variate = Variate::Weibull { scale: 1.46, shape: 0.382 };
    const THINK: Variate = Variate::Pareto { min: 1.0, shape: 1.5 };
    const EMBEDDED: Variate = Variate::Pareto { min: 1.0, shape: 2.43 };

    fn surge() -> Variate {
        Variate::Hybrid { share: 0.93, body: Box::new(BODY_CUT), tail: Box::new(TAIL) }
    }

    /// Values at u = 0.9, medians and means computed from the published forms of the distributions.
    #[test]
    fn surge_distributions() {
        for (variate, at_90, median, mean) in [
            (&BODY, 62_698.0, 11_580.0, 27_600.0),
            (&TAIL, 1.0788e6, 249_756.0, 1.463e6),
            (&ACTIVE_OFF, 12.959, 0.5593, 5.538),
            (&THINK, 4.642, 1.587, 3.0),
            (&EMBEDDED, 2.579, 1.330, 1.699),
        ] {
            // Half of the last digit printed is 3e-4 at most.
            close(variate.quantile(0.9), at_90, 3e-4);
            close(variate.quantile(0.5), median, 3e-4);
            close(variate.mean(), mean, 3e-4);
        }
        close(normal_cdf((math::ln(133_000.0) - 9.357) / 1.318), 0.968, 1e-3);
        close(BODY_CUT.mean(), 20_055.0, 1e-4);
        close(surge().mean(), 121_061.0, 1e-3);
        assert_eq!(surge().quantile(0.93), 133_000.0);
        assert!(surge().quantile(0.929_999_999) <= 133_000.0);
    }

    /// Quadrature against the closed forms, and of a capped Pareto against its own.
    #[test]
    fn expectations() {
        for variate in [&BODY, &BODY_CUT, &ACTIVE_OFF, &EMBEDDED, &Variate::Exponential { mean: 3.0 }] {
            close(variate.expect(|x| x), variate.mean(), 1e-4);
        }
        // E min(X, c) = k + k^a (k^(1-a) - c^(1-a)) / (a - 1)
        let (k, a, c) = (133_000.0_f64, 1.1, 1e7);
        let capped = k + math::pow(k, a) * (math::pow(k, 1.0 - a) - math::pow(c, 1.0 - a)) / (a - 1.0);
        let sizes = Sizes { variate: TAIL, cap: 10_000_000, stratified: true };
        close(sizes.expect(|x| x as f64), capped, 1e-4);
    }

    /// Φ⁻¹ at the usual levels (Abramowitz and Stegun, table 26.1 and 26.5).
    #[test]
    fn normal_quantiles() {
        for (p, x) in [(0.975, 1.959_963_984_540_054), (0.9, 1.281_551_565_544_6), (0.999, 3.090_232_306_167_813)] {
            close(normal_quantile(p), x, 1e-12);
            close(normal_quantile(1.0 - p), -x, 1e-12);
        }
        assert!(normal_quantile(0.5).abs() < 1e-15);
    }

    /// Aikat et al. (2003): the fit of median 80 ms and sigma 0.88 leaves 60 % below 100 ms.
    #[test]
    fn sixty_per_cent_of_round_trips_are_below_a_tenth_of_a_second() {
        let (mu, sigma) = (math::ln(0.080), 0.88);
        close(normal_cdf((math::ln(0.1) - mu) / sigma), 0.6, 2e-3);
        let cut = Variate::Lognormal { mu, sigma, min: 0.010, max: 1.0 };
        assert!((cut.quantile(0.0) - 0.010).abs() < 1e-9 && (cut.quantile(1.0 - 1e-12) - 1.0).abs() < 1e-6);
        close(cut.quantile(0.5), 0.0805, 1e-2);
    }

    #[test]
    fn values_come_with_their_probabilities() {
        let values = Variate::Values(vec![(1.0, 0.5), (10.0, 0.75), (100.0, 1.0)]);
        assert_eq!(
            [0.0, 0.49, 0.5, 0.74, 0.75, 0.999].map(|u| values.quantile(u)),
            [1.0, 1.0, 10.0, 10.0, 100.0, 100.0]
        );
        close(values.mean(), 28.0, 1e-12);
    }

    /// A block holds one size of each stratum, so its mean misses by far less than that of independent draws.
    #[test]
    fn a_block_is_a_stratified_sample() {
        let sizes = Sizes { variate: surge(), cap: 10_000_000, stratified: true };
        let mean = sizes.expect(|x| x as f64);
        let spread = |stratified: bool| {
            let errors = (0..50).map(|seed| {
                let mut source = SizeSource::new(Sizes { stratified, ..sizes.clone() }, Stream::new(seed, "size"));
                let sum: u64 = (0..BLOCK).map(|_| source.draw()).sum();
                (sum as f64 / BLOCK as f64 / mean - 1.0).powi(2)
            });
            (errors.sum::<f64>() / 50.0).sqrt()
        };
        let (stratified, independent) = (spread(true), spread(false));
        assert!(stratified < 0.03, "{stratified}");
        assert!(independent > 0.10, "{independent}");
    }

    fn page(parallel: u32) -> Page {
        Page { objects: EMBEDDED, active_off: ACTIVE_OFF, think: THINK, parallel, fetch_s: 0.3 }
    }

    /// P(n >= m) = (m - 1/2)^-2.43 for m >= 2, summed.
    #[test]
    fn objects_of_a_page() {
        let more: f64 = (2..=1000).map(|m| math::pow(f64::from(m) - 0.5, -2.43)).sum();
        close(page(1).mean_objects(), 1.0 + more, 2e-4); // steps cost the quadrature some digits
    }

    /// Renewal theory: the part of a cycle that is left to think about in equilibrium has P(R > x) = (2/3) x^-1/2.
    #[test]
    fn users_start_in_equilibrium() {
        let mut rng = Stream::new(1, "think");
        let n = 100_000;
        let left: Vec<f64> = (0..n).map(|_| THINK.residual(&mut rng)).collect();
        for (x, share) in [(1.0, 2.0 / 3.0), (4.0, 1.0 / 3.0), (100.0, 1.0 / 15.0)] {
            let found = left.iter().filter(|r| **r > x).count() as f64 / f64::from(n);
            close(found, share, 0.03);
        }
    }

    /// Several objects at once make a page shorter, never longer.
    #[test]
    fn the_mean_cycle() {
        let (one, two, many) = (page(1).mean_cycle(), page(2).mean_cycle(), page(8).mean_cycle());
        let n = page(1).mean_objects();
        close(one, n * 0.3 + (n - 1.0) * 5.538 + 3.0, 1e-3);
        assert!(many < two && two < one && two > 0.8 * one, "{one} {two} {many}");
    }
}
