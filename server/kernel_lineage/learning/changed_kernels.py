"""The kernels that a change touched: old and new version of each, whatever file or header the change is in.

A kernel is changed when its device code, with what it takes from headers, or its launch is other than before, comments
and layout aside. One that was renamed or moved is matched by its text, as mining matches it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kernel_lineage.history.likeness import RENAMED_AT_LEAST
from kernel_lineage.history.objects import MAX_BLOB_BYTES
from kernel_lineage.history.similarity import Similarity, code_lines
from kernel_lineage.history.trees import Tree
from kernel_lineage.kernels.budget import beyond_budget
from kernel_lineage.kernels.reading import language_of, read, refusal
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.learning.reached_files import reached
from kernel_lineage.workloads.programs import device_text
from kernel_lineage.workloads.triton_module import kernel_module
from kernel_lineage.workloads.triton_siblings import siblings_of

_DEFINE = re.compile(r"\s*#\s*define\s+(\w+)(.*)")
_WORD = re.compile(r"[A-Za-z_]\w*")
_BLANK = re.compile(
    r"^\s+|\s+$|(?<=[^\w])\s+(?=\w)|(?<=\w)\s+(?=[^\w])|(?<=[(){}\[\],;])\s+|\s+(?=[(){}\[\],;])"
)
"""White space at an end, beside a bracket, or between a word and what is none: not what parts `a b` or `+ +`."""
_LINE_DIRECTIVE = re.compile(r"^\s*#\s*line\b.*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Sighting:
    """A kernel in one state of the repository."""

    kernel: Kernel
    path: str
    """Relative to the repository."""
    tree: Tree

    @property
    def file(self) -> Path:
        """Where the file is on disk."""
        return self.tree.root / self.path


@dataclass(frozen=True, slots=True)
class ChangedKernel:
    """A kernel before and after."""

    before: Sighting
    after: Sighting


@dataclass(frozen=True, slots=True)
class UnreadFile:
    """A file that changed, may hold kernels, and cannot be read in one of the states."""

    path: str
    why: str


class UnreadFileError(ValueError):
    """Nothing tells which kernels of a file changed; the message says why, and what to do."""


def changed_kernels(
    before: Tree, after: Tree, files: Collection[str] = (), *, within: Collection[str] = ()
) -> tuple[ChangedKernel, ...]:
    """As `changes_between`. Raises `UnreadFileError` where one of the files cannot be read."""
    changed, unread = changes_between(before, after, files, within=within, whole=False)
    for one in unread:
        raise UnreadFileError(f"{one.path}: {one.why}, so that no kernel of it can be judged")
    return changed


def changes_between(
    before: Tree,
    after: Tree,
    files: Collection[str] = (),
    *,
    within: Collection[str] = (),
    whole: bool = True,
) -> tuple[tuple[ChangedKernel, ...], tuple[UnreadFile, ...]]:
    """The kernels that differ, in the order of their new files, and the files that cannot be read.

    `files` restricts the new paths (a folder: all in it). Kernels that are new, or gone, have nothing to be compared
    with and are left out. `within` are the files to look at where the caller knows them; by default those that differ,
    and those that take something from them. In an edit that
    is not the `whole` change a kernel may be gone from its file, and be launched there still.
    """
    touched = set(within)
    if not touched:
        every = before.files | after.files | before.large.keys() | after.large.keys()
        touched = {p for p in every if before.differs(after, p)}
        touched |= reached(before, after, touched)
    unread = {p: why for p in touched if _wanted(p, files) and (why := _unread(p, before, after))}
    old = {(s.path, s.kernel.name): s for p in sorted(touched) for s in _sightings(before, p)}
    new = {(s.path, s.kernel.name): s for p in sorted(touched) for s in _sightings(after, p)}
    pairs = [(old.pop(place), new.pop(place)) for place in sorted(old.keys() & new.keys())]
    pairs += _renamed(list(old.values()), list(new.values()))
    for path, name in sorted(old.keys() - {(b.path, b.kernel.name) for b, _ in pairs}):
        if _wanted(path, files) and _is_used(old[path, name].kernel, after.read(path) or b"", launched=whole):
            why = f"in {after.name} kernel `{name}` is not seen any more, and its name is still used"
            unread.setdefault(path, why)
    changed = [ChangedKernel(b, a) for b, a in pairs if _wanted(a.path, files) and essence(b) != essence(a)]
    changed.sort(key=lambda c: (c.after.path, c.after.kernel.span.start))
    return tuple(changed), tuple(UnreadFile(*one) for one in sorted(unread.items()))


def _unread(path: str, *trees: Tree) -> str:
    """Why a file cannot be read in one of the states, where it may hold kernels; "" where it can."""
    for tree in trees:
        if path in tree.large:
            return f"in {tree.name} it is larger than {MAX_BLOB_BYTES >> 20} MiB, or its contents are missing"
        data = tree.read(path)
        language = language_of(path, data) if data is not None else None
        if (
            data is not None
            and language is not None
            and (why := refusal(data) or beyond_budget(data, language))
        ):
            return f"in {tree.name} {why}"
    return ""


def _is_used(kernel: Kernel, data: bytes, *, launched: bool) -> bool:
    """Whether code still defines, calls or, if asked, launches what has a kernel's name: we may miss its head."""
    name = re.escape(kernel.name.rsplit("::", 1)[-1])
    code = "\n".join(code_lines(data.decode("utf-8", "replace"), kernel.language is Language.TRITON))
    uses = rf"\b{name}\s*\(" + (rf"|\b{name}\s*(?:<[^;{{}}]{{0,500}}>\s*)?(?:<<<|\[)" if launched else "")
    return re.search(uses, code) is not None


