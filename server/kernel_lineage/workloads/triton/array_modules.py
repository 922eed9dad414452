"""Host code of CuPy and PyCUDA in the words of torch and Triton: launches as `kernel[grid](…)`, arrays as tensors.

`RawKernel(code, "name")` and `module.get_function("name")` become the name of a kernel, which stands for a function of
its parameters. What has no counterpart stays as it is, and is not understood.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Mapping

from kernel_lineage.kernels.mechanisms.tuning import argument
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.workloads.triton.host_modules import HostModule, module_of

BLOCK, SHARED = "__block__", "__shared_bytes__"
"""Keywords of a launch in these words."""
_ARRAYS = frozenset({"cupy", "numpy", "pycuda"})
"""Packages whose arrays are read as tensors."""
_KERNEL = "__kernel__"
_NUMBERS = frozenset(
    {"int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64",
     "intc", "uintc", "int_", "single", "double", "bool_"}
)  # fmt: skip
_ELEMENTS = frozenset({"asarray", "array"})
_THE_SAME = frozenset(
    {"In", "Out", "InOut", "to_gpu", "to_gpu_async", "to_device", "asnumpy", "ascontiguousarray"}
)
"""Functions that give the elements of what they are given first, perhaps elsewhere."""
_GENERATORS = frozenset({"default_rng", "RandomState"})
_METHODS = {"astype": "to", "copy": "clone", "get": "cpu"}
_FUNCTIONS = {"random": "rand", "random_sample": "rand", "standard_normal": "randn", "integers": "randint",
              "concatenate": "cat"}  # fmt: skip
_DRAWN = {"uniform": "rand", "normal": "randn"}
"""Functions that are given two numbers before the shape."""
_SIZED = frozenset({"empty", "zeros", "ones"})
"""Functions whose second argument is the type."""
_OF_NUMBERS = frozenset({"ceil", "floor", "sqrt", "log2"})


def name_of(kernel: str) -> str:
    """What a kernel is called in the host code that is read."""
    return f"{_KERNEL}{kernel}"


def as_torch(module: HostModule, kernels: Iterable[Kernel] = ()) -> HostModule:
    """A module in torch's words; it defines these kernels as functions of their parameters."""
    tree = copy.deepcopy(module.tree)
    arrays = {name for name, (base, _) in module.imports.items() if base.split(".")[0] in _ARRAYS}
    tree = _Reworded(arrays | _generators(tree)).visit(tree)
    tree = _Launches(_kernels_by_name(tree, {})).visit(tree)
    tree.body += [_function(kernel) for kernel in kernels]
    return module_of(module.path, ast.fix_missing_locations(tree))


def _function(kernel: Kernel) -> ast.FunctionDef:
    names = [ast.arg(p.name) for p in kernel.parameters]
    arguments = ast.arguments([], names, None, [], [], None, [])
    jit = ast.Name("jit", ast.Load())
    return ast.FunctionDef(name_of(kernel.name), arguments, [ast.Pass()], [jit], lineno=1, col_offset=0)


def _generators(tree: ast.AST) -> set[str]:
    """The names of random generators."""
    return {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        for target in node.targets
        if isinstance(target, ast.Name) and _last(node.value.func) in _GENERATORS
    }


