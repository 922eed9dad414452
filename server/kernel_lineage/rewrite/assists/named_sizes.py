"""Sizes that are compiled into a kernel, read by their names: another build may give them other values."""

from __future__ import annotations

import re
from collections.abc import Callable, Set
from typing import TypeVar

from kernel_gate.reaching import reachable
from kernel_lineage.code.cuda.names import names_of
from kernel_lineage.code.cuda.read import read_open
from kernel_lineage.code.model import Model
from kernel_lineage.kernels.cuda_constants import whole_numbers_in
from kernel_lineage.kernels.cuda_expressions import identifiers_in
from kernel_lineage.kernels.cuda_forms import above, text_of
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.words import WORD
from kernel_lineage.rewrite.assists.layout import data_of, source_of, syntax_of
from kernel_lineage.rewrite.assists.model import Refusal, attempt
from kernel_lineage.skills.kernel_facts import constant

_T = TypeVar("_T")
_ONE_OPERAND = re.compile(r"\s*(?:\w+|\([^()]*\))\s*")
"""A macro's body that means the same in any expression: a number, or something in brackets."""


def named_sizes(kernel: Kernel) -> frozenset[str]:
    """The macros and constants of a kernel's file that stand for positive whole numbers, but for those that are made of
    others, and those that tell the extents of blocks: a rewrite chooses its blocks by their numbers.
    """
    source = source_of(kernel)
    key = f"named sizes {kernel.span.start}"
    kept = source.derived.get(key)
    if not isinstance(kept, frozenset):
        kept = source.derived[key] = _named_sizes(kernel)
    return kept


def by_names(kernel: Kernel, make: Callable[[Model], _T]) -> _T:
    """What is made of a kernel in which sizes have their names; where that is refused, of one with their numbers.

    Raises the `Refusal` of the latter.
    """
    named = named_sizes(kernel)
    made = attempt(lambda: make(read_open(kernel, named=named))) if named else Refusal("no size has a name")
    return make(read_open(kernel)) if isinstance(made, Refusal) else made


def _named_sizes(kernel: Kernel) -> frozenset[str]:
    numbers = {name: one.value for name, one in whole_numbers_in(data_of(kernel)).items()}
    sizes = {n for n in numbers if (constant(n, numbers) or 0) > 0 and _is_outside(kernel, n)}
    of_blocks = {w for x in kernel.launches for w in _reached(x.block, {**numbers, **x.definitions})}
    syntax = syntax_of(kernel)
    declared = {p.name for p in kernel.parameters} | {v.name for v in syntax.entry.variables}
    made = {n for n in sizes if sizes & set(WORD.findall(numbers[n]))}
    reached = _reached(tuple(identifiers_in(syntax.entry.node)), _bodies(kernel) | numbers)
    return frozenset((sizes & reached) - of_blocks - declared - made)


def _bodies(kernel: Kernel) -> dict[str, str]:
    """What macros and device functions of the kernel's file are made of, by their names."""
    names = names_of(source_of(kernel))
    functions = {n: " ".join(map(text_of, nodes)) for n, nodes in names.functions.items()}
    return functions | {n: m.body for n, m in names.macros.items()}


def _reached(texts: tuple[str, ...], bodies: dict[str, str]) -> Set[str]:
    """The words in texts, and in what these words are made of."""
    return reachable(WORD.findall(" ".join(texts)), lambda name: WORD.findall(bodies.get(name, "")))


def _is_outside(kernel: Kernel, name: str) -> bool:
    """Whether a name stands for one macro that is one operand, or for one constant outside of functions that a kernel
    and its launches see.
    """
    names = names_of(source_of(kernel))
    macro, value = names.macros.get(name), names.constants.get(name)
    if macro is not None:
        return macro.parameters is None and value is None and _ONE_OPERAND.fullmatch(macro.body) is not None
    if value is None:
        return False
    users = [kernel.span.start, *(launch.span.start for launch in kernel.launches)]
    around = [n for n in above(value) if n.type == "namespace_definition" and n.child_by_field_name("name")]
    return all(n.start_byte <= user < n.end_byte for n in around for user in users)
