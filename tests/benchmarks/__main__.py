"""`python -m tests.benchmarks NAME …` runs one benchmark; without a name it lists them.

A benchmark is a module here with `SUMMARY`, one line, and `main(arguments)`.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
from pathlib import Path


def benchmarks() -> dict[str, str]:
    """Names and summaries, read without importing what may need a device."""
    summaries = {}
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        if module.ispkg:  # data, and what benchmarks share
            continue
        text = (Path(__file__).parent / f"{module.name}.py").read_text()
        summary = re.search(r'^SUMMARY = "(.+)"$', text, re.MULTILINE)
        if summary:
            summaries[module.name] = summary[1]
    return summaries


def run(arguments: list[str]) -> int:
    """Runs the named benchmark."""
    summaries = benchmarks()
    if not arguments or arguments[0] not in summaries:
        print("usage: python -m tests.benchmarks NAME [options]\n", file=sys.stderr)  # noqa: T201
        for name, summary in sorted(summaries.items()):
            print(f"  {name:12} {summary}", file=sys.stderr)  # noqa: T201
        return 2 if arguments else 0
    importlib.import_module(f"tests.benchmarks.{arguments[0]}").main(arguments[1:])
    return 0


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
