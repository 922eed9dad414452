"""Applying a skill: the accepted case, what is kept instead of applied, and that nothing else ever changes a file."""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path

import pytest

from kernel_gate.verdict import Outcome
from kernel_gate.workload import load_workload
from kernel_lineage.cache_folder import kept_in
from kernel_lineage.kernels.naming import earlier_namesake
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language
from kernel_lineage.rewrite.apply import ApplyError, ApplyRequest, apply
from kernel_lineage.rewrite.document import ApplyDocument
from kernel_lineage.rewrite.materialise import Lane
from kernel_lineage.rewrite.offers import offers_of
from kernel_lineage.skills.applicable import applicable
from kernel_lineage.skills.card import Skill
from kernel_lineage.skills.conditions.facts import Fact, Facts, FactSource
from kernel_lineage.skills.library import library
from kernel_lineage.workloads.mutants.model import Mutant
from kernel_lineage.workloads.on_the_spot import SpotWorkload
from kernel_lineage.workloads.proof import Proof, Tried
from rewrite.conftest import SCALE, Judges, verdict

MUTANT = Mutant("zero_output:3", "zero_output", "", 3, "", "", b"", "")
ACCEPTED = verdict(Outcome.ACCEPTED, "1.30x")


def skill(name: str = "vectorised-row-access") -> Skill:
    card = library().get(name)
    assert card is not None
    return card


def stated(**values: int | bool) -> Facts:
    return Facts({n: Fact((v,), f"{n} is stated", FactSource.STATED) for n, v in values.items()})


ALIGNED = Facts(
    {name: Fact((16,), f"{name} is stated", FactSource.STATED) for name in ("align(x)", "align(out)")}
)


def ask(repository: Path, judge: Judges, **changes: object) -> ApplyDocument:
    values: dict[str, object] = {
        "skill": skill(),
        "path": repository / "src" / "scale.cu",
        "kernel": "scale",
        "lane": Lane("assist"),
        "device": "emulated",
    }
    return apply(ApplyRequest(**{**values, **changes}), judge)  # type: ignore[arg-type]


def text_of(repository: Path) -> str:
    return (repository / "src" / "scale.cu").read_text()


def test_an_accepted_candidate_is_written(repository: Path) -> None:
    judge = Judges(ACCEPTED)
    document = ask(repository, judge, stated=ALIGNED)
    assert (document.outcome, document.applied, document.patch) == ("accepted", True, None)
    assert document.source_sha256 == hashlib.sha256(SCALE.encode()).hexdigest()
    assert text_of(repository) == judge.seen[0].apply(SCALE.encode()).decode()
    assert "float4" in text_of(repository)
    assert not (kept_in(repository) / "candidates").exists()


def test_where_validity_is_unknown_the_guarded_form_is_applied_and_says_so(repository: Path) -> None:
    document = ask(repository, Judges(ACCEPTED))
    assert document.guarded
    assert document.applied
    assert "Guarded, because " in document.explanation


def test_where_validity_is_unknown_an_unguarded_form_is_refused_with_what_is_missing(
    repository: Path,
) -> None:
    (repository / ".klineage" / "workloads" / "scale.toml").unlink()
    judge = Judges(ACCEPTED)
    document = ask(repository, judge, skill=skill("restrict-const-pointers"))
    assert document.outcome == "refused"
    assert "is not known to hold" in document.reason
    assert judge.seen == []


def test_a_failing_validity_condition_is_refused(repository: Path) -> None:
    path = repository / ".klineage" / "workloads" / "scale.toml"
    path.write_text(path.read_text().replace('"float32"\nshape = ["N"]', '"float8_e4m3fn"\nshape = ["N"]'))
    document = ask(repository, Judges(ACCEPTED))
    assert document.outcome == "refused", document.reason
    assert "does not hold" in document.reason
    assert text_of(repository) == SCALE


