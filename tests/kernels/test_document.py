"""An open document follows its keystrokes."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel_lineage.kernels.document import OpenDocument
from kernel_lineage.kernels.reading import LARGEST_FILE, read
from kernel_lineage.kernels.source import Language

CODE = b"""\
__device__ float twice(float x) { return 2 * x; }
__global__ void k(float* x, int n) {
    if (threadIdx.x < n) { x[threadIdx.x] = twice(1.0f); }
}
void run(float* x) { k<<<1, 32>>>(x, 32); }
"""
TRITON = b"import triton\n@triton.jit\ndef k(x):\n    pass\n"


def test_an_edit_is_seen():
    document = OpenDocument(CODE, Language.CUDA)
    at = CODE.index(b"k(float* x")
    document.edit(at, at + 1, b"renamed")
    assert [k.name for k in document.source.kernels] == ["renamed"]
    assert document.source.kernels[0].text.startswith("__global__ void renamed(")


def test_what_was_read_before_stays_true_of_its_text():
    document = OpenDocument(CODE, Language.CUDA)
    before = document.source
    document.edit(0, 0, b"// a line above\n")
    kernel = before.kernels[0]
    assert CODE[kernel.node.start_byte : kernel.node.end_byte].decode() == kernel.text
    assert document.source.kernels[0].span.first_line == kernel.span.first_line + 1


def test_it_is_read_once_per_edit():
    document = OpenDocument(CODE, Language.CUDA)
    assert document.source is document.source


def test_triton_documents_follow_too():
    document = OpenDocument(TRITON, Language.TRITON)
    document.edit(len(TRITON), len(TRITON), b"\n@triton.jit\ndef k2(x):\n    pass\n")
    assert [k.name for k in document.source.kernels] == ["k", "k2"]


def test_a_document_that_grows_beyond_the_limit_is_refused_and_comes_back():
    document = OpenDocument(CODE, Language.CUDA)
    document.edit(0, 0, b"\n" * LARGEST_FILE)
    assert "MB" in document.source.problems[0].message
    document.edit(0, LARGEST_FILE, b"")
    assert [k.name for k in document.source.kernels] == ["k"]


@pytest.mark.parametrize(("start", "end"), [(-1, 0), (3, 2), (0, 10_000)])
def test_a_range_outside_of_the_text_is_wrong_use(start, end):
    with pytest.raises(ValueError, match="not a range"):
        OpenDocument(CODE, Language.CUDA).edit(start, end, b"")


EDITS = st.tuples(
    st.integers(0, 400),
    st.integers(0, 30),
    st.sampled_from([b"", b"{", b"}", b"x", b"\n", b"/*", b"*/", b'"', b"\xc3\xa4"]),
)


@settings(max_examples=60)
@given(edits=st.lists(EDITS, min_size=1, max_size=5))
def test_after_any_edits_it_is_as_if_read_afresh(edits):
    document = OpenDocument(CODE, Language.CUDA)
    for start, length, new in edits:
        start = min(start, len(document.data))
        document.edit(start, min(start + length, len(document.data)), new)
    fresh = read(document.data, Language.CUDA)
    source = document.source
    assert (source.kernels, source.launches, source.device_functions, source.problems) == (
        fresh.kernels,
        fresh.launches,
        fresh.device_functions,
        fresh.problems,
    )


def test_a_keystroke_in_a_long_file_is_cheap():
    function = (
        b"__global__ void k%d(float* x, int n) {\n" + b"    x[n] += twice(x[n] * 2.0f) + 1;\n" * 23 + b"}\n"
    )
    data = b"".join(function.replace(b"%d", str(i).encode()) for i in range(200))
    assert data.count(b"\n") == 5000
    document = OpenDocument(data, Language.CUDA)
    costs = []
    for i in range(9):
        place = data.index(b"+ 1;", len(data) * i // 10)
        start = time.process_time()
        document.edit(place, place, b"y")
        costs.append(time.process_time() - start)
    assert sorted(costs)[4] < 0.010
