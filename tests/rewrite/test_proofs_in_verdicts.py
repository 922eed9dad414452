"""Proofs are part of the verdict: a bound or a range that the baseline keeps and the candidate loses."""

import threading
from pathlib import Path

import pytest

from kernel_gate.gate import judge
from kernel_gate.options import GateOptions
from kernel_gate.program import Program
from kernel_gate.verdict import Outcome, Stage, StageStatus, Verdict
from kernel_gate.workload import Workload, parse_workload
from kernel_lineage.proofs.obligations.obligation import Obligation
from kernel_lineage.rewrite.apply import open_conditions
from kernel_lineage.rewrite.proving import both as proving
from kernel_lineage.rewrite.proving.both import judged_with_proofs, proofs_of_both, with_proofs
from kernel_lineage.skills.conditions.facts import Fact, Facts, FactSource
from kernel_lineage.workloads.programs import program_from_file
from rewrite.conftest import SCALE, WORKLOAD

WIDE = SCALE.replace("int i = blockIdx.x * blockDim.x + threadIdx.x;", "INDEX").replace(
    "int n", "long long n"
)
WORK = parse_workload(WORKLOAD.replace('"int32"', '"int64"'))
SAFE = "long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;"
NARROW = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
PASSED = Verdict(
    outcome=Outcome.ACCEPTED,
    reason="1.2x",
    stages=[Stage(name="check", status=StageStatus.PASS)],
    inputs_hash="0",
)


def both(tmp_path: Path, old: str, new: str):
    programs = []
    for name, text in (("old.cu", old), ("new.cu", new)):
        path = tmp_path / name
        path.write_text(text)
        programs.append(program_from_file(path, "scale", WORK))
    return (*programs, tmp_path / "new.cu", WORK)


def test_an_index_that_narrows_is_accepted_only_for_the_callers_sizes(tmp_path: Path):
    asked = both(tmp_path, WIDE.replace("INDEX", SAFE), WIDE.replace("INDEX", NARROW))
    verdict = judged_with_proofs(lambda: PASSED, *asked)
    assert verdict.outcome is Outcome.ACCEPTED
    assert "only if N <= 1048576, which the baseline does not need" in verdict.reason
    unknown = Facts({})
    named = Facts({"N": Fact((64, 1048576), "the workload", FactSource.WORKLOAD)})
    assert open_conditions(verdict, unknown) == ["N <= 1048576"]
    assert open_conditions(verdict, named) == []


def test_a_bound_that_is_lost_rejects_with_a_small_counterexample(tmp_path: Path):
    asked = both(
        tmp_path, WIDE.replace("INDEX", SAFE), WIDE.replace("INDEX", SAFE).replace("i < n", "i <= n")
    )
    verdict = judged_with_proofs(lambda: PASSED, *asked)
    assert (verdict.outcome, verdict.code) == (Outcome.REJECTED, "out-of-bounds")
    assert verdict.reason.startswith("Rejected by prove: an access leaves its buffer")
    assert verdict.stage("prove").details["counterexample"]["N"] <= 1048576


def test_proofs_that_are_kept_are_counted(tmp_path: Path):
    proofs = proofs_of_both(*both(tmp_path, WIDE.replace("INDEX", SAFE), WIDE.replace("INDEX", SAFE)))
    assert proofs.lost is None and proofs.condition == "" and proofs.kept == proofs.asked > 2
    assert with_proofs(PASSED, proofs).stage("prove").reason == f"{proofs.kept} of {proofs.asked} proved"


def test_a_kernel_of_a_namespace_that_takes_a_narrower_number_is_proved(tmp_path: Path):
    """The narrower number is passed as the kernel takes it, and beyond the callers' sizes addresses overflow."""
    old, new = (
        "namespace plain {\n" + text.replace("x, a, n);", f"x, a, {number});") + "}\n"
        for text, number in (
            (WIDE.replace("INDEX", SAFE), "n"),
            (SCALE.replace(", int n) {\n    scale", ", long long n) {\n    scale"), "static_cast<int>(n)"),
        )
    )
    path = tmp_path / "scale.cu"
    path.write_text(old)
    programs = [
        program_from_file(path, "scale", WORK, data=text.encode(), changed_from=old.encode())
        for text in (old, new)
    ]
    proofs = proofs_of_both(*programs, path, WORK)
    assert not proofs.open and proofs.condition == "N <= 1048576"
    verdict = judge(*programs, WORK, device="emulated", options=GateOptions(check_seconds=5, hidden=False))
    assert verdict.stage("check").status is StageStatus.PASS, verdict.reason


