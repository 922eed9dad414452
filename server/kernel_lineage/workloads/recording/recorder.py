"""The drafts of a kernel by what its host code does when it is run; kept by text, so that it is run once."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from kernel_gate.files.reading import read_file
from kernel_gate.files.temporary import TemporaryFolder
from kernel_lineage.kernels.embedded import cuda_in_python
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.kernels.words import WORD
from kernel_lineage.workloads.following.unit import Unit, unit_of
from kernel_lineage.workloads.frameworks import as_program, has_main
from kernel_lineage.workloads.headers import Headers
from kernel_lineage.workloads.model import Draft
from kernel_lineage.workloads.preprocessed import active_text, with_headers
from kernel_lineage.workloads.recording.build import RecordingError
from kernel_lineage.workloads.recording.calls import Search, search_of
from kernel_lineage.workloads.recording.drafting import recorded_draft
from kernel_lineage.workloads.recording.entries import parameter_names, takes_tensors
from kernel_lineage.workloads.recording.includes import included
from kernel_lineage.workloads.recording.kept import keep, kept, key_of
from kernel_lineage.workloads.recording.mains import Program, recorded_program
from kernel_lineage.workloads.recording.told_numbers import told_numbers
from kernel_lineage.workloads.saved import folder_of
from kernel_lineage.workloads.state import State
from kernel_lineage.workloads.switches import options_of, switches_for

_HOST_SOURCES = (".cpp", ".cc")
_SOURCES = (".cu", *_HOST_SOURCES)
_MOST_BESIDE = 12
_CALLERS_ABOVE, _CALLERS_BESIDE = 2, 3
_INCLUDING = 3
"""Sources that include a header, where the last one alone launches nothing: it may be for another type."""


@dataclass(slots=True)
class Recorder:
    """Records host code below one folder."""

    root: Path
    _programs: dict[Path, Program | str] = field(default_factory=dict)
    _searches: dict[str, Search] = field(default_factory=dict)

    def places(self, kernel: Kernel, path: Path, state: State) -> list[Path]:
        """The files by which a kernel may be launched: those with a launch that include its own, and its own."""
        sites = dict.fromkeys(p for p in state.files_launching(kernel.name) if p != path.resolve())
        headers = Headers(self.root.resolve())
        own = [
            p for p in sites if path.resolve() in {at for _, at in included(_text(p, self.root), p, headers)}
        ]
        if path.suffix in _SOURCES or not own:
            own = [path, *own]
        return own

    def drafts(
        self, kernel: Kernel, rooted: Kernel, path: Path, place: Path, state: State
    ) -> Iterator[Draft]:
        """The drafts by the host code of `place`, a file that launches a kernel of `path`.

        Raises `RecordingError`, which says why there is none and what to do.
        """
        data = kernel.source.data if kernel.source is not None and place == path else None
        program = self._program(place, data, state, kernel.name)
        matches = [
            s
            for s in program.series
            if s.first.name.rsplit("::", 1)[-1] == kernel.name
            and len(s.first.arguments) == len(kernel.parameters)
        ]
        if not matches:
            seen = ", ".join(dict.fromkeys(s.first.name for s in program.series)) or "nothing"
            why = f" ({program.why})" if program.why else ""
            raise RecordingError(f"{place.name} was run and launched {seen}, but not {kernel.name}{why}")
        whole = with_headers(place, self.root, data)
        unit = unit_of(active_text(whole, switches_for(whole, kernel.name)))
        for series in matches:
            yield recorded_draft(kernel, rooted, path.name, unit, series)

    def _program(self, place: Path, data: bytes | None, state: State, kernel: str) -> Program:
        program = self._programs.get(place)
        if program is None or (isinstance(program, Program) and _may_have_more(program, kernel)):
            try:
                program = self._recorded(place, data, state, kernel)
            except RecordingError as error:
                program = str(error)
            except OSError as error:
                program = f"recording needs a place to build in: {error}"
            self._programs[place] = program
        if isinstance(program, str):
            raise RecordingError(program)
        return program

    def _recorded(self, place: Path, data: bytes | None, state: State, kernel: str) -> Program:
        text = _text(place, self.root) if data is None else cuda_in_python(data).decode("utf-8", "replace")
        kernels = [k.name for k in read(text.encode(), Language.CUDA).kernels]
        options = options_of(with_headers(place, self.root, data), kernels)
        text = _with_options(text, options)
        # One source for the usual type mostly suffices, and each costs a compilation.
        program = self._of(_source(place, text, data, state, options, 1), kernel)
        if not program.series and place.suffix not in _SOURCES:
            program = self._of(_source(place, text, data, state, options, _INCLUDING), kernel)
        return program

    def _of(self, source: _Source, kernel: str) -> Program:
        """What was recorded of a source, or is now."""
        headers = Headers(self.root.resolve())
        texts = [source.text, *(_text(p, self.root) for p in source.more)]
        closure = (at for t in texts for _, at in included(t, source.place, headers) if at is not None)
        numbers = source.numbers(self.root)
        key = key_of(
            t.encode()
            for t in (
                *texts,
                str(source.place),
                *(_text(p, self.root) for p in dict.fromkeys(closure)),
                repr(sorted(numbers.items())),
            )
        )
        before = program = kept(key)
        if program is None or _may_have_more(program, kernel):
            program = self._now(source, key, numbers, kernel)
            program = program if before is None else program.beside(before)
            # What did not come to a launch may do so where a header is installed, or the machine is less busy.
            if program.series and program.whole:
                keep(key, program)
        return program

    def _now(self, source: _Source, key: str, numbers: Mapping[str, float], kernel: str) -> Program:
        """What is recorded of a source; an extension stays built, for the kernels that are asked for after this one."""
        if source.unit is None:
            with TemporaryFolder("recording") as name:
                return recorded_program(source.text, source.place, self.root, Path(name), source.more)
        if key not in self._searches:
            folder = TemporaryFolder("recording")
            search = search_of(
                source.text, source.place, source.unit, self.root, Path(folder.name), source.more, numbers
            )
            weakref.finalize(search, folder.cleanup)
            self._searches[key] = search
        return self._searches[key].until(kernel)


def _may_have_more(program: Program, kernel: str) -> bool:
    """Whether functions that were not called may launch a kernel that none has launched."""
    return not program.is_finished and not program.launches(kernel)


@dataclass(frozen=True, slots=True)
class _Source:
    """What is built and run to see how the kernels of a file are launched."""

    place: Path
    text: str
    more: tuple[Path, ...]
    unit: Unit | None
    """The unit with functions that take tensors; None for a program."""

    def numbers(self, root: Path) -> dict[str, float]:
        """The numbers that Python gives to parameters of its functions; none for a program."""
        return {} if self.unit is None else told_numbers(parameter_names(self.unit), root.resolve())


def _with_options(text: str, options: Mapping[str, str]) -> str:
    """A text that is built with some options."""
    defined = "".join(f"#define {name} {value}\n" for name, value in options.items())
    return f"{defined}#line 1\n{text}" if options else text


def _source(
    place: Path, text: str, data: bytes | None, state: State, options: Mapping[str, str], most: int
) -> _Source:
    """What is to be built for a file; for a header, `most` sources that include it."""
    root = state.root
    text = as_program(text)
    if has_main(text):
        return _Source(place, text, (), None)
    if place.suffix not in (*_SOURCES, ".py"):
        sources = _including(place, state)[-most:]
        if not sources:
            raise RecordingError(f"no source includes {place.name}, so that nothing can be built")
        first, *rest = sources
        one = _source(first, _with_options(_text(first, root), options), None, state, options, most)
        return replace(one, more=tuple(dict.fromkeys((*one.more, *(rest if one.unit is not None else ())))))
    place_of_main, main, more = _with_its_main(place, text, root)
    if has_main(main):
        return _Source(place_of_main, main, tuple(more), None)
    callers = _callers(text, place, state)
    unit = unit_of(active_text(with_headers(place, root, data, callers), options))
    if not takes_tensors(unit.text):
        # What nobody calls by its name may be called through a table that a header declares.
        callers = tuple(dict.fromkeys((*callers, *_sharing_headers(place, root))))
        unit = unit_of(active_text(with_headers(place, root, data, callers), options))
    if not takes_tensors(unit.text):
        own = unit_of(active_text(with_headers(place, root, data), options))
        program = _program_calling(own, place, state)
        if program is not None:
            return program
        raise RecordingError(
            f"{place.name} has neither a main nor a function that takes tensors, and no program calls its functions"
        )
    return _Source(place, text, tuple(p for p in callers if p.suffix in _SOURCES and p != place), unit)


def _program_calling(unit: Unit, place: Path, state: State) -> _Source | None:
    """The nearest program, in a folder of its own, that calls the functions of a library's file which launch kernels.

    Sources beside the file are built with it where the program names their functions.
    """
    outer = frozenset[str]().union(*map(unit.outermost, unit.kernels))
    programs = state.programs_among(state.files_calling(outer, place), outer)
    if not programs:
        return None
    text = as_program(state.text(programs[0]))
    words = {*WORD.findall(text)}
    beside = sorted(p for p in place.parent.iterdir() if p.suffix in _SOURCES and p != place)[:_MOST_BESIDE]
    needed = [p for p in beside if not words.isdisjoint(unit_of(state.text(p)).functions)]
    more = (place, *(p for p in needed if not state.is_program(p)))
    return _Source(programs[0], text, more, None)


def _sharing_headers(place: Path, root: Path) -> list[Path]:
    """The sources of host code beside a file that include a header of the repository which it includes as well."""
    headers = Headers(root.resolve())

    def seen_from(path: Path) -> set[Path]:
        return {at for _, at in included(_text(path, root), path, headers) if at is not None}

    own = seen_from(place)
    beside = sorted(p for p in place.parent.iterdir() if p.suffix in _HOST_SOURCES and p != place)
    return [p for p in beside[:_MOST_BESIDE] if own & seen_from(p)][:_CALLERS_BESIDE]


def _including(header: Path, state: State) -> list[Path]:
    """The nearest sources that include a header, such as those that name its templates' types."""
    root = state.root.resolve()
    headers = Headers(root)
    near = [p for p in state.files_including(header) if p.suffix in _SOURCES][:_MOST_BESIDE]
    return [p for p in near if header.resolve() in {at for _, at in included(_text(p, root), p, headers)}]


