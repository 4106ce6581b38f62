//! Which congestion controls there are: those built in, and those registered at run time.

use super::*;
use crate::params::{self, Given, Params, Spec};
use std::sync::{PoisonError, RwLock};

/// Every congestion control there is, in the order in which `cclab list algorithms` shows them.
pub static REGISTRY: &[Entry] = &[
    // Reno's law; the others are names for its recoveries
    tahoe::ENTRY,
    reno::ENTRY,
    newreno::ENTRY,
    sack::ENTRY,
    // loss-based, for large windows
    cubic::ENTRY,
    bic::ENTRY,
    hstcp::ENTRY,
    scalable::ENTRY,
    htcp::ENTRY,
    illinois::ENTRY,
    compound::ENTRY,
    // by delay
    vegas::ENTRY,
    fast::ENTRY,
    veno::ENTRY,
    westwood::ENTRY,
    yeah::ENTRY,
    hybla::ENTRY,
    lp::ENTRY,
    ledbat::ENTRY,
    santa_cruz::ENTRY,
    // by a model of the path
    copa::ENTRY,
    bbr::ENTRY,
    bbr3::ENTRY,
    vivace::ENTRY,
    // by explicit signals
    dctcp::ENTRY,
    prague::ENTRY,
    anti_ecn::ENTRY,
    xcp::ENTRY,
    muzha::ENTRY,
    muzha::ENTRY_1,
    // for ad hoc networks: told of the route
    tcp_f::ENTRY,
    elfn::ENTRY,
    atcp::ENTRY,
    bus::ENTRY,
    cwl::ENTRY,
    few::ENTRY,
    // for several paths: their subflows are coupled
    lia::ENTRY,
    olia::ENTRY,
    balia::ENTRY,
    wvegas::ENTRY,
    cbbr::ENTRY,
    cmpbbr::ENTRY,
];

/// A congestion control as the registry knows it.
#[derive(Clone, Copy)]
pub struct Entry {
    /// Name in scenario files; the file and the docs page have the same.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Paper or RFC, and what we follow where Linux differs.
    pub source: &'static str,
    /// Parameters.
    pub params: &'static [Spec],
    /// Makes the law of a new connection.
    pub build: Build,
}

/// How a law is made.
#[derive(Clone, Copy)]
pub enum Build {
    /// It is Rust.
    Native(Native),
    /// It is Rust, and made for connections of several paths: it listens to its siblings.
    Coupled(Native),
    /// It is written in a language whose interpreter runs it, and is registered at run time.
    Interpreted(&'static Interpreted),
    /// It is a program for the kernel's TCP, in a file: only a kernel runs it.
    Kernel,
}

/// What makes a law that is Rust.
pub type Native = fn(&Context, &Params) -> Box<dyn CongestionControl>;

/// What makes a law that an interpreter runs.
pub type Interpreted = dyn Fn(&Context, &Params) -> Box<dyn CongestionControl> + Send + Sync;

impl Entry {
    /// Builds the law from parameters as written.
    ///
    /// # Errors
    /// A parameter it does not have, a value out of bounds; or it is a program for the kernel.
    pub fn make(&self, cx: &Context, given: &[(String, Given)]) -> Result<Box<dyn CongestionControl>, params::Error> {
        let params = Params::resolve(self.params, given, cx.flavour)?;
        Ok(match self.build {
            Build::Native(build) | Build::Coupled(build) => build(cx, &params),
            Build::Interpreted(build) => build(cx, &params),
            Build::Kernel => return Err(params::Error::Kernel(self.name)),
        })
    }

    /// What flows with it are called: its name; of a program for the kernel that of its file, without folder and ending.
    pub fn label(&self) -> &'static str {
        let Some(file) = self.name.strip_prefix(PROGRAM) else { return self.name };
        let last = file.rsplit('/').next().unwrap_or(file);
        last.split('.').find(|part| !part.is_empty()).unwrap_or(last)
    }

    /// Whether it couples the paths of a connection.
    pub fn is_coupled(&self) -> bool {
        matches!(self.build, Build::Coupled(_))
    }

    /// Whether only a kernel runs it.
    pub fn needs_kernel(&self) -> bool {
        matches!(self.build, Build::Kernel)
    }

    /// Whether a run with it needs another language's interpreter.
    pub fn needs_interpreter(&self) -> bool {
        matches!(self.build, Build::Interpreted(_))
    }
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// Laws that were registered at run time, in that order. They live as long as the process.
static ADDED: RwLock<Vec<&'static Entry>> = RwLock::new(Vec::new());

/// All laws: those built in, then those registered at run time.
pub fn all() -> Vec<&'static Entry> {
    let added = ADDED.read().unwrap_or_else(PoisonError::into_inner);
    REGISTRY.iter().chain(added.iter().copied()).collect()
}

/// How the name of a program for the kernel begins; its file follows.
pub const PROGRAM: &str = "bpf:";

/// Programs for the kernel that a scenario named.
static PROGRAMS: RwLock<Vec<&'static Entry>> = RwLock::new(Vec::new());

/// The program for the kernel in a file, by its whole name. It lives as long as the process.
fn program(name: &str) -> &'static Entry {
    let mut known = PROGRAMS.write().unwrap_or_else(PoisonError::into_inner);
    if let Some(entry) = known.iter().find(|e| e.name == name) {
        return entry;
    }
    let entry: &'static Entry = Box::leak(Box::new(Entry {
        name: String::from(name).leak(),
        summary: "a program for the kernel's TCP",
        source: "its file",
        params: &[],
        build: Build::Kernel,
    }));
    known.push(entry);
    entry
}

/// The registered congestion control called `name`, or the program for the kernel that it names.
pub fn find(name: &str) -> Option<&'static Entry> {
    if name.strip_prefix(PROGRAM).is_some_and(|file| !file.is_empty()) {
        return Some(program(name));
    }
    let built_in = REGISTRY.iter().find(|e| e.name == name);
    let added = || ADDED.read().unwrap_or_else(PoisonError::into_inner).iter().copied().find(|e| e.name == name);
    built_in.or_else(added)
}

/// Adds a law under a name of its own, or puts it in the place of one that was added under the same name before; the
/// scenarios that were read before keep theirs.
///
/// # Errors
/// The name is that of a built-in law.
pub fn register(entry: Entry) -> Result<(), NameTaken> {
    if REGISTRY.iter().any(|e| e.name == entry.name) {
        return Err(NameTaken(entry.name));
    }
    let entry: &'static Entry = Box::leak(Box::new(entry));
    let mut added = ADDED.write().unwrap_or_else(PoisonError::into_inner);
    match added.iter_mut().find(|e| e.name == entry.name) {
        Some(old) => *old = entry,
        None => added.push(entry),
    }
    Ok(())
}

/// A built-in law has this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is the name of a built-in congestion control; choose another")]
pub struct NameTaken(pub &'static str);
