"""The lineage of a kernel as a tree: its versions, newest first, each with what the step to it did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from kernel_lineage.editor.kernel_text import change, done, place
from kernel_lineage.editor.views.tree import Link, Node
from kernel_lineage.kernels.mechanisms.registry import title_of

if TYPE_CHECKING:
    from kernel_lineage.history.document import LineageDocument, TransitionDocument, VersionDocument
    from kernel_lineage.learning.replay.earlier import Words

_ICONS = {
    "optimisation": "rocket",
    "fix": "wrench",
    "refactor": "edit",
    "feature": "add",
    "revert": "discard",
}
_OF_HOST = "host"


def lineage_nodes(
    lineage: LineageDocument, replayed: Mapping[str, Words], asked: Mapping[str, Any]
) -> tuple[Node, ...]:
    """The rows. `asked` (`uri` and `kernel`) goes back with a version's commands."""
    steps: dict[str, list[TransitionDocument]] = {}
    for transition in lineage.transitions:
        steps.setdefault(transition.after, []).append(transition)
    newest = [(version, steps.get(version.id, [])) for version in reversed(lineage.versions)]
    nodes: list[Node] = []
    for folded, run in groupby(newest, lambda one: _launcher_only(one[1])):
        rows = [_version(lineage, version, into, replayed, asked) for version, into in run]
        nodes += [_fold(rows)] if folded and len(rows) > 1 else rows
    return tuple(nodes)


def _launcher_only(steps: Sequence[TransitionDocument]) -> bool:
    """Whether nothing was changed but host code that launches the kernel."""
    return bool(steps) and all(
        step.changed
        and all(part.role == _OF_HOST for part in step.changed)
        and not (step.mechanisms.added or step.mechanisms.removed or step.risk)
        for step in steps
    )


def _fold(rows: Sequence[Node]) -> Node:
    label = f"{len(rows)} steps of the launcher only"
    return Node(
        id=f"fold {rows[0].id}",
        label=label,
        icon="fold",
        spoken=f"{label}, folded",
        children=tuple(rows),
    )


def _version(
    lineage: LineageDocument,
    version: VersionDocument,
    into: Sequence[TransitionDocument],
    replayed: Mapping[str, Words],
    asked: Mapping[str, Any],
) -> Node:
    data = {**asked, "version": version.id, "commit": version.commit}
    here = place(lineage, version.id)
    if not into:
        opens = Link(command="klineage.openVersion", title="Open this version", arguments=(data,))
        return Node(
            id=version.id,
            label="the first version" if version.id == lineage.versions[0].id else "no earlier version",
            description=here,
            tooltip=_where(version),
            icon="git-commit",
            kind=_kind(version, False),
            open=opens,
            data=data,
        )
    step = into[-1]
    data["before"] = step.before
    words = replayed.get(step.id)
    launcher = "launcher only" if _launcher_only(into) else ""
    about = " · ".join(part for part in (words.label if words else "", launcher, here) if part)
    icon, color = _icon(step, words)
    return Node(
        id=version.id,
        label=done(step) or change(step),
        description=about,
        tooltip="\n".join(_tooltip(version, step)),
        icon=icon,
        color=color,
        spoken=f"{change(step)}: {about}, {step.date[:10]}",
        kind=_kind(version, True),
        open=Link(
            command="klineage.compareVersions", title="Compare with the version before", arguments=(data,)
        ),
        data=data,
        children=tuple(_details(lineage, version, into, replayed)),
    )


def _kind(version: VersionDocument, has_before: bool) -> str:
    """`version`, then what it has: ` commit`, ` before`."""
    return "version" + (" commit" if version.commit is not None else "") + (" before" if has_before else "")


def _icon(step: TransitionDocument, words: Words | None) -> tuple[str, str]:
    if words is not None and "failed" in words.label:
        return "error", "testing.iconFailed"
    color = "testing.iconPassed" if words is not None else ""
    if step.risk:
        return "warning", "list.warningForeground"
    return _ICONS.get(step.intent, "git-commit"), color


def _tooltip(version: VersionDocument, step: TransitionDocument) -> Iterator[str]:
    if step.subject:
        yield step.subject
    yield " · ".join(part for part in (step.author, step.date[:10]) if part)
    yield f"{step.kind}, {step.intent} ({step.because})"
    yield _where(version)


def _where(version: VersionDocument) -> str:
    first, last = version.lines
    return f"{version.symbol}, {version.path}:{first}-{last}"


def _details(
    lineage: LineageDocument,
    version: VersionDocument,
    into: Sequence[TransitionDocument],
    replayed: Mapping[str, Words],
) -> Iterator[Node]:
    """What a step did, one row each; of several steps into one version, each begins with where it comes from."""
    for number, step in enumerate(into):
        rows: list[tuple[str, str, str]] = []
        if len(into) > 1:
            rows.append(("git-merge", f"from {place(lineage, step.before)}", ""))
        if step.subject:
            rows.append(("comment", step.subject, f"{step.author}, {step.date[:10]}"))
        if (words := replayed.get(step.id)) is not None:
            rows.append(("beaker", words.line, ""))
        rows += [("add", title_of(mechanism), "added") for mechanism in step.mechanisms.added]
        rows += [("remove", title_of(mechanism), "removed") for mechanism in step.mechanisms.removed]
        rows += [("shield", guard.expr, "guard added") for guard in step.guards.added]
        rows += [("shield", guard.expr, "guard removed") for guard in step.guards.removed]
        rows += [("warning", risk.message, risk.kind.replace("_", " ")) for risk in step.risk]
        if step.compound:
            rows.append(("info", "several changes at once: what each is worth cannot be told", ""))
        for row, (icon, label, description) in enumerate(rows):
            name = f"{version.id} {number} {row}"
            yield Node(id=name, label=label, description=description, tooltip=label, icon=icon)
