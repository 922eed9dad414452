"""A state whose tests do not reach a kernel, read with those of the other state."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_lineage.history.model import Version
from kernel_lineage.history.trees import Tree
from kernel_lineage.kernels.source import Language
from kernel_lineage.learning.replay.states import StateOf
from kernel_lineage.learning.replay.tests_of_other import draft_by_tests_of
from kernel_lineage.workloads.of_state import State

KERNEL = """\
import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)


def double(x):
    out = torch.empty_like(x)
    double_kernel[(triton.cdiv(x.numel(), 128),)](x, out, x.numel(), BLOCK=128)
    return out
"""
TEST = """\
import torch
from doubling import double


def test_double():
    x = torch.randn(6, 40, dtype=torch.float16)
    assert double(x).shape == x.shape
"""


def state(folder: Path, files: dict[str, str], name: str) -> StateOf:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    version = Version(name, "doubling.py", "double_kernel", name, 1, 1, Language.TRITON, name, frozenset())
    return StateOf(version, Tree(folder, frozenset(files), name), State(folder))


@pytest.fixture
def before(tmp_path: Path) -> StateOf:
    return state(tmp_path / "before", {"doubling.py": KERNEL.replace("128", "64")}, "aaa")


def test_the_launch_is_the_states_own_and_the_sizes_are_those_of_the_others_test(before, tmp_path):
    after = state(tmp_path / "after", {"doubling.py": KERNEL, "tests/test_doubling.py": TEST}, "bbb")
    assert not before.draft().tested
    draft = draft_by_tests_of(before, after)
    assert draft is not None
    assert draft.constexpr == {"BLOCK": "64"}
    assert [a.dtype for a in draft.arguments] == ["float16", "float16", "int32"]
    assert draft.assumed[0] == "doubling.py of aaa is read with the tests of doubling.py of bbb"
    assert not list(tmp_path.glob("klineage-tests-*"))


@pytest.mark.parametrize(
    "files",
    [
        {"doubling.py": KERNEL},
        {"doubling.py": KERNEL, "tests/test_doubling.py": TEST.replace("double", "triple")},
    ],
    ids=["no test", "a test of something else"],
)
def test_tests_that_do_not_reach_the_kernel_tell_nothing(files, before, tmp_path):
    assert draft_by_tests_of(before, state(tmp_path / "after", files, "bbb")) is None


def test_of_one_tree_the_tests_are_known_already(before):
    assert draft_by_tests_of(before, before) is None
