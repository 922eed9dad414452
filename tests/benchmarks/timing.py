"""How far the profile stage's times and states can be trusted, on a GPU.

    python -m tests.benchmarks timing identical [--pairs 400] [--seconds 2]
    python -m tests.benchmarks timing lengthened [--runs 20] [--seconds 2]
    ncu --profile-from-start off --cache-control all --clock-control none --metrics gpu__time_duration.sum \\
        --csv --page raw --log-file ncu.csv python -m tests.benchmarks timing beside_ncu --under-ncu
    python -m tests.benchmarks timing beside_ncu
    python -m tests.benchmarks timing ncu_table ncu.csv
    python -m tests.benchmarks timing others [--runs 20] [--seconds 0.5]
    python -m tests.benchmarks timing verdicts [--runs 6]
    python -m tests.benchmarks timing report

Each prints a Markdown table and writes its figures as JSON to --out (default: results/).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from datetime import date
from pathlib import Path

from . import timing_others, timing_pairs
from .timing_tables import report, table

SUMMARY = "A/A pairs, known differences, and agreement with ncu: how far the profile stage can be trusted"
RESULTS = Path(__file__).parent / "results"
PARTS = {
    "identical": timing_pairs.identical,
    "lengthened": timing_pairs.lengthened,
    "beside_ncu": timing_pairs.beside_ncu,
    "ncu_table": timing_pairs.ncu_table,
    "others": timing_others.others,
    "verdicts": timing_others.verdicts,
}


def main(arguments: list[str]) -> None:
    """Run one part, print its table and keep its figures."""
    parser = argparse.ArgumentParser(
        prog="timing", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("part", choices=[*PARTS, "report"])
    parser.add_argument("csv", type=Path, nargs="?")
    parser.add_argument("--pairs", type=int, default=400)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument(
        "--under-ncu", action="store_true", help="only launch, between profiler start and stop"
    )
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args(arguments)
    if options.part == "report":
        (options.out / "timing.md").write_text(report(options.out))
        return
    options.out.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    rows = PARTS[options.part](options)
    document = {
        "device": timing_pairs.device_name(),
        "date": date.today().isoformat(),
        "command": " ".join(["python -m tests.benchmarks timing", *arguments]),
        "seconds": round(time.monotonic() - started, 1),
        "rows": rows,
    }
    if options.under_ncu:
        return
    name = "beside_ncu" if options.part == "ncu_table" else options.part
    (options.out / f"timing_{name}.json").write_text(json.dumps(document, separators=(",", ":")) + "\n")
    shown = table(name, rows) if options.part != "beside_ncu" else ""
    sys.stdout.write(f"{shown}\n{document['seconds']} s\n")
