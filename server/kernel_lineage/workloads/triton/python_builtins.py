"""Built-in functions of Python, and methods of its lists, dicts and texts, on what the names of the host stand for."""

from __future__ import annotations

import ast
import functools
import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kernel_lineage.workloads.triton.attributes import attribute_of
from kernel_lineage.workloads.triton.classes import is_a
from kernel_lineage.workloads.triton.objects import TENSOR_DESCRIPTOR, Class, Function, Instance, Method
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
_OF_DESCRIPTOR = ("base", "shape", "strides", "block_shape")
_ITERTOOLS = frozenset({"accumulate", "chain", "combinations", "count", "cycle", "islice", "pairwise", "permutations",
                        "product", "repeat", "zip_longest"})  # fmt: skip
_MOST_ITEMS = 4096


def builtin_function(reader: Reader, name: str, args: list[object], named: Mapping[str, object]) -> object:
    """What a function of Python gives; `Unknown` for all others."""
    first = args[0] if args else None
    match name:
        case "isinstance" if len(args) == 2:
            return instance_of(reader, first, args[1])
        case "hasattr" | "getattr" if len(args) > 1 and isinstance(args[1], str):
            return _by_name(reader, name, first, args[1], args[2:])
        case "min" | "max" | "abs" | "int" | "float" | "bool" | "round" | "pow" if not named:
            return _of_numbers(reader, name, args)
        case "len" if isinstance(first, (tuple, list, dict, set, str, range)):
            return len(first)
        case "len" if isinstance(first, Tensor) and first.shape:
            return first.shape[0]
        case "range":
            ends = [value_at(g, reader.sizes) for g in args]
            whole = [int(e) for e in ends if e is not None]
            if len(whole) == len(args) and whole and 0 not in whole[2:] and is_bounded(whole):
                return range(*whole)
        case _ if name.startswith("operator.") and len(args) == 2 and all(map(is_number, args)):
            op = _OPERATORS.get(name.rpartition(".")[2])
            if op is not None:
                return size_of(ast.BinOp(tree_of(first), op, tree_of(args[1])))
        case "divmod" if len(args) == 2 and all(map(is_number, args)):
            left, right = (tree_of(g) for g in args)
            return tuple(size_of(ast.BinOp(left, op, right)) for op in (ast.FloorDiv(), ast.Mod()))
        case "math.prod" | "functools.reduce" | "sum" if not named:
            return _folded(reader, name, args)
        case "dict":
            return {**(first if isinstance(first, dict) else {}), **named}
        case "print" | "warnings.warn" | "torch.manual_seed" | "super":
            return None
        case "random.sample" | "random.choices":
            count = named.get("k", args[1] if len(args) == 2 else None)
            if isinstance(count, (int, Size)) and isinstance(first, range):
                return Tensor("", (count,), "int64")
        case "str" | "repr" if isinstance(first, (str, int, float)):
            return str(first)
        case "type" if len(args) == 1 and isinstance(first, Instance):
            return first.of
        case "all" | "any" if isinstance(first, (list, tuple)):
            return _quantified(reader, name == "all", first)
    return _of_items(reader, name, args, named)