def _last(node: ast.expr) -> str:
    """The last name of `a.b.c`; "" for what has none."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _name(text: str) -> ast.Name:
    return ast.Name(text, ast.Load())


def _of_torch(function: str, args: list[ast.expr], named: Iterable[ast.keyword] = ()) -> ast.Call:
    return ast.Call(ast.Attribute(_name("torch"), function, ast.Load()), args, list(named))


class _Reworded(ast.NodeTransformer):
    """Arrays as tensors, and kernels by their names; `arrays` are the names of modules and generators."""

    def __init__(self, arrays: set[str]) -> None:
        self._arrays = arrays

    def visit_Import(self, node: ast.Import) -> ast.Import:
        for alias in node.names:
            package = alias.name.split(".")[0]
            if package in _ARRAYS:
                alias.name, alias.asname = "torch", alias.asname or package
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.ImportFrom:
        if (node.module or "").split(".")[0] in _ARRAYS and not node.level:
            node.module = "torch"
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        if _root(node) in {*self._arrays, "self"}:
            return node
        match node:
            case ast.Attribute(attr="size"):
                return ast.Call(ast.Attribute(node.value, "numel", ast.Load()), [], [])
            case ast.Attribute(value=ast.Attribute(value=array, attr="data"), attr="ptr"):
                return array
            case ast.Attribute(value=array, attr="gpudata"):
                return array
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        # A function that is called is no attribute: `x.size()` is none of an array.
        if isinstance(node.func, ast.Attribute):
            node.func.value = self.visit(node.func.value)
        node.args = [self.visit(a) for a in node.args]
        node.keywords = [self.visit(k) for k in node.keywords]
        last = _last(node.func)
        kernel = {"RawKernel": argument(node, 1, "name"), "get_function": argument(node, 0, "name")}.get(last)
        if isinstance(kernel, ast.Constant) and isinstance(kernel.value, str):
            return _name(name_of(kernel.value))
        if _root(node.func) in self._arrays:
            return _function_of_arrays(node, last)
        if isinstance(node.func, ast.Attribute) and last in _METHODS:
            node.func.attr = _METHODS[last]
        return node


def _function_of_arrays(node: ast.Call, last: str) -> ast.expr:
    """The same of torch, by its last name."""
    first = argument(node, 0, "shape")
    is_listed = isinstance(first, (ast.List, ast.ListComp, ast.Tuple, ast.Constant))
    types = [k for k in node.keywords if k.arg == "dtype"]
    if last in _NUMBERS and len(node.args) == 1:
        return node.args[0]
    if first is not None and (last in _THE_SAME or (last in _ELEMENTS and not is_listed)):
        return first
    if last in _ELEMENTS and first is not None:
        return _of_torch("as_tensor", [first], types)
    if last in _SIZED and first is not None:
        return _of_torch(last, [first], types)
    if last in _DRAWN and (shape := argument(node, 2, "size")) is not None:
        return _of_torch(_DRAWN[last], [shape])
    if last in _OF_NUMBERS and len(node.args) == 1:
        return ast.Call(ast.Attribute(_name("math"), last, ast.Load()), node.args, [])
    match last, first:
        case "mem_alloc", ast.Attribute(value=array, attr="nbytes"):
            return _of_torch("empty_like", [array])
        case "mem_alloc", ast.expr():
            byte = ast.Attribute(_name("torch"), "uint8", ast.Load())
            return _of_torch("empty", [first], [ast.keyword("dtype", byte)])
    return _of_torch(_FUNCTIONS.get(last, last), node.args, node.keywords)


Held = Mapping[str, str]
"""Name → the one kernel that it stands for."""


def _kernels_by_name(tree: ast.AST, around: Held) -> dict[str, str]:
    """The names, attributes and functions by which code reaches a kernel, with those of the code around it."""
    seen: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        names: list[str] = []
        value: ast.expr | None = None
        match node:
            case ast.Assign(targets=targets, value=value):
                names = [_last(t) for t in targets]
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                names = [_last(target)]
            case ast.FunctionDef(name=name):
                returned = [n.value for n in ast.walk(node) if isinstance(n, ast.Return)]
                names, value = [name], returned[0] if len(returned) == 1 else None
        if value is not None and (kernel := _kernel_in(value, around)):
            for name in filter(None, names):
                seen.setdefault(name, set()).add(kernel)
    return {**around, **{name: kernels.pop() for name, kernels in seen.items() if len(kernels) == 1}}


def _kernel_in(node: ast.expr, held: Held) -> str:
    """The kernel that an expression stands for; "" for none."""
    name = _last(node.func if isinstance(node, ast.Call) else node)
    return name if name.startswith(_KERNEL) else held.get(name, "")


class _Launches(ast.NodeTransformer):
    """Launches as `kernel[grid](…)`."""

    def __init__(self, held: Held) -> None:
        self._held = held

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._within(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self._within(node)

    def _within(self, node: ast.AST) -> ast.AST:
        around = self._held
        self._held = _kernels_by_name(node, around)
        self.generic_visit(node)
        self._held = around
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        is_prepared = isinstance(node.func, ast.Attribute) and node.func.attr == "prepared_call"
        of = node.func.value if isinstance(node.func, ast.Attribute) and is_prepared else node.func
        kernel = _kernel_in(of, self._held)
        if not kernel:
            return node
        named = {k.arg: k.value for k in node.keywords if k.arg}
        none = ast.Constant(0)
        if is_prepared and len(node.args) >= 2:
            grid, block, *args = node.args
            return _launch(kernel, grid, block, args, named.get("shared_size", none))
        if "block" in named and "args" not in named:
            grid = named.get("grid", ast.Constant(1))
            return _launch(kernel, grid, named["block"], node.args, named.get("shared", none))
        parts = [argument(node, place, name) for place, name in enumerate(("grid", "block", "args"))]
        if all(parts):
            grid, block, listed = (p for p in parts if p is not None)
            args = (
                listed.elts
                if isinstance(listed, (ast.Tuple, ast.List))
                else [ast.Starred(listed, ast.Load())]
            )
            return _launch(kernel, grid, block, args, argument(node, 3, "shared_mem") or none)
        return node


def _launch(kernel: str, grid: ast.expr, block: ast.expr, args: list[ast.expr], shared: ast.expr) -> ast.Call:
    options = [ast.keyword(BLOCK, block), ast.keyword(SHARED, shared)]
    return ast.Call(ast.Subscript(_name(kernel), grid, ast.Load()), args, options)
