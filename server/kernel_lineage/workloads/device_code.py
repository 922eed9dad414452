"""The device code of kernels: what they need of their file, of headers and of other modules."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from kernel_gate.files.reading import read_file
from kernel_lineage.kernels.slicing import device_slice
from kernel_lineage.kernels.source import Kernel, SourceFile
from kernel_lineage.workloads.headers import Headers, submodules
from kernel_lineage.workloads.preprocessed import standing_before
from kernel_lineage.workloads.program_errors import ProgramError, UnknownKernelError
from kernel_lineage.workloads.read_from import repository_around
from kernel_lineage.workloads.triton_module import kernel_module
from kernel_lineage.workloads.triton_siblings import siblings_of

_ASKED = re.compile(r"""\b__has_include\s*\(\s*["<]([^"<>\n]+)[">]\s*\)""")


def device_text(kernel: Kernel, path: Path, names: Sequence[str] = (), root: Path | None = None) -> str:
    """The device code of a CUDA C++ kernel with what its headers give; the kernel alone where no slice can be cut."""
    if kernel.source is None:
        return kernel.text
    try:
        return device_code(kernel.source, (kernel.name,), path, root or repository_around(path), names)[0]
    except ProgramError:
        return kernel.text


def device_code(
    source: SourceFile, kernels: Sequence[str], path: Path, root: Path, names: Sequence[str]
) -> tuple[str, tuple[str, ...]]:
    """The device code of kernels, and the headers of other libraries that it needs and nobody has."""
    folder = path.resolve().parent
    inside = root.resolve()
    headers = Headers(inside)

    def resolve(header: str) -> bytes | None:
        target = headers.at(folder, header)
        return read_file(target, within=inside) if target is not None else None

    cut = device_slice(source, kernels, resolve, path.name, names, standing_before(path.resolve(), inside))
    if not cut.text.strip():
        message = "; ".join(p.message for p in cut.problems) or "nothing of it is device code"
        is_there = all(source.kernel(name) is not None for name in kernels)
        raise (ProgramError if is_there else UnknownKernelError)(f"{path}: {message}")
    # What compiles the slice has no file of the repository: a question for one is answered here.
    text = _ASKED.sub(lambda asked: "1" if headers.at(folder, asked[1]) is not None else asked[0], cut.text)
    return text, tuple(_absent(header, inside) for header in cut.lacking)


def _absent(header: str, root: Path) -> str:
    """A header that nobody has, with what to do."""
    library = re.split(r"[/.]", header)[0]
    paths = [p for p in submodules(root) if Path(p).name == library and not any(Path(root, p).glob("*"))]
    if paths:
        return f"`{header}`, whose submodule is not checked out (git submodule update --init {paths[0]})"
    where = f"neither in {root.name} nor in the CUDA toolkit"
    return f"`{header}`, which is {where}: put {library}'s headers into the repository"


def triton_text(data: bytes, kernels: Sequence[str], path: Path) -> tuple[str, str, dict[str, str]]:
    """What kernels need of their module, its path in its package, and what they need of other modules there."""
    try:
        text = kernel_module(data.decode("utf-8"), *kernels)
        module, siblings = siblings_of(text, path) if text is not None else ("", {})
    except (SyntaxError, UnicodeDecodeError) as error:
        raise ProgramError(f"{path} does not parse: {error}") from error
    except (OSError, ValueError) as error:
        raise ProgramError(str(error)) from error
    if text is None:
        names = " or ".join(f"`{kernel}`" for kernel in kernels)
        raise ProgramError(f"{path} has no function {names} at its top level")
    return text, module, siblings
