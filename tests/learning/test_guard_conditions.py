"""Guards as the code writes them, and the conditions that they say."""

import pytest

from kernel_lineage.learning.guard_conditions import category_of, condition_of
from kernel_lineage.skills.card import Category

PARAMETERS = {"C", "N", "n_cols", "x", "weight"}


@pytest.mark.parametrize(
    ("guard", "condition"),
    [
        ("C % 4 == 0", "C % 4 == 0"),
        ("(C & 3) == 0", "C % 4 == 0"),
        ("C % 4 == 0 && N >= 512", "C % 4 == 0 and N >= 512"),
        ("!(N > 8) || C == 1", "not (N > 8) or C == 1"),
        ("torch.cuda.get_device_capability()[0] >= 8", "device.compute_capability >= (8, 0)"),
        ("torch.cuda.get_device_capability(device) >= (9, 0)", "device.compute_capability >= (9, 0)"),
        ("x.is_contiguous()", "contiguous(x)"),
        ("x.dtype == torch.float32", "dtype(x) == float32"),
        ("blockDim.x % 32 == 0", "launch.block.x % 32 == 0"),
    ],
)
def test_a_guard_on_the_whole_launch_is_a_condition(guard, condition):
    assert condition_of(guard, PARAMETERS) == condition


@pytest.mark.parametrize(
    "guard",
    [
        "row < N",  # `row` is a thread's own
        "threadIdx.x < 32",
        "(C & 5) == 0",  # no modulus says this
        "cols < n_cols",
        "std::is_same<T, float>::value",
        "1 == 1",
        "",
    ],
)
def test_a_guard_on_a_thread_or_on_nothing_known_is_not(guard):
    assert condition_of(guard, PARAMETERS) is None


@pytest.mark.parametrize(
    ("condition", "category"),
    [
        ("C % 4 == 0", Category.SHAPE),
        ("device.compute_capability >= (8, 0) and C > 1", Category.HARDWARE),
        ("dtype(x) == float32", Category.DATA_TYPES),
        ("contiguous(x)", Category.LAYOUT),
        ("align(x) >= 16", Category.STORAGE),
        ("launch.block.x % 32 == 0", Category.PIPELINE),
    ],
)
def test_the_most_telling_fact_decides_the_category(condition, category):
    assert category_of(condition) is category
