"""A whole verdict on the emulated device: what passes, what is rejected, and what is nobody's fault."""

import itertools
import re
from types import SimpleNamespace

import pytest

from gate.programs import affine, workload
from kernel_gate.devices.base import DeviceError
from kernel_gate.evidence import companion_files, hash_inputs
from kernel_gate.gate import judge
from kernel_gate.options import GateOptions
from kernel_gate.program import LaunchSpec, Program
from kernel_gate.reasons import Reason
from kernel_gate.standing import ExitCode, Standing
from kernel_gate.verdict import Outcome, StageStatus, Verdict

PASS, FAIL, UNAVAILABLE, SKIPPED = (
    StageStatus.PASS,
    StageStatus.FAIL,
    StageStatus.UNAVAILABLE,
    StageStatus.SKIPPED,
)


def verdict(candidate: Program, baseline: Program | None = None, **rest: object) -> Verdict:
    return judge(baseline or affine(), candidate, rest.pop("workload", workload()), device="emulated", **rest)  # type: ignore[arg-type]


def statuses(v: Verdict) -> list[StageStatus]:
    return [stage.status for stage in v.stages]


def test_a_right_candidate_is_inconclusive_without_a_gpu_because_it_is_not_profiled():
    v = verdict(affine("2.0f * x[i] + 1.0f", "fmaf(2.0f, x[i], 1.0f)"))
    assert statuses(v) == [PASS, PASS, PASS, UNAVAILABLE]
    assert v.outcome is Outcome.INCONCLUSIVE
    assert v.reason.startswith("not profiled")
    assert v.exit_code == ExitCode.RIGHT


def test_a_wrong_candidate_is_rejected_with_its_first_wrong_element():
    v = verdict(affine("i < n", "i < n - n % 4"))
    assert statuses(v) == [PASS, FAIL, SKIPPED, SKIPPED]
    assert v.reason.startswith("Rejected by check: y[0, 68] = NaN (not written), expected ")
    assert "; N 1, C 70, seed 92; affine.cu; the baseline writes it on line 3 by block" in v.reason
    assert v.stages[1].details["wrong"] == 2


def test_a_fault_names_the_line_of_the_users_file():
    v = verdict(affine("if (i < n) y[i]", "y[i]", first_line=20))
    assert v.outcome is Outcome.REJECTED
    assert v.reason.endswith("affine.cu:22")
    assert v.stages[1].details["fault"] == "out_of_bounds"


def test_a_nan_is_traced_to_the_line_and_the_operands_that_made_it():
    v = verdict(affine("2.0f * x[i]", "(x[i] - x[i]) / (x[i] * 0.0f)", first_line=20))
    assert v.outcome is Outcome.REJECTED
    birth = "NaN was born at line 22: 0 / -0 by thread (0, 0, 0) of block (0, 0, 0)"
    assert birth in v.reason
    assert v.stages[1].details["births"][0]["line"] == 22


def test_an_index_that_overflows_is_named_where_it_wraps():
    v = verdict(affine("x[i]", "x[i + n * 99999999]"))
    assert (v.outcome, v.code) == (Outcome.REJECTED, Reason.ADDRESS_OVERFLOW)
    assert "overflow in an address: 32 * 99999999" in v.reason
    assert v.reason.endswith("affine.cu:3")


def test_an_input_that_is_changed_is_named_where_it_is_stored():
    v = verdict(affine("if (i < n)", "if (i == 5) const_cast<float*>(x)[7] = 3.0f;\n    if (i < n)"))
    assert (v.outcome, v.code) == (Outcome.REJECTED, Reason.INPUT_OVERWRITTEN)
    assert "changed its input x[7]" in v.reason and "thread (5, 0, 0)" in v.reason
    assert v.reason.endswith("affine.cu:3")


def test_a_candidate_that_does_not_build_is_rejected_with_its_line():
    v = verdict(affine("2.0f", "two"))
    assert statuses(v) == [FAIL, SKIPPED, SKIPPED, SKIPPED]
    assert v.reason == 'Rejected by build: affine.cu:3: identifier "two" is undefined'


@pytest.mark.parametrize(
    ("baseline", "message"),
    [
        (affine("2.0f", "two", name="old.cu"), "build: the baseline does not build: old.cu:3"),
        (affine("if (i < n) y[i]", "y[i]", name="old.cu"), "check: the baseline does not pass its own check"),
        (affine("i < n", "i < n - 1", name="old.cu"), "check: the baseline does not pass its own check"),
    ],
)
def test_a_broken_baseline_is_not_the_candidates_fault(baseline, message):
    v = verdict(affine(), baseline)
    assert v.outcome is Outcome.INCONCLUSIVE
    assert v.reason.startswith(message)


