"""The source text behind mined versions, read from git objects (or from the work tree for what is not committed)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from kernel_gate.files.reading import is_plain_file, read_file
from kernel_lineage.history.git import open_repository
from kernel_lineage.history.model import Version
from kernel_lineage.history.objects import BlobReader
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Kernel, SourceFile

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


class VersionSources:
    """Texts and kernels of versions; each blob is read and parsed once.

    Raises `RepositoryError` when the repository cannot be opened. A version whose blob is missing (a partial clone) or
    whose kernel is not found in it has no kernel and an empty text.
    """

    def __init__(self, repository: Path, versions: Iterable[Version]):
        opened = open_repository(repository)
        self._top = opened.top
        wanted = list(versions)
        self._data: dict[str, bytes] = {}
        with BlobReader(opened, {}) as reader:
            self._data.update(reader.read(sorted({v.blob for v in wanted if v.commit is not None})))
        for version in wanted:
            path = self._top / version.path
            if version.commit is None and is_plain_file(path):
                self._data[version.blob] = read_file(path)
        self._files: dict[str, SourceFile] = {}

    def path(self, version: Version) -> Path:
        """Where the version's file is, or would be, in the work tree: headers are looked for beside it."""
        return self._top / version.path

    def data(self, version: Version) -> bytes:
        """The whole file."""
        return self._data.get(version.blob, b"")

    def file(self, version: Version) -> SourceFile:
        """The parsed file."""
        if version.blob not in self._files:
            self._files[version.blob] = read(self.data(version), version.language)
        return self._files[version.blob]

    def kernel(self, version: Version) -> Kernel | None:
        """The version's kernel: the one of its name nearest to its line."""
        same_name = [k for k in self.file(version).kernels if k.name == version.symbol]
        return min(same_name, key=lambda k: abs(k.span.first_line - version.first_line), default=None)

    def text(self, version: Version) -> str:
        """The kernel's own lines."""
        lines = self.data(version).decode("utf-8", "replace").splitlines()
        return "\n".join(lines[version.first_line - 1 : version.last_line])

    def parameters(self, version: Version) -> frozenset[str]:
        """The names that a condition on this version may speak of: its parameters and what its launches pass."""
        kernel = self.kernel(version)
        if kernel is None:
            return frozenset()
        passed = (_IDENTIFIER.findall(a) for launch in kernel.launches for a in launch.arguments)
        return frozenset(p.name for p in kernel.parameters).union(*passed)
