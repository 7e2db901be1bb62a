# The README's two commands are `make demo` and `make test`. What they do stands in scripts/ and in
# `cargo xtask`; this file only gives it names.

# cargo may be installed without being on the path, and mkfs usually is for users other than root.
export PATH := $(PATH):$(HOME)/.cargo/bin:/usr/sbin:/sbin

PREFIX ?= /usr/local

.DEFAULT_GOAL := help
.PHONY: help demo test build install clean

help: ## Show this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

demo: ## Build quickly and age a small tree here, in about two minutes
	@scripts/setup.sh --build
	@scripts/demo.sh

test: ## Everything CI runs; as root also on loop-mounted ext4, xfs and btrfs
	@scripts/setup.sh
	@cargo run --quiet --package xtask -- ci

build: ## Build the release, one static program for measuring: target/release/treering
	@scripts/build.sh

install: ## Install the release under PREFIX (/usr/local), DESTDIR respected
	@scripts/build.sh
	@install -D -m 755 "$$(scripts/build.sh --path)" "$(DESTDIR)$(PREFIX)/bin/treering"
	@echo "installed $(DESTDIR)$(PREFIX)/bin/treering"

clean: ## Remove what was built, and what fuzzing found
	@cargo clean
	@rm -rf fuzz/target fuzz/corpus fuzz/artifacts fuzz/Cargo.lock
