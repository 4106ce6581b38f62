//! What a script runs on: the endpoint's options out of directives, option lines and shell commands.

use super::ast::Setting;
use super::cookie::{self, Key};
use super::keepalive::KeepAlive;
use super::parse::MAX_SECONDS;
use crate::tcp::{Config, Ecn, Pacing, Recovery, RtoStyle, Tso};
use crate::wire::Segment;
use cclab_algo::Duration;
use cclab_algo::cc::{self, CongestionControl, Context, Entry};
use cclab_algo::params::Flavour;
use cclab_algo::rng::Stream;

/// Bytes that the timestamp option takes of every segment, padding included.
pub(super) const TIMESTAMPS: u32 = 12;

/// Bytes of the headers of IPv4 and TCP without options.
pub(super) const HEADERS: u32 = 40;

/// The MSS of an Ethernet path.
const ETHERNET_MSS: u32 = 1500 - HEADERS;

/// Bits of tcp_fastopen: who connects; who listens; who connects without a cookie; who listens without one; every listener.
pub(super) const FAST_OPEN_CLIENT: u32 = 1;
pub(super) const FAST_OPEN_SERVER: u32 = 2;
pub(super) const FAST_OPEN_CLIENT_NO_COOKIE: u32 = 4;
pub(super) const FAST_OPEN_SERVER_NO_COOKIE: u32 = 0x200;
pub(super) const FAST_OPEN_LISTENERS: u32 = 0x400;

/// The queue between the host and its interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Queue {
    /// Keeps the order, and nothing for any time.
    Open,
    /// `fq`: packets wait for the pacing rate.
    Fair,
    /// Takes nothing.
    Full,
}

/// The surroundings of the endpoint under test.
#[derive(Clone, Debug)]
pub struct Setup {
    pub(super) config: Config,
    pub(super) cc: &'static Entry,
    /// The MSS that a SYN offers.
    pub(super) mss: u32,
    /// How far a packet or a return may be from its time.
    tolerance: Duration,
    /// The same as a share of the time since the event before.
    tolerance_share: f64,
    /// Microseconds per tick of the timestamps in the script; 0: they are names, not numbers.
    pub timestamp_tick: u64,
    /// Whether packets that no line took by the end are a failure.
    pub every_packet: bool,
    /// The queue of the interface.
    pub(super) queue: Queue,
    /// What leaves a fair queue together.
    pub(super) burst: Tso,
    /// The pacing rate as a percentage of window/srtt, early in slow start and later (`tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`).
    pub(super) pacing_percent: [u64; 2],
    /// What was known of the peers of earlier connections is to be forgotten.
    pub(super) forget_peers: bool,
    /// Who takes part in Fast Open, in the bits of tcp_fastopen.
    pub(super) fast_open: u32,
    pub(super) fast_open_key: Key,
    /// Addresses of this host and of its peer.
    pub(super) local: [u8; 4],
    pub(super) remote: [u8; 4],
    /// A send buffer begins with so many bytes and grows to so many (tcp_wmem), where a script says so.
    pub(super) write_memory: Option<(u64, u64)>,
    /// Most that SO_RCVBUF and SO_SNDBUF are taken for (net.core.rmem_max, wmem_max).
    pub(super) most_asked: [i64; 2],
    /// After how many timeouts in a row a connection is given up (tcp_retries2).
    pub(super) retries: u32,
    /// Milliseconds after which a port in TIME-WAIT may be used again (tcp_tw_reuse_delay), if it may.
    pub(super) reuse_after: Option<u64>,
    /// Packets are not joined (--strict_segments).
    pub strict: bool,
    /// Keep-alive of sockets that ask for it, and say no more.
    pub(super) keep_alive: KeepAlive,
    /// The MTU of the route is locked, and nothing is learned of it; ip_no_pmtu_disc.
    pub(super) mtu_locked: bool,
    pub(super) no_discovery: u32,
    /// What is known of the path at the beginning of a connection.
    pub(super) path_mss: u32,
    /// tcp_notsent_lowat.
    pub(super) not_sent_lowat: u64,
    /// Of what segments the peer's packets that are longer are made (--mss).
    pub(super) peer_segment: u32,
}