def test_a_baseline_that_disagrees_with_the_oracle_is_not_the_candidates_fault(tmp_path):
    (tmp_path / "oracle.py").write_text("def affine(x, **_):\n    return 3 * x + 1\n")
    oracle = workload('[oracle]\npython = "oracle.py:affine"\n').model_copy(update={"folder": tmp_path})
    v = verdict(affine(), workload=oracle)
    assert v.outcome is Outcome.INCONCLUSIVE
    assert "the baseline does not pass its own check: y[0, 0] = " in v.reason


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def affine(x):\n    raise ValueError('no')\n", "failed: ValueError: no"),
        ("def other(x):\n    return x\n", "has no function `affine`"),
        ("def affine(x):\n    return x[:1, :1]\n", "of shape (1, 1); the workload says"),
        ("import os\nos._exit(3)\n", "ended without an answer"),
    ],
)
def test_a_broken_oracle_is_said(tmp_path, text, message):
    (tmp_path / "oracle.py").write_text(text)
    broken = workload('[oracle]\npython = "oracle.py:affine"\n').model_copy(update={"folder": tmp_path})
    v = verdict(affine(), workload=broken)
    assert v.outcome is Outcome.INCONCLUSIVE
    assert message in v.reason


def test_a_missing_oracle_is_said():
    v = verdict(affine(), workload=workload('[oracle]\npython = "nowhere.py:affine"\n'))
    assert "nowhere.py does not exist" in v.reason


def test_a_candidate_brings_its_own_launch():
    looping = affine(
        "if (i < n) y[i] = 2.0f * x[i] + 1.0f;",
        "for (; i < n; i += blockDim.x * gridDim.x) y[i] = 2.0f * x[i] + 1.0f;",
        launch=LaunchSpec(("1",), ("32",)),
    )
    assert statuses(verdict(looping))[:3] == [PASS, PASS, PASS]


@pytest.mark.parametrize(
    "launch", [LaunchSpec(("N // 2",), ("64",)), LaunchSpec(("1",), ("2048",)), LaunchSpec(("M",), ("64",))]
)
def test_a_launch_that_no_device_takes_is_rejected(launch):
    v = verdict(affine(launch=launch))
    assert v.outcome is Outcome.REJECTED
    assert "affine.cu: " in v.reason


@pytest.mark.long
def test_a_kernel_that_does_not_end_is_rejected():
    v = verdict(affine("if (i < n)", "while (n > 0) y[0] += 1.0f; if (i < n)"))
    assert "did not end" in v.reason


def test_hidden_shapes_keep_the_workloads_promises():
    even_only = affine("i < n", "i < n - n % 2")
    assert "hidden shape" in verdict(even_only).reason
    assert "promises" in verdict(even_only).reason
    promised = workload(**{"[dims]": 'promises = ["C % 2 == 0"]\n[dims]'})
    assert statuses(verdict(even_only, workload=promised))[:3] == [PASS, PASS, PASS]
    named_only = GateOptions(hidden=False)
    assert statuses(verdict(even_only, options=named_only))[:3] == [PASS, PASS, PASS]


def test_a_workload_that_cannot_see_a_constant_is_refused():
    flat = workload("[tolerance]\nrelative = 50.0\n", **{'name = "x"': 'name = "x"\nvalues = "uniform"'})
    v = verdict(affine("2.0f * x[i] + 1.0f", "0.0f"), workload=flat)
    assert v.outcome is Outcome.INCONCLUSIVE
    assert "cannot tell a right y from a constant one" in v.reason


def test_a_buffer_of_no_elements_that_a_launch_needs_blinds_nothing():
    empty = '[[args]]\nname = "e"\nkind = "output"\ndtype = "float32"\nshape = ["N - N"]\n\n[launch]'
    source = affine().source.replace("int n)", "int n, float *e)")
    program = Program("cuda", source, "affine")
    v = judge(program, program, workload(**{"[launch]": empty}), device="emulated")
    assert v.standing is Standing.RIGHT, v.reason


