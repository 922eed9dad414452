"""Other calls of a function that takes tensors: extents, layouts and numbers that no check asks for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from kernel_lineage.workloads.recording.call import MOST_RANK, Call, Parameter
from kernel_lineage.workloads.recording.compared import compared
from kernel_lineage.workloads.recording.failed import Asked

_LARGE = 1 << 16
_LENGTHS = (3, 1, 4)
_NAMED = re.compile(
    r"\b(\w+)\s*=\s*(?:\(\w+\)\s*|static_cast<\w+>\s*\(\s*)?(\w+)\s*(?:\.|->)\s*size\s*\(\s*(-?\d)\s*\)"
)
"""An extent that the code gives a name."""
_OF_EXTENTS = frozenset({"size", "sizes", "dim", "numel"})
_BESIDE = frozenset({"d", "g", "grad", "new", "next", "prev", "out", "in", "copy"})
"""What stands before or behind a tensor's name in that of one of the same shape: `dweight`, `grad_input`, `x_new`."""


def is_too_flat(call: Call, asked: Asked) -> bool:
    """Whether tensors of one extent may leave nothing to do: the code tells extents apart, as rows that it sums up."""
    sized, counted = ({t for t, what, _ in asked if what == word} for word in ("size", "numel"))
    apart = any(what == "dim" or (what == "size" and i > 0) for _, what, i in asked)
    # `x.numel() / x.size(-1)` counts rows.
    return call.is_flat and (apart or not sized.isdisjoint(counted))


def shaped(call: Call, asked: Asked) -> frozenset[str]:
    """The tensors of which the code checks the shape, or asks for the number of extents and for each of them.

    An extent that a checked shape has as well is told by that; a packed accessor has all of them.
    """
    tensors = [p.name for p in call.parameters if p.is_tensor and p.name not in call.absent]
    checked = {t for t, what, _ in asked if what in ("shape", "accessor")}
    ranked = {t for t, what, _ in asked if what == "dim"}
    axes = {(t, i) for t, what, i in asked if what == "size"}
    shared = {extent for t in tensors if t in checked for extent in call.shape(t)}

    def is_told(tensor: str) -> bool:
        return all((tensor, i) in axes or extent in shared for i, extent in enumerate(call.shape(tensor)))

    return frozenset(t for t in tensors if t in checked or (t in ranked and is_told(t)))


def unlike(call: Call, asked: Asked) -> list[str]:
    """The tensors whose extents no code asks for and that have others than the tensor that they are like."""
    return [t for t, other in _likenesses(call, asked).items() if call.shape(t) != call.shape(other)]


def with_alike(call: Call, asked: Asked) -> Call:
    """The call in which tensors whose extents no code asks for have those of the tensor that they are like."""
    pairs = _likenesses(call, asked)
    own = {f"{t}_size_{i}" for t in pairs for i in range(MOST_RANK)}
    ranks = {**call.ranks, **{t: call.ranks.get(other, 2) for t, other in pairs.items()}}
    same: dict[str, str] = {}
    heirs: dict[str, str] = {}
    for extent in (e for e in call.same if e not in own):
        root = call.root(extent)
        # What was equal to an extent that goes is equal to the first of those that stay.
        stands = heirs.setdefault(root, extent) if root in own else root
        if stands != extent:
            same[extent] = stands
    same |= {f"{t}_size_{i}": f"{other}_size_{i}" for t, other in pairs.items() for i in range(ranks[t])}
    fixed = {heirs.get(e, e): n for e, n in call.fixed.items() if e not in own or e in heirs}
    return replace(call, ranks=ranks, same=same, fixed=fixed)


def confused(call: Call) -> list[str]:
    """Extents that are taken to equal one for which the code has another name."""
    first: dict[str, str] = {}
    for extent, name in sorted(call.names.items(), key=lambda pair: pair[0] in call.same):
        first.setdefault(call.root(extent), name)
    return [e for e in call.same if call.names.get(e, first.get(call.root(e))) != first.get(call.root(e))]


def told_apart(call: Call) -> Iterator[Call]:
    """Calls in which extents that have different names are not equal: all of them, then one at a time."""
    mixed = confused(call)
    for some in dict.fromkeys((tuple(mixed), *((extent,) for extent in mixed))):
        if some:
            yield replace(call, same={e: other for e, other in call.same.items() if e not in some})


