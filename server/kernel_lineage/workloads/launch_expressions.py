"""Launch expressions of a Triton file as the workload's small language over dims and constants."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from kernel_gate.compile_time import constant, is_word
from kernel_gate.expressions import ExpressionError, Number, evaluate, evaluate_int
from kernel_gate.program import LaunchSpec
from kernel_gate.workload import Workload
from kernel_lineage.kernels.source import Kernel, Launch

_DEPTH = 12
_SHIFTS = range(64)
_CEIL_DIV = frozenset({"ceil_div", "ceildiv", "cdiv", "divup", "div_up", "div_ceil", "divceil", "iceildiv"})
_MADE_AS_IT_IS = re.compile(r"torch\.\w+\(|\w+(?:\.contiguous\(\)|\.new_\w+\(.*|\.clone\(\))$", re.DOTALL)
"""Definitions of tensors that have the shape of their buffer."""


class NotExpressible(Exception):  # noqa: N818
    """An expression that dims and constants do not tell."""


@dataclass(frozen=True, slots=True)
class _Names:
    """What the names at a launch site stand for."""

    direct: Mapping[str, str]
    """Host name → name or expression of the workload."""
    tensors: Mapping[str, tuple[str, ...]]
    """Host name of a tensor → its extents."""
    definitions: Mapping[str, str]


def read_launch(kernel: Kernel, workload: Workload, order: Sequence[str]) -> LaunchSpec | None:
    """The launch of a Triton kernel as its file writes it; None when no site is expressed over dims and constants.

    Of several sites it is the first that launches what the workload does, else the first.
    `order` names the workload's argument for each of the kernel's own parameters that are not constexpr.
    """
    usual = _evaluated(workload.launch.spec(), workload) if len(kernel.launches) > 1 else None
    first: LaunchSpec | None = None
    for launch in kernel.launches:
        try:
            found = _read(kernel, launch, workload, order)
            values = _evaluated(found, workload)
        except (NotExpressible, ExpressionError):
            continue
        if usual is None or values == usual:
            return found
        first = first or found
    return first


def _evaluated(launch: LaunchSpec, workload: Workload) -> tuple[object, ...]:
    """What a launch is at the first shape. Raises `ExpressionError` where the workload's language does not take it."""
    for dims in itertools.islice(workload.shapes(), 1):
        known: dict[str, Number] = {**dims, **workload.scalars(dims)}
        constants = {name: constant(text, known) for name, text in launch.constexpr.items()}
        known |= {n: v for n, v in constants.items() if isinstance(v, (int, float))}
        extents = [evaluate_int(text, known) for text in (*launch.grid, *launch.block, launch.shared_bytes)]
        return tuple(extents[: len(launch.grid)] if workload.language == "triton" else extents), constants
    return ()


def _read(kernel: Kernel, launch: Launch, workload: Workload, order: Sequence[str]) -> LaunchSpec:
    names = _names(kernel, launch, workload, order)
    constexpr: dict[str, str] = {}
    spec = workload.launch.spec()
    for parameter, argument in zip(kernel.parameters, launch.arguments, strict=False):
        if parameter.constexpr:
            written = launch.options.get(parameter.name, argument)
            constexpr[parameter.name] = _constexpr(parameter.name, written, names, spec)
    # What the workload gives nothing, or fixes although the kernel does not ask for it, stays so.
    constexpr.update({n: t for n, t in spec.constexpr.items() if is_word(t) or n not in constexpr})
    tuned = {"autotune", "heuristics"} & {*kernel.attributes}
    default = spec if tuned else LaunchSpec(())
    grid = tuple(_expression(extent, names, set(constexpr)) for extent in launch.grid)
    if not grid:
        raise NotExpressible(f"{kernel.name}: no grid")
    warps = _option(launch, "num_warps", names, default.num_warps, spec.num_warps)
    stages = _option(launch, "num_stages", names, default.num_stages, spec.num_stages)
    return LaunchSpec(grid, ("128",), "0", constexpr, warps, stages)


