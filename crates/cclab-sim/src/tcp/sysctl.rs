//! Linux's settings by the kernel's names: each is another name of an option of an endpoint (`net.ipv4.tcp_…`).

use super::{Config, Ecn, Recovery, Tso};
use cclab_algo::Duration;

/// One setting.
#[derive(Debug)]
pub struct Sysctl {
    /// Its name, without `net.ipv4.`.
    pub name: &'static str,
    /// The option that it is, as a field of a flow.
    pub field: &'static str,
    /// Smallest and largest value.
    pub values: (i64, i64),
    set: Set,
}

/// How it is set: to a number, or to a minimum, a default and a maximum, ascending.
#[derive(Debug)]
enum Set {
    One(fn(&mut Config, i64)),
    Three(fn(&mut Config, [i64; 3])),
}

/// A buffer of a GiB, as much as the window of RFC 7323 can say.
const BUFFER: (i64, i64) = (1, 1 << 30);
const FLAG: (i64, i64) = (0, 1);
/// Up to a second.
const NANOSECONDS: (i64, i64) = (0, 1_000_000_000);

/// Every setting that there is.
pub const SYSCTLS: &[Sysctl] = &[
    one("tcp_adv_win_scale", "adv_win_scale", (-31, 31), |c, n| c.adv_win_scale = Some(n as i8)),
    one("tcp_comp_sack_delay_ns", "comp_sack_delay", NANOSECONDS, |c, n| c.comp_sack_delay = Some(Duration(n as u64))),
    one("tcp_comp_sack_nr", "comp_sack_nr", (0, 255), |c, n| c.comp_sack_nr = n as u32),
    one("tcp_comp_sack_slack_ns", "comp_sack_slack", NANOSECONDS, |c, n| c.comp_sack_slack = Duration(n as u64)),
    one("tcp_dsack", "dsack", FLAG, |c, n| c.dsack = n != 0),
    // Without RACK's timer of the tail nothing is left of it: early retransmit itself is gone.
    one("tcp_early_retrans", "tlp", (0, 4), |c, n| c.tlp = n >= 3),
    one("tcp_ecn", "ecn", (0, 5), |c, n| c.ecn = ECN[n as usize]),
    one("tcp_ecn_fallback", "ecn_fallback", FLAG, |c, n| c.ecn_fallback = n != 0),
    one("tcp_ecn_option", "accecn_option", (0, 3), |c, n| c.accecn_option = Some(n as u8)),
    // Both ends are one host's settings here: 1 is for those who connect, 2 for those who listen.
    one("tcp_fastopen", "fast_open", (0, 0xfff), |c, n| c.fast_open = n & 3 == 3),
    one("tcp_frto", "frto", (0, 2), |c, n| c.frto = n != 0),
    one("tcp_max_reordering", "max_reordering", (1, 1000), |c, n| c.max_reordering = n as u32),
    one("tcp_min_tso_segs", "tso", (1, 64), |c, n| c.tso = Some(Tso::of(n as u32))),
    one("tcp_moderate_rcvbuf", "moderate_receive_buffer", FLAG, |c, n| c.moderate_receive_buffer = n != 0),
    one("tcp_no_metrics_save", "no_metrics_save", FLAG, |c, n| c.no_metrics_save = n != 0),
    one("tcp_no_ssthresh_metrics_save", "no_ssthresh_metrics_save", FLAG, |c, n| c.no_ssthresh_metrics_save = n != 0),
    one("tcp_recovery", "recovery", (0, 7), |c, n| {
        c.recovery = if n & 1 == 0 { Recovery::Sack } else { Recovery::Rack };
        c.reo_wnd_adapts = n & 2 == 0;
        c.rack_dupthresh = n & 4 == 0;
    }),
    one("tcp_reordering", "dupthresh", (1, 300), |c, n| c.dupthresh = n as u32),
    three("tcp_rmem", "receive_buffer", |c, [_, default, max]| {
        c.initial_receive_buffer = Some(default as u64);
        c.receive_buffer = max as u64;
    }),
    one("tcp_rto_max_ms", "rto", (1000, 120_000), |c, n| c.rto.max = Duration::from_millis(n as u64)),
    one("tcp_rto_min_us", "rto", (1, 120_000_000), |c, n| c.rto.min = Duration::from_micros(n as u64)),
    one("tcp_sack", "sack", FLAG, |c, n| c.sack = n != 0),
    one("tcp_slow_start_after_idle", "slow_start_after_idle", FLAG, |c, n| c.slow_start_after_idle = n != 0),
    one("tcp_timestamps", "timestamps", (0, 2), |c, n| c.timestamps = n != 0),
    one("tcp_window_scaling", "window_scaling", FLAG, |c, n| c.window_scaling = n != 0),
    three("tcp_wmem", "send_buffer", |c, [_, default, max]| {
        c.initial_send_buffer = Some(default as u64);
        c.send_buffer = Some(max as u64);
    }),
];

