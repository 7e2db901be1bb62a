# The README's two commands are `make demo` and `make test`. What they do stands in scripts/ and in
# `cargo xtask`; this file only gives it names.

# cargo may be installed without being on the path, and mkfs usually is for users other than root.
export PATH := $(PATH):$(HOME)/.cargo/bin:/usr/sbin:/sbin

export PREFIX ?= /usr/local
export DESTDIR LINKS

.DEFAULT_GOAL := help
.PHONY: help demo check test build build-mpi install uninstall dist dist-mpi clean

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

demo: ## Build quickly, compare ext4, xfs and btrfs here (as root), and say the verdicts
	@scripts/setup.sh --demo
	@scripts/demo.sh

test: ## Everything CI runs; as root also on loop-mounted ext4, xfs and btrfs
	@scripts/setup.sh
	@cargo run --quiet --package xtask -- ci

check: ## Test what changed, within a minute after a build: style, clippy, unit and golden tests
	@cargo run --quiet --package xtask -- check $(BASE)

build: ## Build the release, one static program for measuring: target/release/treering
	@scripts/build.sh

build-mpi: ## Build treering-mpi, for many clients, with mpicc or MPICC: target/release/treering-mpi
	@scripts/build-mpi.sh

install: ## Install under PREFIX (/usr/local): program, manual, completions; LINKS=1: the old names
	@scripts/build.sh
	@scripts/install.sh "$$(scripts/build.sh --path)"

uninstall: ## Remove what `make install` has installed under PREFIX
	@scripts/install.sh --uninstall

dist: ## Make what is published: program, tar.gz, .deb, .rpm spec, SBOM, checksums; in target/dist
	@scripts/dist.sh
	@scripts/test-deb.sh

dist-mpi: ## Make treering-mpi with its checksum, in target/dist; runs where this MPI is
	@scripts/build-mpi.sh
	@mkdir -p "$${CARGO_TARGET_DIR:-target}/dist"
	@cd "$${CARGO_TARGET_DIR:-target}" && cp release/treering-mpi dist/ && \
		cd dist && sha256sum treering-mpi > treering-mpi.sha256 && cat treering-mpi.sha256

clean: ## Remove what was built, and what fuzzing found
	@cargo clean
	@rm -rf fuzz/target fuzz/corpus fuzz/artifacts fuzz/Cargo.lock
