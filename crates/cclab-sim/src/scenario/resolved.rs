//! The checked scenario as JSON in SI units: what a backend that is not this simulator starts from.
//!
//! Names carry their units: `_s` seconds, `_bps` bit/s, `_bytes`; nodes and links go by their index. `null` is "without end",
//! "infinitely fast", "without limit" or "not there". Every field of the types is taken apart by name, so that a new one
//! cannot be forgotten here. The fields are described in `docs/reference/resolved.md`.

use super::quantity::Words;
use super::reader::Kind;
use super::{
    AppliesTo, Arrivals, Background, Capture, Change, Crossing, Flow, Jitter, Limit, Link, Loss, LossModel, Medium,
    Queue, Record, Reorder, Sampling, Scenario, Session, Traffic, Tunnel, link, radio, tcp as words, trace,
};
use crate::app::config::Application;
use crate::app::workload::{Page, Sizes, Variate};
use crate::net::medium::config::{Area, GaussMarkov, Mac, Motion, Phy, Place, Propagation, Radio, Station, Waypoint};
use crate::net::medium::mobility;
use crate::net::queue::field::{Amount, Domain, Field, Value};
use crate::net::{Course, Opportunities, Trace};
use crate::tcp::{Config, DelayedAck, Ecn, Pacing, RtoConfig};
use cclab_algo::params::{Given, Params};
use cclab_algo::{Duration, Rate, Time, cc};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

const SCHEMA: &str = "cclab.resolved/1";
const PACKETS: Words<AppliesTo> = Words(&[("data", AppliesTo::Data), ("ack", AppliesTo::Ack), ("all", AppliesTo::All)]);

impl Scenario {
    /// This scenario with the places and ways that its stations draw in a run with this seed.
    ///
    /// # Errors
    /// They find no places that they are to have.
    pub fn drawn(mut self, seed: u64) -> Result<Scenario, mobility::Unconnected> {
        for medium in &mut self.media {
            let tracks = mobility::tracks(medium, &self.nodes, seed, Time::ZERO + self.duration)?;
            medium.stations.iter_mut().zip(tracks).for_each(|(station, track)| station.motion = Motion::Along(track));
        }
        Ok(self)
    }

    /// This scenario as JSON in SI units.
    pub fn resolved(&self) -> Json {
        let Scenario {
            name,
            duration,
            warmup,
            seed,
            nodes,
            links,
            media,
            crossings,
            flows,
            sessions,
            background,
            record,
            max_events,
            source: _,
        } = self;
        json!({
            "schema": SCHEMA,
            "name": name,
            "duration_s": s(*duration),
            "warmup_s": s(*warmup),
            "seed": seed,
            "max_events": max_events,
            "nodes": nodes,
            "links": links.iter().map(link_json).collect::<Vec<_>>(),
            "traces": traces_json(links),
            "media": media.iter().map(medium_json).collect::<Vec<_>>(),
            "crossings": crossings.iter().map(|Crossing { medium, from, to }| {
                json!({ "medium": medium, "from": from.0, "to": to.0 })
            }).collect::<Vec<_>>(),
            "flows": flows.iter().map(|f| self.flow_json(f)).collect::<Vec<_>>(),
            "sessions": sessions.iter().map(session_json).collect::<Vec<_>>(),
            "background": background.iter().map(background_json).collect::<Vec<_>>(),
            "record": record_json(record),
        })
    }

    /// Propagation there and back; `None` where it leads through a medium.
    fn base_rtt(&self, flow: &Flow) -> Option<Duration> {
        let delay = |&link: &usize| Some(self.links.get(link)?.delay.0);
        flow.route.iter().chain(&flow.route_back).map(delay).sum::<Option<u64>>().map(Duration)
    }

    fn flow_json(&self, flow: &Flow) -> Json {
        let Flow {
            label,
            from,
            to,
            route,
            route_back,
            start,
            start_jitter,
            stop,
            send_jitter,
            traffic,
            tunnel,
            peers: _,
        } = flow;
        json!({
            "label": label,
            "from": from,
            "to": to,
            "route": route,
            "route_back": route_back,
            "base_rtt_s": self.base_rtt(flow).map(s),
            "start_s": at(*start),
            "start_jitter_s": s(*start_jitter),
            "stop_s": stop.map(at),
            "send_jitter_s": s(*send_jitter),
            "traffic": traffic_json(traffic),
            "tunnel": tunnel,
        })
    }
}

