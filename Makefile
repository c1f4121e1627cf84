# make run    set up (first time) and run the main job end to end
# make test   all tests;  make test-fast  those that start no Java;  make test-thorough  all, with more of everything
# make check  style and types;  make bench  speeds beside their rivals
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
# Some environments set it, and each of the many processes of the tests would compile all modules anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test test-fast test-thorough check bench lock clean

run: $(READY)
	@$(BIN)/aurora linear-road demo --out build/linear-road

test: $(READY)
	@scripts/ensure-postgres
	@scripts/ensure-mosquitto
	@scripts/run-tests $(BIN)/python

test-fast: $(READY)
	@$(BIN)/python -m pytest -p no:cacheprovider -m "not spark" -n 2 --dist loadfile --no-loadscope-reorder

# Hours: a thousand generated inputs for each test, twenty kills for each run, and what is marked thorough.
test-thorough: $(READY)
	@scripts/ensure-postgres
	@scripts/ensure-mosquitto
	@AURORA_THOROUGH=1 scripts/run-tests $(BIN)/python --timeout=0

check: $(READY)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

bench: $(READY)
	@$(BIN)/python -m benchmarks
	@$(BIN)/python -m benchmarks.simulator
	@$(BIN)/python -m benchmarks.linear_road_tools
	@$(BIN)/python -m benchmarks.firehose

# The lock file pins every version and the hash of every file; the stamp makes the second set-up instant.
$(READY): pyproject.toml requirements.lock scripts/ensure-java
	@scripts/ensure-java
	@test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	@echo "Installing the pinned packages into $(VENV) (once; about two minutes) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@$(BIN)/aurora prepare || echo "(not prepared: everything works, but starts more slowly)"
	@touch $@

lock: $(READY)
	@scripts/lock

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache build *.egg-info
