"""Two Triton kernels that a host function launches one right behind the other, and what it does with their buffers."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from kernel_lineage.kernels.anchors.launched_in_turn import launched_behind
from kernel_lineage.kernels.python_text import Module, module_lines, names_in, names_in_order
from kernel_lineage.kernels.source import Kernel, Launch
from kernel_lineage.kernels.triton_forms import dotted
from kernel_lineage.rewrite.assists.layout import data_of, source_of
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.assists.triton_places import check_launched_here, function_of, stored_names

_MAKES = frozenset(
    {"empty", "empty_like", "zeros", "zeros_like", "ones", "ones_like", "full", "full_like", "empty_strided"}
)
"""Functions of torch that make a tensor of its own memory."""
_NEW = frozenset({"new_empty", "new_zeros", "new_ones", "new_full"})
"""Methods of a tensor that do."""
_ASKS = frozenset(
    {"numel", "size", "stride", "element_size", "dim", "cdiv", "next_power_of_2", "min", "max", "len", "int"}
)
"""Functions and methods that read no element of a tensor."""
_LIKE = frozenset({"empty_like", "zeros_like", "ones_like", "full_like"})
_TYPES = {
    "float16": "tl.float16", "half": "tl.float16", "bfloat16": "tl.bfloat16", "float32": "tl.float32",
    "float": "tl.float32", "float64": "tl.float64", "double": "tl.float64", "int8": "tl.int8", "int16": "tl.int16",
    "int32": "tl.int32", "int64": "tl.int64", "uint8": "tl.uint8",
}  # fmt: skip
"""Types of torch, as Triton calls them."""


@dataclass(frozen=True)
class Host:
    """A host function, and what it does with its buffers."""

    function: ast.FunctionDef

    @cached_property
    def values(self) -> dict[str, list[ast.expr | None]]:
        """Each name that is given values, with these; None for one that no plain assignment gives."""
        values: dict[str, list[ast.expr | None]] = {n: [] for n in stored_names(self.function)}
        plain: list[ast.AST] = []
        for node in ast.walk(self.function):
            if (
                isinstance(node, ast.Assign)
                and len(node.targets) == 1
                and isinstance(node.targets[0], ast.Name)
            ):
                values[node.targets[0].id].append(node.value)
                plain.append(node.targets[0])
        for node in ast.walk(self.function):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node not in plain:
                values[node.id].append(None)
        return values

    @cached_property
    def parameters(self) -> set[str]:
        """The names of what the function is given."""
        args = self.function.args
        return {a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs)}

    def own(self, name: str) -> ast.Call | None:
        """The call that makes a buffer of the function's own, where it is the only thing that the name stands for."""
        values = self.values.get(name, [])
        value = values[0] if len(values) == 1 and name not in self.parameters else None
        return value if isinstance(value, ast.Call) and makes_tensor(value) else None

    def may_be_one(self, one: str, other: str) -> bool:
        """Whether two arguments may lie in one buffer."""
        if one == other:
            return True
        return not any(
            self.own(a) is not None and a not in self.comes_from(b) for a, b in ((one, other), (other, one))
        )

    def comes_from(self, argument: str) -> set[str]:
        """The names from which an argument is made, directly or not; what makes a tensor of its own takes none over."""
        names = names_in(ast.parse(argument, mode="eval"))
        for _ in range(len(self.values) + 1):
            more = {n for name in names if self.own(name) is None for v in self.values.get(name, []) if v is not None
                    for n in names_in(v)}  # fmt: skip
            if more <= names:
                break
            names |= more
        return names

    def type_of(self, name: str, pointers: Mapping[str, str]) -> str:
        """The type of a buffer's elements as Triton calls it, by the parameters that stand for other buffers; "" where
        the call that makes it does not tell.
        """
        call = self.own(name)
        if call is None:
            return ""
        stated = next((k.value for k in call.keywords if k.arg == "dtype"), None)
        if stated is None:
            like = call.func.value if _is_new(call) and isinstance(call.func, ast.Attribute) else None
            if dotted(call.func).rpartition(".")[2] in _LIKE and call.args:
                like = call.args[0]
        elif isinstance(stated, ast.Attribute) and stated.attr == "dtype":
            like = stated.value
        else:
            head, _, kind = dotted(stated).rpartition(".")
            return _TYPES.get(kind, "") if head == "torch" else ""
        pointer = pointers.get(ast.unparse(like), "") if like is not None else ""
        return f"{pointer}.dtype.element_ty" if pointer else ""


