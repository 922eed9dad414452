"""One dim in place of two that are always equal."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import count
from typing import TypeVar

from kernel_gate.compile_time import is_word
from kernel_lineage.workloads.model import Draft, View
from kernel_lineage.workloads.promises import equal_dims, says_nothing

T = TypeVar("T")
_OF_NUMBER = re.compile(r"d\d+|[A-Za-z]\w*_\d+")
"""Dims that are named for want of a name: `d40`, `x_0`."""


def is_named_for_want(dim: str) -> bool:
    """Whether no code has a name for a dim: it is called by its size, or by a tensor's axis."""
    return _OF_NUMBER.fullmatch(dim) is not None


def with_one_of_equals(draft: Draft) -> Draft:
    """The draft in which a dim that no code has a name for is the dim that every caller keeps equal to it."""
    for name in filter(is_named_for_want, draft.dims):
        equals = equal_dims(name, draft.promises) - {name}
        other = min(
            (d for d in draft.dims if d in equals and draft.dims[d] == draft.dims[name]),
            key=is_named_for_want,
            default=None,
        )
        if other is not None:
            draft = with_dim_as(draft, name, other)
    return draft


def with_names_apart(draft: Draft) -> Draft:
    """The draft in which no dim has the name of a scalar that is another number: `cols * 2` for an argument `cols`."""
    means = {a.name: str(a.value) for a in draft.arguments if a.kind == "scalar" and a.value is not None}
    taken = {*draft.dims, *(a.name for a in draft.arguments), *draft.constexpr}
    for name in [n for n in draft.dims if means.get(n, n) != n]:
        other = next(o for o in (f"{name}{'_' * k}" for k in count(1)) if o not in taken)
        taken.add(other)
        draft = with_dim_called(draft, name, other)
    return draft


def with_dim_called(draft: Draft, name: str, other: str) -> Draft:
    """The draft in which the dim `name` is called `other`."""
    word = re.compile(rf"\b{name}\b")

    def renamed(sizes: Mapping[str, T]) -> dict[str, T]:
        return {other if n == name else n: size for n, size in sizes.items()}

    return replace(
        in_new_names(draft, lambda text: word.sub(other, text)),
        dims=renamed(draft.dims),
        checked=renamed(draft.checked),
        told=renamed(draft.told),
        others=tuple(map(renamed, draft.others)),
        chosen=tuple(other if n == name else n for n in draft.chosen),
    )


def with_dim_as(draft: Draft, name: str, other: str, note: str = "") -> Draft:
    """The draft in which the dim `name` is the dim `other`; with a note, what was said of `name` makes room for it."""
    word = re.compile(rf"\b{name}\b")

    def renamed(text: str) -> str:
        return word.sub(other, text)

    dims, checked = ({n: s for n, s in sizes.items() if n != name} for sizes in (draft.dims, draft.checked))
    notes = [n for n in draft.assumed if n.split(" is ")[0] != name]
    draft = in_new_names(replace(draft, assumed=tuple(notes)), renamed)
    return replace(
        draft,
        dims=dims,
        checked=checked,
        chosen=tuple(n for n in draft.chosen if n != name),
        promises=tuple(p for p in dict.fromkeys(draft.promises) if not says_nothing(p)),
        assumed=(*draft.assumed, *([note] if note else [])),
    )


def in_new_names(draft: Draft, renamed: Callable[[str], str]) -> Draft:
    """The draft with the names in its expressions and notes replaced; its dims are as they were."""
    arguments = tuple(
        replace(
            a,
            shape=tuple(map(renamed, a.shape)) if a.shape is not None else None,
            value=renamed(a.value) if isinstance(a.value, str) else a.value,
            values=renamed(a.values),
            view=View(tuple(map(renamed, a.view.extents)), tuple(map(renamed, a.view.strides)))
            if a.view is not None
            else None,
        )
        for a in draft.arguments
    )
    warps, stages = (renamed(n) if isinstance(n, str) else n for n in (draft.num_warps, draft.num_stages))
    return replace(
        draft,
        arguments=arguments,
        grid=tuple(map(renamed, draft.grid)),
        block=tuple(map(renamed, draft.block)),
        shared_bytes=renamed(draft.shared_bytes),
        constexpr={n: t if is_word(t) else renamed(t) for n, t in draft.constexpr.items()},
        num_warps=warps,
        num_stages=stages,
        promises=tuple(map(renamed, draft.promises)),
        assumed=tuple(map(renamed, draft.assumed)),
    )
