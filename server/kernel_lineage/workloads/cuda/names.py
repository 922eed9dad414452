"""What names at a CUDA launch stand for: locals by their values, parameters by what callers give, sizes as dims.

A size that is a number in some caller is a dim of its name. A parameter of which no caller is known is a dim too, or a
number, that is chosen; the draft says so.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.kernels.cuda_launches import dimensions
from kernel_lineage.workloads.cuda.host import literal, numbers_of
from kernel_lineage.workloads.cuda.listed_sizes import sizes_gone_through
from kernel_lineage.workloads.cuda.scopes import Scope
from kernel_lineage.workloads.device_size import multiprocessors
from kernel_lineage.workloads.launch_expressions import BLOCK_SIZES, HostExpression, NotExpressible, from_cpp
from kernel_lineage.workloads.type_sizes import with_sizes

THREADS = 128
"""What is chosen where nothing tells the number of threads of a block."""
MULTIPROCESSORS = "multiProcessorCount"
DEVICE = {"maxThreadsPerMultiProcessor": 2048, "maxThreadsPerBlock": 1024, "warpSize": 32, "sharedMemPerBlock": 49152,
          "major": 9, "minor": 0}  # fmt: skip
"""Properties of the device that a draft is for, besides how many multiprocessors it has."""
_ATTRIBUTES = {"MultiProcessorCount": MULTIPROCESSORS, "MaxThreadsPerMultiProcessor": "maxThreadsPerMultiProcessor",
               "MaxThreadsPerBlock": "maxThreadsPerBlock", "WarpSize": "warpSize",
               "MaxSharedMemoryPerBlock": "sharedMemPerBlock", "ComputeCapabilityMajor": "major",
               "ComputeCapabilityMinor": "minor"}  # fmt: skip
"""`cudaDevAttr…` → the property that says the same."""
_NUMBER = 0.5
_EPSILON = 1e-5
_SEED = 1234
_DEPTH = 16
_FLOATS = frozenset({"float", "double"})
_INTEGERS = frozenset(
    {"int", "unsigned", "unsigned int", "size_t", "int32_t", "uint32_t", "int64_t", "uint64_t", "long", "ptrdiff_t",
     "long long", "uint", "unsigned long", "short"}
)  # fmt: skip


@dataclass(slots=True)
class Known:
    """What is found on the way, while one launch is read."""

    text: str
    """The file with its headers, as far as nothing switches a part of it off."""
    constants: Mapping[str, str]
    wanted_block: int | None = None
    """What is taken of several numbers of threads, where it is one of them."""
    blocks: tuple[int, ...] = ()
    """Those that a caller goes through, the one that is taken first."""
    handed: dict[tuple[str, str], str] = field(default_factory=dict)
    """Parameter of a function → what a further call gives it, where that is one of several numbers of threads."""
    threads: set[str] = field(default_factory=set)
    """Names of numbers of threads: they are no sizes of the data."""
    reading_block: bool = False
    dims: dict[str, int] = field(default_factory=dict)
    chosen: dict[str, None] = field(default_factory=dict)
    """Dims of which nothing tells a size; they have the size 0 in `dims`."""
    told: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """Those of them that some caller goes through a list of sizes for."""
    said: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    def say(self, what: str) -> None:
        """Note a conclusion, once."""
        if what not in self.said:
            self.said.append(what)


def expressed(text: str, scope: Scope | None, known: Known) -> str:
    """A C++ expression of a scope over dims. Raises `NotExpressible` with the part that nothing tells."""
    return ast.unparse(tree_of(text, scope, known))


def tree_of(text: str, scope: Scope | None, known: Known, depth: int = _DEPTH) -> ast.expr:
    """The same as a tree."""
    plain = re.sub(r"<\s*(\w+)\s*>\s*::", r"_\1::", with_sizes(text, known.text)).replace("->", ".")
    try:
        tree = ast.parse(from_cpp(plain).strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError) as error:
        raise NotExpressible(text) from error
    resolved = _Resolve(scope, known, depth).visit(tree)
    if not isinstance(resolved, ast.expr):
        raise NotExpressible(text)
    return resolved


class _Resolve(HostExpression):
    """Names of a scope to dims: a local by its value, a parameter by what the caller gives, a number by its name."""

    def __init__(self, scope: Scope | None, known: Known, depth: int) -> None:
        super().__init__()
        self._scope, self._known_names, self._depth = scope, known, depth

    def visit_Name(self, node: ast.Name) -> ast.AST:  # noqa: N802 - the name that `ast` calls
        if self._depth == 0:
            raise NotExpressible(node.id)
        scope, known = self._scope, self._known_names
        if scope is not None and node.id in scope.function.parameters and node.id in scope.function.locals:
            return self._local(node.id, scope.function.locals[node.id], scope)
        if scope is not None and node.id in scope.given and scope.caller is not None:
            if known.reading_block:
                self._look_for_several(node.id, scope, scope.caller)
            given = known.handed.get((scope.function.name, node.id), scope.given[node.id])
            try:
                return tree_of(given, scope.caller, known, self._depth - 1)
            except NotExpressible:
                return self._chosen(node.id, scope)
        if scope is not None and node.id in scope.function.parameters:
            return self._chosen(node.id, scope)
        local = scope.function.locals.get(node.id) if scope is not None else None
        if local is not None and scope is not None:
            return self._local(node.id, local, scope)
        constant = known.constants.get(node.id) or _assigned(node.id, known.text)
        if constant is not None:
            return tree_of(constant, scope, known, self._depth - 1)
        if (asked := _asked(node.id, known.text)) is not None:
            return self._of_device(asked, node.id)
        raise NotExpressible(node.id)

    def _look_for_several(self, name: str, scope: Scope, caller: Scope) -> None:
        """Note a call that gives one of several numbers of threads where the first call gives a single one."""
        known, single = self._known_names, scope.given[name].strip()
        if not single.isdigit() or (scope.function.name, name) in known.handed:
            return
        for given in scope.otherwise:
            local = caller.function.locals.get(given.get(name, ""))
            listed = numbers_of(_list_of(local, caller)) if local is not None else []
            if len(listed) > 1:
                known.handed[scope.function.name, name] = given[name]
                if known.wanted_block is None and int(single) in listed:
                    known.wanted_block = int(single)
                return

    def _local(self, name: str, local: Node, scope: Scope) -> ast.AST:
        known, number = self._known_names, literal(local)
        if isinstance(number, int) and (known.reading_block or name in known.threads):
            known.threads.add(name)
            return ast.Constant(number)
        if isinstance(number, int) and scope.function.name != "main" and _is_constant(local):
            return ast.Constant(number)
        if isinstance(number, int):
            return ast.Name(self._dim(name, number, scope), ast.Load())
        if number is not None:
            return ast.Constant(number)
        return tree_of(text_of(local), scope, known, self._depth - 1)

    def _chosen(self, name: str, scope: Scope) -> ast.AST:
        """A parameter that no caller gives a value: a dim where it is a whole number, else some number."""
        known, kind = self._known_names, scope.function.parameter_types.get(name, "")
        if kind in _FLOATS or kind == "bool" or "seed" in name.lower():
            usual = (_SEED, "seed"), (_EPSILON, "eps")
            number = 1 if kind == "bool" else next((n for n, part in usual if part in name.lower()), _NUMBER)
            known.say(f"{name} of {scope.function.name} is taken to be {number}: nothing tells it")
            return ast.Constant(number)
        if kind not in _INTEGERS:
            raise NotExpressible(name)
        if name.lower() in BLOCK_SIZES or name in known.threads:
            known.say(f"{name} of {scope.function.name} is taken to be {THREADS}: nothing tells it")
            known.threads.add(name)
            return ast.Constant(THREADS)
        if known.dims.setdefault(name, 0) == 0:
            known.chosen[name] = None
            caller = scope.caller.function if scope.caller is not None else None
            listed = sizes_gone_through(scope.given.get(name, ""), caller) if caller is not None else ()
            if caller is not None and listed:
                known.told[name] = listed
                known.say(f"{name} is one of {', '.join(map(str, listed))} in {caller.name}")
        return ast.Name(name, ast.Load())

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:  # noqa: N802
        """`block_sizes[j]` of a list of numbers is one of them."""
        scope, name = self._scope, node.value
        local = (
            scope.function.locals.get(name.id) if scope is not None and isinstance(name, ast.Name) else None
        )
        number = literal(local) if local is not None else None
        if number is None:
            raise NotExpressible(ast.unparse(node))
        known, several = self._known_names, numbers_of(local)
        if known.wanted_block in several:
            number = known.wanted_block
        if known.reading_block and len(several) > 1:
            known.blocks = (int(number), *(n for n in several if n != number))
        known.say(f"{ast.unparse(node.value)} holds several numbers; {number} is taken")
        return ast.Constant(number)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:  # noqa: N802
        """`block.x` of a `dim3`, and properties of the device."""
        scope = self._scope
        local = (
            scope.function.locals.get(node.value.id)
            if scope is not None and isinstance(node.value, ast.Name)
            else None
        )
        if local is not None and node.attr in ("x", "y", "z"):
            written = text_of(local)
            extents = dimensions(f"dim3{written}" if written.startswith("(") else written, {})
            at = "xyz".index(node.attr)
            return tree_of(
                extents[at] if at < len(extents) else "1", scope, self._known_names, self._depth - 1
            )
        return self._of_device(node.attr, ast.unparse(node))

    def _of_device(self, name: str, written: str) -> ast.expr:
        """A property of the device: a dim where it says how large the device is. Raises `NotExpressible`."""
        known = self._known_names
        if name == MULTIPROCESSORS:
            known.dims[name] = multiprocessors()
            known.say(f"{name} is {known.dims[name]}: it depends on the device")
            return ast.Name(name, ast.Load())
        if name not in DEVICE:
            raise NotExpressible(written)
        known.say(f"the device is taken to have {name} = {DEVICE[name]}")
        return ast.Constant(DEVICE[name])

    def _dim(self, name: str, number: int, scope: Scope) -> str:
        """A dim of that name, or with the function's name where another one has the name already."""
        taken = self._known_names.dims.get(name)
        if taken is not None and taken != number:
            name = f"{name}_{scope.function.name}"
        if name not in self._known_names.dims:
            self._known_names.dims[name] = number
            self._known_names.said.append(f"{name} is {number} in {scope.function.name}")
        return name


