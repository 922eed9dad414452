"""The arguments of a CUDA launch: dtype, shape, values and numbers, from what callers declare, allocate and copy."""

from __future__ import annotations

import ast
import re

from kernel_lineage.code.types import DTYPES, dtype_bytes
from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.kernels.source import Parameter
from kernel_lineage.workloads.cuda.names import Known, expressed, tree_of
from kernel_lineage.workloads.cuda.scopes import Scope
from kernel_lineage.workloads.launch_expressions import NotExpressible
from kernel_lineage.workloads.model import NULL, UNRANGED, UNSHAPED, DraftArgument
from kernel_lineage.workloads.type_sizes import alias

_SIZEOF = re.compile(r"\bsizeof\s*\(\s*[\w:<> ]+?\s*\)")
_NULL = re.compile(r"(?:\(\s*[\w\s]+\*\s*\)\s*)?(?:NULL|nullptr)")
_QUALIFIERS = re.compile(r"\b(?:const|volatile|__restrict__|restrict)\b|[*&\s]")
WHOLE_RANGES = {"bool": "integers(0, 2)", "int8": "integers", "uint8": "integers"}
"""Types whose values may all come: they are data, and no indices."""
_TAKEN = "float"
"""What a type parameter stands for where no caller tells."""


def argument_of(
    parameter: Parameter, given: str, role: str, scope: Scope | None, known: Known, types: dict[str, str]
) -> DraftArgument:
    """One argument as far as it is known; `types` are the kernel's type parameters, filled in as they are found."""
    dtype = _dtype(parameter, given, scope, known, types)
    name = parameter.name
    if not parameter.pointer:
        try:
            value = expressed(given, scope, known)
            if dtype in ("float32", "float64"):
                value = value.replace("//", "/")
            return DraftArgument(name, "scalar", dtype, value=value)
        except NotExpressible as error:
            return DraftArgument(name, "scalar", dtype, value=_chosen(name, given, dtype, str(error), known))
    here, place = _origin(given, scope)
    if _NULL.fullmatch(here.strip()):
        known.say(f"{name} is {here.strip()} at the launch")
        return DraftArgument(name, NULL, dtype)
    shape = _shape(name, given, here, place, known, dtype)
    values = ""
    if role != "output" and dtype is not None and not dtype.startswith(("float", "bfloat")):
        values = _integers(here, place, known)
        if not values and dtype in WHOLE_RANGES:
            values = WHOLE_RANGES[dtype]
        elif not values and role == "input":
            known.missing.append(f"{UNRANGED}{name}")
        elif not values:
            values = "integers(0, 8)"
            known.say(f"{name} is taken to hold numbers below 8: nothing tells their range")
    return DraftArgument(name, role, dtype, shape, values)


def _chosen(name: str, given: str, dtype: str | None, why: str, known: Known) -> str | None:
    """A whole number that nothing tells as a dim of the parameter's name; others are missing."""
    if dtype is None or not dtype.startswith(("int", "uint")) or name in known.dims:
        known.missing.append(f"the value of {name}, `{given}` at the launch: nothing tells {why}")
        return None
    known.dims[name] = 0
    known.chosen[name] = None
    return name


def _origin(given: str, scope: Scope | None) -> tuple[str, Scope | None]:
    """What a pointer is called where it comes from, and that scope."""
    plain = re.sub(r"^\(\s*[\w\s]+\*+\s*\)", "", given.strip()).strip("() ")
    if scope is None or not plain.isidentifier():
        return given, scope
    name, place = scope.origin(plain)
    written = place.given.get(name, "") if place.caller is not None else ""
    return (written, place.caller) if _NULL.fullmatch(written.strip()) else (name, place)


def _shape(
    name: str, given: str, here: str, place: Scope | None, known: Known, dtype: str | None
) -> tuple[str, ...] | None:
    """The extents of a buffer, from what is allocated for it."""
    size = place.function.allocated(here) if place is not None else ""
    if not size:
        known.missing.append(f"{UNSHAPED}{name}: nothing allocates `{given}`")
        return None
    per_element = len(_SIZEOF.findall(size)) == 1
    try:
        tree = tree_of(_SIZEOF.sub("1", size) if per_element else size, place, known)
    except NotExpressible as error:
        known.missing.append(f"{UNSHAPED}{name}: `{size}` bytes are allocated, and nothing tells {error}")
        return None
    if not per_element:
        return (f"({ast.unparse(tree)}) // {dtype_bytes(dtype) if dtype else 4}",)
    return tuple(ast.unparse(f) for f in _factors(tree)) or ("1",)


def _factors(tree: ast.expr) -> list[ast.expr]:
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Mult):
        return [*_factors(tree.left), *_factors(tree.right)]
    return [] if isinstance(tree, ast.Constant) and tree.value == 1 else [tree]


def _integers(here: str, place: Scope | None, known: Known) -> str:
    """`integers(0, V)` for an array that is copied from one filled with random integers below V."""
    if place is None:
        return ""
    host = place.function.copied_from(here)
    filled = place.function.locals.get(host)
    match = re.fullmatch(r"make_random_int\s*\((.*),\s*([^,]+)\)", text_of(filled), re.DOTALL)
    if match is None:
        return ""
    try:
        return f"integers(0, {expressed(match[2], place, known)})"
    except NotExpressible:
        return ""


def _dtype(
    parameter: Parameter, given: str, scope: Scope | None, known: Known, types: dict[str, str]
) -> str | None:
    """What a parameter is declared as, or the array that it is given, or what stands for its type parameter."""
    if parameter.dtype is not None:
        return parameter.dtype
    word = _QUALIFIERS.sub(" ", parameter.type).strip()
    dtype = DTYPES.get(alias(types.get(word, word), known.text))
    if dtype is None and scope is not None:
        written = _declared(given, scope)
        dtype = DTYPES.get(alias(written, known.text))
        if word in types and dtype is not None:
            types[word] = written
    if dtype is None and word in types:
        types[word] = _TAKEN
        known.say(f"{word} is taken to be {_TAKEN}: nothing tells it")
        dtype = DTYPES[_TAKEN]
    if dtype is None:
        known.missing.append(f"the dtype of {parameter.name}: nothing tells what `{parameter.type}` is")
    return dtype


def _declared(given: str, scope: Scope) -> str:
    """The type of the elements of what a launch is given, as its caller or its launcher declares it; "" unknown."""
    plain = re.sub(r"^\(\s*[\w\s]+\*+\s*\)", "", given.strip()).strip("() ")
    if not plain.isidentifier():
        return ""
    name, place = scope.origin(plain)
    return place.function.types.get(name, "") or place.function.pointer_types.get(name, "")
