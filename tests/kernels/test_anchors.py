"""Every anchor pattern matches its own examples, binds the names it declares, and refuses what it should."""

import importlib
from pathlib import Path

import pytest

from example_files import parts_in
from kernel_lineage.kernels import cuda
from kernel_lineage.kernels.anchors.registry import anchors, anchors_of
from kernel_lineage.kernels.reading import read

FOLDER = Path(__file__).parent / "anchors"
SHOWN = parts_in(FOLDER / "shown")
LOOK_ALIKES = parts_in(FOLDER / "look_alikes")


def matches(example):
    parsed = read(example.code.encode(), example.language)
    assert parsed.kernels
    return [a for kernel in parsed.kernels for a in anchors_of(kernel) if a.pattern == example.owner]


def named(part):
    return f"{part.owner}-{part.language}-{part.number}"


@pytest.mark.parametrize("example", SHOWN, ids=named)
def test_it_matches_and_binds_its_names(example):
    places = matches(example)
    assert places
    for anchor in places:
        assert set(anchor.bindings) <= set(anchors()[example.owner].names)
        assert all(anchor.bindings.values())
        assert anchor.detail
        assert 0 <= anchor.span.start < anchor.span.end <= len(example.code.encode())


@pytest.mark.parametrize("example", LOOK_ALIKES, ids=named)
def test_it_does_not_match_a_look_alike(example):
    assert matches(example) == []


@pytest.mark.parametrize("pattern", anchors().values(), ids=lambda p: p.id)
def test_every_declared_name_is_bound_by_some_example(pattern):
    bound = {
        name
        for example in SHOWN
        if example.owner == pattern.id
        for anchor in matches(example)
        for name in anchor.bindings
    }
    assert bound == set(pattern.names)


@pytest.mark.parametrize("pattern", anchors().values(), ids=lambda p: p.id)
def test_a_pattern_is_named_as_its_file_and_has_examples(pattern):
    module = importlib.import_module(f"kernel_lineage.kernels.anchors.{pattern.id}")
    assert module.PATTERN.find is pattern.find
    shown = [part for part in SHOWN if part.owner == pattern.id]
    assert len(shown) >= 2
    assert len([part for part in LOOK_ALIKES if part.owner == pattern.id]) >= 2
    assert {part.language for part in shown} == pattern.languages


def bindings(source, name):
    kernel = cuda.parse(source.encode()).kernels[0]
    return [dict(a.bindings) for a in anchors_of(kernel) if a.pattern == name]


def test_a_row_shared_by_a_block_binds_its_length():
    source = """
    __global__ void twice(float* out, const float* inp, int OC) {
        const float* x = inp + blockIdx.x * OC;
        for (int i = threadIdx.x; i < OC; i += blockDim.x) { out[blockIdx.x * OC + i] = 2.0f * x[i]; }
    }
    """
    assert bindings(source, "scalar_row_access") == [
        {"x": "out", "C": "OC", "index": "i"},
        {"x": "inp", "C": "OC", "index": "i"},
    ]


def test_a_tree_reduction_binds_what_a_rewrite_needs():
    source = """
    __global__ void best(float* out, const float* inp) {
        extern __shared__ float sdata[];
        int t = threadIdx.x;
        sdata[t] = inp[t];
        for (int s = blockDim.x / 2; s > 0; s /= 2) {
            __syncthreads();
            if (t < s) { sdata[t] = fmaxf(sdata[t], sdata[t + s]); }
        }
        if (t == 0) { out[0] = sdata[0]; }
    }
    """
    assert bindings(source, "shared_tree_reduction") == [
        {"tile": "sdata", "op": "max", "tid": "t", "n": "blockDim.x"}
    ]


def test_a_guard_on_two_axes_binds_the_rows_of_the_thread():
    source = """
    __global__ void linear(float* out, const float* inp, const float* w, int BT, int C, int OC) {
        int bt = blockIdx.x * blockDim.x + threadIdx.x, oc = blockIdx.y * blockDim.y + threadIdx.y;
        if (bt < BT && oc < OC) {
            float v = 0.0f;
            for (int i = 0; i < C; i++) { v += inp[bt * C + i] * w[oc * C + i]; }
            out[bt * OC + oc] = v;
        }
    }
    """
    assert [(b["N"], b["row"]) for b in bindings(source, "row_per_thread")] == [("BT", "bt")]


@pytest.mark.parametrize(
    ("guard", "rows"),
    [
        ("if (!(r < n)) return;", "n"),
        ("if (n > r)", "n"),
        ("if (!(n <= r || m == 0))", "n"),
        ("if (r < n || m == 0)", None),
        ("if (r >= n && m == 0) return;", None),
        ("if (r < n) return;", None),
    ],
)
def test_a_guard_tells_the_rows_where_it_holds_for_all_that_follow(guard, rows):
    source = f"""\
__global__ void k(float* y, const float* x, int n, int m) {{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    {guard} {{
        float s = 0;
        for (int i = 0; i < m; i++) s += x[r * m + i];
        y[r] = s;
    }}
}}
"""
    assert [b.get("N") for b in bindings(source, "row_per_thread")] == [rows]


def test_single_elements_beside_a_row_per_thread_are_not_worth_a_vector():
    source = """
    __global__ void mean(float* out, const float* inp, int N, int C) {
        int row = blockIdx.x * blockDim.x + threadIdx.x;
        if (row < N) {
            float s = 0.0f;
            for (int i = 0; i < C; i++) { s += inp[row * C + i]; }
            out[row] = s / C;
        }
    }
    """
    assert bindings(source, "scalar_row_access") == [{"x": "inp", "C": "C", "index": "i"}]


@pytest.mark.parametrize(
    ("index", "run"),
    [
        pytest.param("i", None, id="the index itself"),
        pytest.param("i % C", "C", id="a row for all"),
        pytest.param("rows[i / C] * C + i % C", "C", id="rows by number"),
        pytest.param("(i / C) * C + c", "C", id="through a variable"),
        pytest.param("i / C % N", None, id="the number of a row"),
        pytest.param("i % 64", None, id="a width that is written out"),
    ],
)
def test_how_much_lies_side_by_side_where_the_shared_index_is_taken_apart(index, run):
    code = f"""
        __global__ void take(float* out, const float* x, const int* rows, int N, int C) {{
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            int c = i % C;
            if (i < N * C) {{ out[i] = x[{index}]; }}
        }}
        """
    (kernel,) = cuda.parse(code.encode()).kernels
    by_name = {a.bindings["x"]: a for a in anchors_of(kernel) if a.pattern == "scalar_row_access"}
    assert "C" not in by_name["out"].bindings
    assert (by_name["x"].bindings.get("C") if "x" in by_name else None) == run
