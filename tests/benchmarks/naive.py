"""Assists alone, applied to naive kernels as a stranger would write them.

    python -m tests.benchmarks naive                       # all of them, 340 seconds at most
    python -m tests.benchmarks naive --half unseen         # those that no assist was built on
    python -m tests.benchmarks naive --half held           # in other spellings, written after products and sums
    python -m tests.benchmarks naive --part 1/3            # a third of them, for machines that are lent by the minute
    python -m tests.benchmarks naive --device emulated     # no GPU: correct candidates, by counted work

Each kernel is searched with `klineage optimise`'s own loop, one gate process for all. Beside its times stand the
bandwidth of a copy kernel of the same run and, where torch can be imported and sees the device, the same operation in
eager mode and with `torch.compile`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kernel_gate.expressions import evaluate
from kernel_gate.options import GateOptions
from kernel_gate.program import LaunchSpec, Program
from kernel_gate.request import GateRequest
from kernel_gate.worker import Worker
from kernel_gate.workload import Workload, load_workload, parse_workload
from kernel_lineage.rewrite.optimise.document import OptimiseDocument
from kernel_lineage.rewrite.optimise.lines import tried_line
from kernel_lineage.rewrite.optimise.session import Asked, run

SUMMARY = "assists alone on naive kernels: speedups, share of copy bandwidth, beside torch"

_SUITE = Path(__file__).parent / "naive"
_RESULTS = Path(__file__).parent / "results"
_COPY = """\
extern "C" __global__ void copy(float4* out, const float4* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i];
}
"""
_COPY_WORKLOAD = """\
kernel = "copy"
language = "cuda"
[dims]
n = [1, 1000]
[[profile_dims]]
n = 67108864
[[args]]
name = "out"
kind = "output"
dtype = "float32"
shape = ["4 * n"]
align = 16
[[args]]
name = "x"
kind = "input"
dtype = "float32"
shape = ["4 * n"]
align = 16
[[args]]
name = "n"
kind = "scalar"
dtype = "int32"
value = "n"
[launch]
grid = ["ceil_div(n, 256)"]
block = [256]
"""


def main(arguments: list[str]) -> None:
    """Search, print the table, and write both forms of it."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks naive", description=SUMMARY)
    parser.add_argument("--device", choices=["auto", "cuda", "emulated"], default="auto")
    parser.add_argument("--half", choices=["seen", "unseen", "held"])
    parser.add_argument("--kernels", help="names, with commas between")
    parser.add_argument("--part", default="1/1", help="K/N: every N-th kernel, from the K-th on")
    parser.add_argument("--seconds", type=float, default=340.0, help="for everything")
    parser.add_argument(
        "--seconds-each", type=float, help="for a kernel; by default its share of what is left"
    )
    parser.add_argument("--no-torch", action="store_true")
    parser.add_argument("--out", type=Path, default=_RESULTS / "naive.json")
    asked = parser.parse_args(arguments)
    first, step = (int(n) for n in asked.part.split("/"))
    cases = [c for c in _cases() if asked.half in (None, c.parent.name)]
    if asked.kernels:
        cases = [c for c in cases if c.stem in asked.kernels.split(",")]
    cases = cases[first - 1 :: step]
    ends = time.monotonic() + asked.seconds
    rows: list[dict[str, Any]] = []
    with Worker() as worker:
        copy = _copy_bandwidth(worker) if asked.device != "emulated" else None
        for number, case in enumerate(cases):
            left = ends - time.monotonic()
            each = asked.seconds_each or left / (len(cases) - number)
            if left <= 0:
                break
            rows.append(_row(case, asked.device, each, worker, copy, torch=not asked.no_torch))
            print(_line(rows[-1]), file=sys.stderr, flush=True)  # noqa: T201
    missing = [c.stem for c in cases[len(rows) :]]
    document = {
        "command": "python -m tests.benchmarks naive " + " ".join(arguments),
        "device": next((r["device"] for r in rows if r["device"]), ""),
        "copy_gb_per_s": copy,
        "geomean": _geomean(rows),
        "not_reached": missing,
        "rows": rows,
    }
    asked.out.write_text(json.dumps(document, indent=1) + "\n")
    asked.out.with_suffix(".md").write_text(_table(document))
    print(_table(document))  # noqa: T201


def _cases() -> list[Path]:
    return sorted(_SUITE.glob("*/*.toml"), key=lambda p: (p.stem, p.parent.name))


@contextlib.contextmanager
def _laid_out(case: Path) -> Iterator[Path]:
    """The kernel's file in a folder of its own, with its workload where the product looks for it."""
    with tempfile.TemporaryDirectory(prefix="naive-") as folder:
        workloads = Path(folder) / ".klineage" / "workloads"
        workloads.mkdir(parents=True)
        shutil.copy(case, workloads)
        source = next(p for p in (case.with_suffix(".cu"), case.with_suffix(".py")) if p.is_file())
        yield Path(shutil.copy(source, folder))


def _row(
    case: Path, device: Any, seconds: float, worker: Worker, copy: float | None, *, torch: bool
) -> dict[str, Any]:
    workload = load_workload(case)
    began = time.monotonic()
    with _laid_out(case) as path:
        asked = Asked(f"{path}:{workload.kernel}", device, seconds, seconds)
        (document,) = run(asked, worker, lambda t: print("   ", tried_line(t), file=sys.stderr, flush=True))  # noqa: T201
    row = _measured(document, workload, copy)
    row |= {"kernel": case.stem, "half": case.parent.name, "language": workload.language}
    row["seconds"] = round(time.monotonic() - began, 1)
    if torch and row["us"] is not None:
        from tests.benchmarks.naive_torch import times

        row |= times(case.stem, dict(workload.profile_dims[0]))
    return row


