# Every target works as the first command in a fresh clone: tools/setup finds or offers what is missing.

run    := tools/setup run
# In CI the lock file is law; elsewhere cargo may follow an edited Cargo.toml.
locked := $(if $(CI),--locked)

# The pure floors: no I/O, hence fast to build and to test.
floors := -p cellcc-units -p cellcc-fixed -p cellcc-control -p cellcc-schemes -p cellcc-link -p cellcc-assist -p cellcc-experiment

# The command with all that it has: the kernel's TCP is no default, as it needs headers.
command := -p cellcc-cli --features kernel

# What measures the simulator alone, without what the other measurements need.
simulator := --release $(locked) -p cellcc-measure --no-default-features --bin simulator

.DEFAULT_GOAL := help
.PHONY: help demo test test-fast test-cluster wheel train fresh-machine faults league bench bench-python bench-emulator bench-quic bench-quic-virtual bench-instructions packet-instructions bench-kernel bench-netassist netassist-tree fuzz soak soak-netassist soak-kernel kernel-objects lint docs docs-check site report-picture clean

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | while IFS="$$(printf '\t')" read -r target text; do \
		printf '  make %-15s %s\n' "$$target" "$$text"; done

demo: ## Compare schemes on the embedded links; prints the path of the report
	@tools/setup demo
	$(run) cargo run $(locked) -p cellcc-cli --no-default-features -- compare

test: ## Run the tests; CELLCC_PYTHON=skip leaves out those of the Python package
	@tools/setup test
	@tools/test

test-cluster: ## Run those of what runs on clusters as well: Ray, SLURM, and the notebooks
	@tools/setup cluster
	@tools/test cluster

fresh-machine: ## Try demo and test on a Debian that has apt and make and nothing else; as root, half an hour
	@tools/fresh-machine

wheel: ## Build the Python package for publication, into target/wheels/
	@tools/setup wheel
	@tools/test-python prepare
	$(run) target/python/venv-tests/bin/maturin build --release $(locked) --manifest-path python/Cargo.toml --out target/wheels

train: wheel ## Train a policy on synthetic links into target/policy.safetensors, and score it on others; under half an hour
	"$$(tools/setup python)" -m venv --clear target/python/venv-train
	target/python/venv-train/bin/pip install --quiet "$$(ls -t target/wheels/*.whl | head -n 1)[train]"
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 target/python/venv-train/bin/python python/training/train.py --out target/policy.safetensors
	target/python/venv-train/bin/python python/training/score.py target/policy.safetensors

test-fast: ## Run the unit tests of the pure floors, in under 3 minutes
	@tools/setup build
	$(run) cargo test $(floors) --lib $(locked)

bench: ## Measure the simulator's speed on this machine, and what an acknowledgement costs each scheme
	@tools/setup build
	$(run) cargo run $(simulator) -- packets
	$(run) cargo run $(simulator) -- acks

bench-quic-virtual: ## Measure QUIC in virtual time next to noq's protocol engine by itself
	@tools/setup build
	$(run) cargo run --release $(locked) -p cellcc-measure --bin quic_virtual -- time

packet-instructions: ## Count the instructions of a simulated packet, and fail if they are more than its bound; six seconds
	@tools/setup instructions
	$(run) cargo run $(simulator) -- packet-instructions

bench-instructions: packet-instructions ## Count it by stage, those of an acknowledgement of each scheme, and of QUIC in virtual time, with valgrind; half an hour
	$(run) cargo run $(simulator) -- packet-stages
	$(run) cargo run --release $(locked) -p cellcc-measure --bin quic_virtual -- instructions
	$(run) cargo run $(simulator) -- instructions

faults: ## Print what every scheme does under seventeen faults, of which docs/fidelity/faults.md gives the causes; a minute
	@tools/setup build
	$(run) cargo run --release $(locked) -p cellcc-measure --no-default-features --bin faults -- quic
	$(run) cargo run --release $(locked) -p cellcc-measure --no-default-features --bin faults -- rack
	$(run) cargo run --release $(locked) -p cellcc-measure --no-default-features --bin faults -- ack50k

league: ## Make docs/evidence/league.md, every scheme by every measure, with CELLCC=PROGRAM or one that it builds; needs CELLCC_TRACES, half an hour, less after an interruption
	@tools/setup instructions
	$(if $(CELLCC),,$(run) cargo build --release $(locked) $(command))
	CELLCC="$${CELLCC:-$${CARGO_TARGET_DIR:-target}/release/cellcc}" $(run) tools/league

