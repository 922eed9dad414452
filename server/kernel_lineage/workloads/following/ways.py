"""The ways of host code that come to a launch, followed again with the sizes that they keep."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial

from kernel_lineage.kernels.words import WORD
from kernel_lineage.workloads.device_size import MULTIPROCESSORS
from kernel_lineage.workloads.following.callers import Caller
from kernel_lineage.workloads.following.functions import HostCode
from kernel_lineage.workloads.following.launches import Launched
from kernel_lineage.workloads.following.sizes import (
    BLOCK_SIZES,
    EDGE_OF_THREADS,
    USUAL_THREADS,
    Sizes,
    asked_of_tensors,
    root_of,
)
from kernel_lineage.workloads.following.statements import Follower
from kernel_lineage.workloads.following.unit import Unit
from kernel_lineage.workloads.following.values import NotFollowed, Number
from kernel_lineage.workloads.promises import fitted_sizes

_ROUNDS = 4
_LIST = re.compile(r"\{\s*\d+\s*,")
"""How a list of numbers is written that a caller goes through."""


def way_to_launch(
    unit: Unit, kernel: str, leading: frozenset[str], entry: HostCode, block: int | None
) -> tuple[Launched, Sizes] | None:
    """The launch that a function comes to, with the numbers of threads of a later one that goes through several."""
    first = follow_way(unit, kernel, leading, entry, block)
    if first is None or first[1].blocks or not _LIST.search(unit.text):
        return first
    threads = [str(n.value) for n in first[0].block if isinstance(n, Number) and n.is_constant]
    several = follow_way(unit, kernel, leading, entry, block, passes=1)
    if several is None or not several[1].blocks:
        return first
    usual = next((int(t) for t in threads if int(t) in several[1].blocks), None)
    if block is not None or usual is None:
        return several
    first[1].blocks = (usual, *(n for n in sorted(several[1].blocks) if n != usual))
    return first


def follow_way(
    unit: Unit,
    kernel: str,
    leading: frozenset[str],
    entry: HostCode,
    block: int | None = None,
    passes: int = 0,
    *,
    with_literals: bool = False,
    with_typed: bool = False,
    compiled: Collection[str] = (),
    rounds: Collection[str] | None = (),
    caller: Caller | None = None,
    follower: type[Follower] = Follower,
) -> tuple[Launched, Sizes] | None:
    """The launch that a function comes to, with sizes that keep what is asked for on the way.

    `passes` launches are passed over. `with_literals`: numbers that are written at calls are dims; `compiled`: so are
    these macros and constants, which device code names too, and `rounds`: variables by which loops number launches, or
    None for all of them. `with_typed`: a program is run with a word that it asks for. `caller` gives the function its
    arguments. `follower` says where the way ends. A parameter by which the code chooses is one that leads to a launch.
    """
    look = partial(
        _follow,
        unit,
        kernel,
        leading,
        entry,
        block,
        passes,
        caller,
        follower,
        with_literals=with_literals,
        with_typed=with_typed,
        compiled=compiled,
        rounds=rounds,
    )
    way, sizes = look({})
    for chosen in sizes.other_choices() if sizes is not None else ():
        if way is not None and way[0].parts:
            break
        way = look(chosen)[0] or way
    return way


def _follow(
    unit: Unit,
    kernel: str,
    leading: frozenset[str],
    entry: HostCode,
    block: int | None,
    passes: int,
    caller: Caller | None,
    follower: type[Follower],
    chosen: Mapping[str, int],
    *,
    with_literals: bool,
    with_typed: bool,
    compiled: Collection[str],
    rounds: Collection[str] | None,
) -> tuple[tuple[Launched, Sizes] | None, Sizes | None]:
    """The same with some numbers for parameters by which the code chooses, and what was followed last."""
    asked = asked_of_tensors(entry)
    dims: Mapping[str, int] = {}
    same: dict[str, str] = {}
    threads: dict[str, bool] = {}
    usual: dict[str, int] = {}
    ones: set[tuple[str, int]] = set()
    result, sizes = None, None
    for _ in range(_ROUNDS):
        sizes = Sizes(
            dims,
            same,
            asked,
            threads=threads,
            usual_threads=usual,
            wanted_block=block,
            with_literals=with_literals,
            with_typed=with_typed,
            ones={*ones},
            compiled=compiled,
            rounds=rounds,
            chosen_by=chosen,
        )
        try:
            taken = caller.taken(sizes) if caller is not None else {}
        except NotFollowed:
            return result, sizes
        launch = follower(unit, sizes, kernel, leading, passes).follow(entry, taken)
        if launch is None:
            return result, sizes
        result = launch, sizes
        wider = {n: r for n, r in sizes.ranks.items() if r > asked.ranks.get(n, 0)}
        asked = replace(asked, ranks={**asked.ranks, **wider}, at_least=asked.at_least | wider.keys())
        broken = any(not condition.value for condition in sizes.promises.values())
        of_block = (one for part in launch.parts for one in threads_of(part, sizes).items())
        more = {n: is_of_block for n, is_of_block in of_block if n not in threads}
        copies = _copies_of_used(launch, sizes)
        is_more = bool(wider or more or copies or sizes.ones - ones)
        ones |= sizes.ones
        if not sizes.equal and not broken and not is_more:
            break
        for one, other in (*sizes.equal.items(), *copies.items()):
            _join(same, one, other, sizes.nameless)
        threads |= more
        usual |= dict.fromkeys(more, _usual_threads(launch, more))
        fitted = fitted_sizes(sizes.dims, tuple(sizes.promises))
        if not sizes.equal and not is_more and dict(fitted) == sizes.dims:
            break
        dims = {n: size for n, size in fitted.items() if n not in threads}
    return result, sizes


def templates_launched(unit: Unit, kernel: str) -> Iterator[tuple[str, ...]]:
    """What a kernel's template is launched with, as each function that is no template comes to the launch."""
    for leading, entry in unit.ways_to(kernel):
        way = follow_way(unit, kernel, leading, entry) if not entry.template else None
        if way is not None:
            yield way[0].template


