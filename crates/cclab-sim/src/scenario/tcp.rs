//! The options of a TCP flow: a profile, and what a flow sets otherwise.

use super::application;
use super::quantity::{
    Amount, Amounts, Flag, Integer, Or, POSITIVE_RATE, POSITIVE_TIME, SIZE, Signed, Sizes, TIME, Words,
};
use super::reader::{Kind, Table, alternatives, show};
use crate::app::config::Application;
use crate::tcp::sysctl::{SYSCTLS, Sysctl};
use crate::tcp::{Config, Ecn, Pacing, Profile, Recovery, RtoStyle, Tso};
use crate::wire::DSS_DATA;
use cclab_algo::cc::{self, Context};
use cclab_algo::params::{self, Flavour, Given, Params};
use serde_json::{Value as Json, json};
use std::borrow::Cow;
use std::sync::Arc;

/// A TCP flow as written, its initial ssthresh not yet resolved.
#[derive(Clone, Debug)]
pub(super) struct TcpSpec {
    pub(super) cc: &'static cc::Entry,
    pub(super) cc_params: Vec<(String, Given)>,
    pub(super) config: Arc<Config>,
    pub(super) initial_ssthresh: Option<Amount>,
    pub(super) size: Option<u64>,
    pub(super) application: Option<Application>,
    /// Bytes of a full IP packet.
    pub(super) packet_size: u64,
}

/// Laws of subflows that know nothing of each other.
const NONE: &str = "none";
pub(super) const PROFILES: Words<Profile> =
    Words(&[("linux", Profile::Linux), ("linux-2.6", Profile::Linux26), ("classic", Profile::Classic)]);
pub(super) const FLAVOURS: Words<Flavour> = Words(&[("linux", Flavour::Linux), ("paper", Flavour::Paper)]);
pub(super) const RECOVERIES: Words<Recovery> = Words(&[
    ("tahoe", Recovery::Tahoe),
    ("reno", Recovery::Reno),
    ("newreno", Recovery::NewReno),
    ("sack", Recovery::Sack),
    ("rack", Recovery::Rack),
]);
pub(super) const RTO_STYLES: Words<RtoStyle> = Words(&[("linux", RtoStyle::Linux), ("rfc6298", RtoStyle::Rfc6298)]);
/// IP packets: from the least that holds the headers of a data segment to the largest there is.
pub(super) const PACKET_SIZE: Sizes = Sizes { min: 60, max: 65_535 };
/// IPv4 and TCP without options (RFC 791, RFC 9293).
const HEADERS: u64 = 40;
/// The timestamps option with its padding (RFC 7323 appendix A).
const TIMESTAMPS: u64 = 12;
const DEFAULT_PACKET_SIZE: u64 = 1500;
const SEGMENTS: Integer = Integer { min: 1, max: 100_000 };
const QUICKACKS: Integer = Integer { min: 0, max: 100_000 };
const SIZE_OR_ENDLESS: Or<Sizes> = Or("unlimited", SIZE);
const SSTHRESH: Or<Amounts> = Or("unlimited", Amounts { time: false });
const SCALE: Signed = Signed { min: -31, max: 31 };
const RECEIVE_BUFFER: Sizes = Sizes { min: 1000, max: 1 << 40 };

impl TcpSpec {
    /// Reads the size and the options of a flow out of `t`.
    pub(super) fn read(t: &mut Table) -> Option<TcpSpec> {
        let size = if t.raw_if_any("traffic") { None } else { t.or("size", &SIZE_OR_ENDLESS, None) };
        let options = TcpSpec::read_options(t);
        let application = application::read(t, options.as_ref().map_or(1448, |options| options.config.mss));
        Some(TcpSpec { size, application, ..options? })
    }

