"""The page of all mechanisms and anchors, made from their own files, so that it cannot fall behind them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from example_files import examples_of
from kernel_lineage.kernels.anchors.model import AnchorPattern
from kernel_lineage.kernels.anchors.registry import anchors
from kernel_lineage.kernels.mechanisms.model import Direction, Mechanism
from kernel_lineage.kernels.mechanisms.registry import mechanisms
from kernel_lineage.kernels.source import Language

_LANGUAGES = {Language.CUDA: "CUDA C++", Language.TRITON: "Triton"}
_FENCES = {Language.CUDA: "cpp", Language.TRITON: "python"}
_KERNELS = Path(__file__).parent.parent / "tests/kernels"
_HEAD = """\
# Mechanisms and anchors

A *mechanism* is an optimisation that can be seen in code; an *anchor* is a place where one could be applied. Both are
found in the syntax tree. The conditions under a mechanism are what typically goes with it, a hypothesis for a kernel
at hand until something confirms it: *validity* says when the result is right, *profit* when it is worth it."""


def render() -> str:
    """The page, as Markdown with a newline at its end."""
    return "\n".join([_HEAD, "", *_overview(), *_mechanisms(), *_anchors()]).rstrip("\n") + "\n"


def _overview() -> Iterator[str]:
    yield "| direction | mechanisms |"
    yield "|---|---|"
    for direction, members in _by_direction():
        yield f"| {direction} | {', '.join(f'[{m.title}](#{_slug(m.title)})' for m in members)} |"
    yield ""


def _by_direction() -> Iterator[tuple[Direction, list[Mechanism]]]:
    for direction in Direction:
        members = [m for m in mechanisms().values() if m.direction is direction]
        if members:
            yield direction, sorted(members, key=lambda m: m.title)


def _mechanisms() -> Iterator[str]:
    for direction, members in _by_direction():
        yield f"## {direction.capitalize()}"
        yield ""
        for mechanism in members:
            yield from _mechanism(mechanism)


def _mechanism(mechanism: Mechanism) -> Iterator[str]:
    yield f"### {mechanism.title}"
    yield ""
    yield f"`{mechanism.id}` · {_spoken(mechanism.languages)}"
    yield ""
    yield mechanism.summary
    yield ""
    yield f"Seen in: {mechanism.looks_for}"
    yield ""
    yield "| condition | kind | about | why |"
    yield "|---|---|---|---|"
    for c in mechanism.conditions:
        yield f"| `{c.expr}` | {c.kind} | {c.category} | {c.reason} |"
    yield ""
    yield from _example(_KERNELS / "spellings", mechanism.id)


def _anchors() -> Iterator[str]:
    yield "## Anchors"
    yield ""
    for pattern in sorted(anchors().values(), key=lambda p: p.title):
        yield from _anchor(pattern)


def _anchor(pattern: AnchorPattern) -> Iterator[str]:
    yield f"### {pattern.title}"
    yield ""
    yield f"`{pattern.id}` · {_spoken(pattern.languages)}"
    yield ""
    yield "| name | stands for |"
    yield "|---|---|"
    for name, meaning in pattern.names.items():
        yield f"| `{name}` | {meaning} |"
    yield ""
    yield from _example(_KERNELS / "anchors/shown", pattern.id)


def _spoken(languages: Iterable[Language]) -> str:
    return ", ".join(sorted(_LANGUAGES[language] for language in languages))


def _example(folder: Path, owner: str) -> Iterator[str]:
    example = examples_of(folder, owner)[0]
    yield f"```{_FENCES[example.language]}"
    yield example.code.rstrip("\n")
    yield "```"
    yield ""


def _slug(title: str) -> str:
    """The name that Markdown viewers give a heading."""
    return "".join(c for c in title.lower().replace(" ", "-") if c.isalnum() or c == "-")