def _names(kernel: Kernel, launch: Launch, workload: Workload, order: Sequence[str]) -> _Names:
    direct: dict[str, str] = {}
    tensors: dict[str, tuple[str, ...]] = {}
    fixed = workload.launch.constexpr
    parameters = [p for p in kernel.parameters if not p.constexpr and p.name not in fixed]
    given = dict(zip([p.name for p in kernel.parameters], launch.arguments, strict=False))
    for parameter, name in zip(parameters, order, strict=False):
        host = given.get(parameter.name, "").strip()
        argument = workload.argument(name)
        if argument is None or not re.fullmatch(r"[A-Za-z_]\w*", host):
            continue
        if argument.kind == "scalar":
            direct[host] = name
        elif _keeps_its_shape(host, launch):
            tensors[host] = tuple(str(extent) for extent in argument.shape or ())
    settled = {n: text for n, text in launch.definitions.items() if n not in launch.unsettled}
    for dim in workload.dims:
        if dim not in direct and dim not in settled and dim not in launch.unsettled:
            direct[dim] = dim
    return _Names(direct, tensors, settled)


def _keeps_its_shape(host: str, launch: Launch) -> bool:
    """Whether a tensor of a launch has its buffer's shape there: it is no view of another."""
    definition = launch.definitions.get(host)
    return definition is None or _MADE_AS_IT_IS.match(definition) is not None


def _constexpr(name: str, written: str, names: _Names, spec: LaunchSpec) -> str:
    """A constexpr's value; where the site does not tell, the workload's."""
    try:
        return _expression(written, names)
    except NotExpressible:
        if name in spec.constexpr:
            return spec.constexpr[name]
        raise


def _option(launch: Launch, name: str, names: _Names, default: int, unread: int) -> int:
    """An option of the launch: the default where none is written, and `unread` where it is not read."""
    if name not in launch.options:
        return default
    try:
        return int(evaluate(_expression(launch.options[name], names), {}))
    except (ExpressionError, NotExpressible):
        return unread


def _expression(written: str, names: _Names, known: frozenset[str] | set[str] = frozenset()) -> str:
    try:
        tree = ast.parse(written.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError) as error:
        raise NotExpressible(written) from error
    return ast.unparse(_Translate(names, known, _DEPTH).visit(tree))


