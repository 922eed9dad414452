"""The drafts of a kernel by what its host code does when it is run; kept by text, so that it is run once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kernel_gate.files.reading import read_file
from kernel_gate.files.temporary import TemporaryFolder
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.workloads.following.unit import unit_of
from kernel_lineage.workloads.model import Draft
from kernel_lineage.workloads.preprocessed import active_text, with_headers
from kernel_lineage.workloads.recording.build import RecordingError
from kernel_lineage.workloads.recording.drafting import recorded_draft
from kernel_lineage.workloads.recording.mains import Program, has_main, recorded_program
from kernel_lineage.workloads.saved import folder_of
from kernel_lineage.workloads.state import State


_SOURCES = (".cu", ".cpp", ".cc")
_MOST_BESIDE = 12


@dataclass(slots=True)
class Recorder:
    """Records host code below one folder."""

    root: Path
    _programs: dict[Path, Program | str] = field(default_factory=dict)

    def drafts(self, kernel: Kernel, rooted: Kernel, path: Path, place: Path, state: State) -> Iterator[Draft]:
        """The drafts by the host code of `place`, a file that launches a kernel of `path`.

        Raises `RecordingError`, which says why there is none and what to do.
        """
        data = kernel.source.data if kernel.source is not None and place == path else None
        program = self._program(place, data, state)
        found = [s for s in program.series if s.first.name.rsplit("::", 1)[-1] == kernel.name]
        if not found:
            seen = ", ".join(dict.fromkeys(s.first.name for s in program.series)) or "nothing"
            why = f" ({program.why})" if program.why else ""
            raise RecordingError(f"{place.name} was run and launched {seen}, but not {kernel.name}{why}")
        unit = unit_of(active_text(with_headers(place, self.root, data)))
        for series in found:
            yield recorded_draft(kernel, rooted, path.name, unit, series)

    def _program(self, place: Path, data: bytes | None, state: State) -> Program:
        if place not in self._programs:
            try:
                self._programs[place] = self._recorded(place, data, state)
            except RecordingError as error:
                self._programs[place] = str(error)
        known = self._programs[place]
        if isinstance(known, str):
            raise RecordingError(known)
        return known

    def _recorded(self, place: Path, data: bytes | None, state: State) -> Program:
        text = _text(place, self.root) if data is None else data.decode("utf-8", "replace")
        if not has_main(text) and (mains := _with_its_main(place, self.root)):
            text = "\n".join((text, *mains))
        if not has_main(text):
            raise RecordingError(f"{place.name} has neither a main nor a function that takes tensors")
        with TemporaryFolder("recording") as name:
            return recorded_program(text, place, self.root, Path(name))


def _with_its_main(place: Path, root: Path) -> list[str]:
    """The other sources of a folder whose program one of them is the only `main` of."""
    beside = sorted(p for p in place.parent.iterdir() if p.suffix in _SOURCES and p.name != place.name)
    texts = [_text(p, root) for p in beside[:_MOST_BESIDE]]
    return texts if sum(map(has_main, texts)) == 1 else []


def _text(path: Path, root: Path) -> str:
    try:
        return read_file(path, within=root).decode("utf-8", "replace")
    except OSError:
        return ""


def recorder_for(path: Path) -> Recorder:
    """A recorder for the repository around a file."""
    return Recorder(folder_of(path))
