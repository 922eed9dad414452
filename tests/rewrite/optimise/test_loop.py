"""The search: what it tries, what it promotes, and why it stops. The judge here is told what to answer."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from kernel_gate.deadline import seconds_left
from kernel_gate.options import GateOptions
from kernel_gate.reasons import Reason
from kernel_gate.verdict import Outcome, SpeedState, Speedup, Stage, StageStatus, Verdict
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language
from kernel_lineage.rewrite.optimise.loop import Ended, optimise
from kernel_lineage.rewrite.optimise.proposals import proposals
from kernel_lineage.rewrite.optimise.search import Search, Version
from kernel_lineage.skills.conditions.stated import stated_facts
from kernel_lineage.skills.library import library
from kernel_texts import kernel_in_text

ADD = b"""\
__global__ void add(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        c[i] = a[i] + b[i];
    }
}

void launch(const float* a, const float* b, float* c, int n) {
    add<<<(n + 255) / 256, 256>>>(a, b, c, n);
}
"""
FACTS = stated_facts("n = 4096, align(a) = 16, align(b) = 16, align(c) = 16, launch.block.x = 256", "stated")
SKILLS = tuple(library())


def counts(sectors: int, requests: int, instructions: int) -> dict[str, object]:
    return {
        "total": {
            "global_sectors": sectors,
            "global_requests": requests,
            "shared_wavefronts": 0,
            "instructions": instructions,
        }
    }


def verdict(
    outcome: Outcome, speedup: float | None = None, requests: tuple[int, int] = (400, 400), **changed: object
) -> Verdict:
    detail = {
        "counts": {"case": "n 1", "before": counts(9, requests[0], 9), "after": counts(9, requests[1], 9)}
    }
    stages = [
        Stage(name="build", status=StageStatus.PASS, seconds=1.0),
        Stage(name="check", status=StageStatus.PASS, seconds=2.0),
        Stage(name="sanitize", status=StageStatus.PASS, details=detail, seconds=3.0),
    ]
    speed = (
        Speedup(median=speedup, low=speedup, high=speedup, state=SpeedState.FAST, by_shape=[])
        if speedup
        else None
    )
    return Verdict.model_validate(
        {
            "outcome": outcome,
            "reason": "as told",
            "stages": stages,
            "speedup": speed,
            "inputs_hash": "0",
            **changed,
        }
    )


def searched(judge: object, **budget: float) -> Ended:
    return optimise(Search(Path("add.cu"), "add", ADD, {"add": FACTS}, SKILLS, **budget), judge)  # type: ignore[arg-type]


def test_it_promotes_what_is_faster_and_says_when_nothing_is_left() -> None:
    def judge(before: Version, after: Version, _options: GateOptions) -> Verdict:
        gains = b"float4" in after.text and b"float4" not in before.text
        return verdict(Outcome.ACCEPTED if gains else Outcome.REJECTED, 1.3 if gains else 1.0)

    ended = searched(judge)
    assert [t.skill for t in ended.document.promoted] == ["vectorised-row-access"]
    assert ended.document.stopped == "nothing_admissible"
    assert b"float4" in ended.version.text
    assert ended.document.verdict is not None
    assert ended.document.verdict.outcome is Outcome.ACCEPTED


def test_a_kernel_is_changed_alone_only_where_it_is_judged_alone() -> None:
    """By the host function's time little of what one of its kernels gains would be seen."""
    search = Search(Path("add.cu"), "add", ADD, {"add": FACTS}, SKILLS, function="launch")
    document = optimise(search, lambda *_: verdict(Outcome.ACCEPTED, 2.0)).document
    assert document.tried == []
    assert document.stopped == "nothing_admissible"


TWICE = ADD.replace(
    b"add<<<(n + 255) / 256, 256>>>(a, b, c, n);",
    b"add<<<(n + 255) / 256, 256>>>(a, b, c, n);\n    twice<<<(n + 63) / 64, 64>>>(c, n);",
).replace(
    b"void launch",
    b"""__global__ void twice(float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        c[i] = 2.0f * c[i];
    }
}

__global__ void elsewhere(float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        c[i] = 3.0f * c[i];
    }
}

void launch""",
)