fn s(d: Duration) -> f64 {
    d.as_secs_f64()
}

fn at(t: Time) -> f64 {
    t.as_secs_f64()
}

fn bps(rate: Rate) -> u64 {
    rate.0
}

fn link_json(of: &Link) -> Json {
    let Link {
        name,
        from,
        to,
        rate,
        delay,
        queue,
        overhead,
        loss,
        loss_place,
        jitter,
        reorder,
        duplicate,
        schedule,
        trace,
        tunnel,
    } = of;
    json!({
        "name": name,
        "from": from,
        "to": to,
        "rate_bps": rate.map(bps),
        "delay_s": s(*delay),
        "queue": queue_json(queue),
        "overhead_bytes": overhead,
        "loss": loss.iter().map(loss_json).collect::<Vec<_>>(),
        "loss_place": link::PLACES.write(loss_place),
        "jitter": jitter.map(|jitter| match jitter {
            Jitter::Uniform { max } => json!({ "distribution": "uniform", "max_s": s(max) }),
            Jitter::Exponential { mean } => json!({ "distribution": "exponential", "mean_s": s(mean) }),
        }),
        "reorder": reorder.map(|Reorder { probability, delay }| json!({ "probability": probability, "delay_s": s(delay) })),
        "duplicate": duplicate,
        "schedule": schedule.iter().map(|Change { at: when, rate, delay, up }| {
            json!({ "at_s": at(*when), "rate_bps": rate.map(bps), "delay_s": delay.map(s), "up": up })
        }).collect::<Vec<_>>(),
        "trace": trace.as_ref().map(|trace| &trace.name),
        "tunnel": tunnel.as_ref().map(|Tunnel { name, buffer }| {
            let (packets, bytes) = limit_json(*buffer);
            json!({ "name": name, "limit_packets": packets, "limit_bytes": bytes })
        }),
    })
}

/// What the links follow, each once.
fn traces_json(links: &[Link]) -> Json {
    let traces: BTreeMap<&str, &Trace> =
        links.iter().filter_map(|link| link.trace.as_deref()).map(|trace| (trace.name.as_str(), trace)).collect();
    let told = |trace: &Trace| match &trace.course {
        Course::Opportunities(_) => json!({
            "kind": "opportunities",
            "bytes": Opportunities::BYTES,
            "gaps_ms": trace::text(&trace.course).trim_start_matches("gaps "),
        }),
        Course::Changes { rates, delays } => json!({
            "kind": "changes",
            "rates": rates.iter().flat_map(|rates| rates.iter()).map(|step| {
                json!([at(Time(step.from)), step.rate])
            }).collect::<Vec<_>>(),
            "delays": delays.iter().flat_map(|delays| delays.iter()).map(|&(from, delay)| {
                json!([at(from), s(delay)])
            }).collect::<Vec<_>>(),
        }),
    };
    traces.into_iter().map(|(name, trace)| (name.to_string(), told(trace))).collect::<serde_json::Map<_, _>>().into()
}

/// In packets, and in bytes.
fn limit_json(limit: Limit) -> (Option<u64>, Option<u64>) {
    match limit {
        Limit::Packets(u64::MAX) => (None, None),
        Limit::Packets(n) => (Some(n), None),
        Limit::Bytes(n) => (None, Some(n)),
    }
}

fn queue_json(queue: &Queue) -> Json {
    let (packets, bytes) = limit_json(queue.limit());
    let params: serde_json::Map<String, Json> = queue
        .fields()
        .filter(|(field, _)| field.name != "limit")
        .map(|(field, value)| field_json(field, value))
        .collect();
    json!({ "discipline": queue.discipline(), "limit_packets": packets, "limit_bytes": bytes, "params": params })
}

