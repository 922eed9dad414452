"""The bodies of two Triton kernels one behind the other, for a program that does the work of both."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kernel_lineage.kernels.python_text import names_in
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.kernels.triton_forms import dotted
from kernel_lineage.rewrite.assists.layout import data_of, indent_at, start_of_line, taken_name
from kernel_lineage.rewrite.assists.model import Refusal
from kernel_lineage.rewrite.assists.triton_places import (
    assignments,
    called,
    calls_of,
    function_of,
    holds_text_of_lines,
    sources,
    span_of,
    stored_names,
)
from kernel_lineage.rewrite.assists.triton_turns import TritonTurn


@dataclass(frozen=True, slots=True)
class JoinedParameter:
    """A parameter of the joined kernel, and what the host gives it."""

    name: str
    argument: str
    constexpr: bool
    pointer: bool


@dataclass(frozen=True, slots=True)
class JoinedPrograms:
    """Two kernels as one."""

    name: str
    parameters: tuple[JoinedParameter, ...]
    """Those that are constants come last."""
    first: str
    """The lines of the first kernel's body."""
    then: str
    """The lines of the other one's, with the names that things have now."""
    options: Mapping[str, str]
    grid: str

    def text(self, without: Iterable[str] = ()) -> str:
        """The joined kernel, with everything in memory."""
        return f"{self.head(without)}\n{self.first}{self.then}"

    def head(self, without: Iterable[str] = ()) -> str:
        """The lines in front of its body."""
        kept = [p for p in self.parameters if p.name not in without]
        declared = ", ".join(f"{p.name}: tl.constexpr" if p.constexpr else p.name for p in kept)
        head = f"def {self.name}({declared}):"
        if len(head) > 100:
            lines = "".join(f"    {part},\n" for part in declared.split(", "))
            head = f"def {self.name}(\n{lines}):"
        return f"@triton.jit\n{head}"

    def launch(self, without: Iterable[str] = ()) -> str:
        """The expression that launches it."""
        kept = [p for p in self.parameters if p.name not in without]
        words = [f"{p.name}={p.argument}" if p.constexpr else p.argument for p in kept]
        words += [f"{name}={value}" for name, value in self.options.items()]
        return f"{self.name}[{self.grid}]({', '.join(words)})"


def joined_programs(turn: TritonTurn, name: str) -> JoinedPrograms:
    """Two kernels as one that takes what the host gives each of them. Refused where a name would stand for something
    else, and where a program of the first one may end early.
    """
    first, then = function_of(turn.first), function_of(turn.then)
    for kernel, function in ((turn.first, first), (turn.then, then)):
        _check_plain(kernel, function)
    if any(isinstance(n, ast.Return) for n in ast.walk(first)):
        raise Refusal(f"a program of {turn.first.name} may return before the work of {turn.then.name}")
    changed = set(stored_names(first))
    taken = names_in(first) | names_in(then) | {p.name for k in (turn.first, turn.then) for p in k.parameters}
    parameters, meanings = _parameters(turn, changed, taken)
    own = {p.name for p in turn.first.parameters} | changed
    others = {p.name for p in turn.then.parameters} | set(stored_names(then))
    if (hidden := (names_in(then) - others) & own) or (hidden := (names_in(first) - own) & others):
        raise Refusal(
            f"`{min(hidden)}` stands for different things in {turn.first.name} and {turn.then.name}"
        )
    dropped = _name_variables(turn, own, meanings, taken)
    texts = _lines(turn.first, first, {}, set()), _lines(turn.then, then, meanings, dropped)
    grid = turn.calls[0].func
    assert isinstance(grid, ast.Subscript)
    written = turn.module.written(grid.slice)
    ordered = tuple(sorted(parameters, key=lambda p: p.constexpr))
    return JoinedPrograms(name, ordered, *texts, turn.options(0), written)


def _check_plain(kernel: Kernel, function: ast.FunctionDef) -> None:
    args = function.args
    if args.posonlyargs or args.kwonlyargs or args.vararg or args.kwarg:
        raise Refusal(f"{kernel.name} has other parameters than plain ones")
    if any(isinstance(n, ast.JoinedStr | ast.Global | ast.NamedExpr) for n in ast.walk(function)):
        raise Refusal(f"{kernel.name} holds names that are not followed")
    if holds_text_of_lines(body_of(function)):
        raise Refusal(f"a text of several lines stands in {kernel.name}")


def _parameters(
    turn: TritonTurn, changed: set[str], taken: set[str]
) -> tuple[list[JoinedParameter], dict[str, str]]:
    """The parameters of both kernels, each argument of the host once, and what the second one's are called."""
    parameters: list[JoinedParameter] = []
    passed: dict[tuple[str, bool, bool], str] = {}
    arguments = turn.arguments(0)
    for p in turn.first.parameters:
        if p.pointer and (arguments[p.name], False, True) in passed:
            raise Refusal(f"{turn.first.name} is given `{arguments[p.name]}` twice")
        passed.setdefault((arguments[p.name], p.constexpr, p.pointer), p.name)
        parameters.append(JoinedParameter(p.name, arguments[p.name], p.constexpr, p.pointer))
    meanings: dict[str, str] = {}
    pointers: set[str] = set()
    for p in turn.then.parameters:
        argument = turn.arguments(1)[p.name]
        if p.pointer and argument in pointers:
            raise Refusal(f"{turn.then.name} is given `{argument}` twice")
        pointers |= {argument} if p.pointer else set()
        same = passed.get((argument, p.constexpr, p.pointer), "")
        if same and same not in changed:
            meanings[p.name] = same
            continue
        mine = {q.name for q in parameters} | changed
        name = p.name if p.name not in mine else taken_name(p.name, taken)
        meanings[p.name] = name
        parameters.append(JoinedParameter(name, argument, p.constexpr, p.pointer))
    return parameters, meanings


