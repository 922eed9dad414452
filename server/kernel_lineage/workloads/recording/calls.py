"""The functions of a PyTorch extension, called with tensors until they launch; failed checks say what to change."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kernel_gate.deadline import seconds_left
from kernel_lineage.workloads.device_size import MULTIPROCESSORS, USUAL
from kernel_lineage.workloads.following.unit import Unit
from kernel_lineage.workloads.recording.answers import Answer, lines_of, outcomes
from kernel_lineage.workloads.recording.build import Built, HostBuildError, built
from kernel_lineage.workloads.recording.call import Call
from kernel_lineage.workloads.recording.entries import Entry, entries_of, registered, starts_of
from kernel_lineage.workloads.recording.failed import Asked, asked_in
from kernel_lineage.workloads.recording.launches import Launch
from kernel_lineage.workloads.recording.likeness import (
    as_before,
    confused,
    form,
    is_too_flat,
    larger,
    layouts,
    modes,
    others,
    shaped,
    strangers,
    told_apart,
    unlike,
    with_alike,
)
from kernel_lineage.workloads.recording.mains import Program
from kernel_lineage.workloads.recording.mending import mended_at_once
from kernel_lineage.workloads.recording.runs import Run, run
from kernel_lineage.workloads.recording.series import Series

_SECONDS = 10.0
"""The limit of one batch of calls."""
_ALL_SECONDS = 30.0
"""The time for finding calls, for all functions of a file."""
_MOST_SECONDS = 60.0
"""The same where each function has its least time."""
_ROUNDS = 24
_WIDEST = 24
"""Calls that are tried at once."""
_ROUNDS_AFTER = 4
"""Rounds that follow the first call that launches something."""
_OPTIONS = 6
_MODED = 4
"""Calls that launch something of which the other modes are tried."""
_MOST_CALLS = 8
_ANY, _STEPS = 5, (8, 32)
"""What is added to a size: a number that it need not be a multiple of, and some that it may have to be one of."""
_FAR = 11 << 7
"""What is added to an extent so that its elements take more than one block, whatever a block's threads."""
_LARGE = 40
"""A size for whole numbers that no code tells."""
_MOST_SAID = 600
_TABLE = 512
"""Bytes of a structure that holds arrays, as of what each block has to do."""
_FIRST = (0, 0, 0)
"""The rank of what is tried beside a call that no check failed in."""


def search_of(
    text: str,
    place: Path,
    unit: Unit,
    root: Path,
    folder: Path,
    more: Sequence[Path],
    numbers: Mapping[str, float],
) -> Search:
    """A search for launches in what a text, and `more` sources that call it, offer to Python; it is built in `folder`.

    `numbers` are those that Python gives to parameters, by their names. Raises `RecordingError`.
    """
    ending = "\n#undef exit\n#undef abort\nint main() { return klineage::listen(); }\n"
    front = '#include "pytorch/all.h"\n#line 1\n'
    own = registered(unit, text)
    first = folder / "entries"
    first.mkdir()
    try:
        program = built(f"{front}{text}\n{own}{ending}", place, root, first, more, computes=False)
    except HostBuildError:
        if not own:
            raise
        second = folder / "bound"
        second.mkdir()
        program = built(f"{front}{text}\n{ending}", place, root, second, more, computes=False)
    where = folder / "runs"
    where.mkdir()
    return Search(program, where, root, place.resolve().parent, unit, numbers)


