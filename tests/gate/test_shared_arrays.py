"""An element of a shared array of several dimensions is named as the source writes it."""

import pytest

from gate.programs import affine, workload
from kernel_gate.build.unit import Unit
from kernel_gate.gate import judge
from kernel_gate.program import Program
from kernel_gate.shared_arrays import indices, shared_arrays

LINE = "if (i < n) y[i] = 2.0f * x[i] + 1.0f;"
TILE = """__shared__ float tile[2][PAD + 32];
    int row = threadIdx.x / 32, lane = threadIdx.x % 32, other = i ^ 32;
    tile[row][lane] = i < n ? x[i] : 0.0f;
    BARRIER
    if (other < n) y[other] = 2.0f * tile[row ^ 1 + AWAY][lane] + 1.0f;"""


def _reason(**changes: str) -> str:
    text = TILE
    for name, value in changes.items():
        text = text.replace(name, value)
    asked = workload(**{'kind = "output"': 'kind = "output"\nnoalias = true'})
    verdict = judge(affine(), affine(LINE, text.replace("PAD", "1")), asked, device="emulated")
    assert verdict.outcome == "rejected"
    return "; ".join(stage.reason for stage in verdict.stages)


def test_a_race_names_the_indices_of_its_element() -> None:
    reason = _reason(BARRIER="", AWAY="0")
    assert "race on shared tile[0][" in reason or "race on shared tile[1][" in reason, reason


def test_an_access_beyond_an_array_names_it_and_its_indices() -> None:
    reason = _reason(BARRIER="__syncthreads();", AWAY="8")
    assert "of shared `tile` (`tile[" in reason, reason
    assert "][0]`), which has 264" in reason


SOURCE = """
#define TILE 32
#define TWICE 1
#undef TWICE
#define TWICE 2
constexpr unsigned PAD = TILE / 32u, WIDE = 4;
template <typename T, int ROWS>
__global__ void rows(T* out) {
    __shared__ T tile[TILE][TILE + PAD], flat[64], parts[ROWS][2][3];
    // __shared__ float comment[1][2];
    __shared__ float left[sizeof(T)][2], open[TWICE][2];
}
__global__ void columns() { __shared__ int tile[16][16]; }
"""


def test_extents_are_those_of_macros_constants_and_template_arguments() -> None:
    program = Program("cuda", SOURCE, "rows", template_arguments=("float", "8"))
    assert shared_arrays(program, Unit()) == {
        "tile": frozenset({(32, 33), (16, 16)}),
        "parts": frozenset({(8, 2, 3)}),
    }
    other = shared_arrays(program, Unit(constexpr=(("TILE", 64),), entry="columns"))
    assert other["tile"] == frozenset({(64, 66), (16, 16)})
    assert "parts" not in other


@pytest.mark.parametrize(
    ("extents", "nbytes", "element", "where"),
    [
        ({(32, 33)}, 32 * 33 * 4, 33, (1, 0)),
        ({(32, 33)}, 32 * 33 * 4, 32 * 33 + 1, (32, 1)),
        ({(8, 2, 3)}, 8 * 2 * 3 * 4, 11, (1, 1, 2)),
        ({(32, 33), (32, 32)}, 32 * 32 * 4, 33, (1, 1)),  # one of two arrays of a name, by its bytes
        ({(32, 32), (16, 64)}, 32 * 32 * 4, 33, (33,)),
        ({(32, 33)}, 32 * 33 * 8, 33, (33,)),  # accesses of another type than the elements'
        (set(), 128, 5, (5,)),
    ],
)
def test_a_flat_number_is_split_where_the_rows_are_told(
    extents: set[tuple[int, ...]], nbytes: int, element: int, where: tuple[int, ...]
) -> None:
    assert indices(frozenset(extents), nbytes, element, 4) == where
