"""What is proved of real kernels: of llm.c, SGEMM_CUDA and Liger-Kernel, in workloads of our own.

python -m tests.benchmarks proofs run PATH/TO/llm.c PATH/TO/SGEMM_CUDA PATH/TO/Liger-Kernel > proofs.json
python -m tests.benchmarks proofs table proofs.json > proofs.md
"""

# ruff: noqa: E501  (the tables read as tables)
from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from kernel_gate.workload import Workload
from kernel_lineage.code.model import UnreadableError
from kernel_lineage.rewrite.proving.prove import prove_file
from kernel_lineage.workloads.programs import ProgramError

from .proof_triton_cases import TRITON, source_of, triton_workload

SUMMARY = "what is proved of kernels of llm.c, SGEMM_CUDA and Liger-Kernel, and why the rest is undecided"

_DIMS: dict[str, int] = {"B": 2, "T": 8, "C": 64, "N": 48, "V": 32, "M": 64, "K": 64}
_SHAPES = {
    "row": "N, C", "out": "N, C", "inp": "N, C", "normed": "N, C", "residual": "N, C", "inp1": "N, C", "inp2": "N, C",
    "mean": "N", "rstd": "N", "weight": "C", "bias": "C",
}  # fmt: skip
_ROWS = "out! mean! rstd! inp weight bias N C"
_FLAT = {"out": "N", "inp": "N", "inp1": "N", "inp2": "N"}
_EMBED = {"out": "B, T, C", "inp": "B, T:integers(0, V)", "wte": "V, C", "wpe": "T, C"}
_GEMM = {"A": "M, K", "B": "K, N", "C": "M, N"}
_GEMM_ARGUMENTS = "M N K alpha A B beta C!"

_NUMBERS = re.compile(r"(?<![A-Za-z\d])\d[\d.]*")
"""Lines and seconds, but not the digit of `Z3`."""
_STATUSES = ("proved", "refuted", "undecided")
_ABOUT = (
    "2 cores under load (10 processes wait), 2026-11-22, Z3 with 2 s for one question; sizes are symbolic, the workloads those of the benchmark. "
    "A refuted `overflow` names sizes from which 32-bit indices overflow; other refutations were seen in a run."
)

LLMC: tuple[tuple[str, str, str, dict[str, str], str, str, str], ...] = (
    ("gelu_forward.cu", "gelu_forward_kernel1", "out! inp N", _FLAT, "ceil_div(N, 128)", "128", "0"),
    ("residual_forward.cu", "residual_forward_kernel1", "out! inp1 inp2 N", _FLAT, "ceil_div(N, 128)", "128", "0"),
    ("layernorm_forward.cu", "layernorm_forward_kernel1", _ROWS, _SHAPES, "ceil_div(N, 128)", "128", "0"),
    ("layernorm_forward.cu", "mean_kernel", "mean! inp N C block_size=128", _SHAPES, "N", "128", "512"),
    ("layernorm_forward.cu", "rstd_kernel", "rstd! inp mean N C block_size=128", _SHAPES, "N", "128", "512"),
    ("layernorm_forward.cu", "layernorm_forward_kernel3", _ROWS, _SHAPES, "ceil_div(N * 32, 128)", "128", "0"),
    ("layernorm_forward.cu", "layernorm_forward_kernel4", _ROWS, _SHAPES, "ceil_div(N * 32, 128)", "128", "0"),
    ("layernorm_forward.cu", "layernorm_forward_kernel5", _ROWS, _SHAPES, "N", "128", "0"),
    ("softmax_forward.cu", "softmax_forward_kernel1", "out! inp N C", _SHAPES, "ceil_div(N, 128)", "128", "0"),
    ("softmax_forward.cu", "softmax_forward_kernel2", "out! inp N C", _SHAPES, "N", "128", "512"),
    ("softmax_forward.cu", "softmax_forward_kernel3", "out! inp N C", _SHAPES, "N", "32", "128"),
    ("softmax_forward.cu", "softmax_forward_kernel4", "out! inp N C", _SHAPES, "N", "128", "32"),
    ("softmax_forward.cu", "softmax_forward_online_kernel1", "out! inp N C", _SHAPES, "ceil_div(N, 128)", "128", "0"),
    ("softmax_forward.cu", "softmax_forward_online_kernel2", "out! inp N C", _SHAPES, "N", "128", "0"),
    ("softmax_forward.cu", "softmax_forward_kernel7", "out! inp N C", _SHAPES, "N", "128", "32"),
    ("softmax_forward.cu", "softmax_forward_online_kernel8", "out! inp N C", _SHAPES, "ceil_div(N * 32, 128)", "128", "0"),
    ("encoder_forward.cu", "encoder_forward_kernel1", "out! inp wte wpe B T C", _EMBED, "ceil_div(B * T, 128)", "128", "0"),
    ("encoder_forward.cu", "encoder_forward_kernel2", "out! inp wte wpe B T C", _EMBED, "ceil_div(B * T * C, 128)", "128", "0"),
    ("matmul_forward.cu", "matmul_forward_kernel1", "out! inp weight bias BT=N C OC=V",
     {"out": "N, V", "inp": "N, C", "weight": "V, C", "bias": "V"}, "ceil_div(N, 16); ceil_div(V, 16)", "16; 16", "0"),
)  # fmt: skip
"""File, kernel, arguments (outputs with `!`), shapes, grid, block, shared bytes."""