@pytest.mark.parametrize("outcome", [Outcome.REJECTED, Outcome.INCONCLUSIVE])
def test_what_is_not_accepted_is_kept_as_a_patch_with_its_verdict(repository: Path, outcome: Outcome) -> None:
    judge = Judges(verdict(outcome, "y[3, 769] = NaN (not written)"))
    document = ask(repository, judge)
    assert document.outcome == outcome.value
    assert text_of(repository) == SCALE
    assert document.patch is not None
    beside = json.loads(Path(document.patch).with_suffix(".json").read_text())
    assert beside["verdict"]["reason"] == "y[3, 769] = NaN (not written)"
    subprocess.run(["git", "apply", "--check", document.patch], cwd=repository, check=True)
    subprocess.run(["git", "apply", document.patch], cwd=repository, check=True)
    assert text_of(repository) == judge.seen[0].apply(SCALE.encode()).decode()


def test_a_file_without_a_last_newline_and_with_carriage_returns_has_a_patch_that_applies(
    repository: Path,
) -> None:
    path = repository / "src" / "scale.cu"
    path.write_bytes(SCALE.rstrip("\n").replace("\n", "\r\n").encode())
    judge = Judges(verdict(Outcome.REJECTED))
    before = path.read_bytes()
    document = ask(repository, judge)
    assert document.patch is not None
    subprocess.run(["git", "apply", document.patch], cwd=repository, check=True)
    assert path.read_bytes() == judge.seen[0].apply(before)
    assert path.read_bytes().count(b"\n") == path.read_bytes().count(b"\r\n")


def test_a_file_that_changed_meanwhile_is_left_alone(repository: Path) -> None:
    judge = Judges(ACCEPTED)
    path = repository / "src" / "scale.cu"
    judge.meanwhile = lambda: path.write_text(SCALE + "// typed meanwhile\n") and None
    document = ask(repository, judge)
    assert not document.applied
    assert "has changed since it was read" in document.reason
    assert document.patch is not None
    assert text_of(repository) == SCALE + "// typed meanwhile\n"


def test_the_text_of_a_buffer_is_gated_and_only_its_edits_are_given(repository: Path) -> None:
    buffer = SCALE.replace("a * x[i]", "a * x[i] + 1.0f").encode()
    judge = Judges(ACCEPTED)
    document = ask(repository, judge, text=buffer)
    assert (document.outcome, document.applied) == ("accepted", False)
    assert document.source_sha256 == hashlib.sha256(buffer).hexdigest()
    assert text_of(repository) == SCALE
    changed = buffer
    for edit in reversed(document.edits):
        changed = changed[: edit.start] + edit.text.encode() + changed[edit.end :]
    assert changed == judge.seen[0].apply(buffer)


def test_a_dry_run_writes_nothing(repository: Path) -> None:
    before = sorted(repository.rglob("*"))
    for outcome in Outcome:
        assert not ask(repository, Judges(verdict(outcome)), dry_run=True).applied
    assert sorted(repository.rglob("*")) == before
    assert text_of(repository) == SCALE


def test_without_a_workload_nothing_can_be_checked(repository: Path) -> None:
    (repository / ".klineage" / "workloads" / "scale.toml").unlink()
    judge = Judges(ACCEPTED)
    document = ask(repository, judge)
    assert document.outcome == "inconclusive"
    assert str(repository / ".klineage" / "workloads" / "scale.toml") in document.reason
    assert document.patch is not None
    assert judge.seen == []


def test_a_kernel_that_has_it_already_is_refused(repository: Path) -> None:
    ask(repository, Judges(ACCEPTED))
    changed = text_of(repository)
    document = ask(repository, Judges(ACCEPTED))
    assert document.outcome == "refused"
    assert text_of(repository) == changed


def test_a_file_keeps_its_mode_and_a_link_stays_a_link(repository: Path) -> None:
    path = repository / "src" / "scale.cu"
    path.chmod(0o640)
    (repository / "link.cu").symlink_to(path)
    ask(repository, Judges(ACCEPTED), path=repository / "link.cu")
    assert (repository / "link.cu").is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    assert "float4" in path.read_text()


def test_a_missing_kernel_is_named_with_those_that_are_there(repository: Path) -> None:
    with pytest.raises(ApplyError, match="no kernel scal; its kernels: scale"):
        ask(repository, Judges(ACCEPTED), kernel="scal")


