"""The kernels that a change touched: old and new version of each, whatever file or header the change is in.

A kernel is changed when its device code, with what it takes from headers, its launch, or what the host has the device
or PyTorch do beside the launch is other than before, comments and layout aside.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from kernel_gate.reaching import reachable
from kernel_lineage.history.named_files import names_in, packages_in
from kernel_lineage.history.objects import MAX_BLOB_BYTES
from kernel_lineage.history.similarity import code_lines
from kernel_lineage.history.trees import Tree
from kernel_lineage.kernels.budget import beyond_budget
from kernel_lineage.kernels.reading import kernels_of, language_of, refusal
from kernel_lineage.kernels.source import Kernel, Language
from kernel_lineage.kernels.words import WORD
from kernel_lineage.learning.other_launches import launched_otherwise, tokens
from kernel_lineage.learning.reached_files import reached
from kernel_lineage.learning.same_kernel import Place, launcher_of, merged, moved, replaced, taken_over
from kernel_lineage.workloads.device_code import device_text
from kernel_lineage.workloads.skipped_launches import asked_before
from kernel_lineage.workloads.triton.joined_modules import hosts_of
from kernel_lineage.workloads.triton_module import kernel_module
from kernel_lineage.workloads.triton_siblings import siblings_of, taken_whole
from kernel_lineage.workloads.work_beside import work_beside

_DEFINE = re.compile(r"\s*#\s*define\s+(\w+)(.*)")
_INCLUDE = re.compile(rb"^[ \t]*#[ \t]*include[ \t]*[\"<]([^\"<>\n]+)[\">]", re.MULTILINE)
_LINE_DIRECTIVE = re.compile(r"^\s*#\s*line\b.*$", re.MULTILINE)

_MOVED = "it is a submodule at another commit, or changed, and what kernels took from it before is not here any more"


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
    by_host: bool = False
    """Whether `after` is only the first of what a host function launches since in the place of `before`."""
    function: str = ""
    """The host function that is judged in the place of its kernels, where it does the work of several with others."""
    hosts: tuple[str, str] = ("", "")
    """The files of the host function before and after, where those are others than the kernels'."""
    launched_otherwise: bool = False
    """Whether another file than the kernel's own launches it in another way than before."""

    @property
    def by_another_module(self) -> bool:
        """Whether the change is one of how another module launches a Triton kernel, which its host function tells."""
        return self.launched_otherwise and self.after.kernel.language is Language.TRITON

    @property
    def name(self) -> str:
        """What a verdict names: the host function, else the kernel as it is now."""
        return self.function or self.after.kernel.name

    @property
    def former(self) -> str:
        """What a workload is for: the host function, else the kernel as it was."""
        return self.function or self.before.kernel.name