def _list_of(value: Node, scope: Scope) -> Node | None:
    """The list that a local is an element of."""
    name = re.fullmatch(r"(\w+)\s*\[.*\]", text_of(value), re.DOTALL)
    return scope.function.locals.get(name[1]) if name is not None else None


def _is_constant(value: Node) -> bool:
    """Whether a local is declared `const` or `constexpr`."""
    declarator = value.parent
    declaration = declarator.parent if declarator is not None else None
    return declaration is not None and "const" in text_of(declaration).split("=")[0]


def _assigned(name: str, text: str) -> str | None:
    """What a variable outside of functions is given somewhere: a property of the device."""
    properties = "|".join((MULTIPROCESSORS, *DEVICE))
    found = re.search(rf"\b{re.escape(name)}\s*=\s*(\w+(?:\.|->)(?:{properties}))\s*;", text)
    return found[1] if found else None


def _asked(name: str, text: str) -> str | None:
    """The property of the device that a variable is filled with: `cudaDeviceGetAttribute(&sms, cudaDevAttr…, 0)`."""
    found = re.search(rf"\bcudaDeviceGetAttribute\s*\(\s*&\s*{re.escape(name)}\s*,\s*cudaDevAttr(\w+)", text)
    return _ATTRIBUTES.get(found[1]) if found else None
