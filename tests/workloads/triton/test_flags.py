"""What else a parameter of Python host code may be than a draft takes it to be."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from kernel_lineage.workloads.triton.flags import other_values
from kernel_lineage.workloads.triton.host_modules import module_of


@pytest.mark.parametrize(
    ("body", "value", "others"),
    [
        ("pass", True, (False,)),
        ("if mode == 'a' or 'b' == mode: pass", "a", ("b",)),
        ("if mode in ('a', 'b', 'c'): pass", "a", ("b", "c")),
        ("match mode:\n        case 2: pass\n        case 3 | 4: pass", 2, (3, 4)),
        ("k[(1,)](x, KIND=mode)", 0, (7,)),
        ("k[(1,)](x, mode)", 0, (7,)),
        ("if mode == 2 and n == 3: pass", 2, ()),
        ("if mode == 'a': pass", None, ()),
    ],
)
def test_other_values(body: str, value: object, others: tuple[object, ...]) -> None:
    text = f"def k(x, KIND):\n    if KIND == 7:\n        pass\n\n\ndef f(x, mode, n):\n    {body}\n"
    assert other_values("mode", value, "f", module_of(Path("ops.py"), ast.parse(text))) == others