SGEMM: tuple[tuple[str, str, tuple[str, ...], str, str, tuple[str, ...]], ...] = (
    ("1_naive.cuh", "sgemm_naive", (), "ceil_div(M, 32); ceil_div(N, 32)", "32; 32", ()),
    ("2_kernel_global_mem_coalesce.cuh", "sgemm_global_mem_coalesce", ("32",), "ceil_div(M, 32); ceil_div(N, 32)", "1024", ()),
    ("3_kernel_shared_mem_blocking.cuh", "sgemm_shared_mem_block", ("32",), "ceil_div(M, 32); ceil_div(N, 32)", "1024",
     ("M % 32 == 0", "N % 32 == 0", "K % 32 == 0")),
    ("4_kernel_1D_blocktiling.cuh", "sgemm1DBlocktiling", ("64", "64", "8", "8"), "ceil_div(N, 64); ceil_div(M, 64)", "512",
     ("M % 64 == 0", "N % 64 == 0", "K % 8 == 0")),
    ("5_kernel_2D_blocktiling.cuh", "sgemm2DBlocktiling", ("64", "64", "8", "8", "8"), "ceil_div(N, 64); ceil_div(M, 64)",
     "64", ("M % 64 == 0", "N % 64 == 0", "K % 8 == 0")),
    ("6_kernel_vectorize.cuh", "sgemmVectorize", ("64", "64", "8", "8", "8"), "ceil_div(N, 64); ceil_div(M, 64)",
     "64", ("M % 64 == 0", "N % 64 == 0", "K % 8 == 0")),
)  # fmt: skip


def workload(
    kernel: str,
    arguments: str,
    shapes: dict[str, str],
    grid: str,
    block: str,
    shared: str,
    promises: tuple[str, ...],
    dtype: str = "float32",
) -> Workload:
    """A workload from the table's short form."""
    args: list[dict[str, Any]] = []
    used: set[str] = set()
    for written in arguments.split():
        name = written.rstrip("!")
        if name in shapes:
            shape, _, values = shapes[name].partition(":")
            kind = "output" if written.endswith("!") else "input"
            values_of = {"dtype": "int32", "values": values} if values else {"dtype": dtype}
            args.append({"name": name, "kind": kind, "shape": shape.split(", "), **values_of})
            used |= set(shape.split(", "))
        elif name in ("alpha", "beta"):
            args.append({"name": name, "kind": "scalar", "dtype": "float32", "value": 1.0})
        else:
            name, _, value = name.partition("=")
            args.append({"name": name, "kind": "scalar", "dtype": "int32", "value": value or name})
            used |= set(re.findall(r"[A-Z]", value or name))
        used |= set(re.findall(r"\b[A-Z]\b", shapes.get(name, "")))
    # A scalar may be named as a buffer is: only dims are left of the names.
    dims = {d: _DIMS[d] for d in sorted(used) if d in _DIMS}
    return Workload.model_validate(
        {
            "kernel": kernel,
            "language": "cuda",
            "dims": dims,
            "promises": promises,
            "args": args,
            "launch": {"grid": grid.split("; "), "block": block.split("; "), "shared_bytes": shared},
        }
    )


def _dtype(llmc: Path, file: str) -> str:
    """What the file's `floatX` is; a kernel without it has float."""
    text = (llmc / "dev" / "cuda" / file).read_text()
    return "bfloat16" if re.search(r"^#define ENABLE_BF16", text, re.MULTILINE) else "float32"


