"""How many kernels of some folders the emulated device decodes: the documents of `klineage coverage` as one table.

python -m tests.benchmarks coverage NAME=PATH_OR_DOCUMENT … [--write]

A path is surveyed; a document is what `klineage coverage PATH --json` printed for it.
"""

from __future__ import annotations

import argparse
import json
from datetime import date
from pathlib import Path

from kernel_lineage.coverage.document import CoverageDocument
from kernel_lineage.coverage.survey import survey

SUMMARY = "how many kernels of some folders compile and decode, and what is missing"
RESULTS = Path(__file__).parent / "results" / "coverage.md"
_ROWS_MOST = 12


def page(documents: dict[str, CoverageDocument]) -> str:
    """The figures of every folder, then what is missing in each."""
    lines = [
        "# Coverage of the emulated device",
        "",
        f"`klineage coverage FOLDER` on checkouts, {date.today().isoformat()}; nothing is run.",
        "",
        "| folder | compiled for | files | kernels | compile | decode | of those that compile |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for name, d in documents.items():
        share = f"{100 * d.decoded / d.compiled:.1f} %" if d.compiled else "–"
        lines.append(
            f"| {name} | {d.arch} | {d.files} | {d.kernels} | {d.compiled} | {d.decoded} | {share} |"
        )
    for name, d in documents.items():
        if d.unsupported or d.not_compiled:
            lines += [
                "",
                f"## {name}",
                "",
                "| kernels | missing opcode, or why they do not compile |",
                "|---:|---|",
            ]
            both = [*d.unsupported.items(), *d.not_compiled.items()]
            lines += [f"| {count} | `{what.replace('|', '¦')}` |" for what, count in both[:_ROWS_MOST]]
            if len(both) > _ROWS_MOST:
                lines.append(
                    f"| {sum(n for _, n in both[_ROWS_MOST:])} | {len(both) - _ROWS_MOST} other reasons |"
                )
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", metavar="NAME=PATH")
    parser.add_argument("--write", action="store_true", help="keep the table in results/")
    options = parser.parse_args(arguments)
    documents = {}
    for name, path in (item.split("=", 1) for item in options.folders):
        source = Path(path)
        documents[name] = (
            CoverageDocument.model_validate_json(source.read_text())
            if source.suffix == ".json"
            else survey(source)
        )
    text = page(documents)
    if options.write:
        RESULTS.write_text(text, "utf-8")
        # Rows of kernels that decode say nothing that the totals do not.
        short = {
            name: d.model_dump() | {"details": [r.model_dump() for r in d.details if not r.decoded]}
            for name, d in documents.items()
        }
        RESULTS.with_suffix(".json").write_text(json.dumps(short, indent=1) + "\n", "utf-8")
    print(text)  # noqa: T201
