"""Buffers that a kernel keeps its own intermediate results in: nobody reads what a launch leaves there.

How a workspace is laid out is a kernel's own choice, so two right states may leave other values in it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import takewhile

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import above, inside, text_of
from kernel_lineage.workloads.following.bodies import Frame
from kernel_lineage.workloads.following.functions import HostCode
from kernel_lineage.workloads.following.library import ALLOCATORS, bare_pointer
from kernel_lineage.workloads.following.loops import sites_of
from kernel_lineage.workloads.following.unit import Unit

CLEARS = frozenset({"cudaMemset", "cudaMemsetAsync"})
"""Functions that set a buffer's bytes."""
KEEPERS = ALLOCATORS | CLEARS | {"cudaFree", "cudaFreeAsync"}
"""Functions that are handed a buffer and read nothing of it."""
_DECLARES = ("pointer_declarator", "declaration")
_DEPTH = 4
"""Callers of callers that are looked at."""
_OUTSIDE = ""
"""What uses a buffer that comes from outside of all functions on the way."""


def is_workspace(argument: str, kernel: str, frames: tuple[Frame, ...], others: Collection[str]) -> bool:
    """Whether a buffer, as a launch is given it, is handed to nobody but that launch from where it is allocated.

    It holds nothing before a launch, or zeros: what else is set once, by whom, a launch may count on. `others` are the
    other buffers that the launch writes. One of them has to be read by somebody: a function that reads no result at
    all does not tell results from workspaces.
    """
    uses = list(_uses(argument, kernel, frames))
    if any(use not in KEEPERS or fills for use, fills in uses) or not any(u in ALLOCATORS for u, _ in uses):
        return False
    return any(use not in KEEPERS for other in others for use, _ in _uses(other, kernel, frames))


def workspaces(kernel: str, written: Collection[int], unit: Unit) -> frozenset[int]:
    """Those of the arguments that a kernel writes which are workspaces at each of its launches, by their places."""
    launches = [
        (frames, _texts_of(call))
        for function, call in sites_of(kernel, unit)
        for frames in _ways(function, Frame(function), unit, _DEPTH)
    ]

    def is_own(place: int, frames: tuple[Frame, ...], texts: Sequence[str]) -> bool:
        others = [texts[at] for at in written if at != place and at < len(texts)]
        return place < len(texts) and is_workspace(texts[place], kernel, frames, others)

    return frozenset(place for place in written if launches and all(is_own(place, *way) for way in launches))


def _ways(function: HostCode, innermost: Frame, unit: Unit, depth: int) -> Iterator[tuple[Frame, ...]]:
    """The functions on the ways to a call, from those that nobody of the unit calls; `innermost` where nobody does."""
    callers = list(sites_of(function.name, unit)) if depth else []
    for caller, call in callers:
        inner = Frame(function, function.name, tuple(_texts_of(call)))
        yield from ((*way, inner) for way in _ways(caller, Frame(caller), unit, depth - 1))
    if not callers:
        yield (innermost,)


def _uses(argument: str, kernel: str, frames: tuple[Frame, ...]) -> Iterator[tuple[str, bool]]:
    """What is handed a buffer on the way up to where it comes from, the way itself left out.

    With each, whether it sets the buffer otherwise than to the zeros that the launcher sets before each launch.
    """
    name, taking = bare_pointer(argument.partition("+")[0]), kernel
    for frame in reversed(frames) if name.isidentifier() else ():
        body = frame.function.body
        for node in _named(body, name):
            call = call_around(node, body)
            if call is None and node.parent is not None and node.parent.type in _DECLARES:
                continue
            if call is None or not _is_way_or_other(call, body, taking):
                use = callee_of(call) if call is not None else text_of(node.parent)
                is_cleared = frame is frames[-1] and _texts_of(call)[1:2] == ["0"]
                yield use, use in CLEARS and not is_cleared
        places = [p.name for p in frame.function.parameters]
        if name not in places:
            return
        at, taking = places.index(name), frame.callee
        name = bare_pointer(frame.arguments[at].partition("+")[0]) if at < len(frame.arguments) else ""
        if not name.isidentifier():
            break
    yield _OUTSIDE, False


def _is_way_or_other(call: Node, body: Node, taking: str) -> bool:
    """Whether a call leads to the launch, or is taken in another case of a switch in the place of one that does."""
    return _is_way(call, taking) or any(
        _are_alternatives(call, way, body) for way in _calls(body) if _is_way(way, taking)
    )


def _is_way(call: Node, taking: str) -> bool:
    """Whether a call is one of the function that leads to the launch, or is handed that function."""
    return callee_of(call) == taking or taking in _texts_of(call)


def _are_alternatives(one: Node, other: Node, body: Node) -> bool:
    """Whether two calls stand in two cases of one switch, of which a caller takes one."""
    ours, theirs = _cases(one, body), _cases(other, body)
    return any(
        a.id != b.id and a.parent is not None and b.parent is not None and a.parent.id == b.parent.id
        for a in ours
        for b in theirs
    )


def _cases(node: Node, body: Node) -> list[Node]:
    return [around for around in _up_to(node, body) if around.type == "case_statement"]


def call_around(node: Node, body: Node) -> Node | None:
    """The innermost call that a name is an argument of."""
    return next((around for around in _up_to(node, body) if around.type == "call_expression"), None)


def _up_to(node: Node, body: Node) -> Iterator[Node]:
    return takewhile(lambda around: around.id != body.id, above(node))


def callee_of(call: Node) -> str:
    """What a call names as its function, without arguments of a template."""
    return text_of(call.child_by_field_name("function")).split("<")[0].strip()


def _texts_of(call: Node | None) -> list[str]:
    arguments = call.child_by_field_name("arguments") if call is not None else None
    return (
        [text_of(a) for a in arguments.named_children if a.type != "comment"] if arguments is not None else []
    )


def _named(body: Node, name: str) -> Iterator[Node]:
    return (node for node in inside(body) if node.type == "identifier" and text_of(node) == name)


def _calls(body: Node) -> Iterator[Node]:
    return (node for node in inside(body) if node.type == "call_expression")