fn medium_json(of: &Medium) -> Json {
    let Medium { name, stations, seed, connected, radio, mac, queue, routing, arp, ttl, infrastructure } = of;
    let Radio { propagation, power, wavelength, height, receive, sense, capture, noise } = radio;
    let Mac {
        profile,
        phy,
        slot,
        sifs,
        aifsn,
        cw_min,
        cw_max,
        data_rate,
        basic_rate,
        header,
        rts_threshold,
        protection,
        short_retries,
        long_retries,
        backoff,
    } = mac;
    let params: serde_json::Map<String, Json> = routing.params.iter().map(|(f, value)| field_json(f, value)).collect();
    json!({
        "name": name,
        "stations": stations.iter().map(|Station { node, motion, rate, loss, queue }| {
            json!({
                "node": node,
                "motion": motion_json(motion),
                "rate_bps": rate.map(bps),
                "loss": loss,
                "queue": queue.as_ref().map(queue_json),
            })
        }).collect::<Vec<_>>(),
        "seed": seed,
        "connected": connected,
        "radio": {
            "propagation": match propagation {
                Propagation::Friis => json!({ "law": "friis" }),
                Propagation::TwoRayGround => json!({ "law": "two-ray-ground" }),
                Propagation::Shadowing { exponent, deviation, reference } => {
                    json!({ "law": "shadowing", "exponent": exponent, "deviation_db": deviation, "reference_m": reference })
                }
            },
            "power_w": power,
            "wavelength_m": wavelength,
            "antenna_height_m": height,
            "range_m": radio.range(*receive),
            "sense_range_m": radio.range(*sense),
            "receive_threshold_w": receive,
            "sense_threshold_w": sense,
            "capture": capture,
            "noise_w": noise,
        },
        "mac": {
            "profile": profile,
            "phy": match phy {
                Phy::Dsss(preamble) => json!({ "kind": "dsss", "preamble_s": s(*preamble) }),
                Phy::Ofdm => json!({ "kind": "ofdm" }),
                Phy::Erp(preamble) => json!({ "kind": "erp", "preamble_s": s(*preamble) }),
                Phy::Ht { extension } => json!({ "kind": "ht", "extension_s": s(*extension) }),
            },
            "slot_s": s(*slot),
            "sifs_s": s(*sifs),
            "aifsn": aifsn,
            "cw_min": cw_min,
            "cw_max": cw_max,
            "data_rate_bps": bps(*data_rate),
            "basic_rate_bps": bps(*basic_rate),
            "header_bytes": header,
            "rts_threshold_bytes": (*rts_threshold < u32::MAX).then_some(rts_threshold),
            "protection": radio::PROTECTIONS.write(protection),
            "short_retries": short_retries,
            "long_retries": long_retries,
            "backoff": radio::BACKOFFS.write(backoff),
        },
        "queue": queue_json(queue),
        "routing": { "name": routing.entry.name, "params": params },
        "arp": arp,
        "ttl": ttl,
        "infrastructure": infrastructure,
    })
}

fn motion_json(of: &Motion) -> Json {
    let place = |place: &Place| json!([place.x, place.y]);
    let area = |area: &Area| json!([area.x, area.y]);
    match of {
        Motion::Standing(at) => json!({ "model": "static", "place_m": place(at) }),
        Motion::Along(track) => json!({ "model": "legs", "legs": track.legs.iter().map(|leg| {
            json!({ "start_s": at(leg.start), "end_s": at(leg.end), "from_m": place(&leg.from), "to_m": place(&leg.to) })
        }).collect::<Vec<_>>() }),
        Motion::Uniform(within) => json!({ "model": "uniform", "area_m": area(within) }),
        Motion::Waypoint(Waypoint { area: within, speed, pause, steady }) => json!({
            "model": "waypoint",
            "area_m": area(within),
            "speed_mps": speed,
            "pause_s": s(*pause),
            "steady": steady,
        }),
        Motion::GaussMarkov(of) => {
            let GaussMarkov { area: within, memory, speed, speed_deviation, direction_deviation, step, margin } = of;
            json!({
                "model": "gauss-markov",
                "area_m": area(within),
                "memory": memory,
                "speed_mps": speed,
                "speed_deviation_mps": speed_deviation,
                "direction_deviation_rad": direction_deviation,
                "step_s": s(*step),
                "margin_m": margin,
            })
        }
    }
}

