"""A draft is made once for what it is read from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kernel_gate.workload import parse_workload
from kernel_lineage.cache_folder import KEEP_IN
from kernel_lineage.rewrite import kept_workloads
from kernel_lineage.rewrite.kept_workloads import workload_of
from kernel_lineage.workloads.mutants.model import Mutant
from kernel_lineage.workloads.on_the_spot import SpotWorkload
from kernel_lineage.workloads.proof import Proof, Tried
from workload_texts import workload_text

MUTANT = Mutant(
    "zero_output:3", "zero_output", "the output is zero", 3, "y[i] = x[i];", "y[i] = 0;", b"\xff", ""
)
DRAFT = SpotWorkload(
    parse_workload(
        workload_text("copy", "n = [770]", 'grid = ["1"]', "y: output float32 [n]", "x: input float32 [n]")
    ),
    None,
    ("n is 1000 in main; checked with 770",),
    Proof("", (Tried(MUTANT, "killed", "y[0] = 0, expected 1"),)),
)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(KEEP_IN, str(tmp_path / "kept"))
    monkeypatch.setattr(kept_workloads, "secret_file", lambda: tmp_path / "secret")
    root = tmp_path / "repository"
    (root / ".git").mkdir(parents=True)
    (root / "copy.cu").write_text("__global__ void copy(float* y, const float* x) { y[0] = x[0]; }\n")
    (root / "launch.cu").write_text("void launch();\n")
    return root


def drafting(
    monkeypatch: pytest.MonkeyPatch, spot: SpotWorkload
) -> Callable[[Path], tuple[SpotWorkload, int]]:
    """Asks for the workload of `copy`; gives it, and how many have been drafted until then."""
    drafts: list[str] = []

    def draft(_path: Path, kernel: str, *_: object, **__: object) -> SpotWorkload:
        drafts.append(kernel)
        return spot

    monkeypatch.setattr(kept_workloads, "workload_on_the_spot", draft)
    return lambda root: (
        workload_of(root / "copy.cu", "copy", record=True, say=lambda _: None),
        len(drafts),
    )


def test_the_same_files_are_drafted_from_once(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ask = drafting(monkeypatch, DRAFT)
    assert ask(repository) == (DRAFT, 1)

    spot, drafts = ask(repository)

    assert drafts == 1
    assert spot.is_kept
    assert spot.workload == DRAFT.workload
    assert spot.assumed == DRAFT.assumed
    assert spot.proof is not None
    assert not spot.proof.blind
    assert [(t.mutant.id, t.fate) for t in spot.proof.tried] == [("zero_output:3", "killed")]


@pytest.mark.parametrize("file", ["copy.cu", "launch.cu", "new.h"])
def test_another_text_is_drafted_from_anew(
    repository: Path, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    ask = drafting(monkeypatch, DRAFT)
    ask(repository)
    with (repository / file).open("a") as text:
        text.write("// more\n")

    assert ask(repository) == (DRAFT, 2)


@pytest.mark.parametrize(
    "proof",
    [
        Proof("", (Tried(MUTANT, "survived", ""),)),
        Proof("", (*(DRAFT.proof.tried if DRAFT.proof else ()), Tried(MUTANT, "undecided", "no time was left for it"))),
        Proof("the kernel hangs", cut=True),
    ],
    ids=["blind", "without time for a mutant", "without time for the kernel"],
)  # fmt: skip
def test_a_draft_that_tells_too_little_is_not_kept(
    repository: Path, monkeypatch: pytest.MonkeyPatch, proof: Proof
) -> None:
    ask = drafting(monkeypatch, replace(DRAFT, proof=proof))
    ask(repository)

    assert ask(repository)[1] == 2


def test_without_a_repository_nothing_is_kept(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (repository / ".git").rmdir()
    ask = drafting(monkeypatch, DRAFT)
    ask(repository)

    assert ask(repository)[1] == 2