def test_of_a_host_function_each_kernel_that_it_launches_is_changed() -> None:
    def judge(before: Version, after: Version, _options: GateOptions) -> Verdict:
        assert {before.function, after.function} == {"launch"}
        gains = after.text.count(b"float4") > before.text.count(b"float4")
        return verdict(Outcome.ACCEPTED if gains else Outcome.REJECTED, 1.3 if gains else 1.0)

    kernels = {"add": FACTS, "twice": FACTS, "elsewhere": FACTS}
    ended = optimise(Search(Path("add.cu"), "launch", TWICE, kernels, SKILLS, function="launch"), judge)
    assert ended.document.kernel == "launch"
    assert [t.skill for t in ended.document.promoted] == ["vectorised-row-access"] * 2
    own = read(ended.version.text, Language.CUDA)
    vectorised = {k.name: "float4" in k.text for k in own.kernels}
    assert vectorised == {"add": True, "twice": True, "elsewhere": False}


def test_nothing_is_tried_a_third_time_that_gained_nothing_twice() -> None:
    ended = searched(lambda *_: verdict(Outcome.REJECTED, 1.0))
    tried = [t.skill for t in ended.document.tried]
    assert ended.document.promoted == []
    assert ended.document.verdict is None
    assert ended.version.text == ADD
    assert all(tried.count(skill) <= 2 for skill in tried)


def test_without_times_counted_work_decides_and_nothing_is_said_to_be_faster() -> None:
    def judge(before: Version, after: Version, _options: GateOptions) -> Verdict:
        one, other = (100 if b"float4" in version.text else 400 for version in (before, after))
        return verdict(Outcome.INCONCLUSIVE, requests=(one, other))

    document = searched(judge).document
    assert [t.skill for t in document.promoted] == ["vectorised-row-access"]
    assert not document.timed
    assert all(t.speedup is None for t in document.tried)


@pytest.mark.parametrize(
    ("budget", "stopped"),
    [({"seconds": 0.0}, "seconds"), ({"device_seconds": 0.0}, "device_seconds")],
)
def test_an_empty_budget_tries_nothing(budget: dict[str, float], stopped: str) -> None:
    def judge(*_: object) -> Verdict:
        raise AssertionError("asked for a verdict without a budget")

    ended = searched(judge, **budget)
    assert ended.document.stopped == stopped
    assert ended.document.tried == []


def test_no_candidate_takes_more_than_its_part_of_what_is_left() -> None:
    room: list[float] = []

    def judge(*_: object) -> Verdict:
        room.append(seconds_left())
        time.sleep(0.5 * seconds_left())
        return verdict(Outcome.INCONCLUSIVE, code=Reason.CASE_TIME_SPENT, stages=[])

    begun = time.monotonic()
    document = searched(judge, seconds=1.0).document
    assert time.monotonic() - begun < 3.0
    assert 0 < room[0] < 0.67  # two thirds, less what a busy machine takes before it is asked
    assert sorted(room, reverse=True) == room
    assert document.promoted == []
    assert document.stopped == "seconds"
    assert "--seconds gives more" in document.reason


def test_what_the_last_verdict_needs_is_kept_back() -> None:
    left: list[float] = []

    def judge(before: Version, after: Version, options: GateOptions) -> Verdict:
        left.append(seconds_left())
        if options.watch_seconds:
            return verdict(Outcome.INCONCLUSIVE, code=Reason.HANG)
        gains = b"float4" in after.text and b"float4" not in before.text
        return verdict(Outcome.ACCEPTED if gains else Outcome.REJECTED, 1.3 if gains else 1.0)

    # Each verdict says that it took 6 s, so that the last one is taken to need 17.
    document = searched(judge, seconds=30.0).document
    assert [t.skill for t in document.promoted] == ["vectorised-row-access"]
    assert len(left) > 2
    assert [most < 15.01 for most in left[1:-1]] == [True] * (len(left) - 2)
    assert left[-1] > 29.0
    assert "run it again: it goes on where it was" in document.reason


def test_nothing_is_begun_for_which_the_time_is_known_to_be_too_short() -> None:
    document = searched(lambda *_: verdict(Outcome.REJECTED, 1.0), seconds=8.0).document
    assert (document.stopped, len(document.tried)) == ("seconds", 1)
    assert document.reason == (
        "What is left of the 8 s is too little for another candidate; --seconds gives more."
    )