@dataclass(slots=True, weakref_slot=True)
class Search:
    """A built extension, whose functions are called until they launch."""

    program: Built
    folder: Path
    root: Path
    cwd: Path
    unit: Unit
    numbers: Mapping[str, float]
    """Parameter → the number that callers give it."""
    forms: dict[str, tuple[int | None, ...]] = field(default_factory=dict)
    """Tensor → its extents where the code of some function tells its shape: others mean the same by its name."""
    was_cut: bool = False
    """Whether a run was ended by something else than itself."""
    _entries: list[Entry] | None = None
    """The functions that were not called; None before they are listed."""
    _by_kernel: dict[tuple[str, bool], Series] = field(default_factory=dict)
    _accepted_before: list[Call] = field(default_factory=list)
    _why: list[str] = field(default_factory=list)

    def until(self, kernel: str) -> Program:
        """The series of all functions that come to a launch.

        Under a deadline those that lead to this kernel are called first; once one has launched it, the others are left
        for the next time.
        """
        if self._entries is None:
            self._entries = self._listed()
        begun, is_waited_for = time.monotonic(), seconds_left() < math.inf
        first = _before_others(self._entries, kernel) if is_waited_for else []
        waiting = [*first, *(e for e in self._entries if e not in first)]
        leading = len(first) or sum(bool(e.kernels) for e in waiting) or len(waiting)
        for place, entry in enumerate(waiting):
            launched = {s.first.name.rsplit("::", 1)[-1] for s in self._by_kernel.values()}
            if is_waited_for and (kernel in launched or not seconds_left()):
                break
            if time.monotonic() > begun + _MOST_SECONDS:
                self._why.append(f"{len(waiting) - place} functions were not called: the time was up")
                self._entries = []
                break
            self._entries.remove(entry)
            # One whose code is read and leads to no kernel, or to those that were seen, brings nothing new.
            is_read = bool(entry.kernels) or entry.function is not None
            if launched and (entry.kernels if is_read else self.unit.kernels) <= launched:
                continue
            left = (begun + _ALL_SECONDS - time.monotonic()) / max(1, leading - place)
            self._call(entry, time.monotonic() + max(left, 2.0))
        why = "; ".join((*self.program.without, *self._why))[:_MOST_SAID]
        return Program(tuple(self._by_kernel.values()), why, not self.was_cut, is_finished=not self._entries)

    def _listed(self) -> list[Entry]:
        """The functions that can be called."""
        (listing,) = run(self.program, [Run({}, seconds=_SECONDS)], self.folder, self.root, self.cwd)
        entries = entries_of(listing.output, self.unit)
        taken = {p.name for e in entries for p in e.parameters if p.kind in ("i", "f", "oi", "of")}
        self.numbers = {name: number for name, number in self.numbers.items() if name in taken}
        if not entries:
            self._why.append("no function that takes tensors is bound or stands there")
        return entries

    def _call(self, entry: Entry, end: float) -> None:
        """Call a function until the end, and keep the series of what it launches."""
        calls, message = self._accepted(entry, self._accepted_before, end)
        self._accepted_before += (call for call, _, _ in calls)
        for is_large, (call, kernels, asked) in ((is_large, c) for is_large in (False, True) for c in calls):
            if all((kernel, is_large) in self._by_kernel for kernel in kernels):
                self._remember(call, shaped(call, asked))
                continue
            for series in self._varied(entry, call, is_large):
                self._by_kernel.setdefault((series.first.kernel, is_large), series)
        if message:
            self._why.append(f"{entry.name}: {message}")

    def _accepted(
        self, entry: Entry, before: Sequence[Call], end: float
    ) -> tuple[list[tuple[Call, set[str], Asked]], str]:
        """Calls that came back, what they launched and asked, each kernel by one; and what the last that failed said.

        `before` are those of other functions: what tensors of the same names were there, they are tried as here.
        """
        starts = (as_before(entry.parameters, call) for call in reversed(before))
        waiting, tried = [*filter(None, starts), *starts_of(entry, self.numbers)], set[str]()
        elsewhere = [(p.name, "sizes", 0) for call in before for p in call.parameters if p.is_tensor]
        good: list[tuple[Call, set[str], Asked, tuple[int, bool, int, int, int]]] = []
        message, after, idle = "", 0, False
        for _ in range(_ROUNDS):
            batch: list[Call] = []
            while waiting and len(batch) < _WIDEST:
                call = waiting.pop(0)
                if (line := call.line({})) not in tried:
                    tried.add(line)
                    batch.append(call)
            if not batch or time.monotonic() > end or after > _ROUNDS_AFTER:
                break
            after += bool(good) or idle
            ((launched, answers),) = self._run(entry, [(call, {}) for call in batch])
            more: list[tuple[tuple[int, int, int], list[Call]]] = []
            for call, launches, answer in zip(batch, launched, answers, strict=True):
                idle |= answer.is_done
                if answer.is_done and launches:
                    own = asked_in(" ".join(answer.end[1:2]))
                    asked = (*own, *elsewhere)
                    filled = max(map(_filled, launches))
                    strange = min((strangers(call, other) for other in before), default=0)
                    likeness = (len(unlike(call, asked)), len(confused(call)))
                    order = (strange, is_too_flat(call, asked), *likeness, filled)
                    good.append((call, {one.kernel for one in launches}, own, order))
                    unlike_these = [with_alike(call, asked), *told_apart(call), *layouts(call, asked)]
                    more.append((_FIRST, unlike_these[:_OPTIONS]))
                    if filled:
                        more.append((_FIRST, list(larger(call))[:_OPTIONS]))
                    if len(good) <= _MODED:
                        more.append((_FIRST, list(modes(call, self.unit.text))[:_WIDEST]))
                elif not answer.is_done:
                    message = answer.message or message
                if not answer.failed and (answer.end[:1] == ["signal"] or (answer.is_done and not launches)):
                    more.append((_FIRST, list(others(call))[:_OPTIONS]))
                if answer.failed:
                    options = list(mended_at_once(call, answer.failed, self.unit.text, _OPTIONS))
                    more.append((answer.rank, [*options, *layouts(call, answer.failed[0].asked[-2:])]))
            # Calls that came furthest come first, and of these what each says first.
            lists = [options for _, options in sorted(more, key=lambda one: one[0])]
            widest = max(map(len, lists), default=0)
            waiting = [options[i] for i in range(widest) for options in lists if i < len(options)] + waiting
        chosen: list[tuple[Call, set[str], Asked]] = []
        seen: set[str] = set()
        # Of calls that launch the same, the plainest one counts, and of these the one that leaves the most sizes free.
        for call, kernels, own, _ in sorted(good, key=lambda c: (c[3], c[0].extents, -len(c[0].sizes))):
            if kernels - seen and len(chosen) < _MOST_CALLS:
                chosen.append((call, kernels, own))
                seen |= kernels
        return chosen, "" if chosen else message or "it launches nothing"

    def _remember(self, call: Call, tensors: Iterable[str]) -> None:
        """Keep the extents of tensors whose shape the code tells, for other functions that have them."""
        self.forms |= {t: form(call, t) for t in tensors if t not in self.forms}

    def _run(
        self,
        entry: Entry,
        calls: Sequence[tuple[Call, Mapping[str, int]]],
        *others: tuple[Mapping[str, int], Sequence[tuple[Call, Mapping[str, int]]]],
    ) -> list[tuple[list[list[Launch]], list[Answer]]]:
        """What some calls launched and how each ended; after them `others`, which have sizes of their own."""
        batches = [({}, calls), *others]
        runs = [
            Run(sizes, seconds=_SECONDS, calls="".join(lines_of(entry, several)))
            for sizes, several in batches
        ]
        ended = run(self.program, runs, self.folder, self.root, self.cwd)
        self.was_cut |= any(one.was_cut for one in ended)
        return [outcomes(one, len(several)) for one, (_, several) in zip(ended, batches, strict=True)]

    def _varied(self, entry: Entry, call: Call, is_large: bool) -> list[Series]:
        """The launches of a call at several sizes; with `is_large`, at larger numbers than 1, if it has some."""
        whole = [
            p.name
            for p in entry.parameters
            if p.kind in ("i", "oi") and p.name not in call.absent and p.name not in call.numbers
        ]
        if is_large and not whole:
            return []
        start = {n: _LARGE + 8 * i if is_large else 1 for i, n in enumerate(whole)}
        base = {**call.sizes, **start}
        changes: list[dict[str, int]] = [{}]
        for name, value in base.items():
            steps = (_ANY, *_STEPS, *([_FAR] if name in call.sizes else []))
            changes += [{name: 2 * value}, *({name: value + step} for step in steps)]
        changes.append({n: v + 32 * (i + 1) for i, (n, v) in enumerate(base.items()) if v > 1})
        counts = (2 * USUAL, USUAL + 5)
        (launches, answers), *devices = self._run(
            entry,
            [(call, {**start, **change}) for change in changes],
            *(({MULTIPROCESSORS: count}, [(call, start)]) for count in counts),
        )
        samples: list[tuple[dict[str, int], list[Launch]]] = [
            ({**base, MULTIPROCESSORS: USUAL, **change}, got)
            for change, got, answer in zip(changes, launches, answers, strict=True)
            if answer.is_done and got
        ]
        for count, ((got,), _) in zip(counts, devices, strict=True):
            if got:
                samples.append(({**base, MULTIPROCESSORS: count}, got))
        if not samples:
            return []
        tensors = shaped(call, asked_in(" ".join(answers[0].end[1:2])))
        self._remember(call, tensors)
        tensors |= {t for t in call.ranks if self.forms.get(t) == form(call, t)}
        called = {n: call.names.get(n, n) for n in (*base, MULTIPROCESSORS)}
        if len(set(called.values())) < len(called):
            called = {n: n for n in called}
        variants = []
        for kernel in dict.fromkeys(one.kernel for one in samples[0][1]):
            same = tuple(
                ({called[n]: v for n, v in sizes.items()}, next(one for one in got if one.kernel == kernel))
                for sizes, got in samples
                if any(one.kernel == kernel for one in got)
            )
            variants.append(
                Series(
                    same[0][0],
                    same,
                    entry.name,
                    given=True,
                    shaped=tensors,
                    said=(f"{entry.name} was called with {_shown(call)}",),
                    promises=tuple(_multiples(same)),
                )
            )
        return variants


