"""Runs `attempts.py` contained as this user: `python run_attempts.py SPEC`, and prints its results as JSON."""

# Calls of the system are what is tried, and results are printed.
# ruff: noqa: T201

import dataclasses
import json
import sys
import tempfile
from pathlib import Path

from kernel_gate.build.contained_run import run_contained
from kernel_gate.sandbox.containment import offered

spec = json.loads(sys.argv[1])
containment = dataclasses.replace(offered(), **spec.pop("without"))
if not containment.holds:
    print("RESULT{}")
    raise SystemExit
here = Path(spec["readable"]).parent
with tempfile.TemporaryDirectory() as name:
    command = [sys.executable, str(here / "attempts.py"), json.dumps(spec)]
    ran = run_contained(command, Path(name), readable=[here], containment=containment)
    print(containment)
    print(ran.status, ran.excess)
    print(ran.output)