def threads_of(launch: Launched, sizes: Sizes) -> dict[str, bool]:
    """The dims that are numbers of threads: told ones by which the block is written, and names that stand alone.

    What the kernel gets as a number is a size where the block is written with it and more: `min(heads * dim, 512)`.
    With each, whether the block is written with it, or a name says so of one that a caller goes through a list for.
    """
    names: set[str] = set()
    passed = {
        n for a in launch.arguments if isinstance(a.value, Number) for n in names_in_order(a.value.text)
    }
    for extent in launch.block:
        used = set(names_in_order(extent.text)) if isinstance(extent, Number) else set()
        of_code = sizes.dims.keys() - sizes.chosen.keys() - sizes.extents
        own = {n for n in used if n in sizes.lists or n in of_code}
        names |= own - passed if isinstance(extent, Number) and extent.text not in used else own
        names |= used & set(sizes.chosen) if isinstance(extent, Number) and extent.text in used else set()
    others = {n for n in names_used(launch) & set(sizes.lists) if n.lower() in BLOCK_SIZES}
    return {**dict.fromkeys(others, False), **dict.fromkeys(names - {MULTIPROCESSORS}, True)}


def _usual_threads(launch: Launched, names: Collection[str]) -> int:
    """How many threads along one axis each of some names is taken to be, beside the block's other extents."""
    extents = [e for e in launch.block if isinstance(e, Number)]
    others = math.prod(int(e.value) for e in extents if e.is_constant)
    if sum(e.text in names for e in extents) > 1:
        return EDGE_OF_THREADS
    return max(1, USUAL_THREADS // others)


def _copies_of_used(launch: Launched, sizes: Sizes) -> dict[str, str]:
    """Dims that are set to a number of a list which the launch depends on by itself as well: they are one."""
    used = names_used(launch)
    return {copy: listed for copy, listed in sizes.copies.items() if {copy, listed} <= used}


def names_used(launch: Launched) -> set[str]:
    """The names in the numbers of a launch."""
    return {name for number in launch.numbers for name in names_in_order(number.text)}


def _join(same: dict[str, str], one: str, other: str, nameless: set[str]) -> None:
    """Two dims that are one: the one whose name the code gives stays."""
    one, other = root_of(one, same), root_of(other, same)
    if one == other:
        return
    if other in nameless and one not in nameless:
        one, other = other, one
    same[one] = other


def names_in_order(text: str) -> list[str]:
    """The names in an expression."""
    return WORD.findall(text)