def makes_tensor(call: ast.Call) -> bool:
    """Whether a call of torch makes a tensor of its own memory."""
    head, _, name = dotted(call.func).rpartition(".")
    return (head == "torch" and name in _MAKES) or _is_new(call)


def _is_new(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in _NEW


@dataclass(frozen=True)
class TritonTurn:
    """Two Triton kernels that a host function launches one right behind the other, as many programs of each."""

    first: Kernel
    then: Kernel
    launch: Launch
    calls: tuple[ast.Call, ast.Call]
    statements: tuple[ast.stmt, ast.stmt]
    """Those that launch them."""
    host: Host
    module: Module

    @property
    def launcher(self) -> str:
        """The host function that launches both."""
        return self.launch.launcher or ""

    def arguments(self, number: int) -> dict[str, str]:
        """What the host gives each parameter of the first kernel (0) or of the other (1), by its name."""
        kernel, call = (self.first, self.then)[number], self.calls[number]
        names = [p.name for p in kernel.parameters]
        if any(isinstance(a, ast.Starred) for a in call.args) or len(call.args) > len(names):
            raise Refusal(f"the launch of {kernel.name} does not tell all arguments")
        passed_on = dict(zip(names, map(ast.unparse, call.args), strict=False))
        passed_on |= {k.arg: ast.unparse(k.value) for k in call.keywords if k.arg in names}
        if len(passed_on) != len(names) or any(k.arg is None for k in call.keywords):
            raise Refusal(f"the launch of {kernel.name} does not tell all arguments")
        return {name: passed_on[name] for name in names}

    def options(self, number: int) -> dict[str, str]:
        """What a launch says besides its arguments, such as `num_warps`."""
        names = {p.name for p in (self.first, self.then)[number].parameters}
        return {
            k.arg: ast.unparse(k.value) for k in self.calls[number].keywords if k.arg and k.arg not in names
        }

    def is_between(self, name: str) -> bool:
        """Whether a buffer holds nothing but what the two kernels give to each other: nothing else names it."""
        launched = sum(names_in_order(s).count(name) for s in self.statements)
        others = names_in_order(self.host.function).count(name) - launched
        return self.host.own(name) is not None and others == 1


def triton_turn_of(kernel: Kernel) -> TritonTurn:
    """A Triton kernel and the one that is launched right behind it. Raises `Refusal`, also where other things lie
    between.
    """
    check_launched_here(kernel, "chooses its sizes")
    reason = f"no kernel is launched right behind {kernel.name} by as many programs"
    source = source_of(kernel)
    if source.module is None:
        raise Refusal(f"the file of {kernel.name} does not parse")
    module = module_lines(data_of(kernel), source.module)
    for launch in kernel.launches:
        behind = launched_behind(kernel, launch)
        then = source.kernel(behind.kernel) if behind is not None else None
        if behind is None or then is None:
            continue
        check_launched_here(then, "chooses its sizes")
        for either in (kernel, then):
            if len(function_of(either).decorator_list) != 1:
                raise Refusal(f"{either.name} has decorators besides @triton.jit")
        places = [_place(source.module, module, site) for site in (launch, behind)]
        one, other = places
        if one is None or other is None or one[0] != other[0]:
            reason = f"{then.name} is not launched in the same block of statements as {kernel.name}"
            continue
        (body, at, host), to = one, other[1]
        pair = body[at], body[to]
        calls = tuple(s.value for s in pair if isinstance(s, ast.Expr) and isinstance(s.value, ast.Call))
        turn = TritonTurn(kernel, then, launch, (calls[0], calls[1]), pair, Host(host), module)
        if not (reason := _apart(turn) or _between(turn, body[at + 1 : to])):
            return turn
    raise Refusal(reason)


def _place(
    tree: ast.Module, module: Module, launch: Launch
) -> tuple[list[ast.stmt], int, ast.FunctionDef] | None:
    """The statements among which a launch stands as one of its own, which one it is, and its host function."""
    for function in (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)):
        inner = {
            s
            for f in ast.walk(function)
            if isinstance(f, ast.FunctionDef) and f is not function
            for s in ast.walk(f)
        }
        for node in (n for n in ast.walk(function) if n not in inner):
            for body in (getattr(node, part, None) for part in ("body", "orelse", "finalbody")):
                for at, statement in enumerate(body if isinstance(body, list) else ()):
                    call = statement.value if isinstance(statement, ast.Expr) else None
                    if isinstance(call, ast.Call) and module.range(call) == (
                        launch.span.start,
                        launch.span.end,
                    ):
                        return list[ast.stmt](body or ()), at, function
    return None


