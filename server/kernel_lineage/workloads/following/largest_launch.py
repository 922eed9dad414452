"""The largest of the launches that a function comes to: a test runs a kernel at one row, then at thousands."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import inside
from kernel_lineage.workloads.device_size import MULTIPROCESSORS
from kernel_lineage.workloads.equal_dims import with_dim_called
from kernel_lineage.workloads.following.compiled_sizes import is_large
from kernel_lineage.workloads.following.functions import HostCode, words_in
from kernel_lineage.workloads.following.launches import Launched
from kernel_lineage.workloads.following.library import buffer_at
from kernel_lineage.workloads.following.names import Names
from kernel_lineage.workloads.following.sizes import LEAST_DIM, Asked, Sizes
from kernel_lineage.workloads.following.statements import ROUNDS, Follower
from kernel_lineage.workloads.following.unit import Unit
from kernel_lineage.workloads.following.values import Number, Opaque, Tensor, Value, plain
from kernel_lineage.workloads.following.ways import follow_way
from kernel_lineage.workloads.model import Draft
from kernel_lineage.workloads.same_arguments import sizes_as_in

_MOST_TIMED = 1 << 33
"""Bytes, or threads, of a launch that is timed."""
_TIMES = 8
"""Times the work of the first launch that says something new, of counters that overflow and of long loops."""

Drafted = Callable[[Launched, Sizes], Draft]
Way = tuple[frozenset[str], HostCode]
"""The names by which a kernel is launched, and a function that does."""


def draft_by_sizes(
    draft: Draft,
    unit: Unit,
    kernel: str,
    leading: frozenset[str],
    entry: HostCode,
    drafted: Drafted,
    block: int | None = None,
) -> Draft:
    """The draft of the largest launch of a function, with the sizes of its first one; `draft`, that of the first, where
    it is as large.

    Sizes are written at calls, `run(make_shape(32, 224, 224))`, where `draft` has no dims. `drafted` gives the draft of
    a launch that was followed.
    """
    look = partial(follow_way, unit, kernel, leading, entry, block)
    literally = not draft.dims.keys() - {MULTIPROCESSORS} or is_large(draft)
    first = look(with_literals=True) if literally else None
    if first is not None and len((sized := drafted(*first)).missing) <= len(draft.missing):
        draft = sized
    works = {
        (is_typed, at): work
        for is_typed in ((False, True) if entry.name == "main" and "argv" in unit.text else (False,))
        for at, work in enumerate(works_of(unit, kernel, leading, entry, literally, is_typed))
    }
    of_first = works.get((False, 0), 0)
    timed = (way for way, work in works.items() if work <= _MOST_TIMED)
    is_typed, at = max(timed, key=works.__getitem__, default=(False, 0))
    if not at and not is_typed:
        return draft
    launch = look(passes=at, with_literals=literally, with_typed=is_typed, follower=_Past)
    if launch is None:
        return draft
    large = _in_own_names(drafted(*launch), launch[1].apart)
    more = len(large.dims) - len(draft.dims)
    is_larger = works[is_typed, at] >= _TIMES * of_first
    if (
        len(large.missing) > len(draft.missing)
        or len(large.chosen) > len(draft.chosen)
        or more < 0
        or not (more or is_larger)
    ):
        return draft
    sizes = sizes_as_in(large, draft)
    return replace(large, others=(sizes,) if sizes is not None else ())


def in_order(ways: Sequence[Way], unit: Unit, kernel: str) -> list[Way]:
    """The ways to a kernel: a program's before others, templates last; of several tests the one with the most work
    first.
    """
    tests = [way for way in ways if not any(p.name for p in way[1].parameters)]
    works = {
        entry.node.id: max(works_of(unit, kernel, leading, entry, literally=True), default=0)
        for leading, entry in (tests if len(tests) > 1 else [])
    }

    def rank(way: Way) -> tuple[bool, bool, int]:
        return way[1].name != "main", bool(way[1].template), -works.get(way[1].node.id, 0)

    return sorted(ways, key=rank)


def works_of(
    unit: Unit,
    kernel: str,
    leading: frozenset[str],
    entry: HostCode,
    literally: bool = False,
    is_typed: bool = False,
) -> list[int]:
    """How much each launch of a function works on, in the order in which it comes to them, as far as it is followed."""
    sizes = Sizes({}, {}, Asked({}, {}), with_literals=literally, with_typed=is_typed)
    follower = Every(unit, sizes, kernel, leading)
    follower.follow(entry)
    return follower.works


def _in_own_names(draft: Draft, apart: Mapping[str, str]) -> Draft:
    """The draft in which dims have the names that the code gives them, where no other dim has those."""
    for name, own in apart.items():
        if name in draft.dims and own not in draft.dims:
            draft = with_dim_called(draft, name, own)
    return draft


class _Past(Follower):
    """Follows a function past launches, through all rounds of the loops that lead to them.

    What is done with their results is not followed: a reference on the host takes many steps, and tells no sizes.
    """

    rounds_to_launch = ROUNDS

    def __init__(
        self, unit: Unit, sizes: Sizes, kernel: str, leading: frozenset[str], passes: int = 0
    ) -> None:
        super().__init__(unit, sizes, kernel, leading, passes)
        self._is_past = False

    def _reached(self, launch: Launched) -> Value:
        self._is_past = True
        return super()._reached(launch)

    def loop(self, node: Node, condition: Node | None, update: Node | None, names: Names) -> None:
        body = node.child_by_field_name("body")
        if self.leads(body):
            self._all_rounds(body, condition, update, names)
        elif not self._is_past:
            super().loop(node, condition, update, names)
        elif body is not None and not self.fills(body, condition, names):
            self.forget(body, names)

    def _all_rounds(
        self, body: Node | None, condition: Node | None, update: Node | None, names: Names
    ) -> None:
        """Each round of a loop; the variables by which it counts are dims in it, but for those that number elements."""
        counts = {n for n, v in names.values.items() if isinstance(v, Number) and v.whole}
        counts -= _numbering(body)
        for name in counts:
            names.values[name] = _as_number(names.values[name])
        for _ in range(ROUNDS):
            test = self.either(condition, names)
            if isinstance(test, Number) and not test.value:
                return
            before = {name: names.values[name] for name in counts}
            for name, value in before.items():
                if isinstance(value, Number) and value.value >= LEAST_DIM:
                    names.values[name] = self.sizes.dim_in_code(name, int(value.value), self.function)
            if not self._round(body, names):
                return
            names.values.update({n: v for n, v in before.items() if _is_dim(names.values[n])})
            self.either(update, names)

    def inlined(
        self, function: HostCode, nodes: list[Node], template: tuple[str, ...], names: Names, called: str = ""
    ) -> Value:
        value = super().inlined(function, nodes, template, names, called)
        # Whether a test has passed is not followed: its next one is run in any case.
        is_result = isinstance(value, Number) and function.name in self.leading
        return Opaque(f"what {function.name} gives") if is_result else value

    def operated(self, operator: str, left: Value, right: Value, written: str) -> Value:
        for side in (left, right):
            if isinstance(side, Opaque):
                return side  # as in `check(1) + check(1000)`, whose third call is reached as well
        return super().operated(operator, left, right, written)

    def _unary_expression(self, node: Node, names: Names) -> Value:
        argument = node.child_by_field_name("argument")
        return (
            self.either(argument, names) if self.leads(argument) else super()._unary_expression(node, names)
        )


class Every(_Past):
    """Follows a function past all of its launches."""

    def __init__(self, unit: Unit, sizes: Sizes, kernel: str, leading: frozenset[str]) -> None:
        super().__init__(unit, sizes, kernel, leading)
        self.works: list[int] = []

    def _reached(self, launch: Launched) -> Value:
        self._is_past = True
        self.works.append(_work(launch))
        return plain(0)


def _numbering(body: Node | None) -> frozenset[str]:
    """The names by which elements are numbered: `i` of `cases[i]`."""
    nodes = [body, *inside(body)] if body is not None else []
    indices = (n for n in nodes if n.type == "subscript_argument_list")
    return frozenset().union(*map(words_in, indices))


def _as_number(value: Value) -> Value:
    """A number over dims as it is."""
    return plain(value.value) if isinstance(value, Number) else value


def _is_dim(value: Value) -> bool:
    """Whether a value is a dim alone, as no statement of a round has left it otherwise."""
    return isinstance(value, Number) and value.text.isidentifier()


def _work(launch: Launched) -> int:
    """The bytes of a launch's buffers; where no code tells them its threads, or the product of its numbers."""
    values = [a.value for a in launch.arguments]
    buffers = {b for v in values if not isinstance(v, Tensor) and (b := buffer_at(v)) is not None}
    nbytes = sum(int(b.size.value) for b in buffers if b.size is not None)
    threads = math.prod(int(n.value) for n in (*launch.grid, *launch.block) if isinstance(n, Number))
    numbers = (n.value for n in values if isinstance(n, Number) and n.whole and n.value > 0)
    return nbytes or (threads if threads > 1 else math.prod(map(int, numbers)))
