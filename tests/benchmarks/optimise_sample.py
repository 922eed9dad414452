"""The naive kernels of the sample repository, by assists alone and by a test model, as a user types it.

    python -m tests.benchmarks optimise_sample                     # eight kernels, 45 s each at most
    python -m tests.benchmarks optimise_sample --device emulated   # no GPU: what is correct, not what is faster

The sample is cloned at its first commit, where each kernel is in its plainest form. `klineage optimise --write` changes
the clone. The model is a local endpoint with two answers written here: one without a barrier, then the right one.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.rewrite.protocol_server import ProtocolServer, Reply

from kernel_lineage.demo.sample import build_sample_repository

SUMMARY = "the sample's naive kernels by assists alone and by a test model, from the command line"

KERNELS = (
    "kernels/activation.cu:gelu_forward",
    "kernels/activation.cu:residual_forward",
    "kernels/reduction.cu:reduce_sum",
    "kernels/rmsnorm.cu:rmsnorm_forward",
    "kernels/softmax.cu:softmax_forward1",
    "kernels/transpose.cu:transpose",
    "sgemm/sgemm_01_naive.cu:sgemm_naive",
    "triton_kernels/row_softmax.py:row_softmax",
)
BY_MODEL = "kernels/softmax.cu:softmax_forward1"
_RIGHT = """\
__global__ void softmax_forward1(float* out, const float* x, int N, int C) {
    __shared__ float part[128];
    const float* xr = x + (size_t)blockIdx.x * C;
    float* yr = out + (size_t)blockIdx.x * C;
    float most = -INFINITY;
    for (int i = threadIdx.x; i < C; i += 128) most = fmaxf(most, xr[i]);
    part[threadIdx.x] = most;
    __syncthreads();
    for (int s = 64; s > 0; s /= 2) {
        if (threadIdx.x < s) part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + s]);
        __syncthreads();
    }
    most = part[0];
    __syncthreads();
    float sum = 0.0f;
    for (int i = threadIdx.x; i < C; i += 128) sum += expf(xr[i] - most);
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int s = 64; s > 0; s /= 2) {
        if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    sum = part[0];
    for (int i = threadIdx.x; i < C; i += 128) yr[i] = expf(xr[i] - most) / sum;
}"""
_NO_BARRIER = _RIGHT.replace("    most = part[0];\n    __syncthreads();\n", "    most = part[0];\n")


def main(arguments: list[str]) -> None:
    """Optimise each kernel in one clone, ask the model in another, and print both tables."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks optimise_sample", description=SUMMARY)
    parser.add_argument("--device", choices=["auto", "cuda", "emulated"], default="auto")
    parser.add_argument("--seconds", type=float, default=45.0, help="for each kernel")
    parser.add_argument("--kernels", help="a part of their names")
    parser.add_argument("--out", type=Path, help="a folder for what the commands print as JSON")
    asked = parser.parse_args(arguments)
    kernels = [k for k in KERNELS if asked.kernels is None or asked.kernels in k]
    with tempfile.TemporaryDirectory(prefix="optimise-") as folder:
        built = Path(folder) / "sample"
        build_sample_repository(built)
        _say("| kernel | promoted | speedup | outcome | seconds | file changed |")
        _say("|---|---|---:|---|---:|---|")
        clone = _first_commit(built, Path(folder) / "assists")
        for kernel in kernels:
            options = ["--device", asked.device, "--seconds", str(asked.seconds), "--write"]
            seconds, document = _klineage(clone, "optimise", kernel, *options)
            _keep(asked.out, f"optimise-{kernel.rpartition(':')[2]}", document)
            steps = ", ".join(t["skill"] for t in document["tried"] if t["promoted"]) or "nothing"
            path = kernel.rpartition(":")[0]
            changed = "yes" if _git(clone, "diff", "--name-only", path) else "no"
            verdict = document.get("verdict")
            _say(
                f"| {kernel} | {steps} | {_speedup(verdict)} | {_outcome(verdict)} | {seconds:.0f} | {changed} |"
            )
        clone = _first_commit(built, Path(folder) / "model")
        with ProtocolServer(Reply(_answer(_NO_BARRIER)), Reply(_answer(_RIGHT))).running() as server:
            options = ["--by", "model", "--base-url", server.url, "--model", "test", "--device", asked.device]
            seconds, document = _klineage(clone, "apply", "block-per-row", BY_MODEL, *options)
            asked_for = len(server.requests)
        _keep(asked.out, "model", document)
        changed = "changed" if _git(clone, "diff", "--name-only") else "not changed"
        _say(
            f"\nBy the test model: {document['outcome']}, {_speedup(document.get('verdict'))}, after {asked_for} "
            f"answers of which the first lacks a barrier, in {seconds:.0f} s; the file was {changed}."
        )


def _first_commit(repository: Path, folder: Path) -> Path:
    """A clone at the commit that has each kernel in its plainest form."""
    subprocess.run(["git", "clone", "-q", str(repository), str(folder)], check=True)
    first = _git(folder, "rev-list", "--max-parents=0", "HEAD")
    _git(folder, "checkout", "-q", first)
    return folder


def _klineage(folder: Path, *arguments: str) -> tuple[float, dict[str, Any]]:
    """What a command prints as JSON, and its seconds."""
    began = time.monotonic()
    command = [sys.executable, "-m", "kernel_lineage", *arguments, "--json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if not done.stdout.strip():
        raise SystemExit(f"klineage {' '.join(arguments)}: {done.stderr.strip()}")
    return time.monotonic() - began, json.loads(done.stdout)


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _answer(code: str) -> str:
    launch = dict.fromkeys(("shared_bytes", "num_warps", "num_stages")) | {"grid": "N", "block": "128"}
    values = {"range": "kernel softmax_forward1", "replacement": code, "launch": launch, "declined": None}
    return json.dumps(values | {"explanation": "A block takes a row."})


def _speedup(verdict: dict[str, Any] | None) -> str:
    speedup = (verdict or {}).get("speedup")
    return (
        f"{speedup['median']:.2f}× ({speedup['low']:.2f} … {speedup['high']:.2f})" if speedup else "not timed"
    )


def _outcome(verdict: dict[str, Any] | None) -> str:
    return verdict["outcome"] if verdict else "nothing promoted"


def _keep(folder: Path | None, name: str, document: dict[str, Any]) -> None:
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.json").write_text(json.dumps(document, indent=1) + "\n")


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201
