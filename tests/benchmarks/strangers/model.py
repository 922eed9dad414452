"""What a wrong candidate, its twin and their baseline are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kernel_gate.program import Program
from kernel_gate.workload import Workload, parse_workload


@dataclass(frozen=True)
class Ground:
    """A baseline in its workload."""

    name: str
    source: str
    workload_text: str
    language: Literal["cuda", "triton"] = "cuda"

    @property
    def workload(self) -> Workload:
        return parse_workload(self.workload_text)

    def program(self, source: str | None = None) -> Program:
        suffix = "cu" if self.language == "cuda" else "py"
        return Program(self.language, source or self.source, self.name, name=f"{self.name}.{suffix}")


@dataclass(frozen=True)
class Pair:
    """A wrong candidate and its honest twin; either replaces pieces of the baseline's text, or is a whole text."""

    name: str
    family: str
    ground: Ground
    wrong: tuple[tuple[str, str], ...] | str
    honest: tuple[tuple[str, str], ...] | str
    untuned: bool = False
    """Written when the gate was done, and never looked at while it was changed."""

    def text(self, which: str) -> str:
        edits = self.wrong if which == "wrong" else self.honest
        if isinstance(edits, str):
            return edits
        text = self.ground.source
        for old, new in edits:
            assert old in text, f"{self.name}: {old!r} is not in {self.ground.name}"
            text = text.replace(old, new, 1)
        return text


def workload_of(
    name: str,
    dims: dict[str, list[int]],
    args: list[tuple[str, ...]],
    grid: str,
    block: int,
    large: dict[str, int],
) -> str:
    """A workload from a table: name, kind, dtype, and shape and values, or value."""
    lines = [f'kernel = "{name}"', 'language = "cuda"', "", "[dims]"]
    lines += [f"{d} = {extents}" for d, extents in dims.items()]
    lines += ["[[profile_dims]]", *(f"{d} = {extent}" for d, extent in large.items())]
    for argument in args:
        title, kind, dtype, *rest = argument
        lines += ["[[args]]", f'name = "{title}"', f'kind = "{kind}"', f'dtype = "{dtype}"']
        if kind == "scalar":
            lines += [f'value = "{rest[0]}"']
            continue
        extents = ", ".join(f'"{e}"' for e in rest[0].split(","))
        lines += [f"shape = [{extents}]", *(rest[1:] and [f'values = "{rest[1]}"'])]
    return "\n".join([*lines, "[launch]", f'grid = ["{grid}"]', f"block = [{block}]", ""])