def test_nothing_compared_is_nothing_accepted():
    empty = workload(**{"N = [1, 3]": "N = [0]"})
    v = verdict(affine(), workload=empty)
    assert v.outcome is Outcome.INCONCLUSIVE
    assert "nothing was compared: 0 cases" in v.reason


def test_time_that_ran_out_is_said():
    v = verdict(affine(), options=GateOptions(check_seconds=1e-9))
    assert v.outcome is Outcome.INCONCLUSIVE
    assert re.search("none of .* fits into|did not fit", v.reason)


@pytest.mark.long
def test_a_tiny_case_says_nothing_of_the_time_of_a_large_one(monkeypatch):
    ticks = itertools.count(step=0.05)
    monkeypatch.setattr("kernel_gate.stages.check.time.monotonic", lambda: next(ticks))
    wide = workload(**{"N = [1, 3]": "N = [1, 5000]"})
    v = verdict(affine(), workload=wide, options=GateOptions(hidden=False))
    assert v.stages[1].status is PASS, v.reason


def test_the_hash_covers_everything_that_went_in(tmp_path):
    (tmp_path / "oracle.py").write_text("def affine(x, **_):\n    return 2 * x + 1\n")
    with_oracle = workload('[oracle]\npython = "oracle.py:affine"\n').model_copy(update={"folder": tmp_path})

    def hashed(candidate=affine(), asked=with_oracle, options=GateOptions()):  # noqa: B008 - frozen
        return hash_inputs(affine(), candidate, asked, options, companion_files(asked))

    same = hashed()
    assert same == hashed() == verdict(affine(), workload=with_oracle).inputs_hash
    others = [hashed(affine("1.0f", "1.00f")), hashed(asked=workload()), hashed(options=GateOptions(seed=7))]
    (tmp_path / "oracle.py").write_text("def affine(x, **_):\n    return 1 + 2 * x\n")
    assert len({same, *others, hashed()}) == 5