def prove_all(llmc: Path, sgemm: Path, liger: Path) -> list[dict[str, Any]]:
    """One row for each kernel."""
    todo = [
        (
            llmc / "dev" / "cuda" / file,
            kernel,
            (),
            workload(kernel, arguments, shapes, grid, block, shared, (), _dtype(llmc, file)),
        )
        for file, kernel, arguments, shapes, grid, block, shared in LLMC
    ]
    todo += [
        (sgemm / "src" / "kernels" / file, kernel, template, workload(kernel, _GEMM_ARGUMENTS, _GEMM, grid, block, "0", promises))
        for file, kernel, template, grid, block, promises in SGEMM
    ]  # fmt: skip
    todo += [
        (source_of(file, liger), kernel, (), triton_workload(kernel, arguments, grid, constants))
        for file, kernel, arguments, grid, constants in TRITON
    ]
    rows = []
    for path, kernel, template, promised in todo:
        started = time.monotonic()
        try:
            obligations = prove_file(path, kernel, promised, template_arguments=template, limit_ms=2000)
        except (ProgramError, UnreadableError) as error:
            rows.append(
                {"kernel": kernel, "language": promised.language, "error": str(error).rpartition(": ")[2]}
            )
            continue
        kinds: dict[str, Counter[str]] = {}
        for obligation in obligations:
            kinds.setdefault(obligation.kind.value, Counter())[obligation.status.value] += 1
        reasons = [f"{o.kind}: {o.reason}" for o in obligations if o.status == "undecided"]
        seconds = round(time.monotonic() - started, 1)
        rows.append(
            {
                "kernel": kernel,
                "language": promised.language,
                "kinds": {k: dict(c) for k, c in kinds.items()},
                "undecided": reasons,
                "seconds": seconds,
            }
        )
        print(json.dumps(rows[-1]), file=sys.stderr)  # noqa: T201
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """The rows as Markdown: counts by obligation, then by kernel, then the reasons for what is undecided."""
    lines = ["# Proofs about real kernels", "", _ABOUT]
    for language, title in (("cuda", "CUDA C++"), ("triton", "Triton")):
        own = [row for row in rows if row.get("language", "cuda") == language]
        lines += ["", f"## {title}", "", *_by_kind(own), "", *_by_kernel(own), "", *_reasons(own)]
    return "\n".join(lines) + "\n"


def _by_kind(rows: list[dict[str, Any]]) -> list[str]:
    totals: dict[str, Counter[str]] = {}
    for row in rows:
        for kind, counts in row.get("kinds", {}).items():
            totals.setdefault(kind, Counter()).update(counts)
    head = ["| obligation | proved | refuted | undecided |", "|---|---:|---:|---:|"]
    return head + [
        f"| `{kind}` | {' | '.join(str(c[s]) for s in _STATUSES)} |" for kind, c in sorted(totals.items())
    ]


def _by_kernel(rows: list[dict[str, Any]]) -> list[str]:
    lines = ["| kernel | proved | refuted | undecided | seconds |", "|---|---:|---:|---:|---:|"]
    for row in rows:
        if "error" in row:
            lines.append(f"| `{row['kernel']}` | {row['error']} | | | |")
            continue
        counts = Counter[str]()
        for statuses in row["kinds"].values():
            counts.update(statuses)
        lines.append(
            f"| `{row['kernel']}` | {' | '.join(str(counts[s]) for s in _STATUSES)} | {row['seconds']} |"
        )
    return lines


def _reasons(rows: list[dict[str, Any]]) -> list[str]:
    reasons = Counter(_NUMBERS.sub("…", r) for row in rows for r in row.get("undecided", ()))
    if not reasons:
        return ["Nothing is undecided."]
    return ["| undecided because | times |", "|---|---:|"] + [
        f"| {reason.replace('|', chr(92) + '|')} | {count} |" for reason, count in reasons.most_common(12)
    ]


def main(arguments: list[str]) -> None:
    """Print the rows as JSON, or a file of them as Markdown."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks proofs", description=SUMMARY)
    parser.add_argument("what", choices=["run", "table"])
    parser.add_argument("paths", type=Path, nargs="+", metavar="PATH")
    options = parser.parse_args(arguments)
    if options.what == "table":
        print(table(json.loads(options.paths[0].read_text())), end="")  # noqa: T201
    else:
        print(json.dumps(prove_all(*options.paths), indent=1))  # noqa: T201
