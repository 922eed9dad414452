"""A workload drafted from a Triton kernel's launch and from the tests and benchmarks that use its module.

Nothing is made up: what no code of the repository tells is missing.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from kernel_lineage.kernels.source import Kernel, Parameter
from kernel_lineage.rewrite.drafting.model import UNRANGED, UNSHAPED, Draft, DraftArgument
from kernel_lineage.rewrite.drafting.triton.host import (
    Reader,
    bound,
)
from kernel_lineage.rewrite.drafting.triton.modules import Modules, module_of
from kernel_lineage.rewrite.drafting.triton.objects import Function
from kernel_lineage.rewrite.drafting.triton.roles import Touch, roles_of, touches_of
from kernel_lineage.rewrite.drafting.triton.shapes import shapes_by_addresses
from kernel_lineage.rewrite.drafting.triton.usages import usages_of
from kernel_lineage.rewrite.drafting.triton.values import (
    External,
    Open,
    Size,
    Stride,
    Tensor,
    Unknown,
    is_number,
    stride_of,
    text_of,
    value_at,
)
from kernel_lineage.rewrite.drafting.triton.ways import Reading, call_of, readings_of

_DEFAULT_DTYPE = "float32"
_MOST_READINGS = 60


def triton_drafts(kernel: Kernel, path: Path, modules: Modules) -> Iterator[Draft]:
    """The drafts of a Triton kernel, one for each way to one of its launches; `modules` are the repository's."""
    if kernel.source is None or kernel.source.module is None:
        return
    own = module_of(path.resolve(), kernel.source.module)
    modules.known[own.path] = own
    usages, defaults = usages_of(own, modules)
    touches = touches_of(kernel)
    left = _MOST_READINGS
    for launch in kernel.launches:
        call = call_of(own.tree, launch)
        for reading in readings_of(call, launch, own, modules, usages) if call is not None else ():
            left -= 1
            if left < 0:
                return
            yield _draft(kernel, path, reading, touches, defaults)


def _draft(
    kernel: Kernel,
    path: Path,
    reading: Reading,
    touches: tuple[Touch, ...],
    defaults: Mapping[str, tuple[float, str]],
) -> Draft:
    """The draft of one way to a launch."""
    given, options = _given(kernel, reading)
    roles = roles_of(touches)
    tensors = {p.name: _tensor(given.get(p.name), reading) for p in kernel.parameters if p.name in roles}
    known = {n: t for n, t in tensors.items() if t is not None and t.shape is not None}
    given = {**given, **{n: t for n, t in tensors.items() if t is not None}}
    found = shapes_by_addresses(touches, given, known)
    for name, shape in found.items():
        tensor = tensors.get(name)
        if tensor is not None:
            tensors[name] = replace(tensor, shape=shape)
            reading.said.append(f"the shape of {name} is concluded from how the kernel addresses it")
    constexpr: dict[str, str] = {}
    arguments: list[DraftArgument] = []
    for parameter in kernel.parameters:
        value = given.get(parameter.name, Unknown("the launch, which does not give it"))
        if parameter.constexpr:
            text = _constexpr(parameter, value, reading)
            if text is not None:
                constexpr[parameter.name] = text
        elif parameter.name in roles:
            arguments.append(
                _buffer(parameter, tensors[parameter.name], value, roles[parameter.name], reading)
            )
        else:
            arguments.append(_scalar(parameter, value, tensors, defaults, reading))
    grid = _grid(reading, constexpr)
    warps, stages = (_whole(options.get(n, d), n, reading) for n, d in (("num_warps", 4), ("num_stages", 3)))
    draft = Draft(
        kernel.name,
        kernel.language,
        path.name,
        {},
        {},
        tuple(arguments),
        grid,
        constexpr=constexpr,
        num_warps=warps,
        num_stages=stages,
        assumed=tuple(dict.fromkeys((*reading.said, *reading.reader.decided))),
        missing=tuple(dict.fromkeys(reading.missing)),
    )
    return _with_named_dims(draft, reading.reader, reading.constants)