impl Setup {
    /// The surroundings that `directives` and `options` describe.
    ///
    /// # Errors
    /// The line, and what is wrong with it.
    pub fn new(directives: &[Setting], options: &[Setting], notes: &mut Vec<String>) -> Result<Setup, (usize, String)> {
        let mut setup = Setup {
            config: Config::linux(ETHERNET_MSS),
            cc: cc::find("cubic").or(cc::find("reno")).expect("the registry has Reno"),
            mss: ETHERNET_MSS,
            tolerance: Duration::from_millis(4),
            tolerance_share: 0.125,
            timestamp_tick: 0,
            every_packet: false,
            queue: Queue::Open,
            burst: Tso::of(2),
            pacing_percent: [200, 120],
            forget_peers: false,
            fast_open: FAST_OPEN_CLIENT,
            fast_open_key: cookie::DEFAULT_KEY,
            local: [192, 168, 0, 1],
            remote: [192, 0, 2, 1],
            write_memory: None,
            most_asked: [i64::MAX; 2],
            retries: 15,
            reuse_after: None,
            strict: false,
            keep_alive: KeepAlive::default(),
            mtu_locked: false,
            no_discovery: 0,
            path_mss: u32::MAX,
            not_sent_lowat: u64::MAX,
            peer_segment: u32::MAX,
        };
        // A host's defaults: Nagle's algorithm until TCP_NODELAY, and the largest buffer of tcp_rmem.
        setup.config.nagle = true;
        setup.config.ecn = Ecn::Accept;
        setup.config.accecn_option = Some(2);
        setup.config.receive_buffer = 6 << 20;
        // The profile comes first wherever it stands: it sets all that the others change.
        for pass in [true, false] {
            for setting in directives.iter().filter(|s| (s.key == "profile") == pass) {
                setup.directive(&setting.key, &setting.value).map_err(|message| (setting.line, message))?;
            }
        }
        for option in options {
            setup.option(option, notes).map_err(|message| (option.line, message))?;
        }
        Ok(setup)
    }

    fn option(&mut self, option: &Setting, notes: &mut Vec<String>) -> Result<(), String> {
        let key = format!("--{}", option.key);
        match option.key.as_str() {
            "tolerance_usecs" => self.tolerance = Duration::from_micros(within(&key, &option.value, 0, 1 << 40)?),
            "tolerance_percent" => self.tolerance_share = number::<f64>(&key, &option.value)?.clamp(0.0, 100.0) / 100.0,
            "tcp_ts_tick_usecs" => self.timestamp_tick = number(&key, &option.value)?,
            "mtu" => self.mss = within::<u32>(&key, &option.value, 104, 65_535)? - HEADERS,
            "local_ip" => self.local = address(&key, &option.value)?,
            "remote_ip" => self.remote = address(&key, &option.value)?,
            "strict_segments" => self.strict = true,
            "mss" => self.peer_segment = within(&key, &option.value, 1, 65_535)?,
            "tcp_ts_ecr_scaled" | "connect_port" | "bind_port" | "gateway_ip" | "netmask_ip" | "speed" => {}
            "ip_version" if option.value == "ipv4" => {}
            "send_omit_free" | "verbose" | "init_scripts" | "dry_run" => {
                notes.push(format!("line {}: {key} does nothing here", option.line));
            }
            _ => return Err(format!("not supported: {key}={}", option.value)),
        }
        Ok(())
    }