bench-python: wheel ## Measure what a call from Python costs, and environments next to the engine alone; five minutes, nothing else running
	target/python/venv-tests/bin/pip install --quiet --force-reinstall --no-deps target/wheels/*.whl
	target/python/venv-tests/bin/python -P python/bench.py

bench-emulator: ## Measure the emulator on this machine: throughput, punctuality; half an hour, nothing else running
	@tools/setup test
	$(run) cargo run --release $(locked) -p cellcc-measure --bin emulator

bench-quic: ## Measure what a scheme costs in real QUIC on this machine; six minutes, nothing else running
	@tools/setup build
	$(run) cargo run --release $(locked) -p cellcc-measure --bin quic_cost -- loopback
	$(run) cargo run --release $(locked) -p cellcc-measure --bin quic_cost -- rate

bench-netassist: ## Measure how many reports NetAssist passes on, how late, and what a user costs, over QUIC and through NATS; a quarter of an hour, nothing else running
	@tools/setup build
	$(run) cargo run --release $(locked) -p cellcc-measure --bin netassist_throughput -- quic 1000 1 60 5
	$(run) cargo run --release $(locked) -p cellcc-measure --bin netassist_throughput -- nats 1000 1 60 5
	for users in 5000 10000 20000; do for transport in quic nats; do \
		$(run) cargo run --release $(locked) -p cellcc-measure --bin netassist_throughput -- $$transport $$users 1 20 1 || exit; done; done
	for servers in 2 4 8; do for transport in quic nats; do \
		$(run) cargo run --release $(locked) -p cellcc-measure --bin netassist_throughput -- $$transport 1000 $$servers 20 1 || exit; done; done

netassist-tree: ## Print what NetAssist needs for ten million users, and how a region comes back, the tables of docs/evidence/netassist.md; under a minute
	@tools/setup build
	$(run) cargo run --release $(locked) -p cellcc-measure --bin netassist_tree

fuzz: ## Feed what reads files, notation and messages of others with random input, SECONDS=60 for each target
	@tools/setup fuzz
	@tools/fuzz $(SECONDS)

soak: ## Flood a server with connections, and fail if it takes too much memory; under ten minutes
	@tools/setup build
	$(run) cargo build --release $(locked) $(command)
	$(run) cargo run --release $(locked) -p cellcc-measure --bin server_flood -- "$${CARGO_TARGET_DIR:-target}/release/cellcc"

soak-netassist: ## Move three users between two daemons for ten minutes, and fail if a flow is lost, a server hears too late or memory grows; as root
	@tools/setup test
	$(run) cargo build --release $(locked) $(command)
	$(run) cargo run --release $(locked) -p cellcc-measure --bin moving_users -- "$${CARGO_TARGET_DIR:-target}/release/cellcc" 10min

bench-kernel: ## Measure what the schemes in the kernel's TCP cost; as root, under ten minutes, nothing else running
	@tools/setup build
	$(run) cargo run --release $(locked) -p cellcc-measure --bin kernel_cost

soak-kernel: ## Load, unload and connect thousands of times, and fail if anything stays in the kernel; as root, five minutes, nothing else running
	@tools/setup build
	$(run) cargo run --release $(locked) -p cellcc-measure --bin kernel_leaks

kernel-objects: ## Build the eBPF objects of crates/kernel again; fetches compilers from Debian 12 into target/
	@tools/kernel-objects

lint: ## Check formatting, compile with warnings as errors, and check the licences of what is linked
	@tools/setup lint
	$(run) cargo fmt --all --check
	$(run) cargo clippy --workspace --all-targets --features cellcc-cli/kernel $(locked) -- -D warnings
	$(run) cargo clippy -p cellcc-cli $(locked) -- -D warnings
	$(run) cargo clippy -p cellcc-cli --no-default-features $(locked) -- -D warnings
	$(run) tools/licences

docs: ## Build the API documentation, warnings as errors
	@tools/setup build
	RUSTDOCFLAGS="-D warnings" $(run) cargo doc --workspace --no-deps --features cellcc-cli/kernel $(locked)

site: docs ## Build the documentation site into target/site/, readable without a network, and check its links; CLAIMS=FILE adds the claims.html of a `cellcc reproduce`
	@tools/setup site
	$(run) cargo build $(locked) -p cellcc-cli --no-default-features
	@tools/site/build.py $(if $(CLAIMS),--claims "$(CLAIMS)")

report-picture: ## Take README's picture of the report again, docs/figures/report.png, with chromium
	@tools/setup demo
	rm -rf target/picture
	$(run) cargo run $(locked) -p cellcc-cli --no-default-features -- compare --quiet --out target/picture
	chromium --headless --no-sandbox --hide-scrollbars --window-size=1000,1440 --virtual-time-budget=5000 \
		--screenshot=docs/figures/report.png "file://$(CURDIR)/target/picture/report.html"

docs-check: ## Judge every claim of the papers and check every table of the documentation; needs CELLCC_TRACES, an hour
	@tools/setup build
	$(run) cargo run --release $(locked) --bin cellcc -- reproduce --docs

clean: ## Remove what was built; results in cellcc-out/ stay
	$(run) cargo clean
