//! Shell commands of a script: what they set of the host that the endpoint has.

use super::cookie;
use super::expr;
use super::setup::{HEADERS, Queue, Setup, milliseconds, within};
use crate::tcp::sysctl::Sysctl;
use crate::tcp::{Config, Ecn};
use cclab_algo::{Duration, cc};

/// Settings that Linux has and the endpoint does not need: no packet of one connection on an idle host depends on them.
const IDLE: &[&str] = &[
    "ip_local_port_range",
    // Of packets that a queue still holds, and none holds any here but `fq`.
    "tcp_autocorking",
    // How often AccECN's option goes unasked where it goes seldom: three times a round trip.
    "tcp_ecn_option_beacon",
    "tcp_fastopen_blackhole_timeout_sec",
    "tcp_limit_output_bytes",
    "tcp_max_syn_backlog",
    "tcp_mem",
    // Segments are sent one by one.
    "tcp_tso_win_divisor",
    "tcp_no_metrics_save",
    "tcp_no_ssthresh_metrics_save",
];

/// Settings that the endpoint has at this value only.
const FIXED: &[(&str, &str)] = &[
    ("tcp_abort_on_overflow", "0"),
    ("tcp_fin_timeout", "60"),
    ("tcp_min_rtt_wlen", "300"),
    ("tcp_mtu_probing", "0"),
    ("tcp_orphan_retries", "0"),
    ("tcp_syn_linear_timeouts", "4"),
];

/// Settings beside TCP's that no packet of a connection depends on: `net.core`'s, and what routers and hosts say in ICMP.
const IDLE_BESIDE: &[&str] = &[
    "net.core.busy_",
    "net.core.default_qdisc",
    "net.core.netdev_",
    "net.core.optmem_max",
    // TCP has its own.
    "net.core.rmem_default",
    "net.core.somaxconn",
    "net.core.wmem_default",
    "net.ipv4.icmp_",
];

/// Queues that keep one connection's packets in order and for no time.
const QUEUES: &[&str] = &["fq_codel", "mq", "noqueue", "pfifo", "pfifo_fast"];

impl Setup {
    /// Does what shell commands would do to the endpoint; which sysctls they set, by name and value.
    ///
    /// # Errors
    /// A command, a setting or a value that the endpoint does not have.
    pub fn shell(&mut self, text: &str, line: usize, notes: &mut Vec<String>) -> Result<Vec<(String, String)>, String> {
        let mut set = Vec::new();
        for command in text.replace("\\\n", " ").split(['\n', ';']) {
            let command = arithmetic(command.split('#').next().unwrap_or("").trim())?;
            let mut works = true;
            for command in steps(&command) {
                let (after, command) = command;
                if after == works {
                    works = self.command(command, line, notes, &mut set)?;
                }
            }
            if !works {
                return Err(format!("the command fails: {command}"));
            }
        }
        for (key, value) in &set {
            self.sysctl(key, value)?;
        }
        set.retain(|(key, _)| !is_idle(key));
        Ok(set)
    }