def _given(kernel: Kernel, reading: Reading) -> tuple[dict[str, object], dict[str, object]]:
    """What the launch gives to each parameter, and its options; tuned ones are those of the first configuration."""
    call, reader = reading.reader.target, reading.reader
    values: list[object] = []
    for node in call.args:
        value = reader.evaluate(
            node.value if isinstance(node, ast.Starred) else node, reading.module, reading.names
        )
        values.extend(
            value if isinstance(node, ast.Starred) and isinstance(value, (tuple, list)) else [value]
        )
    given: dict[str, object] = dict(zip([p.name for p in kernel.parameters], values, strict=False))
    for parameter in kernel.parameters:
        if parameter.default is not None and parameter.name not in given:
            tree = ast.parse(parameter.default, mode="eval").body
            given[parameter.name] = reader.evaluate(tree, reading.module, {})
    for keyword in call.keywords:
        value = reader.evaluate(keyword.value, reading.module, reading.names)
        more = {keyword.arg: value} if keyword.arg else value if isinstance(value, dict) else {}
        given.update({k: v for k, v in more.items() if isinstance(k, str)})
    for decorator in kernel.function.decorator_list if kernel.function is not None else ():
        if isinstance(decorator, ast.Call):
            given.update(_decided(decorator, given, reading))
    names = {p.name for p in kernel.parameters}
    return {k: v for k, v in given.items() if k in names}, {k: v for k, v in given.items() if k not in names}


def _decided(decorator: ast.Call, given: Mapping[str, object], reading: Reading) -> dict[str, object]:
    """What `@triton.autotune` and `@triton.heuristics` give."""
    last = ast.unparse(decorator.func).rpartition(".")[2]
    parts = [*decorator.args, *(k.value for k in decorator.keywords if k.arg in ("configs", "values"))]
    if last not in ("autotune", "heuristics") or not parts:
        return {}
    value = reading.reader.evaluate(parts[0], reading.module, {})
    if last == "autotune":
        first = value[0] if isinstance(value, (tuple, list)) and value else {}
        reading.said.append("the first of the autotuner's configurations is taken")
        return {k: v for k, v in first.items() if isinstance(k, str)} if isinstance(first, dict) else {}
    reader = reading.reader
    found: dict[str, object] = {}
    for name, rule in value.items() if isinstance(value, dict) else ():
        if isinstance(rule, Function) and isinstance(rule.node, ast.Lambda):
            names = {rule.node.args.args[0].arg: {**given, **found}} if rule.node.args.args else {}
            found[str(name)] = reader.evaluate(rule.node.body, rule.module, {**rule.around, **names})
    return found


def _tensor(value: object, reading: Reading) -> Tensor | None:
    if isinstance(value, Open):
        return reading.reader.tensor_of(value.name, False) or Tensor(value.name, None)
    if isinstance(value, Tensor) and value.shape is not None:
        return replace(value, shape=tuple(reading.reader.example_of(e) for e in value.shape))
    return value if isinstance(value, Tensor) else None


def _why(value: object) -> str:
    match value:
        case Unknown(why=why):
            return f"nothing tells {why}"
        case Open(name=name):
            return f"nothing tells {name}"
        case External(name=name):
            return f"nothing tells {name}"
        case None | str():
            return f"it is {value!r}, which a workload cannot give"
    return "it is no number"


def _constexpr(parameter: Parameter, value: object, reading: Reading) -> str | None:
    if is_number(value) and not (isinstance(value, Stride) and not value.text):
        return text_of(value)
    reading.missing.append(f"the constexpr {parameter.name}: {_why(value)}")
    return None


def _buffer(
    parameter: Parameter, tensor: Tensor | None, value: object, role: str, reading: Reading
) -> DraftArgument:
    name = parameter.name
    if tensor is None:
        reading.missing.append(f"{UNSHAPED}{name}: {_why(value)}")
        return DraftArgument(name, role, None)
    dtype = tensor.dtype
    if dtype is None:
        dtype = _DEFAULT_DTYPE
        reading.said.append(f"nothing tells the dtype of {name}; {dtype} is assumed")
    if tensor.shape is None:
        reading.missing.append(
            f"{UNSHAPED}{name}: no test of the repository gives it, nor does the kernel alone"
        )
        return DraftArgument(name, role, dtype)
    values = tensor.values if role != "output" else ""
    if role == "input" and not values and not dtype.startswith(("float", "bfloat")):
        reading.missing.append(f"{UNRANGED}{name}")
    shape = tuple(text_of(e) for e in tensor.shape) or ("1",)
    return DraftArgument(name, role, dtype, shape, values)


