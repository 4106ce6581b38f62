//! `[[background]]`: transfers that come and go, by a load or by a rate.

use super::flow::FlowSpec;
use super::network::{Ends, Graph, Network, Path};
use super::quantity::{Integer, Name, Or, POSITIVE_TIME, SIZE, TIME, Times, Words};
use super::reader::{Kind, Mistakes, Table, show};
use super::tcp::TcpSpec;
use super::{Arrivals, Background};
use crate::app::ip_bytes;
use crate::app::workload::{Page, Sizes, Variate};
use crate::measure::budget;
use cclab_algo::{Duration, Rate, Time, math};
use serde_json::{Value as Json, json};

/// One entry of `[[background]]`.
pub(super) struct BackgroundSpec {
    pub(super) label: String,
    /// The entry, as a flow of the network in each of its directions.
    pub(super) places: Vec<FlowSpec>,
    path: String,
    tcp: Box<TcpSpec>,
    rtt: Option<Variate>,
    sizes: Sizes,
    arrivals: ArrivalSpec,
    amount: Amount,
    /// What it is called.
    amount_field: &'static str,
    start: Duration,
    stop: Option<Duration>,
    send_jitter: Duration,
}

/// What starts connections.
enum ArrivalSpec {
    Poisson,
    Users(Page),
    Pages(Page),
}

/// How much of it.
#[derive(Clone, Copy)]
enum Amount {
    /// A share of the slowest link.
    Load(f64),
    /// Connections or pages per second, or users.
    Count(f64),
}

#[derive(Clone, Copy, PartialEq)]
enum Source {
    Web,
    Poisson,
}
const KINDS: Words<Source> = Words(&[("web", Source::Web), ("poisson", Source::Poisson)]);
const ARRIVALS: Words<bool> = Words(&[("users", true), ("pages", false)]);
const SAMPLINGS: Words<bool> = Words(&[("stratified", true), ("independent", false)]);
const STOP: Or<Times> = Or("never", POSITIVE_TIME);
const USERS: Integer = Integer { min: 1, max: 1_000_000 };
const PARALLEL: Integer = Integer { min: 1, max: 16 };
/// Entries of a scenario.
pub(super) const MAX_ENTRIES: usize = 100;
/// Unless the scenario says otherwise, larger transfers are cut down to this, bytes.
const MAX_SIZE: u64 = 10_000_000;

/// A number above one and up to another.
pub(super) struct Number {
    above: f64,
    max: f64,
}
const POSITIVE: Number = Number { above: 0.0, max: 1e6 };
/// A tail index for which there is a mean.
pub(super) const WITH_MEAN: Number = Number { above: 1.0, max: 1e6 };
const SHARE: Number = Number { above: 0.0, max: 1.0 };

impl Kind for Number {
    type Value = f64;
    fn read(&self, json: &Json) -> Result<f64, String> {
        let (above, max) = (self.above, self.max);
        let fits = |x: &f64| *x > above && *x <= max;
        json.as_f64()
            .filter(fits)
            .ok_or_else(|| format!("{} is not a number above {above} and up to {max}", show(json)))
    }
    fn write(&self, value: &f64) -> Json {
        json!(value)
    }
}

/// A load: a share of a rate.
struct Load;
impl Kind for Load {
    type Value = f64;
    fn read(&self, json: &Json) -> Result<f64, String> {
        let percent = |text: &str| Some(text.trim().strip_suffix('%')?.trim().parse::<f64>().ok()? / 100.0);
        let load = json.as_f64().or_else(|| json.as_str().and_then(percent));
        load.filter(|x| *x > 0.0 && *x <= 10.0)
            .ok_or_else(|| format!("{} is not a load above 0% and up to 1000%; write e.g. \"10%\" or 0.1", show(json)))
    }
    fn write(&self, load: &f64) -> Json {
        let text = format!("{}%", (load * 1e14).round() / 1e12);
        if Load.read(&json!(text)) == Ok(*load) { json!(text) } else { json!(load) }
    }
}

/// A list of a kind of quantity, not empty.
struct ListOf<K>(K);
impl<K: Kind> Kind for ListOf<K> {
    type Value = Vec<K::Value>;
    fn read(&self, json: &Json) -> Result<Self::Value, String> {
        let list = json.as_array().filter(|l| (1..=10_000).contains(&l.len()));
        let list = list.ok_or_else(|| format!("{} is not a list of 1 to 10000 values", show(json)))?;
        list.iter().map(|j| self.0.read(j)).collect()
    }
    fn write(&self, values: &Self::Value) -> Json {
        values.iter().map(|v| self.0.write(v)).collect()
    }
}

