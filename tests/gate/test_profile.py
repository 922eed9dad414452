"""The profile stage on a device whose times are counted work: what it decides, and what it says when it cannot."""

import tomllib
from dataclasses import replace

import pytest

from gate.corpus import entries
from gate.programs import affine, workload
from gate.timed_device import TimedEmulated, timed_verdict
from kernel_gate.program import LaunchSpec, Program
from kernel_gate.reasons import Reason
from kernel_gate.reporting.html import render
from kernel_gate.reporting.named import NamedVerdict
from kernel_gate.stages.near_callers import near_callers
from kernel_gate.stages.timed_programs import TimedPrograms
from kernel_gate.verdict import Outcome, SpeedState, Verdict
from kernel_gate.workload import Workload
from longer import first_now
from workload_texts import workload_text

TIMED = "[[profile_dims]]\nN = 3\nC = 200\n"
SLOW = affine(
    "if (i < n) y[i] = 2.0f * x[i] + 1.0f;",
    "volatile float *out = y;\n    if (i < n) for (int k = 0; k < 8; k++) out[i] = 2.0f * x[i] + 1.0f;",
)


def timed_workload(**replaced: str) -> Workload:
    return workload(
        **{
            "N = [1, 3]\nC = [32, 70]\n": "N = [1, 3]\nC = [32, 70]\n" + TIMED,
            'name = "y"': 'name = "y"\nnoalias = true',
            **replaced,
        }
    )


def judged(candidate=None, baseline=SLOW, device=None, asked=None, **options):
    return timed_verdict(
        baseline, candidate or affine(), asked or timed_workload(), device, hidden=False, **options
    )


def test_less_work_is_accepted_with_its_figures():
    device = TimedEmulated()
    v = judged(device=device)
    assert (v.outcome, v.code) == (Outcome.ACCEPTED, Reason.FASTER), v.reason
    assert v.speedup is not None and v.speedup.state is SpeedState.FAST
    shape = v.stage("profile").details["shapes"][0]
    assert shape["resources"]["candidate"][0]["registers"] == 16
    assert device.closed_timers == 1


@pytest.mark.long
def test_more_work_is_rejected_and_as_much_is_the_same():
    assert judged(SLOW, affine()).code is Reason.SLOWER
    assert judged(affine("1.0f", "1.00f"), affine(), need="not_slower").code is Reason.SAME_SPEED


LATE = {e.name: e for e in entries() if e.name == "15_answer_kept_once_timed"}


@pytest.mark.parametrize("entry", LATE.values(), ids=LATE)
@pytest.mark.long
def test_what_a_candidate_learns_while_it_is_timed_is_not_its_answer(entry):
    asked = entry.request("cheat").workload
    cheat = timed_verdict(entry.program("baseline"), entry.program("cheat"), asked)
    assert entry.caught(cheat) == ""
    honest = timed_verdict(entry.program("baseline"), entry.program("honest"), asked)
    assert honest.outcome is Outcome.ACCEPTED, honest.reason


def test_arguments_in_place_get_new_data_as_well():
    asked = timed_workload(**{'kind = "output"': 'kind = "inout"'})
    adding = affine("= 2.0f", "+= 2.0f")
    assert (
        judged(adding, affine("= 2.0f * x[i]", "+= 2.0f * x[i]"), asked=asked, need="not_slower").code
        is Reason.SAME_SPEED
    )


def marked(program: Program) -> Program:
    """The same program, to be known by its PTX."""
    return replace(program, source="__device__ int marked = 1;\n" + program.source)


def failing(code: Reason, after: int) -> TimedEmulated:
    """A device on which timed launches of the marked program fail after so many of both."""
    return TimedEmulated(refuse=lambda ptx, timed: code if timed >= after and "marked" in ptx else None)