def as_before(parameters: tuple[Parameter, ...], before: Call) -> Call | None:
    """A call with tensors and numbers as those of the same names were in a call of another function; None for none."""
    shared = [p for p in parameters if p in before.parameters or (p.is_tensor and p.name in before.ranks)]
    tensors = [p.name for p in shared if p.is_tensor and p.name not in before.absent]
    if not tensors:
        return None
    same: dict[str, str] = {}
    heirs: dict[str, str] = {}
    for tensor in tensors:
        for place, root in enumerate(before.shape(tensor)):
            extent = f"{tensor}_size_{place}"
            if heirs.setdefault(root, extent) != extent:
                same[extent] = heirs[root]
    own = {heir: root for root, heir in heirs.items()}
    return Call(
        parameters,
        {t: before.ranks.get(t, 2) for t in tensors},
        {t: before.types.get(t, "float32") for t in tensors},
        numbers={p.name: before.numbers[p.name] for p in shared if p.name in before.numbers},
        absent=frozenset(p.name for p in shared if p.name in before.absent),
        same=same,
        fixed={heir: before.fixed[root] for heir, root in own.items() if root in before.fixed},
        multiple={heir: before.multiple[root] for heir, root in own.items() if root in before.multiple},
        names={heir: before.names[root] for heir, root in own.items() if root in before.names},
        inner={t: i for t, i in before.inner.items() if t in tensors},
    )


def form(call: Call, tensor: str) -> tuple[int | None, ...]:
    """A tensor's extents where checks ask a number of them, None for those that are free."""
    return tuple(call.fixed.get(extent) for extent in call.shape(tensor))


def strangers(call: Call, before: Call) -> int:
    """How many tensors have other extents than those of the same names in a call of another function."""
    both = [p.name for p in call.parameters if p.is_tensor and p.name in {b.name for b in before.parameters}]
    return sum(form(call, t) != form(before, t) for t in both)


def _likenesses(call: Call, asked: Asked) -> dict[str, str]:
    """Tensor whose extents no code asks for → the one whose name it has a part of, else the first that is asked."""
    with_extents = {tensor for tensor, what, _ in asked if what in _OF_EXTENTS}
    tensors = [p.name for p in call.parameters if p.is_tensor and p.name not in call.absent]
    asked_for = [t for t in tensors if t in with_extents]
    if not asked_for:
        return {}
    return {
        t: next((o for o in asked_for if _beside(t, o)), asked_for[0])
        for t in tensors
        if t not in with_extents
    }


def _beside(name: str, other: str) -> bool:
    name, other = name.strip("_").lower(), other.strip("_").lower()
    rests = [name.removesuffix(other)] if name.endswith(other) else []
    rests += [name.removeprefix(other)] if name.startswith(other) else []
    return any(rest.strip("_") in _BESIDE for rest in rests)


def layouts(call: Call, asked: Asked) -> Iterator[Call]:
    """Calls in which a tensor has another extent innermost, whose stride the code asks for."""
    for tensor, what, index in asked:
        rank = call.ranks.get(tensor, 2)
        if what == "stride" and 0 < index < rank - 1 and not call.inner and tensor not in call.absent:
            yield replace(call, inner={tensor: index})


def larger(call: Call) -> Iterator[Call]:
    """Calls in which one whole number is large: parts into which work is cut are few then."""
    for parameter in call.parameters:
        if parameter.kind == "i" and parameter.name not in call.numbers:
            yield replace(call, numbers={**call.numbers, parameter.name: _LARGE})


def modes(call: Call, text: str) -> Iterator[Call]:
    """Calls with one other number each, or extent, of those that say which kernel is launched.

    They are what a text compares them with.
    """
    for parameter in call.parameters:
        name = parameter.name
        if parameter.kind not in ("i", "b"):
            continue
        values = (0, 1) if parameter.kind == "b" else compared(name, text)
        now = call.numbers.get(name, 0 if parameter.kind == "b" else 1)
        yield from (replace(call, numbers={**call.numbers, name: value}) for value in values if value != now)
    values_now = call.values({})
    for extent, words in _words_for(call, text).items():
        for value in dict.fromkeys(n for word in words for n in compared(word, text)):
            if value > 0 and value != values_now[extent]:
                yield replace(call, fixed={**call.fixed, extent: value})


def _words_for(call: Call, text: str) -> dict[str, set[str]]:
    """Extent → the names that a text gives it: `const int columns = x.size(1)`."""
    by_extent: dict[str, set[str]] = {}
    for extent, name in call.names.items():
        by_extent.setdefault(call.root(extent), set()).add(name)
    for name, tensor, index in _NAMED.findall(text):
        rank = call.ranks.get(tensor, 0)
        if -rank <= int(index) < rank:
            by_extent.setdefault(call.root(f"{tensor}_size_{int(index) % rank}"), set()).add(name)
    present = call.values({})
    return {extent: words for extent, words in by_extent.items() if extent in present}


def others(call: Call) -> Iterator[Call]:
    """Calls with lists of other lengths, or with 0 for a number: where nothing is launched and no check says why."""
    for parameter in call.parameters:
        count = f"{parameter.name}_count"
        if parameter.kind[:1] == "v" and count not in call.numbers:
            yield from (replace(call, numbers={**call.numbers, count: length}) for length in _LENGTHS)
        elif parameter.kind == "i" and parameter.name not in call.numbers:
            yield replace(call, numbers={**call.numbers, parameter.name: 0})