/// These values with these weights, ascending.
fn weighted(values: Vec<f64>, weights: &[f64]) -> Variate {
    let mut pairs: Vec<(f64, f64)> = values.into_iter().zip(weights.iter().copied()).collect();
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let total: f64 = pairs.iter().map(|(_, w)| w).sum();
    let mut sum = 0.0;
    for (_, weight) in &mut pairs {
        sum += *weight;
        *weight = sum / total;
    }
    Variate::Values(pairs)
}

impl BackgroundSpec {
    /// Reads one entry; `None` after a mistake in something that has no default. `others` are those before it.
    pub(super) fn read(
        t: &mut Table,
        network: Option<&Network>,
        duration: Option<Duration>,
        others: &[BackgroundSpec],
    ) -> Option<BackgroundSpec> {
        let Some(kind) = t.required("kind", &KINDS, "\"web\"") else {
            t.forgive();
            return None;
        };
        let name = if kind == Source::Web { "web" } else { "poisson" };
        let count = others.iter().filter(|o| o.arrivals.name() == name).count();
        let numbered = if count == 0 { name.into() } else { format!("{name}-{}", count + 1) };
        let label = t.or("label", &Name, numbered);
        let places = match network {
            Some(network) => read_places(t, network),
            None => {
                Network::skip_ends(t);
                None
            }
        };
        let tcp = TcpSpec::read_options(t);
        let sizes = read_sizes(t);
        let start = t.or("start", &TIME, Duration::ZERO);
        let stop = t.or("stop", &STOP, None);
        let send_jitter = t.or("send_jitter", &TIME, Duration::ZERO);
        super::flow::check_times(t, start, stop, duration);
        let (arrivals, number, others) = match kind {
            Source::Poisson => (ArrivalSpec::Poisson, "flows_per_second", &["users", "pages_per_second"]),
            Source::Web => {
                let users = t.or("arrivals", &ARRIVALS, true);
                let page = read_page(t);
                match users {
                    true => (ArrivalSpec::Users(page), "users", &["flows_per_second", "pages_per_second"]),
                    false => (ArrivalSpec::Pages(page), "pages_per_second", &["flows_per_second", "users"]),
                }
            }
        };
        let amount_field = if t.raw("load").is_some() { "load" } else { number };
        let amount = read_amount(t, number, others);
        let (tcp, (ends, rtt)) = (Box::new(tcp?), places?);
        let path: String = t.path().into();
        let place = |(ends, rtt)| FlowSpec::place(path.clone(), ends, rtt, tcp.as_ref().clone());
        Some(BackgroundSpec {
            label,
            places: ends.into_iter().map(place).collect(),
            path: t.path().into(),
            rtt,
            sizes: sizes?,
            arrivals,
            amount: amount?,
            amount_field,
            start,
            stop,
            send_jitter,
            tcp,
        })
    }

    fn field(&self, name: &str) -> String {
        format!("{}.{name}", self.path)
    }

