# Two commands: `make demo` shows the seven steps, `make test` proves them. Each sets up what it needs.
PREFIX ?= $(CURDIR)/dist
JOBS   ?= $(shell nproc)

.PHONY: help setup build demo test check test-dev test-asan test-tsan fuzz bench install wheel docs tidy format clean

help:      ## List what can be made
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

setup:     ## Install the Debian packages that are missing
	@scripts/setup.sh

build: setup
	@scripts/build.sh dev

demo: build ## Run the seven steps of Ascend virtual memory on the software device
	@scripts/demo.sh

test: setup ## Check the sources, build, and pass all tests
	@scripts/test.sh

test-dev test-asan test-tsan: test-%: setup ## Pass the tests of one preset
	@scripts/test.sh $*

check: setup ## Check formatting and the include direction between folders
	@scripts/check.sh

fuzz: setup ## Fuzz every target for a minute
	@scripts/fuzz.sh

bench: setup ## Measure, as ratios against raw system calls and peers in the same run
	@scripts/bench.sh

install: build ## Install into PREFIX (default ./dist), laid out as Ascend users know it
	@cmake --install build/dev --prefix $(abspath $(PREFIX)) >/dev/null
	@echo "Installed. Use it with:  source $(abspath $(PREFIX))/set_env.sh"

wheel: build ## Pack the Python modules and their libraries into dist/*.whl, without network
	@cmake --install build/dev --prefix build/wheel >/dev/null
	@/usr/bin/python3 -B scripts/wheel.py build/wheel $(CURDIR)/dist

docs: build ## Write docs/rules from the rule book and docs/calls.md from the headers
	@build/dev/bin/plat rules --markdown docs/rules
	@scripts/calls.py build/dev/lib64/libascendcl.so

tidy: setup ## Read the sources with clang-tidy; takes some minutes
	@scripts/tidy.sh

format:    ## Format the sources
	@scripts/check.sh --fix

clean:     ## Remove everything that was built
	rm -rf build dist
