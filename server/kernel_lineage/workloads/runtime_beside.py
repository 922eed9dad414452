"""What host code has the CUDA runtime do beside a kernel, as far as a change leaves it out.

A verdict on a kernel is on its launches, with buffers as they were before the change: where the change no longer clears
one, or copies a result elsewhere or on another condition, only the whole function is compared.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import above, inside, text_of
from kernel_lineage.kernels.source import Language, SourceFile
from kernel_lineage.kernels.words import WORD
from kernel_lineage.workloads.following.checks import arguments_of
from kernel_lineage.workloads.following.host_arrays import COPIES
from kernel_lineage.workloads.following.roles import roles_of
from kernel_lineage.workloads.following.workspaces import callee_of
from kernel_lineage.workloads.torch_beside import launching_in_cuda, same_functions

_FILLS = re.compile(r"(?:cuda|hip)Memset(?:Async)?")
_ON_DEVICE = "DeviceToDevice"


def runtime_beside(kernel: str, before: SourceFile, after: SourceFile, since: str = "") -> tuple[str, ...]:
    """The fills that a change leaves out, or makes on another condition, in functions that launch a kernel, of buffers
    that the kernel's launches there neither set whole nor no longer name; and all copies from device to device that it
    leaves out or adds there. `since` is the kernel's name after the change, by default the same.
    """
    if after.language is not Language.CUDA or before.language is not Language.CUDA:
        return ()
    old, new = launching_in_cuda(kernel, before), launching_in_cuda(since or kernel, after)
    gone: Counter[tuple[str, str]] = Counter()
    copied: set[str] = set()
    for function, later in same_functions(old, new):
        words = [
            Counter(w for code in codes for w in _done(code.body)) for codes in (old[function], new[later])
        ]
        gone += words[0] - words[1]
        differing = (words[0] - words[1]) + (words[1] - words[0])
        copied |= {word for word, _ in differing if word.partition("(")[0] in COPIES}
    needed = _kept_from_before(since or kernel, after) if gone else frozenset[str]()
    return tuple(sorted(copied | {word for word, buffer in gone if buffer in needed}))


def _done(body: Node) -> Iterator[tuple[str, str]]:
    """The fills and the copies on the device in a function, with their conditions, and the buffer of each."""
    for node in inside(body):
        name = callee_of(node) if node.type == "call_expression" else ""
        if not (_FILLS.fullmatch(name) or name in COPIES):
            continue
        words = [" ".join(text_of(a).split()) for a in arguments_of(node.child_by_field_name("arguments"))]
        if not words or (name in COPIES and not any(_ON_DEVICE in word for word in words)):
            continue
        tests = [
            " ".join(text_of(around.child_by_field_name("condition")).split())
            for around in above(node)
            if around.type == "if_statement"
        ]
        where = f" where {' and '.join(tests)}" if tests else ""
        yield f"{name}({', '.join(words[:3])}){where}", _named(words[0])


def _kept_from_before(kernel: str, after: SourceFile) -> frozenset[str]:
    """The buffers, as the launches of a kernel name them, of which it does not set every element that it reads."""
    own = after.kernel(kernel)
    if own is None:
        return frozenset()
    roles = roles_of(own)
    return frozenset(
        _named(written)
        for launch in own.launches
        for parameter, written in zip(own.parameters, launch.arguments, strict=False)
        if roles.get(parameter.name) == "inout"
    )


def _named(expression: str) -> str:
    """The variable that an expression of a pointer begins with: `sums` of `(float*)sums + n`."""
    return next(iter(WORD.findall(re.sub(r"^\s*\([\w\s:]*\*+\s*\)", "", expression))), "")
