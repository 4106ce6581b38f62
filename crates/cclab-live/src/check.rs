//! What this machine can do for live runs.

use crate::host::Host;
use crate::run;
use crate::sys;
use serde_json::{Value as Json, json};

/// What there is, and for what there is not the reason.
pub fn check() -> Json {
    let hosts = Host::new(&[], &Vec::new()).map(|_| ()).map_err(|e| e.to_string());
    let real_time = std::thread::spawn(|| sys::become_real_time(1)).join().unwrap_or(false);
    let tun = std::fs::File::options().read(true).write(true).open("/dev/net/tun").map_err(|e| e.to_string());
    json!({
        "kernel": crate::stamp::kernel(),
        "namespaces": hosts.err(),
        "tun": tun.err(),
        "real_time": real_time,
        "laws": run::laws(),
    })
}
