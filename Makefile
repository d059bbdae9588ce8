# Three commands, each sets itself up: make demo, make test, make bench NAME=x.
# Needs Python 3.11 to 3.13 and make; PYTHON=python3.12 picks another.
PYTHON ?= python3.11
VENV   ?= .venv
BIN     = $(VENV)/bin
STAMP   = $(VENV)/.installed
OUT    ?= demo

# One thread a process: the work is already spread over processes and simulations.
export OMP_NUM_THREADS ?= 1

.PHONY: demo test bench lint clean

demo: $(STAMP)  ## three rounds of the loop on peg against a stand-in robot, then where the report lies
	$(BIN)/gaploop demo $(OUT)

test: $(STAMP) lint  ## everything that must hold: style, types, layers, tests
	$(BIN)/python -m pytest

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

bench: $(STAMP)  ## make bench NAME=rollout; QUICK=1 for the short grid; runs what is missing
	@test -n "$(NAME)" || { echo "Say which: make bench NAME=..., one of:"; ls benchmarks/*.py | sed 's|.*/||; s|\.py||' | grep -v -e "^_" -e harness -e pictures; exit 2; }
	$(BIN)/python -m benchmarks $(NAME)

# The stamp is newer than pyproject.toml exactly when the environment fits it.
$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[train,logs,dev]'
	touch $@

clean:
	rm -rf $(VENV) benchmarks/.cache
