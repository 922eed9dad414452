"""One line above each kernel: whether it is right, what can be done to it, how it came about; each part a command."""

from __future__ import annotations

import textwrap
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from lsprotocol import types

from kernel_lineage.editor.documents import Snapshot
from kernel_lineage.editor.judged import Judged
from kernel_lineage.editor.reaching import Reach, Reaches
from kernel_lineage.editor.server import EditorServer
from kernel_lineage.editor.soon import Soon
from kernel_lineage.kernels.naming import earlier_namesake, own_name
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.learning.version_checks import VersionState
from kernel_lineage.rewrite.standing import Standing
from kernel_lineage.workloads.headers import HEADERS

_NAMED = 3
"""Kernels that reach a function, by name."""
_UNTRUSTED = "not checked: not trusted"
_BY_NONE = "reached by no kernel of this repository"
_WHY = 80
"""Characters of a reason beside the code."""


def register(server: EditorServer) -> None:
    """Add the feature to the server."""

    def refresh() -> None:
        if _refreshes(server):
            server.workspace_code_lens_refresh(None)

    changed = Soon(refresh)

    server.offers.changed.append(changed)
    server.known_of_checks.append(changed)

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS, types.CodeLensOptions(resolve_provider=True))
    async def code_lens(params: types.CodeLensParams) -> list[types.CodeLens]:
        snapshot = await server.documents.snapshot(params.text_document.uri)
        if snapshot is None:
            return []
        lenses = [lens for kernel in snapshot.source.kernels for lens in _lenses(server, snapshot, kernel)]
        return lenses + [lens async for lens in reach_lenses(server, snapshot)]

    @server.feature(types.CODE_LENS_RESOLVE)
    async def resolve(lens: types.CodeLens) -> types.CodeLens:
        """The part that is about skills: editors resolve what is in view, so only that is tried."""
        data: Any = lens.data
        if not isinstance(data, dict) or not {"uri", "kernel", "place"} <= data.keys():
            return lens  # another server's, or one that has its command
        snapshot = await server.documents.snapshot(data["uri"])
        kernel = (
            None if snapshot is None else snapshot.source.kernel(data["kernel"], data["place"]["line"] + 1)
        )
        if snapshot is not None and kernel is not None:
            if server.checks is not None:
                server.checks.in_view(data["uri"], own_name(kernel))
            lens.command = _command(
                server, _skills(server, snapshot, kernel), "klineage.applySkill", data["place"]
            )
        return lens


def _lenses(server: EditorServer, snapshot: Snapshot, kernel: Kernel) -> Iterator[types.CodeLens]:
    at = snapshot.text.position(kernel.name_span.start)
    place = {"uri": snapshot.uri, "line": at.line, "character": at.character}
    span = snapshot.text.range(kernel.name_span)
    yield types.CodeLens(span, command=_check(server, snapshot, kernel, place))
    if server.trust.granted:
        yield types.CodeLens(span, data={"uri": snapshot.uri, "kernel": kernel.name, "place": place})
    lineage = server.lineages.of(snapshot.path, kernel.name)
    if lineage is not None and lineage.transitions:
        steps = len(lineage.transitions)
        title = f"{steps} step{'s' * (steps != 1)}"
        yield types.CodeLens(span, command=_command(server, title, "klineage.showTimeline", place))
    share = server.measured.of(snapshot.source, own_name(kernel))
    if share is not None:
        yield types.CodeLens(
            span, command=_command(server, share.words, "klineage.openRun", {"run": share.run})
        )


def _check(server: EditorServer, snapshot: Snapshot, kernel: Kernel, place: dict[str, Any]) -> types.Command:
    checks = server.checks
    judged = checks.judged_of(snapshot.uri, kernel) if checks is not None else None
    if checks is not None and own_name(kernel) in checks.in_work(snapshot.uri):
        return _command(server, "… checking", "klineage.checkKernel", place)
    if not own_name(kernel):
        title = "not checked: a kernel above has its name"
        return _command(server, title, "klineage.checkKernel", place, earlier_namesake(kernel))
    if judged is None:
        title = "draft and check" if server.trust.granted else _UNTRUSTED
        return _command(server, title, "klineage.checkKernel", place)
    document, title = judged.document, standing_of(judged)
    if document.state is VersionState.RIGHT:
        return _command(server, title, "klineage.checkKernel", place, _sentences(document.reason))
    if document.findings:
        there = {"uri": snapshot.uri, "line": document.findings[0].line - 1}
        return _command(server, title, "klineage.showFinding", there)
    return _command(server, title, "klineage.checkKernel", place)