def _apart(turn: TritonTurn) -> str:
    """How two launches differ; "" where they have the same options and constants."""
    first, then = turn.first.name, turn.then.name
    if turn.options(0) != turn.options(1):
        return f"{first} and {then} are launched with different options"
    constants = [
        {p.name: passed_on[p.name] for p in kernel.parameters if p.constexpr}
        for kernel, passed_on in ((turn.first, turn.arguments(0)), (turn.then, turn.arguments(1)))
    ]
    for name in sorted(constants[0].keys() & constants[1].keys()):
        if constants[0][name] != constants[1][name]:
            return f"{first} and {then} are launched with a different {name}"
    return ""


def _between(turn: TritonTurn, statements: list[ast.stmt]) -> str:
    """What stands between two launches and may need the first one's results, or change what it is given."""
    needed = names_in(turn.statements[0])
    for text in (*turn.launch.grid, *turn.launch.definitions.values()):
        needed |= names_in(ast.parse(text, mode="eval"))
    for statement in statements:
        line = statement.lineno
        if not isinstance(statement, ast.Assign):
            return f"line {line} stands between the launches of {turn.first.name} and {turn.then.name}"
        if needed & set(stored_names(statement)) or not all(
            isinstance(t, ast.Name) for t in statement.targets
        ):
            return f"line {line} changes what the launch of {turn.first.name} is given"
        if not _reads_nothing(statement.value, turn):
            return f"line {line} may need what {turn.first.name} leaves, or change what it reads"
    return ""


def _reads_nothing(value: ast.expr, turn: TritonTurn) -> bool:
    """Whether an expression is seen to read no element of a tensor: it makes one, or computes with sizes."""
    match value:
        case ast.Constant() | ast.Name() | ast.Lambda():
            return True
        case ast.Attribute(value=inner):
            return _reads_nothing(inner, turn)
        case ast.Subscript(value=ast.Attribute(attr="shape")):
            return True
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return all(_reads_nothing(p, turn) for p in parts)
        case ast.BinOp(left=left, right=right):
            passed = set(turn.arguments(0).values())
            tensors = [n for n in (left, right) if isinstance(n, ast.Name | ast.Attribute)]
            apart = all(
                not ({ast.unparse(n)} | turn.host.comes_from(ast.unparse(n))) & passed for n in tensors
            )
            return apart and _reads_nothing(left, turn) and _reads_nothing(right, turn)
        case ast.Call():
            asks = makes_tensor(value) or dotted(value.func).rpartition(".")[2] in _ASKS
            return asks and all(
                _reads_nothing(v, turn) for v in (*value.args, *(k.value for k in value.keywords))
            )
    return False