def test_time_of_the_device_is_counted_without_the_builds() -> None:
    document = searched(lambda *_: verdict(Outcome.REJECTED, 1.0), device_seconds=9.0).document
    assert (document.stopped, len(document.tried), document.device_seconds) == ("device_seconds", 2, 10.0)


def test_a_kernel_that_fails_its_own_check_ends_the_search() -> None:
    broken = verdict(Outcome.INCONCLUSIVE, code=Reason.BASELINE_FAILS_CHECK)
    document = searched(lambda *_: broken).document
    assert (document.stopped, len(document.tried)) == ("baseline", 1)


TWO_LOOPS = b"""\
import triton
import triton.language as tl


@triton.jit
def norms(y, x, n):
    row = tl.program_id(0)
    total = 0.0
    for j in range(n):
        v = tl.load(x + row * n + j)
        total += v * v
    for j in range(n):
        v = tl.load(x + row * n + j)
        tl.store(y + row * n + j, v / total)


def run(y, x):
    rows, n = x.shape
    norms[(rows,)](y, x, n)
"""


@pytest.mark.long
def test_other_places_of_a_skill_that_has_won_are_tried_though_other_choices_of_it_lost() -> None:
    def judge(before: Version, after: Version, _options: GateOptions) -> Verdict:
        first, then = (v.text.count(b"range(0, n, ROWS)") for v in (before, after))
        if then > first and b"ROWS=1024" in after.text:
            return verdict(Outcome.ACCEPTED, 3.0)
        return verdict(Outcome.REJECTED, 0.6)

    facts = stated_facts("toolchain.triton = (3, 6)", "stated")
    ended = optimise(Search(Path("norms.py"), "norms", TWO_LOOPS, {"norms": facts}, SKILLS), judge)
    assert ended.version.text.count(b"range(0, n, ROWS)") == 2


def test_cancelling_keeps_what_was_promoted() -> None:
    answers = iter([verdict(Outcome.ACCEPTED, 2.0)])

    def judge(*_: object) -> Verdict:
        try:
            return next(answers)
        except StopIteration:
            raise KeyboardInterrupt from None

    document = searched(judge).document
    assert document.stopped == "cancelled"
    assert len(document.promoted) == 1
    assert document.verdict is None


def test_cancelling_the_last_verdict_keeps_what_was_promoted() -> None:
    def judge(before: Version, after: Version, options: GateOptions) -> Verdict:
        if options.watch_seconds:
            raise KeyboardInterrupt
        gains = b"float4" in after.text and b"float4" not in before.text
        return verdict(Outcome.ACCEPTED if gains else Outcome.REJECTED, 1.3 if gains else 1.0)

    document = searched(judge).document
    assert (document.stopped, len(document.promoted), document.verdict) == ("cancelled", 1, None)


def test_a_step_that_the_full_gate_rejects_is_taken_back() -> None:
    """Screening does not watch every case: what it lets pass may still be wrong."""

    def judge(before: Version, after: Version, options: GateOptions) -> Verdict:
        wrong = b"float4" in after.text
        if options.watch_seconds:
            return verdict(Outcome.REJECTED if wrong else Outcome.ACCEPTED, 1.3)
        gains = wrong > (b"float4" in before.text) or (after.text != before.text and before.text == ADD)
        return verdict(Outcome.ACCEPTED, 1.4) if gains else verdict(Outcome.REJECTED, 1.0)

    ended = searched(judge)
    assert b"float4" not in ended.version.text
    assert ended.document.verdict is not None
    taken_back = [t for t in ended.document.tried if "rejected in full" in t.reason]
    assert taken_back
    assert not any(t.promoted for t in taken_back)


def test_a_skill_is_proposed_only_where_its_assist_makes_a_candidate() -> None:
    kernel = kernel_in_text(ADD.replace(b"a[i] + b[i]", b"c[i] + c[n - 1 - i]"), "add")
    offers = proposals(kernel, SKILLS, FACTS)
    assert "vectorised-row-access" not in [p.skill for p in offers.made]
    assert (
        "`c` is written and touched at another place"
        in {r.skill: r.reason for r in offers.refused}["vectorised-row-access"]
    )