def _measured(document: OptimiseDocument, workload: Workload, copy: float | None) -> dict[str, Any]:
    """What is kept of a search; times of the naive kernel and of the result come from one paired measurement."""
    verdict = document.verdict
    shape = verdict.speedup.by_shape[-1] if verdict is not None and verdict.speedup is not None else None
    moved = _declared(workload, "bytes")
    counted = [
        {"skill": t.skill, "before": t.before.model_dump(), "after": t.after.model_dump()}
        for t in document.promoted
        if t.before is not None and t.after is not None
    ]
    rate = moved / shape.candidate_us / 1e3 if moved and shape is not None else None
    return {
        "device": document.device,
        "promoted": [t.skill for t in document.promoted],
        "outcome": verdict.outcome.value if verdict is not None else "nothing promoted",
        "stopped": document.stopped,
        "tried": len(document.tried),
        "correct": sum(t.correct for t in document.tried),
        "speedup": shape.median if shape is not None else None,
        "naive_us": shape.baseline_us if shape is not None else None,
        "us": shape.candidate_us if shape is not None else None,
        "gb_per_s": rate,
        "share_of_copy": rate / copy if rate and copy else None,
        "counted": counted,
        "wrong": [
            {"skill": t.skill, "reason": t.reason}
            for t in document.tried
            if t.outcome == "rejected" and not t.correct
        ],
    }


def _declared(workload: Workload, what: str) -> float | None:
    expression = getattr(workload.work, what, None) if workload.work is not None else None
    return float(evaluate(expression, dict(workload.profile_dims[0]))) if expression else None


def _copy_bandwidth(worker: Worker) -> float | None:
    """GB/s of a float4 copy of 1 GiB, read and written; None where nothing is timed."""
    program = Program("cuda", _COPY, "copy", LaunchSpec(("ceil_div(n, 256)",), ("256",)))
    same = Program("cuda", _COPY + "// again\n", "copy", LaunchSpec(("ceil_div(n, 256)",), ("256",)))
    workload = parse_workload(_COPY_WORKLOAD)
    verdict = worker.judge(
        GateRequest.of(program, same, workload, options=GateOptions(profile_seconds=2.0, need="not_slower"))
    )
    if verdict.speedup is None:
        return None
    shape = verdict.speedup.by_shape[-1]
    return 32 * shape.dims["n"] / shape.candidate_us / 1e3


def _geomean(rows: list[dict[str, Any]]) -> dict[str, float | None]:
    def mean(values: list[float]) -> float | None:
        return math.exp(sum(map(math.log, values)) / len(values)) if values else None

    if not any(r["us"] for r in rows):
        return {}
    timed = [r for r in rows if r["us"] or r["stopped"] == "nothing_admissible"]
    figures: dict[str, float | None] = {}
    for half in ("seen", "unseen", "held"):
        figures[f"speedup_{half}"] = mean([r["speedup"] or 1.0 for r in timed if r["half"] == half])
    against = [min(r["torch_us"]) / r["us"] for r in rows if r.get("torch_us") and r["us"]]
    figures["against_torch"] = mean(against)
    return figures


def _line(row: Mapping[str, Any]) -> str:
    speed = f"{row['speedup']:.2f}×" if row["speedup"] else "not timed" if row["promoted"] else "as it was"
    return (
        f"{row['kernel']:<20} {row['half']:<7} {speed:>10}  {' → '.join(row['promoted']) or row['stopped']}"
    )


def _table(document: Mapping[str, Any]) -> str:
    copy = document["copy_gb_per_s"]
    lines = [
        "# Assists alone on naive kernels",
        "",
        f"`{document['command']}` on {document['device'] or 'no device'}; copy: "
        + (f"{copy:.0f} GB/s." if copy else "not timed."),
        "Failures count as 1×. "
        + ", ".join(
            f"{k.replace('_', ' ')}: {v:.2f}" for k, v in document["geomean"].items() if v is not None
        ),
        "",
        "| kernel | half | steps | naive µs | µs | speedup | of copy | torch µs | counted: sectors, requests |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in document["rows"]:
        counted = row["counted"]
        work = (
            f"{counted[0]['before']['sectors']} → {counted[-1]['after']['sectors']}, "
            f"{counted[0]['before']['requests']} → {counted[-1]['after']['requests']}"
            if counted
            else ""
        )
        share = f"{row['share_of_copy']:.0%}" if row["share_of_copy"] else ""
        beside = ", ".join(f"{t:.0f}" for t in row.get("torch_us") or ())
        cells = [
            row["kernel"],
            row["half"],
            ", ".join(row["promoted"]) or f"none: {row['stopped']}",
            *(f"{row[k]:.1f}" if row[k] else "" for k in ("naive_us", "us")),
            f"{row['speedup']:.2f}" if row["speedup"] else "",
            share,
            beside,
            work,
        ]
        lines.append("| " + " | ".join(cells) + " |")
    if document["not_reached"]:
        lines += ["", f"Not reached in time: {', '.join(document['not_reached'])}."]
    return "\n".join(lines) + "\n"
