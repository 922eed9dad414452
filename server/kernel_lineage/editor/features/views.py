"""The tree views: `klineage.view` gives the rows, the other commands what the rows' own commands need."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lsprotocol import types
from lsprotocol.validators import UINTEGER_MAX_VALUE
from pydantic import Field, ValidationError

from kernel_gate.cleaning import without_links
from kernel_lineage.editor.message import Message, argument
from kernel_lineage.editor.server import EditorServer
from kernel_lineage.editor.views.devices import device_nodes
from kernel_lineage.editor.views.lineage import lineage_nodes
from kernel_lineage.editor.views.runs import run_nodes
from kernel_lineage.editor.views.skills import skill_nodes
from kernel_lineage.editor.views.tree import State, Tree, View
from kernel_lineage.history.document import VersionDocument
from kernel_lineage.skills.card_text import skill_text


class ViewRequest(Message):
    """The argument of `klineage.view`."""

    view: View
    uri: str | None = None
    """The document that the editor shows."""
    line: int = Field(default=0, ge=0, le=UINTEGER_MAX_VALUE)
    character: int = Field(default=0, ge=0, le=UINTEGER_MAX_VALUE)
    kernel: str | None = None
    """A kernel that was chosen, in place of the one at the cursor."""


class VersionRequest(Message):
    """The argument of `klineage.version` and `klineage.commit`."""

    uri: str
    kernel: str
    version: str


class CardRequest(Message):
    """The argument of `klineage.card`."""

    skill: str
    uri: str | None = None


class RunRequest(Message):
    """The argument of `klineage.run` and `klineage.stopRun`."""

    run: str


class MarksRequest(Message):
    """The argument of `klineage.lineages` and `klineage.marks`."""

    uri: str


def register(server: EditorServer) -> None:
    """Add the commands to the server."""
    server.offers.changed.append(lambda: server.changed(View.MARKS))
    server.known_of_checks.append(lambda: server.changed(View.MARKS))

    @server.command("klineage.view")
    async def view(params: types.ExecuteCommandParams) -> Any:
        request = argument(ViewRequest, params)
        match request.view:
            case View.LINEAGE:
                tree = await _lineage(server, request)
            case View.SKILLS:
                path = server.path_of(request.uri) or _workspace(server)
                library = await server.applicability.library(path and _folder(path))
                uri = None if path is None else path.as_uri()
                tree = Tree(about=str(len(library.skills)), nodes=skill_nodes(library, uri))
            case View.DEVICES:
                tree = await _devices(server)
            case _:
                tree = Tree(nodes=run_nodes(server.runs))
        return tree.model_dump(mode="json", by_alias=True)

    @server.command("klineage.lineages")
    async def lineages(params: types.ExecuteCommandParams) -> Any:
        path = server.path_of(argument(MarksRequest, params).uri)
        root = None if path is None else server.lineages.root_of(path)
        if path is None or root is None:
            return []
        return [
            {
                "kernel": kernel,
                "path": place,
                "uri": (root / place).as_uri(),
                "versions": len(lineage.versions),
            }
            for (place, kernel), lineage in sorted(server.lineages.named(path).items())
        ]

    @server.command("klineage.version")
    async def version(params: types.ExecuteCommandParams) -> Any:
        request = argument(VersionRequest, params)
        pair = _version(server, request)
        if pair is None:
            return {"reason": f"{request.kernel} has no such version any more"}
        path, asked = pair
        root = server.lineages.root_of(path) or path.parent
        line = asked.lines[0]
        if asked.commit is None:
            return {
                "uri": (root / asked.path).as_uri(),
                "line": line,
                "title": f"{asked.path} (working tree)",
            }
        text = await server.lineages.git(path, "cat-file", "blob", asked.blob)
        if isinstance(text, str):
            return {"reason": f"{asked.path} at {asked.commit[:7]} cannot be read: {text}"}
        return {
            "text": text.decode("utf-8", "replace"),
            "path": asked.path,
            "line": line,
            "title": f"{asked.symbol} {asked.commit[:7]}",
        }

    @server.command("klineage.commit")
    async def commit(params: types.ExecuteCommandParams) -> Any:
        request = argument(VersionRequest, params)
        pair = _version(server, request)
        if pair is None or pair[1].commit is None:
            return {"reason": f"this version of {request.kernel} is in no commit"}
        path, asked = pair
        plain = ("--no-color", "--no-ext-diff", "--no-textconv", "--no-show-signature", "--stat", "--patch")
        text = await server.lineages.git(path, "show", *plain, "--end-of-options", asked.commit or "")
        if isinstance(text, str):
            return {"reason": f"the commit cannot be shown: {text}"}
        return {"text": text.decode("utf-8", "replace"), "title": (asked.commit or "")[:7]}

    @server.command("klineage.card")
    async def card(params: types.ExecuteCommandParams) -> Any:
        request = argument(CardRequest, params)
        path = server.path_of(request.uri)
        library = await server.applicability.library(path and _folder(path))
        skill = library.get(request.skill)
        if skill is None:
            return None
        return {"title": skill.title, "markdown": without_links(skill_text(skill))}

    @server.command("klineage.run")
    async def run(params: types.ExecuteCommandParams) -> Any:
        entry = server.runs.get(argument(RunRequest, params).run)
        if entry is None:
            return None
        return {"title": entry.title, "markdown": without_links(entry.page), "html": entry.drawn or None}

    @server.command("klineage.stopRun")
    async def stop_run(params: types.ExecuteCommandParams) -> Any:
        entry = server.runs.get(argument(RunRequest, params).run)
        stops = entry is not None and entry.stop is not None
        if entry is not None and entry.stop is not None:
            entry.stop()
        return stops

    @server.command("klineage.clearRuns")
    async def clear_runs(params: types.ExecuteCommandParams) -> Any:
        del params
        server.runs.clear()

    @server.command("klineage.marks")
    async def marks(params: types.ExecuteCommandParams) -> Any:
        """Lines (1-based) at which a skill can be applied now, as far as it was tried."""
        uri = argument(MarksRequest, params).uri
        snapshot = await server.documents.snapshot(uri)
        if snapshot is None:
            return []
        library = await server.applicability.library(snapshot.path.parent)
        titles = {skill.id: skill.title for skill in library}
        by_line: dict[int, list[str]] = {}
        for kernel in snapshot.source.kernels:
            offers = server.offers.ready(snapshot, kernel)
            for offer in offers.offers if offers is not None else ():
                if offer.hypothesis and not server.settings.hypotheses:
                    continue
                by_line.setdefault(offer.line, []).append(titles.get(offer.skill, offer.skill))
        return [
            {"line": line, "skills": list(dict.fromkeys(skills))} for line, skills in sorted(by_line.items())
        ]


async def _lineage(server: EditorServer, request: ViewRequest) -> Tree:
    path = server.path_of(request.uri)
    if request.uri is None or path is None:
        return Tree(state=State.NO_KERNEL)
    kernel = request.kernel or await _kernel_at(server, request.uri, request.line, request.character)
    if kernel is None:
        return Tree(state=State.NO_KERNEL)
    server.lineages.touch(path)
    lineage = server.lineages.of(path, kernel)
    if lineage is None:
        state, reason = server.lineages.absence(path)
        return Tree(state=state, reason=reason, about=kernel)
    asked = {"uri": request.uri, "kernel": kernel}
    nodes = lineage_nodes(lineage, server.lineages.replayed(path), asked)
    return Tree(about=kernel, nodes=nodes)


async def _kernel_at(server: EditorServer, uri: str, line: int, character: int) -> str | None:
    snapshot = await server.documents.snapshot(uri)
    if snapshot is None:
        return None
    kernel = snapshot.kernel_at(snapshot.text.offset(types.Position(line, character)))
    only = snapshot.source.kernels[0] if len(snapshot.source.kernels) == 1 else None
    chosen = kernel or only
    return None if chosen is None else chosen.name


async def _devices(server: EditorServer) -> Tree:
    if (refusal := server.trust.refusal) is not None:
        return Tree(state=State.UNTRUSTED, reason=refusal)
    from kernel_lineage.rewrite.doctor_document import DoctorDocument

    finished = await server.trust.klineage(
        "doctor", "--json", folder=_folder(_workspace(server) or Path.cwd())
    )
    try:
        examined = DoctorDocument.model_validate_json(finished.stdout)
    except ValidationError:
        message = finished.last_lines[-1] if finished.last_lines else f"it ended with code {finished.code}"
        return Tree(state=State.PROBLEM, reason=f"klineage doctor told nothing: {message}")
    return Tree(about=f"klineage.device: {server.settings.device}", nodes=device_nodes(examined))


def _version(server: EditorServer, request: VersionRequest) -> tuple[Path, VersionDocument] | None:
    """A version by its id among those that mining gave: no other blob or commit is asked for."""
    path = server.path_of(request.uri)
    lineage = None if path is None else server.lineages.of(path, request.kernel)
    if path is None or lineage is None:
        return None
    asked = next((v for v in lineage.versions if v.id == request.version), None)
    return None if asked is None else (path, asked)


def _folder(path: Path) -> Path:
    return path if path.is_dir() else path.parent


def _workspace(server: EditorServer) -> Path | None:
    """The first folder of the window."""
    folders: Iterator[Path | None] = (server.path_of(uri) for uri in server.workspace.folders)
    return next((folder for folder in folders if folder is not None), None)
