"""A program with a `main`, run at its own sizes and at others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kernel_lineage.workloads.device_size import MULTIPROCESSORS, USUAL
from kernel_lineage.workloads.preprocessed import with_headers
from kernel_lineage.workloads.recording.build import Built, HostBuildError, built
from kernel_lineage.workloads.recording.launches import Launch
from kernel_lineage.workloads.recording.runs import Ended, Run, run
from kernel_lineage.workloads.recording.series import Series
from kernel_lineage.workloads.recording.sizes_written import with_sizes

_SECONDS = 2.5
"""The limit of one run; code on the CPU that checks results takes longer at the sizes as they are written."""
_SHORT = 1.0
_MOST_SIZES = 10
_SMALLER = (8, 64)
_SMALLEST = 32
_ODD = (37, 53, 29, 61, 43, 67, 31, 71, 41, 59)
_ARGUMENTS = tuple((str(n),) for n in range(1, 9))
"""What a program that asks for arguments is tried with, in the end."""
_ASKED_FOR = (64, 48, 80, 56)
"""Numbers for arguments without which nothing is launched, and for those that are read from files or typed."""
_READS = re.compile(r"\bf?scanf\s*\(|\bifstream\b|\bcin\b")
_ARGUMENT = re.compile(r"\b(\w+)\s*=[^;=]*\b(?:ato|sto|strto)\w+\s*\(\s*argv\s*\[\s*(\d)\s*\]")
_OWN_WORDS = ("timeout:", "/bin/bash:")
_MOST_BESIDE = 16
"""Launches of one kernel in one run that are looked at."""


@dataclass(frozen=True, slots=True)
class Program:
    """What a program did."""

    series: tuple[Series, ...]
    why: str
    """How its run ended where that may be why kernels are not there; "" for a plain end."""
    whole: bool = True
    """Whether no run was ended before it came to what another came to: next time there may be more."""
    is_finished: bool = True
    """Whether all functions were called; others would launch more kernels."""

    def launches(self, kernel: str) -> bool:
        """Whether a kernel of this name was launched."""
        return any(s.first.name.rsplit("::", 1)[-1] == kernel for s in self.series)

    def beside(self, before: Program) -> Program:
        """The same with the launches of an earlier run of kernels that were not launched now."""
        own = {s.first.kernel for s in self.series}
        return replace(self, series=(*(s for s in before.series if s.first.kernel not in own), *self.series))


def recorded_program(text: str, path: Path, root: Path, folder: Path, more: Sequence[Path] = ()) -> Program:
    """The launches of a program; `more` are its other sources. Raises `RecordingError`."""
    changed, sizes = with_sizes(text, with_headers(path, root, text.encode()))
    try:
        program = built(changed if sizes else text, path, root, _inner(folder, "sized"), more)
    except HostBuildError:
        if not sizes:
            raise
        program, sizes = built(text, path, root, _inner(folder, "plain"), more), {}
    where = folder / "runs"
    where.mkdir()
    cwd = path.resolve().parent
    written = {**sizes, MULTIPROCESSORS: USUAL}
    named: tuple[str, ...] = ()
    first, base = _first(program, written, where, root, cwd)
    for names, asked in _asked_for(text, written) if not first.launches else ():
        trial, smaller = _first(program, asked, where, root, cwd, names)
        if trial.launches:
            named, written, first, base = names, asked, trial, smaller
            break
    launches = list(first.launches)
    why = "; ".join(filter(None, (first.why, *program.without)))
    if "argv" in text:
        tried = [Run(base, arguments, seconds=_SHORT) for arguments in _ARGUMENTS]
        for ended in run(program, tried, where, root, cwd):
            seen = {one.kernel for one in launches}
            launches += [one for one in ended.launches if one.kernel not in seen]
    if not launches:
        return Program((), f"{why or 'it ended'}; {_last_words(first.output)}".rstrip("; "))
    firsts = _firsts(first.launches)
    last = max((i for i, one in enumerate(first.launches) if one in firsts.values()), default=0) + 1
    varied = [*[n for n in base if base[n] > 1][:_MOST_SIZES], MULTIPROCESSORS]
    others = [size for name in dict.fromkeys(varied) for size in _others(base, name)]
    others.append(
        {n: v + _ODD[i % len(_ODD)] if n != MULTIPROCESSORS else v for i, (n, v) in enumerate(base.items())}
    )
    # Where sizes tell which kernels come at all, others may come first.
    runs = [Run(o, _numbers(o, named), last=2 * last, seconds=_SHORT) for o in others]
    ended_runs = run(program, runs, where, root, cwd)
    series = []
    whole = True
    for kernel, launch in _firsts(launches).items():
        samples = [(base, launch)]
        for other, ended in zip(others, ended_runs, strict=True):
            same = _firsts(ended.launches).get(kernel)
            whole &= same is not None or not ended.was_cut
            if same is not None:
                samples.append((other, same))
        again = [one for one in first.launches if one.kernel == kernel and one.row != launch.row]
        series.append(Series(written, tuple(samples), "main", beside=tuple(again[:_MOST_BESIDE])))
    return Program(tuple(replace(s, said=_changes(base, written)) for s in series), why, whole)


def _asked_for(text: str, written: Mapping[str, int]) -> Iterator[tuple[tuple[str, ...], dict[str, int]]]:
    """What a program may ask for: the names of its arguments, and sizes with those and with numbers that it reads."""
    read = {f"read_{i}": n for i, n in enumerate(_ASKED_FOR)} if _READS.search(text) else {}
    if read:
        yield (), {**read, **written}
    names = {int(place): name for name, place in _ARGUMENT.findall(text)}
    for count in range(1, len(_ASKED_FOR) + 1) if "argv" in text else ():
        named = tuple(dict.fromkeys(names.get(i, f"argument_{i}") for i in range(1, count + 1)))
        yield named, {**dict(zip(named, _ASKED_FOR, strict=False)), **read, **written}


def _numbers(sizes: Mapping[str, int], named: Sequence[str]) -> tuple[str, ...]:
    return tuple(str(sizes[name]) for name in named)


def _changes(base: Mapping[str, int], written: Mapping[str, int]) -> tuple[str, ...]:
    smaller = [n for n in base if base[n] != written[n]]
    return ("main was run at smaller sizes: its own take too long on the CPU",) if smaller else ()


def _inner(folder: Path, name: str) -> Path:
    inner = folder / name
    inner.mkdir()
    return inner


def _first(
    program: Built,
    written: Mapping[str, int],
    folder: Path,
    root: Path,
    cwd: Path,
    named: tuple[str, ...] = (),
) -> tuple[Ended, dict[str, int]]:
    """The first run that comes to an end, at the sizes as they are written or smaller; `named` are arguments."""
    best: tuple[Ended, dict[str, int]] | None = None
    for divisor in (1, *_SMALLER):
        sizes = {n: _smaller(v, divisor) if n != MULTIPROCESSORS else v for n, v in written.items()}
        (ended,) = run(program, [Run(sizes, _numbers(sizes, named), seconds=_SECONDS)], folder, root, cwd)
        if best is None or len(_firsts(ended.launches)) > len(_firsts(best[0].launches)):
            best = ended, sizes
        if ended.why != "its time was up" or all(
            v <= _SMALLEST for n, v in written.items() if n != MULTIPROCESSORS
        ):
            break
    assert best is not None
    return best


def _smaller(size: int, divisor: int) -> int:
    return max(size // divisor, min(size, _SMALLEST))


def _others(base: Mapping[str, int], name: str) -> list[dict[str, int]]:
    """Sizes that differ in one: one that is a multiple of the same, and two that are multiples of nothing."""
    size = base[name]
    half = size // 2
    changed = (half, half + 37, half + 5) if size >= 512 else (2 * size, size + 5, size + 18)
    return [{**base, name: other} for other in changed]


def _firsts(launches: Sequence[Launch]) -> dict[str, Launch]:
    """Kernel → its first launch."""
    firsts: dict[str, Launch] = {}
    for one in launches:
        firsts.setdefault(one.kernel, one)
    return firsts


def _last_words(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip() and not line.startswith(_OWN_WORDS)]
    return f"it said: {lines[-1][:160]}" if lines else ""