def test_a_sequence_is_proved_launch_by_launch(tmp_path: Path):
    table = WORKLOAD.replace('"int32"', '"int64"').replace("[launch]", '[[launches]]\nkernel = "scale"')
    twice = parse_workload(
        f'{table}\n[[launches]]\nkernel = "scale"\ngrid = ["ceil_div(N, 64)"]\nblock = [64]\n'
    )
    assert len(twice.launches) == 2
    old, new = (WIDE.replace("INDEX", SAFE), WIDE.replace("INDEX", SAFE).replace("i < n", "i <= n"))
    programs = []
    for name, text in (("old.cu", old), ("new.cu", new)):
        path = tmp_path / name
        path.write_text(text)
        programs.append(program_from_file(path, "scale", twice))
    kept = proofs_of_both(programs[0], programs[0], tmp_path / "old.cu", twice)
    assert kept.kept == kept.asked > 2 and not kept.open
    verdict = judged_with_proofs(lambda: PASSED, *programs, tmp_path / "new.cu", twice)
    assert (verdict.outcome, verdict.code) == (Outcome.REJECTED, "out-of-bounds")


@pytest.mark.parametrize("text", ["__global__ void scale() {"])
def test_what_cannot_be_read_is_said(tmp_path: Path, text: str):
    old, new, path, work = both(tmp_path, WIDE.replace("INDEX", SAFE), WIDE.replace("INDEX", SAFE))
    unreadable = new.__class__(**{**{f: getattr(new, f) for f in new.__dataclass_fields__}, "source": text})
    proofs = proofs_of_both(old, unreadable, path, work)
    assert proofs.open and "not proved" in with_proofs(PASSED, proofs).stage("prove").reason


@pytest.mark.parametrize("ends", [True, False])
def test_a_verdict_waits_for_the_baselines_proofs_once_something_is_refuted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: bool
):
    asked = both(
        tmp_path, WIDE.replace("INDEX", SAFE), WIDE.replace("INDEX", SAFE).replace("i < n", "i <= n")
    )
    prove, refuted, let_go = proving._obligations, threading.Event(), threading.Event()
    calls = []

    def proved(program: Program, path: Path, workload: Workload) -> list[Obligation]:
        calls.append(program)
        if len(calls) == 2:
            refuted.set()
            let_go.wait(30)
        return prove(program, path, workload)

    def judge() -> Verdict:
        refuted.wait(30)
        if ends:
            let_go.set()
        return PASSED

    monkeypatch.setattr(proving, "_obligations", proved)
    monkeypatch.setattr(proving, "_WAIT_SECONDS", 0.0)
    if not ends:
        monkeypatch.setattr(proving, "_WAIT_FOR_REFUTED_SECONDS", 0.0)
    try:
        verdict = judged_with_proofs(judge, *asked)
    finally:
        let_go.set()
    if ends:
        assert verdict.code == "out-of-bounds"
    else:
        assert "an access leaves its buffer; whether the baseline's does" in verdict.stage("prove").reason


GATHER = """__global__ void gather(float* out, const float* table, const int* ids, int N, int C, int V) {
    int row = blockIdx.x;
    int id = ids[row];
    GUARD
    for (int c = threadIdx.x; c < C; c += 128) out[(size_t)row * C + c] = table[AT];
}
"""
ROWS = """kernel = "gather"
language = "cuda"
dims = { N = [8, 64], C = [64, 512], V = [100, 30000] }
args = [
    { name = "out", kind = "output", dtype = "float32", shape = ["N", "C"] },
    { name = "table", kind = "input", dtype = "float32", shape = ["V", "C"] },
    { name = "ids", kind = "input", dtype = "int32", shape = ["N"], values = "VALUES" },
    { name = "N", kind = "scalar", dtype = "int32", value = "N" },
    { name = "C", kind = "scalar", dtype = "int32", value = "C" },
    { name = "V", kind = "scalar", dtype = "int32", value = "V" },
]
launch = { grid = ["N"], block = [128] }
"""
UNGUARDED, CHECKED = "", "if (id < 0 || id >= V) id = 0;"
WIDE_ROW, NARROW_ROW = "(size_t)id * C + c", "id * C + c"


def gathers(
    tmp_path: Path,
    before: tuple[str, str],
    after: tuple[str, str],
    values: str = "integers",
    rows: str = ROWS,
) -> proving.Proofs:
    workload = parse_workload(rows.replace("VALUES", values))
    programs = []
    for name, (guard, at) in (("old.cu", before), ("new.cu", after)):
        path = tmp_path / name
        path.write_text(GATHER.replace("GUARD", guard).replace("AT", at))
        programs.append(program_from_file(path, "gather", workload))
    return proofs_of_both(programs[0], programs[1], tmp_path / "new.cu", workload)


