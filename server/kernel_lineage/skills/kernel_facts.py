"""Facts that the source alone gives: types, promises and mechanisms of a kernel, and what its launch sites say."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterable, Mapping

from kernel_gate.expr.syntax import tree_of
from kernel_lineage.kernels.cuda_constants import whole_numbers_in
from kernel_lineage.kernels.mechanisms.model import Site
from kernel_lineage.kernels.source import Kernel, Language, Launch
from kernel_lineage.skills.conditions.facts import Fact, Facts, FactSource, Scalar

TRITON_DEFAULTS = {"num_warps": 4, "num_stages": 3}
"""What Triton's CUDA back end uses where a launch says nothing (triton.backends.nvidia.compiler.CUDAOptions)."""

_SUFFIX = re.compile(r"(?<=[0-9a-fA-F])[uUlL]+\b")
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]+|[1-9]\d*|0")
_MAX_DEPTH = 16


def syntax_facts(kernel: Kernel, sites: Iterable[Site], detectable: Iterable[str]) -> Facts:
    """Data types and `__restrict__` promises of the parameters, and `kernel.has` for every mechanism.

    `sites` are the kernel's mechanisms as found; `detectable` are the ids of all that are looked for: those without a
    site are known to be absent.
    """
    facts: dict[str, Fact] = {}
    for p in kernel.parameters:
        if p.dtype is not None:
            facts[f"dtype({p.name})"] = Fact(
                (p.dtype,), f"{p.name} is declared `{p.type} {p.name}`", FactSource.SYNTAX
            )
    if kernel.source is not None and kernel.language is Language.CUDA:
        for name, (value, line) in file_constants(kernel.source.data).items():
            facts[name] = Fact((value,), f"{name} is {value} (line {line})", FactSource.SYNTAX)
    restricted = [p.name for p in kernel.parameters if p.pointer and p.restrict]
    for a, b in itertools.combinations(restricted, 2):
        evidence = f"{a} and {b} are both declared __restrict__"
        facts[f"noalias({a}, {b})"] = Fact((True,), evidence, FactSource.SYNTAX)
    first: dict[str, Site] = {}
    unsure: set[str] = set()
    for site in sites:
        if site.certain:
            first.setdefault(site.mechanism, site)
        else:
            unsure.add(site.mechanism)
    for mechanism in {*detectable, *first} - (unsure - first.keys()):
        seen = first.get(mechanism)
        evidence = (
            f"{seen.detail}, line {seen.span.first_line}"
            if seen
            else f"no {mechanism.replace('_', ' ')} is seen"
        )
        facts[f'kernel.has("{mechanism}")'] = Fact((seen is not None,), evidence, FactSource.SYNTAX)
    return Facts(facts)


def derived_facts(kernel: Kernel, facts: Facts) -> Facts:
    """What follows from other facts: a pointer that overlaps no other one is exclusive."""
    pointers = [p.name for p in kernel.parameters if p.pointer]
    values: dict[str, Fact] = {}
    for x in pointers:
        pairs = [
            facts.get(f"noalias({x}, {y})") or facts.get(f"noalias({y}, {x})") for y in pointers if y != x
        ]
        statements = [fact for fact in pairs if fact is not None]
        if len(statements) == len(pairs):
            apart = all(value is True for fact in statements for value in fact.values)
            evidence = "; ".join(dict.fromkeys(f.evidence for f in statements)) or f"{x} is the only pointer"
            values[f"exclusive({x})"] = Fact((apart,), evidence, FactSource.SYNTAX)
    return Facts(values)


def file_constants(data: bytes) -> Mapping[str, tuple[int, int]]:
    """Names that a CUDA C++ file defines as one integer (`#define TILE 32`, `const int TILE = 32;`): value and line."""
    constants = whole_numbers_in(data).items()
    return {name: (int(c.value, 0), c.line) for name, c in constants if _NUMBER.fullmatch(c.value)}


def launch_facts(kernel: Kernel) -> Facts:
    """What the kernel's launch sites fix by constants: block, grid, shared memory, warps, stages, scalar arguments,
    numbers of a template.

    Several sites give several values; what one of them does not fix is not known.
    """
    per_site = [_one_launch(kernel, launch) for launch in kernel.launches]
    if not per_site:
        return Facts()
    facts: dict[str, Fact] = {}
    for name in set.intersection(*(set(values) for values in per_site)):
        values = tuple(dict.fromkeys(v[name] for v in per_site))
        lines = ", ".join(dict.fromkeys(str(launch.span.first_line) for launch in kernel.launches))
        evidence = f"{name} is {' or '.join(map(str, values))} where the kernel is launched (line {lines})"
        facts[name] = Fact(values, evidence, FactSource.LAUNCH)
    return Facts(facts)


def _one_launch(kernel: Kernel, launch: Launch) -> dict[str, Scalar]:
    expressions: dict[str, str] = {}
    for what, sizes in (("grid", launch.grid), ("block", launch.block)):
        if sizes:
            expressions.update(zip((f"launch.{what}.{a}" for a in "xyz"), (*sizes, "1", "1"), strict=False))
    if kernel.language is Language.CUDA:
        expressions["launch.shared_bytes"] = launch.shared_bytes or "0"
    elif "autotune" not in kernel.attributes:
        for option, default in TRITON_DEFAULTS.items():
            expressions[f"launch.{option}"] = launch.options.get(option, str(default))
        expressions.update(
            (p.name, launch.options[p.name]) for p in kernel.parameters if p.name in launch.options
        )
    for parameter, argument in zip(kernel.parameters, launch.arguments, strict=False):
        if not parameter.pointer and kernel.language is Language.CUDA:
            expressions[parameter.name] = argument
    of_template = zip(kernel.template_parameters, launch.template_arguments, strict=False)
    expressions.update((p.name, argument) for p, argument in of_template if p.type is not None)
    values: dict[str, Scalar] = {}
    for name, expression in expressions.items():
        value = constant(expression, launch.definitions)
        if value is not None:
            values[name] = value
    return values


def constant(expression: str, definitions: Mapping[str, str]) -> int | None:
    """The value of an integer expression of constants, C++ or Python, or None when it is not one.

    `definitions` are local names and their initialisers; `/` is C++'s division of integers.
    """
    return _constant(expression, definitions, 0)


def _constant(expression: str, definitions: Mapping[str, str], depth: int) -> int | None:
    if depth > _MAX_DEPTH or len(expression) > 200:
        return None
    try:
        root = tree_of(_SUFFIX.sub("", expression.strip()))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None

    def value(node: ast.expr, depth: int) -> int | None:
        if depth > _MAX_DEPTH:
            return None
        match node:
            case ast.Constant(value=int() as number):
                return int(number)
            case ast.Name(id=name) if name in definitions:
                return _constant(definitions[name], definitions, depth + 1)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                inner = value(operand, depth + 1)
                return None if inner is None else -inner
            case ast.BinOp(left=left, op=op, right=right):
                a, b = value(left, depth + 1), value(right, depth + 1)
                return None if a is None or b is None else _arithmetic(op, a, b)
            case _:
                return None

    return value(root, depth)


def _arithmetic(op: ast.operator, a: int, b: int) -> int | None:
    match op:
        case ast.Add():
            return a + b
        case ast.Sub():
            return a - b
        case ast.Mult():
            return a * b
        case ast.Div() | ast.FloorDiv() if b > 0 and a >= 0:
            return a // b
        case ast.Mod() if b > 0 and a >= 0:
            return a % b
        case ast.LShift() if 0 <= b < 32:
            return a << b
        case _:
            return None