/// A field of a discipline, its name with the unit; a word in the place of a value ("auto", "off") is `null`.
fn field_json(field: &Field, value: Value) -> (String, Json) {
    let unit = match (field.domain, value) {
        (Domain::Time { .. }, _) => "_s",
        (Domain::Size { .. }, _) | (Domain::Amount, Value::Amount(Amount::Bytes(_))) => "_bytes",
        (Domain::Amount, _) => "_packets",
        _ => "",
    };
    let value = match value {
        Value::Time(time) => json!(s(time)),
        Value::Amount(Amount::Packets(n) | Amount::Bytes(n)) | Value::Size(n) | Value::Integer(n) => json!(n),
        Value::Amount(Amount::Time(_) | Amount::Bdp(_)) => Json::Null, // (they are resolved)
        Value::Probability(x) | Value::Number(x) => json!(x),
        Value::Flag(flag) => json!(flag),
        Value::Word(word) if field.word != Some(word) => json!(word),
        Value::Word(_) => Json::Null,
    };
    (format!("{}{unit}", field.name), value)
}

fn loss_json(Loss { applies_to, model }: &Loss) -> Json {
    let mut found = match model {
        LossModel::Bernoulli { p } => json!({ "model": "bernoulli", "p": p }),
        LossModel::GilbertElliott { p, r, good, bad } => {
            json!({ "model": "gilbert-elliott", "p": p, "r": r, "good": good, "bad": bad })
        }
        LossModel::Periodic { every } => json!({ "model": "periodic", "every": every }),
        LossModel::Named { flow, packets } => json!({ "model": "named", "flow": flow, "packets": packets }),
    };
    found["applies_to"] = PACKETS.write(applies_to);
    found
}

fn traffic_json(traffic: &Traffic) -> Json {
    match traffic {
        Traffic::Tcp { size, application, config, cc, cc_params } => json!({
            "kind": "tcp",
            "size_bytes": size,
            "application": application.as_ref().map(application_json),
            "packet_bytes": words::packet_size(config),
            "cc": cc_json(cc, cc_params, config),
            "tcp": tcp_json(config),
        }),
        Traffic::Cbr { rate, packet_size } => {
            json!({ "kind": "cbr", "rate_bps": bps(*rate), "packet_bytes": packet_size })
        }
        Traffic::OnOff { rate, packet_size, on, off } => json!({
            "kind": "onoff",
            "rate_bps": bps(*rate),
            "packet_bytes": packet_size,
            "on_s": variate_json(on),
            "off_s": variate_json(off),
        }),
    }
}

fn application_json(of: &Application) -> Json {
    let mut json = match of {
        Application::Bursts { on, off } => json!({ "on_s": variate_json(on), "off_s": variate_json(off) }),
        Application::Writes { rate, size, bursts } => json!({
            "rate_bps": bps(*rate),
            "write_bytes": size,
            "on_s": bursts.as_ref().map(|[on, _]| variate_json(on)),
            "off_s": bursts.as_ref().map(|[_, off]| variate_json(off)),
        }),
        Application::Chunks { size, every, count, buffer } => {
            json!({ "size_bytes": size, "every_s": s(*every), "count": count, "buffer_s": s(*buffer) })
        }
        Application::Requests { request, response: Sizes { variate, cap, stratified }, think, count } => json!({
            "request_bytes": request,
            "response_bytes": variate_json(variate),
            "size_cap_bytes": cap,
            "stratified": stratified,
            "think_s": variate_json(think),
            "count": count,
        }),
    };
    json["kind"] = of.kind().into();
    json
}

fn session_json(of: &Session) -> Json {
    let Session {
        label,
        flows,
        size,
        receive_buffer,
        coupled,
        scheduler,
        scheduler_params,
        reinject,
        opportunistic,
        penalise,
        fail_after,
        capacities,
        notice,
    } = of;
    let params: serde_json::Map<String, Json> =
        scheduler_params.iter().map(|(name, given)| (name.clone(), words::given_json(given))).collect();
    json!({
        "label": label,
        "flows": flows.clone().collect::<Vec<_>>(),
        "size_bytes": size,
        "receive_buffer_bytes": receive_buffer,
        "coupled": coupled,
        "scheduler": { "name": scheduler.name, "params": params },
        "reinject": reinject,
        "opportunistic": opportunistic,
        "penalise": penalise,
        "fail_after_timeouts": fail_after,
        "capacities_bps": capacities.iter().map(|bps| bps.is_finite().then_some(bps)).collect::<Vec<_>>(),
        "notice": notice,
    })
}

