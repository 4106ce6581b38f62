//! An end host: a network namespace with TUN interfaces, made by a thread that is thrown away.
//!
//! It has no name. Descriptors keep it alive, and the kernel takes it away with the process, whatever ends that.

use crate::netlink;
use crate::sys::{self, Ask};
use crate::{Error, Result, fault};
use nix::sched::{CloneFlags, setns, unshare};
use std::fs::File;
use std::io::{self, Read, Seek};
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::OwnedFd;
use std::process::{Child, Command};
use std::sync::Mutex;

/// One end of a wire that somebody else lays.
#[derive(Clone, Copy, Debug)]
pub struct Interface {
    /// Its address.
    pub address: Ipv4Addr,
    /// The address at the other end, the only one that is reached through it.
    pub peer: Ipv4Addr,
    /// The largest IP packet, bytes.
    pub mtu: u32,
}

/// What is written under `/proc/sys/net` of a host, `/` between the parts of a name.
pub type Sysctls = Vec<(&'static str, String)>;

/// An end host.
#[derive(Debug)]
pub struct Host {
    namespace: File,
    /// What the kernel counts of TCP, and of the interfaces.
    netstat: Mutex<File>,
    dev: Mutex<File>,
}

/// Packets that wait for the relay: a queue that nobody sees and that is never to be full.
const QUEUE_LENGTH: u32 = 10_000;

impl Host {
    /// A host with these interfaces, which are called `tun0` and so on, and the device of each.
    ///
    /// # Errors
    /// This process may not make one, or the kernel refuses a sysctl.
    pub fn new(interfaces: &[Interface], sysctls: &Sysctls) -> Result<(Host, Vec<OwnedFd>)> {
        aside(|| {
            unshare(CloneFlags::CLONE_NEWNET).map_err(|e| Error::Namespace(e.into()))?;
            for (name, value) in sysctls {
                let path = format!("/proc/sys/net/{name}");
                std::fs::write(&path, value).map_err(|e| fault(format!("{path} = {value}"), e))?;
            }
            let control = UdpSocket::bind("0.0.0.0:0").map_err(|e| fault("a socket", e))?;
            let ask = |name: &str, ask: Ask| {
                sys::set_interface(&control, name, &ask).map_err(|e| fault(format!("interface {name}"), e))
            };
            ask("lo", Ask::Up)?;
            let mut devices = Vec::new();
            for (number, interface) in interfaces.iter().enumerate() {
                let name = format!("tun{number}");
                devices.push(sys::tun(&name).map_err(Error::Tun)?);
                ask(&name, Ask::Mtu(interface.mtu))?;
                netlink::set_queue_length(&name, QUEUE_LENGTH).map_err(|e| fault(format!("queue of {name}"), e))?;
                ask(&name, Ask::Address(interface.address))?;
                ask(&name, Ask::Peer(interface.peer))?;
                ask(&name, Ask::Up)?;
            }
            let open = |path: &str| File::open(path).map_err(|e| fault(path, e));
            let host = Host {
                namespace: open("/proc/thread-self/ns/net")?,
                netstat: Mutex::new(open("/proc/thread-self/net/netstat")?),
                dev: Mutex::new(open("/proc/thread-self/net/dev")?),
            };
            Ok((host, devices))
        })
    }

    /// What `make` gives inside this host: sockets stay where they were opened.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn enter<T: Send>(&self, make: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        aside(|| {
            setns(&self.namespace, CloneFlags::CLONE_NEWNET)?;
            make()
        })
    }

    /// Starts a program inside this host.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        self.enter(|| command.spawn())
    }

    /// Packets that its interfaces had no room for.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub fn dropped(&self) -> io::Result<u64> {
        Ok(tx_dropped(&read(&self.dev)?))
    }

    /// One of the kernel's counters of TCP, such as `TCPSackRecovery`; zero where it has none of this name.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub fn count(&self, names: &[&str]) -> io::Result<u64> {
        Ok(counters(&read(&self.netstat)?, names))
    }
}

/// Runs `make` in a thread of its own, which is thrown away together with the namespace it was in.
fn aside<T: Send>(make: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| scope.spawn(make).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
}

fn read(file: &Mutex<File>) -> io::Result<String> {
    let mut file = file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut text = String::new();
    file.rewind()?;
    file.read_to_string(&mut text)?;
    Ok(text)
}

/// The packets dropped on their way out, of all interfaces in `/proc/net/dev`.
fn tx_dropped(dev: &str) -> u64 {
    let of_line = |line: &str| line.split_once(':')?.1.split_whitespace().nth(11)?.parse::<u64>().ok();
    dev.lines().filter_map(of_line).sum()
}

/// The sum of these counters in `/proc/net/netstat`, where a line of names stands above one of values.
fn counters(netstat: &str, names: &[&str]) -> u64 {
    let lines: Vec<&str> = netstat.lines().collect();
    let pairs = lines.chunks_exact(2).flat_map(|pair| pair[0].split_whitespace().zip(pair[1].split_whitespace()));
    pairs.filter(|(name, _)| names.contains(name)).filter_map(|(_, value)| value.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_counts() {
        let dev = "Inter-|   Receive                                                |  Transmit\n \
                    face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n    \
                    lo:       0       0    0    7    0     0          0         0        0       0    0    0    0     0       0          0\n  \
                    tun0: 1062168   16052    0    0    0     0          0         0 46262016   31000    0   12    0     0       0          0\n";
        assert_eq!(tx_dropped(dev), 12);
        let netstat =
            "TcpExt: SyncookiesSent TCPRenoRecovery TCPSackRecovery\nTcpExt: 1 2 30\nIpExt: InNoRoutes\nIpExt: 5\n";
        assert_eq!(counters(netstat, &["TCPRenoRecovery", "TCPSackRecovery"]), 32);
    }
}