def test_a_missing_gpu_is_an_error_only_when_it_is_asked_for(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pycuda", None)
    with pytest.raises(DeviceError, match=r"kernel-lineage\[gpu\]") as raised:
        judge(affine(), affine(), workload(), device="cuda")
    assert raised.value.code is Reason.DEVICE_MISSING


def test_progress_is_reported_per_stage():
    seen: list[tuple[str, str]] = []
    verdict(affine(), progress=lambda stage, what, share: seen.append((stage, what)))
    assert list(dict.fromkeys(stage for stage, _ in seen)) == ["build", "check"]
    cases = [what for stage, what in seen if stage == "check"]
    counts = [re.match(rf"case {n} of (\d+): N \d+", what) for n, what in enumerate(cases, 1)]
    assert all(counts), cases
    totals = [int(count[1]) for count in counts]
    assert totals == sorted(totals), "more of them are looked for while it runs"
    assert totals[-1] == len(cases)
    assert all("seed" in what for what in cases), "a case that hangs is repeated by it"


def test_a_wrong_element_names_the_thread_and_the_line_that_wrote_it():
    v = verdict(affine("+ 1.0f;", "+ 1.0f;\n    if (i == 5) y[i] = 0.0f;", first_line=20))
    check = v.stages[1]
    assert (check.details["line"], check.details["block"], check.details["thread"]) == (
        23,
        (0, 0, 0),
        (5, 0, 0),
    )
    written = "written on line 23 by block (0, 0, 0), thread (5, 0, 0)"
    assert check.reason.endswith(f"{written}; it is fed by line 23, which changed")


@pytest.mark.parametrize("how", ["__forceinline__", "__noinline__"])
def test_a_fault_in_a_headers_function_names_its_line_there_beside_the_line_that_calls_it(how):
    header = f'#line 4 "parts/read.cuh"\n__device__ {how} float read(const float* x, int i) {{\n    return x[i];\n}}\n'
    source = affine("x[i]", "read(x, i + 100000000)").source
    outside = Program("cuda", f'{header}#line 1 "affine.cu"\n{source}', "affine", name="affine.cu")
    check = verdict(outside).stages[1]
    assert (check.details["fault"], check.details["inner"]) == ("out_of_bounds", "parts/read.cuh:5")
    assert check.details["line"] == next(
        n for n, text in enumerate(source.splitlines(), 1) if "read(" in text
    )
    assert verdict(affine("x[i]", "x[i + 100000000]")).stages[1].details["inner"] == ""


def test_a_wrong_element_names_the_changed_lines_that_feed_it_and_no_others():
    before = affine("    int i", "    float a = x[0];\n    float b = 2.0f;\n    int i").source
    after = (
        before.replace("b = 2.0f", "b = 3.0f").replace("a = x[0]", "a = x[1]").replace("2.0f * x", "b * x")
    )
    check = judge(
        Program("cuda", before, "affine", name="affine.cu"),
        Program("cuda", after, "affine", name="affine.cu"),
        workload(),
        device="emulated",
    ).stages[1]
    assert check.reason.endswith("it is fed by line 5, which changed")
    assert [(r["line"], r["what"]) for r in check.details["related"]] == [
        (5, "changed, and feeds the wrong element")
    ]
    assert set(check.details["fed_by"]) >= {4, 5}


def test_an_access_at_fault_names_the_changed_lines_that_led_to_it():
    before = affine(
        "int i = blockIdx", "int base = n / 1000;\n    float z = 1.0f;\n    int i = base + blockIdx"
    ).source
    after = before.replace("n / 1000", "n * 30").replace("z = 1.0f", "z = 2.0f").replace("i < n", "i >= 0")
    check = judge(
        Program("cuda", before, "affine", name="affine.cu"),
        Program("cuda", after, "affine", name="affine.cu"),
        workload(),
        device="emulated",
    ).stages[1]
    assert check.code is Reason.OUT_OF_BOUNDS
    assert check.reason.endswith("; it comes from lines 5, 2, which changed")
    named = [r["line"] for r in check.details["related"] if r["what"] == "changed, and leads to this access"]
    assert named == [5, 2]


def test_an_element_that_is_not_written_names_the_changed_guard():
    check = verdict(affine("i < n", "i < n - 1")).stages[1]
    assert check.code is Reason.NOT_WRITTEN
    assert check.reason.endswith("it is fed by line 3, which changed")
    assert "the baseline writes it on line 3 by block (0, 0, 0), thread (31, 0, 0)" in check.reason


def test_a_wrong_element_of_the_baseline_names_its_line_too(tmp_path):
    (tmp_path / "oracle.py").write_text("def affine(x, **_):\n    return 3 * x + 1\n")
    oracle = workload('[oracle]\npython = "oracle.py:affine"\n').model_copy(update={"folder": tmp_path})
    check = verdict(affine(), workload=oracle).stages[1]
    assert (check.details["cause"], check.details["output"], check.details["line"]) == (
        Reason.WRONG_VALUE,
        "y",
        3,
    )


def racing(before: str = "one[threadIdx.x] = 1.0f; __syncthreads(); ") -> Program:
    """With what is before, either order of the write and the read gives 1: only the detector sees the race."""
    text = f"__shared__ float one[64];\n    {before}one[threadIdx.x] = 1.0f;\n"
    text += "    if (i < n) y[i] = 2.0f * x[i] + one[63 - threadIdx.x]"
    return affine("if (i < n) y[i] = 2.0f * x[i] + 1.0f", text)


def test_what_a_detector_saw_decides_when_the_time_for_cases_is_spent(monkeypatch):
    ticks = itertools.count()
    monkeypatch.setattr("kernel_gate.stages.check.time", SimpleNamespace(monotonic=lambda: next(ticks)))
    four = workload(**{"N = [1, 3]": "N = [64, 65, 66, 67]"})
    v = verdict(racing(), workload=four, options=GateOptions(check_seconds=8, hidden=False))
    assert v.stages[1].code is Reason.CASE_TIME_SPENT
    assert v.stages[1].details["cases"] == 2  # half of the time
    assert (v.outcome, v.stages[2].status, v.stages[2].code) == (Outcome.REJECTED, FAIL, Reason.RACE)
    kinds = {(finding["kind"], finding["line"]) for finding in v.stages[2].details["findings"]}
    assert len(v.stages[2].details["findings"]) == len(kinds)  # each once, not once a case


def test_a_race_comes_with_its_other_side():
    in_values = verdict(racing(before="")).stages[1].details
    apart = workload(**{'name = "y"': 'name = "y"\nnoalias = true'})
    (unseen, *_) = verdict(racing(), workload=apart).stages[2].details["findings"]
    for finding in (in_values, unseen):
        assert finding["line"] == 5
        _is_the_other_side(finding)


def _is_the_other_side(finding):
    (other,) = finding["related"]
    assert (other["what"], other["line"], other["block"]) == ("the other access of the race", 4, (0, 0, 0))
    assert other["thread"][0] == 63 - finding["thread"][0]