/// A congestion control with every parameter; one that is infinite is `null`.
fn cc_json(cc: &cc::Entry, given: &[(String, Given)], config: &Config) -> Json {
    let params = Params::resolve(cc.params, given, config.flavour).map(|p| p.given()).unwrap_or_default();
    let params: serde_json::Map<String, Json> = params.iter().map(|(n, g)| (n.clone(), words::given_json(g))).collect();
    json!({ "name": cc.name, "params": params })
}

fn tcp_json(config: &Config) -> Json {
    let Config {
        mss,
        recovery,
        sack,
        dsack,
        timestamps,
        window_scaling,
        multipath,
        ecn,
        ecn_fallback,
        accecn_option,
        quick_start,
        fast_open,
        no_metrics_save,
        no_ssthresh_metrics_save,
        metrics: _,
        // No scenario changes them.
        syn_retries: _,
        synack_retries: _,
        initial_window,
        initial_ssthresh,
        receive_buffer,
        initial_receive_buffer,
        moderate_receive_buffer,
        adv_win_scale,
        send_buffer,
        initial_send_buffer,
        tso,
        growth_per_ack,
        delayed_ack: DelayedAck { every, timeout, adaptive, quickack },
        comp_sack_delay,
        comp_sack_slack,
        comp_sack_nr,
        rto: RtoConfig { style, min, max, initial, granularity },
        dupthresh,
        max_reordering,
        reo_wnd_adapts,
        rack_dupthresh,
        limited_transmit,
        frto,
        tlp,
        prr,
        undo,
        pacing,
        nagle,
        cwnd_validation,
        slow_start_after_idle,
        flavour,
        // Of scripts alone.
        thin_linear_timeouts: _,
        challenge_gap: _,
    } = config;
    json!({
        "mss_bytes": mss,
        "recovery": words::RECOVERIES.write(recovery),
        "sack": sack,
        "dsack": dsack,
        "timestamps": timestamps,
        "window_scaling": window_scaling,
        "multipath": multipath,
        "ecn": match ecn {
            Ecn::Off => "off",
            Ecn::On => "on",
            Ecn::Accurate => "accecn",
            Ecn::Accept => "accept",
            Ecn::OnOrAccurate => "on-or-accecn",
            Ecn::AcceptAccurate => "accept-accecn",
        },
        "ecn_fallback": ecn_fallback,
        "accecn_option": accecn_option,
        "quick_start_bps": quick_start.map(bps),
        "fast_open": fast_open,
        "no_metrics_save": no_metrics_save,
        "no_ssthresh_metrics_save": no_ssthresh_metrics_save,
        "initial_window_segments": initial_window,
        "initial_ssthresh_bytes": initial_ssthresh,
        "receive_buffer_bytes": receive_buffer,
        "initial_receive_buffer_bytes": initial_receive_buffer,
        "moderate_receive_buffer": moderate_receive_buffer,
        "adv_win_scale": adv_win_scale,
        "send_buffer_bytes": send_buffer,
        "initial_send_buffer_bytes": initial_send_buffer,
        "tso_segments": tso.map(|tso| tso.min_segments),
        "growth_per_ack": growth_per_ack,
        "delayed_ack": { "every": every, "timeout_s": s(*timeout), "adaptive": adaptive, "quickack": quickack },
        "comp_sack_delay_s": comp_sack_delay.map(s),
        "comp_sack_slack_s": s(*comp_sack_slack),
        "comp_sack_nr": comp_sack_nr,
        "rto": {
            "style": words::RTO_STYLES.write(style),
            "min_s": s(*min),
            "max_s": s(*max),
            "initial_s": s(*initial),
            "granularity_s": s(*granularity),
        },
        "dupthresh": dupthresh,
        "max_reordering": max_reordering,
        "reo_wnd_adapts": reo_wnd_adapts,
        "rack_dupthresh": rack_dupthresh,
        "limited_transmit": limited_transmit,
        "frto": frto,
        "tlp": tlp,
        "prr": prr,
        "undo": undo,
        "pacing": *pacing == Pacing::On,
        "nagle": nagle,
        "cwnd_validation": cwnd_validation,
        "slow_start_after_idle": slow_start_after_idle,
        "flavour": words::FLAVOURS.write(flavour),
    })
}

