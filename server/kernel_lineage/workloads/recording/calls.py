"""The functions of a PyTorch extension, called with tensors until they launch; failed checks say what to change."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.workloads.following.sizes import asked_of_tensors
from kernel_lineage.workloads.following.types import SCALAR_KINDS, dtype_of
from kernel_lineage.workloads.following.unit import HostCode, Unit, unit_of
from kernel_lineage.workloads.preprocessed import active_text
from kernel_lineage.workloads.recording.build import Built, HostBuildError, built
from kernel_lineage.workloads.recording.call import Call, Failed, Parameter, asked_in, mended
from kernel_lineage.workloads.recording.launches import Launch
from kernel_lineage.workloads.recording.likeness import (
    is_too_flat,
    larger,
    layouts,
    modes,
    others,
    unlike,
    with_alike,
)
from kernel_lineage.workloads.recording.mains import Program
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
_MOST_SAID = 600
_TABLE = 512
"""Bytes of a structure that holds arrays, as of what each block has to do."""
_TENSOR = re.compile(r"\bTensor\b")
_BOUND = re.compile(r'\b(?:def|impl)\s*\(\s*"([\w.]+)[^"]*"\s*,\s*(?:TORCH_FN\s*\(\s*)?&?\s*([\w:]+)')
_POINTED = re.compile(
    r"\b(\w+)\s*(?:\.|->)\s*(?:const_|mutable_)?data(?:_ptr)?\s*<\s*(?:const\s+)?([\w:]+)\s*>"
)
_TYPED = re.compile(r"\b(\w+)\s*(?:\.|->)\s*(?:scalar_type|dtype)\s*\(\s*\)\s*==\s*(?:\w+::)*(k?[A-Z]\w+)")
_MOST_ENTRIES, _MOST_PARAMETERS = 64, 64
_KIND = re.compile(r"[ov]{0,3}[Tifbst?]")
"""What a parameter can be: optional, a list; of tensors, numbers, words, types, or of something else."""
_PLACE = re.compile(r"[0-9]{1,6}")
_MULTIPROCESSORS = "multiProcessorCount"
_DEVICE = 132


def takes_tensors(text: str) -> bool:
    """Whether a text has functions of PyTorch's tensors."""
    return _TENSOR.search(text) is not None


@dataclass(frozen=True, slots=True)
class _Entry:
    number: int
    name: str
    parameters: tuple[Parameter, ...]
    function: HostCode | None


def recorded_calls(
    text: str, place: Path, unit: Unit, root: Path, folder: Path, more: Sequence[Path]
) -> Program:
    """The launches of what a text, and `more` sources that call it, offer to Python. Raises `RecordingError`."""
    bound = {function.rsplit("::", 1)[-1]: name for name, function in _BOUND.findall(unit.text)}
    ending = "\n#undef exit\n#undef abort\nint main() { return klineage::listen(); }\n"
    front = '#include "pytorch/all.h"\n#line 1\n'
    own = _registered(unit_of(active_text(text)), set(bound))
    first = folder / "entries"
    first.mkdir()
    try:
        program = built(f"{front}{text}\n{own}{ending}", place, root, first, more)
    except HostBuildError:
        if not own:
            raise
        second = folder / "bound"
        second.mkdir()
        program = built(f"{front}{text}\n{ending}", place, root, second, more)
    where = folder / "runs"
    where.mkdir()
    search = _Search(
        program, where, root, place.resolve().parent, unit, {name: f for f, name in bound.items()}
    )
    return search.everything()


def _registered(unit: Unit, bound: set[str]) -> str:
    """Lines that offer functions which nobody binds: those with a body of their own, once, and tensors."""
    lines: list[str] = []
    for name, functions in unit.functions.items():
        one = functions[0]
        if len(functions) == 1 and one.of_host and not one.template and name not in bound and _is_entry(one):
            lines.append(
                f'static bool klineage_entry_{len(lines)} = klineage::entry("{name}", &{_qualified(one)});'
            )
    return "\n".join(lines)


def _is_entry(function: HostCode) -> bool:
    return any(_TENSOR.search(p.type) for p in function.parameters)


def _qualified(function: HostCode) -> str:
    names, node = [function.name], function.node.parent
    while node is not None:
        if node.type == "namespace_definition" and (name := text_of(node.child_by_field_name("name"))):
            names.append(name)
        node = node.parent
    return "::".join(reversed(names))