    /// The entry of the checked scenario, in direction `number` of its places.
    pub(super) fn build(
        &self,
        number: usize,
        path: Path,
        graph: &Graph,
        duration: Duration,
        mistakes: &Mistakes,
    ) -> Option<Background> {
        let place = &self.places[number];
        let rate = graph.slowest(&path.route);
        let config = self.tcp.config_with(place.initial_ssthresh(&self.tcp, rate, mistakes));
        let rtt = self.rtt.clone().unwrap_or(Variate::Fixed(place.rtt.as_secs_f64()));
        let rtt_s = rtt.mean();
        let fetch_s = self.sizes.expect(|size| fetch_s(&config, size, rtt_s, rate));
        let mut arrivals = self.arrivals.of(|page| Page { fetch_s, ..page.clone() });
        let bits = self.sizes.expect(|size| 8.0 * ip_bytes(&config, size) as f64);
        // Of one user, one page a second, or one connection a second.
        let each = match &mut arrivals {
            Arrivals::Poisson { .. } => bits,
            Arrivals::Pages { page, .. } => page.mean_objects() * bits,
            Arrivals::Users { page, cycle_s, .. } => {
                *cycle_s = page.mean_cycle();
                page.mean_objects() * bits / *cycle_s
            }
        };
        let (count, load) = match (self.amount, rate) {
            (Amount::Load(load), Some(rate)) => (load * rate.as_bps_f64() / each, load),
            (Amount::Load(_), None) => {
                mistakes.add(self.field("load"), "no link of the route has a rate of which this could be a share");
                return None;
            }
            (Amount::Count(count), rate) => (count, rate.map_or(f64::NAN, |rate| count * each / rate.as_bps_f64())),
        };
        match &mut arrivals {
            Arrivals::Poisson { per_s } | Arrivals::Pages { per_s, .. } => *per_s = count,
            Arrivals::Users { .. } if !(0.5..=1e6).contains(&count) => {
                let why =
                    format!("comes to {count:.3} users of {:.0} bit/s each; from 1 to 1000000 are possible", each);
                mistakes.add(self.field("load"), why);
                return None;
            }
            Arrivals::Users { users, .. } => *users = count.round() as u32,
        }
        let per_s = count * each / bits;
        let length = self.stop.map_or(duration, |stop| stop.min(duration)).as_secs_f64() - self.start.as_secs_f64();
        let at_once = match &arrivals {
            Arrivals::Users { page, .. } => (per_s * fetch_s).min(count * f64::from(page.parallel)),
            // Little's law for those that the path has room for; the others pile up.
            _ => per_s * (fetch_s.min(length) + (1.0 - 1.0 / load).max(0.0) * length),
        };
        let what = format!("comes to {per_s:.0} connections a second, of which {at_once:.0} would be open at once");
        let bytes = (at_once * budget::CONNECTION as f64) as u64;
        mistakes.need(self.field(self.amount_field), bytes, what, "write less");
        Some(Background {
            label: self.label.clone(),
            reverse: place.is_reverse() || number > 0,
            route: path.route,
            route_back: path.route_back,
            base_rtt: place.rtt,
            rtt,
            rate,
            load,
            start: Time::ZERO + self.start,
            stop: self.stop.map(|d| Time::ZERO + d),
            send_jitter: self.send_jitter,
            arrivals,
            sizes: self.sizes.clone(),
            config,
            cc: self.tcp.cc,
            cc_params: self.tcp.cc_params.clone(),
        })
    }
}

impl ArrivalSpec {
    fn name(&self) -> &'static str {
        if matches!(self, ArrivalSpec::Poisson) { "poisson" } else { "web" }
    }
    fn of(&self, complete: impl Fn(&Page) -> Page) -> Arrivals {
        match self {
            ArrivalSpec::Poisson => Arrivals::Poisson { per_s: 0.0 },
            ArrivalSpec::Users(page) => Arrivals::Users { users: 0, page: complete(page), cycle_s: f64::NAN },
            ArrivalSpec::Pages(page) => Arrivals::Pages { per_s: 0.0, page: complete(page) },
        }
    }
}

/// Seconds that a transfer takes alone on a path of this RTT and rate: the handshake, rounds that double from the initial
/// window until they fill the path, and the time to send its bits.
fn fetch_s(config: &crate::tcp::Config, size: u64, rtt_s: f64, rate: Option<Rate>) -> f64 {
    let mss = u64::from(config.mss);
    let rate = rate.map_or(f64::INFINITY, Rate::as_bps_f64);
    let (mut sent, mut window, mut rounds) = (0, u64::from(config.initial_window), 0.0);
    while sent * mss < size {
        rounds += 1.0;
        sent += window;
        if (window * mss * 8) as f64 >= rate * rtt_s {
            break;
        }
        window *= 2;
    }
    rtt_s * (1.0 + rounds) + 8.0 * ip_bytes(config, size) as f64 / rate
}

/// Where the connections begin and end, with the base RTT of the route, and the distribution of theirs.
type Places = (Vec<(Ends, Duration)>, Option<Variate>);

fn read_places(t: &mut Table, network: &Network) -> Option<Places> {
    match network {
        Network::Hosts(hosts) => {
            let rtt = match read_rtt(t)? {
                Some(rtt) => Some(rtt),
                None => {
                    if hosts.rtt.is_none() && t.mistakes().sound("network.rtt") {
                        t.require(
                            "rtt",
                            "give the connections a base RTT, e.g. \"40 ms\", or all flows by network.rtt",
                        );
                    }
                    let rtt = hosts.rtt?;
                    t.put("rtt", POSITIVE_TIME.write(&rtt));
                    Some((Variate::Fixed(rtt.as_secs_f64()), rtt))
                }
            };
            let (variate, least) = rtt?;
            let ends = hosts.read_directions(t)?;
            Some((ends.into_iter().map(|ends| (ends, least)).collect(), Some(variate)))
        }
        Network::Mesh(_) | Network::Wireless(_) => Some((vec![network.read_ends(t)?], None)),
    }
}