def test_a_missing_file_and_a_file_without_kernels_are_said(repository: Path) -> None:
    with pytest.raises(ApplyError, match="cannot be read"):
        ask(repository, Judges(ACCEPTED), path=repository / "none.cu")
    (repository / "notes.txt").write_text("hello")
    with pytest.raises(ApplyError, match="holds no kernels"):
        ask(repository, Judges(ACCEPTED), path=repository / "notes.txt")


@pytest.mark.parametrize("outcome", [None, *Outcome])
@pytest.mark.parametrize("buffer", [False, True])
@pytest.mark.parametrize("dry_run", [False, True])
@pytest.mark.parametrize("workload", [False, True])
@pytest.mark.parametrize(
    "name", ["vectorised-row-access", "restrict-const-pointers", "warp-shuffle-reduction"]
)
def test_no_path_changes_a_file_without_an_accepted_verdict(
    repository: Path, outcome: Outcome | None, buffer: bool, dry_run: bool, workload: bool, name: str
) -> None:
    if not workload:
        (repository / ".klineage" / "workloads" / "scale.toml").unlink()
    judge = Judges(verdict(outcome or Outcome.ACCEPTED))
    if outcome is None:
        judge.meanwhile = lambda: (_ for _ in ()).throw(KeyboardInterrupt)
    text = SCALE.encode() if buffer else None
    try:
        document = ask(repository, judge, skill=skill(name), text=text, dry_run=dry_run)
    except KeyboardInterrupt:
        document = None
    changed = text_of(repository) != SCALE
    assert changed == (document is not None and document.applied)
    if changed:
        assert document is not None
        assert document.verdict is not None
        assert document.verdict.outcome is Outcome.ACCEPTED
        assert text_of(repository) == judge.seen[0].apply(SCALE.encode()).decode()
        assert not dry_run
        assert text is None
    if document is not None and document.outcome == "accepted":
        assert document.verdict is not None
        assert document.verdict.outcome is Outcome.ACCEPTED


def test_where_the_repository_has_no_workload_one_is_drafted_and_its_blindness_accepts_nothing(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = repository / ".klineage" / "workloads" / "scale.toml"
    workload = load_workload(place)
    place.unlink()
    drafts = iter((Proof("", (Tried(MUTANT, "killed", ""),)), Proof("", (Tried(MUTANT, "survived", ""),))))
    monkeypatch.setattr(
        "kernel_lineage.rewrite.apply.workload_of",
        lambda *_, record, say: SpotWorkload(workload, None, ("N is chosen",), next(drafts)),
    )
    seen = ask(repository, Judges(ACCEPTED), draft=True, stated=ALIGNED, dry_run=True)
    assert seen.outcome == "accepted" and seen.verdict is not None
    assert seen.verdict.environment["workload"] == "drafted"
    blind = ask(repository, Judges(ACCEPTED), draft=True, stated=ALIGNED)
    assert (blind.outcome, blind.applied) == ("inconclusive", False)
    assert text_of(repository) == SCALE


NAMESAKE = """
template <int N>
__global__ void scale(float* out, const float* x, int C) {
    for (int i = threadIdx.x; i < C; i += blockDim.x) out[i] = x[i] * N;
}
"""


@pytest.mark.parametrize("by", ["line", "name"])
def test_a_kernel_below_another_of_its_name_is_refused_before_anything_is_judged(
    repository: Path, by: str
) -> None:
    path = repository / "src" / "scale.cu"
    line = text_of(repository).count("\n") + 3
    path.write_text(text_of(repository) + NAMESAKE)
    judges = Judges(ACCEPTED)
    meant = {"kernel": str(line)} if by == "line" else {"line": line + 1}
    with pytest.raises(ApplyError, match="`scale` means the kernel of that name at line"):
        ask(repository, judges, **meant)
    assert judges.seen == []
    first, second = read(path.read_bytes(), Language.CUDA).kernels
    assert earlier_namesake(first) is None
    document = offers_of(second, applicable(second, [skill()], Facts()))
    assert document.offers == []
    assert [one.reason.split(";")[0] for one in document.refused] == [
        f"`scale` means the kernel of that name at line {first.span.first_line}"
    ]
