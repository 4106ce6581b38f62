//! System calls that nobody wraps, and all of the unsafe code.
#![expect(unsafe_code, reason = "these are system calls; each says why it is sound")]

use libc::{c_int, c_ulong, c_void, ifreq, sockaddr, sockaddr_in};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use std::ffi::CString;
use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::mem::{size_of, zeroed};
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// From `linux/if_tun.h`, which libc has under another type on some machines.
const TUNSETIFF: c_ulong = 0x4004_54ca;

fn checked(status: c_int) -> Result<c_int> {
    if status < 0 { Err(Error::last_os_error()) } else { Ok(status) }
}

/// A request about the interface of this name.
fn request(name: &str) -> ifreq {
    // SAFETY: an ifreq is plain numbers, of which zero is one.
    let mut request: ifreq = unsafe { zeroed() };
    for (to, from) in request.ifr_name[..libc::IFNAMSIZ - 1].iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request
}

/// A new TUN interface of this name in the namespace of this thread. What is read and written is one IP packet at a time.
pub fn tun(name: &str) -> Result<OwnedFd> {
    let device = File::options().read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun")?;
    let mut request = request(name);
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: the kernel reads and writes an ifreq, which outlives the call.
    checked(unsafe { libc::ioctl(device.as_raw_fd(), TUNSETIFF as _, &raw mut request) })?;
    Ok(device.into())
}

/// What is asked of an interface.
pub enum Ask {
    /// Its own address.
    Address(Ipv4Addr),
    /// That at the other end.
    Peer(Ipv4Addr),
    /// Largest IP packet, bytes.
    Mtu(u32),
    /// That it works.
    Up,
}

/// Changes an interface in the namespace of `socket`.
pub fn set_interface(socket: &impl AsRawFd, name: &str, ask: &Ask) -> Result<()> {
    let mut request = request(name);
    let address = |address: &Ipv4Addr| {
        // SAFETY: a sockaddr_in is plain numbers, and as long as a sockaddr.
        let mut inet: sockaddr_in = unsafe { zeroed() };
        inet.sin_family = libc::AF_INET as _;
        inet.sin_addr.s_addr = u32::from_ne_bytes(address.octets());
        // SAFETY: the same.
        unsafe { std::mem::transmute::<sockaddr_in, sockaddr>(inet) }
    };
    let what = match ask {
        Ask::Address(of) => {
            request.ifr_ifru.ifru_addr = address(of);
            libc::SIOCSIFADDR
        }
        Ask::Peer(of) => {
            request.ifr_ifru.ifru_dstaddr = address(of);
            libc::SIOCSIFDSTADDR
        }
        Ask::Mtu(bytes) => {
            request.ifr_ifru.ifru_mtu = *bytes as c_int;
            libc::SIOCSIFMTU
        }
        Ask::Up => {
            request.ifr_ifru.ifru_flags = libc::IFF_UP as libc::c_short;
            libc::SIOCSIFFLAGS
        }
    };
    // SAFETY: the kernel reads an ifreq, which outlives the call.
    checked(unsafe { libc::ioctl(socket.as_raw_fd(), what as _, &raw mut request) })?;
    Ok(())
}