    /// One command; whether it works.
    fn command(
        &mut self,
        command: &str,
        line: usize,
        notes: &mut Vec<String>,
        set: &mut Settings,
    ) -> Result<bool, String> {
        let words: Vec<&str> = command.split_whitespace().take_while(|word| !word.contains('>')).collect();
        match words.as_slice() {
            [] => {}
            ["false"] => return Ok(false),
            ["sysctl", settings @ ..] => {
                let mut settings = settings.iter().filter(|w| !w.starts_with('-')).copied();
                while let Some((key, value)) = pair(&mut settings, command) {
                    if is_idle(key) {
                        notes.push(format!("line {line}: no packet depends on {key}"));
                    }
                    set.push((key.to_owned(), value.to_owned()));
                }
            }
            // A helper of the kernel's collection: sysctls by their files.
            [file, settings @ ..] if file.ends_with("set_sysctls.py") => {
                let mut settings = settings.iter().copied();
                while let Some((file, value)) = pair(&mut settings, command) {
                    set.push((key_of(file), value.to_owned()));
                }
            }
            [file] if file.starts_with("/tmp/sysctl_restore") => {}
            ["ip", "route", ..] => self.route(&words)?,
            ["ip", "tcp_metrics", "flush", ..] => self.forget_peers = true,
            ["ethtool", "-K", _, features @ ..] => self.features(features)?,
            // Files are as long as a script says.
            [file, ..] if ["rm", "dd", "touch"].contains(&file.rsplit('/').next().unwrap_or("")) => {}
            ["ip", "link", "set", of @ ..] if of.contains(&"mtu") => {
                let mtu = of.iter().skip_while(|word| **word != "mtu").nth(1).unwrap_or(&"");
                self.mss = within::<u32>("mtu", mtu, 104, 65_535)? - HEADERS;
                set.push((DEVICE_MTU.to_owned(), (*mtu).to_owned()));
            }
            ["echo", value @ ..] if command.contains("> /proc/sys/") => {
                let file = command.split("> /proc/sys/").nth(1).unwrap_or("").trim();
                set.push((key_of(file), value.join(" ").trim_matches(['"', '\'']).to_owned()));
            }
            // HyStart's default.
            ["echo", "3"] if command.ends_with("> /sys/module/tcp_cubic/parameters/hystart_detect") => {}
            _ if command.contains("> /proc/") || command.contains("> /sys/") => {
                return Err(format!("not supported: the command {command}"));
            }
            // What is shown, and what no packet of a connection with its own addresses depends on.
            ["ip", "link" | "addr" | "address", "show" | "list", ..]
            | ["ip", "link" | "addr" | "address"]
            | ["ip", "addr" | "address", "add", ..]
            | ["true" | "echo" | "nstat" | "cat", ..] => {
                notes.push(format!("line {line}: not run here: {command}"));
            }
            ["ip", "link", "set", .., "up"] => notes.push(format!("line {line}: not run here: {command}")),
            ["ss", options @ ..]
                if !options.iter().any(|word| word.starts_with('-') && word.contains('K') || *word == "--kill") =>
            {
                notes.push(format!("line {line}: not run here: {command}"));
            }
            ["tc", "qdisc", _, "dev", _, "root", queue] if QUEUES.contains(queue) => self.queue = Queue::Open,
            ["tc", "qdisc", _, "dev", _, "root", "pfifo", "limit", "0"] => self.queue = Queue::Full,
            ["tc", "qdisc", _, "dev", _, "root", "fq"] => self.queue = Queue::Fair,
            [file, ..] if file.ends_with("defaults.sh") => {
                self.defaults(file.contains("common/"));
                notes.push(format!("line {line}: {file}: taken as the defaults of Linux's own test scripts"));
            }
            _ => return Err(format!("not supported: the command {command}")),
        }
        Ok(true)
    }

    /// Offloads of the interface: without the first packets leave as single segments.
    fn features(&mut self, features: &[&str]) -> Result<(), String> {
        for pair in features.chunks(2) {
            match *pair {
                ["tso" | "tcp-segmentation-offload", set @ ("on" | "off")] => self.strict = set == "off",
                ["gso" | "gro" | "lro" | "generic-segmentation-offload" | "generic-receive-offload", "on" | "off"] => {}
                _ => return Err(format!("not supported: ethtool -K … {}", pair.join(" "))),
            }
        }
        Ok(())
    }

    /// What the `defaults.sh` of the public script collections sets; in a directory `common` that of packetdrill's own, with which
    /// every listener takes Fast Open, as with Linux's own (6.18) only one that asks.
    fn defaults(&mut self, common: bool) {
        self.config.ecn = Ecn::Off;
        self.config.receive_buffer = 15 << 20;
        self.config.slow_start_after_idle = false;
        self.fast_open = if common { 0x403 } else { 3 };
        if let Some(cubic) = cc::find("cubic") {
            self.cc = cubic;
        }
    }