fn background_json(of: &Background) -> Json {
    let Background {
        label,
        reverse,
        route,
        route_back,
        base_rtt,
        rtt,
        rate,
        load,
        start,
        stop,
        send_jitter,
        arrivals,
        sizes: Sizes { variate, cap, stratified },
        config,
        cc,
        cc_params,
    } = of;
    json!({
        "label": label,
        "reverse": reverse,
        "route": route,
        "route_back": route_back,
        "base_rtt_s": s(*base_rtt),
        "rtt_s": variate_json(rtt),
        "rate_bps": rate.map(bps),
        "load": load,
        "start_s": at(*start),
        "stop_s": stop.map(at),
        "send_jitter_s": s(*send_jitter),
        "arrivals": match arrivals {
            Arrivals::Poisson { per_s } => json!({ "kind": "poisson", "per_s": per_s }),
            Arrivals::Users { users, page, .. } => json!({ "kind": "users", "users": users, "page": page_json(page) }),
            Arrivals::Pages { per_s, page } => json!({ "kind": "pages", "per_s": per_s, "page": page_json(page) }),
        },
        "size_bytes": variate_json(variate),
        "size_cap_bytes": cap,
        "stratified": stratified,
        "packet_bytes": words::packet_size(config),
        "cc": cc_json(cc, cc_params, config),
        "tcp": tcp_json(config),
    })
}

fn page_json(Page { objects, active_off, think, parallel, fetch_s }: &Page) -> Json {
    json!({
        "objects": variate_json(objects),
        "active_off_s": variate_json(active_off),
        "think_s": variate_json(think),
        "parallel": parallel,
        "fetch_s": fetch_s,
    })
}

/// A distribution; its numbers have the unit that the name of the field says.
fn variate_json(of: &Variate) -> Json {
    match of {
        Variate::Fixed(value) => json!({ "distribution": "fixed", "value": value }),
        Variate::Uniform { from, to } => json!({ "distribution": "uniform", "from": from, "to": to }),
        Variate::Exponential { mean } => json!({ "distribution": "exponential", "mean": mean }),
        Variate::Pareto { min, shape } => json!({ "distribution": "pareto", "min": min, "shape": shape }),
        Variate::Lognormal { mu, sigma, min, max } => {
            json!({ "distribution": "lognormal", "mu": mu, "sigma": sigma, "min": min, "max": max })
        }
        Variate::Weibull { scale, shape } => json!({ "distribution": "weibull", "scale": scale, "shape": shape }),
        Variate::Hybrid { share, body, tail } => json!({
            "distribution": "hybrid",
            "share": share,
            "body": variate_json(body),
            "tail": variate_json(tail),
        }),
        Variate::Values(values) => json!({ "distribution": "values", "values": values }),
    }
}