def standing_of(judged: Judged) -> str:
    """What is known of a kernel, in a few words."""
    document = judged.document
    at = when(judged.at)
    if document.state is VersionState.RIGHT:
        drafted = ", drafted workload" if document.workload == "drafted" else ""
        return f"✓ right where {document.where}, {at}" if document.where else f"✓ right {at}{drafted}"
    if document.findings:
        first = document.findings[0]
        what = f"{in_short(first.code or 'wrong')}, line {first.line}"
        return f"? {what}, before the last edit" if judged.is_of_before else f"✗ {what}, {at}"
    if judged.is_outdated:
        return f"? edited since its check {at}"
    if document.state is VersionState.WRONG:
        return f"✗ wrong {at}"
    if judged.unreached:
        return f"? {judged.unreached}: check now"
    if judged.lacks_workload:
        return "? no workload: say what is missing"
    return f"? not decided: {textwrap.shorten(document.reason, _WHY, placeholder='…')}"


async def reach_lenses(server: EditorServer, snapshot: Snapshot) -> AsyncIterator[types.CodeLens]:
    """Above each function of a header: the kernels of other files that reach it, those that stand alike together."""
    functions = snapshot.source.device_functions
    if snapshot.path.suffix not in HEADERS or not functions:
        return
    if not server.trust.granted:
        here, title = {}, _UNTRUSTED
    else:
        asked = server.reached_from.of(snapshot.path)
        here = {} if asked is None else await _standings(server, asked)
        title = "looking for kernels that reach it …"
        if asked is not None:
            title = f"not known who reaches it: {asked.why_not}" if asked.why_not else _BY_NONE
    own = {name for kernel in snapshot.source.kernels for name in kernel.device_functions}
    for function in functions:
        span = snapshot.text.range(function.span)
        for number, ((path, standing), reaches) in enumerate(here.get(function.name, {}).items()):
            names = [reach.kernel for reach in reaches]
            rest = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
            words = f"{', '.join(names[:_NAMED])}{rest} ({path.name}): {standing}"
            there = {"uri": path.as_uri(), "line": reaches[0].line - 1}
            lead = "" if number else "reached by "
            yield types.CodeLens(span, command=_command(server, lead + words, "klineage.showFinding", there))
        if function.name not in here and (function.name not in own or title != _BY_NONE):
            yield types.CodeLens(span, command=types.Command(title, ""))


async def _standings(server: EditorServer, asked: Reaches) -> dict[str, dict[tuple[Path, str], list[Reach]]]:
    """By function, then by file and how they stand, the kernels."""
    checks = server.checks
    paths = {reach.path for reach in asked.reaches}
    judged = {path: await checks.judged_in(path) if checks is not None else {} for path in paths}
    here: dict[str, dict[tuple[Path, str], list[Reach]]] = {}
    for reach in asked.reaches:
        uri, last = reach.path.as_uri(), judged[reach.path].get(reach.kernel)
        if checks is not None and reach.kernel in checks.in_work(uri):
            standing = "… checking"
        else:
            standing = standing_of(last) if last is not None else "not checked as it stands: open it"
        here.setdefault(reach.function, {}).setdefault((reach.path, standing), []).append(reach)
    return here


def in_short(code: str) -> str:
    """A reason code in words: in a check of one kernel there is no baseline beside a candidate."""
    return code.removeprefix("baseline-").removeprefix("candidate-").replace("-", " ")


def _skills(server: EditorServer, snapshot: Snapshot, kernel: Kernel) -> str:
    offers = server.offers.of(snapshot, kernel)
    if offers is None:
        return "skills …"
    if against := server.offers.against(snapshot, kernel):
        return f"no skills while it {against}"
    guesses = 0 if server.settings.hypotheses else sum(one.hypothesis for one in offers.offers)
    count = len(offers.offers) - guesses
    waiting = sum(one.standing is Standing.NEEDS_FACT for one in offers.refused)
    parts = [f"{count or 'no'} skill{'s' * (count != 1)}"] if count or not guesses else []
    parts += [f"{guesses} hypothes{'i' if guesses == 1 else 'e'}s"] if guesses else []
    parts += [f"{waiting} need{'s' * (waiting == 1)} a fact"] if waiting else []
    return ", ".join(parts)


def _command(
    server: EditorServer, title: str, command: str, argument: dict[str, Any], tooltip: str | None = None
) -> types.Command:
    """For editors that have the extension's commands; to others the part is a text."""
    if not server.settings.command_links:
        return types.Command(title, "")
    return types.Command(title, command, tooltip, [argument])


def _sentences(reason: str) -> str:
    """What was checked and proved, a line each."""
    return reason.replace("; ", "\n")


def when(at: float) -> str:
    """`at 14:32`, with the day where it was another: an editor shows a line for as long as it likes, so no age is said.

    The zone of a machine that is not the person's, as a container's, is said.
    """
    then = time.localtime(at)
    zone = "" if then.tm_gmtoff else f" {then.tm_zone}"
    is_today = then[:3] == time.localtime(time.time())[:3]
    return time.strftime("at %H:%M" if is_today else "on %d %b at %H:%M", then) + zone


def _refreshes(server: EditorServer) -> bool:
    workspace = server.client_capabilities.workspace
    return bool(workspace and workspace.code_lens and workspace.code_lens.refresh_support)
