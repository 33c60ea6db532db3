# One word per chore. `make demo` and `make test` are all that a fresh machine needs.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
# One more than there are cores: much of the suite waits for processes that it has killed.
WORKERS := $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)

.PHONY: demo test test-cluster lint fix bench chaos generate clean

demo: $(READY)  ## see everything work, on a fresh data directory
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh samples/demo.sh

test: $(READY)  ## the suite
	$(BIN)/pytest -n $(WORKERS) --dist worksteal

test-cluster: $(READY)  ## the tests of the engine on a real cluster of three nodes as well
	DEX_TEST_ENGINES=embedded,http,cluster $(BIN)/pytest -n auto tests/engine

lint: $(READY)  ## formatting, rules and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

fix: $(READY)  ## mend what the linter can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)  ## measure against the raw libraries, side by side
	$(BIN)/python -m tests.bench

chaos: $(READY)  ## long campaigns of kill -9, of many processes, and of a cluster whose parts or links break
	DEX_CHAOS_ROUNDS=50 DEX_CHAOS_SECONDS=450 $(BIN)/pytest -rP tests/chaos

generate: $(READY)  ## write the checked-in parser table, command tree and completions anew
	PYTHONHASHSEED=0 $(BIN)/python -m dex.wcl.generate >table.new && mv table.new wcl/table.py
	$(BIN)/python -m dex.cli.completion.generate
	$(BIN)/ruff format -q wcl/table.py cli/completion/tree.py

clean:
	rm -rf .venv .demo bench-results

# Debian's python3 comes without ensurepip unless python3-venv is installed; pip can then work from outside.
$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "dex needs Python 3.11 or newer; this is $$($(PYTHON) --version)" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null \
		&& $(PYTHON) -m venv .venv \
		|| { $(PYTHON) -m pip --version >/dev/null 2>&1 && $(PYTHON) -m venv --without-pip .venv; } \
		|| { echo "this Python can make no virtual environment: apt install python3-venv" >&2; exit 1; }
	@if [ -x $(BIN)/pip ]; then $(BIN)/pip install -q --disable-pip-version-check -e '.[test]'; \
		else $(PYTHON) -m pip --python $(BIN)/python install -q --disable-pip-version-check -e '.[test]'; fi
	@$(BIN)/python -m compileall -q dex/*.py wcl engine cli samples
	@touch $@
