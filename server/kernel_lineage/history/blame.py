"""Which earlier transition a later one answers: whose lines it corrects, guards or takes back."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from kernel_lineage.history.difference import Texts
from kernel_lineage.history.model import Commit, TransitionKind
from kernel_lineage.history.walk import Edge, Walk

_AT_MOST = 400
"""How many transitions back it looks."""
_SHA = re.compile(r"\b[0-9a-f]{7,40}\b")
_PULL_REQUEST = re.compile(r"(?<![\w/])#(\d{1,6})\b")
_OWN_PULL_REQUEST = re.compile(r"\(#(\d{1,6})\)\s*$|^Merge pull request #(\d{1,6})\b")
_TELLS_NOTHING = re.compile(r"^[\s{}()\[\];,:]*$|^(?:else|return|pass|break|continue)\b[\s;:{}]*$")


def ancestors(walk: Walk, incoming: Mapping[int, Sequence[int]], version: int) -> list[int]:
    """Indices of the edges that lead to a version, nearest first, along the first parent of each."""
    chain: list[int] = []
    visited = {version}
    while len(chain) < _AT_MOST:
        edges = incoming.get(version, ())
        if not edges:
            break
        chain.append(edges[0])
        version = walk.edges[edges[0]].before
        if version in visited:
            break
        visited.add(version)
    return chain


def introduced(walk: Walk, edges: Sequence[int], edge: Edge, texts: Texts) -> tuple[int, int | None]:
    """The version that brought in most of what `edge` changes, and the transition to it; None for a first version.

    Statements that `edge` takes away or rewrites are looked for; where it only adds, those around. Layout, renames of
    files and moves do not hide where they come from. A side-by-side copy (a variant) answers for everything it took
    over: there the statements came to this kernel.
    """
    before, after = walk.nodes[edge.before], walk.nodes[edge.after]
    wanted = Counter(_touched(texts.statements(before), texts.statements(after)))
    hits: Counter[int | None] = Counter()
    first = edge.before
    for index in edges:
        earlier = walk.edges[index]
        start, end = walk.nodes[earlier.before], walk.nodes[earlier.after]
        took_over = earlier.kind is TransitionKind.VARIANT
        for statement, left in list(wanted.items()):
            brought = texts.count(end, statement) - (0 if took_over else texts.count(start, statement))
            overlap = min(left, brought)
            if overlap > 0:
                hits[index] += overlap
                wanted[statement] -= overlap
        wanted = +wanted
        first = earlier.before
        if not wanted or took_over:
            break
    else:
        hits[None] += wanted.total()
    if not hits:
        return edge.before, None
    most = max(hits.values())
    target = next((i for i in edges if hits[i] == most), None)
    return (first, None) if target is None else (walk.edges[target].after, target)


def named(
    walk: Walk, edges: Sequence[int], commit: Commit | None, commits: Mapping[str, Commit]
) -> int | None:
    """The earlier transition whose commit or pull request the message names."""
    if commit is None:
        return None
    message = f"{commit.subject}\n{commit.body}"
    shas = [s for s in _SHA.findall(message) if not s.isdigit()]
    own = _own_pull_request(commit)
    requests = {n for n in _PULL_REQUEST.findall(message) if n != own}
    for index in edges:
        sha = walk.edges[index].commit
        if sha is None or sha == commit.sha:
            continue
        if any(sha.startswith(s) for s in shas):
            return index
        if requests and sha in commits and _own_pull_request(commits[sha]) in requests:
            return index
    return None


def undone(walk: Walk, edges: Sequence[int], edge: Edge) -> int | None:
    """The earlier transition that `edge` takes back exactly: what it leads to is what that one started from.

    Where a kernel gets an earlier name back, its own body is enough.
    """
    before, after = walk.nodes[edge.before], walk.nodes[edge.after]
    for index in edges:
        earlier = walk.edges[index]
        start = walk.nodes[earlier.before]
        same = start.seen == after.seen and start.foreign == after.foreign
        renamed_back = before.symbol != after.symbol == start.symbol and start.body == after.body
        if (same or renamed_back) and earlier.kind is not TransitionKind.VARIANT:
            return index
    return None


def takes_back(walk: Walk, edge: Edge, target: int, texts: Texts) -> bool:
    """Whether most of what `edge` changes is what the earlier transition changed, the other way round."""
    then = walk.edges[target]
    old, new, start, end = (
        Counter(texts.statements(walk.nodes[i])) for i in (edge.before, edge.after, then.before, then.after)
    )
    undone = ((old - new) & (end - start)).total() + ((new - old) & (start - end)).total()
    return 2 * undone >= ((old - new) + (new - old)).total()


def _own_pull_request(commit: Commit) -> str | None:
    match = _OWN_PULL_REQUEST.search(commit.subject)
    return (match[1] or match[2]) if match else None


def _touched(old: Sequence[str], new: Sequence[str]) -> list[str]:
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    touched: list[str] = []
    around: list[str] = []
    for tag, i1, i2, _, _ in matcher.get_opcodes():
        if tag in ("replace", "delete"):
            touched += old[i1:i2]
        elif tag == "insert":
            around += old[max(0, i1 - 2) : i1 + 2]
    telling = [line for line in touched if not _TELLS_NOTHING.match(line)]
    return telling or [line for line in around if not _TELLS_NOTHING.match(line)]