def _sightings(tree: Tree, path: str) -> Iterator[Sighting]:
    data = tree.read(path)
    language = language_of(path, data) if data is not None else None
    if data is not None and language is not None:
        yield from (Sighting(kernel, path, tree) for kernel in read(data, language).kernels)


def _renamed(gone: list[Sighting], arrived: list[Sighting]) -> Iterator[tuple[Sighting, Sighting]]:
    """Pairs of what went and what came, best pairs first."""
    texts = {str(i): s.kernel.text for i, s in enumerate([*gone, *arrived])}
    similarity = Similarity(texts.__getitem__)
    scored = []
    for i, one in enumerate(gone):
        for j, other in enumerate(arrived):
            if one.kernel.language is other.kernel.language:
                python = one.kernel.language is Language.TRITON
                scored.append((similarity.ratio(str(i), str(len(gone) + j), python), i, j))
    used: set[tuple[str, int]] = set()
    for score, i, j in sorted(scored, key=lambda s: (-s[0], s[1], s[2])):
        if score >= RENAMED_AT_LEAST and ("gone", i) not in used and ("arrived", j) not in used:
            used |= {("gone", i), ("arrived", j)}
            yield gone[i], arrived[j]


def essence(seen: Sighting) -> tuple[object, ...]:
    """What must be the same for a kernel to be the same."""
    kernel = seen.kernel
    python = kernel.language is Language.TRITON
    beside: tuple[object, ...] = ()
    if python:
        data = kernel.source.data if kernel.source is not None else b""
        try:
            text = kernel_module(data.decode("utf-8", "replace"), kernel.name) or kernel.text
            beside = tuple(
                (path, *_tree(other)) for path, other in sorted(siblings_of(text, seen.file)[1].items())
            )
        except (SyntaxError, ValueError, OSError):
            text = kernel.text
    else:
        text = _without_unused_macros(
            _LINE_DIRECTIVE.sub("", device_text(kernel, seen.file, root=seen.tree.root))
        )
    launches = tuple(
        (x.grid, x.block, x.shared_bytes, x.arguments, tuple(x.options.items()), tuple(x.definitions.items()))
        for x in kernel.launches
    )
    text = re.sub(rf"\b{re.escape(kernel.name)}\b", "kernel", text)
    return _tree(text) if python else _tokens(code_lines(text, python)), beside, launches


def _tree(text: str) -> tuple[str, ...]:
    """What Python reads: blocks count, which are layout elsewhere; comments and texts that stand alone do not."""
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return tuple(line.rstrip() for line in text.splitlines() if line.strip())
    for node in ast.walk(module):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            kept = [
                one for one in body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
            ]
            node.body = kept or [ast.Pass()]  # type: ignore[attr-defined]
    return (ast.dump(module),)


def _tokens(lines: Iterable[str]) -> tuple[str, ...]:
    """C++ without the blanks and line ends that part nothing; directives stay lines."""
    parts = [""]
    for line in lines:
        if line.startswith("#"):
            parts += [line, ""]
        else:
            parts[-1] += f" {line}"
    return tuple(_BLANK.sub("", part) for part in parts)


def _without_unused_macros(text: str) -> str:
    """A slice keeps every macro; those that neither code nor a conditional uses do not change what it does."""
    lines = text.replace("\\\n", " ").splitlines()
    macros = {m[1]: m[2] for line in lines if (m := _DEFINE.match(line))}
    waiting = [word for line in lines if not _DEFINE.match(line) for word in _WORD.findall(line)]
    used: set[str] = set()
    while waiting:
        word = waiting.pop()
        if word in macros and word not in used:
            used.add(word)
            waiting += _WORD.findall(macros[word])
    return "\n".join(line for line in lines if not (m := _DEFINE.match(line)) or m[1] in used)


def _wanted(path: str, files: Collection[str]) -> bool:
    return not files or any(path == f or path.startswith(f.rstrip("/") + "/") for f in files)
