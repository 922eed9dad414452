"""Conditions that the code itself asserts, or tests on the way to a launch, hold; the evidence names the line."""

import pytest

from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language
from kernel_lineage.skills.applicable import applicable
from kernel_lineage.skills.conditions.facts import Facts, StatedPromise
from kernel_lineage.skills.conditions.stated import stated_facts
from kernel_lineage.skills.conditions.truth import Truth
from kernel_lineage.skills.conditions.unparse import written
from kernel_lineage.skills.promises import promises_of
from skills.skill_folders import APPLIES, a_skill

SKILL = a_skill(applies=("a",), refuses=("b",))


def judged(launchers: str, kernel: str = APPLIES, stated: str = ""):
    (only,) = read((kernel + launchers).encode(), Language.CUDA).kernels
    return applicable(only, [SKILL], stated_facts(stated, "stated") if stated else Facts())[0].conditions[0]


LAUNCH = "f<<<n, 128>>>(y, x, n);"
HEAD = "void go(float* y, const float* x, int n)"


@pytest.mark.parametrize(
    "launchers",
    [
        f"{HEAD} {{ assert(n % 4 == 0); {LAUNCH} }}",
        f"{HEAD} {{ assert(n % 16 == 0 && n > 0); {LAUNCH} }}",
        f"{HEAD} {{ if (n % 8 == 0) {{ {LAUNCH} }} }}",
        f"{HEAD} {{ if (n % 4 != 0) {{ exit(1); }} {LAUNCH} }}",
        f"{HEAD} {{ if (n < 1 || n % 8 != 0) return; {LAUNCH} }}",
        (
            f"{HEAD} {{ assert(n % 4 == 0); {LAUNCH} }} "
            "void two(float* y, const float* x, int m) { assert(m % 4 == 0); f<<<1, 128>>>(y, x, m); }"
        ),
    ],
)
def test_what_every_launch_asks_for_holds(launchers: str) -> None:
    condition = judged(launchers)
    assert condition.judgement.truth is Truth.HOLDS
    assert "`n % " in condition.evidence and "(line 4)" in condition.evidence


@pytest.mark.parametrize(
    "launchers",
    [
        f"{HEAD} {{ {LAUNCH} }}",
        f"{HEAD} {{ assert(n % 2 == 0); {LAUNCH} }}",
        f"{HEAD} {{ if (n % 4 == 0) {{ return; }} {LAUNCH} }}",
        f"{HEAD} {{ if (n % 4 != 0) {{ log(n); }} {LAUNCH} }}",
        f"{HEAD} {{ if (n % 4 != 0) return; n = n + 1; {LAUNCH} }}",
        f"{HEAD} {{ assert(n % 4 == 0); n += 1; {LAUNCH} }}",
        f"{HEAD} {{ {LAUNCH} }} void all(float* y, const float* x, int n) {{ assert(n % 4 == 0); go(y, x, n); }}",
        f"{HEAD} {{ if (n % 4 == 0) {{ other(); }} else {{ {LAUNCH} }} }}",
        f"{HEAD} {{ assert(n % 4 == 0); {LAUNCH} }} void two(float* y, const float* x, int n) {{ {LAUNCH} }}",
        f"{HEAD} {{ assert(n % 4 == 0); f<<<n, 128>>>(y, x, n + 1); }}",
    ],
)
def test_what_some_launch_does_not_ask_for_stays_unknown(launchers: str) -> None:
    assert judged(launchers).judgement.truth is Truth.UNKNOWN


def test_a_kernel_that_returns_at_once_promises_the_rest_behind_it() -> None:
    early = APPLIES.replace("{\n", "{\n    if (C % 4 != 0) return;\n", 1)
    assert judged("", early).judgement.truth is Truth.HOLDS
    assert "the code leaves where `C % 4 != 0`" in judged("", early).evidence
    changed = early.replace("return;\n", "return;\n    C += 1;\n", 1)
    nested = APPLIES.replace("{\n", "{\n    if (y[0] > 0.f) { if (C % 4 != 0) return; }\n", 1)
    late = APPLIES.rstrip().removesuffix("}") + "    if (C % 4 != 0) return;\n}\n"
    for kernel in (changed, nested, late):
        assert judged("", kernel).judgement.truth is Truth.UNKNOWN, kernel


def test_what_a_weaker_promise_leaves_open_is_told() -> None:
    evidence = judged(f"{HEAD} {{ assert(n % 2 == 0); {LAUNCH} }}").evidence
    assert "what is promised leaves C = 2 open" in evidence


def test_an_assertion_in_the_kernel_counts_and_a_known_failure_stays() -> None:
    kernel = APPLIES.replace("{\n", "{\n    assert(C % 4 == 0);\n", 1)
    assert judged("", kernel).judgement.truth is Truth.HOLDS
    assert judged("", kernel, "C = 770").judgement.truth is Truth.FAILS


@pytest.mark.parametrize(
    ("values", "promise", "truth"),
    [
        ("", "C % 8 == 0", Truth.HOLDS),
        ("C = 64", "C % 4 == 0", Truth.HOLDS),
        ("", "C % 2 == 0", Truth.UNKNOWN),
        ("C = 6", "C % 4 == 0", Truth.FAILS),
        ("", "2 ** C > 4", Truth.UNKNOWN),
    ],
)
def test_what_callers_promise_holds_unless_a_known_size_breaks_it(
    values: str, promise: str, truth: Truth
) -> None:
    (only,) = read(APPLIES.encode(), Language.CUDA).kernels
    facts = Facts(
        stated_facts(values, "stated").known if values else {},
        (StatedPromise(promise, "promised by the workload"),),
    )
    condition = applicable(only, [SKILL], facts)[0].conditions[0]
    assert condition.judgement.truth is truth
    assert (condition.evidence == "promised by the workload") is (truth is Truth.HOLDS)


def test_what_a_launcher_asks_of_a_tensor_is_said_of_the_pointer() -> None:
    code = """
import triton

@triton.jit
def k(x_ptr, n):
    pass

def go(x, n):
    assert x.is_contiguous()
    k[(n,)](x, n)
"""
    (kernel,) = read(code.encode(), Language.TRITON).kernels
    assert [written(promise.tree) for promise in promises_of(kernel)] == ["contiguous(x_ptr)"]