class _Translate(ast.NodeTransformer):
    """Arithmetic of the host, with its names, in the workload's language. Raises `NotExpressible` for anything else."""

    def __init__(self, names: _Names, known: frozenset[str] | set[str], depth: int) -> None:
        self._names, self._known, self._depth = names, known, depth

    def visit(self, node: ast.AST) -> ast.AST:
        handler: Callable[[ast.AST], ast.AST] | None = getattr(self, f"visit_{type(node).__name__}", None)
        if handler is not None:
            return handler(node)
        allowed = (
            ast.BinOp,
            ast.UnaryOp,
            ast.BoolOp,
            ast.Compare,
            ast.IfExp,
            ast.operator,
            ast.unaryop,
            ast.boolop,
        )
        if not isinstance(node, (*allowed, ast.cmpop)):
            raise NotExpressible(ast.unparse(node))
        return self.generic_visit(node)

    def _expression(self, node: ast.expr) -> ast.expr:
        visited = self.visit(node)
        if not isinstance(visited, ast.expr):
            raise NotExpressible(ast.unparse(node))
        return visited

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, (int, float)):
            return node
        raise NotExpressible(repr(node.value))

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """Shifts and masks by numbers are products and multiples: `n >> 3`, `(n + 63) & ~63`."""
        match node:
            case ast.BinOp(op=ast.LShift(), right=ast.Constant(value=int(bits))) if bits in _SHIFTS:
                return ast.BinOp(self._expression(node.left), ast.Mult(), ast.Constant(1 << bits))
            case ast.BinOp(op=ast.RShift(), right=ast.Constant(value=int(bits))) if bits in _SHIFTS:
                return ast.BinOp(self._expression(node.left), ast.FloorDiv(), ast.Constant(1 << bits))
            case ast.BinOp(
                op=ast.BitAnd(), right=ast.UnaryOp(op=ast.Invert(), operand=ast.Constant(value=int(low)))
            ):
                if low & (low + 1) == 0:
                    whole = ast.BinOp(self._expression(node.left), ast.FloorDiv(), ast.Constant(low + 1))
                    return ast.BinOp(whole, ast.Mult(), ast.Constant(low + 1))
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if node.keywords:
            raise NotExpressible(ast.unparse(node))
        function = node.func
        if (
            isinstance(function, ast.Attribute)
            and (extent := self._of_tensor(function, node.args)) is not None
        ):
            return extent
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        lowered = name.lower()
        if lowered in _CEIL_DIV:
            name = "ceil_div"
        elif lowered in {"next_power_of_2", "nextpow2", "next_pow2"}:
            name = "next_power_of_2"
        elif lowered == "ceil" and len(node.args) == 1 and isinstance(node.args[0], ast.BinOp):
            division = node.args[0]
            if not isinstance(division.op, (ast.Div, ast.FloorDiv)):
                raise NotExpressible(ast.unparse(node))
            arguments = [self.visit(division.left), self.visit(division.right)]
            return ast.Call(ast.Name("ceil_div", ast.Load()), arguments, [])  # type: ignore[arg-type]
        elif lowered in {"sqrt", "sqrtf"} and len(node.args) == 1:
            return ast.BinOp(self._expression(node.args[0]), ast.Pow(), ast.Constant(0.5))
        elif lowered not in {"min", "max", "abs"}:
            raise NotExpressible(ast.unparse(node))
        return ast.Call(ast.Name(name.lower(), ast.Load()), [self.visit(a) for a in node.args], [])  # type: ignore[misc]

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in self._known:
            return node
        if node.id in self._names.direct:
            return ast.parse(self._names.direct[node.id], mode="eval").body
        defined = self._names.definitions.get(node.id)
        if defined is None or self._depth == 0:
            raise NotExpressible(node.id)
        try:
            tree = ast.parse(defined.strip(), mode="eval").body
        except (SyntaxError, ValueError) as error:
            raise NotExpressible(node.id) from error
        return _Translate(self._names, self._known, self._depth - 1).visit(tree)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        index = node.slice
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            if (extent := self._extent(node.value.value, index)) is not None:
                return extent
        elif isinstance(index, ast.Constant) and index.value in self._known:
            return ast.Name(str(index.value), ast.Load())
        raise NotExpressible(ast.unparse(node))

    def _extents(self, value: ast.expr) -> tuple[str, ...] | None:
        """The extents of a tensor by its host name; a name for a view of nothing else is not followed."""
        return self._names.tensors.get(value.id) if isinstance(value, ast.Name) else None

    def _extent(self, value: ast.expr, index: ast.expr) -> ast.AST | None:
        extents = self._extents(value)
        try:
            position = ast.literal_eval(index)
        except ValueError:
            return None
        if extents is None or not isinstance(position, int) or not -len(extents) <= position < len(extents):
            return None
        return ast.parse(extents[position], mode="eval").body

    def _of_tensor(self, function: ast.Attribute, arguments: list[ast.expr]) -> ast.AST | None:
        """`x.size(0)`, `x.numel()`, and `x.stride(0)` of a row-major tensor."""
        extents = self._extents(function.value)
        if extents is None:
            return None
        if function.attr == "numel":
            return ast.parse(" * ".join(f"({e})" for e in extents) or "1", mode="eval").body
        if len(arguments) != 1:
            return None
        if function.attr == "size":
            return self._extent(function.value, arguments[0])
        if function.attr == "stride":
            position = ast.literal_eval(arguments[0]) % max(1, len(extents))
            return ast.parse(" * ".join(f"({e})" for e in extents[position + 1 :]) or "1", mode="eval").body
        return None