    /// Reads those of a flow over several paths, whose law may stand under `coupling`; also whether its subflows are told of each
    /// other.
    pub(super) fn read_multipath(t: &mut Table) -> Option<(TcpSpec, bool)> {
        let uncoupled = t.raw("coupling").is_none_or(|coupling| coupling == NONE);
        if uncoupled {
            t.put("coupling", json!(NONE));
        } else {
            t.refuse("cc", "coupling is given too, which is the congestion control of all subflows; write one of them");
        }
        t.refuse("traffic", "is for a flow on one path; write paths or traffic");
        let size = t.or("size", &SIZE_OR_ENDLESS, None);
        let mut spec = TcpSpec::read_options_of(t, if uncoupled { "cc" } else { "coupling" }, true)?;
        spec.size = size;
        let law = spec.cc.make(&Context::new(1000), &spec.cc_params).ok()?;
        if spec.config.ecn == Ecn::Accurate || spec.config.ecn == Ecn::On && law.ecn() == cc::EcnUse::L4s {
            t.mistake("ecn", "the option of AccECN has no room beside that of a connection over several paths");
        }
        if !uncoupled && !spec.cc.is_coupled() {
            let coupled = cc::all().into_iter().filter(|law| law.is_coupled()).map(|law| law.name);
            let allowed = alternatives(spec.cc.name, coupled);
            t.mistake("coupling", format!("\"{}\" knows nothing of siblings, write it as cc{allowed}", spec.cc.name));
        }
        Some((spec, !uncoupled))
    }

    /// Reads the options of a connection out of `t`.
    pub(super) fn read_options(t: &mut Table) -> Option<TcpSpec> {
        TcpSpec::read_options_of(t, "cc", false)
    }

    /// The same of a subflow, if it is one, with the law in the field of this name.
    fn read_options_of(t: &mut Table, law: &'static str, multipath: bool) -> Option<TcpSpec> {
        let profile = t.or("profile", &PROFILES, Profile::Linux);
        let flavour = t.or(
            "flavour",
            &FLAVOURS,
            match profile {
                Profile::Linux | Profile::Linux26 => Flavour::Linux,
                Profile::Classic => Flavour::Paper,
            },
        );
        let mut config = match profile {
            Profile::Linux => Config::linux(0),
            Profile::Linux26 => Config::linux_2_6(0),
            Profile::Classic => Config::classic(0, Recovery::NewReno),
        };
        let set = read_sysctl(t, &mut config);
        config.growth_per_ack = t.or("growth_per_ack", &Flag, config.growth_per_ack);
        let law = read_cc(t, law, flavour, config.growth_per_ack);
        config.flavour = flavour;
        config.multipath = multipath;
        read_recovery(t, profile, law.as_ref().map_or("", |(cc, _)| cc.name), &set, &mut config);
        config.timestamps = t.or("timestamps", &Flag, config.timestamps);
        let packet_size = read_packet_size(t, &mut config);
        read_window(t, law.as_ref(), &set, &mut config);
        let initial_ssthresh = t.or("initial_ssthresh", &SSTHRESH, None);
        read_delayed_ack(t, &mut config);
        read_rto(t, &mut config);
        let (cc, cc_params) = law?;
        Some(TcpSpec {
            cc,
            cc_params,
            config: Arc::new(config),
            initial_ssthresh,
            size: None,
            application: None,
            packet_size,
        })
    }

    /// The options of a flow with this initial ssthresh: those of all flows of the entry where that says none.
    pub(super) fn config_with(&self, initial_ssthresh: Option<u64>) -> Arc<Config> {
        let mut config = Arc::clone(&self.config);
        if config.initial_ssthresh != initial_ssthresh {
            Arc::make_mut(&mut config).initial_ssthresh = initial_ssthresh;
        }
        config
    }
}

/// A law's parameter: whether it grows by ACKs, not by what they acknowledge.
const ACK_COUNTING: &str = "ack_counting";

/// The scenario with `profile` and `sysctl` of all TCP flows written into each that does not say otherwise.
pub(super) fn with_common_options(json: &Json) -> Cow<'_, Json> {
    let (profile, sysctl) = (json.get("profile"), json.get("sysctl").and_then(Json::as_object));
    if profile.is_none() && sysctl.is_none() {
        return Cow::Borrowed(json);
    }
    let mut json = json.clone();
    for list in ["flows", "background"] {
        let entries = json.get_mut(list).and_then(Json::as_array_mut).into_iter().flatten();
        for flow in entries.filter_map(Json::as_object_mut) {
            if flow.get("kind").is_some_and(|kind| kind == "cbr" || kind == "onoff") {
                continue;
            }
            if let Some(profile) = profile {
                flow.entry("profile").or_insert_with(|| profile.clone());
            }
            for (name, value) in sysctl.into_iter().flatten() {
                if Sysctl::find(name).is_some_and(|sysctl| flow.contains_key(sysctl.field)) {
                    continue;
                }
                let own = flow.entry("sysctl").or_insert_with(|| json!({}));
                if let Some(own) = own.as_object_mut() {
                    own.entry(name).or_insert_with(|| value.clone());
                }
            }
        }
    }
    Cow::Owned(json)
}