@dataclass(frozen=True, slots=True)
class UnreadFile:
    """A file that changed, may hold kernels, and cannot be read in one of the states."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class Changes:
    """What differs between two states."""

    changed: tuple[ChangedKernel, ...]
    """In the order of the new files."""
    unread: tuple[UnreadFile, ...]
    new: tuple[Sighting, ...]
    """Kernels that stand in the place of none: nothing can be compared with them."""
    gone: tuple[Sighting, ...]
    """Kernels in whose place none stands."""


class UnreadFileError(ValueError):
    """Nothing tells which kernels of a file changed; the message says why, and what to do."""


def changed_kernels(before: Tree, after: Tree) -> tuple[ChangedKernel, ...]:
    """The changed ones of `changes_between`. Raises `UnreadFileError` where one of the files cannot be read."""
    changes = changes_between(before, after, whole=False)
    for one in changes.unread:
        raise UnreadFileError(f"{one.path}: {one.why}, so that no kernel of it can be judged")
    return changes.changed


def changes_between(
    before: Tree,
    after: Tree,
    files: Collection[str] = (),
    *,
    within: Collection[str] = (),
    whole: bool = True,
) -> Changes:
    """The kernels that differ, and the files that cannot be read.

    `files` restricts the new paths (a folder: all in it). `within` are the files to look at where the caller knows
    them; by default those that differ, and those that take something from them. In an edit that
    is not the `whole` change a kernel may be gone from its file, and be launched there still.
    """
    touched = set(within)
    if not touched:
        every = before.files | after.files | before.large.keys() | after.large.keys()
        touched = {p for p in every if before.differs(after, p)}
        touched |= reached(before, after, touched)
    elsewhere = launched_otherwise(before, after, touched)
    touched |= {path for path, _ in elsewhere}
    unread = {p: why for p in touched if _wanted(p, files) and (why := _unread(p, before, after))}
    unread |= {p: _MOVED for p in _moved_submodules(before, after) if whole and _wanted(p, files)}
    pairs, gone, arrived = _paired(_sightings(before, touched), _sightings(after, touched))
    others, gone, arrived = _through_hosts(gone, arrived)
    pairs += others
    for one in gone:
        if _wanted(one.path, files) and _is_used(one.kernel, after.read(one.path) or b"", launched=whole):
            why = (
                f"in {after.name} kernel `{one.kernel.name}` is not seen any more, and its name is still used"
            )
            unread.setdefault(one.path, why)
    pairs = [replace(c, launched_otherwise=(c.after.path, c.after.kernel.name) in elsewhere) for c in pairs]
    changed = [
        c
        for c in pairs
        if _wanted(c.after.path, files)
        and (c.launched_otherwise or essence(c.before) != essence(c.after) or _is_used_otherwise(c))
    ]
    changed.sort(key=lambda c: (c.after.path, c.after.kernel.span.start, c.before.path))
    return Changes(
        tuple(changed),
        tuple(UnreadFile(*one) for one in sorted(unread.items())),
        tuple(one for one in arrived if _wanted(one.path, files)),
        tuple(one for one in gone if _wanted(one.path, files)),
    )


def _paired(
    old: Mapping[Place, Sighting], new: Mapping[Place, Sighting]
) -> tuple[list[ChangedKernel], list[Sighting], list[Sighting]]:
    """Which kernel is which, those that went, and those that came and stand in the place of none.

    One that host functions merge with others is there once for each of them.
    """
    pairs = [(place, place) for place in sorted(old.keys() & new.keys())]
    gone, arrived = sorted(old.keys() - new.keys()), sorted(new.keys() - old.keys())
    texts = [old[place].kernel for place in gone], [new[place].kernel for place in arrived]
    pairs += [(gone[i], arrived[j]) for i, j in moved(*texts)]
    free = new.keys() - {place for _, place in pairs}
    before, after = ({place: seen.kernel for place, seen in seen_at.items()} for seen_at in (old, new))
    pairs += replaced(before, after, free)
    taken = dict(taken_over(before, after, set(gone) - {place for place, _ in pairs}))
    pairs += taken.items()
    went = set(gone) - {place for place, _ in pairs}
    came = new.keys() - {place for _, place in pairs}
    wholes = list(merged(before, after, pairs))
    judged = {(one, function) for one, _, function in wholes}
    return (
        [
            ChangedKernel(old[one], new[other], by_host=one in taken)
            for one, other in pairs
            # One that another function launches too is judged by itself as well.
            if not before[one].launches
            or any((one, launcher_of(before[one], x)) not in judged for x in before[one].launches)
        ]
        + [ChangedKernel(old[one], new[other], function=function) for one, other, function in wholes],
        [old[place] for place in sorted(went)],
        [new[place] for place in sorted(came)],
    )


def _through_hosts(
    gone: Sequence[Sighting], arrived: Sequence[Sighting]
) -> tuple[list[ChangedKernel], list[Sighting], list[Sighting]]:
    """The kernels that went and whose host function, which may be in another file, launches ones that came; and those
    that are left of both. The function is of the same file, or the only one of its name in both states.
    """
    triton = [
        [seen for seen in those if seen.kernel.language is Language.TRITON] for those in (gone, arrived)
    ]
    if not all(triton):
        return [], [*gone], [*arrived]
    before, after = (
        [
            (file, name, seen)
            for seen in those
            for file, name in hosts_of(seen.kernel, seen.file, seen.tree.root)
        ]
        for those in triton
    )
    pairs: dict[tuple[str, str], ChangedKernel] = {}
    taken: list[Sighting] = []
    for file, name, seen in before:
        own = host_within(file, seen.tree)
        later = [(f, s) for f, n, s in after if n == name and host_within(f, s.tree) == own]
        if not later:
            files = {f for f, n, _ in after if n == name}
            alone = len(files) == len({f for f, n, _ in before if n == name}) == 1
            later = [(f, s) for f, n, s in after if n == name] if alone else []
        if later and (seen.path, seen.kernel.name) not in pairs:
            hosts = own, host_within(later[0][0], later[0][1].tree)
            pairs[seen.path, seen.kernel.name] = ChangedKernel(seen, later[0][1], function=name, hosts=hosts)
            taken += [s for _, s in later]
    return (
        [*pairs.values()],
        [seen for seen in gone if (seen.path, seen.kernel.name) not in pairs],
        [seen for seen in arrived if seen not in taken],
    )


def host_within(file: Path, tree: Tree) -> str:
    """A file of a tree by its path in it."""
    return file.relative_to(tree.root.resolve()).as_posix()


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


def _moved_submodules(before: Tree, after: Tree) -> set[str]:
    """The submodules that are at another commit, or changed, and hold what a kernel's directive or import may name."""
    old, new = before.submodules, after.submodules
    if old is None or new is None:
        return set()
    moved = {p for p in old.keys() | new.keys() if old.get(p) != new.get(p)}
    if not moved:
        return set()
    texts = {p: after.read(p) or b"" for p in after.files}
    names = {name for p, data in texts.items() for name in names_in(p, data)}
    packages = {name for p, data in texts.items() for name in packages_in(p, data)}
    names |= packages | {f"{package}.py" for package in packages}
    if not names:
        return set()
    inside = {p: after.root / p for p in moved}
    # Where a submodule is not checked out, nothing tells what it holds.
    return {
        p
        for p, top in inside.items()
        if not any(top.glob("*"))
        or packages.intersection(PurePosixPath(p).parts)
        or any(f.name in names for f in top.rglob("*"))
    }


