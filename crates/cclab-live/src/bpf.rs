//! Congestion controls of the user's own: BPF programs that the kernel's TCP calls, for as long as a run lasts.

use crate::{Result, fault};
use libbpf_rs::{Link, MapCore, MapType, Object, ObjectBuilder, PrintLevel, set_print};
use std::io::{Error, ErrorKind};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

/// The kernel's longest name, without its end.
const NAME: usize = 15;

/// A law that the kernel has as long as this lives; a connection that has begun with it keeps it.
pub struct Law {
    name: String,
    _link: Link,
    _object: Object,
}

impl Law {
    /// Loads a program and registers its law under a name that no other run has.
    ///
    /// # Errors
    /// It is no BPF object, it has not one `struct tcp_congestion_ops`, or the kernel refuses it.
    pub fn load(file: &Path) -> Result<Law> {
        let named = |what: &str| format!("{}: {what}", file.display());
        let failed = |what: &str| {
            let text = named(what);
            move |e: libbpf_rs::Error| {
                let said = complaint(&SAID.lock().unwrap_or_else(PoisonError::into_inner));
                fault(&text, Error::other(format!("{e}{said}")))
            }
        };
        listen();
        let mut object = ObjectBuilder::default().open_file(file).map_err(failed("is no BPF object"))?;
        let mut names = Vec::new();
        for mut map in object.maps_mut().filter(|map| map.map_type() == MapType::StructOps) {
            let Some(value) = map.initial_value_mut().filter(|value| value.len() > NAME) else { continue };
            names.push(rename(&mut value[..=NAME]));
        }
        let [name] = names.as_slice() else {
            let what =
                format!("has {} laws (struct tcp_congestion_ops in section .struct_ops.link), not one", names.len());
            return Err(fault(named(&what), Error::from(ErrorKind::InvalidData)));
        };
        let name = name.clone();
        let mut object = object.load().map_err(failed("the kernel does not take the program"))?;
        let law = object.maps_mut().find(|map| map.map_type() == MapType::StructOps);
        let link = law.expect("it was there before").attach_struct_ops();
        let link = link.map_err(failed("the kernel does not register the law"))?;
        Ok(Law { name, _link: link, _object: object })
    }

    /// What the kernel calls it.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Gives a law a name of its own in `field`, since names hold for the whole machine and registering one twice fails: what of its
/// name fits, the process, and a number; [`run::laws`](crate::run::laws) knows it by that.
fn rename(field: &mut [u8]) -> String {
    static LOADED: AtomicU32 = AtomicU32::new(0);
    let own = format!("_{:x}_{:x}", std::process::id(), LOADED.fetch_add(1, Ordering::Relaxed) & 0xfff);
    let given: String = field.iter().take_while(|byte| **byte != 0).map(|byte| char::from(*byte)).collect();
    let given = given.strip_prefix("bpf_").unwrap_or(&given);
    let name: String = given.chars().take(NAME - own.len()).chain(own.chars()).collect();
    field.fill(0);
    field[..name.len()].copy_from_slice(name.as_bytes());
    name
}

/// What libbpf said last, which says more than its errors; it would go to stderr.
static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn listen() {
    SAID.lock().unwrap_or_else(PoisonError::into_inner).clear();
    set_print(Some((PrintLevel::Warn, |_, text| {
        let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
        said.extend(text.lines().map(|line| line.trim_start_matches("libbpf: ").to_string()));
    })));
}

/// The end of the verifier's log, up to its statistics, or the last of what else was said.
fn complaint(said: &[String]) -> String {
    const LINES: usize = 20;
    let last = |lines: &[String], most: usize, with: &str| lines[lines.len().saturating_sub(most)..].join(with);
    if let Some(begin) = said.iter().position(|line| line.contains("BEGIN PROG LOAD LOG")) {
        let log = &said[begin + 1..];
        let end = log.iter().position(|line| line.starts_with("processed ") || line.contains("END PROG LOAD LOG"));
        return format!(":\n{}", last(&log[..end.unwrap_or(log.len())], LINES, "\n"));
    }
    if said.is_empty() { String::new() } else { format!(" ({})", last(said, 3, "; ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Linux 6.18 writes it, through libbpf.
    #[test]
    fn the_verifier_has_its_say() {
        let log = (0..30).map(|n| format!("{n}: (b7) r{} = 0", n % 10));
        let said: Vec<String> =
            ["prog 'init': BPF program load failed: -EACCES", "prog 'init': -- BEGIN PROG LOAD LOG --"]
                .map(String::from)
                .into_iter()
                .chain(log)
                .chain(
                    ["R0 !read_ok", "processed 31 insns (limit 1000000)", "-- END PROG LOAD LOG --"].map(String::from),
                )
                .chain(["prog 'init': failed to load: -EACCES", "failed to load object 'law.bpf.o'"].map(String::from))
                .collect();
        let told = complaint(&said);
        assert!(told.starts_with(":\n11: ") && told.ends_with("\nR0 !read_ok"), "{told}");
        assert_eq!(
            complaint(&said[said.len() - 2..]),
            " (prog 'init': failed to load: -EACCES; failed to load object 'law.bpf.o')"
        );
        assert_eq!(complaint(&[]), "");
    }
}