SCALED = """\
__global__ void scaled(float* out, const float* x, const float* gain, int rows, int width, int kinds) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int i = 0; i < width; i++) { sum += x[row * width + i]; }
    for (int i = 0; i < width; i++) { out[row * width + i] = x[row * width + i] / sum * gain[row % kinds]; }
}

void launch(float* out, const float* x, const float* gain, int rows, int width, int kinds) {
    scaled<<<(rows + 127) / 128, 128>>>(out, x, gain, rows, width, kinds);
}
"""
LAUNCHED = (
    "launch.block.x = 128, launch.block.y = 1, launch.block.z = 1, toolchain.cuda = (13, 0), width = 99"
)
APART = ", noalias(out, x) = True, noalias(out, gain) = True, noalias(x, gain) = True"


def scaled(facts: str, **changed: str) -> tuple[dict[str, str], dict[str, str]]:
    text = SCALED
    for before, after in changed.items():
        text = text.replace(before, after)
    kernel = kernel_in_text(text, "scaled")
    offers = proposals(kernel, SKILLS, stated_facts(facts, "stated"))
    return {p.skill: p.text.decode() for p in offers.made}, {r.skill: r.reason for r in offers.refused}


def test_what_waits_for_pointers_to_be_apart_is_proposed_with_that_promise() -> None:
    made, refused = scaled(LAUNCHED + APART)
    for skill in ("warp-per-row", "block-per-row"):
        assert (
            "float* __restrict__ out, const float* __restrict__ x, const float* __restrict__ gain"
            in made[skill]
        )
        assert "__shfl_xor_sync" in made[skill]
        assert skill not in refused


FAR = """\
__global__ void far(float* out, const float* x, const float* y, int n, int m, int width) {
    long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= (long long)n * m) return;
    int i = at / m, j = at % m;
    out[at] = 0.0f;
    for (int k = 0; k < width; k++) out[at] += fabsf(x[i * width + k] - y[j * width + k]);
}

void launch(float* out, const float* x, const float* y, int n, int m, int width) {
    far<<<((long long)n * m + 255) / 256, 256>>>(out, x, y, n, m, width);
}
"""


@pytest.mark.parametrize(("apart", "is_made"), [(APART.replace("gain", "y"), True), ("", False)])
def test_a_sum_in_an_element_that_only_the_promise_lets_stay_in_a_variable_is_proposed_with_it(
    apart: str, is_made: bool
) -> None:
    facts = stated_facts(f"toolchain.cuda = (13, 0), width = 99{apart}", "stated")
    offers = proposals(kernel_in_text(FAR, "far"), SKILLS, facts)
    made = {p.skill: p.text.decode() for p in offers.made}
    assert ("tiled-matrix-product" in made) is is_made
    assert not is_made or "float* __restrict__ out" in made["tiled-matrix-product"]


def test_where_nothing_says_that_pointers_are_apart_it_stays_refused() -> None:
    made, refused = scaled(LAUNCHED)
    assert "warp-per-row" not in made
    assert "both may lie in one buffer" in refused["warp-per-row"]


def test_no_promise_helps_where_the_buffer_that_is_written_is_read_itself() -> None:
    made, refused = scaled(LAUNCHED + APART, **{"gain[row % kinds]": "out[row % kinds]"})
    assert "warp-per-row" not in made
    assert "`out[row % kinds]` is read while other lanes write" in refused["warp-per-row"]


PRODUCT = b"""\
#include <cuda_fp16.h>

__global__ void prod(half* c, const half* a, const half* b, int M, int N, int K) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || col >= N) return;
    float sum = 0.0f;
    for (int k = 0; k < K; k++) sum += __half2float(a[row * K + k]) * __half2float(b[k * N + col]);
    c[row * N + col] = __float2half(sum);
}

void launch(half* c, const half* a, const half* b, int M, int N, int K) {
    prod<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(c, a, b, M, N, K);
}
"""


@pytest.mark.parametrize(("device", "first"), [((9, 0), "warpgroup"), ((8, 0), "tensor-core")])
def test_what_gains_most_is_tried_first_and_what_is_made_for_the_device_before_what_many_take(
    device: tuple[int, int], first: str
) -> None:
    facts = (
        f"device.compute_capability = {device}, launch.block.x = 16, launch.block.y = 16, launch.block.z = 1"
    )
    kernel = read(PRODUCT, Language.CUDA).kernels[0]
    made = proposals(kernel, SKILLS, stated_facts(facts, "stated")).made
    assert made[0].skill == f"{first}-matrix-product"


