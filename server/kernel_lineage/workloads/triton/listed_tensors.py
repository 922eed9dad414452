"""Parameters of host functions that are lists of tensors, by what the functions do with them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import TypeGuard

from kernel_lineage.workloads.triton.values import Open, Tensor

_ANNOTATED = re.compile(
    r"(?:\w+\.)*(?:[Ll]ist|[Tt]uple|Sequence|Iterable|Collection)\[[^\[\]]*\b(?:Tensor|Parameter)\b.*\]"
)
_LIST = re.compile(r"(?:\w+\.)*(?:[Ll]ist|[Tt]uple|Sequence|Iterable|Collection)")
_OF_LISTS = frozenset({"cat", "concat", "stack", "hstack", "vstack", "broadcast_tensors", "meshgrid"})
"""Functions of torch that take a list of tensors."""
_MOST = 16


def is_list_of_tensors(value: object) -> TypeGuard[list[object]]:
    """Whether a value is a list of tensors, or of what may be tensors."""
    if not isinstance(value, (list, tuple)) or not value:
        return False
    return all(isinstance(element, (Tensor, Open)) for element in value)


def element_name(name: str, at: int) -> str:
    """How a workload calls an element of a parameter that is a list."""
    return f"{name}_{at}"


def elements_listed(name: str, annotation: str, functions: Sequence[ast.FunctionDef]) -> tuple[str, ...]:
    """The names of the elements of a parameter that is a list of tensors; none of another one.

    There is one element, with the name that a loop has for it, unless constants ask for more: `inputs[1]`. A parameter
    of which an attribute is taken is no list.
    """
    nodes = [node for function in functions for node in ast.walk(function)]
    if not _ANNOTATED.fullmatch(annotation) and annotation and not _LIST.fullmatch(annotation):
        return ()
    loops, picked = [*_looped(nodes, name)], [*_picked(nodes, name)]
    numbers = {number for node in nodes for number in _numbers(node)}
    is_counted = any(
        isinstance(n, ast.Subscript)
        and _is(n.value, name)
        and isinstance(n.slice, ast.Name)
        and n.slice.id in numbers
        for n in nodes
    )
    is_used = bool(_ANNOTATED.fullmatch(annotation)) or bool(loops) or is_counted
    if not is_used or any(_takes_a_tensor(node, name) for node in nodes):
        return ()
    first = next((n for n in (*loops, *(label for at, label in picked if at in (None, 0))) if n), name)
    count = max((at + 1 for at, _ in picked if at is not None), default=1)
    others = {at: label for at, label in reversed(picked) if label and at}
    return (first, *(others.get(at, f"{name}_{at}") for at in range(1, min(count, _MOST))))


def _looped(nodes: Sequence[ast.AST], name: str) -> Iterator[str]:
    """The names that loops have for an element of a list; "" for one without a name."""
    for node in nodes:
        if isinstance(node, (ast.For, ast.comprehension)):
            yield from _in_loop(node.iter, node.target, name)


def _in_loop(through: ast.expr, target: ast.expr | None, name: str) -> Iterator[str]:
    parts = target.elts if isinstance(target, ast.Tuple) else []
    match through:
        case ast.Name(id=one) if one == name:
            yield target.id if isinstance(target, ast.Name) else ""
        case ast.Subscript(value=ast.Name(), slice=ast.Constant(value="params")) if name == "params":
            yield target.id if isinstance(target, ast.Name) else ""  # of a group of an optimizer
        case ast.Call(func=ast.Name(id="filter"), args=[_, inner]):
            yield from _in_loop(inner, target, name)
        case ast.Call(func=ast.Name(id="zip"), args=lists):
            for at, inner in enumerate(lists):
                yield from _in_loop(inner, parts[at] if at < len(parts) else None, name)
        case ast.Call(func=ast.Name(id="enumerate" | "reversed" | "list" | "tuple" as of), args=[inner, *_]):
            within = target if of != "enumerate" else parts[1] if len(parts) == 2 else None
            yield from _in_loop(inner, within, name)


def _picked(nodes: Sequence[ast.AST], name: str) -> Iterator[tuple[int | None, str]]:
    """The elements that are asked for: the number, None for a variable's, and the name that each is given or ""."""
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=parts)], value=ast.Name(id=one)) if one == name:
                names = [p.id if isinstance(p, ast.Name) else "" for p in parts]
                yield from enumerate(names if not any(isinstance(p, ast.Starred) for p in parts) else [])
            case ast.Assign(targets=[target], value=value):
                labels = target.elts if isinstance(target, ast.Tuple) else [target]
                values = value.elts if isinstance(value, ast.Tuple) else [value]
                for label, part in zip(labels, values, strict=False):
                    if isinstance(part, ast.Subscript) and _is(part.value, name):
                        yield _place(part), label.id if isinstance(label, ast.Name) else ""
            case ast.Subscript(value=of) if _is(of, name):
                yield _place(node), ""


def _place(node: ast.Subscript) -> int | None:
    place = node.slice.value if isinstance(node.slice, ast.Constant) else None
    return place if type(place) is int and place >= 0 else None


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _numbers(node: ast.AST) -> Iterator[str]:
    """The variable that numbers the elements of a list in a loop: `for i, p in enumerate(params)`."""
    match node:
        case (
            ast.For(
                target=ast.Tuple(elts=[ast.Name(id=number), _]), iter=ast.Call(func=ast.Name(id="enumerate"))
            )
            | ast.For(
                target=ast.Name(id=number),
                iter=ast.Call(func=ast.Name(id="range"), args=[ast.Call(func=ast.Name(id="len"))]),
            )
        ):
            yield number


def _takes_a_tensor(node: ast.AST, name: str) -> bool:
    """Whether a piece of code takes an attribute of a name, or gives it to a function of torch that takes no list."""
    match node:
        case ast.Attribute(value=ast.Name(id=one)):
            return one == name
        case ast.Call(func=func, args=args) if any(_is(a, name) for a in args):
            dotted = ast.unparse(func)
            last = dotted.rpartition(".")[2]
            return dotted.startswith("torch.") and not (last in _OF_LISTS or last.startswith("_foreach"))
    return False