def _is_used(kernel: Kernel, data: bytes, *, launched: bool) -> bool:
    """Whether code still defines, calls or, if asked, launches what has a kernel's name: we may miss its head."""
    name = re.escape(kernel.name.rsplit("::", 1)[-1])
    code = "\n".join(code_lines(data.decode("utf-8", "replace"), kernel.language is Language.TRITON))
    uses = rf"\b{name}\s*\(" + (rf"|\b{name}\s*(?:<[^;{{}}]{{0,500}}>\s*)?(?:<<<|\[)" if launched else "")
    return re.search(uses, code) is not None


def _sightings(tree: Tree, paths: Collection[str]) -> dict[Place, Sighting]:
    return {
        (path, kernel.name): Sighting(kernel, path, tree)
        for path in sorted(paths)
        for kernel in kernels_of(path, tree.read(path))
    }


def essence(seen: Sighting) -> tuple[object, ...]:
    """What must be the same for a kernel to be the same."""
    kernel = seen.kernel
    python = kernel.language is Language.TRITON
    if python:
        text, beside = _of_module(seen)
    else:
        text = _LINE_DIRECTIVE.sub("", device_text(kernel, seen.file, root=seen.tree.root))
        beside = _left_to_include(seen, text)
        text = _without_unused_macros(text)
    launches = tuple(
        (x.grid, x.block, x.shared_bytes, x.arguments, tuple(x.options.items()), tuple(x.definitions.items()))
        for x in kernel.launches
    )
    asked = (
        tuple(asked_before(kernel.source, x) for x in kernel.launches) if kernel.source is not None else ()
    )
    text = re.sub(rf"\b{re.escape(kernel.name)}\b", "kernel", text)
    return _tree(text) if python else tokens(code_lines(text, python)), beside, launches, asked


def _is_used_otherwise(changed: ChangedKernel) -> bool:
    """Whether host code that launches a kernel does other work beside it than before, or goes through its launches in
    another way.
    """
    before, after = changed.before.kernel.source, changed.after.kernel.source
    if before is None or after is None or before.language is not after.language:
        return False
    name, since = changed.before.kernel.name, changed.after.kernel.name
    return bool(work_beside(name, before, after, since))


def _of_module(seen: Sighting) -> tuple[str, tuple[object, ...]]:
    """The part of its module that a Triton kernel reaches, and what it reaches of others.

    Where nothing tells which part that is, it is the whole of them.
    """
    kernel = seen.kernel
    whole = kernel.source.data.decode("utf-8", "replace") if kernel.source is not None else ""
    try:
        if (text := kernel_module(whole, kernel.name)) is None:
            text = whole
        parts, wholes = siblings_of(text, seen.file)[1], taken_whole(whole, text, seen.file)
        return text, tuple((p, *_tree(other)) for p, other in sorted((parts | wholes).items()))
    except (SyntaxError, ValueError, OSError):
        return whole, tuple((p, seen.tree.read(p)) for p in sorted(seen.tree.files) if p.endswith(".py"))


def _left_to_include(seen: Sighting, text: str) -> tuple[object, ...]:
    """The files that directives of a CUDA C++ kernel's code name without being part of it, each with its contents.

    An `#include` in a function, one whose name a macro makes, a `__has_include`.
    """
    source = seen.kernel.source.data if seen.kernel.source is not None else b""
    plain = {PurePosixPath(m[1].decode("utf-8", "replace")).name for m in _INCLUDE.finditer(source)}
    waiting = [names_in(".cu", text.encode("utf-8", "replace")), names_in(".cu", source) - plain]
    contents: dict[str, bytes] = {}
    for names in waiting:
        for path in seen.tree.files if names else ():
            if PurePosixPath(path).name in names and path not in contents:
                contents[path] = seen.tree.read(path) or b""
                waiting.append(names_in(path, contents[path]))
    return tuple(sorted(contents.items()))


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


def _without_unused_macros(text: str) -> str:
    """A slice keeps every macro; those that neither code nor a conditional uses do not change what it does."""
    lines = text.replace("\\\n", " ").splitlines()
    macros = {m[1]: m[2] for line in lines if (m := _DEFINE.match(line))}
    words = (word for line in lines if not _DEFINE.match(line) for word in WORD.findall(line))
    used = reachable(words, lambda word: WORD.findall(macros.get(word, "")))
    return "\n".join(line for line in lines if not (m := _DEFINE.match(line)) or m[1] in used)


def _wanted(path: str, files: Collection[str]) -> bool:
    return not files or any(path == f or path.startswith(f.rstrip("/") + "/") for f in files)
