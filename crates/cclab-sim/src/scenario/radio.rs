//! What the stations of a medium have in common: MAC, radio, routing.

use super::quantity::{
    FREQUENCY, Integer, Number, Or, POSITIVE_DISTANCE, POSITIVE_RATE, POSITIVE_TIME, POWER, Sizes, Words, one_of,
};
use super::queue::{QueueSpec, note};
use super::reader::{Kind, Table};
use super::registry::plain;
use crate::net::field::Value;
use crate::net::medium::config::{Backoff, Mac, Phy, Propagation, Protection, Radio, Routing};
use crate::net::medium::profile::PROFILES;
use crate::net::medium::routing;
use cclab_algo::Rate;
use serde_json::{Value as Json, json};

pub(super) const PROTECTIONS: Words<Protection> =
    Words(&[("rts-cts", Protection::RtsCts), ("cts-to-self", Protection::CtsToSelf)]);
pub(super) const BACKOFFS: Words<Backoff> = Words(&[("standard", Backoff::Standard), ("ns2", Backoff::Ns2)]);
const WINDOW: Integer = Integer { min: 0, max: 65_535 };
const RETRIES: Integer = Integer { min: 1, max: 255 };
/// Packets in an interface queue, as in ns-2.
const QUEUE: u64 = 50;
/// Speed of signals, m/s, as ns-2 has it.
const LIGHT: f64 = 3e8;
/// At the very end of its reach a signal is there, whatever is rounded.
const THERE: f64 = 1.0 + 1e-9;
/// How far signals may reach, m: three seconds.
const REACH: f64 = 1e9;

/// Reads the MAC, the interface queue and the radio: a profile, and whatever differs from it.
pub(super) fn read(t: &mut Table) -> (Mac, QueueSpec, Radio) {
    let mac = read_mac(t, PROFILES[0].name);
    let queue = read_queue(t, &mac);
    let radio = read_radio(t);
    (mac, queue, radio)
}

/// Reads the MAC: a profile, unless written `default`, and whatever differs from it.
pub(super) fn read_mac(t: &mut Table, default: &str) -> Mac {
    let mut mac = t.or("profile", &Profile, Mac::of(default).unwrap_or_else(|| (PROFILES[0].mac)()));
    mac.slot = t.or("slot", &POSITIVE_TIME, mac.slot);
    mac.sifs = t.or("sifs", &POSITIVE_TIME, mac.sifs);
    mac.aifsn = t.or("aifsn", &Integer { min: 1, max: 15 }, mac.aifsn.into()) as u32;
    mac.cw_min = t.or("cw_min", &WINDOW, mac.cw_min.into()) as u32;
    mac.cw_max = t.or("cw_max", &WINDOW, mac.cw_max.into()) as u32;
    if mac.cw_min > mac.cw_max && t.sound(&["cw_min", "cw_max"]) {
        t.mistake("cw_min", format!("{} is above cw_max, {}", mac.cw_min, mac.cw_max));
    }
    if let Phy::Dsss(preamble) = &mut mac.phy {
        *preamble = t.or("preamble", &POSITIVE_TIME, *preamble);
    }
    mac.data_rate = t.or("data_rate", &POSITIVE_RATE, mac.data_rate);
    mac.basic_rate = t.or("basic_rate", &POSITIVE_RATE, mac.basic_rate);
    check_rate(t, "data_rate", mac.data_rate, &mac);
    check_rate(t, "basic_rate", mac.basic_rate, &mac);
    mac.header = t.or("header", &Integer { min: 14, max: 1000 }, mac.header.into()) as u32;
    mac.rts_threshold = t.or("rts_threshold", &RtsThreshold, mac.rts_threshold);
    mac.protection = t.or("protection", &PROTECTIONS, mac.protection);
    mac.short_retries = t.or("short_retries", &RETRIES, mac.short_retries.into()) as u32;
    mac.long_retries = t.or("long_retries", &RETRIES, mac.long_retries.into()) as u32;
    mac.backoff = t.or("backoff", &BACKOFFS, mac.backoff);
    mac
}

/// Reads the interface queue of stations of this MAC.
pub(super) fn read_queue(t: &mut Table, mac: &Mac) -> QueueSpec {
    QueueSpec::of_packets(QUEUE).overridden(t, Some(mac.data_rate))
}

/// Notes that a rate is none of the PHY's.
pub(super) fn check_rate(t: &Table, name: &'static str, rate: Rate, mac: &Mac) {
    let rates = mac.phy.rates();
    if !rates.contains(&rate) && t.sound(&[name]) {
        let rates: Vec<String> = rates.iter().map(|r| (r.0 as f64 / 1e6).to_string()).collect();
        let rate = POSITIVE_RATE.write(&rate);
        t.mistake(name, format!("{rate} is no rate of \"{}\"; allowed: {} Mbit/s", mac.profile, rates.join(", ")));
    }
}

