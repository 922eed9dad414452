"""Where a step begins to pay: sizes timed along a dimension, on a device whose times follow a law."""

import pytest
from tests.benchmarks.profit import summary

from gate.timed_device import TimedEmulated, timed_verdict
from kernel_gate.program import Program
from kernel_gate.verdict import SpeedState
from kernel_gate.workload import Workload
from kernel_lineage.learning.probes.profit import conditions_of, crossings_of, sweeps
from kernel_lineage.learning.probes.report import Sweep, TimedSize
from kernel_lineage.learning.steps import Step
from kernel_lineage.skills.card import ConditionKind, Origin
from kernel_lineage.skills.conditions.parse import parse

BEFORE = """__global__ void twice(float* out, const float* x, int N) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) { out[i] = 2.0f * x[i]; }
}
"""
AFTER = """__global__ void twice(float* out, const float* x, int N) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N / 4) {
        float4 v = reinterpret_cast<const float4*>(x)[i];
        reinterpret_cast<float4*>(out)[i] = make_float4(2.0f * v.x, 2.0f * v.y, 2.0f * v.z, 2.0f * v.w);
    }
}
"""
WORKLOAD = Workload.model_validate(
    {
        "kernel": "twice",
        "language": "cuda",
        "dims": {"N": [256]},
        "promises": ["N <= 2100"],
        "args": [
            {
                "name": "out",
                "kind": "output",
                "dtype": "float32",
                "shape": ["N"],
                "noalias": True,
                "align": 16,
            },
            {"name": "x", "kind": "input", "dtype": "float32", "shape": ["N"], "align": 16},
            {"name": "N", "kind": "scalar", "dtype": "int32", "value": "N"},
        ],
        "launch": {"grid": ["ceil_div(N, 64)"], "block": [64]},
    }
)
STEP = Step(
    "twice by four",
    Program("cuda", BEFORE, "twice", name="before"),
    Program("cuda", AFTER, "twice", name="after"),
    WORKLOAD,
)


def law(ptx, grid):
    """Sixteen-byte loads cost 7 µs more to begin with and then less: they pay from N = 1120 on."""
    return 13.0 + grid[0] / 10 if "ld.global.v4" in ptx else 6.0 + grid[0] / 2


def judge_by(law, asked=None):
    device = TimedEmulated(law=law, peak_bytes_per_second=10**15)

    def judge(request):
        if asked is not None:
            asked.append([shape["N"] for shape in request.workload.profile_dims])
        programs = request.baseline, request.candidate
        options = request.options.model_dump() | {
            "profile_seconds": 20.0
        }  # a launch here takes a hundred times as long
        return timed_verdict(*programs, request.workload, device, **options)

    return judge


@pytest.mark.long
def test_the_crossing_is_a_profit_condition_from_the_first_size_that_pays():
    asked = []
    (sweep,) = sweeps(STEP, judge_by(law, asked), device="cuda", valid=["N % 4 == 0", "align(x) >= 16"])
    assert asked == [[32, 128, 512, 2048], [768, 1024, 1536]]
    assert [(s.extent, s.state.value) for s in sweep.sizes if s.extent >= 512] == [
        (512, "slow"),
        (768, "slow"),
        (1024, "slow"),
        (1536, "fast"),
        (2048, "fast"),
    ]
    assert all(size.low <= size.ratio <= size.high for size in sweep.sizes)
    (condition,) = conditions_of(sweep, STEP)
    assert (condition.kind, condition.expr, condition.origin) == (
        ConditionKind.PROFIT,
        "N >= 1536",
        Origin.PROBE,
    )
    assert condition.evidence.startswith("counting: 0.9")
    assert "the crossing lies in N 1024 … 1536" in condition.evidence
    parse(condition.expr)


@pytest.mark.long
def test_sizes_on_which_the_step_is_not_valid_are_not_timed():
    (sweep,) = sweeps(STEP, judge_by(law), device="cuda", valid=["N <= 32"])
    assert [size.extent for size in sweep.sizes] == [32]
    assert summary(sweep) == "it pays at no size of N 32 … 32" and not list(conditions_of(sweep, STEP))


def test_sizes_that_are_not_clear_are_not_said_to_pay():
    sizes = [
        TimedSize(extent=extent, ratio=ratio, low=ratio - 0.001, high=ratio + 0.001, state=state)
        for extent, ratio, state in ((32, 1.004, SpeedState.AMBIGUOUS), (64, 1.2, SpeedState.FAST))
    ]
    sweep = Sweep(dim="N", fixed={}, device="some GPU", sizes=tuple(sizes))
    assert summary(sweep) == "it pays at N 64; at the other sizes of N 32 … 64 that is not clear"


def test_without_a_gpu_nothing_is_asked_and_nothing_is_claimed():
    def judge(_request):
        raise AssertionError("asked")

    (sweep,) = sweeps(STEP, judge, device="emulated")
    assert summary(sweep) == "not measured: times need a GPU; the emulated device gives none"
    assert not sweep.sizes and not list(conditions_of(sweep, STEP))


def sizes(states):
    names = {"+": SpeedState.FAST, "-": SpeedState.SLOW, "=": SpeedState.SAME, "?": SpeedState.AMBIGUOUS}
    return [
        TimedSize(extent=2**k, ratio=1.0, low=1.0, high=1.0, state=names[mark])
        for k, mark in enumerate(states)
    ]


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ("--++", ["C >= 4"]),
        ("-=++", ["C >= 4"]),
        ("-?++", ["C >= 4"]),
        ("++--", ["C <= 2"]),
        ("-++=", ["C >= 2", "C <= 4"]),
        ("++++", []),
        ("----", []),
        ("????", []),
        ("-+-+", []),
        ("+-+-", []),
        ("+-++", []),
        ("", []),
    ],
)
def test_crossings(states, expected):
    assert [c.expr("C") for c in crossings_of(sizes(states))] == expected


def test_the_interval_spans_what_is_ambiguous():
    (crossing,) = crossings_of(sizes("-??+"))
    assert (crossing.low, crossing.high) == (1, 8)