@pytest.mark.long
@pytest.mark.parametrize("code", [Reason.HANG, Reason.ILLEGAL_ADDRESS, Reason.DEVICE_LOST])
@pytest.mark.parametrize("after", [0, 30])
def test_a_candidate_that_fails_while_it_is_timed_is_rejected(code, after):
    v = judged(marked(affine()), device=failing(code, after))
    assert (v.outcome, v.code) == (Outcome.REJECTED, code), v.reason
    assert v.reason.startswith("Rejected by profile: the candidate failed while it was timed at N 3, C 200: ")
    assert v.standing in v.code.leads_to


@pytest.mark.long
def test_a_baseline_that_fails_while_it_is_timed_says_nothing_of_the_candidate():
    v = judged(affine(), marked(SLOW), failing(Reason.HANG, 30))
    assert (v.outcome, v.code) == (Outcome.INCONCLUSIVE, Reason.TIMING_FAILED), v.reason
    assert "did not end within" in v.reason


@pytest.mark.long
def test_the_limit_of_a_timed_launch_follows_from_what_one_takes():
    limits: set[float] = set()
    device = TimedEmulated(watch=limits.add)
    judged(device=device, launch_seconds=0.5)
    assert len(limits) == 2 and all(0.5 < limit < 0.5 + 50 * 5 for limit in limits)


@pytest.mark.long
def test_what_keeps_a_shape_from_being_timed():
    none = timed_workload(**{TIMED: ""})
    assert judged(asked=none).code is Reason.NO_PROFILE_DIMS
    large = timed_workload(**{"C = 200": "C = 1048576"})
    v = judged(asked=large, device=TimedEmulated(memory_bytes=1 << 20))
    assert (v.outcome, v.code) == (Outcome.INCONCLUSIVE, Reason.OUT_OF_MEMORY), v.reason
    impossible = timed_workload(
        **{'grid = ["ceil_div(N * C, 64)"]': 'grid = ["ceil_div(N * C, 64) - (C == 200) * 10"]'}
    )
    assert judged(asked=impossible).code is Reason.TIMING_FAILED


@pytest.mark.long
def test_times_without_an_answer_on_a_hot_device_say_that_it_is_hot():
    v = judged(
        affine("1.0f", "1.00f"),
        affine(),
        TimedEmulated(noise=0.5, throttle_reasons=0x20),
        profile_seconds=0.3,
    )
    assert (v.outcome, v.code) == (Outcome.INCONCLUSIVE, Reason.THROTTLED), v.reason


@pytest.mark.long
def test_too_little_time_for_an_interval_is_ambiguous_and_can_be_shown():
    v = judged(profile_seconds=1e-6)
    assert (v.outcome, v.code) == (Outcome.INCONCLUSIVE, Reason.AMBIGUOUS_NOISE), v.reason
    assert "too few for an interval; measure for longer" in v.reason and len(v.reason) < 250
    page = render([NamedVerdict("affine", v, "affine.cu")])
    assert "ambiguous" in page and "nan" not in page.lower()
    assert Verdict.model_validate_json(v.model_dump_json()) == v


@pytest.mark.long
def test_lines_that_a_program_asks_the_cache_to_keep_are_forgotten_before_cold_launches():
    hinted = affine(
        "y[i] = 2.0f * x[i] + 1.0f;",
        """{
        unsigned long long policy; float v;
        asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
        asm("ld.global.L2::cache_hint.f32 %0, [%1], %2;" : "=f"(v) : "l"(x + i), "l"(policy));
        y[i] = 2.0f * v + 1.0f; }""",
    )
    for candidate, forgets in ((hinted, True), (affine(), False)):
        shape = judged(candidate).stage("profile").details["shapes"][0]
        assert shape["forgets_kept_lines"] is forgets


@pytest.mark.long
def test_a_candidate_that_is_wrong_at_the_timed_shape_only_is_not_timed():
    v = judged(affine("+ 1.0f", "+ (n < 500 ? 1.0f : 1.5f)"))
    assert (v.outcome, v.code) == (Outcome.REJECTED, Reason.WRONG_AFTER_TIMING), v.reason
    assert "before timing, y[0, 0] = " in v.reason
    assert "measure" not in v.stage("profile").details["seconds_of"]