    fn sysctl(&mut self, key: &str, value: &str) -> Result<(), String> {
        let key = &key.replace('/', ".");
        let name = short(key);
        match name {
            DEVICE_MTU => {}
            "tcp_congestion_control" => return self.congestion_control(value),
            "tcp_fastopen" => {
                let hex = value.strip_prefix("0x").map(|hex| u32::from_str_radix(hex, 16));
                let number = hex.unwrap_or_else(|| value.parse());
                self.fast_open = number.map_err(|_| format!("{key}: \"{value}\" is not a whole number"))?;
            }
            "net.core.rmem_max" => self.most_asked[0] = within(key, value, 2304, i64::from(i32::MAX))?,
            "net.core.wmem_max" => self.most_asked[1] = within(key, value, 4608, i64::from(i32::MAX))?,
            "tcp_syncookies" if matches!(value, "0" | "1") => {}
            "tcp_syncookies" => return Err(format!("not supported: {key}={value}; only 0 or 1")),
            "tcp_retries2" => self.retries = within(key, value, 0, 255)?,
            "tcp_keepalive_time" => self.keep_alive.host.idle = within(key, value, 1, 32_767)?,
            "tcp_keepalive_intvl" => self.keep_alive.host.interval = within(key, value, 1, 32_767)?,
            "tcp_keepalive_probes" => self.keep_alive.host.probes = within(key, value, 1, 127)?,
            "ip_no_pmtu_disc" => self.no_discovery = within(key, value, 0, 3)?,
            "tcp_notsent_lowat" => self.not_sent_lowat = lowat(within(key, value, 0, u32::MAX)?),
            "tcp_min_tso_segs" => self.burst.min_segments = within(key, value, 1, 65_535)?,
            "tcp_tso_rtt_log" => self.burst.rtt_log = within(key, value, 0, 31)?,
            "tcp_pacing_ss_ratio" => self.pacing_percent[0] = within(key, value, 0, 1000)?,
            "tcp_pacing_ca_ratio" => self.pacing_percent[1] = within(key, value, 0, 1000)?,
            "tcp_syn_retries" => self.config.syn_retries = within(key, value, 1, 127)?,
            "tcp_synack_retries" => self.config.synack_retries = within(key, value, 0, 255)?,
            "tcp_fastopen_key" => {
                self.fast_open_key =
                    cookie::key(value).ok_or_else(|| format!("{key}: \"{value}\" is not four words in hexadecimal"))?;
            }
            // A fixed send buffer of a flow is another thing.
            "tcp_wmem" => {
                let bytes: Vec<u64> = value.split_whitespace().filter_map(|bytes| bytes.parse().ok()).collect();
                let [_, start, most] = bytes[..] else {
                    return Err(format!("{key}: \"{value}\" is not three whole numbers"));
                };
                self.write_memory = Some((start, most));
            }
            "tcp_tw_reuse" => self.reuse_after = (value != "0").then(|| self.reuse_after.unwrap_or(1000)),
            "tcp_tw_reuse_delay" => self.reuse_after = Some(within(key, value, 1, 60_000)?),
            "tcp_fastopen_cookies" => self.forget_peers = true,
            _ if is_idle(key) => {}
            _ => {
                if let Some((_, only)) = FIXED.iter().find(|(fixed, _)| *fixed == name) {
                    return if value == *only {
                        Ok(())
                    } else {
                        Err(format!("not supported: {key}={value}; only {only}"))
                    };
                }
                configure(&mut self.config, key, value)?;
            }
        }
        Ok(())
    }

