"""Drafts from one state of a repository: an old commit's files in a folder, without `.git` and without a work tree."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.history.repositories import Step, make_repository

from kernel_lineage.history.git import open_repository
from kernel_lineage.history.trees import trees
from kernel_lineage.workloads.completing import tried_draft
from kernel_lineage.workloads.model import Draft
from kernel_lineage.workloads.of_state import NoDraft, State, draft_for

SCALE = """\
#include "../types.h"

__global__ void scale(real* out, const real* x, int N) {
    int i = blockIdx.x * 32 + threadIdx.x;
    if (i < N) out[i] = 2.0f * x[i];
}

int main() {
    int N = 48;
    real *d_out;
    real *d_x;
    cudaMalloc(&d_out, N * sizeof(real));
    cudaMalloc(&d_x, N * sizeof(real));
    scale<<<(N + 31) / 32, 32>>>(d_out, d_x, N);
}
"""
ROWS = """\
import torch
import triton
import triton.language as tl

@triton.jit
def twice_kernel(out_ptr, x_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, 2 * tl.load(x_ptr + at, mask=at < n), mask=at < n)

def twice(x):
    out = torch.empty_like(x)
    twice_kernel[(triton.cdiv(x.numel(), 64),)](out, x, x.numel(), BLOCK=64)
    return out
"""
ROWS_THAT_NO_OTHER_TEST_HAS = f"{ROWS}# read once\n"
TEST = """\
import torch
from pack.ops.rows import twice

def test_twice():
    twice(torch.randn(300))
"""
FILES = {
    "types.h": "typedef float real;\n",
    "kernels/scale.cu": SCALE,
    "pack/__init__.py": "",
    "pack/ops/__init__.py": "",
    "pack/ops/rows.py": ROWS,
    "tests/test_rows.py": TEST,
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("path", "kernel", "dims", "shape"),
    [
        ("kernels/scale.cu", "scale", {"N": 48}, ("N",)),
        ("pack/ops/rows.py", "twice_kernel", {"d300": 300}, ("d300",)),
    ],
)
def test_headers_and_tests_of_the_state_are_read(
    root: Path, path: str, kernel: str, dims: dict[str, int], shape: tuple[str, ...]
) -> None:
    draft = draft_for(root, path, kernel)
    assert isinstance(draft, Draft), draft.reason
    assert dict(draft.dims) == dims
    assert [(a.dtype, a.shape) for a in draft.arguments if a.shape] == [("float32", shape)] * 2


def test_a_commit_is_drafted_as_it_was_not_as_the_work_tree_is(tmp_path: Path) -> None:
    later = {
        "types.h": "typedef double real;\n",
        "kernels/scale.cu": SCALE.replace("int N = 48", "int N = 96"),
    }
    first, _ = make_repository(tmp_path, [Step("first", FILES), Step("later", later)])
    with trees(open_repository(tmp_path), first) as (before, now):
        drafts = [draft_for(tree.root, "kernels/scale.cu", "scale") for tree in (before, now)]
    assert [(d.dims["N"], d.arguments[0].dtype) for d in drafts if isinstance(d, Draft)] == [
        (48, "float32"),
        (96, "float64"),
    ]


@pytest.mark.parametrize(
    ("path", "kernel", "reason", "is_drafted"),
    [
        ("gone.cu", "scale", "gone.cu cannot be read: No such file or directory", False),
        ("types.h", "scale", "types.h holds no kernels", False),
        ("kernels/scale.cu", "shift", "has no kernel `shift`; its kernels: scale", False),
        ("kernels/broken.cu", "scale", "nothing tells `blocks()`", True),
    ],
)
def test_what_cannot_be_drafted_says_why(
    root: Path, path: str, kernel: str, reason: str, is_drafted: bool
) -> None:
    (root / "kernels" / "broken.cu").write_text(SCALE.replace("scale<<<(N + 31) / 32,", "scale<<<blocks(),"))
    refusal = draft_for(root, path, kernel)
    assert isinstance(refusal, NoDraft)
    assert reason in refusal.reason
    assert (refusal.draft is not None) is is_drafted


def test_each_file_is_read_once_for_all_states_that_hold_it(
    root: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[str] = []
    original = ast.parse

    def counted(text: Any, *more: Any, **named: Any) -> Any:
        if isinstance(text, bytes):
            parsed.append(text.decode())
        return original(text, *more, **named)

    monkeypatch.setattr(ast, "parse", counted)
    (root / "pack" / "ops" / "rows.py").write_text(ROWS_THAT_NO_OTHER_TEST_HAS)
    later = shutil.copytree(root, tmp_path_factory.mktemp("later") / "state")
    for state in (State(root), State(root), State(later)):
        assert isinstance(draft_for(state, "pack/ops/rows.py", "twice_kernel"), Draft)
        assert state.kernel("pack/ops/rows.py", "twice_kernel") is state.kernel(
            "pack/ops/rows.py", "twice_kernel"
        )
    # As a file with kernels, and as a module that others import.
    assert 0 < parsed.count(ROWS_THAT_NO_OTHER_TEST_HAS) <= 2


def test_what_one_file_defines_is_not_what_another_of_the_same_text_does(root: Path) -> None:
    copied = root / "pack" / "ops" / "copied.py"
    shutil.copy(root / "pack" / "ops" / "rows.py", copied)
    state = State(root)
    one, other = (state.kernel(f"pack/ops/{name}.py", "twice_kernel") for name in ("rows", "copied"))
    assert one.function is not other.function
    read = [state.modules.read(root.resolve() / "pack" / "ops" / f"{name}.py") for name in ("rows", "copied")]
    assert read[0] is not None and read[1] is not None
    assert read[0].functions["twice"] is not read[1].functions["twice"]


def test_the_draft_of_a_state_is_proved_with_the_states_own_headers(root: Path) -> None:
    state = State(root)
    kernel = state.kernel("kernels/scale.cu", "scale")
    _, proof = tried_draft(
        kernel, root / "kernels" / "scale.cu", root=root, per_kind=1, kinds=("zero_output",)
    )
    assert proof is not None
    assert [t.fate for t in proof.tried] == ["killed"], proof.baseline


def test_a_template_that_is_made_for_a_type_is_not_called(tmp_path: Path) -> None:
    (tmp_path / "own.cu").write_text("template <class T> void scale(T* x) {}\n")
    (tmp_path / "made.cu").write_text("template void scale<float>(float* x);\n")
    (tmp_path / "called.cu").write_text("template <class T> void run(T* x) { scale<T>(x); }\n")
    assert State(tmp_path).files_calling({"scale"}, tmp_path / "own.cu") == [tmp_path / "called.cu"]
