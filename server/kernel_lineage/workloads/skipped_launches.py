"""What a change's host code asks before it launches a kernel, and keeps from one call to the next.

A verdict is on launches. Host code that launches only on some calls, and answers the others from what it kept, is not
seen by one: `if (opt != last_opt_)` around the launch, `if plan.calls > 8: return plan.result` before it, or every
fourth round of a loop.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tree_sitter import Node

from kernel_gate.reaching import reachable
from kernel_lineage.kernels.cuda_forms import above, inside, text_of
from kernel_lineage.kernels.guards import launcher_guards
from kernel_lineage.kernels.source import Language, Launch, SourceFile
from kernel_lineage.kernels.words import WORD
from kernel_lineage.workloads.following.functions import declared_name, host_code, words_in
from kernel_lineage.workloads.following.unit import unit_of
from kernel_lineage.workloads.triton.host_modules import module_of, names_in

_ASKED = ("dispatch", "early_return")
"""Kinds of guards that decide whether a launch is reached, and no checks."""
_OF_THE_CALL = frozenset(
    {"time", "perf_counter", "perf_counter_ns", "monotonic", "clock", "clock_gettime", "steady_clock", "inspect",
     "_getframe", "stack", "environ", "getenv", "rand", "random", "is_current_stream_capturing"}
)  # fmt: skip
"""What differs from call to call by itself."""
_CHANGING = frozenset(
    {"setdefault", "append", "add", "update", "pop", "clear", "popitem", "insert", "extend"}
)
_CHANGING_IN_CUDA = frozenset(
    {"emplace", "try_emplace", "emplace_back", "emplace_front", "insert", "insert_or_assign", "push_back", "push_front",
     "push", "pop", "erase", "clear", "store", "exchange", "fetch_add", "fetch_sub", "swap", "reset", "put", "set"}
)  # fmt: skip
"""Methods of containers, atomics and caches."""
_LOOPS = frozenset({"for_statement", "while_statement", "do_statement", "for_range_loop"})


@dataclass(slots=True)
class _Scope:
    """The names around a launch."""

    kept: set[str] = field(default_factory=set)
    """Those whose values outlive a call."""
    counted: set[str] = field(default_factory=set)
    """The variables of loops around the launch."""
    made_of: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """Variable or function → the names in what it is set to, or does."""

    def reached(self, condition: str) -> set[str]:
        """The names in a condition, and in what these are made of."""
        return set(reachable(WORD.findall(condition), lambda name: self.made_of.get(name, ())))


def skipped_launches(kernels: Collection[str], former: SourceFile, source: SourceFile) -> tuple[str, ...]:
    """The conditions before every launch of one of the kernels in `source` that hang on what is kept from call to call,
    or on the round of a loop, and that `former` does not ask before any launch.
    """
    before = {g for launch in former.launches for g in asked_before(former, launch)}
    scope_of = _in_cuda if source.language is Language.CUDA else _in_python
    skipped: dict[str, None] = {}
    for kernel in kernels:
        launches = [launch for launch in source.launches if launch.kernel == kernel]
        asked = [{g for g in asked_before(source, launch) if g not in before} for launch in launches]
        for launch, guards in zip(launches, asked, strict=True):
            scope = scope_of(source, launch) if guards else _Scope()
            for condition in sorted(guards):
                names = scope.reached(condition)
                in_all = all(condition in others for others in asked)
                if names & (scope.kept | _OF_THE_CALL) or (in_all and names & scope.counted):
                    skipped[condition] = None
    return tuple(skipped)


def asked_before(source: SourceFile, launch: Launch) -> tuple[str, ...]:
    """The conditions that decide in a file whether a launch is reached, as they are written."""
    return tuple(" ".join(g.expr.split()) for g in launcher_guards(source, launch) if g.kind in _ASKED)


def _in_cuda(source: SourceFile, launch: Launch) -> _Scope:
    unit, scope = unit_of(source.data.decode("utf-8", "replace")), _Scope()
    root = source.root
    site = root.descendant_for_byte_range(launch.span.start, launch.span.end) if root is not None else None
    for functions in unit.functions.values():
        for function in functions:
            scope.made_of[function.name] |= function.words
            scope.kept |= _set_in_cuda(function.node, scope.made_of) & (unit.variables | unit.globals.keys())
    for node in above(site) if site is not None else ():
        if node.type in _LOOPS:
            body = node.child_by_field_name("body")
            scope.counted |= {word for head in node.children if head != body for word in words_in(head)}
        if node.type == "function_definition":
            code = host_code(node)
            parameters = code.parameters if code is not None else ()
            objects = {p.name for p in parameters if not p.reference and not p.stars}
            own, static = ({n for n, kept, _ in _declared(node) if kept is k} for k in (False, True))
            objects |= {n for n, kept, is_object in _declared(node) if is_object and not kept}
            scope.kept |= (
                _set_in_cuda(node, scope.made_of, objects) - own - {p.name for p in parameters} | static
            )
    return scope


def _declared(node: Node) -> Iterator[tuple[str, bool, bool]]:
    """The variables that a piece of code declares: whether each is kept, and whether it is an object of its own."""
    for declaration in inside(node):
        if declaration.type in ("declaration", "for_range_loop"):
            words = words_in(declaration)
            for declarator in declaration.children_by_field_name("declarator"):
                name, stars = declared_name(declarator)
                is_reference = any(inner.type == "reference_declarator" for inner in inside(declarator))
                is_fixed = "constexpr" in words or ("const" in words and not stars)
                yield name, "static" in words and not is_fixed, not stars and not is_reference


def _set_in_cuda(node: Node, made_of: Mapping[str, set[str]], objects: Collection[str] = ()) -> set[str]:
    """The variables and fields that a piece of code sets, but for those of `objects`; `made_of` gets what variables are
    set to.
    """
    sides = {
        "assignment_expression": "left",
        "update_expression": "argument",
        "init_declarator": "declarator",
    }
    names: set[str] = set()
    for inner in inside(node):
        target = inner.child_by_field_name(sides[inner.type]) if inner.type in sides else None
        if target is None:
            continue
        value = inner.child_by_field_name("value" if inner.type == "init_declarator" else "right")
        field_node = target.child_by_field_name("field") if target.type == "field_expression" else None
        if field_node is not None and text_of(target.child_by_field_name("argument")) in objects:
            continue
        name = text_of(field_node or _whole(target)).lstrip("*& ")
        if value is not None:
            made_of[name].update(words_in(value))
        if inner.type != "init_declarator":
            names.add(name)
    return names | _changed_by_methods(node) - {*objects}


def _whole(target: Node) -> Node:
    """What an element is of, `table` of `table[at][0]`."""
    while (
        target.type == "subscript_expression" and (of := target.child_by_field_name("argument")) is not None
    ):
        target = of
    return target


def _changed_by_methods(node: Node) -> set[str]:
    """The containers and counters that a piece of code changes by their methods."""
    callees = (
        call.child_by_field_name("function") for call in inside(node) if call.type == "call_expression"
    )
    fields = (callee for callee in callees if callee is not None and callee.type == "field_expression")
    return {
        text_of(of)
        for callee in fields
        if text_of(callee.child_by_field_name("field")) in _CHANGING_IN_CUDA
        and (of := callee.child_by_field_name("argument")) is not None
    }


def _in_python(source: SourceFile, launch: Launch) -> _Scope:
    scope = _Scope()
    if source.module is None:
        return scope
    module = module_of(Path(), source.module)
    for name, function in module.functions.items():
        last = name.rpartition(".")[2]
        scope.made_of[last] |= names_in(function)
        is_own = last == launch.launcher
        for node in ast.walk(function):
            match node:
                case ast.Global(names=names) | ast.Nonlocal(names=names):
                    scope.kept.update(names)
                case ast.Assign() | ast.AugAssign() | ast.AnnAssign() | ast.NamedExpr():
                    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                    for target in targets:
                        if isinstance(target, ast.Name) and is_own and node.value is not None:
                            scope.made_of[target.id] |= names_in(node.value)
                        elif isinstance(target, ast.Attribute) and last != "__init__":
                            scope.kept.add(target.attr)
                        elif isinstance(target, ast.Subscript):
                            scope.kept |= names_in(target.value) & module.values.keys()
                case ast.Call(func=ast.Attribute(value=ast.Name(id=of), attr=attr)) if attr in _CHANGING:
                    scope.kept |= {of} & module.values.keys()
                case ast.For(target=target) if is_own and _holds(node, launch):
                    scope.counted |= names_in(target)
        if is_own:
            defaults = (*function.args.defaults, *filter(None, function.args.kw_defaults))
            if any(isinstance(default, (ast.Dict, ast.List, ast.Set)) for default in defaults):
                scope.kept |= {a.arg for a in (*function.args.args, *function.args.kwonlyargs)}
    return scope


def _holds(node: ast.stmt, launch: Launch) -> bool:
    return node.lineno <= launch.span.first_line <= (node.end_lineno or 0)