@pytest.mark.long
def test_a_difference_from_a_baseline_that_has_a_race_is_not_the_candidates():
    line = "if (i < n) y[i] = 2.0f * x[i] + 1.0f;"
    staged = """__shared__ float s[64];
    s[threadIdx.x] = i < n ? x[i] : 0.0f;
    if (i < n) y[i] = 2.0f * x[i] + SAID + (s[63 - threadIdx.x] == 3e33f);"""
    right, wrong = (
        affine(line, staged.replace("SAID", value)) for value in ("1.0f", "(n < 500 ? 1.0f : 1.5f)")
    )
    v = judged(wrong, baseline=right)
    assert (v.outcome, v.code) == (Outcome.INCONCLUSIVE, Reason.RACE), v.reason
    assert "the baseline has it as well" in v.stage("profile").reason
    assert judged(wrong).outcome is Outcome.REJECTED


@pytest.mark.long
def test_a_baseline_that_races_alone_is_no_reference_for_the_timed_size():
    line = "if (i < n) y[i] = 2.0f * x[i] + 1.0f;"
    racing = affine(
        line,
        """__shared__ float s[64];
    s[threadIdx.x] = i < n ? x[i] : 0.0f;
    if (i < n) y[i] = 2.0f * x[i] + 1.0f + (s[63 - threadIdx.x] == 3e33f);""",
    )
    other = affine("+ 1.0f", "+ (n < 500 ? 1.0f : 1.5f)")
    v = judged(other, baseline=racing)
    assert (v.outcome, v.code) == (Outcome.INCONCLUSIVE, Reason.BASELINE_FAILS_CHECK), v.reason
    assert v.stage("profile").details["cause"] == Reason.RACE
    assert "between" in v.reason and "y[0, 0] = " in v.reason


def test_a_candidate_that_rounds_otherwise_is_held_to_the_tolerance_and_timed():
    v = judged(affine("2.0f * x[i] + 1.0f", "(x[i] + 0.5f) * 2.0f"))
    assert v.outcome is Outcome.ACCEPTED, v.reason


