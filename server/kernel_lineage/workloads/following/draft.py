"""A workload drafted by following the host code that leads to a kernel's launch."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from kernel_gate.expressions import ExpressionError, evaluate_int
from kernel_gate.expressions import names as names_in
from kernel_lineage.code.types import DTYPES
from kernel_lineage.kernels.naming import qualified_name
from kernel_lineage.kernels.source import Kernel, Parameter
from kernel_lineage.workloads.cuda.buffers import WHOLE_RANGES
from kernel_lineage.workloads.cuda.roles import roles_of
from kernel_lineage.workloads.following.fields import alias_of, passed
from kernel_lineage.workloads.following.launches import Given, Launched
from kernel_lineage.workloads.following.sizes import Sizes, asked_of_tensors, root_of
from kernel_lineage.workloads.following.statements import Follower
from kernel_lineage.workloads.following.types import bytes_of, dtype_of
from kernel_lineage.workloads.following.unit import HostCode, Unit, bare_type
from kernel_lineage.workloads.following.values import (
    Buffer,
    Number,
    Opaque,
    Pointer,
    Tensor,
    Value,
    combined,
    divided,
    made,
    plain,
)
from kernel_lineage.workloads.model import NULL, UNRANGED, UNSHAPED, Draft, DraftArgument
from kernel_lineage.workloads.promises import fitted_sizes

_ZEROS = "integers(0, 1)"
_ROUNDS = 3


def followed_drafts(kernel: Kernel, unit: Unit, path_name: str, rooted: Kernel) -> Iterator[Draft]:
    """The drafts of a kernel by each function that leads to its launch; `rooted` has the functions of its headers."""
    leading = unit.leading_to(kernel.name)
    for entry in unit.entries(kernel.name):
        reached = _followed(unit, kernel.name, leading, entry)
        if reached is not None:
            yield _draft(kernel, path_name, rooted, unit, *reached)


def _followed(
    unit: Unit, kernel: str, leading: frozenset[str], entry: HostCode
) -> tuple[Launched, Sizes] | None:
    """The launch that a function comes to, with sizes that keep what is asked for on the way."""
    asked = asked_of_tensors(entry)
    given: Mapping[str, int] = {}
    same: dict[str, str] = {}
    result = None
    for _ in range(_ROUNDS):
        sizes = Sizes(given, same, asked)
        launch = Follower(unit, sizes, kernel, leading).follow(entry)
        if launch is None:
            return result
        result = launch, sizes
        wider = {n: r for n, r in sizes.ranks.items() if r > asked.ranks.get(n, 0)}
        asked = replace(asked, ranks={**asked.ranks, **wider})
        broken = any(not condition.value for condition in sizes.promises.values())
        if not sizes.equal and not broken and not wider:
            break
        for one, other in sizes.equal.items():
            _join(same, one, other, sizes.nameless)
        fitted = fitted_sizes(sizes.dims, tuple(sizes.promises))
        if not sizes.equal and not wider and dict(fitted) == sizes.dims:
            break
        given = fitted
    return result


def _join(same: dict[str, str], one: str, other: str, nameless: set[str]) -> None:
    """Two dims that are one: the one whose name the code gives stays."""
    one, other = root_of(one, same), root_of(other, same)
    if one == other:
        return
    if other in nameless and one not in nameless:
        one, other = other, one
    same[one] = other


class _Gathered:
    """What is found while a launch is written down."""

    def __init__(self) -> None:
        self.missing: list[str] = []
        self.said: list[str] = []
        self.texts: list[str] = []

    def text(self, what: str, value: Value) -> str | None:
        """A number as an expression; None, and a note of what is missing, for another value."""
        if isinstance(value, Number):
            self.texts.append(value.text)
            return value.text
        why = value.why if isinstance(value, Opaque) else "what it is"
        self.missing.append(f"{what}: nothing tells {why}")
        return None


def _draft(
    kernel: Kernel, path_name: str, rooted: Kernel, unit: Unit, launch: Launched, sizes: Sizes
) -> Draft:
    found = _Gathered()
    grid = [t for v in launch.grid if (t := found.text("the launch's grid", v)) is not None]
    block = [t for v in launch.block if (t := found.text("the launch's block", v)) is not None]
    shared = found.text("the launch's shared bytes", launch.shared) or "0"
    types = {t.name: given for t, given in zip(kernel.template_parameters, launch.template, strict=False)}
    roles = roles_of(rooted)
    given_parts = passed(kernel, launch, unit)
    arguments = tuple(
        _argument(
            p.parameter, p.given, p.role or roles.get(p.parameter.name, "input"), types, sizes, found, unit
        )
        for p in given_parts
    )
    for parameter in kernel.parameters[len(launch.arguments) :]:
        if parameter.default is None:
            found.missing.append(f"the value of {parameter.name}, which the launch does not give")
    template = _template(kernel, launch, types, found)
    promises = tuple(p for p in sizes.promises if _over(p, sizes.dims))
    used = {name for text in (*found.texts, *promises) for name in _names_in_order(text)}
    order = [n for a in arguments for extent in a.shape or () for n in _names_in_order(extent)]
    dims = {n: sizes.dims[n] for n in dict.fromkeys((*order, *sizes.dims)) if n in used and n in sizes.dims}
    chosen = tuple(n for n in dims if n in sizes.chosen)
    return Draft(
        kernel.name,
        kernel.language,
        path_name,
        dims,
        dims,
        arguments,
        tuple(grid) if len(grid) == len(launch.grid) else (),
        tuple(block) if len(block) == len(launch.block) else (),
        shared,
        template_arguments=template,
        chosen=chosen,
        promises=promises,
        assumed=(*sizes.said, *found.said),
        missing=tuple(dict.fromkeys(found.missing)),
        way=launch.function,
        entry=qualified_name(kernel),
        has_fields=len(given_parts) != len(launch.arguments),
    )


def _names_in_order(text: str) -> list[str]:
    return re.findall(r"[A-Za-z_]\w*", text)


def _over(text: str, dims: Mapping[str, int]) -> bool:
    try:
        return names_in(text) <= set(dims)
    except ExpressionError:
        return False


def _argument(
    parameter: Parameter,
    given: Given,
    role: str,
    types: dict[str, str],
    sizes: Sizes,
    found: _Gathered,
    unit: Unit,
) -> DraftArgument:
    value, name = given.value, parameter.name
    dtype = _dtype(parameter, value, types, found, unit)
    if not parameter.pointer:
        if isinstance(value, Number):
            found.texts.append(value.text)
            return DraftArgument(name, "scalar", dtype, value=_scalar(value, dtype))
        if dtype is not None and dtype.startswith(("int", "uint")):
            sizes.free(name)
            found.texts.append(name)
            return DraftArgument(name, "scalar", dtype, value=name)
        why = value.why if isinstance(value, Opaque) else "it"
        found.missing.append(f"the value of {name}, `{given.written}` at the launch: nothing tells {why}")
        return DraftArgument(name, "scalar", dtype)
    pointer = value
    if isinstance(pointer, Tensor):
        pointer = Pointer(pointer.buffer)
    if isinstance(pointer, Pointer) and pointer.buffer is None:
        found.said.append(f"{name} is null at the launch")
        return DraftArgument(name, NULL, dtype)
    buffer = (
        pointer.buffer if isinstance(pointer, Pointer) else pointer if isinstance(pointer, Buffer) else None
    )
    shape = _shape(value, buffer, dtype, sizes, found)
    if shape is None:
        found.missing.append(f"{UNSHAPED}{name}: nothing allocates `{given.written}`")
    values = ""
    whole = dtype is not None and not dtype.startswith(("float", "bfloat"))
    if buffer is not None and buffer.cleared and role != "output":
        values = _ZEROS
        found.said.append(f"{name} is cleared before the launch")
    elif role != "output" and whole:
        if buffer is not None and buffer.below is not None:
            found.texts.append(buffer.below.text)
            values = f"integers(0, {buffer.below.text})"
        elif dtype in WHOLE_RANGES:
            values = WHOLE_RANGES[dtype]
            found.said.append(f"{name} is taken to hold any numbers of its type")
        elif role == "input":
            found.missing.append(f"{UNRANGED}{name}")
        else:
            values = "integers(0, 8)"
            found.said.append(f"{name} is taken to hold numbers below 8")
    return DraftArgument(name, role, dtype, shape, values)


def _scalar(value: Number, dtype: str | None) -> str:
    if (
        dtype is not None
        and dtype.startswith(("int", "uint"))
        and isinstance(value.value, float)
        and value.is_constant
    ):
        return str(int(value.value))
    return value.text


def _shape(
    value: Value, buffer: Buffer | None, dtype: str | None, sizes: Sizes, found: _Gathered
) -> tuple[str, ...] | None:
    """The extents of a buffer, from its tensor or from the bytes that are allocated."""
    offset = value.offset if isinstance(value, Pointer) else None
    if buffer is None or (offset is not None and not (offset.is_constant and offset.value == 0)):
        return None
    extents = buffer.tensor.shape if buffer.tensor is not None else None
    if extents is not None:
        numbers = [n for n in extents if not (n.is_constant and n.value == 1)]
    elif buffer.size is not None:
        element = _BYTES.get(dtype or "", 0) or bytes_of(buffer.dtype) or 4
        count = divided(buffer.size, plain(element))
        if not count.factors:
            numbers = [count]
        else:
            rest = [plain(count.constant)] if count.constant != 1 else []
            numbers = [*(Number(1, (f,)) for f in count.factors), *rest]
    else:
        return None
    for number in numbers:
        for factor in number.factors:
            if "-" in factor:
                extent = made(evaluate_int(factor, sizes.dims), factor)
                sizes.require(combined(">", extent, plain(0)))
    texts = tuple(n.text for n in numbers) or ("1",)
    found.texts.extend(texts)
    return texts


_BYTES = {dtype: size for name, dtype in DTYPES.items() if (size := bytes_of(name)) is not None}


def _dtype(
    parameter: Parameter, value: Value, types: dict[str, str], found: _Gathered, unit: Unit
) -> str | None:
    """What a parameter is declared as, or what stands for its type parameter."""
    if parameter.dtype is not None:
        return parameter.dtype
    word = bare_type(parameter.type)
    word = types.get(word, word)
    declared = dtype_of(alias_of(word, unit))
    if declared is not None:
        return declared
    kind = value.dtype if isinstance(value, (Pointer, Tensor, Buffer)) else ""
    if isinstance(value, (Pointer, Tensor)) and not kind and value.buffer is not None:
        kind = value.buffer.dtype
    if (given := dtype_of(kind)) is not None:
        types.setdefault(word, kind)
        return given
    if isinstance(value, Number) and not parameter.pointer:
        return "float32" if isinstance(value.value, float) else "int32"
    if word == "void" and parameter.pointer:
        given = next(
            (d for t in types.values() if (d := dtype_of(t)) is not None and "float" in d), "float32"
        )
        found.said.append(f"{parameter.name}, a `void*`, is taken to point to {given}: nothing tells it")
        return given
    found.missing.append(f"the dtype of {parameter.name}: nothing tells what `{parameter.type}` is")
    return None


def _template(kernel: Kernel, launch: Launched, types: dict[str, str], found: _Gathered) -> tuple[str, ...]:
    """The template's arguments, where the kernel is one."""
    result: list[str] = []
    for position, parameter in enumerate(kernel.template_parameters):
        if position < len(launch.template):
            result.append(launch.template[position])
        elif parameter.name in types:
            result.append(types[parameter.name])
        elif parameter.default is not None:
            break
        else:
            found.missing.append(f"the template argument {parameter.name}, which the launch does not give")
    return tuple(result)