    fn route(&mut self, words: &[&str]) -> Result<(), String> {
        self.mtu_locked = words.windows(2).any(|pair| pair == ["mtu", "lock"]);
        let words: Vec<&str> = words.iter().copied().filter(|word| *word != "lock").collect();
        for pair in words.windows(2) {
            let [key, value] = pair else { continue };
            match *key {
                "initcwnd" => self.config.initial_window = within(key, value, 1, 65_535)?,
                "rto_min" => self.config.rto.min = milliseconds(key, value.trim_end_matches("ms"))?,
                "mtu" => self.mss = within::<u32>(key, value, 104, 65_535)? - HEADERS,
                "advmss" => self.mss = within(key, value, 64, 65_495)?,
                "congctl" => self.congestion_control(value)?,
                "initrwnd" | "quickack" | "features" | "cwnd" | "window" | "ssthresh" | "rtt" | "rttvar" => {
                    return Err(format!("not supported: `ip route … {key}`"));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Names of settings and their values.
type Settings = Vec<(String, String)>;

/// What stands for the MTU of the interface among the settings.
pub(super) const DEVICE_MTU: &str = "mtu";

/// The name of a setting without what all of TCP's have.
pub(super) fn short(key: &str) -> &str {
    key.strip_prefix("net.ipv4.").unwrap_or(key)
}

fn is_idle(key: &str) -> bool {
    IDLE.contains(&short(key)) || IDLE_BESIDE.iter().any(|beside| key.starts_with(beside))
}

/// The name of the setting in this file.
fn key_of(file: &str) -> String {
    file.trim_start_matches("/proc/sys/").replace('/', ".")
}

/// The commands of a line between `&&` and `||`, each with what must be true of those before it.
fn steps(line: &str) -> impl Iterator<Item = (bool, &str)> {
    line.split("||").enumerate().flat_map(|(i, either)| {
        either.split("&&").enumerate().map(move |(j, command)| (i == 0 || j > 0, command.trim()))
    })
}

/// Sets an option of an endpoint by its sysctl.
pub(super) fn configure(config: &mut Config, key: &str, value: &str) -> Result<(), String> {
    match short(key) {
        "tcp_invalid_ratelimit" => config.challenge_gap = Duration::from_millis(within(key, value, 0, 1 << 31)?),
        "tcp_thin_linear_timeouts" => config.thin_linear_timeouts = within(key, value, 0, 1)? == 1,
        name => {
            let sysctl = Sysctl::find(name).ok_or_else(|| format!("not supported: the sysctl {key}"))?;
            let set = sysctl.set(config, value);
            set.map_err(|allowed| format!("{key}: \"{value}\" is not {allowed}"))?;
        }
    }
    Ok(())
}

/// Bytes not sent above which a write waits: the largest number is no bound.
pub(super) fn lowat(value: u32) -> u64 {
    if value == u32::MAX { u64::MAX } else { value.into() }
}

/// `$((…))` and `$[…]`, computed.
fn arithmetic(command: &str) -> Result<String, String> {
    let mut done = String::new();
    let mut rest = command;
    while let Some(start) = rest.find("$((").or_else(|| rest.find("$[")) {
        let (open, close) = if rest[start..].starts_with("$((") { ("$((", "))") } else { ("$[", "]") };
        let inside = &rest[start + open.len()..];
        let end = inside.find(close).ok_or_else(|| format!("{command}: expected {close}"))?;
        let value = expr::evaluate(&inside[..end]).map_err(|message| format!("{}: {message}", &inside[..end]))?;
        done.push_str(&rest[..start]);
        done.push_str(&(value.trunc() as i64).to_string());
        rest = &inside[end + close.len()..];
    }
    Ok(done + rest)
}

/// `key=value`, `key=a value in "quotes"` or `key = value` of a sysctl command.
fn pair<'a>(words: &mut impl Iterator<Item = &'a str>, command: &'a str) -> Option<(&'a str, &'a str)> {
    let word = words.next()?;
    let Some((key, value)) = word.split_once('=') else {
        let value = words.find(|w| *w != "=")?;
        return Some((word, value));
    };
    if !value.starts_with(['"', '\'']) {
        return Some((key, value));
    }
    // The words of a quoted value come next: they are part of it.
    let quote = &value[..1];
    let start = command.find(word)? + key.len() + 2;
    let end = command[start..].find(quote).map_or(command.len(), |i| start + i);
    if !value[1..].ends_with(quote) {
        words.find(|w| w.ends_with(quote));
    }
    Some((key, &command[start..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// POSIX's shell (2.9.3): from left to right, `&&` and `||` bind alike.
    #[test]
    fn a_command_runs_by_what_came_before() {
        let (sack, stamps) = ("sysctl net.ipv4.tcp_sack=0", "sysctl net.ipv4.tcp_timestamps=0");
        for (line, left) in [
            (format!("{sack} && {stamps}"), (false, false)),
            (format!("{sack} || {stamps}"), (false, true)),
            (format!("true || {sack} && {stamps}"), (true, false)),
            (format!("false && {sack} || {stamps}"), (true, false)),
            (format!("{stamps}; true && {sack}"), (false, false)),
        ] {
            let mut setup = Setup::new(&[], &[], &mut Vec::new()).unwrap();
            setup.shell(&line, 1, &mut Vec::new()).unwrap();
            assert_eq!((setup.config().sack, setup.config().timestamps), left, "{line}");
        }
        let mut setup = Setup::new(&[], &[], &mut Vec::new()).unwrap();
        assert!(setup.shell("true && false", 1, &mut Vec::new()).unwrap_err().contains("fails"));
    }

    #[test]
    fn shell_commands_that_matter_are_done_and_others_are_named() {
        let mut setup = Setup::new(&[], &[], &mut Vec::new()).unwrap();
        let mut notes = Vec::new();
        let commands = "../common/defaults.sh\nsysctl -q net.ipv4.tcp_sack=0 net.ipv4.tcp_ecn=1 # why\n\
            sysctl -w net.ipv4.tcp_rmem=\"4096 131072 8388608\"; sysctl -q net.ipv4.tcp_keepalive_time=1\n\
            ip route change 192.0.2.0/24 dev tun0 initcwnd 4 rto_min 300ms\ntc qdisc add dev tun0 root fq";
        setup.shell(commands, 3, &mut notes).unwrap();
        let config = setup.config();
        assert!(!config.sack && config.ecn == Ecn::On && !config.slow_start_after_idle);
        assert_eq!((config.receive_buffer, config.initial_window), (8_388_608, 4));
        assert_eq!(config.rto.min, Duration::from_millis(300));
        assert_eq!(notes.len(), 1, "{notes:?}");
        let helper = "set_sysctls.py /proc/sys/net/ipv4/tcp_sack=1 \\\n /proc/sys/net/ipv4/tcp_timestamps=0";
        setup.shell(helper, 1, &mut notes).unwrap();
        assert!(setup.config().sack && !setup.config().timestamps);
        setup.shell("echo 0 > /proc/sys/net/ipv4/tcp_sack", 1, &mut notes).unwrap();
        assert!(!setup.config().sack);
        assert!(setup.shell("sysctl -q net.ipv4.tcp_ecn=9", 1, &mut notes).unwrap_err().contains("9"));
        notes.clear();
        for idle in
            ["sysctl -q net.core.somaxconn=9", "sysctl -q net.ipv4.icmp_ratelimit=0", "ip addr add 192.0.2.9 dev tun0"]
        {
            setup.shell(idle, 1, &mut notes).unwrap();
        }
        assert_eq!(notes.len(), 3, "{notes:?}");
        for command in [
            "ss -K dst 192.0.2.1",
            "ip link set dev tun0 down",
            "ip addr flush dev tun0",
            "ethtool -K tun0 tx off",
            "echo 0 > /sys/module/tcp_cubic/parameters/hystart",
            "sysctl -q net.core.high_order_alloc_disable=1",
            "sysctl -q net.ipv4.tcp_syncookies=2",
            "sysctl -q net.ipv4.tcp_fin_timeout=5",
            "sysctl -q net.ipv4.tcp_min_rtt_wlen=1",
        ] {
            let told = setup.shell(command, 1, &mut notes).unwrap_err();
            assert!(told.starts_with("not supported: "), "{command}: {told}");
        }
        for (name, value, most) in [
            ("time", "0", "32767"),
            ("time", "1e3", "32767"),
            ("intvl", "-1", "32767"),
            ("probes", "99999999999999999999", "127"),
        ] {
            let set = setup.shell(&format!("sysctl -q net.ipv4.tcp_keepalive_{name}={value}"), 1, &mut notes);
            let told = format!("net.ipv4.tcp_keepalive_{name}: \"{value}\" is not a whole number from 1 to {most}");
            assert_eq!(set.unwrap_err(), told);
        }
    }
}