/// What a socket of TCP tells of itself: `struct tcp_info` of `linux/tcp.h`. A kernel that is older leaves the end zero.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[expect(missing_docs, reason = "the names are the kernel's")]
pub struct TcpInfo {
    pub state: u8,
    pub ca_state: u8,
    pub retransmits: u8,
    pub probes: u8,
    pub backoff: u8,
    pub options: u8,
    pub wscale: u8,
    pub app_limited: u8,
    pub rto: u32,
    pub ato: u32,
    pub snd_mss: u32,
    pub rcv_mss: u32,
    pub unacked: u32,
    pub sacked: u32,
    pub lost: u32,
    pub retrans: u32,
    pub fackets: u32,
    pub last_data_sent: u32,
    pub last_ack_sent: u32,
    pub last_data_recv: u32,
    pub last_ack_recv: u32,
    pub pmtu: u32,
    pub rcv_ssthresh: u32,
    pub rtt: u32,
    pub rttvar: u32,
    pub snd_ssthresh: u32,
    pub snd_cwnd: u32,
    pub advmss: u32,
    pub reordering: u32,
    pub rcv_rtt: u32,
    pub rcv_space: u32,
    pub total_retrans: u32,
    pub pacing_rate: u64,
    pub max_pacing_rate: u64,
    pub bytes_acked: u64,
    pub bytes_received: u64,
    pub segs_out: u32,
    pub segs_in: u32,
    pub notsent_bytes: u32,
    pub min_rtt: u32,
    pub data_segs_in: u32,
    pub data_segs_out: u32,
    pub delivery_rate: u64,
    pub busy_time: u64,
    pub rwnd_limited: u64,
    pub sndbuf_limited: u64,
    pub delivered: u32,
    pub delivered_ce: u32,
    pub bytes_sent: u64,
    pub bytes_retrans: u64,
    pub dsack_dups: u32,
    pub reord_seen: u32,
    pub rcv_ooopack: u32,
    pub snd_wnd: u32,
    pub rcv_wnd: u32,
    pub rehash: u32,
    pub total_rto: u16,
    pub total_rto_recoveries: u16,
    pub total_rto_time: u32,
}

/// What the kernel tells of a connection.
pub fn tcp_info(socket: &impl AsRawFd) -> Result<TcpInfo> {
    let mut info = TcpInfo::default();
    let mut len = size_of::<TcpInfo>() as libc::socklen_t;
    let to = (&raw mut info).cast::<c_void>();
    // SAFETY: the kernel writes at most `len` bytes into numbers that may have any value.
    checked(unsafe { libc::getsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, to, &raw mut len) })?;
    Ok(info)
}

/// A new socket of MPTCP; it does not block.
pub fn mptcp_socket() -> Result<OwnedFd> {
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: the descriptor is new and nobody else's.
    unsafe { Ok(OwnedFd::from_raw_fd(checked(libc::socket(libc::AF_INET, kind, libc::IPPROTO_MPTCP))?)) }
}

/// The subflows that are told of at once, at most.
const SUBFLOWS: usize = 8;
const SOL_MPTCP: c_int = 284;
const MPTCP_TCPINFO: c_int = 2;
const MPTCP_SUBFLOW_ADDRS: c_int = 3;

/// `struct mptcp_subflow_data` of `linux/mptcp.h`, and a row for each subflow.
#[repr(C)]
#[derive(Clone, Copy)]
struct OfSubflows<T> {
    header: u32,
    count: u32,
    size_kernel: u32,
    size_user: u32,
    rows: [T; SUBFLOWS],
}

/// `struct mptcp_subflow_addrs`: room for any address, the local and the remote one; of `sockaddr_in` the address stands at byte 4.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Addresses([[u8; 128]; 2]);

fn of_subflows<T: Copy>(socket: &impl AsRawFd, name: c_int, blank: T) -> Result<Vec<T>> {
    let mut of =
        OfSubflows { header: 16, count: 0, size_kernel: 0, size_user: size_of::<T>() as u32, rows: [blank; SUBFLOWS] };
    let mut len = size_of::<OfSubflows<T>>() as libc::socklen_t;
    let to = (&raw mut of).cast::<c_void>();
    // SAFETY: the kernel writes at most `len` bytes into numbers that may have any value.
    checked(unsafe { libc::getsockopt(socket.as_raw_fd(), SOL_MPTCP, name, to, &raw mut len) })?;
    Ok(of.rows[..(of.count as usize).min(SUBFLOWS)].to_vec())
}

/// What the kernel tells of the subflows of a connection of MPTCP, each with its two addresses.
pub fn subflows(socket: &impl AsRawFd) -> Result<Vec<([Ipv4Addr; 2], TcpInfo)>> {
    let infos = of_subflows(socket, MPTCP_TCPINFO, TcpInfo::default())?;
    let addresses = of_subflows(socket, MPTCP_SUBFLOW_ADDRS, Addresses([[0; 128]; 2]))?;
    let of = |Addresses(both): Addresses| both.map(|b| Ipv4Addr::new(b[4], b[5], b[6], b[7]));
    Ok(addresses.into_iter().map(of).zip(infos).collect())
}