/// The fields of a MAC with their values in this one, for the registry.
pub(super) fn mac_fields(mac: &Mac) -> Vec<Json> {
    let integer = |n: u32| json!(n);
    let mut fields = vec![
        plain("slot", "time", POSITIVE_TIME.write(&mac.slot), "slot of the back-off"),
        plain("sifs", "time", POSITIVE_TIME.write(&mac.sifs), "short interframe space"),
        plain("aifsn", "integer from 1 to 15", integer(mac.aifsn), "slots of DIFS beyond SIFS"),
        plain("cw_min", "integer from 0 to 65535", integer(mac.cw_min), "smallest contention window, slots less one"),
        plain("cw_max", "integer from 0 to 65535", integer(mac.cw_max), "largest"),
        plain("data_rate", "rate", POSITIVE_RATE.write(&mac.data_rate), "rate of data frames"),
        plain(
            "basic_rate",
            "rate",
            POSITIVE_RATE.write(&mac.basic_rate),
            "rate of RTS, CTS, ACK and of what is for all",
        ),
        plain("header", "integer from 14 to 1000", integer(mac.header), "bytes of a data frame around its IP packet"),
        plain(
            "rts_threshold",
            "size, always, never",
            RtsThreshold.write(&mac.rts_threshold),
            "frames of at least so much are announced",
        ),
        plain(
            "protection",
            "rts-cts, cts-to-self",
            PROTECTIONS.write(&mac.protection),
            "how: by an RTS that is answered, or by a CTS to oneself",
        ),
        plain(
            "short_retries",
            "integer from 1 to 255",
            integer(mac.short_retries),
            "attempts of RTS, and of frames without",
        ),
        plain("long_retries", "integer from 1 to 255", integer(mac.long_retries), "attempts of frames behind an RTS"),
        plain(
            "backoff",
            "standard, ns2",
            BACKOFFS.write(&mac.backoff),
            "from 0 to CW and EIFS for DIFS, or from 0 to CW − 1 and both",
        ),
        plain("queue", "table", json!(null), "its discipline, with the fields of a link's; drop-tail of 50 packets"),
    ];
    if let Phy::Dsss(preamble) = mac.phy {
        fields.push(plain("preamble", "time", POSITIVE_TIME.write(&preamble), "preamble and PLCP header"));
    }
    fields
}

/// Reads the radio: ns-2's, and whatever differs from it.
pub(super) fn read_radio(t: &mut Table) -> Radio {
    let propagation = read_propagation(t);
    let mut radio = Radio { propagation, ..Radio::WAVELAN };
    let frequency = t.or("frequency", &FREQUENCY, LIGHT / radio.wavelength);
    radio.wavelength = LIGHT / frequency;
    radio.height = t.or("antenna_height", &POSITIVE_DISTANCE, radio.height);
    radio.noise = t.or("noise", &Or("off", POWER), None);
    // What is above the noise may be understood.
    (radio.receive, radio.sense) = radio.noise.map_or((radio.receive, radio.sense), |noise| (noise * THERE, noise));
    radio.receive = t.or("receive_threshold", &POWER, radio.receive);
    for (range, field) in [("range", "power"), ("sense_range", "sense_threshold")] {
        if t.raw(range).is_some() && t.raw(field).is_some() {
            t.mistake(range, format!("{} is given too; write one of them", t.field(field)));
        }
    }
    let range = t.peek("range", &POSITIVE_DISTANCE);
    radio.power = range.map_or(radio.power, |range| THERE * radio.power * radio.receive / radio.power_at(range));
    radio.power = t.or("power", &POWER, radio.power);
    let sense_range = t.peek("sense_range", &POSITIVE_DISTANCE);
    radio.sense = sense_range.map_or(radio.sense, |range| radio.power_at(range) / THERE);
    radio.sense = t.or("sense_threshold", &POWER, radio.sense);
    let field = if sense_range.is_some() { "sense_range" } else { "sense_threshold" };
    if radio.sense > radio.receive && t.sound(&["receive_threshold", "sense_threshold", "sense_range"]) {
        t.mistake(field, "what is decoded is sensed too: signals are to be sensed at least as far as they are decoded");
    }
    let reach = radio.reach(radio.sense);
    if reach > REACH {
        let why = format!(
            "{} is sensed up to {:.0e} km away, under shadowing by one frame in a billion; allowed: {:.0e} km; \
             write more, less power, or a smaller deviation",
            POWER.write(&radio.sense),
            reach / 1e3,
            REACH / 1e3
        );
        t.mistake(field, why);
    }
    radio.capture =
        t.or("capture", &Or("off", Number { min: 1.0, max: 1e9 }), Some(radio.capture)).unwrap_or(f64::INFINITY);
    radio
}