def _name_variables(
    turn: TritonTurn, own: set[str], meanings: dict[str, str], taken: set[str]
) -> set[ast.stmt]:
    """Give the second kernel's variables names of their own. What the first one computes alike stands for both; gives
    the second one's statements for these, which go.
    """
    first, then = function_of(turn.first), function_of(turn.then)
    before, after = ([*stored_names(f), *(a.arg for a in f.args.args)] for f in (first, then))
    had = {
        _key(s.value): name
        for s in body_of(first)
        if (name := _steady(s, before))
        and isinstance(s, ast.Assign)
        and not _reads(turn, first, s.value, before)
    }
    dropped: set[ast.stmt] = set()
    now = own | set(meanings.values())
    for statement in body_of(then):
        name = _steady(statement, after)
        if name and isinstance(statement, ast.Assign) and not _reads(turn, then, statement.value, after):
            same = had.get(_key(_Renamed(meanings).visit(_copy(statement.value))), "")
            if same and name not in meanings:
                meanings[name] = same
                dropped.add(statement)
    for name in dict.fromkeys(stored_names(then)):
        if name not in meanings and name in now:
            meanings[name] = taken_name(name, taken)
    return dropped


def _key(value: ast.expr) -> str:
    """What an expression says, however it names the axis of the grid."""
    return ast.unparse(value).replace("program_id(axis=", "program_id(")


def _copy(value: ast.expr) -> ast.expr:
    return ast.parse(ast.unparse(value), mode="eval").body


class _Renamed(ast.NodeTransformer):
    def __init__(self, meanings: Mapping[str, str]) -> None:
        self.meanings = meanings

    def visit_Name(self, name: ast.Name) -> ast.Name:
        return ast.Name(self.meanings.get(name.id, name.id), name.ctx)


def _steady(statement: ast.stmt, stored: list[str]) -> str:
    """The name that a statement gives its only value; "" for other statements. `stored` are all names that are given
    values, parameters too, as often as they are.
    """
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        if isinstance(target, ast.Name) and stored.count(target.id) == 1:
            return target.id
    return ""


def _reads(turn: TritonTurn, function: ast.FunctionDef, value: ast.expr, stored: list[str]) -> bool:
    """Whether an expression may come to something else at another place: it reads what changes, or what the first
    kernel stores.
    """
    if any(stored.count(n) > 1 for n in names_in(value)):
        return True
    calls = [
        n
        for n in ast.walk(value)
        if isinstance(n, ast.Call) and called(n) not in _PURE and dotted(n.func) != "float"
    ]
    return not all(called(c) == "load" and _is_kept(turn, function, c) for c in calls)


_PURE = ("program_id", "arange", "num_programs", "full", "zeros", "cdiv", "multiple_of")


def _is_kept(turn: TritonTurn, function: ast.FunctionDef, load: ast.Call) -> bool:
    """Whether the first kernel stores to no buffer that a load may read."""
    first = function_of(turn.first)
    is_first = function is first
    written = (c.args[0] for name in ("store", *_ATOMIC) for c in calls_of(first, name) if c.args)
    stores = {turn.arguments(0)[n] for place in written for n in _pointers(turn.first, first, place)}
    kernel = turn.first if is_first else turn.then
    reads = {turn.arguments(0 if is_first else 1)[n] for n in _pointers(kernel, function, load)}
    return not any(turn.host.may_be_one(a, b) for a in stores for b in reads)


_ATOMIC = tuple(f"atomic_{name}" for name in ("add", "max", "min", "and", "or", "xor", "xchg", "cas"))


def _pointers(kernel: Kernel, function: ast.FunctionDef, place: ast.expr) -> set[str]:
    """The pointer parameters that an expression comes from."""
    names, _ = sources(place, assignments(function))
    return {p.name for p in kernel.parameters if p.pointer and p.name in names}


def body_of(function: ast.FunctionDef) -> list[ast.stmt]:
    """The statements of a function behind its docstring."""
    first = function.body[0]
    is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return function.body[1:] if is_text and len(function.body) > 1 else function.body


def _lines(
    kernel: Kernel, function: ast.FunctionDef, meanings: Mapping[str, str], dropped: set[ast.stmt]
) -> str:
    """The lines of a kernel's body, with other names and without some statements."""
    data, body = data_of(kernel), body_of(function)
    start, end = start_of_line(data, span_of(kernel, body[0]).start), span_of(kernel, body[-1]).end
    if (
        data[start : span_of(kernel, body[0]).start].strip()
        or len(indent_at(data, span_of(kernel, body[0]).start)) != 4
    ):
        raise Refusal(f"the body of {kernel.name} is not laid out in lines of four blanks")
    edits: list[tuple[int, int, str]] = []
    for statement in body:
        span = span_of(kernel, statement)
        if statement in dropped:
            behind = data.find(b"\n", span.end)
            edits.append((start_of_line(data, span.start), behind + 1 if behind >= 0 else len(data), ""))
            continue
        edits += [
            (at.start, at.end, meanings[n.id])
            for n in ast.walk(statement)
            if isinstance(n, ast.Name) and meanings.get(n.id, n.id) != n.id
            for at in (span_of(kernel, n),)
        ]
    text = data[start:end] + b"\n"
    for begin, stop, new in sorted(edits, reverse=True):
        text = text[: begin - start] + new.encode() + text[min(stop, end + 1) - start :]
    return text.decode()
