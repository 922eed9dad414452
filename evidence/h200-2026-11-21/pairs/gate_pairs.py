"""Gate pairs of real kernels: Liger-Kernel's functions before and after, llm.c's launchers one after the other.

    python gate_pairs.py OUT LIGER LLMC [--device cuda] [--only PART_OF_A_NAME]

LIGER holds one folder per state (`new`, and one per function with an older state, each with `src/liger_kernel`),
LLMC is a checkout of llm.c. Writes one verdict per pair to OUT and prints a table. One pair is what
`klineage gate BEFORE AFTER --kernel … --candidate-kernel … --workload … --need not_slower` says.
"""

import json
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from kernel_gate.options import GateOptions
from kernel_gate.program import Program
from kernel_gate.request import GateRequest
from kernel_gate.worker import run_in_child
from kernel_gate.workload import Workload, load_workload
from kernel_lineage.workloads.programs import program_from_file

HERE = Path(__file__).parent
LIGER = ("rms_norm", "layer_norm", "swiglu", "geglu", "fused_add_rms_norm", "dyt")
LLMC = {
    "layernorm_forward": ("1", "2", "3", "4", "5", "6"),
    "softmax_forward": ("1", "2", "3", "4", "_online1", "_online2", "7", "_online8"),
}
OPTIONS = GateOptions(need="not_slower", check_seconds=15, profile_seconds=1.5)


def pairs(liger: Path, llmc: Path, only: str) -> Iterator[tuple[str, Workload, Program, Program]]:
    """Name, workload, before, after, of those whose name holds `only`."""
    for op in (op for op in LIGER if only in f"liger_{op}"):
        workload = load_workload(HERE / f"liger_{op}.toml")
        files = [liger / state / "src" / "liger_kernel" / "ops" / f"{op}.py" for state in (op, "new")]
        before, after = (
            program_from_file(
                f, workload.kernel, workload, name=f"{op}.py ({when})", import_path=f.parents[2]
            )
            for f, when in zip(files, ("before", "after"), strict=True)
        )
        yield f"liger_{op}", workload, before, after
    for stem, variants in LLMC.items():
        workload = load_workload(HERE / f"llmc_{stem}.toml")
        path = llmc / "dev" / "cuda" / f"{stem}.cu"
        for pair in pairwise(variants):
            name = f"llmc_{stem}_{pair[0].strip('_')}_{pair[1].strip('_')}"
            if only in name:
                before, after = (
                    program_from_file(path, f"{stem}{v}", workload, name=f"{stem}{v}") for v in pair
                )
                yield name, workload, before, after


def trimmed(document: dict) -> dict:
    """A verdict without raw samples, logs and what names the machine."""
    for stage in document["stages"]:
        stage["details"].pop("log", None)
        for shape in stage["details"].get("shapes", []):
            shape.pop("samples", None)
    document["environment"].pop("platform", None)
    return document


def main() -> None:
    """Judge every pair."""
    out, liger, llmc = map(Path, sys.argv[1:4])
    device = sys.argv[sys.argv.index("--device") + 1] if "--device" in sys.argv else "cuda"
    only = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else ""
    for name, workload, before, after in pairs(liger, llmc, only):
        started = time.monotonic()
        verdict = run_in_child(
            GateRequest.of(before, after, workload, device=device, options=OPTIONS), timeout=90
        )
        document = trimmed(json.loads(verdict.model_dump_json()))
        (out / f"{name}.json").write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
        speed = verdict.speedup
        ratio = f"{speed.median:.3f} ({speed.low:.3f} … {speed.high:.3f})" if speed else "-"
        spent = time.monotonic() - started
        row = (name, verdict.outcome.value, ratio, verdict.reason, f"{spent:.0f} s")
        sys.stdout.write(f"| {' | '.join(row)} |\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