#[derive(Clone, Copy, PartialEq)]
enum Law {
    Friis,
    TwoRayGround,
    Shadowing,
}
const LAWS: Words<Law> =
    Words(&[("two-ray-ground", Law::TwoRayGround), ("friis", Law::Friis), ("shadowing", Law::Shadowing)]);

/// The law of attenuation, by its name or as a table with its `law`.
fn read_propagation(t: &mut Table) -> Propagation {
    let table = t.raw("propagation").is_some_and(Json::is_object);
    let mut p = if table { t.table_or_empty("propagation") } else { t.empty("propagation") };
    let law = if table { p.required("law", &LAWS, "\"shadowing\"") } else { t.peek("propagation", &LAWS) };
    let law = law.unwrap_or(Law::TwoRayGround);
    let mut found = propagation(law);
    if let Propagation::Shadowing { exponent, deviation, reference } = &mut found {
        *exponent = p.or("exponent", &Number { min: 1.0, max: 10.0 }, *exponent);
        *deviation = p.or("deviation", &Number { min: 0.0, max: 40.0 }, *deviation);
        *reference = p.or("reference", &POSITIVE_DISTANCE, *reference);
    }
    let normal = p.finish_named("law", LAWS.write(&law));
    t.put("propagation", normal);
    found
}

/// A law with its defaults; those of shadowing are ns-2's.
fn propagation(law: Law) -> Propagation {
    match law {
        Law::Friis => Propagation::Friis,
        Law::TwoRayGround => Propagation::TwoRayGround,
        Law::Shadowing => Propagation::Shadowing { exponent: 2.0, deviation: 4.0, reference: 1.0 },
    }
}

/// Reads `routing`: the name of a protocol, or a table with its `name` and its fields.
pub(super) fn read_routing(t: &mut Table, default: &'static routing::Entry) -> Option<Routing> {
    let table = t.raw("routing").is_some_and(Json::is_object);
    let mut r = if table { t.table_or_empty("routing") } else { t.empty("routing") };
    let entry = match table {
        true => r.required("name", &Protocol, "\"static\""),
        false => t.peek("routing", &Protocol).or_else(|| t.sound(&["routing"]).then_some(default)),
    };
    let Some(entry) = entry else {
        r.forgive();
        r.finish();
        return None;
    };
    let given: Vec<Option<Value>> = entry.fields.iter().map(|field| r.peek(field.name, field)).collect();
    let found = Routing::with(entry, &given);
    if t.sound(&["routing"]) {
        note((entry.check)(&found.params), &found.params, &r);
    }
    found.params.iter().for_each(|(field, value)| r.put(field.name, field.write(&value)));
    t.put("routing", r.finish_named("name", Protocol.write(&entry)));
    Some(found)
}

/// The name of a profile.
struct Profile;
impl Kind for Profile {
    type Value = Mac;
    fn read(&self, json: &Json) -> Result<Mac, String> {
        let names: Vec<&str> = PROFILES.iter().map(|profile| profile.name).collect();
        one_of(json, &names).map(|index| (PROFILES[index].mac)())
    }
    fn write(&self, mac: &Mac) -> Json {
        json!(mac.profile)
    }
}

/// The name of a routing protocol.
struct Protocol;
impl Kind for Protocol {
    type Value = &'static routing::Entry;
    fn read(&self, json: &Json) -> Result<&'static routing::Entry, String> {
        let names: Vec<&str> = routing::REGISTRY.iter().map(|entry| entry.name).collect();
        one_of(json, &names).map(|index| &routing::REGISTRY[index])
    }
    fn write(&self, entry: &&'static routing::Entry) -> Json {
        json!(entry.name)
    }
}

/// From which size on a frame is announced: always, never, or a size.
struct RtsThreshold;
const RTS_SIZE: Sizes = Sizes { min: 1, max: 65_535 };
impl Kind for RtsThreshold {
    type Value = u32;
    fn read(&self, json: &Json) -> Result<u32, String> {
        match json.as_str() {
            Some("always") => Ok(0),
            Some("never") => Ok(u32::MAX),
            _ => {
                RTS_SIZE.read(json).map(|size| size as u32).map_err(|why| format!("{why}, or \"always\" or \"never\""))
            }
        }
    }
    fn write(&self, value: &u32) -> Json {
        match value {
            0 => json!("always"),
            &u32::MAX => json!("never"),
            size => RTS_SIZE.write(&u64::from(*size)),
        }
    }
}
