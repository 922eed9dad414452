"""From a file and a kernel's name to a program for the gate: its device code, its launch, its arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kernel_gate.program import LaunchSpec, Program
from kernel_gate.workload import Workload
from kernel_lineage.kernels.reading import language_of, read
from kernel_lineage.kernels.slicing import device_slice
from kernel_lineage.kernels.source import Kernel, Language, SourceFile
from kernel_lineage.rewrite.launch_expressions import read_launch
from kernel_lineage.rewrite.triton_module import kernel_module


class ProgramError(Exception):
    """No program can be made of the file; the message says why and what to do."""


def program_from_file(
    path: Path,
    kernel_name: str,
    workload: Workload,
    *,
    data: bytes | None = None,
    root: Path | None = None,
    launch: Mapping[str, str] | None = None,
    name: str = "",
    template_arguments: Sequence[str] = (),
) -> Program:
    """The program of one kernel of a file.

    `data` is the text when it is not what the file holds; headers are read beside `path`, never outside of `root`
    (by default the repository around it). `launch` overrides fields of the launch, as a candidate does:
    {"block": "[256]"}. Raises `ProgramError`.
    """
    if data is None:
        try:
            data = path.read_bytes()
        except OSError as error:
            raise ProgramError(f"{path} cannot be read: {error.strerror}") from error
    language = language_of(str(path), data)
    if language is None:
        raise ProgramError(f"{path} holds no kernels: it is neither CUDA C++ nor Triton")
    source = read(data, language)
    kernel = source.kernel(kernel_name)
    if kernel is None:
        known = ", ".join(k.name for k in source.kernels) or "none"
        raise ProgramError(f"{path} has no kernel `{kernel_name}`; its kernels: {known}")
    order = _order(kernel, workload, path)
    arguments = order if order != tuple(a.name for a in workload.args) else None
    label = name or path.name
    if language is Language.TRITON:
        text = _triton_text(data, kernel_name, path)
        spec = _overridden(read_launch(kernel, workload, order), workload, launch or {})
        return Program("triton", text, kernel_name, spec, name=label, arguments=arguments)
    template = tuple(template_arguments) or _template_arguments(kernel, path)
    text = _cuda_text(source, kernel_name, path, root or _repository(path), template)
    # The slice holds the macros of the headers too, which launch expressions may name.
    with_headers = replace(kernel, source=None, text=text)
    spec = _overridden(read_launch(with_headers, workload, order), workload, launch or {})
    return Program(
        "cuda", text, kernel_name, spec, template_arguments=template, name=label, arguments=arguments
    )


def _order(kernel: Kernel, workload: Workload, path: Path) -> tuple[str, ...]:
    """The workload's argument for each parameter: by name when the workload knows all names, else by position."""
    parameters = [p.name for p in kernel.parameters if not p.constexpr]
    declared = [a.name for a in workload.args]
    if set(parameters) <= set(declared):
        return tuple(parameters)
    if len(parameters) == len(declared):
        return tuple(declared)
    raise ProgramError(
        f"{path}: `{kernel.name}` takes {len(parameters)} arguments ({', '.join(parameters)}), the workload declares "
        f"{len(declared)} ({', '.join(declared)}); make them agree"
    )


def _overridden(spec: LaunchSpec | None, workload: Workload, launch: Mapping[str, str]) -> LaunchSpec | None:
    """A launch with some fields replaced; None when it is the workload's own."""
    if not launch:
        return spec
    base = spec or workload.launch.spec()
    constexpr = {k: v for k, v in launch.items() if k not in LaunchSpec.__slots__}
    return replace(
        base,
        grid=_extents(launch["grid"]) if "grid" in launch else base.grid,
        block=_extents(launch["block"]) if "block" in launch else base.block,
        shared_bytes=launch.get("shared_bytes", base.shared_bytes),
        constexpr={**base.constexpr, **constexpr},
        num_warps=int(launch.get("num_warps", base.num_warps)),
        num_stages=int(launch.get("num_stages", base.num_stages)),
    )


def _extents(text: str) -> tuple[str, ...]:
    """`["ceil_div(N, 4)", 2]` and `256` as expressions: a bracketed list is split at its outer commas."""
    inner = text.strip()
    inner = inner[1:-1] if inner.startswith("[") and inner.endswith("]") else inner
    parts, depth, start = [], 0, 0
    for position, character in enumerate(inner):
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            parts.append(inner[start:position])
            start = position + 1
    parts.append(inner[start:])
    return tuple(part.strip().strip("\"'") for part in parts if part.strip())


def _template_arguments(kernel: Kernel, path: Path) -> tuple[str, ...]:
    needed = [p for p in kernel.template_parameters if p.default is None]
    site = next((launch for launch in kernel.launches if launch.template_arguments), None)
    if site is not None:
        return site.template_arguments
    if needed:
        names = ", ".join(p.name for p in kernel.template_parameters)
        raise ProgramError(
            f"{path}: `{kernel.name}` is a template over {names} and no launch in the file says with which arguments"
        )
    return ()


def _repository(path: Path) -> Path:
    folder = path.resolve().parent
    return next((f for f in (folder, *folder.parents) if (f / ".git").exists()), folder)


def _cuda_text(source: SourceFile, kernel: str, path: Path, root: Path, names: Sequence[str]) -> str:
    folder = path.resolve().parent
    inside = root.resolve()

    def resolve(header: str) -> bytes | None:
        target = (folder / header).resolve()
        if not target.is_relative_to(inside) or not target.is_file():
            return None
        return target.read_bytes()

    cut = device_slice(source, kernel, resolve, path.name, names)
    if not cut.text.strip():
        said = "; ".join(p.message for p in cut.problems) or "nothing of it is device code"
        raise ProgramError(f"{path}: {said}")
    return cut.text


def _triton_text(data: bytes, kernel: str, path: Path) -> str:
    try:
        text = kernel_module(data.decode("utf-8"), kernel)
    except (SyntaxError, UnicodeDecodeError) as error:
        raise ProgramError(f"{path} does not parse: {error}") from error
    if text is None:
        raise ProgramError(f"{path} has no function `{kernel}` at its top level")
    return text
