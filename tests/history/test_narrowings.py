"""Selections, clamps and widened indices are told wherever they occur."""

import pytest

from kernel_lineage.history.analysis import analyse
from kernel_lineage.history.facts import Task
from kernel_lineage.kernels.source import Language

PYTHON = "@triton.jit\ndef k(x, n, B: tl.constexpr):\n    i = tl.arange(0, B)\n    {}\n"
PYTHON += "    tl.store(x + i, v, mask=i < n)\n"
CUDA = "__global__ void k(float* x, int n) {{\n    int i = threadIdx.x;\n    {}\n}}\n"


@pytest.mark.parametrize(
    ("language", "line", "expected"),
    [
        (Language.TRITON, "v = tl.where(i < n, 1.0, 0.0)", [("select", "i < n")]),
        (Language.TRITON, "v = tl.minimum(i, n - 1)", [("clamp", "tl.minimum(i, n - 1)")]),
        (Language.TRITON, "v = i.to(tl.int64) * n", [("widening", "i.to(tl.int64)")]),
        (Language.TRITON, "v = i.to(tl.float32)", []),
        (Language.CUDA, "x[(int64_t)i * n] = 1; // (int64_t)n", [("widening", "(int64_t)i")]),
        (Language.CUDA, "x[static_cast<size_t>(i) * n] = 1;", [("widening", "static_cast<size_t>(i)")]),
        (Language.CUDA, "x[min(i, n - 1)] = 1;", [("clamp", "min(i, n - 1)")]),
        (Language.CUDA, "x[i] = o.min(2);", []),
    ],
)
def test_an_occurrence_is_told_with_its_line(language: Language, line: str, expected: list[tuple[str, str]]):
    text = (PYTHON if language is Language.TRITON else CUDA).format(line)
    guards = analyse(Task("", language, "k", (text,))).guards
    occurrences = [(g.kind, g.expr) for g in guards if g.kind in ("select", "clamp", "widening")]
    assert occurrences == expected
    assert all(text.splitlines()[g.line].strip().startswith(line[:4]) for g in guards if g.kind == "widening")


def test_a_second_mask_of_the_same_words_is_an_occurrence_of_its_own():
    text = CUDA.format("if (i < n) x[i] = 1;\n    if (i < n) x[i + n] = 1;")
    assert [g.expr for g in analyse(Task("", Language.CUDA, "k", (text,))).guards] == ["i < n", "i < n"]
