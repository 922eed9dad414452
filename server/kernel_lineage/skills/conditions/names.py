"""The fixed names of facts, with type, unit and source: the one place where a new one is added.

A dimension or a scalar argument is named by itself (`C`) and needs no entry. Everything else that a condition may speak
of is in `facts.toml`; the parser, the renderer and the documentation read the same table.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

from kernel_lineage.code import types
from kernel_lineage.code.types import dtype_bytes
from kernel_lineage.kernels.words import WORD
from kernel_lineage.skills.conditions.fact_name import FactName
from kernel_lineage.skills.conditions.facts import FactSource

_FACTS = Path(__file__).with_name("facts.toml")

FACT_NAMES: Mapping[str, FactName] = {
    row["name"]: FactName.model_validate(row)
    for row in tomllib.loads(_FACTS.read_text(encoding="utf-8"))["fact"]
}

DTYPES: Mapping[str, int] = {
    name: dtype_bytes(name) for name in (*dict.fromkeys(types.DTYPES.values()), "complex64", "complex128")
}
"""The data types that a condition may name, and their size in bytes."""


def split_fact(name: str) -> tuple[str, tuple[str, ...]]:
    """`stride(x, 0)` → ("stride", ("x", "0")); a name without arguments gives an empty tuple."""
    head, _, rest = name.partition("(")
    return head, tuple(a.strip() for a in rest[:-1].split(",")) if rest else ()


def rename_fact(name: str, to: Mapping[str, str]) -> str:
    """The fact's name with all tensors and dimensions renamed at once: `noalias(a, b)` → `noalias(x, y)`.

    Names that `to` does not hold stay; dotted names (`launch.block.x`) and texts in quotes are never touched.
    """
    head, arguments = split_fact(name)
    if not arguments:
        return to.get(head, head)
    return f"{head}({', '.join(to.get(a, a) for a in arguments)})"


def declared(name: str) -> FactName | None:
    """The table's entry for a fact's name, with or without arguments; None for a dimension or scalar."""
    return FACT_NAMES.get(split_fact(name)[0])


def is_plain(name: str) -> bool:
    """Whether it can name a dimension, scalar or tensor: an identifier that is no data type."""
    return WORD.fullmatch(name) is not None and name not in DTYPES


_HINTS: Mapping[FactSource, str] = {
    FactSource.SYNTAX: "the source does not tell it; state it in the workload",
    FactSource.LAUNCH: "no launch site fixes it; state it in the workload's [launch]",
    FactSource.WORKLOAD: "state it in the workload",
    FactSource.DEVICE: "no device is at hand",
    FactSource.TOOLCHAIN: "no toolchain is at hand",
    FactSource.IMAGE: "the kernel has not been compiled",
    FactSource.PROFILE: "the kernel has not been profiled",
    FactSource.STATED: "state it",
}


def hint(name: str) -> str:
    """Where a missing fact would be told."""
    declaration = declared(name)
    return _HINTS[declaration.source if declaration is not None else FactSource.WORKLOAD]