@dataclass(slots=True)
class _Search:
    program: Built
    folder: Path
    root: Path
    cwd: Path
    unit: Unit
    functions: Mapping[str, str]
    was_cut: bool = False
    """Whether a run was ended by something else than itself."""

    def everything(self) -> Program:
        """The series of all functions that come to a launch."""
        (listing,) = run(self.program, [Run({}, seconds=_SECONDS)], self.folder, self.root, self.cwd)
        every = [e for line in listing.output.splitlines() if (e := self._entry(line)) is not None]
        # What is bound here and defined in a source that was not built does nothing.
        entries = ([e for e in every if e.function is not None] or every)[:_MOST_ENTRIES]
        begun = time.monotonic()
        end = begun + _ALL_SECONDS
        found: dict[str, Series] = {}
        why: list[str] = [] if entries else ["no function that takes tensors is bound or stands there"]
        for place, entry in enumerate(entries):
            if time.monotonic() > begun + _MOST_SECONDS:
                why.append(f"{len(entries) - place} functions were not called: the time was up")
                break
            left = (end - time.monotonic()) / max(1, len(entries) - place)
            calls, said = self._accepted(entry, time.monotonic() + max(left, 2.0))
            for call in calls:
                for series in self._varied(entry, call):
                    found.setdefault(series.first.kernel, series)
            if said:
                why.append(f"{entry.name}: {said}")
        return Program(
            tuple(found.values()), "; ".join((*self.program.without, *why))[:_MOST_SAID], not self.was_cut
        )

    def _entry(self, line: str) -> _Entry | None:
        fields = line.split("\t")
        if len(fields) < 4 or fields[0] != "entry" or not _PLACE.fullmatch(fields[1]):
            return None
        kinds = fields[3].split()
        if len(kinds) > _MOST_PARAMETERS or not all(map(_KIND.fullmatch, kinds)):
            return None
        name = self.functions.get(fields[2], fields[2])
        written = [f for f in self.unit.functions.get(name, ()) if len(f.parameters) == len(kinds)]
        function = written[0] if written else None
        names = (
            [p.name for p in function.parameters]
            if function is not None
            else [f"a{i}" for i in range(len(kinds))]
        )
        parameters = tuple(
            Parameter(n or f"a{i}", k) for i, (n, k) in enumerate(zip(names, kinds, strict=True))
        )
        if not any(p.is_tensor for p in parameters):
            return None
        return _Entry(int(fields[1]), fields[2], parameters, function)

    def _accepted(self, entry: _Entry, end: float) -> tuple[list[Call], str]:
        """Calls that came back and launched something, each kernel by one; and what the last one that failed said."""
        waiting, tried = self._starts(entry), set[str]()
        good: list[tuple[Call, set[str], tuple[bool, int, int]]] = []
        said, after, idle = "", 0, False
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
            launched, answers = self._run(entry, [(call, {}) for call in batch])
            more: list[list[Call]] = []
            for call, launches, answer in zip(batch, launched, answers, strict=True):
                idle |= answer[:1] == ["done"]
                if answer[:1] == ["done"] and launches:
                    asked = asked_in(" ".join(answer[1:2]))
                    filled = max(map(_filled, launches))
                    order = (is_too_flat(call, asked), len(unlike(call, asked)), filled)
                    good.append((call, {one.kernel for one in launches}, order))
                    more.append([with_alike(call, asked), *layouts(call, asked)][:_OPTIONS])
                    if filled:
                        more.append(list(larger(call))[:_OPTIONS])
                    if len(good) <= _MODED:
                        more.append(list(modes(call, self.unit.text))[:_WIDEST])
                elif answer[:1] != ["done"]:
                    said = " ".join(a for a in answer[1:4] if a)[:160] or said
                if answer[:1] == ["signal"] or (answer[:1] == ["done"] and not launches):
                    more.append(list(others(call))[:_OPTIONS])
                if answer[:1] == ["check"]:
                    failed = Failed.of(answer[1:])
                    more.append([*list(mended(call, failed))[:_OPTIONS], *layouts(call, failed.asked[-2:])])
            # What each says first comes before what any says second.
            widest = max(map(len, more), default=0)
            waiting = [options[i] for i in range(widest) for options in more if i < len(options)] + waiting
        chosen: list[Call] = []
        seen: set[str] = set()
        # Of calls that launch the same, the plainest one counts, and of these the one that leaves the most sizes free.
        for call, kernels, _ in sorted(good, key=lambda one: (one[2], one[0].extents, -len(one[0].sizes))):
            if kernels - seen and len(chosen) < _MOST_CALLS:
                chosen.append(call)
                seen |= kernels
        return chosen, "" if chosen else said or "it launches nothing"

    def _run(
        self,
        entry: _Entry,
        calls: Sequence[tuple[Call, Mapping[str, int]]],
        sizes: Mapping[str, int] | None = None,
    ) -> tuple[list[list[Launch]], list[list[str]]]:
        lines = "".join(
            f"{i}\t{entry.number}\t{call.line(changed)}\n" for i, (call, changed) in enumerate(calls)
        )
        (ended,) = run(
            self.program, [Run(sizes or {}, seconds=_SECONDS, calls=lines)], self.folder, self.root, self.cwd
        )
        self.was_cut |= ended.was_cut
        launches: list[list[Launch]] = [[] for _ in calls]
        for launch in ended.launches:
            if _PLACE.fullmatch(launch.call) and int(launch.call) < len(calls):
                launches[int(launch.call)].append(launch)
        answers: list[list[str]] = [[] for _ in calls]
        for line in ended.output.splitlines():
            fields = line.split("\t")
            if _PLACE.fullmatch(fields[0]) and int(fields[0]) < len(calls) and len(fields) > 1:
                answers[int(fields[0])] = fields[1:]
        return launches, answers

    def _starts(self, entry: _Entry) -> list[Call]:
        """Calls to begin with: each number of extents for tensors of which no code tells it, each usual type."""
        tensors = [p.name for p in entry.parameters if p.is_tensor]
        ranks: dict[str, int] = {}
        types: dict[str, str] = {}
        names: dict[str, str] = {}
        if entry.function is not None:
            asked = asked_of_tensors(entry.function)
            ranks = {t: r for t, r in asked.ranks.items() if t in tensors}
            names = {
                f"{t}_size_{i}": n for (t, i), n in asked.names.items() if t in tensors and isinstance(i, int)
            }
            body = text_of(entry.function.body)
            for pattern in (_POINTED, _TYPED):
                for tensor, kind in pattern.findall(body):
                    dtype = dtype_of(SCALAR_KINDS.get(kind, kind))
                    if tensor in tensors and dtype is not None:
                        types.setdefault(tensor, dtype)
        starts = []
        options = frozenset(p.name for p in entry.parameters if p.kind[:1] == "o")
        for absent in dict.fromkeys((options, frozenset[str]())):
            for dtype in ("float32", "float16", "bfloat16"):
                for rank in (2, 3, 4, 1):
                    all_types = {t: types.get(t, dtype) for t in tensors}
                    all_ranks = {t: ranks.get(t, rank) for t in tensors}
                    one = Call(entry.parameters, all_ranks, all_types, absent=absent, names=names)
                    starts += [_alike(one), one] if rank == 2 else [one]
        return starts

    def _varied(self, entry: _Entry, call: Call) -> list[Series]:
        """The launches of a call at several sizes."""
        base = dict(call.sizes.items())
        base |= {
            p.name: 1
            for p in entry.parameters
            if p.kind in ("i", "oi") and p.name not in call.absent and p.name not in call.numbers
        }
        changes: list[dict[str, int]] = [{}]
        for name, value in base.items():
            changes += [{name: 2 * value}, *({name: value + step} for step in (_ANY, *_STEPS))]
        changes.append({n: v + 32 * (i + 1) for i, (n, v) in enumerate(base.items()) if v > 1})
        launches, answers = self._run(entry, [(call, change) for change in changes])
        samples: list[tuple[dict[str, int], list[Launch]]] = [
            ({**base, _MULTIPROCESSORS: _DEVICE, **change}, got)
            for change, got, answer in zip(changes, launches, answers, strict=True)
            if answer[:1] == ["done"] and got
        ]
        for count in (2 * _DEVICE, _DEVICE + 5):
            (got,), _ = self._run(entry, [(call, {})], {_MULTIPROCESSORS: count})
            if got:
                samples.append(({**base, _MULTIPROCESSORS: count}, got))
        if not samples:
            return []
        called = {n: call.names.get(n, n) for n in (*base, _MULTIPROCESSORS)}
        if len(set(called.values())) < len(called):
            called = {n: n for n in called}
        found = []
        for kernel in dict.fromkeys(one.kernel for one in samples[0][1]):
            same = tuple(
                ({called[n]: v for n, v in sizes.items()}, next(one for one in got if one.kernel == kernel))
                for sizes, got in samples
                if any(one.kernel == kernel for one in got)
            )
            found.append(
                Series(
                    same[0][0],
                    same,
                    entry.name,
                    given=True,
                    said=(f"{entry.name} was called with {_shown(call)}",),
                    promises=tuple(_multiples(same)),
                )
            )
        return found


def _alike(call: Call) -> Call:
    """A call whose tensors of the same number of extents have the same extents."""
    first: dict[int, str] = {}
    same = dict(call.same)
    for parameter in call.parameters:
        if parameter.is_tensor:
            rank = call.ranks.get(parameter.name, 2)
            other = first.setdefault(rank, parameter.name)
            if other != parameter.name:
                same |= {f"{parameter.name}_size_{i}": f"{other}_size_{i}" for i in range(rank)}
    return replace(call, same=same)


def _multiples(samples: Sequence[tuple[Mapping[str, int], Launch]]) -> Iterator[str]:
    """What sizes have to be multiples of: those with which the launch did not come with another number added."""
    base = samples[0][0]
    alone = [{n: s - base[n] for n, s in sizes.items() if s != base[n]} for sizes, _ in samples[1:]]
    for name, size in base.items():
        added = {step[name] for step in alone if set(step) == {name}}
        if name == _MULTIPROCESSORS or not added or _ANY in added:
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
