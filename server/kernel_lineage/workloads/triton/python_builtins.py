"""Built-in functions of Python, and methods of its lists, dicts and texts, on what the names of the host stand for."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kernel_lineage.workloads.triton.classes import is_a
from kernel_lineage.workloads.triton.objects import Class, Function, Instance, Method
from kernel_lineage.workloads.triton.operations import key_of
from kernel_lineage.workloads.triton.torch_functions import number_function
from kernel_lineage.workloads.triton.values import (
    External,
    Open,
    Size,
    Tensor,
    Unknown,
    called,
    is_bounded,
    is_number,
    product,
    size_of,
    tree_of,
    value_at,
)

if TYPE_CHECKING:
    from kernel_lineage.workloads.triton.host import Reader

_TYPES = {"int": int, "float": float, "bool": bool, "str": str, "list": list, "tuple": tuple, "dict": dict,
          "set": set}  # fmt: skip
_METHODS: Mapping[type, frozenset[str]] = {
    list: frozenset({"append", "extend", "insert", "pop", "copy", "index"}),
    tuple: frozenset({"index"}),
    range: frozenset({"index"}),
    int: frozenset({"bit_length"}),
    str: frozenset(
        {"lower", "upper", "strip", "startswith", "endswith", "replace", "split", "format", "join"}
    ),
}
"""Methods that do here what they do in Python."""
_OPERATORS: Mapping[str, ast.operator] = {
    "add": ast.Add(), "sub": ast.Sub(), "mul": ast.Mult(), "floordiv": ast.FloorDiv(), "truediv": ast.Div(),
    "mod": ast.Mod(), "pow": ast.Pow(),
}  # fmt: skip
_ITERTOOLS = frozenset({"accumulate", "chain", "combinations", "count", "cycle", "islice", "pairwise", "permutations",
                        "product", "repeat", "zip_longest"})  # fmt: skip
_MOST_ITEMS = 4096


def builtin_function(reader: Reader, name: str, given: list[object], named: Mapping[str, object]) -> object:
    """What a function of Python gives; `Unknown` for all others."""
    first = given[0] if given else None
    match name:
        case "isinstance" if len(given) == 2:
            return instance_of(reader, first, given[1])
        case "hasattr" | "getattr" if len(given) > 1 and isinstance(given[1], str):
            return _by_name(reader, name, first, given[1], given[2:])
        case "min" | "max" | "abs" | "int" | "float" | "bool" | "round" | "pow":
            return _of_numbers(reader, name, given)
        case "len" if isinstance(first, (tuple, list, dict, set, str, range)):
            return len(first)
        case "len" if isinstance(first, Tensor) and first.shape:
            return first.shape[0]
        case "range":
            ends = [value_at(g, reader.sizes) for g in given]
            whole = [int(e) for e in ends if e is not None]
            if len(whole) == len(given) and whole and 0 not in whole[2:] and is_bounded(whole):
                return range(*whole)
        case _ if name.startswith("operator.") and len(given) == 2 and all(map(is_number, given)):
            op = _OPERATORS.get(name.rpartition(".")[2])
            if op is not None:
                return size_of(ast.BinOp(tree_of(first), op, tree_of(given[1])))
        case "divmod" if len(given) == 2 and all(map(is_number, given)):
            left, right = (tree_of(g) for g in given)
            return tuple(size_of(ast.BinOp(left, op, right)) for op in (ast.FloorDiv(), ast.Mod()))
        case "math.prod" | "functools.reduce" | "sum":
            return _folded(reader, name, given)
        case "dict":
            return {**(first if isinstance(first, dict) else {}), **named}
        case "print" | "warnings.warn" | "torch.manual_seed" | "super":
            return None
        case "str" | "repr" if isinstance(first, (str, int, float)):
            return str(first)
        case "type" if len(given) == 1 and isinstance(first, Instance):
            return first.of
        case "all" | "any" if isinstance(first, (list, tuple)):
            return _quantified(reader, name == "all", first)
    return _of_items(reader, name, given, named)


def _of_items(reader: Reader, name: str, given: list[object], named: Mapping[str, object]) -> object:
    """Functions of what some values hold."""
    last = name.rpartition(".")[2]
    items = [reader.items_of(g) for g in given]
    first = items[0] if items else []
    known = [i for i in items if i is not None]
    match last:
        case "SimpleNamespace":
            return Instance(last, dict(named))
        case "tuple" | "list" | "set" | "frozenset" | "sorted" | "reversed" | "iter" | "tqdm":
            if first is None:
                return next((g for g in given if isinstance(g, Unknown)), Unknown(f"{name}(…)"))
            if last == "sorted" and all(isinstance(i, (int, float)) for i in first):
                return sorted(i for i in first if isinstance(i, (int, float)))
            return tuple(first) if last == "tuple" else first[::-1] if last == "reversed" else first
        case "zip" if len(known) == len(items):
            return list(zip(*known, strict=False))
        case "map" if given and isinstance(given[0], Function) and len(known) == len(items) - 1:
            function = given[0]
            return [reader.enter(function, list(row), {}) for row in zip(*known, strict=False)]
        case "filter" if len(given) == 2 and items[1] is not None:
            keeps = given[0]
            kept = items[1] if keeps is None else None
            if isinstance(keeps, Function):
                kept = [i for i in items[1] if reader.truth(reader.enter(keeps, [i], {})) is not False]
            return kept if kept is not None else Unknown("filter(…)")
        case "enumerate" if first is not None:
            return list(enumerate(first))
        case _ if name.startswith("itertools.") and last in _ITERTOOLS:
            told = [i if i is not None else g for i, g in zip(items, given, strict=True)]
            if not any(isinstance(t, (Unknown, Open, Function, External, Size)) for t in told):
                return list(itertools.islice(getattr(itertools, last)(*told, **named), _MOST_ITEMS))
        case "from_iterable" if first is not None:
            inner = [reader.items_of(i) for i in first]
            if all(i is not None for i in inner):
                return [i for row in inner for i in row or ()]
        case "next" if first:
            return first[0]
        case "constexpr" if len(given) == 1:
            return given[0]
        case "Config" if given and isinstance(given[0], dict):
            options = {k: v for k, v in named.items() if k in ("num_warps", "num_stages")}
            return Instance("Config", {"kwargs": given[0], **options})
        case "partial" if given and isinstance(given[0], (Function, Method, External)):
            return Instance("partial", {"function": given[0], "given": given[1:], "named": dict(named)})
        case "param" if name.startswith("pytest."):
            return Instance("param", {"values": tuple(given)})
    return Unknown(f"{name}(…)")


def _folded(reader: Reader, name: str, given: list[object]) -> object:
    """The sum or the product of some numbers, which `functools.reduce` is told."""
    by = {"sum": "add", "math.prod": "mul"}.get(name, "")
    if not by and given:
        asked = given.pop(0)
        by = asked.name.rpartition(".")[2] if isinstance(asked, External) else ""
    numbers = reader.items_of(given[0]) if given else None
    if (
        numbers is None
        or by not in ("mul", "add")
        or not all(map(is_number, numbers := [*given[1:], *numbers]))
    ):
        return Unknown(f"{name}(…)")
    return product(numbers) if by == "mul" else sum(numbers)  # type: ignore[arg-type]


def _of_numbers(reader: Reader, name: str, given: list[object]) -> object:
    if name in ("min", "max") and len(given) == 1:
        given = reader.items_of(given[0]) or given
    given = [_one(reader, g) for g in given]
    unknown = next((g for g in given if isinstance(g, Unknown)), None)
    if unknown is not None or not given:
        return unknown or Unknown(f"{name}(…)")
    first = given[0]
    if not all(is_number(g) for g in given):
        is_text = name == "float" and isinstance(first, str) and first.strip("-") in ("inf", "nan")
        return float(first) if is_text else Unknown(f"{name}(…)")  # type: ignore[arg-type]
    if name in ("min", "max", "abs"):
        return first if len(given) == 1 and name != "abs" else called(name, *given)
    if name == "pow" and len(given) == 2:
        return size_of(ast.BinOp(tree_of(first), ast.Pow(), tree_of(given[1])))
    if name == "bool":
        return reader.truth(first)
    if name in ("int", "round") and isinstance(value_at(first, reader.sizes), float):
        return number_function("math.floor", given[:1])
    if isinstance(first, (int, float)):
        return {"int": int, "float": float}.get(name, round)(first)
    return first


def _one(reader: Reader, value: object) -> object:
    """The one element of a tensor; another value as it is."""
    if not isinstance(value, Tensor) or value.shape is None or not {*value.shape} <= {1}:
        return value
    one = reader.element(value)
    return one if one is not None else value


def _quantified(reader: Reader, every: bool, items: Sequence[object]) -> object:
    held = [reader.truth(i) for i in items]
    if (not every) in held:
        return not every
    return Unknown("a condition") if None in held else every


def _by_name(reader: Reader, name: str, of: object, attr: str, default: list[object]) -> object:
    """`hasattr(x, "name")` and `getattr(x, "name", default)`."""
    if not isinstance(of, (External, Instance, Tensor, Class)):
        return Unknown(f"{name}(…)")
    elsewhere = isinstance(of, External) and attr in ("npu", "xpu", "hpu", "musa", "mlu")
    found = None if elsewhere else reader.attribute_of(of, attr)
    there = found is not None and not isinstance(found, Unknown)
    if name == "hasattr":
        return there or (isinstance(of, Instance) and attr in of.attributes)
    return found if there or not default else default[0]


def instance_of(reader: Reader, value: object, asked: object) -> object:
    """Whether a value is of a type, or of one of several."""
    if isinstance(asked, (tuple, list)):
        found = [instance_of(reader, value, a) for a in asked]
        return True if True in found else next((f for f in found if f is not False), False)
    if isinstance(asked, Class):
        return isinstance(value, Instance) and is_a(reader, value.of, asked)
    if not isinstance(asked, External) or isinstance(value, (Unknown, External)):
        return Unknown("its type")
    last = asked.name.rpartition(".")[2]
    match value:
        case Open():
            return Unknown(f"the type of {value.name}")
        case Tensor():
            return last in ("Tensor", "Parameter")
        case Size():
            number = value_at(value, reader.sizes)
            return last == (type(number).__name__ if number is not None else "int")
        case Instance():
            return False if last in _TYPES or last == "Tensor" else Unknown("its type")
    if last in ("Sequence", "Iterable"):
        return isinstance(value, (list, tuple))
    if last == "Callable":
        return isinstance(value, (Function, Method))
    return isinstance(value, _TYPES[last]) if last in _TYPES else False


def container_method(
    reader: Reader, of: object, name: str, given: list[object], named: Mapping[str, object]
) -> object:
    """What a method of a list, a dict, a set or a text gives; it changes lists and dicts."""
    if isinstance(of, dict):
        return _dict_method(reader, of, name, given, named)
    if isinstance(of, tuple) and name == "numel":
        return product([e for e in of if isinstance(e, (int, Size))])
    if isinstance(of, set) and name == "add" and given:
        of.add(key_of(given[0], reader.sizes))
        return None
    if name not in _METHODS.get(type(of), ()):
        return Unknown(f".{name}(…)")
    if name == "extend":
        given = [reader.items_of(g) for g in given]
    texts = (t for g in given for t in (g if isinstance(g, (list, tuple)) else [g]))
    if isinstance(of, str) and not all(isinstance(t, str) for t in texts):
        return Unknown("a text")
    result: Any = getattr(of, name)(*given)
    return result


def _dict_method(
    reader: Reader, of: dict[Any, object], name: str, given: list[object], named: Mapping[str, object]
) -> object:
    match name:
        case "get" | "pop" | "setdefault" if given:
            key = key_of(given[0], reader.sizes)
            if key is None and given[0] is not None:
                return given[0] if isinstance(given[0], Unknown) else Unknown("an item")
            return getattr(of, name)(key, *(given[1:] or [None]))
        case "update":
            for more in (*given, dict(named)):
                of.update(more if isinstance(more, dict) else {})
            return None
        case "items" | "keys" | "values":
            return list(getattr(of, name)())
        case "copy":
            return dict(of)
    return Unknown(f".{name}(…)")
