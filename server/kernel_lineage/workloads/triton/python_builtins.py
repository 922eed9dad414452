"""Built-in functions of Python, and methods of its lists, dicts and texts, on what the names of the host stand for."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from kernel_lineage.workloads.triton.classes import is_a
from kernel_lineage.workloads.triton.objects import Class, Function, Instance, Method, Reads
from kernel_lineage.workloads.triton.operations import items_of, key_of
from kernel_lineage.workloads.triton.torch_functions import number_function
from kernel_lineage.workloads.triton.values import (
    External,
    Open,
    Size,
    Tensor,
    Unknown,
    is_bounded,
    is_number,
    product,
    size_of,
    tree_of,
    value_at,
)

_TYPES = {"int": int, "float": float, "bool": bool, "str": str, "list": list, "tuple": tuple, "dict": dict,
          "set": set}  # fmt: skip
_OF_TEXTS = frozenset(
    {"lower", "upper", "strip", "startswith", "endswith", "replace", "split", "format", "join"}
)
_MOST_ITEMS = 4096


def builtin_function(reader: Reads, name: str, given: list[object], named: Mapping[str, object]) -> object:
    """What a function of Python gives; `Unknown` for all others."""
    match name:
        case "isinstance" if len(given) == 2:
            return instance_of(reader, given[0], given[1])
        case "hasattr" | "getattr":
            return _by_name(reader, name, given)
        case "min" | "max" | "abs" | "int" | "float" | "bool" | "round" | "pow":
            return _of_numbers(reader, name, given)
        case "len" if given and isinstance(given[0], (tuple, list, dict, set, str, range)):
            return len(given[0])
        case "len" if given and isinstance(given[0], Tensor) and given[0].shape:
            return given[0].shape[0]
        case "range":
            ends = [value_at(g, reader.sizes) for g in given]
            whole = [int(e) for e in ends if e is not None]
            if len(whole) == len(given) and whole and 0 not in whole[2:] and is_bounded(whole):
                return range(*whole)
        case "divmod" if len(given) == 2 and all(map(is_number, given)):
            left, right = (tree_of(g) for g in given)
            return tuple(size_of(ast.BinOp(left, op, right)) for op in (ast.FloorDiv(), ast.Mod()))
        case "math.prod" | "functools.reduce":
            return _folded(reader, name, given)
        case "dict":
            first = given[0] if given and isinstance(given[0], dict) else {}
            return {**first, **named}
        case "print" | "warnings.warn" | "torch.manual_seed" | "super":
            return None
        case "str" | "repr" if given and isinstance(given[0], (str, int, float)):
            return str(given[0])
        case "type" if len(given) == 1 and isinstance(given[0], Instance):
            return given[0].of
        case "all" | "any" if given and isinstance(given[0], (list, tuple)):
            return _quantified(reader, name == "all", given[0])
        case "sum" if given and isinstance(given[0], (list, tuple)) and all(map(is_number, given[0])):
            whole_tree: ast.expr = ast.Constant(0)
            for item in given[0]:
                whole_tree = ast.BinOp(whole_tree, ast.Add(), tree_of(item)) if item != 0 else whole_tree
            return size_of(whole_tree)
    return _of_items(reader, name, given, named)


def _of_items(reader: Reads, name: str, given: list[object], named: Mapping[str, object]) -> object:
    """Functions of what some values hold."""
    last = name.rpartition(".")[2]
    items = [items_of(g, reader.sizes) for g in given]
    first = items[0] if items else []
    known = [i for i in items if i is not None]
    match last:
        case (
            "tuple"
            | "list"
            | "set"
            | "frozenset"
            | "sorted"
            | "reversed"
            | "iter"
            | "tqdm"
            | "SimpleNamespace"
        ):
            if last == "SimpleNamespace":
                return Instance(last, dict(named))
            if first is None:
                return next((g for g in given if isinstance(g, Unknown)), Unknown(f"{name}(…)"))
            if last == "sorted" and all(isinstance(i, (int, float)) for i in first):
                return sorted(i for i in first if isinstance(i, (int, float)))
            found = first[::-1] if last == "reversed" else first
            return tuple(found) if last == "tuple" else found
        case "zip" if len(known) == len(items):
            return list(zip(*known, strict=False))
        case "map" if given and isinstance(given[0], Function) and len(known) == len(items) - 1:
            function = given[0]
            return [reader.enter(function, list(row), {}) for row in zip(*known, strict=False)]
        case "enumerate" if first is not None:
            return list(enumerate(first))
        case "product" if name.startswith("itertools") and len(known) == len(items):
            return _product_of(known)
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
        case "namedtuple" | "lru_cache" | "cache" | "wraps" | "contextmanager":
            return Unknown(f"{name}(…)")
    return Unknown(f"{name}(…)")


def _folded(reader: Reads, name: str, given: list[object]) -> object:
    """The product of some numbers; or their sum or product, as `functools.reduce` is told."""
    asked = given.pop(0) if name.endswith("reduce") and given else External("operator.mul")
    items = items_of(given[0], reader.sizes) if given else None
    by = asked.name.rpartition(".")[2] if isinstance(asked, External) else ""
    ops: dict[str, ast.operator] = {"mul": ast.Mult(), "add": ast.Add()}
    if items is None or by not in ops or not all(map(is_number, items := [*given[1:], *items])):
        return Unknown(f"{name}(…)")
    # One factor of a product, and one term of a sum, may be left out.
    left = [i for i in items if i != (1 if by == "mul" else 0)]
    whole = tree_of(left[0] if left else 1 if by == "mul" else 0)
    for item in left[1:]:
        whole = ast.BinOp(whole, ops[by], tree_of(item))
    return size_of(whole)


def _product_of(lists: list[list[object]]) -> object:
    return list(itertools.islice(itertools.product(*lists), _MOST_ITEMS))


def _of_numbers(reader: Reads, name: str, given: list[object]) -> object:
    if name in ("min", "max") and len(given) == 1:
        given = items_of(given[0], reader.sizes) or given
    unknown = next((g for g in given if isinstance(g, Unknown)), None)
    if unknown is not None or not given:
        return unknown or Unknown(f"{name}(…)")
    if not all(is_number(g) for g in given):
        return float(given[0]) if name == "float" and isinstance(given[0], str) and given[0].strip("-") in (
            "inf", "nan"
        ) else Unknown(f"{name}(…)")  # fmt: skip
    inner = [tree_of(g) for g in given]
    if name in ("min", "max"):
        return given[0] if len(given) == 1 else size_of(ast.Call(ast.Name(name, ast.Load()), inner, []))
    if name == "abs":
        return size_of(ast.Call(ast.Name(name, ast.Load()), inner, []))
    if name == "pow" and len(inner) == 2:
        return size_of(ast.BinOp(inner[0], ast.Pow(), inner[1]))
    number = value_at(given[0], reader.sizes)
    if name == "bool":
        return reader.truth(given[0])
    if name in ("int", "round") and isinstance(number, float):
        return number_function("math.floor", given[:1])
    if isinstance(given[0], (int, float)):
        return {"int": int, "float": float}.get(name, round)(given[0])
    return given[0]


def _quantified(reader: Reads, every: bool, items: Sequence[object]) -> object:
    held = [reader.truth(i) for i in items]
    if (not every) in held:
        return not every
    return Unknown("a condition") if None in held else every


def _by_name(reader: Reads, name: str, given: list[object]) -> object:
    """`hasattr(x, "name")` and `getattr(x, "name", default)`."""
    if len(given) < 2 or not isinstance(given[1], str):
        return Unknown(f"{name}(…)")
    of, attr = given[0], given[1]
    found: object = None
    if isinstance(of, External):
        found = reader.attribute_of(of, attr) if attr not in ("npu", "xpu", "hpu", "musa", "mlu") else None
    elif isinstance(of, (Instance, Tensor, Class)):
        found = reader.attribute_of(of, attr)
    else:
        return Unknown(f"{name}(…)")
    there = found is not None and not isinstance(found, Unknown)
    if name == "hasattr":
        return there or (isinstance(of, Instance) and attr in of.attributes)
    return found if there or len(given) < 3 else given[2]


def instance_of(reader: Reads, value: object, asked: object) -> object:
    """Whether a value is of a type, or of one of several."""
    if isinstance(asked, (tuple, list)):
        found = [instance_of(reader, value, a) for a in asked]
        if True in found:
            return True
        return next((f for f in found if f is not False), False)
    if isinstance(asked, Class):
        return isinstance(value, Instance) and is_a(reader, value.of, asked)
    if not isinstance(asked, External) or isinstance(value, (Unknown, External)):
        return Unknown("its type")
    last = asked.name.rpartition(".")[2]
    if isinstance(value, Open):
        return Unknown(f"the type of {value.name}")
    if isinstance(value, Tensor):
        return last in ("Tensor", "Parameter")
    if isinstance(value, Size):
        number = value_at(value, reader.sizes)
        return last == type(number).__name__ if number is not None else last == "int"
    if isinstance(value, Instance):
        return False if last in _TYPES or last == "Tensor" else Unknown("its type")
    if last in ("Sequence", "Iterable"):
        return isinstance(value, (list, tuple))
    if last == "Callable":
        return isinstance(value, (Function, Method))
    return isinstance(value, _TYPES[last]) if last in _TYPES else False


def container_method(
    reader: Reads, of: object, name: str, given: list[object], named: Mapping[str, object]
) -> object:
    """What a method of a list, a dict, a set or a text gives; it changes lists and dicts."""
    if isinstance(of, list):
        match name:
            case "append" if given:
                of.append(given[0])
                return None
            case "extend" if given:
                of.extend(items_of(given[0], reader.sizes) or [])
                return None
            case "insert" if len(given) == 2 and isinstance(given[0], int):
                of.insert(given[0], given[1])
                return None
            case "pop" if of:
                return of.pop(given[0] if given and isinstance(given[0], int) and given[0] < len(of) else -1)
            case "copy":
                return list(of)
    if isinstance(of, (list, tuple)) and name == "index" and given:
        return of.index(given[0]) if given[0] in of else Unknown("an index")
    if isinstance(of, tuple) and name == "numel":
        return product([e for e in of if isinstance(e, (int, Size))])
    if isinstance(of, dict):
        return _dict_method(reader, of, name, given, named)
    if isinstance(of, set) and name == "add" and given:
        of.add(key_of(given[0], reader.sizes))
        return None
    if isinstance(of, str) and name in _OF_TEXTS and all(isinstance(g, str) for g in given):
        result: Any = getattr(of, name)(*given)
        return result
    if name == "bit_length" and isinstance(of, int):
        return of.bit_length()
    if name == "index" and isinstance(of, range) and isinstance(given[0], int):
        return of.index(given[0])
    return Unknown(f".{name}(…)")


def _dict_method(
    reader: Reads, of: dict[Any, object], name: str, given: list[object], named: Mapping[str, object]
) -> object:
    key = key_of(given[0], reader.sizes) if given else None
    match name:
        case "get" | "pop" if given:
            default = given[1] if len(given) > 1 else None
            if key is None and given[0] is not None:
                return given[0] if isinstance(given[0], Unknown) else Unknown("an item")
            return of.pop(key, default) if name == "pop" else of.get(key, default)
        case "setdefault" if len(given) == 2:
            return of.setdefault(key, given[1])
        case "update":
            for more in (*given, dict(named)):
                of.update(more if isinstance(more, dict) else {})
            return None
        case "items":
            return list(of.items())
        case "keys":
            return list(of)
        case "values":
            return list(of.values())
        case "copy":
            return dict(of)
    return Unknown(f".{name}(…)")
