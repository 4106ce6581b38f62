//! The live backend: end hosts are network namespaces of this very kernel, and between them stand the links of the simulator, driven
//! by the wall clock. Linux only; elsewhere this crate is empty.
//!
//! ```text
//!  sys        system calls that nobody wraps, and all unsafe code
//!  netlink    what else the kernel is told
//!  clock      the wall clock as the time of a run
//!  ip         what is read and written of a packet's headers
//!  host       an end host: a namespace, its interfaces
//!  watch      what is measured of a flow on its way
//!  relay      the thread between the hosts: devices, the network, a timer
//!  transfer   the thread of the senders and receivers
//!  stamp      how good a run was
//!  bpf        laws of the user's own, in the kernel (feature `bpf`)
//!  run        a scenario, from its hosts to its tables
//!  emulate    any programs in the place of its senders and receivers
//! ```
//!
//! Nothing here has a name in the file system, and the hosts end with the process.
#![cfg(target_os = "linux")]

#[cfg(feature = "bpf")]
pub mod bpf;
pub mod check;
pub mod clock;
pub mod emulate;
pub mod host;
mod ip;
mod netlink;
pub mod relay;
pub mod run;
pub mod stamp;
mod sys;
pub mod transfer;
pub mod watch;

pub use emulate::Emulation;
pub use host::{Host, Interface, Program, Sysctls, Tell};
pub use run::Run;
pub use stamp::Stamp;
pub use sys::TcpInfo;

use std::io;

/// Why a live run is not to be had.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// This process may not make a network namespace.
    #[error(
        "this process may not make network namespaces ({0}); it needs CAP_SYS_ADMIN and CAP_NET_ADMIN, or user namespaces"
    )]
    Namespace(io::Error),
    /// Nor a user namespace in which it might.
    #[error(
        "this process may not make network namespaces ({0}), nor a user namespace to make them in ({1}; it takes a process with one thread, \
         as the command cclab is)"
    )]
    User(io::Error, io::Error),
    /// There is no TUN device, or this process may not use it.
    #[error("/dev/net/tun cannot be used ({0}); it needs the kernel's TUN driver and leave to open it")]
    Tun(io::Error),
    /// A system call failed.
    #[error("{what}: {error}")]
    System {
        /// What was asked for.
        what: String,
        /// What the kernel said.
        error: io::Error,
    },
    /// A program cannot be started, or does not stay.
    #[error("{program}: {error}")]
    Program {
        /// Its command.
        program: String,
        /// What was wrong.
        error: String,
    },
    /// A flow never had its connection, or lost it.
    #[error("flow {flow}: {error}")]
    Connection {
        /// Label of the flow.
        flow: String,
        /// What the kernel said.
        error: String,
    },
    /// The run is worth nothing.
    #[error("this machine could not keep up: {0}; run it again when less else is running, or at a lower rate")]
    Stamp(String),
}

/// What everything here returns.
pub type Result<T> = std::result::Result<T, Error>;

fn fault(what: impl Into<String>, error: impl Into<io::Error>) -> Error {
    Error::System { what: what.into(), error: error.into() }
}