def _scalar(
    parameter: Parameter,
    value: object,
    tensors: Mapping[str, Tensor | None],
    defaults: Mapping[str, tuple[float, str]],
    reading: Reading,
) -> DraftArgument:
    name = parameter.name
    if isinstance(value, Stride) and not value.text:
        tensor = next(
            (t for t in tensors.values() if t is not None and t.name == value.tensor and t.shape), None
        )
        value = (
            stride_of(tensor, value.axis) if tensor is not None else Unknown(f"the shape of {value.tensor}")
        )
    if isinstance(value, (Open, External)):
        asked = value.name.rpartition(".")[2]
        number, where = defaults.get(asked, (None, ""))
        if number is not None:
            value = number
            reading.said.append(f"{asked} is {number}, its default in {where}")
    if not is_number(value):
        reading.missing.append(f"the value of {name}: {_why(value)}")
        return DraftArgument(name, "scalar", "int32")
    number = value_at(value, reading.reader.sizes)
    if number is None:
        reading.missing.append(f"the value of {name}: nothing tells the sizes in `{text_of(value)}`")
    dtype = "float32" if isinstance(number, float) else "int32"
    if isinstance(number, int) and abs(number) >= 1 << 31:
        dtype = "int64"
    return DraftArgument(name, "scalar", dtype, value=text_of(value))


def _grid(reading: Reading, constexpr: Mapping[str, str]) -> tuple[str, ...]:
    """The grid, a function of the constexpr parameters where the launch has one."""
    reader, call = reading.reader, reading.reader.target
    node = call.func.slice if isinstance(call.func, ast.Subscript) else None
    node = node or next((k.value for k in call.keywords if k.arg == "grid"), None)
    value = reader.evaluate(node, reading.module, reading.names) if node is not None else Unknown("the grid")
    if isinstance(value, Function):
        meta = {name: Size(name) for name in constexpr}
        for name, text in constexpr.items():
            number = value_at(Size(text), reader.sizes)
            if number is not None and name not in reader.sizes:
                reader.sizes[name] = number
                reading.constants.add(name)
        inner = {**value.around, **bound(value.node.args, [meta], {}, reader, value.module)}
        value = (
            reader.evaluate(value.node.body, value.module, inner)
            if isinstance(value.node, ast.Lambda)
            else reader.run(value.node, value.module, inner)
        )
    extents = list(value) if isinstance(value, (tuple, list)) else [value]
    for extent in extents:
        if not is_number(extent):
            reading.missing.append(f"the grid: {_why(extent)}")
    return tuple(text_of(e) for e in extents) if all(map(is_number, extents)) else ()


def _whole(value: object, name: str, reading: Reading) -> int:
    number = value_at(value, reading.reader.sizes)
    if number is None:
        reading.missing.append(f"{name}: {_why(value)}")
        return 1
    if isinstance(value, Size):
        reading.said.append(f"{name} is {int(number)} at the sizes that are timed")
    return int(number)


def _with_named_dims(draft: Draft, reader: Reader, constants: set[str]) -> Draft:
    """The draft with the dims that it uses, those made of numbers by the first name that the code has for them."""
    texts = [t for a in draft.arguments for t in (*(a.shape or ()), str(a.value or ""), a.values)]
    texts += [*draft.grid, *draft.constexpr.values()]
    used = {n for t in texts for n in re.findall(r"[A-Za-z_]\w*", t)}
    buffers = {a.name for a in draft.arguments if a.kind != "scalar"}
    renamed: dict[str, str] = {}
    for name in reader.sizes:
        if name in used and name not in constants:
            wanted = reader.called_as.get(name, name) if re.fullmatch(r"d\d+", name) else name
            taken = {*renamed.values(), *buffers, *draft.constexpr}
            renamed[name] = f"{wanted}_" if wanted in taken else wanted
    dims = {new: int(reader.sizes[old]) for old, new in renamed.items()}

    def said(text: str) -> str:
        return re.sub(r"[A-Za-z_]\w*", lambda m: renamed.get(m[0], m[0]), text)

    arguments = tuple(
        replace(
            a,
            shape=tuple(map(said, a.shape)) if a.shape else a.shape,
            value=said(str(a.value)) if a.value is not None else None,
            values=said(a.values),
        )
        for a in draft.arguments
    )
    return replace(
        draft,
        dims=dims,
        checked=dims,
        arguments=arguments,
        grid=tuple(map(said, draft.grid)),
        constexpr={n: said(t) for n, t in draft.constexpr.items()},
        assumed=tuple(map(said, draft.assumed)),
    )
