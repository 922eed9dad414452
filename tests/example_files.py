"""Examples as files of kernels: parts between lines `// ---` (CUDA C++, `.cu`) or `# ---` (Triton, `.triton`).

What follows on such a line is the part's title. A file is named after what its parts are examples of.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kernel_lineage.kernels.source import Language

_LANGUAGES = {".cu": (Language.CUDA, "// ---"), ".triton": (Language.TRITON, "# ---")}
_TRITON_HEAD = "import triton\nimport triton.language as tl\n\n"


@dataclass(frozen=True, slots=True)
class Part:
    """One kernel file of a file of examples."""

    owner: str
    """The id of the mechanism, anchor pattern, assist or simplification."""
    language: Language
    title: str
    code: str
    number: int


def parts(path: Path) -> Iterator[Part]:
    """The parts of a file; those of Triton that import nothing get the two imports of Triton."""
    language, mark = _LANGUAGES[path.suffix]
    title, lines, number = "", [], 0
    for line in [*path.read_text(encoding="utf-8").splitlines(keepends=True), mark]:
        if line.rstrip("\n") != mark and not line.startswith(f"{mark} "):
            lines.append(line)
            continue
        code = "".join(lines)
        if code:
            head = "" if language is Language.CUDA or "import triton" in code else _TRITON_HEAD
            yield Part(path.stem, language, title, head + code, number)
            number += 1
        title, lines = line.removeprefix(mark).strip(), []


def parts_in(folder: Path) -> tuple[Part, ...]:
    """The parts of every file of a folder, in the order of their names."""
    return tuple(part for path in sorted(folder.iterdir()) for part in parts(path))


def examples_of(folder: Path, owner: str) -> tuple[Part, ...]:
    """The parts of what is named so, those in CUDA C++ first."""
    paths = (folder / f"{owner}{suffix}" for suffix in _LANGUAGES)
    return tuple(part for path in paths if path.is_file() for part in parts(path))
