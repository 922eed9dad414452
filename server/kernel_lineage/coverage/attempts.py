"""What a kernel that nobody has run can be compiled as: its device code, with what its launch sites tell of it.

A draft only has to compile: it decides which instructions come out. What no site tells is tried, the likeliest first.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from kernel_gate.build.unit import Unit
from kernel_gate.compile_time import DTYPE, Constant
from kernel_gate.program import Program
from kernel_lineage.coverage.sites import Sites
from kernel_lineage.kernels.naming import qualified_name
from kernel_lineage.kernels.source import Kernel, Language, Parameter, SourceFile
from kernel_lineage.workloads.device_code import device_code, triton_text
from kernel_lineage.workloads.switches import switches_for

Attempt = list[tuple[Program, Unit]]
"""What is compiled together: the instances of a template, or one signature."""
_INSTANCES_MOST = 4
_NUMBERS = ("64", "128", "32", "8")
"""Values for a number that a template takes and that no site tells."""
_CONSTANTS: tuple[Constant, ...] = (64, 16, False)
_TYPE = "tl.float32"
"""What is tried for a constant that the kernel converts to."""
_POINTERS = ("fp32", "bf16")
_POINTERS_MOST = 12
_CONFIG = re.compile(r"['\"](\w+)['\"]\s*:\s*(\d+)")


def attempts(source: SourceFile, kernel: Kernel, path: Path, root: Path, sites: Sites) -> Iterator[Attempt]:
    """What to compile: the first attempt that compiles, in whole or in part, says what the kernel is made of.

    Raises `ProgramError` for a kernel without device code.
    """
    if kernel.language is Language.CUDA:
        yield from _instances(source, kernel, path, root, sites.templates.get(kernel.name, []))
    else:
        yield from _signatures(source, kernel, path, sites.options.get(kernel.name, []))


def _instances(
    source: SourceFile, kernel: Kernel, path: Path, root: Path, instances: Sequence[Sequence[str]]
) -> Iterator[Attempt]:
    tries: list[Sequence[Sequence[str]]] = [instances[:_INSTANCES_MOST]] if instances else []
    tries += [[arguments] for arguments in drafted_instances(kernel)]
    for tried in tries:
        yield [(_cuda_program(source, kernel, path, root, arguments), Unit()) for arguments in tried]


def _cuda_program(
    source: SourceFile, kernel: Kernel, path: Path, root: Path, arguments: Sequence[str]
) -> Program:
    text, lacking = device_code(source, (kernel.name,), path, root, arguments)
    return Program(
        "cuda",
        text,
        qualified_name(kernel),
        template_arguments=tuple(arguments),
        defines=switches_for(text, kernel.name),
        lacking=lacking,
        name=path.name,
    )


def drafted_instances(kernel: Kernel) -> Iterator[list[str]]:
    """Arguments of a template: `float` for types, `false` for flags, some numbers; none for defaults."""
    required = [p for p in kernel.template_parameters if p.default is None]
    if not any(p.type for p in required):
        yield ["float" for _ in required]
        return
    for number in _NUMBERS:
        yield [
            "float" if p.type is None else "false" if "bool" in p.type else number
            for p in required
        ]  # fmt: skip


def _signatures(
    source: SourceFile, kernel: Kernel, path: Path, sites: Sequence[Mapping[str, str]]
) -> Iterator[Attempt]:
    """Signatures of a Triton kernel; then with one more pointer taken for integers, as indices are."""
    text, module, siblings = triton_text(source.data, (kernel.name,), path)
    program = Program("triton", text, kernel.name, includes=siblings, module=module, name=path.name)
    site = sites[0] if sites else {}
    for pointers in _POINTERS:
        for constant in _CONSTANTS:
            yield [(program, _unit(kernel, site, pointers, constant))]
    for parameter in [p for p in kernel.parameters if p.pointer][:_POINTERS_MOST]:
        yield [(program, _unit(kernel, site, _POINTERS[0], _CONSTANTS[0], parameter.name))]
    yield [(program, _unit(kernel, site, "i32", _CONSTANTS[0]))]


def _unit(
    kernel: Kernel, site: Mapping[str, str], pointers: str, constant: Constant, integers: str = ""
) -> Unit:
    configured = reversed(_CONFIG.findall(kernel.attributes.get("autotune", "")))
    values = {**{name: str(int(value)) for name, value in configured}, **site}
    arguments = tuple(
        (p.name, "*i32" if p.name == integers else _type(p, pointers))
        for p in kernel.parameters
        if not p.constexpr
    )
    return Unit(
        tuple(
            (p.name, _constant(p, kernel, values.get(p.name), constant))
            for p in kernel.parameters
            if p.constexpr
        ),
        num_warps=_whole(values.get("num_warps")) or 4,
        num_stages=_whole(values.get("num_stages")) or 3,
        arguments=arguments,
        divisible=tuple(name for name, kind in arguments if kind.startswith("*")),
    )


def _type(parameter: Parameter, pointers: str) -> str:
    if parameter.pointer:
        return f"*{pointers}"
    default = _literal(parameter.default)
    if isinstance(default, bool):
        return "i1"
    return "fp32" if isinstance(default, float) or "float" in parameter.type else "i32"


def _constant(parameter: Parameter, kernel: Kernel, written: str | None, otherwise: Constant) -> Constant:
    """The value of a `tl.constexpr` parameter: as a site or a default writes it, or any."""
    for text in (written, parameter.default):
        if text is not None and (text == "None" or DTYPE.fullmatch(text)):
            return None if text == "None" else text
        value = _literal(text)
        if isinstance(value, bool | int | float | str):
            return value
    if re.search(rf"(\.to\(|\bdtype\s*=)\s*{re.escape(parameter.name)}\b", kernel.text):
        return _TYPE
    return False if "bool" in parameter.type else otherwise


def _literal(text: str | None) -> object:
    """A literal as written, or None when the text is no literal."""
    try:
        return ast.literal_eval(text) if text else None
    except (ValueError, SyntaxError):
        return None


def _whole(text: str | None) -> int | None:
    value = _literal(text)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
