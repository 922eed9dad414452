"""Triton kernels that take tensor descriptors: a kernel around them that makes the descriptors on the device.

The host's `TensorDescriptor` and `tl.make_tensor_descriptor` describe the same memory in the same way, so that one
launcher serves both. Imports the program's module: only in the compiler child.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from kernel_gate.build.unit import Unit, extent_name
from kernel_gate.files.reading import read_file


def with_descriptors(function: Any, unit: Unit) -> tuple[Any, Unit]:
    """A jit function that takes each buffer and its extents, int32, in the place of a row-major descriptor; its unit.

    The unit has the defaults as constants. The text is written behind that of the function's own file, whose lines
    stay what they are.
    """
    source = Path(function.fn.__code__.co_filename)
    before = read_file(source).decode("utf-8").rstrip("\n") + "\n"
    text = _text(function, unit)
    source.write_text(before + text, "utf-8")
    names: dict[str, Any] = {"__name__": function.fn.__module__, "described": function}
    exec(compile("\n" * before.count("\n") + text, str(source), "exec"), names)  # noqa: S102
    settled = {name for name, _ in (*unit.constexpr, *unit.arguments)}
    defaults = ((p.name, p.default) for p in function.params if p.has_default and p.name not in settled)
    return names[function.__name__], replace(unit, constexpr=(*unit.constexpr, *defaults))


def described_by(function: Any) -> Any:
    """The jit function that one of `with_descriptors` calls."""
    return function.fn.__globals__["described"]


def _text(function: Any, unit: Unit) -> str:
    blocks = dict(unit.descriptors)
    taken, made, general = [], [], []
    for parameter in function.params:
        name = parameter.name
        if parameter.do_not_specialize:
            general.append(name)
        if name not in blocks:
            taken.append(f"{name}: tl.constexpr" if parameter.is_constexpr else name)
            continue
        extents = [extent_name(name, axis) for axis in range(len(blocks[name]))]
        taken += [name, *extents]
        strides = ["1"]
        for extent in reversed(extents[1:]):
            strides.insert(0, f"{extent}.to(tl.int64)" if strides == ["1"] else f"{extent} * {strides[0]}")
        made.append(
            f"{name} = tl.make_tensor_descriptor({name}, [{', '.join(extents)}], [{', '.join(strides)}], "
            f"{list(blocks[name])})"
        )
    passed = ", ".join(f"{p.name}={p.name}" for p in function.params)
    body = "; ".join((*made, f"described({passed})"))
    return (
        "import triton\nimport triton.language as tl\n"
        f"@triton.jit(do_not_specialize={general!r})\n"
        f"def {function.__name__}({', '.join(taken)}): {body}\n"
    )
