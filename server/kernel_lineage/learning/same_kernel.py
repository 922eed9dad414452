"""Which kernel of a new state is which one of the old, where one has left its place: by its name, its text, its launch.

A gate must not lose a kernel because it was moved, renamed and rewritten at once. What shares a name is the same kernel
whatever its text has become; after that the likest texts are; after that what is launched where another one was.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from kernel_lineage.history.likeness import RENAMED_AT_LEAST
from kernel_lineage.history.similarity import Similarity
from kernel_lineage.kernels.source import Kernel, Language, Launch
from kernel_lineage.workloads.following.unit import unit_of
from kernel_lineage.workloads.triton.host_modules import module_of, names_in

Place = tuple[str, str]
"""A file and a kernel's name. Kernels of one file that share a name are one: they are judged, and change, together."""


def moved(gone: Sequence[Kernel], arrived: Sequence[Kernel]) -> Iterator[tuple[int, int]]:
    """Pairs of what went and what came, as positions in both: of one name first, then the likest texts."""
    texts = {str(i): kernel.text for i, kernel in enumerate([*gone, *arrived])}
    similarity = Similarity(texts.__getitem__)
    scored = []
    for i, one in enumerate(gone):
        for j, other in enumerate(arrived):
            if one.language is other.language:
                python = one.language is Language.TRITON
                score = similarity.ratio(str(i), str(len(gone) + j), python)
                if one.name == other.name or score >= RENAMED_AT_LEAST:
                    scored.append((one.name != other.name, -score, i, j))
    left, came = set(range(len(gone))), set(range(len(arrived)))
    for _other_name, _score, i, j in sorted(scored):
        if i in left and j in came:
            left.remove(i)
            came.remove(j)
            yield i, j


def replaced(
    old: Mapping[Place, Kernel], new: Mapping[Place, Kernel], free: Collection[Place]
) -> Iterator[tuple[Place, Place]]:
    """Pairs of a kernel that a host function launched, and the free one that it launches now with as many arguments.

    A host function that lets go of one kernel and takes up one has replaced it; where it takes up several, nothing
    says which of them does the work of the old one.
    """
    before, after = _launched(old), _launched(new)
    pairs: dict[tuple[Place, Place], None] = {}
    for launcher in sorted(before.keys() & after.keys()):
        lost, won = before[launcher], after[launcher]
        names = {old[place].name for place in lost}, {new[place].name for place in won}
        lost = [place for place in lost if old[place].name not in names[1]]
        won = [place for place in won if new[place].name not in names[0]]
        if len(lost) == len(won) == 1 and won[0] in free and _alike(old[lost[0]], new[won[0]], launcher):
            pairs[lost[0], won[0]] = None
    yield from pairs


def taken_over(
    old: Mapping[Place, Kernel], new: Mapping[Place, Kernel], gone: Collection[Place]
) -> Iterator[tuple[Place, Place]]:
    """Pairs of a kernel that went, and the first one that a host function which launched it has taken up since.

    Which of several does the work of the old one does not matter: the function is judged with all that it launches.
    Where no function is seen to take one up, it is the first one that came into the file and is launched.
    """
    before, after = _launched(old), _launched(new)
    pairs: dict[Place, Place] = {}
    for launcher in sorted(before.keys() & after.keys()):
        earlier = {old[place].name for place in before[launcher]}
        won = [place for place in after[launcher] if new[place].name not in earlier]
        for place in before[launcher] if won else ():
            if place in gone and new[won[0]].language is old[place].language:
                pairs.setdefault(place, won[0])
    names = {kernel.name for kernel in old.values()}
    came = [place for place, kernel in new.items() if kernel.launches and kernel.name not in names]
    for place in sorted(gone):
        there = [other for other in came if other[0] == place[0]]
        if there and old[place].launches:
            pairs.setdefault(place, there[0])
    yield from pairs.items()


def merged(
    old: Mapping[Place, Kernel], new: Mapping[Place, Kernel], pairs: Collection[tuple[Place, Place]]
) -> Iterator[tuple[Place, Place, str]]:
    """The kernels of a host function that launched several and launches others since, of which not one stands in
    the place of each: with each what it has become, or what the function launches now, and the function.

    Nothing says which kernel does the work of the old ones: only the function as a whole can be judged.
    """
    before, after, now = _launched(old), _launched(new), dict(pairs)
    for launcher in sorted(before.keys() & after.keys()):
        places, later = before[launcher], after[launcher]
        is_one_file = all(len({path for path, _ in those}) == 1 for those in (places, later))
        if not is_one_file or len(places) < 2:
            continue
        names = {new[place].name for place in later} | _words(launcher, new[later[0]])
        stands = {place: now[place] for place in places if now.get(place) in later}
        taken = [stands.get(place) for place in places if old[place].name not in names]
        earlier = {old[place].name for place in places}
        won = [place for place in later if new[place].name not in earlier]
        if taken and (None in taken or len({*taken}) < len(taken) or len(won) > len(taken)):
            yield from ((place, stands.get(place, later[0]), launcher) for place in places)


def _words(function: str, kernel: Kernel) -> frozenset[str]:
    """The names in a host function of a kernel's file: it may launch what is in another file by now."""
    source = kernel.source
    if source is None:
        return frozenset()
    if source.module is not None:
        tree = module_of(Path(), source.module).functions.get(function)
        return names_in(tree) if tree is not None else frozenset()
    functions = unit_of(source.data.decode("utf-8", "replace")).hosts(function)
    return frozenset().union(*(code.words for code in functions))


def _launched(kernels: Mapping[Place, Kernel]) -> dict[str, list[Place]]:
    """By the host function's name, what it launches."""
    by_launcher: dict[str, dict[Place, None]] = defaultdict(dict)
    for place, kernel in kernels.items():
        for launch in kernel.launches:
            if launcher := launcher_of(kernel, launch):
                by_launcher[launcher][place] = None
    return {launcher: list(places) for launcher, places in by_launcher.items()}


def launcher_of(kernel: Kernel, launch: Launch) -> str:
    """The host function that holds a launch of a kernel, a method as `Class::method`; "" for none."""
    source = kernel.source
    if launch.launcher or source is None or source.language is not Language.CUDA:
        return launch.launcher or ""
    return unit_of(source.data.decode("utf-8", "replace")).method_at(launch.span.start)


def _alike(one: Kernel, other: Kernel, launcher: str) -> bool:
    counts = [{len(x.arguments) for x in k.launches if launcher_of(k, x) == launcher} for k in (one, other)]
    return one.language is other.language and not counts[0].isdisjoint(counts[1])
