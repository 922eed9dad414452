"""Replaying a history: what each step turns out to be, and what a second run costs.

The history: a kernel is made faster, thereby broken, mended, and broken for the compiler.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from git import Actor, Repo

from kernel_gate.fleet.places import emulated_places
from kernel_gate.fleet.pool import LocalPool
from kernel_gate.request import GateRequest
from kernel_gate.verdict import Verdict
from kernel_gate.workload import Workload
from kernel_lineage.cache_folder import kept_in
from kernel_lineage.history.git import open_repository
from kernel_lineage.history.mine import mine
from kernel_lineage.history.model import Intent
from kernel_lineage.learning import apart
from kernel_lineage.learning.replay import run
from kernel_lineage.learning.replay.document import ReplayDocument
from kernel_lineage.learning.replay.kept_drafts import KeptDrafts
from kernel_lineage.learning.replay.preparing import timed_within
from kernel_lineage.learning.replay.repository import Asked, replay_repository
from kernel_lineage.learning.replay.states import state_of
from kernel_lineage.workloads import measured

HOST = """
int main() {
    int n = 1002;
    float* out;
    float* x;
    cudaMalloc(&out, n * sizeof(float));
    cudaMalloc(&x, n * sizeof(float));
    %s
    return 0;
}
"""
SCALAR = (
    """\
__global__ void scale(float* out, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = 2.0f * x[i] + 1.0f;
    }
}
"""
    + HOST % "scale<<<(n + 127) / 128, 128>>>(out, x, n);"
)
VECTOR = (
    """\