SERIAL_SUM = """#include <cuda_fp16.h>
extern "C" __global__ void total(__half *y, const __half *x, int n) {
    __half sum = __float2half(0.0f);
    for (int i = 0; i < n; i++) sum = __hadd(sum, x[i]);
    *y = sum;
}"""
"""Above 2048 it adds nothing more: the next number is 2 away, and the terms are below 1."""
PARTIAL_SUMS = """#include <cuda_fp16.h>
extern "C" __global__ void total(__half *y, const __half *x, int n) {
    __half sum = __float2half(0.0f);
    for (int from = 0; from < n; from += 128) {
        __half part = __float2half(0.0f);
        for (int i = from; i < min(n, from + 128); i++) part = __hadd(part, x[i]);
        sum = __hadd(sum, part);
    }
    *y = sum;
}"""
HALF_SUM = """
kernel = "total"
language = "cuda"
[dims]
N = [1, 300]
[[profile_dims]]
N = 4250
[[args]]
name = "y"
kind = "output"
dtype = "float16"
shape = ["1"]
[[args]]
name = "x"
kind = "input"
dtype = "float16"
shape = ["N"]
values = "uniform(0, 1)"
[[args]]
name = "n"
kind = "scalar"
dtype = "int32"
value = "N"
[launch]
grid = [1]
block = [1]
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("until", "wrong"),
    first_now([("n", ""), ("(n < 4000 ? n : n - n / 16)", "terms that are not zero in a sum, y[0] = ")]),
)
def test_a_baseline_that_loses_small_terms_does_not_reject_a_better_order_of_its_sum(
    until, wrong, monkeypatch
):
    measured = []
    condition = TimedPrograms._condition
    monkeypatch.setattr(TimedPrograms, "_condition", lambda self: measured.append(1) or condition(self))
    baseline = Program("cuda", SERIAL_SUM, "total", name="total.cu")
    candidate = Program(
        "cuda",
        PARTIAL_SUMS.replace("from < n", f"from < {until}").replace("min(n", f"min({until}"),
        "total",
        name="total.cu",
    )
    asked = Workload.model_validate(tomllib.loads(HALF_SUM))
    v = judged(candidate, baseline, asked=asked, need="not_slower", profile_seconds=0.5, seed=11)
    profiled = v.stage("profile")
    assert (profiled.code is Reason.WRONG_AFTER_TIMING) is bool(wrong), v.reason
    assert wrong in v.reason
    # What the inputs' last places do is measured once for each: as declared, with new data, and with few terms.
    assert len(measured) <= 3


@pytest.mark.long
def test_inputs_that_this_machine_cannot_hold_are_nobodys_fault():
    v = judged(asked=timed_workload(**{"C = 200": "C = 1099511627776"}))
    assert (v.outcome, v.code) == (Outcome.INCONCLUSIVE, Reason.OUT_OF_MEMORY), v.reason
    assert v.stage("profile").code is Reason.OUT_OF_MEMORY


def test_a_candidate_that_is_wrong_between_the_sizes_that_are_named_and_timed_is_rejected():
    between = affine("if (i < n) y[i] = 2.0f", "if (i < n) y[i] = (n > 250 && n < 600 ? 1.0f : 2.0f)")
    v = judged(between)
    assert (v.outcome, v.code) == (Outcome.REJECTED, Reason.WRONG_AFTER_TIMING), v.reason
    assert "near the callers' sizes, y[" in v.reason
    assert v.stage("profile").details["shapes"][0]["state"] == SpeedState.FAST.value


def test_the_shape_near_the_callers_keeps_small_extents_and_is_told():
    dims = near_callers(timed_workload(), 7)
    assert dims is not None
    assert dims["N"] == 3
    assert 100 <= dims["C"] < 200
    v = judged()
    assert v.stage("profile").details["agrees_near_callers_at"]["N"] == 3


def test_a_shape_that_the_baseline_does_not_fill_is_none_of_its_callers():
    asked = timed_workload(**{"C = [32, 70]": "C = [50, 100]"})
    wholes = LaunchSpec(("N * C // 50",), ("50",))
    baseline = replace(SLOW, launch=wholes)
    v = judged(replace(affine(), launch=LaunchSpec(("ceil_div(N * C, 50)",), ("50",))), baseline, asked=asked)
    assert v.outcome is Outcome.ACCEPTED, v.reason
    assert v.stage("profile").details["agrees_near_callers_at"] is None


COUNTED = """__global__ void count(unsigned *out, const unsigned char *x, int n) {
    unsigned same = 0;
    for (int i = threadIdx.x; i < n; i += 32) same += x[i] == x[0];
    atomicAdd(out, same);
}
"""
COUNTING = workload_text(
    "count",
    "n = [40, 64]\n[[profile_dims]]\nn = 9600",
    "grid = [1]\nblock = [32]",
    "out: inout uint32 [1] integers(0, 1)",
    "x: input uint8 [n] integers",
    "n: int32 = n",
)


@pytest.mark.parametrize("type_of_count", ["unsigned char", "unsigned short"])
def test_a_counter_that_overflows_on_a_blank_image_of_callers_size_is_seen(type_of_count):
    candidate = COUNTED.replace("unsigned same", f"{type_of_count} same")
    v = judged(
        Program("cuda", candidate, "count", name="count.cu"),
        Program("cuda", COUNTED, "count", name="count.cu"),
        asked=Workload.model_validate(tomllib.loads(COUNTING)),
        need="not_slower",
        profile_seconds=0.5,
    )
    if type_of_count == "unsigned char":
        assert v.code is Reason.WRONG_AFTER_TIMING and "with equal numbers in x, out[0] = " in v.reason, (
            v.reason
        )
    else:
        assert v.stage("profile").code is not Reason.WRONG_AFTER_TIMING, v.reason
