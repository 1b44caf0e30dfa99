# Everything a newcomer needs: `make example` repairs a small corpus, `make test` runs all checks.
# Each sets up its own virtual environment in .venv first.
PYTHON ?= python3
VENV ?= .venv
RUN = $(VENV)/bin/python -m

.PHONY: example acl test slow-test engine-test lint clean

example: $(VENV)/installed
	$(RUN) pipelines.repair_corpus --input examples/corpus --output output/example --keep_original --provenance --overwrite
	@printf '\nbefore\n' && head -n 3 examples/corpus/typed.txt && printf '\nafter\n' && head -n 3 output/example/typed.txt

# The repaired ACL anthology: a folder or file of extracted papers becomes a corpus with its report.
# make acl ACL=papers/ ACL_OUTPUT=output/acl ACL_COLUMN=text
ACL ?= $(RESPACE_DATA)/corpora/acl_ocr.parquet
ACL_OUTPUT ?= output/acl
ACL_COLUMN ?= text
acl: $(VENV)/installed
	@test -e "$(ACL)" || { echo "make acl: $(ACL) is not there. Set ACL to a folder of extracted papers, or RESPACE_DATA" >&2; exit 2; }
	$(RUN) pipelines.repair_corpus --input "$(ACL)" --output "$(ACL_OUTPUT)" --text_column $(ACL_COLUMN) --provenance --join_hyphenated
	@echo "report: $(ACL_OUTPUT)/_report/index.html; review it with: $(RUN) webapp --corpus $(ACL_OUTPUT)"

test: lint
	$(RUN) pytest -m "not slow and not engine" -n auto --dist loadfile

slow-test: $(VENV)/installed-dev
	$(RUN) pytest -m slow -n auto --dist loadfile --durations=15

# Jobs on Flink, Spark, Dask and Beam's own engines. Flink, Spark and Prism are fetched first, into $RESPACE_ENGINES or
# the user's cache; what cannot be fetched is skipped, with the reason.
engine-test: $(VENV)/installed-dev
	$(RUN) runners.fetch
	$(VENV)/bin/python scripts/only_loopback.py $(RUN) pytest -m engine -rs --durations=15

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
