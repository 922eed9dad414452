"""Which values of a parametrised test `make test` runs, and which wait for `make test-long`."""

from collections.abc import Iterable
from typing import Any

import pytest


def first_now(values: Iterable[Any], count: int = 1) -> list[Any]:
    """The values of a parametrised test: the first `count` as they are, the others marked `long`."""
    listed = list(values)
    return listed[:count] + [_long(value) for value in listed[count:]]


def _long(value: Any) -> Any:
    many = value if isinstance(value, tuple) else (value,)
    return pytest.param(*many, marks=pytest.mark.long)
