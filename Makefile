# Everything a newcomer and the CI call. All of it works offline after the first
# run; what a target needs it brings itself (scripts/need.sh, scripts/nvim.sh).

SHELL   := /bin/bash
GO      ?= go
PREFIX  ?= /usr/local
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X main.version=$(VERSION)

.PHONY: help build test test-long lint fmt bench demo picture install uninstall clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

build: ## build bin/sandbox
	@scripts/need.sh go
	CGO_ENABLED=0 $(GO) build -buildvcs=false -trimpath -ldflags '$(LDFLAGS)' -o bin/sandbox ./cmd/sandbox

test: build ## run every test, as root and as an ordinary user, in both Neovims
	scripts/test.sh

test-long: build ## the same with every kill, subset and race: about half an hour
	SANDBOX_LONG=1 scripts/test.sh

lint: ## check Go, Lua and shell
	scripts/lint.sh

fmt: ## format Go and Lua in place
	@scripts/need.sh go gofumpt stylua
	.tools/bin/gofumpt -w cmd engine internal rplugin test
	.tools/bin/stylua lua plugin test

bench: build ## measure, and print what doc/performance.md holds (BENCH_CHANGES=100000: one large run)
	@scripts/need.sh bench
	$(GO) run -buildvcs=false ./test/bench $(if $(BENCH_CHANGES),-files $$((2*$(BENCH_CHANGES))) -reviews 1)

demo: build ## let a scripted agent edit a small project, then review what it did
	scripts/demo.sh

picture: ## draw doc/review.png from the real screen
	@scripts/nvim.sh 0.10 >/dev/null && scripts/nvim.sh 0.12 >/dev/null
	SANDBOX_PICTURE=$(CURDIR)/doc/review.png $(GO) test -buildvcs=false -count=1 -run 'TestTheReview/root' ./test/demo

install: build ## install the binary, its man page and the plugin below PREFIX
	install -Dm755 bin/sandbox $(DESTDIR)$(PREFIX)/bin/sandbox
	install -Dm644 doc/sandbox.1 $(DESTDIR)$(PREFIX)/share/man/man1/sandbox.1
	@echo 'The plugin is this folder itself: see "Install" in README.md; then :helptags ALL once.'

uninstall: ## remove what install put below PREFIX
	rm -f $(DESTDIR)$(PREFIX)/bin/sandbox $(DESTDIR)$(PREFIX)/share/man/man1/sandbox.1

clean: ## remove what was built and brought
	rm -rf bin .cache .tools doc/tags
