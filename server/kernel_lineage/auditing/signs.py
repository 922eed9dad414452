"""Signs in a module's text of the ways to cheat that the literature lists. Hints for a reader, never a verdict.

Listed by what public benchmarks of kernels published of submissions that they had to take back.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

_LIBRARY = {
    "matmul",
    "mm",
    "bmm",
    "einsum",
    "linear",
    "conv2d",
    "conv3d",
    "softmax",
    "layer_norm",
    "scaled_dot_product_attention",
}


@dataclass(frozen=True, slots=True)
class Sign:
    """Something that a reader should look at."""

    line: int
    what: str


def signs_of(text: str) -> tuple[Sign, ...]:
    """The signs of a module, in the order of its lines; none for a text that does not parse."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return ()
    signs = {(s.line, s.what): s for s in _signs(tree)}
    return tuple(signs[key] for key in sorted(signs))


def _signs(tree: ast.Module) -> Iterator[Sign]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Try):
            yield Sign(node.lineno, "a try block: another path may be what is run")
        elif isinstance(node, ast.Call):
            yield from _of_call(node)
        elif isinstance(node, ast.Assign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Attribute) and ast.unparse(target.value) in (
                    "torch",
                    "torch.cuda",
                    "time",
                    "triton",
                ):
                    yield Sign(node.lineno, f"{ast.unparse(target)} is replaced")
    for owner in ast.walk(tree):
        if isinstance(owner, ast.ClassDef) and owner.name == "ModelNew":
            yield from _of_model(owner)


def _of_call(node: ast.Call) -> Iterator[Sign]:
    name = ast.unparse(node.func)
    last = name.rpartition(".")[2]
    if name.startswith(("torch.", "F.")) and last in _LIBRARY:
        yield Sign(node.lineno, f"{name} is called: a library may do the work")
    if last in ("data_ptr", "_version"):
        yield Sign(node.lineno, f".{last} is read: an answer may be kept by address")
    if last in ("Stream", "CUDAGraph", "graph") and "cuda" in name:
        yield Sign(node.lineno, f"{name}: work may go where it is not timed")
    if last in ("_getframe", "stack", "currentframe") or name in ("exec", "eval", "open"):
        yield Sign(node.lineno, f"{name} is called")


def _of_model(model: ast.ClassDef) -> Iterator[Sign]:
    for method in model.body:
        if not isinstance(method, ast.FunctionDef) or method.name == "__init__":
            continue
        for node in ast.walk(method):
            if isinstance(node, ast.Assign) and any(ast.unparse(t).startswith("self.") for t in node.targets):
                yield Sign(node.lineno, f"{method.name} keeps something from one call for the next")
