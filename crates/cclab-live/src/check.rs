//! What this machine can do for live runs, and how exact it is.

use crate::clock::Clock;
use crate::host::{Host, Interface};
use crate::relay::{Plan, Port, Relay};
use crate::run::{self, DESTINATION, SOURCE};
use crate::{Error, Result, fault, stamp, sys};
use cclab_algo::{Duration, Time};
use cclab_sim::net::{Log, Network};
use cclab_sim::scenario::Scenario;
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn, connect, recvmsg, send,
    setsockopt, socket, sockopt,
};
use nix::sys::time::{TimeSpec, TimeVal};
use serde_json::{Value as Json, json};
use std::fs;
use std::io::{self, IoSliceMut};
use std::os::fd::AsRawFd;

/// What there is, and for what there is not the reason.
pub fn check() -> Json {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default(); // before it may be in a user namespace
    let hosts = may_make_hosts().err().map(|e| e.to_string());
    let real_time = std::thread::spawn(|| sys::become_real_time(1)).join().unwrap_or(false);
    let read = |path: &str| fs::read_to_string(path).ok().map(|text| text.trim().to_string());
    json!({
        "kernel": stamp::kernel(),
        "processors": std::thread::available_parallelism().map_or(1, usize::from),
        "hosts": hosts,
        "capabilities": capabilities(&status),
        "real_time": real_time,
        "laws": run::laws(),
        "bpf": { "built": cfg!(feature = "bpf"), "btf": fs::exists("/sys/kernel/btf/vmlinux").unwrap_or(false) },
        "mptcp": read("/proc/sys/net/mptcp/enabled").is_some_and(|enabled| enabled == "1"),
    })
}

/// A host with one interface can be made; where this process may not, it may in a user namespace of its own, if it has but one
/// thread: then it is in one from now on.
///
/// # Errors
/// It can not.
pub fn may_make_hosts() -> Result<()> {
    let one = || Host::new(&[Interface { address: SOURCE, peer: DESTINATION, mtu: 1500 }], &Vec::new()).map(|_| ());
    match one() {
        Err(Error::Namespace(error)) if error.kind() == io::ErrorKind::PermissionDenied => {
            sys::own_user_namespace().map_err(|own| Error::User(error, own))?;
            one()
        }
        other => other,
    }
}

/// Those that matter here and that this process has, by name.
fn capabilities(status: &str) -> Vec<&'static str> {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let set = line.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0);
    let named = [("CAP_NET_ADMIN", 12), ("CAP_SYS_ADMIN", 21), ("CAP_SYS_NICE", 23), ("CAP_BPF", 39)];
    named.into_iter().filter(|(_, bit)| set >> bit & 1 == 1).map(|(name, _)| name).collect()
}

/// Round trips over an idle path of this RTT, 5 ms apart: an echo that the kernel answers, from before it is given to the kernel until
/// the kernel has the answer.
///
/// # Errors
/// As of a run; or an echo is missing.
pub fn round_trips(rtt: Duration, count: u64) -> Result<Vec<Duration>> {
    may_make_hosts()?;
    let text = format!(
        "duration = '1000 s'\nnetwork = {{ rate = '1 Gbit/s', rtt = '{} us' }}\nflows = [{{ kind = 'cbr', rate = '1 Mbit/s' }}]",
        rtt.0 / 1000
    );
    let scenario = Scenario::from_toml(&text).expect("it is right");
    let end = Time::ZERO + scenario.duration;
    let mut network = Network::new(&scenario.links, 1, (Time::ZERO, end), Log::default());
    let flow = &scenario.flows[0];
    let ends = [(SOURCE, DESTINATION, &flow.route), (DESTINATION, SOURCE, &flow.route_back)];
    let sysctls = vec![("ipv4/ping_group_range", "0 2147483647".to_string())];
    let (mut ports, mut hosts) = (Vec::new(), Vec::new());
    for (side, (address, peer, route)) in ends.into_iter().enumerate() {
        let (host, devices) = Host::new(&[Interface { address, peer, mtu: 1500 }], &sysctls)?;
        hosts.push(host);
        let (route, forward, to) = (network.add_route(route), side == 0, 1 - side);
        ports.extend(devices.into_iter().map(|device| Port { device, flow: 0, forward, route, to }));
    }
    let plan =
        Plan { network, ports, flows: vec![], mtu: 1500, warmup: Time::ZERO, end, samples: None, processor: None };
    let relay = Relay::start(plan, Clock::starting_in(0))?;
    let found = hosts[0].enter(|| echoes(count)).map_err(|e| fault("an echo", e));
    drop(relay);
    found
}

fn echoes(count: u64) -> io::Result<Vec<Duration>> {
    sys::become_real_time(10);
    let socket = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, SockProtocol::Icmp)?;
    setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
    setsockopt(&socket, sockopt::ReceiveTimeout, &TimeVal::new(2, 0))?;
    let [a, b, c, d] = DESTINATION.octets();
    connect(socket.as_raw_fd(), &SockaddrIn::new(a, b, c, d, 0))?;
    let mut found = Vec::new();
    for number in 0..count {
        std::thread::sleep(std::time::Duration::from_millis(5));
        let mut echo = [0_u8; 64];
        echo[0] = 8; // an echo request; its checksum is the kernel's (ICMP sockets)
        echo[6..8].copy_from_slice(&(number as u16).to_be_bytes());
        let sent = sys::real_ns();
        send(socket.as_raw_fd(), &echo, MsgFlags::empty())?;
        let mut space = nix::cmsg_space!(TimeSpec);
        let mut answer = [0_u8; 64];
        let mut into = [IoSliceMut::new(&mut answer)];
        let message = recvmsg::<()>(socket.as_raw_fd(), &mut into, Some(&mut space), MsgFlags::empty())?;
        for control in message.cmsgs()? {
            if let ControlMessageOwned::ScmTimestampns(at) = control {
                let came = at.tv_sec() as u64 * 1_000_000_000 + at.tv_nsec() as u64;
                found.push(Duration(came.saturating_sub(sent)));
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From `man 5 proc`, `man 7 capabilities`.
    #[test]
    fn capabilities_by_name() {
        assert_eq!(capabilities("Name:\tx\nCapEff:\t0000000000801000\n"), ["CAP_NET_ADMIN", "CAP_SYS_NICE"]);
        assert_eq!(capabilities("CapEff:\t000001ffffffffff\n").len(), 4);
        assert!(capabilities("").is_empty());
    }
}
