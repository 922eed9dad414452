"""What is told of a checked kernel: a draft that may be wrong accuses nobody."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_gate.gate import judge
from kernel_gate.options import GateOptions
from kernel_lineage.editor.checked import checked_document
from kernel_lineage.learning.check_document import CheckedDocument, lines_of
from kernel_lineage.learning.checked_file import Asked, checked_kernel
from kernel_lineage.learning.version_checks import VersionState
from kernel_lineage.workloads.draft import draft_of
from kernel_lineage.workloads.files import kernel_of
from kernel_lineage.workloads.on_the_spot import NoWorkloadError, SpotWorkload

CODE = """\
import torch
import triton
import triton.language as tl


@triton.jit
def add(out_ptr, x_ptr, w_ptr, n, step, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n) + tl.load(w_ptr + at * step, mask=at < n), mask=at < n)


def launch(x, w):
    out = torch.empty_like(x)
    rows, columns = x.shape
    w_rows, w_columns = w.shape
    n = rows * columns
    add[(triton.cdiv(n, 64),)](out, x, w, n, w.stride(1), BLOCK=64)
    return out
"""
ASKED = CODE.replace("    out = torch", "    assert w.shape == x.shape\n    out = torch")


def _checked(
    folder: Path, code: str, *, kernel: str = "add", measure: bool = False, file: str = "add.py"
) -> CheckedDocument:
    (folder / ".git").mkdir()
    path = folder / file
    path.write_text(code)
    target = kernel_of(path, kernel)
    draft = draft_of(target, path, measure=measure)
    assert draft.missing == ()
    return checked_document(
        checked_kernel(
            Asked(path, code.encode(), kernel, 7),
            lambda: SpotWorkload(draft.workload(), None, draft.assumed),
            lambda r: judge(r.baseline, r.candidate, r.workload, device="emulated", options=r.options),
            GateOptions(check_seconds=60, build_seconds=60, callers_seconds=0, algebra_seconds=0),
        )
    )


def test_a_kernel_that_leaves_a_buffer_whose_size_is_a_guess_is_not_called_wrong(tmp_path: Path) -> None:
    version = _checked(tmp_path, CODE)
    assert version.state is VersionState.UNKNOWN
    assert "or the draft is wrong: nothing tells how w_columns and w_rows of w_ptr" in version.reason
    assert {f.severity for f in version.findings} == {"warning"}


@pytest.mark.parametrize(("before", "after"), [("", ""), ("tl.load(x_ptr + at,", "tl.load(x_ptr + at + 1,")])
def test_where_sizes_follow_from_each_other_a_kernel_is_right_or_wrong(
    before: str, after: str, tmp_path: Path
) -> None:
    version = _checked(tmp_path, ASKED.replace(before, after) if before else ASKED)
    assert version.state is (VersionState.WRONG if before else VersionState.RIGHT)
    assert "draft is wrong" not in version.reason


STARTS = """\
import torch
import triton
import triton.language as tl


@triton.jit
def add(out_ptr, x_ptr, starts_ptr, ROW: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, ROW)  # rows that begin at one place agree there
    start = tl.load(starts_ptr + row)
    tl.store(out_ptr + start + at, tl.load(x_ptr + start) + 0 * at)


def launch(x, starts):
    out = torch.empty_like(x)
    rows, columns = x.shape
    assert starts.shape[0] == rows
    add[(rows,)](out, x, starts, ROW=columns)
    return out


def test_rows():
    launch(torch.randn(8, 16), torch.empty(8, dtype=torch.int32))
"""


@pytest.mark.long
def test_a_kernel_whose_threads_race_with_whatever_an_index_holds_is_not_called_wrong(tmp_path: Path) -> None:
    version = _checked(tmp_path, STARTS, measure=True)
    assert version.state is VersionState.UNKNOWN
    assert (
        "or the draft is wrong: nothing tells what starts_ptr may hold; threads race with all"
        in version.reason
    )


TEST = """\
import torch
from add import launch


def test_add():
    launch(torch.randn(8, 16), torch.randn(8, 16))
"""


@pytest.mark.parametrize(
    ("number", "test", "state"),
    [
        ("& 1", "", VersionState.UNKNOWN),
        ("& 1", TEST, VersionState.WRONG),
        ("* no_such_name", "", VersionState.WRONG),
        ("* tl.no_such_name", "", VersionState.WRONG),
    ],
)
def test_a_kernel_that_does_not_compile_with_what_a_draft_chose_is_not_called_wrong(
    number: str, test: str, state: VersionState, tmp_path: Path
) -> None:
    (tmp_path / "test_add.py").write_text(test)
    loaded = "tl.load(x_ptr + at, mask=at < n)"
    version = _checked(tmp_path, CODE.replace(loaded, f"({loaded} {number})"))
    assert version.state is state, version.reason
    is_guess = "or the draft is wrong: " in version.reason
    assert is_guess is (state is VersionState.UNKNOWN)


PACK = """\
import torch
import triton
import triton.language as tl