__global__ void scale(float* out, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 4) {
        float4 v = reinterpret_cast<const float4*>(x)[i];
        v.x = 2.0f * v.x + 1.0f;
        v.y = 2.0f * v.y + 1.0f;
        v.z = 2.0f * v.z + 1.0f;
        v.w = 2.0f * v.w + 1.0f;
        reinterpret_cast<float4*>(out)[i] = v;
    }
}
"""
    + HOST % "scale<<<(n / 4 + 127) / 128, 128>>>(out, x, n);"
)
WHOLE = VECTOR.replace(
    "    }\n}\n",
    "    }\n    if (i < n % 4) {\n        out[n - 1 - i] = 2.0f * x[n - 1 - i] + 1.0f;\n    }\n}\n",
    1,
).replace("(n / 4 + 127)", "(n / 4 + 128)")
STRANGE = WHOLE.replace("float4 v =", "__ldcg_twice(x); float4 v =")
HISTORY = (
    ("Scale a vector", SCALAR),
    ("Speed up: 16-byte loads, twice as fast", VECTOR),
    ("Fix: the last elements were never written", WHOLE),
    ("Speed up with cached loads, faster still", STRANGE),
)


@dataclass
class Counted:
    """A pool that says how often it was asked."""

    pool: LocalPool
    asked: list[GateRequest] = field(default_factory=list)

    @property
    def size(self) -> int:
        return 1

    @property
    def emulated_size(self) -> int:
        return 1

    @property
    def seconds(self) -> dict[str, float]:
        return dict(self.pool.seconds)

    def judge(self, request: GateRequest, **rest: object) -> Verdict:
        self.asked.append(request)
        return self.pool.judge(request, **rest)


def commit(top: Path, message: str, text: str, file: str = "scale.cu") -> None:
    (top / file).write_text(text)
    repo = Repo.init(top)
    repo.git.add("-A")
    someone = Actor("A", "a@example.org")
    repo.index.commit(message, author=someone, committer=someone)
    repo.close()


@pytest.fixture(scope="module")
def pool():
    with LocalPool(emulated_places(1)) as pool:
        yield pool


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("history")
    for message, text in HISTORY:
        commit(top, message, text)
    return top


def replay_here(top: Path, pool: LocalPool, **asked: object) -> tuple[ReplayDocument, Counted]:
    counted = Counted(pool)
    done = replay_repository(
        top, Asked(device="emulated", **{"learn": False, **asked}), counted, lambda _done, _total, _one: None
    )
    return done.document, counted


@pytest.fixture(scope="module")
def replayed(history: Path, pool: LocalPool) -> ReplayDocument:
    return replay_here(history, pool)[0]


def _step(document: ReplayDocument, subject: str):
    return next(t for t in document.transitions if subject in t.subject)


def test_a_step_that_broke_something_fails_with_the_counterexample(replayed):
    broken = _step(replayed, "16-byte")
    assert (broken.status, broken.code, broken.label) == ("failed", "not-written", "inferred")
    assert broken.counterexample is not None and broken.counterexample.dims["n"] % 4
    assert broken.effect is None


def test_a_step_that_is_right_on_its_own_shapes_is_reproduced_with_what_it_excludes(pool, tmp_path):
    top = tmp_path / "narrow"
    top.mkdir()
    commit(top, "Scale", SCALAR.replace("1002", "1024"))
    commit(top, "Speed up: 16-byte loads", VECTOR.replace("1002", "1024"))
    (step,) = replay_here(top, pool)[0].transitions
    assert (step.status, step.code, step.label) == ("narrower", "narrower", "reproduced")
    assert step.counterexample is not None and step.counterexample.dims["n"] % 4
    assert [r.kind for r in step.risk] == ["counterexample"]


def test_a_fix_is_reproduced_when_the_failure_is_seen(replayed):
    fix = _step(replayed, "never written")
    assert (fix.status, fix.code, fix.label) == ("reproduced", "failure-seen", "reproduced")
    assert fix.counterexample is not None and "out[" in fix.counterexample.what


def test_what_a_fix_shows_is_a_risk_of_the_step_that_it_answers(replayed):
    broken, fix = _step(replayed, "16-byte"), _step(replayed, "never written")
    shown = [r for r in broken.risk if r.kind == "counterexample" and r.transition == fix.id]
    assert shown and shown[0].dims == fix.counterexample.dims


def test_a_state_that_no_longer_builds_is_said_with_the_compilers_first_error(replayed):
    strange = _step(replayed, "cached loads")
    assert (strange.status, strange.label) == ("unbuildable", "inferred")
    assert "the later state does not build" in strange.reason and "__ldcg_twice" in strange.reason


def test_the_workload_is_drafted_from_a_state_and_said(replayed):
    assert all(t.workload.startswith("drafted from scale.cu of ") for t in replayed.transitions)


def test_a_second_run_asks_the_gate_nothing_and_a_new_commit_only_for_itself(
    history, pool, replayed, tmp_path
):
    top = tmp_path / "again"
    shutil.copytree(history, top)
    shutil.copytree(kept_in(history), kept_in(top), dirs_exist_ok=True)
    again, counted = replay_here(top, pool)
    assert counted.asked == []
    assert [t.reused for t in again.transitions] == [True] * len(replayed.transitions)
    assert [(t.id, t.status) for t in again.transitions] == [(t.id, t.status) for t in replayed.transitions]
    commit(top, "Revert: cached loads do not build", HISTORY[2][1])
    more, counted = replay_here(top, pool)
    assert [t.subject for t in more.transitions if not t.reused] == ["Revert: cached loads do not build"]
    assert len(counted.asked) == 1


def test_a_limit_and_spent_time_leave_the_rest_for_the_next_run(history, pool, replayed, tmp_path):
    top = tmp_path / "limited"
    shutil.copytree(history, top)
    none, counted = replay_here(top, pool, seconds=0.0)
    assert (none.remaining, none.found, counted.asked) == (3, 3, [])
    one, _ = replay_here(top, pool, limit=1)
    assert one.remaining == 2 and [t.reused for t in one.transitions] == [False]
    two, _ = replay_here(top, pool, limit=1)
    assert two.remaining == 1 and sorted(t.reused for t in two.transitions) == [False, True]
    rest, _ = replay_here(top, pool, leave_out=frozenset(t.id for t in two.transitions))
    assert rest.remaining == 2 and {t.id for t in rest.transitions}.isdisjoint(t.id for t in two.transitions)


@pytest.mark.long
def test_steps_in_processes_of_their_own_give_the_same(history, pool, replayed, tmp_path, monkeypatch):
    top = tmp_path / "apart"
    shutil.copytree(history, top)
    monkeypatch.setattr(run, "_FEW", 0)
    there, counted = replay_here(top, pool)
    assert len(counted.asked) > 0

    def comparable(document: ReplayDocument) -> dict[str, object]:
        # Seeds are drawn, and how far the callers' sizes were checked is a matter of time: words name both.
        alike = {
            "id",
            "kernel",
            "path",
            "subject",
            "mechanisms",
            "status",
            "code",
            "compound",
            "workload",
            "device",
        }
        return {
            t.id: (t.model_dump(include=alike), [c.expr for c in t.conditions]) for t in document.transitions
        }

    assert comparable(there) == comparable(replayed)


def test_a_known_draft_is_the_one_that_the_state_gives(history, tmp_path):
    """Each version is drafted once for all its steps; what names the private folder is drafted anew."""
    repository = open_repository(history)
    versions = [v for lineage in mine(history).lineages for v in lineage.versions]
    kept = KeptDrafts(tmp_path)
    for version in versions:
        for measure in (False, True):
            with state_of(repository, version) as state:
                fresh = state.draft(measure=measure)
            with state_of(repository, version, kept) as state:
                assert state.draft(measure=measure) == fresh
            assert kept.of(version, measured=measure) is not None
            with state_of(repository, version, kept) as state:
                shutil.rmtree(state.root)
                assert state.draft(measure=measure) == fresh


def test_a_step_whose_process_dies_is_lost_alone_and_replayed_again(
    history, pool, replayed, tmp_path, monkeypatch
):
    top = tmp_path / "dies"
    shutil.copytree(history, top)
    monkeypatch.setattr(run, "_FEW", 0)
    monkeypatch.setattr(apart, "_MODULE", "no_such_module")
    lost, counted = replay_here(top, pool)
    assert {(t.status, t.code) for t in lost.transitions} == {("undecided", "step-lost")}
    assert "its process ended without a result" in lost.transitions[0].reason
    assert counted.asked == []
    monkeypatch.undo()
    again, _ = replay_here(top, pool, limit=1)
    assert [t.reused for t in again.transitions] == [False] and again.transitions[0].code != "step-lost"


def test_other_intents_are_replayed_when_they_are_asked_for(history, pool):
    document, _ = replay_here(history, pool, intents=frozenset({Intent.FIX}))
    assert [t.intent for t in document.transitions] == ["fix"]


@pytest.mark.parametrize("kernel", ["nothing_of_this_name"])
def test_a_kernel_that_there_is_not_gives_no_transitions(history, pool, kernel):
    document, _ = replay_here(history, pool, kernel=kernel)
    assert (document.found, document.transitions) == (0, [])


def test_agreement_under_a_workload_that_sees_wrong_kernels_is_a_reproduction(pool, tmp_path):
    top = tmp_path / "restrict"
    top.mkdir()
    commit(top, "Scale", SCALAR)
    faster = SCALAR.replace(
        "float* out, const float* x", "float* __restrict__ out, const float* __restrict__ x"
    )
    commit(top, "Speed up: restrict", faster)
    (step,) = replay_here(top, pool)[0].transitions
    assert (step.status, step.code, step.label, step.effect) == ("reproduced", "agrees", "reproduced", None)
    assert step.counts is not None and step.counts["before"] and step.counts["after"]


TILED = """\
__global__ void copy(float* out, const float* x, int n) {
    out[blockIdx.x * %d + threadIdx.x] = x[blockIdx.x * %d + threadIdx.x];
}
void run(float* out, const float* x, int n) { copy<<<%s, %d>>>(out, x, n); }
"""
GUARDED = """\
__global__ void copy(float* out, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i];
}
void run(float* out, const float* x, int n) { copy<<<(n + 63) / 64, 64>>>(out, x, n); }
"""


@pytest.mark.long
def test_sizes_that_nothing_tells_are_made_up_so_that_both_states_take_them(pool, tmp_path):
    top = tmp_path / "tiles"
    top.mkdir()
    commit(top, "Copy", GUARDED, "copy.cu")
    commit(top, "Speed up: whole tiles without a guard", TILED % (512, 512, "n / 512", 512), "copy.cu")
    (step,) = replay_here(top, pool)[0].transitions
    assert (step.status, step.code) == ("narrower", "narrower"), step.reason
    assert step.counterexample is not None and step.counterexample.dims["n"] % 512


@pytest.mark.parametrize(
    ("earlier", "later", "status", "code"),
    [
        ("i < n + 4", "i < n", "undecided", "earlier-state-fails"),
        ("i < n", "i < n / 2", "failed", "not-written"),
    ],
    ids=["the earlier state reaches too far", "the later state reaches half"],
)
def test_shapes_are_those_of_the_state_that_reaches_whole_dims(pool, tmp_path, earlier, later, status, code):
    commit(tmp_path, "Copy", GUARDED.replace("i < n", earlier).replace("n + 63", "n + 67"), "copy.cu")
    faster = GUARDED.replace("i < n", later).replace("= x[i]", "= __ldg(x + i)")
    commit(tmp_path, "Speed up: 2x faster with cached loads", faster, "copy.cu")
    (step,) = replay_here(tmp_path, pool)[0].transitions
    assert (step.status, step.code) == (status, code), step.reason


def test_a_state_whose_shapes_would_make_no_contract_is_not_run_for_them(pool, tmp_path, monkeypatch):
    commit(tmp_path, "Copy", GUARDED, "copy.cu")
    turned = GUARDED.replace("out[i] = x[i]", "x[i] = out[i]").replace(
        "float* out, const float* x", "const float* out, float* x"
    )
    commit(tmp_path, "Speed up: 2x faster the other way", turned, "copy.cu")
    monkeypatch.setattr(measured, "footprints", lambda *_arguments, **_named: pytest.fail("it was run"))
    (step,) = replay_here(tmp_path, pool)[0].transitions
    assert step.code == "contract-differs"
    assert step.reason == "out is input of copy and output of the other state"


def test_a_step_that_there_was_no_time_to_learn_from_is_counted(history, pool, replayed):
    late, counted = replay_here(history, pool, seconds=0.0, learn=True)
    # The fix and what does not build teach nothing, and wait for nobody.
    assert (late.remaining, late.unstudied, counted.asked) == (0, 1, [])


OPTION = """\
#define LOW_PRECISION
#if defined(LOW_PRECISION)
#include <cuda_bf16.h>
typedef __nv_bfloat16 real;
#else
typedef float real;
#endif
"""


def test_a_state_whose_element_type_is_an_option_is_run_as_the_float_build_has_it(pool, tmp_path):
    """The later state is written for an element type that a build chooses; the earlier one knows float only."""
    commit(tmp_path, "Scale a vector", SCALAR)
    typed = SCALAR.replace("float* out, const float* x", "real* out, const real* x")
    typed = typed.replace("2.0f * x[i]", "2.0f * (float)x[i]").replace("sizeof(float)", "sizeof(real)")
    typed = typed.replace("    float* out;\n    float* x;", "    real* out;\n    real* x;")
    commit(tmp_path, "Speed up: 16-bit elements, twice as fast", OPTION + typed)
    (step,) = replay_here(tmp_path, pool)[0].transitions
    assert (step.status, step.code) == ("reproduced", "agrees"), step.reason


def test_what_is_timed_is_drawn_in_seconds():
    workload = Workload.model_validate(
        {
            "kernel": "k",
            "language": "cuda",
            "source": "k.cu",
            "dims": {"B": [2], "T": [4], "C": [8]},
            "profile_dims": [{"B": 8, "T": 1024, "C": 512}, {"B": 1, "T": 16, "C": 512}],
            "args": [{"name": "out", "kind": "output", "dtype": "float32", "shape": ["B", "T", "C"]}],
            "launch": {"grid": ["B"]},
        }
    )
    smaller, notes = timed_within(workload, 1 << 20)
    # Rows go first; the length of a row stays.
    assert smaller.profile_dims == ({"B": 2, "T": 1024, "C": 512}, {"B": 1, "T": 16, "C": 512})
    assert len(notes) == 1
    assert timed_within(workload) == (workload, ())
    of_device = workload.model_copy(
        update={
            "profile_dims": ({"multiProcessorCount": 132, "B": 8, "T": 1024, "C": 512},),
            "dims": {"multiProcessorCount": (4,), **workload.dims},
        }
    )
    assert timed_within(of_device, 1 << 20)[0].profile_dims == (
        {"multiProcessorCount": 132, "B": 2, "T": 1024, "C": 512},
    )


CLAMPED = SCALAR.replace("2.0f * x[i]", "2.0f * fminf(x[i], 50.0f)")


@pytest.mark.long
def test_a_step_that_differs_on_unusual_values_only_is_right_on_plain_ones(tmp_path: Path, pool: LocalPool):
    commit(tmp_path, "Scale a vector", CLAMPED)
    commit(tmp_path, "Speed up: 2x faster without the minimum", SCALAR)
    step = _step(replay_here(tmp_path, pool)[0], "Speed up")
    assert (step.status, step.code) == ("narrower", "narrower"), step.reason
    assert step.counterexample is not None and step.counterexample.inputs != "as declared"


ROWS = """\
__global__ void shift(float* out, const float* x, const float* y, int C) {
    long row = (long)blockIdx.x * C;
    for (int c = threadIdx.x; c < C; c += blockDim.x) {
        out[row + c] = x[row + c] - y[row];
    }
}

int main() {
    int NH = 12;
    int T = 512;
    int C = 2816;
    float* out;
    float* x;
    float* y;
    cudaMalloc(&out, NH * T * C * sizeof(float));
    cudaMalloc(&x, NH * T * C * sizeof(float));
    cudaMalloc(&y, NH * T * C * sizeof(float));
    shift<<<NH * T, 128>>>(out, x, y, C);
    return 0;
}
"""
WAITING = ROWS.replace("        out[", "        __syncthreads();\n        out[").replace(
    "    }\n}\n", "    }\n    __syncthreads();\n    if (C < 0) out[0] = 0.0f;\n}\n", 1
)


@pytest.mark.long
def test_a_fault_on_rows_as_callers_have_them_is_told_before_one_on_shorter_rows(pool, tmp_path):
    commit(tmp_path, "Shift rows", ROWS, "rows.cu")
    commit(tmp_path, "Speed up: 2x faster in step", WAITING.replace("y[row]", "y[row + 1]"), "rows.cu")
    (step,) = replay_here(tmp_path, pool)[0].transitions
    assert (step.status, step.code) == ("failed", "wrong-value"), step.reason
    assert step.counterexample.dims["C"] == 2816, "rows of 704 leave a part of a block waiting"
