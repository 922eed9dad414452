"""Python source as a tree."""

from __future__ import annotations

import gc

import pytest

from kernel_lineage.kernels.python_text import tree_of


@pytest.mark.parametrize("collects", [True, False])
@pytest.mark.parametrize(
    "text", [b"x = 1\n", b"x = (\n", b"x = '\0'\n"], ids=["parses", "broken", "null byte"]
)
def test_parsing_leaves_the_garbage_collector_as_it_was(text: bytes, collects: bool) -> None:
    before = gc.isenabled()
    try:
        (gc.enable if collects else gc.disable)()
        try:
            assert tree_of(text).body
        except (SyntaxError, ValueError):
            assert text != b"x = 1\n"
        assert gc.isenabled() is collects
    finally:
        (gc.enable if before else gc.disable)()
