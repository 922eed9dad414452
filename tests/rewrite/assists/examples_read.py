"""The examples of assists, from `examples/`: kernels before and after, and kernels where an assist must refuse.

A title is `KERNEL applies` and then `KERNEL becomes`, with the name of what it becomes where that is another one, or
`KERNEL refuses: PART OF THE REASON`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from example_files import parts_in
from kernel_lineage.kernels.source import Language
from kernel_lineage.rewrite.assists.model import Assist
from kernel_lineage.rewrite.assists.registry import all_assists


@dataclass(frozen=True, slots=True)
class Application:
    """A whole small file before and after."""

    assist: Assist
    language: Language
    kernel: str
    before: str
    after: str
    becomes: str = ""
    """The kernel's name after it."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A file where the assist must refuse, and a part of the reason it gives."""

    assist: Assist
    language: Language
    kernel: str
    code: str
    reason: str


def _read() -> tuple[tuple[Application, ...], tuple[Refused, ...]]:
    applied, refused, before = [], [], ""
    for part in parts_in(Path(__file__).parent / "examples"):
        assist = all_assists()[part.owner]
        kernel, _, what = part.title.partition(" ")
        if what == "applies":
            before = part.code
        elif what.startswith("becomes"):
            name = what.removeprefix("becomes").strip() or kernel
            applied.append(Application(assist, part.language, kernel, before, part.code, name))
        else:
            reason = what.removeprefix("refuses: ")
            assert reason and reason != what, part.title
            refused.append(Refused(assist, part.language, kernel, part.code, reason))
    return tuple(applied), tuple(refused)


APPLICATIONS, REFUSALS = _read()


def applications_of(assist: str) -> tuple[Application, ...]:
    """Where the assist of that id applies."""
    return tuple(a for a in APPLICATIONS if a.assist.id == assist)
