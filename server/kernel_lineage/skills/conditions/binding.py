"""A skill's condition in a kernel's own names, as an anchor binds them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from kernel_lineage.skills.conditions.names import declared, is_plain, rename_fact
from kernel_lineage.skills.conditions.parse import ConditionError, parse_number
from kernel_lineage.skills.conditions.tree import Expr, FactRef, mapped, plain_names

_BUILTINS = {"blockDim": "launch.block", "gridDim": "launch.grid"}
_BUILTIN = re.compile(r"\b(blockDim|gridDim)(?=\.[xyz]\b)")
_DIVISION = re.compile(r"(?<!/)/(?!/)")
_ELEMENT = re.compile(r"\[[^\[\]]*\]$")
_SUFFIX = re.compile(r"\b(\d+)[uUlL]+\b")


def bind(tree: Expr, bindings: Mapping[str, str]) -> Expr:
    """The tree with a skill's names replaced by what an anchor bound them to, as written in the kernel.

    A dimension may be bound to a name, a number, `blockDim.x`, or arithmetic of these; a tensor to a name or an
    element. A name that is bound to nothing, or to what the language cannot say, is marked unbound: nothing is
    known of it, even when the kernel happens to use the same name for something else.
    """

    def replace(ref: FactRef) -> Expr:
        names = plain_names(ref.name)
        if declared(ref.name) is None:
            value = _value(bindings.get(ref.name, ""))
            return FactRef(ref.name, ref.type, bound=False, column=ref.column) if value is None else value
        tensors = {name: _tensor(bindings.get(name, "")) for name in names}
        if all(tensors.values()):
            return FactRef(rename_fact(ref.name, tensors), ref.type, column=ref.column)
        return FactRef(ref.name, ref.type, bound=False, column=ref.column)

    return mapped(tree, replace)


def _tensor(text: str) -> str:
    """The tensor that a binding names, by itself or by one of its elements (`x[i]`); "" when it is something else."""
    name = _ELEMENT.sub("", text.strip())
    return name if is_plain(name) else ""


@lru_cache(maxsize=4096)
def _value(text: str) -> Expr | None:
    """What a dimension is bound to. C++'s division is of integers, `blockDim` is the launch's."""
    text = _SUFFIX.sub(r"\1", _BUILTIN.sub(lambda m: _BUILTINS[m[1]], text.strip()))
    try:
        return parse_number(_DIVISION.sub("//", text.replace("warpSize", "32")))
    except ConditionError:
        return None