/// Settings by the kernel's names, put into `config` before what is written by ours; those that were given, by our fields.
fn read_sysctl(t: &mut Table, config: &mut Config) -> Vec<&'static str> {
    let mut set = Vec::new();
    let mut s = t.table_or_empty("sysctl");
    for sysctl in SYSCTLS {
        let Some(json) = s.raw(sysctl.name) else { continue };
        let text = match json {
            Json::String(text) => text.clone(),
            Json::Array(numbers) => numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
            other => other.to_string(),
        };
        if let Err(allowed) = sysctl.set(config, &text) {
            s.mistake(sysctl.name, format!("{} is not {allowed}", show(json)));
            continue;
        }
        // Both of its settings may be there, and so may the rest of the table.
        if sysctl.field != "rto" && t.raw(sysctl.field).is_some() {
            s.mistake(
                sysctl.name,
                format!("{} is given too, which is the same; write one of them", t.field(sysctl.field)),
            );
        }
        set.push(sysctl.field);
    }
    s.finish();
    set
}

/// The congestion control, by name or as a table with its parameters; all of them, defaults filled in.
/// One that can count ACKs does so where slow start does, unless it says otherwise.
fn read_cc(
    t: &mut Table,
    field: &'static str,
    flavour: Flavour,
    per_ack: bool,
) -> Option<(&'static cc::Entry, Vec<(String, Given)>)> {
    let counts = |cc: &cc::Entry| per_ack && cc.params.iter().any(|spec| spec.name == ACK_COUNTING);
    let counting = || (ACK_COUNTING.to_string(), Given::Flag(true));
    if !t.raw(field).is_some_and(Json::is_object) {
        let cc = t.required(field, &Algorithm, "\"cubic\"")?;
        let given: Vec<_> = counts(cc).then(counting).into_iter().collect();
        let params = fill_in(cc.params, &given, flavour)?;
        if !params.is_empty() {
            let mut normal = serde_json::Map::from_iter([("name".into(), json!(cc.name))]);
            normal.extend(params.iter().map(|(n, g)| (n.clone(), given_json(g))));
            t.put(field, normal.into());
        }
        return Some((cc, params));
    }
    let mut c = t.table_or_empty(field);
    let cc = c.required("name", &Algorithm, "\"cubic\"")?;
    let written = c.raw_if_any(ACK_COUNTING);
    let mut params = read_params(&mut c, cc.params, flavour)?;
    if counts(cc) && !written {
        params.iter_mut().filter(|(name, _)| name == ACK_COUNTING).for_each(|pair| *pair = counting());
        c.put(ACK_COUNTING, json!(true));
    }
    t.put(field, c.finish());
    Some((cc, params))
}

/// The parameters that `c` gives, checked; all of them, defaults filled in.
pub(super) fn read_params(
    c: &mut Table,
    specs: &'static [params::Spec],
    flavour: Flavour,
) -> Option<Vec<(String, Given)>> {
    let mut given = Vec::new();
    for spec in specs {
        let Some(json) = c.raw(spec.name) else { continue };
        let value = match json {
            Json::Number(n) => n.as_f64().map(Given::Number),
            Json::Bool(b) => Some(Given::Flag(*b)),
            Json::String(s) => Some(Given::Text(s.clone())),
            _ => None,
        };
        let pair = value.map(|v| (spec.name.to_string(), v));
        match pair.as_slice() {
            [] => c.mistake(spec.name, format!("{} is not {}", show(json), spec.kind)),
            pair => match Params::resolve(specs, pair, flavour) {
                Ok(_) => given.extend_from_slice(pair),
                Err(params::Error::Invalid { value, allowed, .. }) => {
                    c.mistake(spec.name, format!("{value} is not {allowed}"));
                }
                Err(other) => c.mistake(spec.name, other.to_string()),
            },
        }
    }
    let params = fill_in(specs, &given, flavour)?;
    for (name, value) in &params {
        c.put(name, given_json(value));
    }
    Some(params)
}

