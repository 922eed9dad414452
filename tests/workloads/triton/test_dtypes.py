"""Dtypes of Triton host code, as PyTorch has them."""

import pytest

from kernel_lineage.workloads.triton.dtypes import promoted


@pytest.mark.parametrize(
    ("one", "other", "common"),
    [
        ("float16", "bfloat16", "float32"),
        ("float16", "float16", "float16"),
        ("bfloat16", "float32", "float32"),
        ("int64", "float16", "float16"),
        ("int32", "int64", None),
        ("int32", "int32", "int32"),
    ],
)
def test_types_are_promoted_as_by_torch(one: str, other: str, common: str | None) -> None:
    assert (promoted(one, other), promoted(other, one)) == (common, common)