def _of_items(reader: Reader, name: str, args: list[object], named: Mapping[str, object]) -> object:
    """Functions of what some values hold."""
    last = name.rpartition(".")[2]
    items = [reader.items_of(g) for g in args]
    first = items[0] if items else []
    lists = [i for i in items if i is not None]
    match last:
        case "SimpleNamespace":
            return Instance(last, dict(named))
        case "tuple" | "list" | "set" | "frozenset" | "sorted" | "reversed" | "iter" | "tqdm":
            if first is None:
                return next((g for g in args if isinstance(g, Unknown)), Unknown(f"{name}(…)"))
            if last == "sorted" and all(isinstance(i, (int, float)) for i in first) and "key" not in named:
                numbers = [i for i in first if isinstance(i, (int, float))]
                return sorted(numbers, reverse=named.get("reverse") is True)
            return tuple(first) if last == "tuple" else first[::-1] if last == "reversed" else first
        case "zip" if len(lists) == len(items):
            return list(zip(*lists, strict=False))
        case "map" if args and isinstance(args[0], Function) and len(lists) == len(items) - 1:
            function = args[0]
            return [reader.enter(function, list(row), {}) for row in zip(*lists, strict=False)]
        case "filter" if len(args) == 2 and items[1] is not None:
            keeps = args[0]
            kept = items[1] if keeps is None else None
            if isinstance(keeps, Function):
                kept = [i for i in items[1] if reader.truth(reader.enter(keeps, [i], {})) is not False]
            return kept if kept is not None else Unknown("filter(…)")
        case "enumerate" if first is not None:
            return list(enumerate(first))
        case _ if name.startswith("itertools.") and last in _ITERTOOLS:
            operands = [i if i is not None else g for i, g in zip(items, args, strict=True)]
            if not any(isinstance(t, (Unknown, Open, Function, External, Size)) for t in operands):
                return list(itertools.islice(getattr(itertools, last)(*operands, **named), _MOST_ITEMS))
        case "from_iterable" if first is not None:
            inner = [reader.items_of(i) for i in first]
            if all(i is not None for i in inner):
                return [i for row in inner for i in row or ()]
        case "next" if first:
            return first[0]
        case "constexpr" if len(args) == 1:
            return args[0]
        case "Config" if args and isinstance(args[0], dict):
            options = {k: v for k, v in named.items() if k in ("num_warps", "num_stages", "pre_hook")}
            return Instance("Config", {"kwargs": args[0], **options})
        case "partial" if args and isinstance(args[0], (Function, Method, External)):
            return Instance("partial", {"function": args[0], "given": args[1:], "named": dict(named)})
        case "TensorDescriptor" | "from_tensor" if TENSOR_DESCRIPTOR in name:
            fields = ("base", "block_shape") if last == "from_tensor" else _OF_DESCRIPTOR
            named = {"base" if k == "tensor" else k: v for k, v in named.items()}
            return Instance(TENSOR_DESCRIPTOR, {**dict(zip(fields, args, strict=False)), **named})
        case "param" if name.startswith("pytest."):
            return Instance("param", {"values": tuple(args)})
    return Unknown(f"{name}(…)")


def _folded(reader: Reader, name: str, args: list[object]) -> object:
    """The sum or the product of some numbers, which `functools.reduce` is told."""
    by = {"sum": "add", "math.prod": "mul"}.get(name, "")
    if not by and args:
        asked = args.pop(0)
        items = reader.items_of(args[0]) if args and isinstance(asked, Function) else None
        if isinstance(asked, Function) and items is not None:
            several = [*args[1:], *items]
            return functools.reduce(lambda a, b: reader.enter(asked, [a, b], {}), several)
        by = asked.name.rpartition(".")[2] if isinstance(asked, External) else ""
    numbers = reader.items_of(args[0]) if args else None
    if (
        numbers is None
        or by not in ("mul", "add")
        or not all(map(is_number, numbers := [*args[1:], *numbers]))
    ):
        return Unknown(f"{name}(…)")
    return product(numbers) if by == "mul" else sum(numbers)  # type: ignore[arg-type]


def _of_numbers(reader: Reader, name: str, args: list[object]) -> object:
    if name in ("min", "max") and len(args) == 1:
        args = reader.items_of(args[0]) or args
    args = [_one(reader, g) for g in args]
    unknown = next((g for g in args if isinstance(g, Unknown)), None)
    if unknown is not None or not args:
        return unknown or Unknown(f"{name}(…)")
    first = args[0]
    if not all(is_number(g) for g in args):
        is_text = name == "float" and isinstance(first, str) and first.strip("-") in ("inf", "nan")
        return float(first) if is_text else Unknown(f"{name}(…)")  # type: ignore[arg-type]
    if name in ("min", "max", "abs"):
        return first if len(args) == 1 and name != "abs" else called(name, *args)
    if name == "pow" and len(args) == 2:
        return size_of(ast.BinOp(tree_of(first), ast.Pow(), tree_of(args[1])))
    if name == "bool":
        is_size = isinstance(first, Size)
        return (
            size_of(ast.Compare(tree_of(first), [ast.NotEq()], [ast.Constant(0)])) if is_size else bool(first)
        )
    number = value_at(first, reader.sizes)
    if isinstance(first, Size) and isinstance(number, float) and name in ("int", "round"):
        if len(args) > 1:
            return Unknown(f"{name}(…)")
        # Towards zero: what is negative at some sizes is rounded up there.
        down, up = (number_function(f"math.{n}", [first]) for n in ("floor", "ceil"))
        positive = ast.Compare(tree_of(first), [ast.GtE()], [ast.Constant(0)])
        is_plain = _is_natural(tree_of(first)) and number >= 0
        towards = down if is_plain else size_of(ast.IfExp(positive, tree_of(down), tree_of(up)))
        return called("round", first) if name == "round" else towards
    if isinstance(first, (int, float)):
        return {"int": int, "float": float}.get(name, round)(first)
    return first


