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
use std::process::Command;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;

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

    /// Starts a program inside this host, in a PID namespace of its own: with the program ends everything that it started.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn spawn(&self, mut command: Command) -> io::Result<Program> {
        let namespace = self.namespace.try_clone()?;
        let ((tell, told), (end, ended)) = (channel(), channel());
        let mut start = move || {
            setns(&namespace, CloneFlags::CLONE_NEWNET)?;
            unshare(CloneFlags::CLONE_NEWPID)?;
            sys::contained(&mut command).spawn()
        };
        // (a thread that stays: the program ends when its parent does, and that is a thread)
        let thread = std::thread::Builder::new().name("program".into()).spawn(move || match start() {
            Ok(mut child) => {
                let _ = tell.send(Ok(child.id()));
                let status = child.wait().ok().and_then(|status| status.code());
                let _ = end.send(status.unwrap_or(128 + libc::SIGKILL)); // it dies of that alone
            }
            Err(error) => {
                let _ = tell.send(Err(error));
            }
        })?;
        let id = told.recv().expect("the thread tells")?;
        Ok(Program { id, ended, thread: Some(thread) })
    }

    /// Whether somebody in it waits for connections or datagrams.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub fn listens(&self) -> io::Result<bool> {
        let read = |name: &str| std::fs::read_to_string(format!("/proc/thread-self/net/{name}"));
        let names = ["tcp", "tcp6", "udp", "udp6"];
        let tables = self
            .enter(|| names.into_iter().map(|name| read(name).or(Ok(String::new()))).collect::<io::Result<Vec<_>>>())?;
        Ok(tables.iter().any(|table| has_listener(table)))
    }

    /// Makes its first interface the way to everywhere.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn add_default_route(&self) -> io::Result<()> {
        self.enter(|| sys::set_default_route(&UdpSocket::bind("0.0.0.0:0")?, "tun0"))
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

/// A program in a host, killed with all that it started when this is dropped.
#[derive(Debug)]
pub struct Program {
    id: u32,
    ended: Receiver<i32>,
    thread: Option<JoinHandle<()>>,
}

impl Program {
    /// Waits until it ends, but no longer than this; its exit status, 128 and the signal if that killed it. Told once.
    pub fn wait(&self, longest: std::time::Duration) -> Option<i32> {
        self.ended.recv_timeout(longest).ok()
    }

    /// Asks all of it to be interrupted, or to end.
    pub fn tell(&self, to: Tell) {
        self.send(if to == Tell::Interrupt { libc::SIGUSR1 } else { libc::SIGTERM });
    }

    fn send(&self, signal: i32) {
        if self.thread.as_ref().is_some_and(|thread| !thread.is_finished()) {
            sys::send_signal(self.id, signal);
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.send(libc::SIGKILL);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What a program is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tell {
    /// As Ctrl-C does (SIGINT).
    Interrupt,
    /// SIGTERM.
    End,
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

/// Whether a table of `/proc/net` has a TCP socket that listens, or a UDP socket bound to a port that the kernel did not choose.
fn has_listener(table: &str) -> bool {
    let is_one = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let port = fields.get(1)?.rsplit_once(':')?.1;
        Some(match *fields.get(3)? {
            "0A" => true,
            "07" => u16::from_str_radix(port, 16).ok()? < 32_768,
            _ => false,
        })
    };
    table.lines().skip(1).any(|line| is_one(line) == Some(true))
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
    fn who_listens() {
        let table = |port: &str, state: &str| {
            format!(
                "  sl  local_address rem_address   st tx_queue\n   0: 02004D0A:{port} 00000000:0000 {state} 00000000:00000000\n"
            )
        };
        assert!(has_listener(&table("1F40", "0A")), "TCP, LISTEN");
        assert!(!has_listener(&table("1F40", "01")), "connected");
        assert!(has_listener(&table("0009", "07")), "UDP");
        assert!(!has_listener(&table("C350", "07")), "an ephemeral port");
        assert!(!has_listener("  sl  local_address rem_address   st\n"));
    }

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
