"""The constants of a CUDA C++ file: what is one, where its value ends, and which have one meaning."""

from __future__ import annotations

import pytest

from kernel_lineage.kernels.cuda_constants import constants_in, of_one_meaning, whole_numbers_in

FILE = b"""\
#define TILE 32 // threads
#define SQUARE(x) ((x) * (x))
#define EMPTY
// const int commented = 1;
static constexpr unsigned int BLOCKS = ceil_div(1024, TILE), ROWS = 4;
const float SCALE = 0.5f;
template <int A = 2> __global__ void k(const float* x, const int n = 5) {
    const int row = table<A, 3>[n];
    constexpr std::size_t inner = sizeof(float) *
        TILE;
}
"""


def test_values_end_at_their_own_commas_and_parameters_are_none() -> None:
    constants = {c.name: (c.value, c.line, c.is_outside, c.is_whole) for c in constants_in(FILE)}
    assert constants == {
        "TILE": ("32", 1, True, True),
        "BLOCKS": ("ceil_div(1024, TILE)", 5, True, True),
        "ROWS": ("4", 5, True, True),
        "SCALE": ("0.5f", 6, True, False),
        "row": ("table<A, 3>[n]", 8, False, True),
        "inner": ("sizeof(float) * TILE", 9, False, True),
    }
    assert "SCALE" not in whole_numbers_in(FILE)


@pytest.mark.parametrize(
    ("more", "value"),
    [
        (b"", "32"),
        (b"#define TILE 32\n", "32"),
        (b"#define TILE 64\n", None),
        (b"const int TILE = 8;\n", None),
    ],
)
def test_a_name_of_two_meanings_has_none(more: bytes, value: str | None) -> None:
    constant = of_one_meaning(constants_in(FILE + more)).get("TILE")
    assert (constant.value if constant is not None else None) == value