def _is_natural(tree: ast.expr) -> bool:
    """Whether nothing is subtracted in a number of sizes."""
    return not any(isinstance(n, (ast.Sub, ast.USub)) for n in ast.walk(tree))


def _one(reader: Reader, value: object) -> object:
    """The one element of a tensor; another value as it is."""
    if not isinstance(value, Tensor) or value.shape is None or not {*value.shape} <= {1}:
        return value
    one = reader.element(value)
    return one if one is not None else value


def _quantified(reader: Reader, every: bool, items: Sequence[object]) -> object:
    """Whether all of some values are true, or any is; a condition over sizes where some of them are one."""
    conditions = [tree_of(i) for i in items if isinstance(i, Size)]
    held = [reader.truth(i) for i in items if not isinstance(i, Size)]
    if (not every) in held:
        return not every
    if None in held:
        return Unknown("a condition")
    of = ast.And() if every else ast.Or()
    return (
        size_of(ast.BoolOp(of, conditions) if len(conditions) > 1 else conditions[0]) if conditions else every
    )


def _by_name(reader: Reader, name: str, of: object, attr: str, default: list[object]) -> object:
    """`hasattr(x, "name")` and `getattr(x, "name", default)`."""
    if not isinstance(of, (External, Instance, Tensor, Class)):
        return Unknown(f"{name}(…)")
    elsewhere = isinstance(of, External) and attr in ("npu", "xpu", "hpu", "musa", "mlu")
    value = None if elsewhere else attribute_of(reader, of, attr)
    there = value is not None and not isinstance(value, Unknown)
    if name == "hasattr":
        return there or (isinstance(of, Instance) and attr in of.attributes)
    return value if there or not default else default[0]


def instance_of(reader: Reader, value: object, asked: object) -> object:
    """Whether a value is of a type, or of one of several."""
    if isinstance(asked, (tuple, list)):
        answers = [instance_of(reader, value, a) for a in asked]
        return True if True in answers else next((f for f in answers if f is not False), False)
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
    reader: Reader, of: object, name: str, args: list[object], named: Mapping[str, object]
) -> object:
    """What a method of a list, a dict, a set or a text gives; it changes lists and dicts."""
    if isinstance(of, dict):
        return _dict_method(reader, of, name, args, named)
    if isinstance(of, Size) and name == "bit_length":
        return called("bit_length", of)
    if isinstance(of, tuple) and name == "numel":
        return product([e for e in of if isinstance(e, (int, Size))])
    if isinstance(of, set) and name == "add" and args:
        of.add(key_of(args[0], reader.sizes))
        return None
    if name not in _METHODS.get(type(of), ()):
        return Unknown(f".{name}(…)")
    if name == "extend":
        args = [reader.items_of(g) for g in args]
    texts = (t for g in args for t in (g if isinstance(g, (list, tuple)) else [g]))
    if isinstance(of, str) and not all(isinstance(t, str) for t in texts):
        return Unknown("a text")
    result: Any = getattr(of, name)(*args)
    return result


def _dict_method(
    reader: Reader, of: dict[Any, object], name: str, args: list[object], named: Mapping[str, object]
) -> object:
    match name:
        case "get" | "pop" | "setdefault" if args:
            key = key_of(args[0], reader.sizes)
            if key is None and args[0] is not None:
                return args[0] if isinstance(args[0], Unknown) else Unknown("an item")
            return getattr(of, name)(key, *(args[1:] or [None]))
        case "update":
            for more in (*args, dict(named)):
                of.update(more if isinstance(more, dict) else {})
            return None
        case "items" | "keys" | "values":
            return list(getattr(of, name)())
        case "copy":
            return dict(of)
    return Unknown(f".{name}(…)")
