# Every target works as the first command in a fresh clone: tools/setup finds or offers what is missing.

run    := tools/setup run
# In CI the lock file is law; elsewhere cargo may follow an edited Cargo.toml.
locked := $(if $(CI),--locked)

# The pure floors: no I/O, hence fast to build and to test.
floors := -p cellcc-units -p cellcc-fixed -p cellcc-control -p cellcc-schemes -p cellcc-link -p cellcc-assist -p cellcc-experiment

# The simulator alone, of crates that `make test` need not compile again.
demo := -p cellcc-cli --no-default-features --features as-tested

.DEFAULT_GOAL := help
.PHONY: help demo test test-fast lint fuzz docs site docs-check fresh-machine wheel clean

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | while IFS="$$(printf '\t')" read -r target text; do \
		printf '  make %-15s %s\n' "$$target" "$$text"; done

demo: ## Compare schemes on the synthetic links; prints the path of the report
	@tools/setup demo
	$(run) cargo run $(locked) $(demo) -- compare

test: ## Run the tests; CELLCC_PYTHON=skip leaves out those of the Python package
	@tools/setup test
	@tools/test

test-fast: ## Run the unit tests of the pure floors, in under 3 minutes
	@tools/setup build
	$(run) cargo test $(floors) --lib $(locked)

lint: ## Check formatting, the budgets of lines and of unclear sentences, compiler warnings, and the licences of what is linked
	@tools/setup lint
	@tools/size --check
	@tools/prose --check
	@tools/api --check
	$(run) cargo fmt --all --check
	$(run) cargo clippy --workspace --all-targets --features cellcc-cli/kernel $(locked) -- -D warnings
	$(run) cargo clippy -p cellcc-cli --all-targets $(locked) -- -D warnings
	$(run) cargo clippy -p cellcc-cli --no-default-features --all-targets $(locked) -- -D warnings
	$(run) tools/licences
	@! git log -n 20 --no-merges --format=%s | grep -E '.{73}' || { echo "these commits have subjects of more than 72 characters" >&2; exit 1; }

fuzz: ## Feed what reads files, notation and messages of others with random input, SECONDS=60 for each target
	@tools/setup fuzz
	@tools/fuzz $(SECONDS)

docs: ## Build the API documentation, warnings as errors
	@tools/setup build
	RUSTDOCFLAGS="-D warnings" $(run) cargo doc --workspace --no-deps --features cellcc-cli/kernel $(locked)

site: docs ## Build the documentation site into target/site/, readable without a network, and check its links; CLAIMS=FILE adds the claims.html of a `cellcc reproduce`
	@tools/setup site
	$(run) cargo build $(locked) $(demo)
	@tools/site/build.py $(if $(CLAIMS),--claims "$(CLAIMS)")

docs-check: ## Judge every claim of the papers and check every table of the documentation; needs CELLCC_TRACES, an hour
	@tools/setup build
	$(run) cargo run --release $(locked) --bin cellcc -- reproduce --docs

fresh-machine: ## Try demo and test on a Debian that has apt and make and nothing else; as root, half an hour
	@tools/fresh-machine

wheel: ## Build the Python package for publication, into target/wheels/
	@tools/setup wheel
	@tools/test-python prepare
	$(run) target/python/venv-tests/bin/maturin build --release $(locked) --manifest-path python/Cargo.toml --out target/wheels

clean: ## Remove what was built; results in cellcc-out/ stay
	$(run) cargo clean

# Until 1.0, targets that have gone print the command that took their place.
measure := cargo run --release -p cellcc-measure --
release := cargo build --release -p cellcc-cli --features kernel
moved = echo "make $@ is now: $(1)" >&2; exit 2

.PHONY: test-cluster train league bench bench-python bench-emulator bench-quic bench-quic-virtual bench-instructions packet-instructions \
	bench-kernel bench-netassist netassist-tree faults soak soak-netassist soak-kernel kernel-objects report-picture

test-cluster: ; @$(call moved,tools/setup cluster && tools/test cluster)
train league kernel-objects report-picture: ; @$(call moved,tools/$@)
bench: ; @$(call moved,$(measure) packets && $(measure) acks)
bench-python: ; @$(call moved,make wheel; target/python/venv-tests/bin/pip install --force-reinstall --no-deps target/wheels/*.whl; target/python/venv-tests/bin/python -P python/bench.py)
bench-emulator: ; @$(call moved,$(measure) emulator)
bench-quic: ; @$(call moved,$(measure) quic-cost loopback && $(measure) quic-cost rate)
bench-quic-virtual: ; @$(call moved,$(measure) quic-virtual time)
bench-instructions: ; @$(call moved,$(measure) instructions; also packet-stages; quic-virtual instructions)
packet-instructions: ; @$(call moved,cargo run --release -p cellcc-measure --no-default-features -- packet-instructions)
bench-kernel: ; @$(call moved,$(measure) kernel-cost)
bench-netassist: ; @$(call moved,$(measure) netassist)
netassist-tree: ; @$(call moved,$(measure) netassist-tree)
faults: ; @$(call moved,$(measure) faults quic; also rack; ack50k)
soak: ; @$(call moved,$(release) && $(measure) server-flood target/release/cellcc)
soak-netassist: ; @$(call moved,$(release) && $(measure) moving-users target/release/cellcc 10min)
soak-kernel: ; @$(call moved,$(measure) kernel-leaks)
