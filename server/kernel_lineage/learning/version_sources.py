"""The source text behind mined versions, read from git objects (or from the work tree for what is not committed)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from kernel_gate.files.reading import is_plain_file, read_file
from kernel_lineage.history.git import open_repository
from kernel_lineage.history.model import Version
from kernel_lineage.history.objects import BlobReader
from kernel_lineage.kernels.cuda_constants import whole_numbers_in
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Kernel, Language, SourceFile
from kernel_lineage.learning.launch_names import LaunchNames, launch_names


class VersionSources:
    """Texts and kernels of versions; each blob is read and parsed once.

    Raises `RepositoryError` when the repository cannot be opened. A version whose blob is missing (a partial clone) or
    whose kernel is not found in it has no kernel and an empty text.
    """

    def __init__(self, repository: Path, versions: Iterable[Version]):
        opened = open_repository(repository)
        self._repository = opened
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

    def launch_names(self, version: Version, changed: Iterable[str] = ()) -> LaunchNames:
        """The names that a condition on this version may speak of, and what others around its launches stand for.

        Constants are looked for in its file and in the files of these paths, as they are at the version's commit.
        """
        kernel = self.kernel(version)
        if kernel is None:
            return LaunchNames(frozenset())
        texts = [self.data(version)]
        if version.language is Language.CUDA and version.commit is not None:
            texts += self._at(version.commit, {path for path in changed if path != version.path})
        constants = {name: c.value for data in texts for name, c in whole_numbers_in(data).items()}
        return launch_names(kernel, constants if version.language is Language.CUDA else {})

    def _at(self, commit: str, paths: Collection[str]) -> list[bytes]:
        """Files of a commit, those that it has."""
        wanted = [f"{commit}:{path}" for path in sorted(paths)]
        missing = [one for one in wanted if one not in self._data]
        if missing:
            self._data |= dict.fromkeys(missing, b"")
            with BlobReader(self._repository, {}) as reader:
                self._data.update(reader.read(missing))
        return [self._data[one] for one in wanted]