/// Lognormal with median 80 ms and sigma 0.88: 60 % below 100 ms, as Aikat et al. (2003) measured.
const MEDIAN: Duration = Duration::from_millis(80);
const SIGMA: f64 = 0.88;
const LEAST: Duration = Duration::from_millis(10);
const MOST: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, PartialEq)]
enum RttKind {
    Uniform,
    Lognormal,
}
const RTT_KINDS: Words<RttKind> =
    Words(&[("uniform", RttKind::Uniform), ("lognormal", RttKind::Lognormal), ("aikat", RttKind::Lognormal)]);

/// The base RTTs, with the smallest; `Some(None)` where there are none, `None` after a mistake.
#[expect(clippy::option_option, reason = "absent is not wrong")]
fn read_rtt(t: &mut Table) -> Option<Option<(Variate, Duration)>> {
    let aikat = |median: Duration, sigma, least: Duration, most: Duration| {
        let mu = math::ln(median.as_secs_f64());
        (Variate::Lognormal { mu, sigma, min: least.as_secs_f64(), max: most.as_secs_f64() }, least)
    };
    match t.raw("rtt") {
        None => Some(None),
        Some(Json::String(word)) if word == "aikat" => {
            t.put("rtt", json!("aikat"));
            Some(Some(aikat(MEDIAN, SIGMA, LEAST, MOST)))
        }
        Some(Json::Array(_)) => {
            let list = t.optional("rtt", &ListOf(POSITIVE_TIME))?;
            let least = list.iter().min().copied()?;
            let weights = vec![1.0; list.len()];
            Some(Some((weighted(list.iter().map(|d| d.as_secs_f64()).collect(), &weights), least)))
        }
        Some(Json::Object(_)) => {
            let mut r = t.table("rtt")?;
            let kind = r.required("distribution", &RTT_KINDS, "\"aikat\"");
            let (least, most) = (r.or("min", &POSITIVE_TIME, LEAST), r.or("max", &POSITIVE_TIME, MOST));
            if least >= most && r.sound(&["min", "max"]) {
                r.mistake("max", format!("is not above {}", r.field("min")));
            }
            let made = kind.map(|kind| match kind {
                RttKind::Uniform => (Variate::Uniform { from: least.as_secs_f64(), to: most.as_secs_f64() }, least),
                RttKind::Lognormal => {
                    let median = r.or("median", &POSITIVE_TIME, MEDIAN);
                    aikat(median, r.or("sigma", &POSITIVE, SIGMA), least, most)
                }
            });
            if kind.is_none() {
                r.forgive();
            }
            t.put("rtt", r.finish());
            t.sound(&["rtt"]).then_some(())?;
            made.map(Some)
        }
        Some(_) => {
            let rtt = t.optional("rtt", &POSITIVE_TIME)?;
            Some(Some((Variate::Fixed(rtt.as_secs_f64()), rtt)))
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum SizeKind {
    Surge,
    Pareto,
    Lognormal,
    Exponential,
    Fixed,
    Empirical,
}
const SIZE_KINDS: Words<SizeKind> = Words(&[
    ("surge", SizeKind::Surge),
    ("pareto", SizeKind::Pareto),
    ("lognormal", SizeKind::Lognormal),
    ("exponential", SizeKind::Exponential),
    ("fixed", SizeKind::Fixed),
    ("empirical", SizeKind::Empirical),
]);

/// Sizes of files on the servers that Barford and Crovella (1998) model.
fn surge(mu: f64, sigma: f64, share: f64, cut: u64, shape: f64) -> Variate {
    let cut = cut as f64;
    Variate::Hybrid {
        share,
        body: Box::new(Variate::Lognormal { mu, sigma, min: 0.0, max: cut }),
        tail: Box::new(Variate::Pareto { min: cut, shape }),
    }
}
const SURGE: (f64, f64, f64, u64, f64) = (9.357, 1.318, 0.93, 133_000, 1.1);

fn read_sizes(t: &mut Table) -> Option<Sizes> {
    let cap = t.or("max_size", &SIZE, MAX_SIZE);
    let stratified = t.or("sampling", &SAMPLINGS, true);
    let variate = match t.raw("sizes") {
        None => {
            let (mu, sigma, share, cut, shape) = SURGE;
            t.put("sizes", json!("surge"));
            surge(mu, sigma, share, cut, shape)
        }
        Some(_) => read_size(t, "sizes")?,
    };
    Some(Sizes { variate, cap, stratified })
}

/// Sizes in the field of this name; a number is that of all.
pub(super) fn read_size(t: &mut Table, field: &'static str) -> Option<Variate> {
    let (mu, sigma, share, cut, shape) = SURGE;
    match t.raw(field) {
        None => None,
        Some(Json::String(word)) if word == "surge" => {
            t.put(field, json!("surge"));
            Some(surge(mu, sigma, share, cut, shape))
        }
        Some(Json::Array(_)) => {
            let list = t.optional(field, &ListOf(SIZE))?;
            let weights = vec![1.0; list.len()];
            Some(weighted(list.iter().map(|x| *x as f64).collect(), &weights))
        }
        Some(Json::Object(_)) => {
            let mut s = t.table(field)?;
            let kind = s.required("distribution", &SIZE_KINDS, "\"pareto\"");
            let made = kind.and_then(|kind| read_size_table(&mut s, kind));
            if kind.is_none() {
                s.forgive();
            }
            t.put(field, s.finish());
            t.sound(&[field]).then_some(())?;
            made
        }
        Some(_) => t.optional(field, &SIZE).map(|size| Variate::Fixed(size as f64)),
    }
}

fn read_size_table(s: &mut Table, kind: SizeKind) -> Option<Variate> {
    Some(match kind {
        SizeKind::Surge => {
            let (mu, sigma, share, cut, shape) = SURGE;
            let (mu, sigma) = (s.or("mu", &POSITIVE, mu), s.or("sigma", &POSITIVE, sigma));
            let share = s.or("body", &SHARE, share);
            surge(mu, sigma, share, s.or("cut", &SIZE, cut), s.or("shape", &POSITIVE, shape))
        }
        SizeKind::Pareto => {
            let (min, shape) = (s.required("min", &SIZE, "\"10 kB\""), s.required("shape", &POSITIVE, "1.2"));
            Variate::Pareto { min: min? as f64, shape: shape? }
        }
        SizeKind::Lognormal => {
            let (median, sigma) = (s.required("median", &SIZE, "\"10 kB\""), s.required("sigma", &POSITIVE, "1.3"));
            Variate::Lognormal { mu: math::ln(median? as f64), sigma: sigma?, min: 0.0, max: f64::INFINITY }
        }
        SizeKind::Exponential => Variate::Exponential { mean: s.required("mean", &SIZE, "\"50 kB\"")? as f64 },
        SizeKind::Fixed => Variate::Fixed(s.required("size", &SIZE, "\"50 kB\"")? as f64),
        SizeKind::Empirical => {
            let values = s.required("values", &ListOf(SIZE), "[\"1 kB\", \"20 kB\"]");
            let weights = s.optional("weights", &ListOf(POSITIVE));
            let values = values?;
            if let Some(weights) = &weights
                && weights.len() != values.len()
            {
                s.mistake("weights", format!("{} for {} values; write one for each", weights.len(), values.len()));
                return None;
            }
            let weights = weights.unwrap_or_else(|| vec![1.0; values.len()]);
            weighted(values.into_iter().map(|x| x as f64).collect(), &weights)
        }
    })
}

/// Pages of Barford and Crovella (1998), unless the entry says otherwise.
fn read_page(t: &mut Table) -> Page {
    let mut e = t.table_or_empty("embedded");
    let objects = Variate::Pareto { min: e.or("min", &POSITIVE, 1.0), shape: e.or("shape", &POSITIVE, 2.43) };
    t.put("embedded", e.finish());
    let mut o = t.table_or_empty("active_off");
    let scale = o.or("scale", &POSITIVE_TIME, Duration::from_millis(1460)).as_secs_f64();
    let active_off = Variate::Weibull { scale, shape: o.or("shape", &POSITIVE, 0.382) };
    t.put("active_off", o.finish());
    let mut w = t.table_or_empty("think");
    let min = w.or("min", &POSITIVE_TIME, Duration::from_secs(1)).as_secs_f64();
    let think = Variate::Pareto { min, shape: w.or("shape", &WITH_MEAN, 1.5) };
    t.put("think", w.finish());
    let parallel = t.or("parallel", &PARALLEL, 2) as u32;
    Page { objects, active_off, think, parallel, fetch_s: 0.0 }
}

/// How much: `load`, or the number called `name`; those of other kinds are explained.
fn read_amount(t: &mut Table, name: &'static str, others: &[&'static str]) -> Option<Amount> {
    for &other in others {
        if t.raw(other).is_some() {
            t.mistake(other, format!("does not apply here; write {} or {}", t.field("load"), t.field(name)));
        }
    }
    match (t.raw("load").is_some(), t.raw(name).is_some()) {
        (true, true) => {
            t.mistake(name, format!("{} is given too; write one of them", t.field("load")));
            None
        }
        (false, true) if name == "users" => t.optional(name, &USERS).map(|n| Amount::Count(n as f64)),
        (false, true) => t.optional(name, &POSITIVE).map(Amount::Count),
        _ => t.required("load", &Load, &format!("\"10%\", a share of the bottleneck, or {name}")).map(Amount::Load),
    }
}
