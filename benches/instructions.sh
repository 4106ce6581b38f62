#!/bin/sh
# Instructions that serving the events of a case takes (valgrind): benches/instructions.sh flows-100 adhoc-field-100 ...
# The cases are those of crates/cclab-sim/examples/speed.rs.
set -e
cd "$(dirname "$0")/.."
cargo build -q --release -p cclab-sim --example speed
for case in "$@"; do
    valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect='*Simulation::advance*' \
        "${CARGO_TARGET_DIR:-target}/release/examples/speed" "$case" 2>&1 | grep -E "^$case|transmissions|Collected"
done
