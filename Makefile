# Everything a newcomer needs: `make example` repairs a small corpus, `make test` runs all checks.
# Each sets up its own virtual environment in .venv first.
PYTHON ?= python3
VENV ?= .venv
RUN = $(VENV)/bin/python -m

.PHONY: example test slow-test lint clean

example: $(VENV)/installed
	$(RUN) pipelines.repair_corpus --input examples/corpus --output output/example --keep_original --provenance --overwrite
	@printf '\nbefore\n' && head -n 3 examples/corpus/typed.txt && printf '\nafter\n' && head -n 3 output/example/typed.txt

test: lint
	$(RUN) pytest -m "not slow" -n auto --dist loadfile

slow-test: $(VENV)/installed-dev
	$(RUN) pytest -m slow

lint: $(VENV)/installed-dev
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) mypy .
	$(VENV)/bin/lint-imports

$(VENV)/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(RUN) pip install --quiet --upgrade pip
	$(RUN) pip install --quiet --editable .
	touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(RUN) pip install --quiet --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) output