/// Sets an option of a socket that is a number of 32 or 64 bits.
pub fn set_option<T: Copy + Into<i64>>(socket: &impl AsRawFd, level: c_int, name: c_int, value: T) -> Result<()> {
    let from = (&raw const value).cast::<c_void>();
    // SAFETY: the kernel reads as many bytes as the number has.
    checked(unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, from, size_of::<T>() as libc::socklen_t) })?;
    Ok(())
}

/// Sets an option of a socket that is text.
pub fn set_text(socket: &impl AsRawFd, level: c_int, name: c_int, text: &str) -> Result<()> {
    let text = CString::new(text)?;
    let (from, len) = (text.as_ptr().cast::<c_void>(), text.as_bytes().len() as libc::socklen_t);
    // SAFETY: the kernel reads as many bytes as the text has.
    checked(unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, from, len) })?;
    Ok(())
}

/// The next connection that waits at `socket`; it does not block either.
pub fn accept(socket: &impl AsRawFd) -> Result<OwnedFd> {
    let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: no address is asked for; the descriptor is new and nobody else's.
    unsafe {
        let new = checked(libc::accept4(socket.as_raw_fd(), std::ptr::null_mut(), std::ptr::null_mut(), flags))?;
        Ok(OwnedFd::from_raw_fd(new))
    }
}

/// Most that are taken of one processor; who comes later stays on none.
const MOST_PLACES: usize = 64;

/// This thread goes before all that are not of real time, and wakes up when it asked to; whether it may.
pub fn become_real_time(priority: c_int) -> bool {
    let of = libc::sched_param { sched_priority: priority };
    // SAFETY: the kernel reads a sched_param, which outlives the calls.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1);
        libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &raw const of) == 0
    }
}

/// A place on a processor: who takes one after the other, in this process or in others, is on another processor until each has one.
/// An abstract socket's name says that it is taken, which the kernel gives free again when the process ends, however it ends.
#[derive(Debug)]
pub struct Place {
    /// The processor's number.
    pub processor: usize,
    _taken: UnixDatagram,
}

impl Place {
    /// On the first of those processors that this process may use which have the fewest places taken; `None` where it may not know
    /// them. Places of other names do not count, nor do those taken in other network namespaces, which do not see these.
    pub fn take(name: &str) -> Option<Place> {
        let may = sched_getaffinity(Pid::from_raw(0)).ok()?;
        let all: Vec<usize> = (0..CpuSet::count()).filter(|&processor| may.is_set(processor) == Ok(true)).collect();
        let places = (0..MOST_PLACES).flat_map(|round| all.iter().map(move |processor| (round, *processor)));
        for (round, processor) in places {
            let address = SocketAddr::from_abstract_name(format!("{name} {processor} {round}")).ok()?;
            match UnixDatagram::bind_addr(&address) {
                Ok(_taken) => return Some(Place { processor, _taken }),
                Err(error) if error.kind() == ErrorKind::AddrInUse => {}
                Err(_) => return None,
            }
        }
        None
    }
}

/// This thread stays on that processor; which it is, or `None` if that cannot be, and it may run anywhere.
pub fn stay_on(processor: usize) -> Option<usize> {
    let mut set = CpuSet::new();
    set.set(processor).and_then(|()| sched_setaffinity(Pid::from_raw(0), &set)).ok().map(|()| processor)
}