    fn directive(&mut self, key: &str, value: &str) -> Result<(), String> {
        let config = &mut self.config;
        match key {
            "profile" => {
                let (receive_buffer, nagle) = (config.receive_buffer, config.nagle);
                *config = match value {
                    "linux" => Config { ecn: Ecn::Accept, accecn_option: Some(2), ..Config::linux(self.mss) },
                    "linux-2.6" => Config { ecn: Ecn::Accept, ..Config::linux_2_6(self.mss) },
                    "classic" => Config::classic(self.mss, Recovery::NewReno),
                    _ => return Err(not_one_of(key, value, "linux, linux-2.6, classic")),
                };
                (config.receive_buffer, config.nagle) = (receive_buffer, nagle);
                if value == "classic" {
                    self.cc = cc::find("reno").expect("the registry has Reno");
                }
            }
            "recovery" => {
                config.recovery = match value {
                    "tahoe" => Recovery::Tahoe,
                    "reno" => Recovery::Reno,
                    "newreno" => Recovery::NewReno,
                    "sack" => Recovery::Sack,
                    "rack" => Recovery::Rack,
                    _ => return Err(not_one_of(key, value, "tahoe, reno, newreno, sack, rack")),
                };
                config.sack = matches!(config.recovery, Recovery::Sack | Recovery::Rack);
            }
            "cc" => self.congestion_control(value)?,
            "mss" => self.mss = within(key, value, 64, 65_495)?,
            "sack" => config.sack = flag(key, value)?,
            "timestamps" => config.timestamps = flag(key, value)?,
            "window_scaling" => config.window_scaling = flag(key, value)?,
            "ecn" if value == "accecn" => config.ecn = Ecn::Accurate,
            "ecn" => config.ecn = if flag(key, value)? { Ecn::On } else { Ecn::Off },
            "accecn_option" if value == "changes" => config.accecn_option = None,
            "accecn_option" => config.accecn_option = Some(within(key, value, 0, 3)?),
            "initial_window" => config.initial_window = within(key, value, 1, 65_535)?,
            "initial_ssthresh" => config.initial_ssthresh = Some(within(key, value, 1, 1 << 40)?),
            "receive_buffer" => config.receive_buffer = within(key, value, 1, 1 << 30)?,
            "ack_every" => config.delayed_ack.every = within(key, value, 1, 1000)?,
            "ack_timeout" => config.delayed_ack.timeout = milliseconds(key, value)?,
            "ack_adaptive" => config.delayed_ack.adaptive = flag(key, value)?,
            "quickack" => config.delayed_ack.quickack = number(key, value)?,
            "rto_style" => {
                config.rto.style = match value {
                    "linux" => RtoStyle::Linux,
                    "rfc6298" => RtoStyle::Rfc6298,
                    _ => return Err(not_one_of(key, value, "linux, rfc6298")),
                }
            }
            "rto_min" => config.rto.min = milliseconds(key, value)?,
            "rto_max" => config.rto.max = milliseconds(key, value)?,
            "rto_initial" => config.rto.initial = milliseconds(key, value)?,
            "rto_granularity" => config.rto.granularity = milliseconds(key, value)?,
            "dupthresh" => config.dupthresh = within(key, value, 1, 300)?,
            "max_reordering" => config.max_reordering = within(key, value, 1, 1000)?,
            "reo_wnd_adapts" => config.reo_wnd_adapts = flag(key, value)?,
            "rack_dupthresh" => config.rack_dupthresh = flag(key, value)?,
            "limited_transmit" => config.limited_transmit = flag(key, value)?,
            "frto" => config.frto = flag(key, value)?,
            "tlp" => config.tlp = flag(key, value)?,
            "prr" => config.prr = flag(key, value)?,
            "undo" => config.undo = flag(key, value)?,
            "pacing" => config.pacing = if flag(key, value)? { Pacing::On } else { Pacing::Off },
            "nagle" => config.nagle = flag(key, value)?,
            "cwnd_validation" => config.cwnd_validation = flag(key, value)?,
            "slow_start_after_idle" => config.slow_start_after_idle = flag(key, value)?,
            "flavour" => {
                config.flavour = match value {
                    "linux" => Flavour::Linux,
                    "paper" => Flavour::Paper,
                    _ => return Err(not_one_of(key, value, "linux, paper")),
                }
            }
            "every_packet" => self.every_packet = flag(key, value)?,
            _ => return Err(not_one_of("directive", key, DIRECTIVES)),
        }
        Ok(())
    }

    /// Chooses a law by name.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn congestion_control(&mut self, name: &str) -> Result<(), String> {
        let names = || cc::REGISTRY.iter().map(|e| e.name).collect::<Vec<_>>().join(", ");
        self.cc = cc::find(name).ok_or_else(|| not_one_of("cc", name, &names()))?;
        Ok(())
    }

    /// Nagle's algorithm on or off (TCP_NODELAY).
    pub fn set_nagle(&mut self, nagle: bool) {
        self.config.nagle = nagle;
    }

    /// The largest segment offered (TCP_MAXSEG).
    pub fn set_mss(&mut self, mss: u32) {
        self.mss = mss;
    }

    /// How far what is due so long after the event before may be from its time (packetdrill's rule).
    pub fn tolerance(&self, gap: Duration) -> Duration {
        self.tolerance.max(Duration((gap.0 as f64 * self.tolerance_share) as u64))
    }

    /// The MSS that a SYN offers.
    pub fn mss(&self) -> u32 {
        self.mss
    }

    /// The receive buffer, in bytes. Linux doubles what SO_RCVBUF asks for, and lets it be; the window, and its scale, are of half.
    pub fn set_receive_buffer(&mut self, bytes: u64) {
        self.config.receive_buffer = if self.config.adv_win_scale.is_none() { bytes } else { 2 * bytes };
        self.config.initial_receive_buffer = Some(2 * bytes);
        self.config.moderate_receive_buffer = false;
    }

    /// The options of an endpoint.
    pub fn config(&self) -> Config {
        let mut config = self.config.clone();
        config.mss = self.mss.saturating_sub(if config.timestamps { TIMESTAMPS } else { 0 }).max(1);
        config
    }

    /// How often a SYN goes again (TCP_SYNCNT).
    pub fn set_syn_retries(&mut self, retries: u32) {
        self.config.syn_retries = retries;
    }

    /// The law, in segments of the size that the peer's SYN leads to.
    pub fn new_law(&self, config: &Config, syn: Option<&Segment>) -> Box<dyn CongestionControl> {
        let timestamps = config.timestamps && syn.is_none_or(|s| s.has_timestamps);
        let offered = syn.map(|s| u32::from(s.mss)).filter(|mss| *mss > 0).unwrap_or(self.mss);
        let context = Context {
            mss: offered
                .min(self.mss)
                .min(self.path_mss)
                .saturating_sub(if timestamps { TIMESTAMPS } else { 0 })
                .max(1),
            initial_window: config.initial_window,
            initial_ssthresh: config.initial_ssthresh,
            flavour: config.flavour,
            paced: config.pacing == Pacing::On,
            bursts: config.tso.is_some(),
            rng: Stream::new(1, "script"),
        };
        self.cc.make(&context, &[]).expect("a law takes its own defaults")
    }
}

