# make demo    sets everything up (the first time it builds the simulator, for minutes) and reproduces the Santa Cruz study; ends with a table and the path of its page
# make test    sets up what it needs and runs every test, Rust and Python
# make lint    formatting, lints and types;  make check = lint + test
# make bpf     the congestion controls in bpf/ for live runs, into target/bpf; needs clang and the headers of libbpf
# make wheel   a wheel for pip install, in target/dist
# make docs    the pages that are made from the code, and the site of all of them: site/index.html, readable without a network
# make bench   the simulator's speed, beside ns-2 and ns-3 where they are installed
# Everything stays inside this folder: .uv (the installer, where there is none), .venv, target, out.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
UV := $(or $(shell command -v uv 2>/dev/null),$(CURDIR)/.uv/bin/uv)
RUN := $(UV) run --locked --quiet
CARGO := cargo

export UV_COMPILE_BYTECODE := 1
export UV_PROJECT_ENVIRONMENT := $(CURDIR)/.venv
# A Python that is not there is an error to tell, not a thing to install outside this folder.
export UV_PYTHON_DOWNLOADS := never
# Do not wander off to other interpreters or environments.
unexport VIRTUAL_ENV
unexport PYTHONPATH

# BPF laws in live runs: built in where the headers of libelf and zlib are.
export MATURIN_PEP517_ARGS := $(shell pkg-config --exists libelf zlib 2>/dev/null && echo --features bpf)

.PHONY: help setup wheel demo test test-rust built-tests test-python lint check docs site bench bpf clean
help:
	@sed -n '1,/^$$/s/^# //p' Makefile

needs = command -v $(1) >/dev/null || { echo "error: there is no $(1) to build with; install $(2)" >&2; exit 1; }

$(CURDIR)/.uv/bin/uv:
	@$(call needs,$(PYTHON),Python 3.11 or newer)
	$(PYTHON) -m venv $(CURDIR)/.uv
	$(CURDIR)/.uv/bin/pip install --quiet --disable-pip-version-check "uv>=0.5,<1"

# The compiled core, and what an edit to builds it again (pyproject.toml, [tool.uv] cache-keys).
CORE := python/cclab/_core.abi3.so
# A pattern A/**/B is B anywhere below A, which neither make's wildcards nor macOS's bash know.
KEYS := $(shell sed -n 's/^    { file = "\(.*\)" },$$/\1/p' pyproject.toml)
SOURCES := $(foreach key,$(KEYS),$(if $(findstring /**/,$(key)),$(shell find $(subst /**/, -type f -name ',$(key))'),$(wildcard $(key))))
RUST := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

# uv does not see that the core is gone, as after `git clean`.
SYNC = $(UV) sync --locked $(if $(wildcard $(CORE)),,--reinstall-package cclab)
setup: $(UV) $(CORE)
	@$(SYNC) --quiet || $(SYNC)
	@touch -c $(CORE)

# uv builds it; here stands what is to be known before.
$(CORE): $(SOURCES)
	@$(call needs,cargo,Rust $(RUST) or newer: https://rustup.rs)
	@$(call needs,cc,a C compiler: gcc or clang)
	@here=$$($(CARGO) --version | cut -d' ' -f2); [ "$$(printf '%s\n' $(RUST) $$here | sort -V | head -1)" = $(RUST) ] || \
		{ echo "error: Rust $$here is too old to build with; install Rust $(RUST) or newer: https://rustup.rs" >&2; exit 1; }
	@echo "Building the simulator$(if $(wildcard .venv),, and setting up .venv): some three to six minutes of processor time." >&2

# Without BPF, which loads libelf. That it loads nothing else that is not everywhere, and how old the C library may be, Maturin checks.
wheel: $(UV)
	@rm -rf target/dist
	MATURIN_PEP517_ARGS="--compatibility pypi" $(UV) build --wheel --quiet --out-dir target/dist

demo: setup
	$(RUN) cclab reproduce santa-cruz --out out/santa-cruz

test: test-rust test-python

# Optimised, with every check of a debug build (Cargo.toml); of the metamorphic tests thirty times as much as `cargo test` tries.
RUST_TESTS := $(CARGO) test --workspace --exclude cclab-py --profile checked --locked
test-rust:
	CCLAB_WORLDS=10000 $(RUST_TESTS)

# For .ci/run, which compiles them while the core is linked.
built-tests:
	@$(RUST_TESTS) --no-run --quiet

test-python: setup $(if $(shell command -v clang),bpf)
	$(RUN) pytest -n auto --dist loadfile -m "not real_time"
	$(RUN) pytest -m real_time

lint: setup
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --profile checked --locked -- -D warnings
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) mypy

check: lint test

# The pages made from what is registered, from what columns and events say of themselves, and of what was compared; what the
# commands of the tutorial and the gallery print, and its pictures.
docs: setup
	$(RUN) cclab list --markdown > docs/models/README.md
	$(RUN) cclab list validation --markdown > docs/validation/README.md
	$(RUN) cclab list columns --markdown > docs/reference/columns.md
	$(RUN) cclab list events --markdown > docs/reference/events.md
	$(RUN) python docs/site/sessions.py docs/tutorial.md docs/gallery.md
	@$(MAKE) --no-print-directory site

site: setup
	NO_MKDOCS_2_WARNING=1 $(RUN) mkdocs build --strict

BPF := $(patsubst bpf/%.c,target/bpf/%.o,$(wildcard bpf/*.bpf.c))
bpf: $(BPF)
target/bpf/%.bpf.o: bpf/%.bpf.c bpf/tcp.h
	@mkdir -p target/bpf
	clang -O2 -g -Wall -target bpf -I/usr/include/$(shell gcc -dumpmachine) -c $< -o $@

bench: setup
	$(RUN) cclab bench --peers

clean:
	rm -rf .venv .uv target out site