def _callers(text: str, place: Path, state: State) -> tuple[Path, ...]:
    """The files whose functions call those of a file that launch kernels, and the files that call these."""
    files: dict[Path, None] = {}
    data = text.encode()
    for _ in range(_CALLERS_ABOVE):
        unit = unit_of(active_text(with_headers(place, state.root, data, files)))
        outer = (
            frozenset().union(*(unit.outermost(kernel) for kernel in unit.kernels))
            if unit.kernels
            else frozenset()
        )
        more = [p for p in state.files_calling(outer, place) if p not in files][:_CALLERS_BESIDE]
        if not more:
            break
        files |= dict.fromkeys(more)
    return tuple(files)


def _with_its_main(place: Path, text: str, root: Path) -> tuple[Path, str, list[Path]]:
    """The program of several sources that a file is one of: the file with the only `main` beside it, and the others.

    The file itself, and no others, where there is no such program.
    """
    if place.suffix not in _SOURCES:
        return place, text, []
    beside = sorted(p for p in place.parent.iterdir() if p.suffix in _SOURCES and p.name != place.name)[
        :_MOST_BESIDE
    ]
    mains = [p for p in beside if has_main(_text(p, root))]
    if len(mains) != 1:
        return place, text, []
    return mains[0], _text(mains[0], root), [place, *(p for p in beside if p not in mains)]


def _text(path: Path, root: Path) -> str:
    try:
        return cuda_in_python(read_file(path, within=root)).decode("utf-8", "replace")
    except OSError:
        return ""


def recorder_for(path: Path) -> Recorder:
    """A recorder for the repository around a file."""
    return Recorder(folder_of(path))