/// Every parameter of the law with its value. One that is infinite cannot be written and keeps its default.
fn fill_in(
    specs: &'static [params::Spec],
    given: &[(String, Given)],
    flavour: Flavour,
) -> Option<Vec<(String, Given)>> {
    let all = Params::resolve(specs, given, flavour).ok()?.given();
    Some(all.into_iter().filter(|(_, g)| !matches!(g, Given::Number(x) if !x.is_finite())).collect())
}

pub(super) fn given_json(given: &Given) -> Json {
    match given {
        Given::Number(x) => json!(x),
        Given::Flag(b) => json!(b),
        Given::Text(t) => json!(t),
    }
}

/// A registered congestion control.
struct Algorithm;
impl Kind for Algorithm {
    type Value = &'static cc::Entry;
    fn read(&self, json: &Json) -> Result<Self::Value, String> {
        let name = json.as_str().unwrap_or_default();
        cc::find(name).ok_or_else(|| {
            format!("unknown algorithm {}{}", show(json), alternatives(name, cc::all().iter().map(|e| e.name)))
        })
    }
    fn write(&self, value: &Self::Value) -> Json {
        json!(value.name)
    }
    fn schema(&self) -> Json {
        let names: Vec<&str> = cc::all().iter().map(|entry| entry.name).collect();
        json!({ "anyOf": [{ "enum": names }, { "type": "string", "description": "a law of your own" }] })
    }
}

/// Recovery and what goes with it. A law that is called after a recovery implies it; so does SACK one that uses it, and
/// the other way round, unless both are written.
fn read_recovery(t: &mut Table, profile: Profile, cc: &str, set: &[&str], config: &mut Config) {
    let uses_sack = |r: Recovery| matches!(r, Recovery::Sack | Recovery::Rack);
    let sack = t.peek("sack", &Flag).or(set.contains(&"sack").then_some(config.sack));
    let by_sysctl = set.contains(&"recovery").then_some(config.recovery).filter(|_| sack != Some(false));
    let recovery = t.peek("recovery", &RECOVERIES).or(by_sysctl);
    config.recovery = recovery.unwrap_or(match (cc, profile, sack) {
        ("sack", ..) => Recovery::Sack,
        (_, Profile::Linux26, None | Some(true)) if cc != "tahoe" && cc != "newreno" => Recovery::Sack,
        (_, Profile::Linux, Some(true)) => Recovery::Rack,
        (_, Profile::Classic, Some(true)) => Recovery::Sack,
        ("tahoe", ..) => Recovery::Tahoe,
        ("newreno" | "tcp-f" | "elfn" | "atcp" | "bus" | "cwl" | "few", ..) => Recovery::NewReno,
        ("reno", Profile::Classic, _) => Recovery::Reno, // Linux has a reno, too: the law alone
        (_, Profile::Linux, None) => Recovery::Rack,
        _ => Recovery::NewReno,
    });
    config.sack = sack.unwrap_or(uses_sack(config.recovery));
    t.put("recovery", RECOVERIES.write(&config.recovery));
    t.put("sack", json!(config.sack));
    if uses_sack(config.recovery) && !config.sack {
        let name = RECOVERIES.write(&config.recovery);
        t.mistake("recovery", format!("{name} needs selective acknowledgements, but {} is false", t.field("sack")));
    }
    let rack = config.recovery == Recovery::Rack;
    config.dsack = t.or("dsack", &Flag, config.dsack);
    config.tlp = t.or("tlp", &Flag, config.tlp && rack);
    if config.tlp && !rack {
        t.mistake("tlp", format!("tail-loss probes need {} = \"rack\"", t.field("recovery")));
    }
    config.prr = t.or("prr", &Flag, config.prr || rack);
    if !config.prr && rack {
        t.mistake("prr", format!("cannot be off: {} = \"rack\" always uses it", t.field("recovery")));
    }
    config.dupthresh = t.or("dupthresh", &Integer { min: 1, max: 1000 }, config.dupthresh.into()) as u32;
    let reordering = Integer { min: 1, max: 1000 };
    config.max_reordering = t.or("max_reordering", &reordering, config.max_reordering.into()) as u32;
    config.reo_wnd_adapts = t.or("reo_wnd_adapts", &Flag, config.reo_wnd_adapts);
    config.rack_dupthresh = t.or("rack_dupthresh", &Flag, config.rack_dupthresh);
    config.limited_transmit = t.or("limited_transmit", &Flag, config.limited_transmit);
    config.frto = t.or("frto", &Flag, config.frto);
    config.undo = t.or("undo", &Flag, config.undo);
}

