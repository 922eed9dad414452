"""A kernel in Markdown: what it is, its lineage in three lines, and which skills apply."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import TYPE_CHECKING

from kernel_lineage.kernels.mechanisms.model import Site
from kernel_lineage.kernels.mechanisms.registry import title_of
from kernel_lineage.kernels.source import Kernel, Language

if TYPE_CHECKING:
    from kernel_lineage.history.document import LineageDocument, TransitionDocument
    from kernel_lineage.learning.replay.earlier import Words

NEWEST = 2
"""Transitions in a hover; the page of the lineage has all."""
_NOTHING: Mapping[str, Words] = MappingProxyType({})
_LANGUAGES = {Language.CUDA: "CUDA C++", Language.TRITON: "Triton"}


def kernel_text(
    kernel: Kernel,
    sites: Iterable[Site],
    skills: str,
    lineage: LineageDocument | None,
    state: str,
    replayed: Mapping[str, Words] = _NOTHING,
) -> str:
    """The card of a kernel, `sites` those of its mechanisms, `skills` its line about skills.

    `state` says why there is no lineage, when there is none; `replayed` goes by transition.
    """
    parts = [f"**{kernel.name}** · {_LANGUAGES[kernel.language]} kernel · {_launched(kernel)}"]
    seen = sorted({site.mechanism for site in sites if site.certain})
    if seen:
        parts.append("Uses " + ", ".join(title_of(mechanism) for mechanism in seen))
    parts.append("\n".join(_lineage(lineage, state, replayed)))
    parts.append(skills)
    return "\n\n".join(parts)


def lineage_page(lineage: LineageDocument, replayed: Mapping[str, Words] = _NOTHING) -> str:
    """The whole lineage, newest first, as a page of Markdown, with what replaying found of its transitions."""
    lines = [f"# The lineage of {lineage.kernel}", "", _count(lineage), ""]
    for transition in reversed(lineage.transitions):
        lines += [f"## {place(lineage, transition.before)} → {place(lineage, transition.after)}", ""]
        lines += [f"{transition.kind}, {transition.intent} ({transition.because})", ""]
        if transition.subject:
            lines += [f"> {transition.subject}  ", f"> {transition.author}, {transition.date[:10]}", ""]
        words = replayed.get(transition.id)
        lines += [f"- {words.line}"] if words is not None else []
        lines += [f"- adds {title_of(mechanism)}" for mechanism in transition.mechanisms.added]
        lines += [f"- removes {title_of(mechanism)}" for mechanism in transition.mechanisms.removed]
        lines += [f"- adds the guard `{guard.expr}`" for guard in transition.guards.added]
        lines += [f"- risk: {risk.kind.replace('_', ' ')}: {risk.message}" for risk in transition.risk]
        if transition.compound:
            lines.append("- several changes at once: what each is worth cannot be told from this step")
        lines.append("")
    return "\n".join(lines)


def place(lineage: LineageDocument, version_id: str) -> str:
    """`1a2b3c4`; `softmax_forward2 1a2b3c4` in a lineage of variants, `rmsnorm.cu 1a2b3c4` in one of several files."""
    version = next((v for v in lineage.versions if v.id == version_id), None)
    if version is None:
        return "an unknown version"
    commit = "working tree" if version.commit is None else version.commit[:7]
    if len({v.symbol for v in lineage.versions}) > 1:
        return f"{version.symbol} {commit}"
    several = len({v.path for v in lineage.versions}) > 1
    return f"{PurePosixPath(version.path).name} {commit}" if several else commit


def change(transition: TransitionDocument) -> str:
    """`optimisation: adds vectorised access`, in one phrase."""
    what = transition.intent if transition.intent != "unknown" else transition.kind
    return f"{what}: {done(transition)}".rstrip(": ")


def done(transition: TransitionDocument) -> str:
    """`adds vectorised access`, else the commit's own words."""
    parts = [f"adds {title_of(m)}" for m in transition.mechanisms.added]
    parts += [f"removes {title_of(m)}" for m in transition.mechanisms.removed]
    parts += [f"{risk.kind.replace('_', ' ')} reported" for risk in transition.risk]
    return ", ".join(parts) or transition.subject


def _launched(kernel: Kernel) -> str:
    if not kernel.launches:
        return "no launch in this file"
    first = kernel.launches[0]
    by = f" by `{first.launcher}`" if first.launcher else ""
    more = f" and {len(kernel.launches) - 1} more" if len(kernel.launches) > 1 else ""
    return f"launched on line {first.span.first_line}{by}{more}"


def _lineage(lineage: LineageDocument | None, state: str, replayed: Mapping[str, Words]) -> list[str]:
    if lineage is None:
        return [f"**Lineage** {state}"]
    newest = reversed(lineage.transitions[-NEWEST:])
    steps = [
        f"- {place(lineage, transition.after)} · {change(transition)}"
        + (f" · {words.label}" if (words := replayed.get(transition.id)) is not None else "")
        for transition in newest
    ]
    return [f"**Lineage** {_count(lineage)}", "", *steps]


def _count(lineage: LineageDocument) -> str:
    versions, transitions = len(lineage.versions), len(lineage.transitions)
    return f"{versions} version{'s' * (versions != 1)}, {transitions} transition{'s' * (transitions != 1)}"
