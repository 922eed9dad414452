"""A condition reads as a sentence."""

import pytest

from kernel_lineage.skills.conditions.names import FACT_NAMES
from kernel_lineage.skills.conditions.render import sentence


@pytest.mark.parametrize(
    ("expr", "says"),
    [
        ("C % 4 == 0", "C is a multiple of 4"),
        ("C % 4 != 0", "C is no multiple of 4"),
        ("align(x) >= 16", "x is aligned to at least 16 bytes"),
        ("dtype(x) == float32", "x holds float32"),
        ("dtype(x) in (float16, bfloat16, float32)", "x holds float16, bfloat16 or float32"),
        ("noalias(x, y)", "x and y do not overlap"),
        ("not noalias(x, y)", "x and y may overlap"),
        ("contiguous(x) and C >= 512", "x is contiguous and C is at least 512"),
        ("C > 4 or (N > 4 and M > 4)", "C is more than 4 or (N is more than 4 and M is more than 4)"),
        ("512 <= C", "C is at least 512"),
        ("not C > 4", "C is at most 4"),
        ("not (C > 4 and N > 4)", "it is not so that C is more than 4 and N is more than 4"),
        ("kernel.has('warp_shuffle')", "the kernel uses warp shuffle"),
        ("not kernel.has('warp_shuffle')", "the kernel does not use warp shuffle"),
        ("device.compute_capability >= (8, 0)", "the device's compute capability is at least 8.0"),
        ("device.compute_capability in ((8, 0), (9, 0))", "the device's compute capability is 8.0 or 9.0"),
        ("'H100' in device.name", 'the device\'s name contains "H100"'),
        ("range(x) <= 88", "every value of x is at most 88"),
        ("not range(x) <= 88", "it is not so that every value of x is at most 88"),
        ("C * itemsize(dtype(x)) % 16 == 0", "C × the size of x's elements is a multiple of 16"),
        ("B * T * C - 1 > (N + 1) * 2", "(B × T × C) − 1 is more than (N + 1) × 2"),
        ("is_power_of_2(launch.block.x)", "the block's size along x is a power of two"),
        ("HAS_BIAS or not FLAG", "HAS_BIAS is set or FLAG is not set"),
        ("stride(x, 1) == 1", "the stride of x along axis 1 is 1"),
    ],
)
def test_sentence(expr: str, says: str) -> None:
    assert sentence(expr) == says


@pytest.mark.parametrize("name", FACT_NAMES.values(), ids=lambda n: n.name)
def test_every_declared_name_has_words(name) -> None:
    expr = name.form if name.type == "truth value" else f"{name.form} == {name.form}"
    assert "(" not in sentence(expr) and "{" not in sentence(expr)