def _before_others(entries: Sequence[Entry], kernel: str) -> list[Entry]:
    """The functions that lead to a kernel, after the one before them whose tensors have most of their names.

    How that one is called says how a function without checks is, such as a backward one.
    """
    leading = [e for e in entries if kernel in e.kernels]
    names = _tensors(leading[0]) if leading else set[str]()
    before = entries[: entries.index(leading[0])] if leading else []
    alike = max(before, key=lambda e: len(names & _tensors(e)), default=None)
    return [alike, *leading] if alike and 2 * len(names & _tensors(alike)) > len(names) else leading


def _tensors(entry: Entry) -> set[str]:
    return {p.name for p in entry.parameters if p.is_tensor}


def _multiples(samples: Sequence[tuple[Mapping[str, int], Launch]]) -> Iterator[str]:
    """What sizes have to be multiples of: those with which the launch did not come with another number added."""
    base = samples[0][0]
    alone = [{n: s - base[n] for n, s in sizes.items() if s != base[n]} for sizes, _ in samples[1:]]
    for name, size in base.items():
        added = {step[name] for step in alone if set(step) == {name}}
        if name == MULTIPROCESSORS or not added or _ANY in added:
            continue
        step = min(added)
        if size % step == 0:
            yield f"{name} % {step} == 0"


def _filled(launch: Launch) -> int:
    """How many words of a launch's tables are not 0: structures that are larger than those of a few fields.

    Words of four bytes: a byte of an address may be 0 in one run and another value in the next.
    """
    tables = [a.data for a in launch.arguments if len(a.data) > _TABLE]
    return sum(any(data[at : at + 4]) for data in tables for at in range(0, len(data), 4))


def _shown(call: Call) -> str:
    values = call.values({})
    tensors = [
        f"{p.name} {call.types.get(p.name, '')}[{', '.join(str(values[e]) for e in call.shape(p.name))}]"
        for p in call.parameters
        if p.is_tensor and p.name not in call.absent
    ]
    return ", ".join(tensors)
