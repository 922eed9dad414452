"""Rows of the threat list that are about the surroundings of a run and not about a kernel: each with an honest twin."""

from __future__ import annotations

import hashlib
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from gate.corpus import FOLDER, Entry, entries
from gate.programs import affine, workload
from kernel_gate.build import compile as building
from kernel_gate.build.kept_images import KeptImages
from kernel_gate.gate import judge
from kernel_gate.program import Program
from kernel_gate.reasons import Reason
from kernel_gate.sandbox.containment import Containment
from kernel_gate.verdict import Outcome, Verdict
from kernel_gate.workload import Workload, load_workload

Act = Callable[[Path, pytest.MonkeyPatch], Verdict]


@dataclass(frozen=True)
class Environment:
    """Surroundings that a cheat would profit from, and ones that harm nobody."""

    name: str
    row: int
    cheat: Act
    honest: Act
    outcome: Outcome
    code: Reason

    def caught(self, verdict: Verdict) -> str:
        """ "" when the verdict says what it should of the cheat; else what it says instead."""
        right = verdict.outcome is self.outcome and verdict.code is self.code
        return "" if right else f"{verdict.outcome.value} ({verdict.code}): {verdict.reason}"


def in_a_folder(act: Act) -> Verdict:
    """The verdict in a folder and surroundings that are restored afterwards, of programs that were not built before."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr("kernel_gate.building._KEPT", KeptImages())
        return act(Path(folder), patch)


def _triton() -> Entry:
    return next(e for e in entries() if e.name == "31_oracle_rewritten")


def _triton_workload() -> Workload:
    return load_workload(FOLDER / "31_oracle_rewritten" / "workload.toml")


def _with_oracle(folder: Path) -> Workload:
    (folder / "oracle.py").write_text("def affine(x, **_):\n    return 2.0 * x + 1.0\n")
    return workload('[oracle]\npython = "oracle.py:affine"\n').model_copy(update={"folder": folder})


def _oracle_changes(folder: Path, patch: pytest.MonkeyPatch) -> Verdict:
    """Between the cases of the check, the oracle's file becomes another."""
    asked = _with_oracle(folder)

    def change(stage: str, what: str, share: float) -> None:
        if stage == "check":
            (folder / "oracle.py").write_text("def affine(x, **_):\n    return 2.0 * x + 1.0  # other\n")

    return judge(affine(), affine(), asked, device="emulated", progress=change)


def _oracle_stays(folder: Path, patch: pytest.MonkeyPatch) -> Verdict:
    return judge(affine(), affine(), _with_oracle(folder), device="emulated")


def _wrong_triton() -> Program:
    honest = _triton().program("baseline")
    return replace(honest, source=honest.source.replace("2.0 * tl.load", "3.0 * tl.load"), name="wrong.py")


def _poisoned_cache(folder: Path, patch: pytest.MonkeyPatch) -> Verdict:
    """Under the wrong program's key, the user's Triton cache holds the right program's code."""
    wrong, right = (
        _compiled_into(folder / "wrong", _wrong_triton()),
        _compiled_into(folder / "right", _triton().program("baseline")),
    )
    for suffix in (".ptx", ".cubin"):
        for target in wrong.rglob(f"*{suffix}"):
            shutil.copy(next(right.rglob(f"*{suffix}")), target)
    patch.setenv("TRITON_CACHE_DIR", str(wrong))
    patch.setenv("CUDA_CACHE_PATH", str(wrong))
    before = _hash(wrong)
    verdict = judge(_triton().program("baseline"), _wrong_triton(), _triton_workload(), device="emulated")
    assert _hash(wrong) == before, "the run wrote to the user's cache"
    return verdict


def _own_cache(folder: Path, patch: pytest.MonkeyPatch) -> Verdict:
    patch.setenv("TRITON_CACHE_DIR", str(folder))
    return judge(
        _triton().program("baseline"), _triton().program("honest"), _triton_workload(), device="emulated"
    )


def _hash(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


def _compiled_into(folder: Path, program: Program) -> Path:
    """Triton's cache after compiling a program as the check will."""
    from kernel_gate.launching import units_for

    folder.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        kept = building.bare_environment

        def with_cache(place: Path) -> dict[str, str]:
            return {**kept(place), "TRITON_CACHE_DIR": str(folder)}

        patch.setattr(building, "bare_environment", with_cache)
        asked = _triton_workload()
        units = units_for(asked, program, [{"n": 96}])
        nothing = Containment(landlock=0, seccomp=False)
        building.compile_program(program, "sm_80", units, containment=nothing, allow_uncontained=True)
    assert list(folder.rglob("*.ptx"))
    return folder


def _no_sandbox(folder: Path, patch: pytest.MonkeyPatch) -> Verdict:
    patch.setattr(building, "offered", lambda: Containment(landlock=0, seccomp=False))
    return _own_cache(folder, patch)


def _no_compiler(folder: Path, patch: pytest.MonkeyPatch) -> Verdict:
    patch.setenv("PATH", str(folder))
    return judge(affine(compiler="nvcc"), affine(compiler="nvcc"), workload(), device="emulated")


def _compiler(folder: Path, patch: pytest.MonkeyPatch) -> Verdict:
    return judge(affine(compiler="nvcc"), affine(compiler="nvcc"), workload(), device="emulated")


def _no_gpu(folder: Path, patch: pytest.MonkeyPatch) -> Verdict:
    patch.setitem(sys.modules, "pycuda", None)
    return judge(affine(), affine(), workload(), device="auto")


def _emulated(folder: Path, patch: pytest.MonkeyPatch) -> Verdict:
    return judge(affine(), affine(), workload(), device="emulated")


UNCLEAR = Outcome.INCONCLUSIVE
ENVIRONMENTS = (
    Environment("oracle_changes", 27, _oracle_changes, _oracle_stays, UNCLEAR, Reason.COMPANION_CHANGED),
    Environment("poisoned_cache", 28, _poisoned_cache, _own_cache, Outcome.REJECTED, Reason.WRONG_VALUE),
    Environment("no_sandbox", 32, _no_sandbox, _own_cache, UNCLEAR, Reason.SANDBOX_UNAVAILABLE),
    Environment("no_compiler", 32, _no_compiler, _compiler, UNCLEAR, Reason.COMPILER_MISSING),
    Environment("no_gpu", 32, _no_gpu, _emulated, UNCLEAR, Reason.NOT_PROFILED),
)