fn record_json(Record { samples, packets, frames, capture }: &Record) -> Json {
    let capture = capture.as_ref();
    json!({
        "samples": match samples { Sampling::Off => "off", Sampling::Every(_) => "interval", Sampling::OnChange => "change" },
        "sample_interval_s": if let Sampling::Every(interval) = samples { Some(s(*interval)) } else { None },
        "packets": packets,
        "frames": frames,
        "capture": capture.map(|Capture { point, snaplen }| {
            json!({ "point": super::record::POINTS.write(point), "snaplen_bytes": snaplen })
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(toml: &str) -> Json {
        Scenario::from_toml(toml).expect("a scenario").resolved()
    }

    /// Each figure by hand.
    #[test]
    fn quantities_are_si() {
        let found = resolved(
            r#"
            duration = "2 min"
            warmup = "1500 ms"
            network = { rate = "1.5 Mbit/s", rtt = "80 ms", queue = { limit = "0.5 BDP" }, loss = { data = "1%" },
                        jitter = { max = "250 us" }, schedule = [{ at = "10 s", rate = "1 kbit/s" }] }
            flows = [{ cc = { name = "cubic", beta = 0.8 }, rtt = "100 ms", count = 2, start = "3 s", size = "5 kB" },
                     { kind = "cbr", rate = "64 kbit/s", packet_size = "200 B", stop = "1 min" }]
            "#,
        );
        assert_eq!((&found["duration_s"], &found["warmup_s"]), (&json!(120.0), &json!(1.5)));
        let links = found["links"].as_array().expect("links");
        let link = links.iter().find(|l| l["name"] == "bottleneck").expect("a bottleneck");
        assert_eq!(link["rate_bps"], 1_500_000);
        assert_eq!(
            link["queue"],
            json!({ "discipline": "droptail", "limit_packets": 5, "limit_bytes": null, "params": {} })
        );
        assert_eq!(link["loss"], json!([{ "model": "bernoulli", "p": 0.01, "applies_to": "data" }]));
        assert_eq!(link["jitter"], json!({ "distribution": "uniform", "max_s": 0.00025 }));
        assert_eq!(link["schedule"], json!([{ "at_s": 10.0, "rate_bps": 1000, "delay_s": null, "up": null }]));
        let flows = found["flows"].as_array().expect("flows");
        let labels: Vec<&str> = flows.iter().filter_map(|f| f["label"].as_str()).collect();
        assert_eq!(labels, ["cubic-1", "cubic-2", "cbr-1"]);
        let [first, _, last] = &flows[..] else { panic!("{} flows", flows.len()) };
        assert_eq!((&first["base_rtt_s"], &last["base_rtt_s"]), (&json!(0.1), &json!(0.08)));
        assert_eq!(
            (&first["start_s"], &first["start_jitter_s"], &first["stop_s"]),
            (&json!(3.0), &json!(0.1), &Json::Null)
        );
        let tcp = &first["traffic"];
        assert_eq!(
            (&tcp["kind"], &tcp["size_bytes"], &tcp["packet_bytes"]),
            (&json!("tcp"), &json!(5000), &json!(1500))
        );
        assert_eq!(tcp["tcp"]["mss_bytes"], 1448); // RFC 7323 appendix A: 1500 less 40 less 12
        assert_eq!((&tcp["cc"]["params"]["beta"], &tcp["cc"]["params"]["c"]), (&json!(0.8), &json!(410.0 / 1024.0)));
        assert_eq!(tcp["tcp"]["rto"]["min_s"], 0.2);
        assert_eq!(last["traffic"], json!({ "kind": "cbr", "rate_bps": 64_000, "packet_bytes": 200 }));
        assert_eq!(last["stop_s"], 60.0);
    }

    /// Fields of a discipline have their units; what it finds by itself is null.
    #[test]
    fn fields_of_queues_are_si() {
        let found = resolved(
            r#"
            duration = "1 s"
            network = { rate = "12 Mbit/s", rtt = "10 ms", queue = { discipline = "red", min = "20 ms", max = "45 kB", adaptive = true },
                        reverse = { queue = { discipline = "codel", limit = "2 BDP", target = "7 ms", ecn = false } } }
            flows = [{ cc = "reno" }]
            "#,
        );
        let queue = |name: &str| {
            let links = found["links"].as_array().expect("links");
            links.iter().find(|link| link["name"] == name).expect("a link")["queue"].clone()
        };
        let red = queue("bottleneck");
        assert_eq!((&red["params"]["min_bytes"], &red["params"]["max_bytes"]), (&json!(30_000), &json!(45_000)));
        assert_eq!((&red["params"]["weight"], &red["params"]["max_p"]), (&Json::Null, &json!(0.02)));
        let codel = queue("bottleneck-reverse");
        assert_eq!(codel["limit_packets"], 20);
        assert_eq!((&codel["params"]["target_s"], &codel["params"]["interval_s"]), (&json!(0.007), &json!(0.1)));
        assert_eq!((&codel["params"]["ecn"], &codel["params"]["ce_threshold_s"]), (&json!(false), &Json::Null));
        assert_eq!(codel["params"].get("limit_packets"), None);
    }

    /// A route leads from node to node, and its delays are half of the base RTT each way in a dumbbell.
    #[test]
    fn routes_lead_from_end_to_end() {
        let found = resolved(
            "duration = \"1 s\"\nnetwork = { rate = \"1 Mbit/s\", rtt = \"30 ms\" }\nflows = [{ cc = \"reno\", rtt = \"50 ms\" }]",
        );
        let (links, flow) = (&found["links"], &found["flows"][0]);
        for (route, from, to) in [("route", "from", "to"), ("route_back", "to", "from")] {
            let mut node = flow[from].clone();
            let mut delay = 0.0;
            for index in flow[route].as_array().expect("links") {
                let link = &links[index.as_u64().expect("an index") as usize];
                assert_eq!(link["from"], node);
                node = link["to"].clone();
                delay += link["delay_s"].as_f64().expect("a delay");
            }
            assert_eq!(node, flow[to]);
            assert!((delay - 0.025).abs() < 1e-9, "{route}: {delay}");
        }
    }
}