/// Bytes of a full IP packet.
pub(super) fn packet_size(config: &Config) -> u64 {
    u64::from(config.mss) + headers(config)
}

/// What a data segment has beside its payload.
fn headers(config: &Config) -> u64 {
    let options = [(config.timestamps, TIMESTAMPS), (config.multipath, DSS_DATA.into())];
    HEADERS + options.iter().map(|(there, bytes)| if *there { *bytes } else { 0 }).sum::<u64>()
}

/// The size of a full packet, written as such or as the payload of a full segment.
fn read_packet_size(t: &mut Table, config: &mut Config) -> u64 {
    let overhead = headers(config);
    let sizes = Sizes { min: PACKET_SIZE.min.max(overhead + 8), ..PACKET_SIZE };
    let mss = t.peek("mss", &Sizes { min: sizes.min - overhead, max: sizes.max - overhead });
    let packet_size = t.peek("packet_size", &sizes);
    if t.raw("mss").is_some() && t.raw("packet_size").is_some() {
        t.mistake("mss", format!("{} is given too; write one of them", t.field("packet_size")));
    }
    let packet_size = mss.map(|m| m + overhead).or(packet_size).unwrap_or(DEFAULT_PACKET_SIZE);
    t.put("packet_size", PACKET_SIZE.write(&packet_size));
    config.mss = (packet_size - overhead) as u32;
    packet_size
}

