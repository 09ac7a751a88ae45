# SPDX-License-Identifier: Apache-2.0
# Two commands: `make demo` shows the seven steps, `make test` proves them. Each sets up what it needs.
PREFIX ?= $(CURDIR)/dist
FRESH  ?= demo test
MINUTES ?= 5
PARTS  ?= test test-fabric test-browser soak test-packages tidy test-arm64

# What is given away is built for this kind of machine, or with ARCH=arm64 for aarch64 elsewhere too.
NATIVE := $(patsubst x86_64,amd64,$(patsubst aarch64,arm64,$(shell uname -m)))
ARCH   ?= $(NATIVE)
KIND   := $(patsubst x86_64,amd64,$(patsubst aarch64,arm64,$(ARCH)))
CROSS  :=
ifeq ($(KIND),$(NATIVE))
RELEASE := release
else ifeq ($(KIND),arm64)
RELEASE := release-arm64
CROSS   := fresh arm64
else
RELEASE = $(error ARCH may be $(NATIVE) or arm64, and is $(ARCH))
endif

.PHONY: help setup demo test check test-dev test-asan test-tsan test-fabric test-arm64 test-all test-fresh test-browser fuzz soak bench install uninstall wheel deb packages test-packages docs tidy format clean

help:      ## List what can be made
	@sed -n 's/^\([a-z0-9-]*\)[a-z -]*:.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

setup:     ## Install all Debian packages that anything here needs, if they are missing
	@scripts/setup.sh demo python release test tidy bench fuzz fresh fabric deb

demo:      ## Run the seven steps of Ascend virtual memory on the software device
	@scripts/setup.sh demo
	@scripts/build.sh demo plat example_seven_steps
	@scripts/demo.sh

test:      ## Check the sources, build, and pass all tests, plain and under the sanitizers
	@scripts/setup.sh demo python test
	@scripts/test.sh

test-dev test-asan test-tsan: test-%: ## Pass the tests of one preset; test-asan and test-tsan too
	@scripts/setup.sh demo python test
	@scripts/test.sh $*

test-fabric: ## Pass the tests of memory between servers, with real daemons
	@scripts/setup.sh demo python test fabric
	@cmake --preset dev -DPLAT_FABRIC=ON >/dev/null
	@scripts/build.sh dev
	@ctest --test-dir build/dev -L fabric --output-on-failure

test-arm64: ## Build for aarch64 and pass the tests there, under qemu (needs root); ARM64_TESTS='^rules' for some of them
	@scripts/setup.sh demo python test fresh arm64
	@scripts/arm64.sh $(if $(ARM64_TESTS),-R '$(ARM64_TESTS)')

test-all:  ## Pass every part there is, `make test` first, and say what each took; PARTS="..." for some of them
	@scripts/parts.sh $(PARTS)

test-fresh: ## Pass `make demo` and `make test` in a bare Debian root (needs root)
	@scripts/setup.sh fresh
	@scripts/fresh.sh $(FRESH)

check:     ## Check formatting and the include direction between folders
	@scripts/setup.sh test
	@scripts/check.sh

test-browser: ## Pass the tests of plat view's page in Chromium (needs Node and npm)
	@scripts/setup.sh demo test browser
	@scripts/test-browser.sh

fuzz:      ## Fuzz every target for a minute
	@scripts/setup.sh demo fuzz
	@scripts/fuzz.sh

soak:      ## Attack the library with all campaigns side by side for MINUTES (5), from where the last run ended; TOTALS=FILE adds it up there
	@scripts/setup.sh demo python test
	@scripts/build.sh dev
	@scripts/soak.py --minutes $(MINUTES) $(if $(TOTALS),--totals $(TOTALS))

bench:     ## Measure, as ratios against raw system calls and peers in the same run; BASE=FILE compares with an earlier one; TRACES=FOLDER for the pool
	@scripts/setup.sh demo python bench
	@$(if $(TRACES),TRACES=$(abspath $(TRACES)) )scripts/bench.sh $(BASE)

install:   ## Install into PREFIX (default ./dist), laid out as Ascend users know it
	@scripts/setup.sh demo python release
	@cmake --preset release >/dev/null
	@scripts/build.sh release
	@scripts/install.sh build/release $(abspath $(PREFIX))
	@echo "Installed. Use it with:  source $(abspath $(PREFIX))/set_env.sh"

uninstall: ## Remove what `make install` has put into PREFIX
	@scripts/uninstall.sh $(abspath $(PREFIX))

wheel:     ## Pack the Python modules and their libraries into dist/*.whl, without network; PYTHON=/usr/bin/python3.13 for another, or ARCH=arm64
	@scripts/setup.sh demo python release $(CROSS)
	@$(if $(CROSS),scripts/arm64-root.sh)
	@scripts/wheel.sh $(RELEASE) $(CURDIR)/dist $(PYTHON)

deb:       ## Make Debian packages in dist/: plat-inspector, plat, python3-plat, plat-fabric; ARCH=arm64 for aarch64 (needs root)
	@scripts/setup.sh demo python release fabric deb $(CROSS)
	@$(if $(CROSS),scripts/arm64-root.sh)
	@cmake --preset $(RELEASE) -DPLAT_FABRIC=ON >/dev/null
	@scripts/build.sh $(RELEASE)
	@packaging/deb.sh build/$(RELEASE) $(CURDIR)/dist

packages:  ## Make dist/*.tar.gz and, where rpmbuild is, dist/*.rpm; ARCH=arm64 for aarch64 (needs root)
	@scripts/setup.sh demo python release $(CROSS)
	@$(if $(CROSS),scripts/arm64-root.sh)
	@cmake --preset $(RELEASE) >/dev/null
	@scripts/build.sh $(RELEASE)
	@packaging/archives.sh build/$(RELEASE) $(CURDIR)/dist

test-packages: ## Install, use and remove Debian packages, wheel, rpm and archive in a bare root (needs root)
	@scripts/setup.sh demo python release fresh fabric deb packages
	@$(MAKE) --no-print-directory deb wheel packages
	@scripts/test-packages.sh $(CURDIR)/dist

docs:      ## Write docs/rules from the rule book, and docs/calls.md from the headers and scripts/calls_out.txt
	@scripts/setup.sh demo python test
	@scripts/build.sh dev plat ascendcl
	@build/dev/bin/plat rules --markdown docs/rules
	@scripts/calls.py build/dev/lib64/libascendcl.so

tidy:      ## Compile each header by itself, and read the sources with clang-tidy
	@scripts/setup.sh demo test tidy fabric
	@scripts/tidy.sh

format:    ## Format the sources
	@scripts/check.sh --fix

clean:     ## Remove everything that was built
	rm -rf build dist