/// By the values of `tcp_ecn`.
const ECN: [Ecn; 6] = [Ecn::Off, Ecn::On, Ecn::Accept, Ecn::Accurate, Ecn::OnOrAccurate, Ecn::AcceptAccurate];

const fn one(name: &'static str, field: &'static str, values: (i64, i64), set: fn(&mut Config, i64)) -> Sysctl {
    Sysctl { name, field, values, set: Set::One(set) }
}

const fn three(name: &'static str, field: &'static str, set: fn(&mut Config, [i64; 3])) -> Sysctl {
    Sysctl { name, field, values: BUFFER, set: Set::Three(set) }
}

impl Sysctl {
    /// The setting of this name, with or without `net.ipv4.`.
    pub fn find(name: &str) -> Option<&'static Sysctl> {
        let name = name.strip_prefix("net.ipv4.").unwrap_or(name);
        SYSCTLS.iter().find(|sysctl| sysctl.name == name)
    }

    /// Sets it to what is written as in `/proc/sys`: numbers between spaces.
    ///
    /// # Errors
    /// What is allowed, if this is not.
    pub fn set(&self, config: &mut Config, value: &str) -> Result<(), String> {
        let numbers: Option<Vec<i64>> = value.split_whitespace().map(|word| word.parse().ok()).collect();
        let (least, most) = self.values;
        let numbers =
            numbers.filter(|n| n.is_sorted() && n.iter().all(|n| (least..=most).contains(n))).unwrap_or_default();
        match (&self.set, numbers.as_slice()) {
            (Set::One(set), &[number]) => set(config, number),
            (Set::Three(set), &[min, default, max]) => set(config, [min, default, max]),
            (Set::One(_), _) => return Err(format!("a whole number from {least} to {most}")),
            (Set::Three(_), _) => {
                let example = "\"4096 131072 6291456\"";
                return Err(format!("three ascending whole numbers from {least} to {most}, e.g. {example}"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(settings: &[(&str, &str)]) -> Config {
        let mut config = Config::linux(1448);
        for (name, value) in settings {
            Sysctl::find(name).unwrap().set(&mut config, value).unwrap();
        }
        config
    }

    /// The windows of `tcp_adv_win_scale` up to Linux 6.5, by Documentation/networking/ip-sysctl: bytes - bytes/2^n if it is
    /// above 0, else bytes/2^(-n).
    #[test]
    fn the_share_of_the_buffer_that_is_window() {
        for (n, window) in
            [(1, 3_145_728), (2, 4_718_592), (3, 5_505_024), (0, 6_291_456), (-1, 3_145_728), (-2, 1_572_864)]
        {
            let config = with(&[("tcp_rmem", "4096 131072 6291456"), ("net.ipv4.tcp_adv_win_scale", &n.to_string())]);
            assert_eq!(config.receive_window(), window, "{n}");
        }
        assert_eq!(with(&[("tcp_rmem", "4096 131072 6291456")]).receive_window(), 6_291_456);
    }

    #[test]
    fn a_name_is_another_name() {
        let config =
            with(&[("tcp_sack", "0"), ("tcp_ecn", "2"), ("tcp_early_retrans", "2"), ("tcp_rto_min_us", "5000")]);
        assert!(!config.sack && !config.tlp && config.ecn == Ecn::Accept);
        assert_eq!(config.rto.min, Duration::from_millis(5));
        assert!(SYSCTLS.is_sorted_by_key(|sysctl| sysctl.name));
    }

    #[test]
    fn what_is_not_allowed_is_said() {
        let set = |name: &str, value| Sysctl::find(name).unwrap().set(&mut Config::linux(1448), value).unwrap_err();
        assert_eq!(set("tcp_ecn", "6"), "a whole number from 0 to 5");
        assert_eq!(set("tcp_frto", "on"), "a whole number from 0 to 2");
        assert!(set("tcp_rmem", "4096").starts_with("three ascending whole numbers from 1 to 1073741824"));
        assert!(set("tcp_wmem", "4096 16384 1000").starts_with("three"));
    }
}
