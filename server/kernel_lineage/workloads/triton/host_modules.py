"""What a Python file defines and imports, read once in a process: most files are the same in many states.

The trees are shared between states, so nobody changes them.
"""

from __future__ import annotations

import ast
import hashlib
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Generic, TypeVar

from kernel_gate.files.reading import read_file
from kernel_gate.reaching import reachable
from kernel_lineage.kernels.python_text import tree_of
from kernel_lineage.kernels.words import WORD_OF_BYTES
from kernel_lineage.workloads.triton.torch_made import MADE

_LARGEST = 400_000
"""Bytes of a file that is read."""
_MOST_PARSED = 4_000_000
"""Bytes of the texts whose trees are kept; a tree takes fifty times as much memory as its text."""
_MOST_WORDS = 16_000_000
"""Bytes of the texts whose words are kept."""
_MOST_FUNCTIONS = 1 << 14
_BLOCKS = ("body", "handlers", "cases", "orelse", "finalbody")
"""The fields of a statement that hold others, in the order in which the tree has them."""
_OF_ELEMENTS = frozenset({"tensor", "as_tensor", "linspace"})
"""Functions that are given elements, and no extents."""
_IMPORTS = frozenset({"importorskip", "import_module"})
"""Functions of pytest and importlib that give a module by its name."""
_WIDE = frozenset({"Linear", "Embedding", "LayerNorm", "RMSNorm"})
"""Modules of torch whose first two arguments are extents of their weights."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class HostModule:
    """One module."""

    path: Path
    tree: ast.Module
    functions: Mapping[str, ast.FunctionDef]
    """Top-level functions, and methods as `Class.method`."""
    values: Mapping[str, ast.expr]
    """Top-level name → the last value that it is given."""
    imports: Mapping[str, tuple[str, str]]
    """Local name → the module that it comes from, and its name there; "" for a whole module."""
    classes: Mapping[str, ast.ClassDef]
    stars: tuple[str, ...] = ()
    """The modules from which all names are imported."""


def module_of(path: Path, tree: ast.Module) -> HostModule:
    """A module as its tree defines it."""
    return replace(_made_of(tree), path=path)


def _made_of(tree: ast.Module) -> HostModule:
    functions: dict[str, ast.FunctionDef] = {}
    values: dict[str, ast.expr] = {}
    imports: dict[str, tuple[str, str]] = {}
    classes: dict[str, ast.ClassDef] = {}
    for node in _top_level(tree.body):
        match node:
            case ast.FunctionDef():
                functions[node.name] = node
            case ast.ClassDef():
                classes[node.name] = node
                inner = (n for n in node.body if isinstance(n, ast.FunctionDef))
                functions.update((f"{node.name}.{n.name}", n) for n in inner)
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Call(
                    func=ast.Attribute(attr=imports_it), args=[ast.Constant(value=str() as dotted), *_]
                ),
            ) if imports_it in _IMPORTS and dotted:
                imports[name] = (dotted, "")
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                values[name] = value
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
                whole = (
                    value.elts if isinstance(value, ast.Tuple) and len(value.elts) == len(targets) else None
                )
                for at, target in enumerate(targets):
                    if isinstance(target, ast.Name):
                        part = ast.Subscript(value, ast.Constant(at), ast.Load())
                        values[target.id] = whole[at] if whole is not None else part
    for statement in _statements(tree):
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                module = alias.name if alias.asname else alias.name.split(".")[0]
                imports[alias.asname or module] = (module, "")
        elif isinstance(statement, ast.ImportFrom):
            base = "." * statement.level + (statement.module or "")
            for alias in statement.names:
                imports[alias.asname or alias.name] = (base, alias.name)
    stars = tuple(base for base, name in imports.values() if name == "*")
    return HostModule(Path(), tree, functions, values, imports, classes, stars)


def _top_level(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, those of `if` and `try` too; of the branches of an `if`, the last counts."""
    for node in body:
        yield node
        if isinstance(node, (ast.If, ast.Try)):
            yield from _top_level(node.body)
            yield from _top_level(node.orelse)


def _statements(tree: ast.Module) -> Iterator[ast.AST]:
    """All statements, those of an outer block before those of the blocks in it."""
    left: deque[ast.AST] = deque([tree])
    while left:
        node = left.popleft()
        yield node
        for block in _BLOCKS:
            left.extend(getattr(node, block, ()))


def read_module(file: Path, place: str) -> HostModule | None:
    """The module of a file; None when it cannot be read or does not parse.

    `place` tells files of one state apart that hold the same text: what one defines is not what the other does.
    """
    try:
        module = _PARSED.of(read_file(file, most=_LARGEST), place)
    except OSError:
        return None
    return replace(module, path=file) if module is not None else None


def words_of(file: Path) -> frozenset[bytes]:
    """The words that stand in a file; none for one that cannot be read."""
    try:
        return _WORDS.of(read_file(file))
    except OSError:
        return frozenset()


class _Kept(Generic[T]):
    """What is made of texts, each once while it is among the last `most` bytes of them. Safe for several threads."""

    def __init__(self, make: Callable[[bytes], T], most: int) -> None:
        self._make, self._left = make, most
        self._entries: OrderedDict[tuple[str, bytes], tuple[T, int]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, text: bytes, place: str = "") -> T:
        """What is made of a text that stands in one place; in another place it is another one."""
        key = place, hashlib.sha256(text).digest()
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
                return self._entries[key][0]
            made = self._make(text)
            self._entries[key] = made, len(text)
            self._left -= len(text)
            while self._left < 0 and len(self._entries) > 1:
                self._left += self._entries.popitem(last=False)[1][1]
            return made