@pytest.mark.parametrize("outcome", [Outcome.ACCEPTED, Outcome.REJECTED])
def test_what_many_devices_take_is_tried_only_where_what_is_made_for_this_one_does_not_gain(
    outcome: Outcome,
) -> None:
    def judge(before: Version, after: Version, _options: GateOptions) -> Verdict:
        gains = b"wgmma" in after.text and b"wgmma" not in before.text and outcome is Outcome.ACCEPTED
        return verdict(outcome, 9.0) if gains else verdict(Outcome.REJECTED, 1.0)

    facts = "device.compute_capability = (9, 0), launch.block.x = 16, launch.block.y = 16, launch.block.z = 1"
    search = Search(Path("prod.cu"), "prod", PRODUCT, {"prod": stated_facts(facts, "stated")}, SKILLS)
    tried = {t.skill for t in optimise(search, judge).document.tried}
    assert "warpgroup-matrix-product" in tried
    assert ("tensor-core-matrix-product" in tried) == (outcome is Outcome.REJECTED)


DOUBLED = b"""\
__global__ void scale(float* y, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
}
void run(float* y, const float* x, int n) { scale<<<(n + 255) / 256, 256>>>(y, x, n); }
"""
TOTALS = b"""\
import triton
import triton.language as tl


@triton.jit
def totals(x, out, columns):
    row = tl.program_id(0)
    total = 0.0
    for c in range(columns):
        total += tl.load(x + row * columns + c)
    tl.store(out + row, total)


def run(x, out):
    rows, columns = x.shape
    totals[(rows,)](x, out, columns)
"""


def test_what_has_gained_most_is_tried_before_what_gains_little() -> None:
    kernel = read(DOUBLED, Language.CUDA).kernels[0]
    made = [p.skill for p in proposals(kernel, SKILLS, stated_facts("launch.block.x = 256", "stated")).made]
    assert made.index("vectorised-row-access") < made.index("grid-stride-loop")


def test_the_third_choice_of_a_skill_waits_until_each_has_had_two() -> None:
    kernel = read(TOTALS, Language.TRITON).kernels[0]
    made = [
        p.skill for p in proposals(kernel, SKILLS, stated_facts("toolchain.triton = (3, 6)", "stated")).made
    ]
    assert made[:2] == ["triton-rows-together"] * 2
    assert made[2] != "triton-rows-together"
    assert "triton-rows-together" in made[3:]


NEAREST = """\
__device__ float apart(const float* p, const float* q, int size) {
    float sum = 0.0f;
    for (int k = 0; k < size; k++) { sum += (p[k] - q[k]) * (p[k] - q[k]); }
    return sum;
}

__global__ void nearest(int* out, const float* x, const float* to, int rows, int others, int size) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float least = 1e30f;
    int best = 0;
    for (int i = 0; i < others; i++) {
        float d = apart(x + row * size, to + i * size, size);
        if (d < least) { least = d; best = i; }
    }
    out[row] = best;
}

void launch(int* out, const float* x, const float* to, int rows, int others, int size) {
    nearest<<<(rows + 127) / 128, 128>>>(out, x, to, rows, others, size);
}
"""


def test_what_a_function_of_the_file_does_is_proposed_as_if_it_stood_in_the_kernel() -> None:
    kernel = kernel_in_text(NEAREST, "nearest")
    facts = (
        "launch.block.x = 128, launch.block.y = 1, launch.block.z = 1, toolchain.cuda = (13, 0), size = 2 | 3"
    )
    made = proposals(kernel, SKILLS, stated_facts(facts, "stated")).made
    several = next(p for p in made if p.skill == "outputs-per-thread")
    assert "apart(x" not in several.text.decode()
    assert several.candidate.apply(NEAREST.encode()) == several.text
    # Rows of two and three elements are too short for the lanes of a warp: that is tried last, along either loop.
    skills = [p.skill for p in made]
    assert sorted(skills[-4:]) == ["block-per-row"] * 2 + ["warp-per-row"] * 2
    long = proposals(kernel, SKILLS, stated_facts(facts.replace("2 | 3", "2 | 512"), "stated")).made
    assert long[0].skill == "block-per-row"
