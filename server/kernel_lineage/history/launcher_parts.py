"""The host code that launches a kernel, as parts of its version."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from kernel_lineage.history.launch_slices import launch_slice
from kernel_lineage.history.outline import Outline, Piece, Role, digest
from kernel_lineage.history.seen import Part
from kernel_lineage.kernels.source import Language
from kernel_lineage.kernels.words import WORD

_LONG_LAUNCHER_LINES = 120
"""A longer launcher (a `main`, a whole training step) belongs to a kernel only with what it does for the kernel."""


@dataclass(frozen=True, slots=True)
class LauncherParts:
    """Reads launchers; texts of slices are kept through `keep`."""

    text_of: Callable[[str], str]
    keep: Callable[[str, str], None]

    def of(self, outline: Outline, names: frozenset[str], language: Language) -> Iterator[Part]:
        """The parts of a file that launch a kernel, which goes by these names, with the host functions they use."""
        for piece, launchable in outline.launching:
            launched = sorted(launchable & names)
            if not launched:
                continue
            text = self.text_of(piece.digest)
            long = piece.last_line - piece.first_line > _LONG_LAUNCHER_LINES or piece.name == "main"
            if len(piece.launches) > 1 or (long and language is Language.CUDA):
                text = launch_slice(text, launched[0], language)
            yield self._part(piece, text)
            if language is Language.TRITON:
                yield from self._used(outline, text)

    def _used(self, outline: Outline, text: str) -> Iterator[Part]:
        """The functions of the module that a launcher uses and that launch nothing, and its constants."""
        by_name: dict[str, list[Piece]] = {}
        for piece in outline.pieces:
            if not piece.launches and not piece.marks:
                by_name.setdefault(piece.name, []).append(piece)
        waiting: Sequence[str] = sorted(set(WORD.findall(text)))
        done: set[str] = set()
        used: list[Piece] = []
        while waiting:
            fresh = [p for name in waiting if name not in done for p in by_name.get(name, ())]
            done.update(waiting)
            used += fresh
            waiting = sorted({n for p in fresh for n in p.names} - done)
        for piece in sorted(used, key=lambda p: (p.first_line, p.name)):
            yield self._part(piece, self.text_of(piece.digest))

    def _part(self, piece: Piece, text: str) -> Part:
        key = digest(text.encode("utf-8", "replace"))
        if key != piece.digest:
            self.keep(key, text)
        return Part(Role.HOST, piece.name, key, piece.first_line, piece.last_line)