def _parsed(text: bytes) -> HostModule | None:
    try:
        return _made_of(tree_of(text))
    except (SyntaxError, ValueError, RecursionError):
        return None


_PARSED = _Kept(_parsed, _MOST_PARSED)
_WORDS = _Kept(lambda text: frozenset(WORD_OF_BYTES.findall(text)), _MOST_WORDS)


@lru_cache(maxsize=1 << 15)
def names_in(node: ast.AST) -> frozenset[str]:
    """The names that stand in some code, those of attributes too."""
    own = {"id", "attr"} & {*node._fields} if isinstance(node, (ast.Name, ast.Attribute)) else ()
    return frozenset(getattr(node, n) for n in own).union(*map(names_in, ast.iter_child_nodes(node)))


@lru_cache(maxsize=_MOST_FUNCTIONS)
def is_generator(function: ast.FunctionDef) -> bool:
    """Whether a function yields, other than in functions within it."""
    waiting: list[ast.AST] = [*function.body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            return True
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            waiting += ast.iter_child_nodes(node)
    return False


@lru_cache(maxsize=_MOST_FUNCTIONS)
def called_in(function: ast.FunctionDef) -> frozenset[str]:
    """The last names of what a function calls: of `module.f(…)`, `f`; of `partial(f, …)`, `f` as well."""
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
    called = [ast.unparse(call.func).rpartition(".")[2] for call in calls]
    handed = [c.args[0] for c, name in zip(calls, called, strict=True) if name == "partial" and c.args]
    return frozenset([*called, *(ast.unparse(one).rpartition(".")[2] for one in handed)])


def names_of(arguments: ast.arguments) -> dict[str, str]:
    """Parameter of a function → its annotation as it is written; "" for none."""
    listed = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    return {a.arg: ast.unparse(a.annotation) if a.annotation is not None else "" for a in listed}


def defaults_of(arguments: ast.arguments) -> dict[str, ast.expr]:
    """Parameter of a function → its default, for those that have one."""
    listed = [*arguments.posonlyargs, *arguments.args]
    pairs = [*zip(listed[len(listed) - len(arguments.defaults) :], arguments.defaults, strict=True)]
    only = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return {a.arg: default for a, default in (*pairs, *only) if default is not None}


@lru_cache(maxsize=1 << 10)
def shaping(function: ast.FunctionDef) -> frozenset[str]:
    """The names of a function that tell the shapes of the tensors that it makes, directly or through other names."""
    by_name: dict[str, set[str]] = {}
    names: set[str] = set()
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=targets, value=value):
                used = _read_in(value)
                for target in (n for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)):
                    by_name.setdefault(target.id, set()).update(used)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr=made), args=arguments) if (
                made in MADE
            ):
                arguments = arguments[:1] if made == "full" else arguments
                size = [k.value for k in node.keywords if k.arg in ("size", "high")]
                names.update(*map(_read_in, () if made in _OF_ELEMENTS else (*arguments, *size)))
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="nn") | ast.Attribute(attr="nn"), attr=made),
                args=arguments,
            ) if made in _WIDE:
                names.update(*map(_read_in, arguments[:2]))
    return frozenset(reachable(names, lambda name: by_name.get(name, ())))


def _read_in(node: ast.expr) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def launched_from(function: str, module: HostModule) -> frozenset[str]:
    """The names of the kernels that a function of a module launches, itself or through others of the module."""
    last = {name.rpartition(".")[2]: name for name in module.functions}

    def called_by(name: str) -> Iterator[str]:
        yield from (last[called] for called in called_in(module.functions[name]) if called in last)
        yield from _applied_in(module.functions[name], module)

    return frozenset().union(
        *(launched_in(module.functions[name]) for name in reachable([function], called_by))
    )


def _applied_in(function: ast.FunctionDef, module: HostModule) -> Iterator[str]:
    """The forwards of the autograd functions that a function applies, by class or by a name for `Class.apply`."""
    for node in ast.walk(function):
        func = node.func if isinstance(node, ast.Call) else None
        if isinstance(func, ast.Name):
            func = module.values.get(func.id)
        match func:
            case ast.Attribute(value=ast.Name(id=of), attr="apply") if f"{of}.forward" in module.functions:
                yield f"{of}.forward"


@lru_cache(maxsize=1 << 15)
def launched_in(node: ast.AST) -> frozenset[str]:
    """The names of the kernels that are launched in some code, as far as its text tells."""
    return launched_by(node).union(*(launched_in(n) for n in ast.iter_child_nodes(node)))


def launched_by(node: ast.AST) -> frozenset[str]:
    """The name of the kernel that a call launches; none for all else."""
    match node:
        case ast.Call(func=ast.Subscript(value=of)) | ast.Call(func=ast.Attribute(value=of, attr="run")):
            return frozenset([ast.unparse(unwrapped(of)).rpartition(".")[2]])
    return frozenset()


def unwrapped(launched: ast.expr) -> ast.expr:
    """The kernel of `torch.library.wrap_triton(kernel)[grid](…)`; another expression as it is."""
    match launched:
        case ast.Call(func=ast.Name(id="wrap_triton") | ast.Attribute(attr="wrap_triton"), args=[kernel]):
            return kernel
    return launched
