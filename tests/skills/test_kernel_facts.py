"""Facts that the source alone gives."""

import pytest

from kernel_lineage.kernels.mechanisms.registry import mechanisms_of
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language
from kernel_lineage.skills.applicable import known_here
from kernel_lineage.skills.conditions.facts import Facts
from kernel_lineage.skills.conditions.stated import StatedFactError, stated_facts
from kernel_lineage.skills.kernel_facts import constant, launch_facts

CODE = """
#define TILE 32
#define WIDTH 8
#undef WIDTH
#define WIDTH 16
const int ROWS = 4;
__global__ void f(float* __restrict__ y, const float* __restrict__ x, double* z, int n, int C) {
    __shared__ float tile[TILE][TILE];
    y[threadIdx.x] = x[threadIdx.x] + n;
}
void small(float* y, const float* x, double* z, int n) {
    const int block = 4 * TILE;
    f<<<(n + 127) / 128, 128, 0>>>(y, x, z, n, 768);
}
void large(float* y, const float* x, double* z, int n) {
    int threads = 256;
    f<<<dim3(n, 2), threads>>>(y, x, z, n, 1024);
}
"""


def values(code: str, language: Language = Language.CUDA, stated: str = "") -> dict[str, tuple]:
    (kernel,) = read(code.encode(), language).kernels
    facts = known_here(kernel, stated_facts(stated, "stated"), mechanisms_of(kernel))
    return {name: facts.known[name].values for name in facts}


def test_types_promises_mechanisms_and_constants() -> None:
    facts = values(CODE)
    assert (
        facts["dtype(x)"] == ("float32",)
        and facts["dtype(z)"] == ("float64",)
        and facts["dtype(n)"] == ("int32",)
    )
    assert facts["noalias(y, x)"] == (True,) and "noalias(x, z)" not in facts
    assert facts['kernel.has("restrict_read_only")'] == (True,) and facts['kernel.has("warp_shuffle")'] == (
        False,
    )
    assert facts["TILE"] == (32,) and facts["ROWS"] == (4,)
    assert "WIDTH" not in facts


def test_every_launch_site_counts_and_what_one_leaves_open_is_not_known() -> None:
    facts = values(CODE)
    assert facts["launch.block.x"] == (128, 256) and facts["launch.block.y"] == (1,)
    assert facts["launch.shared_bytes"] == (0,)
    assert facts["C"] == (768, 1024)
    assert "launch.grid.x" not in facts and "n" not in facts


def test_the_launches_tell_the_numbers_of_a_template() -> None:
    code = """
template <typename T, int THREADS, bool WIDE> __global__ void f(T* y) { y[threadIdx.x] = T(THREADS); }
void run(float* y) { f<float, 64, true><<<1, 64>>>(y); f<float, 2 * 64, false><<<1, 128>>>(y); }
"""
    facts = values(code)
    assert facts["THREADS"] == (64, 128)
    assert "T" not in facts and "WIDE" not in facts


def test_a_pointer_apart_from_all_others_is_exclusive() -> None:
    assert "exclusive(x)" not in values(CODE)
    assert values(CODE, stated="noalias(x, z) = True")["exclusive(x)"] == (True,)
    assert values(CODE, stated="noalias(z, x) = False")["exclusive(x)"] == (False,)


TRITON = """
import triton
import triton.language as tl

@triton.jit
def f(y, x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n), mask=at < n)

def go(y, x, n):
    f[(triton.cdiv(n, 512),)](y, x, n, BLOCK=512, num_warps=8)
"""


def test_triton_s_options_and_defaults() -> None:
    facts = values(TRITON, Language.TRITON)
    assert (facts["launch.num_warps"], facts["launch.num_stages"], facts["BLOCK"]) == ((8,), (3,), (512,))
    tuned = TRITON.replace(
        "@triton.jit", '@triton.autotune(configs=[triton.Config({"BLOCK": 64})], key=["n"])\n@triton.jit'
    )
    assert "launch.num_warps" not in values(tuned, Language.TRITON)


def test_a_kernel_without_a_launch_says_nothing_of_it() -> None:
    (kernel,) = read(b"__global__ void f(int n) {}", Language.CUDA).kernels
    assert launch_facts(kernel) == Facts()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("256", 256),
        ("32 * 8u", 256),
        ("0x20", 32),
        ("(n + 7) / 8", None),
        ("block / 2", 64),
        ("1 << 5", 32),
        ("-(3 - 4)", 1),
        ("1 / 0", None),
        ("1 << 400", None),
        ("loop", None),
        ("f(3)", None),
        ("2.5", None),
        ("", None),
        ("(" * 300, None),
    ],
)
def test_constant_expressions(text: str, value: int | None) -> None:
    assert constant(text, {"block": "4 * tile", "tile": "32", "loop": "loop + 1"}) == value


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("C = 768 | 1024", "C", (768, 1024)),
        ("dtype(x) = float32, C = 1", "dtype(x)", ("float32",)),
        ("device.compute_capability = (9, 0), C = 1", "device.compute_capability", ((9, 0),)),
        ("noalias(x,y) = True", "noalias(x, y)", (True,)),
        ('kernel.has("warp_shuffle") = False', 'kernel.has("warp_shuffle")', (False,)),
        ("range(x) = (-1.5, 2)", "range(x)", ((-1.5, 2),)),
        ('device.name = "NVIDIA H200"', "device.name", ("NVIDIA H200",)),
        ("HAS_BIAS = True", "HAS_BIAS", (True,)),
    ],
)
def test_facts_can_be_stated(text: str, name: str, expected: tuple) -> None:
    assert stated_facts(text, "by me").known[name].values == expected


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("C", "states no value"),
        ("C = ", "is no value for C"),
        ("C = f()", "is no value for C"),
        ("align(x) = True", "a value of type number"),
        ("range(x) = 3", "a value of type interval"),
        ("dtype(x) = fp32", "is one of"),
        ("C + 1 = 3", "is no fact"),
        ("alignment(x) = 3", "is no declared function"),
        ("float32 = 3", "is no fact"),
    ],
)
def test_what_is_no_fact_is_refused(text: str, says: str) -> None:
    with pytest.raises(StatedFactError, match=says.replace("(", r"\(").replace(")", r"\)")):
        stated_facts(text, "by me")