fn clock_ns(clock: libc::clockid_t) -> u64 {
    // SAFETY: a timespec is plain numbers.
    let mut now: libc::timespec = unsafe { zeroed() };
    // SAFETY: the kernel writes a timespec, which outlives the call.
    unsafe { libc::clock_gettime(clock, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The monotonic clock, ns.
pub fn monotonic_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

/// The time of day, ns.
pub fn real_ns() -> u64 {
    clock_ns(libc::CLOCK_REALTIME)
}

/// Puts this process, which has but one thread, into a user namespace of its own, where it may what concerns namespaces made there.
/// It stays who it is.
pub fn own_user_namespace() -> Result<()> {
    let (user, group) = (nix::unistd::getuid(), nix::unistd::getgid());
    nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWUSER)?;
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

/// What goes to any address leaves by this interface of the namespace of `socket`.
pub fn set_default_route(socket: &impl AsRawFd, interface: &str) -> Result<()> {
    let name = CString::new(interface)?;
    // SAFETY: an rtentry is plain numbers and pointers that may be null.
    let mut route: libc::rtentry = unsafe { zeroed() };
    route.rt_dst.sa_family = libc::AF_INET as _;
    route.rt_genmask.sa_family = libc::AF_INET as _;
    route.rt_flags = libc::RTF_UP;
    route.rt_dev = name.as_ptr().cast_mut();
    // SAFETY: the kernel reads an rtentry and the name, which outlive the call.
    checked(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCADDRT as _, &raw mut route) })?;
    Ok(())
}

/// `command`, started by a thread that has unshared its PID namespace, has a parent in that: the first process there, with which the
/// kernel takes away all others. It ends with the program, whose exit status it has, and with the thread. SIGTERM, and SIGINT
/// where it is sent SIGUSR1, it passes on to all.
pub fn contained(command: &mut Command) -> &mut Command {
    let divide = || {
        // SAFETY: between fork and exec there are system calls alone, and nothing is allocated.
        unsafe {
            checked(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
            match checked(libc::fork())? {
                0 => Ok(()),
                program => wait_for(program),
            }
        }
    };
    // SAFETY: as above.
    unsafe { command.pre_exec(divide) }
}

/// The rest of the life of the first process.
///
/// # Safety
/// Nobody else has open files or signals in this process.
unsafe fn wait_for(program: libc::pid_t) -> ! {
    extern "C" fn pass_on(signal: c_int) {
        // SAFETY: a system call; all but this process.
        unsafe { libc::kill(-1, if signal == libc::SIGUSR1 { libc::SIGINT } else { signal }) };
    }
    let pass_on = pass_on as *const () as libc::sighandler_t;
    // SAFETY: system calls; what the terminal says it says to the program, too.
    unsafe {
        libc::signal(libc::SIGINT, libc::SIG_IGN);
        libc::signal(libc::SIGQUIT, libc::SIG_IGN);
        libc::signal(libc::SIGTERM, pass_on);
        libc::signal(libc::SIGUSR1, pass_on);
        libc::syscall(libc::SYS_close_range, 3, u32::MAX, 0);
        loop {
            let mut status = 0;
            if libc::waitpid(-1, &raw mut status, 0) == program {
                let ended = libc::WIFEXITED(status);
                libc::_exit(if ended { libc::WEXITSTATUS(status) } else { 128 + libc::WTERMSIG(status) });
            }
        }
    }
}

/// Sends a signal to a child that nobody has waited for yet.
pub fn send_signal(child: u32, signal: c_int) {
    // SAFETY: a system call.
    unsafe { libc::kill(child as libc::pid_t, signal) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_stays_where_it_is_told() {
        let told = Place::take("test: stays").expect("this process knows where it may run").processor;
        let may = std::thread::spawn(move || {
            assert_eq!(stay_on(told), Some(told));
            sched_getaffinity(Pid::from_raw(0)).unwrap()
        });
        let may = may.join().unwrap();
        assert!((0..CpuSet::count()).all(|processor| may.is_set(processor) == Ok(processor == told)));
        assert_eq!(stay_on(CpuSet::count()), None, "there is no such processor");
    }

    /// Each processor once, then each a second time; and what is given back is the next that is taken.
    #[test]
    fn places_spread_over_the_processors() {
        let name = format!("test of {}", std::process::id());
        let take = || Place::take(&name).expect("this process knows where it may run");
        let count = std::thread::available_parallelism().unwrap().get();
        let mut rounds: Vec<Vec<Place>> = (0..2).map(|_| (0..count).map(|_| take()).collect()).collect();
        let processors = |round: &Vec<Place>| round.iter().map(|place| place.processor).collect::<Vec<_>>();
        let first = processors(&rounds[0]);
        assert!(first.is_sorted_by(|a, b| a < b), "{first:?}");
        assert_eq!(processors(&rounds[1]), first);
        let last = rounds[0].pop().unwrap().processor;
        assert_eq!(take().processor, last);
    }
}