@triton.jit
def pack(out_ptr, x_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)  # rows overlap where n % 4 is not 0
    tl.store(out_ptr + row * (n // 4) + at, tl.load(x_ptr + row * n + at, mask=at < n), mask=at < (n + 3) // 4)


def launch(x, out):
    n = x.shape[1]
    pack[(x.shape[0],)](out.view(-1), x, n, BLOCK=64)
"""
HIDES_ITS_CALL = """

def test_pack():
    x, out = torch.randn(8, 16), torch.zeros(8, 16)
    vars()["launch"](x, out)
"""
CALLS = HIDES_ITS_CALL.replace('vars()["launch"]', "launch")


@pytest.mark.parametrize(
    ("caller", "state"), [(HIDES_ITS_CALL, VersionState.UNKNOWN), (CALLS, VersionState.WRONG)]
)
def test_shapes_that_a_draft_borrowed_of_other_tensors_accuse_nobody(
    caller: str, state: VersionState, tmp_path: Path
) -> None:
    version = _checked(tmp_path, PACK + caller, kernel="pack")
    assert version.state is state, version.reason


FIXED = """\
import torch, triton, triton.language as tl


@triton.jit
def add(out_ptr, x_ptr, w_ptr, ROW: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, ROW)
    total = tl.zeros((ROW,), tl.float32)
    for first in range(0, 4096, ROW):
        total += tl.load(x_ptr + row * 4096 + first + at) * tl.load(w_ptr + row * 4096 + first + at)
    tl.store(out_ptr + row, tl.sum(total))


def launch(out, x, w, rows):
    add[(rows,)](out, x, w, ROW=64)


def test_rows():
    rows, columns = 4096, 4096
    launch(torch.empty(rows), torch.randn(rows, columns), torch.randn(rows, columns), rows)
"""


def test_a_kernel_that_is_written_for_one_size_is_not_called_wrong_at_others(tmp_path: Path) -> None:
    version = _checked(tmp_path, FIXED)
    assert version.state is VersionState.UNKNOWN
    assert "or the draft is wrong: nothing tells how columns of " in version.reason


UNMASKED = """\
import torch, triton, triton.language as tl


@triton.jit
def add(out_ptr, x_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, 2 * tl.load(x_ptr + at))


def launch(x):
    out = torch.empty_like(x)
    add[(triton.cdiv(x.numel(), 32),)](out, x, x.numel(), BLOCK=32)
    return out
"""


def test_a_kernel_without_a_mask_is_right_for_the_sizes_that_need_none_and_says_so(tmp_path: Path) -> None:
    version = _checked(tmp_path, UNMASKED)
    assert (version.state, version.where) == (VersionState.RIGHT, "n % 32 == 0")
    (finding,) = version.findings
    assert (finding.line, finding.severity) == (7, "hint")
    assert "nothing masks this access, so the kernel is right only where n % 32 == 0" in finding.message
    assert " right where n % 32 == 0: " in lines_of("add.py", version)[0]


def test_a_mask_that_others_of_the_tile_have_is_missed_aloud(tmp_path: Path) -> None:
    source = UNMASKED.replace("tl.load(x_ptr + at))", "tl.load(x_ptr + at), mask=at < n)")
    version = _checked(tmp_path, source)
    assert (version.state, version.where) == (VersionState.RIGHT, "n % 32 == 0")
    (finding,) = version.findings
    assert (finding.line, finding.severity) == (7, "warning")
    assert "nothing masks this access, though line 7 masks others of the same tile" in finding.message


@pytest.mark.parametrize(
    ("unbuilt", "shown"),
    [
        (
            'add.cu:4: identifier "missing" is undefined',
            [(4, 'add does not build: identifier "missing" is undefined')],
        ),
        ("add.cu:4: name followed by `::` must be a class; it needs `other/tile.h`, which is nowhere", []),
        ("add.cu asks for the header other/tile.h", []),
    ],
)
def test_a_compilers_error_is_shown_where_it_leaves_no_workload_to_draft(
    unbuilt: str, shown: list[object]
) -> None:
    def no_workload() -> SpotWorkload:
        raise NoWorkloadError("add does not build", unbuilt=unbuilt)

    asked = Asked(Path("add.cu"), b"", "add", 1)
    version = checked_document(checked_kernel(asked, no_workload, judge, GateOptions()))
    assert [(f.line, f.message) for f in version.findings] == shown
    assert version.state is (VersionState.WRONG if shown else VersionState.UNKNOWN)


PITCHED = """\
__global__ void shift(float* out, const float* x, int w, int h, int pitch) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y;
    if (i < h && j < w) out[(size_t)i * pitch + j] = x[i * w + j] + 1.0f;
}
void launch(float* out, const float* x, int w, int h, int pitch) {
    shift<<<dim3((w + 31) / 32, h), 32>>>(out, x, w, h, pitch);
}
"""


@pytest.mark.parametrize(
    ("before", "after", "state"),
    [
        ("", "", VersionState.UNKNOWN),
        ("i * pitch + j]", "(i * w + j) / 2]", VersionState.WRONG),  # the pitch is not used
    ],
)
def test_rows_that_overlap_because_a_pitch_was_chosen_accuse_nobody(
    before: str, after: str, state: VersionState, tmp_path: Path
) -> None:
    version = _checked(
        tmp_path, PITCHED.replace(before, after), kernel="shift", measure=True, file="shift.cu"
    )
    assert version.state is state, version.reason
    if state is VersionState.UNKNOWN:
        assert (
            "or the draft is wrong: pitch was chosen, and no code tells how far apart rows are; "
            in version.reason
        )
        assert "klineage workload init shift.cu:shift --set pitch=NUMBER" in version.reason
