"""Runs `attempts.py` contained as this user: `python run_attempts.py SPEC`, and prints its results as JSON.

A contained process is forked by a server where the system has one, and started where it has none: both are tried.
"""

# Calls of the system are what is tried, and results are printed.
# ruff: noqa: T201

import dataclasses
import json
import sys
import tempfile
from pathlib import Path

from kernel_gate.build.contained_run import run_contained
from kernel_gate.processes import forking
from kernel_gate.sandbox.containment import offered

spec = json.loads(sys.argv[1])
containment = dataclasses.replace(offered(), **spec.pop("without"))
if not containment.holds:
    print("RESULTS{}")
    raise SystemExit
here = Path(spec["readable"]).parent
print(containment)
results = {}
for way in ("forked", "started") if forking.available() else ("started",):
    if way == "started":
        forking.available = lambda: False  # type: ignore[assignment]
    with tempfile.TemporaryDirectory() as name:
        command = [sys.executable, str(here / "attempts.py"), json.dumps(spec)]
        ran = run_contained(command, Path(name), readable=[here], containment=containment)
        print(way, ran.status, ran.excess)
        print(ran.output)
        results[way] = json.loads(ran.output.rpartition("RESULT")[2])
print("RESULTS" + json.dumps(results))