const DIRECTIVES: &str = "profile, recovery, cc, mss, sack, timestamps, window_scaling, ecn, accecn_option, initial_window, \
    initial_ssthresh, receive_buffer, ack_every, ack_timeout, ack_adaptive, quickack, rto_style, rto_min, rto_max, \
    rto_initial, rto_granularity, dupthresh, max_reordering, reo_wnd_adapts, rack_dupthresh, limited_transmit, frto, tlp, prr, undo, pacing, nagle, cwnd_validation, \
    slow_start_after_idle, flavour, every_packet";

fn not_one_of(key: &str, value: &str, allowed: &str) -> String {
    format!("{key}: unknown \"{value}\"; allowed: {allowed}")
}

fn number<T: std::str::FromStr>(key: &str, value: &str) -> Result<T, String> {
    value.parse().map_err(|_| format!("{key}: \"{value}\" is not a whole number"))
}

/// A whole number in `[min, max]`.
pub(super) fn within<T>(key: &str, value: &str, min: T, max: T) -> Result<T, String>
where
    T: std::str::FromStr + PartialOrd + std::fmt::Display,
{
    let n = value.parse().ok().filter(|n| (&min..=&max).contains(&n));
    n.ok_or_else(|| format!("{key}: \"{value}\" is not a whole number from {min} to {max}"))
}

fn flag(key: &str, value: &str) -> Result<bool, String> {
    match value {
        "true" | "on" | "1" => Ok(true),
        "false" | "off" | "0" => Ok(false),
        _ => Err(format!("{key}: \"{value}\" is not true or false")),
    }
}

/// `192.0.2.1`.
fn address(key: &str, value: &str) -> Result<[u8; 4], String> {
    let address: Result<std::net::Ipv4Addr, _> = value.parse();
    address.map(|address| address.octets()).map_err(|_| format!("not supported: {key}={value}"))
}

/// `200`, `200 ms` or `1.5 s`.
pub(super) fn milliseconds(key: &str, value: &str) -> Result<Duration, String> {
    let (text, unit) = match value.strip_suffix("ms") {
        Some(text) => (text, 1e-3),
        None => value.strip_suffix('s').map_or((value, 1e-3), |text| (text, 1.0)),
    };
    match text.trim().parse::<f64>() {
        Ok(x) if (0.0..=MAX_SECONDS).contains(&(x * unit)) => Ok(Duration::from_secs_f64(x * unit)),
        _ => Err(format!("{key}: \"{value}\" is not a time such as 200 ms or 1 s")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup(directives: &[(&str, &str)]) -> Result<Setup, (usize, String)> {
        let settings: Vec<Setting> = directives
            .iter()
            .enumerate()
            .map(|(i, (key, value))| Setting { line: i + 1, key: (*key).into(), value: (*value).into() })
            .collect();
        Setup::new(&settings, &[], &mut Vec::new())
    }

    #[test]
    fn the_profile_comes_first() {
        let config = setup(&[("rto_min", "200 ms"), ("recovery", "reno"), ("profile", "classic")]).unwrap().config();
        assert_eq!(config.rto.min, Duration::from_millis(200));
        assert_eq!((config.recovery, config.initial_window, config.mss), (Recovery::Reno, 2, 1460));
        assert_eq!(setup(&[]).unwrap().config().mss, 1448, "the MSS without the timestamps");
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (key, value, message) in [
            ("profil", "linux", "directive: unknown \"profil\"; allowed: profile, recovery, cc"),
            ("recovery", "fast", "recovery: unknown \"fast\"; allowed: tahoe, reno, newreno, sack, rack"),
            ("cc", "renoo", "cc: unknown \"renoo\"; allowed: tahoe"),
            ("mss", "12", "mss: \"12\" is not a whole number from 64 to 65495"),
            ("ack_every", "two", "ack_every: \"two\" is not a whole number"),
            ("nagle", "yes", "nagle: \"yes\" is not true or false"),
            ("rto_min", "-1 ms", "rto_min: \"-1 ms\" is not a time such as 200 ms or 1 s"),
        ] {
            let (line, found) = setup(&[(key, value)]).unwrap_err();
            assert!(line == 1 && found.starts_with(message), "{found}");
        }
    }
}