fn read_window(
    t: &mut Table,
    law: Option<&(&'static cc::Entry, Vec<(String, Given)>)>,
    set: &[&str],
    config: &mut Config,
) {
    config.window_scaling = t.or("window_scaling", &Flag, config.window_scaling);
    config.ecn = read_ecn(t, law, set.contains(&"ecn").then_some(config.ecn));
    config.ecn_fallback = t.or("ecn_fallback", &Flag, config.ecn_fallback);
    config.accecn_option = t
        .or("accecn_option", &Or("changes", Integer { min: 0, max: 3 }), config.accecn_option.map(u64::from))
        .map(|n| n as u8);
    config.quick_start = t.or("quick_start", &Or("off", POSITIVE_RATE), None);
    config.fast_open = t.or("fast_open", &Flag, config.fast_open);
    config.no_metrics_save = t.or("no_metrics_save", &Flag, config.no_metrics_save);
    config.no_ssthresh_metrics_save = t.or("no_ssthresh_metrics_save", &Flag, config.no_ssthresh_metrics_save);
    if config.multipath && !config.no_metrics_save {
        t.mistake("no_metrics_save", "is for a flow on one path; write true, or leave it out");
    }
    config.initial_window = t.or("initial_window", &SEGMENTS, config.initial_window.into()) as u32;
    config.receive_buffer = t.or("receive_buffer", &RECEIVE_BUFFER, config.receive_buffer);
    config.initial_receive_buffer =
        t.or("initial_receive_buffer", &Or("whole", RECEIVE_BUFFER), config.initial_receive_buffer);
    config.moderate_receive_buffer = t.or("moderate_receive_buffer", &Flag, config.moderate_receive_buffer);
    config.adv_win_scale =
        t.or("adv_win_scale", &Or("off", SCALE), config.adv_win_scale.map(i64::from)).map(|n| n as i8);
    config.send_buffer = t.or("send_buffer", &Or("unlimited", RECEIVE_BUFFER), config.send_buffer);
    config.initial_send_buffer = t.or("initial_send_buffer", &Or("whole", RECEIVE_BUFFER), config.initial_send_buffer);
    if config.multipath && config.initial_send_buffer.is_some() {
        t.mistake("initial_send_buffer", "is for a flow on one path; write send_buffer alone, or leave it out");
    }
    let tso = t.or("tso", &Or("off", Integer { min: 1, max: 64 }), config.tso.map(|tso| tso.min_segments.into()));
    config.tso = tso.map(|n| Tso::of(n as u32));
    let paced = t.or("pacing", &Flag, config.pacing == Pacing::On);
    config.pacing = if paced { Pacing::On } else { Pacing::Off };
    config.nagle = t.or("nagle", &Flag, config.nagle);
    config.cwnd_validation = t.or("cwnd_validation", &Flag, config.cwnd_validation);
    config.slow_start_after_idle = t.or("slow_start_after_idle", &Flag, config.slow_start_after_idle);
}

/// ECN is off unless asked for, or the law lives on it.
fn read_ecn(t: &mut Table, law: Option<&(&'static cc::Entry, Vec<(String, Given)>)>, set: Option<Ecn>) -> Ecn {
    let law = law.and_then(|(cc, params)| cc.make(&Context::new(1000), params).ok());
    let needed = law.is_some_and(|law| law.ecn() != cc::EcnUse::Classic);
    t.or("ecn", &EcnWord, set.unwrap_or(if needed { Ecn::On } else { Ecn::Off }))
}

/// `true`, `false`, or a word.
struct EcnWord;
const ECN: Words<Ecn> = Words(&[
    ("accecn", Ecn::Accurate),
    ("accept", Ecn::Accept),
    ("on-or-accecn", Ecn::OnOrAccurate),
    ("accept-accecn", Ecn::AcceptAccurate),
]);
impl Kind for EcnWord {
    type Value = Ecn;
    fn read(&self, json: &Json) -> Result<Ecn, String> {
        match json {
            Json::Bool(on) => Ok(if *on { Ecn::On } else { Ecn::Off }),
            Json::String(_) => ECN.read(json),
            _ => Flag.read(json).map(|_| Ecn::Off),
        }
    }
    fn write(&self, value: &Ecn) -> Json {
        match value {
            Ecn::On => json!(true),
            Ecn::Off => json!(false),
            word => ECN.write(word),
        }
    }
}

fn read_delayed_ack(t: &mut Table, config: &mut Config) {
    let short = t.peek("ack_every", &SEGMENTS);
    let mut d = t.table_or_empty("delayed_ack");
    if t.raw("ack_every").is_some() && d.raw("every").is_some() {
        t.mistake("ack_every", format!("{} is given too; write one of them", d.field("every")));
    }
    let ack = &mut config.delayed_ack;
    ack.every = d.or("every", &SEGMENTS, short.unwrap_or(ack.every.into())) as u32;
    ack.timeout = d.or("timeout", &POSITIVE_TIME, ack.timeout);
    ack.adaptive = d.or("adaptive", &Flag, ack.adaptive);
    ack.quickack = d.or("quickack", &QUICKACKS, ack.quickack.into()) as u32;
    t.put("delayed_ack", d.finish());
    config.comp_sack_delay = t.or("comp_sack_delay", &Or("off", TIME), config.comp_sack_delay);
    config.comp_sack_slack = t.or("comp_sack_slack", &TIME, config.comp_sack_slack);
    config.comp_sack_nr = t.or("comp_sack_nr", &Integer { min: 0, max: 255 }, config.comp_sack_nr.into()) as u32;
}

fn read_rto(t: &mut Table, config: &mut Config) {
    let short = t.peek("rto_min", &POSITIVE_TIME);
    let mut r = t.table_or_empty("rto");
    if t.raw("rto_min").is_some() && r.raw("min").is_some() {
        t.mistake("rto_min", format!("{} is given too; write one of them", r.field("min")));
    }
    let rto = &mut config.rto;
    rto.style = r.or("style", &RTO_STYLES, rto.style);
    rto.min = r.or("min", &POSITIVE_TIME, short.unwrap_or(rto.min));
    rto.max = r.or("max", &POSITIVE_TIME, rto.max);
    rto.initial = r.or("initial", &POSITIVE_TIME, rto.initial);
    rto.granularity = r.or("granularity", &TIME, rto.granularity);
    if r.sound(&["min", "max", "initial"]) {
        let (max, show) = (rto.max, |d| TIME.write(&d));
        for (name, value) in [("min", rto.min), ("initial", rto.initial)] {
            if value > max {
                r.mistake(name, format!("{} is above {}, {}", show(value), r.field("max"), show(max)));
            }
        }
    }
    t.put("rto", r.finish());
}