@pytest.mark.long
@pytest.mark.parametrize("guard", [UNGUARDED, CHECKED])
@pytest.mark.parametrize("values", ["integers", "integers(0, V)"])
def test_a_gather_that_narrows_is_accepted_only_for_the_callers_sizes(
    tmp_path: Path, guard: str, values: str
):
    proofs = gathers(tmp_path, (guard, WIDE_ROW), (guard, NARROW_ROW), values)
    assert proofs.lost is None
    assert proofs.condition == "N <= 64 and C <= 512 and V <= 30000"
    assert proofs.beyond is not None and proofs.beyond.root == "table"


@pytest.mark.long
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ((UNGUARDED, NARROW_ROW), (UNGUARDED, "c + id * C")),
        ((UNGUARDED, NARROW_ROW), (CHECKED, NARROW_ROW)),
        ((UNGUARDED, NARROW_ROW), (UNGUARDED, WIDE_ROW)),
        ((UNGUARDED, WIDE_ROW), ("long long wide = id;", "wide * C + c")),
        ((UNGUARDED, WIDE_ROW), ("const float* from = table + (size_t)id * C;", "0] * 0 + from[c")),
    ],
)
def test_a_gather_that_does_not_narrow_needs_nothing(
    tmp_path: Path, before: tuple[str, str], after: tuple[str, str]
):
    proofs = gathers(tmp_path, before, after)
    assert (proofs.lost, proofs.beyond, proofs.condition) == (None, None, "")


def test_numbers_of_a_test_do_not_hide_a_gather_that_narrows(tmp_path: Path):
    fixed = ROWS.replace("dims = {", 'promises = ["N == 64", "C == 512", "V == 30000"]\ndims = {')
    fixed = fixed.replace("[8, 64]", "[64]").replace("[64, 512]", "[512]").replace("[100, 30000]", "[30000]")
    values = "listed(0, 5, 29999)"
    wide, narrow = (UNGUARDED, WIDE_ROW), (UNGUARDED, NARROW_ROW)
    assert gathers(tmp_path, wide, narrow, values, fixed).condition in ("C <= 512", "V <= 30000")
    assert gathers(tmp_path, narrow, narrow, values, fixed).condition == ""


@pytest.mark.long
def test_an_overflow_of_the_baseline_at_other_sizes_does_not_hide_one_of_the_candidate(tmp_path: Path):
    both_overflow = " + (C * 1000 - C * 999 - C)"
    wide, narrow = (UNGUARDED, WIDE_ROW + both_overflow), (UNGUARDED, NARROW_ROW + both_overflow)
    proofs = gathers(tmp_path, wide, narrow)
    assert proofs.condition == "V <= 30000"
    assert proofs.beyond is not None and proofs.beyond.root == "table"
    assert gathers(tmp_path, narrow, narrow).condition == ""


FOURS = """__global__ void twice(float* out, const float* x, int n, int four) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (!four) {
        if (ONE) out[i] = 2 * x[i];
    } else if (FOUR) {
        float4 v = reinterpret_cast<const float4*>(x)[i];
        reinterpret_cast<float4*>(out)[i] = make_float4(2 * v.x, 2 * v.y, 2 * v.z, 2 * v.w);
    }
}
"""
ADDRESSED = """kernel = "twice"
language = "cuda"
dims = { N = [64, 4096] }
promises = ["N % 4 == 0"]
args = [
    { name = "out", kind = "output", dtype = "float32", shape = ["N"] },
    { name = "x", kind = "input", dtype = "float32", shape = ["N"] },
    { name = "n", kind = "scalar", dtype = "int32", value = "N" },
    { name = "four", kind = "scalar", dtype = "int32", value = "bit_or(address_of_x, address_of_out) % 16 == 0" },
]
launch = { grid = ["ceil_div(N, 64)"], block = [64] }
"""


@pytest.mark.parametrize(
    ("one", "four", "lost"),
    [("i < n", "4 * i < n", False), ("i <= n", "4 * i < n", False), ("i < n", "4 * i <= n", True)],
    ids=["right", "wrong where buffers lie as no allocator places them", "wrong"],
)
def test_what_only_misaligned_buffers_show_is_left_to_the_gate(
    tmp_path: Path, one: str, four: str, lost: bool
):
    workload = parse_workload(ADDRESSED)
    programs = []
    for name, tests in (("old.cu", ("i < n", "4 * i < n")), ("new.cu", (one, four))):
        path = tmp_path / name
        path.write_text(FOURS.replace("ONE", tests[0]).replace("FOUR", tests[1]))
        programs.append(program_from_file(path, "twice", workload))
    proofs = proofs_of_both(programs[0], programs[1], tmp_path / "new.cu", workload)
    assert (proofs.lost is not None, proofs.beyond) == (lost, None)
    assert (proofs.kept == proofs.asked) is (one == "i < n" and not lost)
