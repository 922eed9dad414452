"""The headers of host code that is recorded: the repository's without kernels, and stand-ins for PyTorch's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from tree_sitter import Node

from kernel_gate.build.toolkit import find_nvcc, include_dirs
from kernel_gate.files.reading import read_file
from kernel_lineage.kernels.cuda_forms import inside
from kernel_lineage.kernels.reading import read
from kernel_lineage.kernels.source import Language
from kernel_lineage.workloads.following.functions import host_code
from kernel_lineage.workloads.headers import Headers
from kernel_lineage.workloads.recording.conjunctions import with_parts
from kernel_lineage.workloads.recording.plain import KERNEL

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]', re.MULTILINE)
_TORCH = re.compile(r"(?:torch|ATen|c10|THC|pybind11|Python\.h)(?:/|$)")
_OF_CUDA = re.compile(r"(?<![\w:])(?:::)?cuda::([a-z]\w*)\s*[<(]")
_IS_KNOWN = re.compile(rb"\b(?:auto|constexpr|consteval|decltype)\b")
_IF, _ENDIF = (
    re.compile(rb"^[ \t]*#[ \t]*if", re.MULTILINE),
    re.compile(rb"^[ \t]*#[ \t]*endif", re.MULTILINE),
)


def without_kernels(text: str) -> str:
    """The text with device code that does nothing: none is run, and compiling it takes most of the time.

    What is left of a kernel is the macro that tells what it is given.
    """
    if "__global__" not in text and "__device__" not in text:
        return text
    data = text.encode()
    root = read(data, Language.CUDA).root
    parts, at = [], 0
    for node in inside(root) if root is not None else ():
        body = node.child_by_field_name("body") if node.type == "function_definition" else None
        if body is None or body.start_byte < at or body.type != "compound_statement":
            continue
        body_text = _body_of_nothing(node, data[node.start_byte : body.start_byte])
        if body_text is not None and _is_balanced(data[body.start_byte : body.end_byte]):
            lines = b"\n" * data.count(b"\n", body.start_byte, body.end_byte)
            parts += [data[at : body.start_byte], b"{", body_text.encode(), lines, b"}"]
            at = body.end_byte
    return b"".join((*parts, data[at:])).decode("utf-8", "replace")


def _body_of_nothing(function: Node, head: bytes) -> str | None:
    """What stands in the place of the body of a function of the device; None for one that stays as it is.

    What the device alone runs has a result that nobody asks for, unless that is its type or known to the compiler.
    """
    if b"__global__" in head:
        host = host_code(function)
        parameters = host.parameters if host is not None else ()
        names = ", ".join(f"{p.name}..." if p.is_pack else p.name or "unnamed" for p in parameters)
        return f"{KERNEL}({names})"
    is_device = b"__device__" in head and b"__host__" not in head
    return "" if is_device and not _IS_KNOWN.search(head) else None


def _is_balanced(text: bytes) -> bool:
    """Whether every condition of the preprocessor that begins in a text ends there."""
    return len(_IF.findall(text)) == len(_ENDIF.findall(text))


def toolkit() -> tuple[Path, ...]:
    """The folders of the toolkit's headers."""
    return include_dirs(find_nvcc().resolve().parent.parent)


def headers_of_cuda(names: Iterable[str]) -> Iterator[str]:
    """The toolkit's headers for names of namespace `cuda`: PyTorch's own headers bring them."""
    for name in names:
        for place in toolkit():
            yield from (str(p.relative_to(place)) for p in sorted(place.glob(f"cuda/__*/{name}.h"))[:1])


def include_folders(text: str, path: Path, root: Path, shims: Path) -> tuple[list[Path], list[str]]:
    """The folders that headers are found in, in the order in which they are searched; names of `cuda` in all texts.

    All headers that a text comes to are copied, as they lie in the repository, without the bodies of their kernels: a
    header that is read from two places would be two. What stands in for PyTorch's is written to `shims` as well.
    """
    root, copies = root.resolve(), shims / "repository"
    own = path.resolve().parent
    folders = {own: None}
    names = dict.fromkeys(_OF_CUDA.findall(text))
    for name, at in included(text, path, Headers(root)):
        if at is None:
            if _TORCH.match(name):
                _shim(shims, name)
            continue
        with suppress(OSError):
            header = read_file(at, within=root).decode("utf-8", "replace")
            put(copies, str(at.relative_to(root)), with_parts(without_kernels(header)))
            names |= dict.fromkeys(_OF_CUDA.findall(header))
        if str(at).endswith(f"/{name}"):
            folders[Path(str(at)[: -len(name)])] = None
    return [*(copies / place.relative_to(root) for place in folders), *folders], list(names)


def _shim(shims: Path, name: str) -> None:
    put(shims, name, '#pragma once\n#include "pytorch/all.h"\n')


def put(shims: Path, name: str, text: str) -> bool:
    """Write a header by the name that a text has for it, once; one that no file there can have stays missing."""
    with suppress(OSError, ValueError):
        target = (shims / name).resolve()
        if target.is_relative_to(shims.resolve()) and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, "utf-8", errors="replace")
            return True
    return False


def included(text: str, path: Path, headers: Headers) -> Iterator[tuple[str, Path | None]]:
    """What a text includes, and what that includes, with where it is in the repository."""
    waiting, seen = [(text, path.resolve().parent)], set[Path]()
    while waiting:
        inner, folder = waiting.pop()
        for name in _INCLUDE.findall(inner):
            at = headers.at(folder, name)
            yield name, at
            if at is not None and at not in seen:
                seen.add(at)
                with suppress(OSError):
                    waiting.append((read_file(at, within=headers.root).decode("utf-8", "replace"), at.parent))
