"""Where the CUDA compilers and their headers are: the wheels of the `cuda` extra first, then an installed toolkit."""

from __future__ import annotations

import importlib.util
import os
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kernel_gate.build.errors import CompilerMissing
from kernel_gate.processes.surroundings import environment, find_program

_CRT_HEADER = "crt/mma.h"
_CCCL_HEADER = Path("cuda/std/type_traits")
HOW_TO_GET = (
    "install the compiler wheels (pip install 'kernel-lineage[cuda]') or a CUDA toolkit (set CUDA_HOME to it)"
)


@dataclass(frozen=True, slots=True)
class Nvrtc:
    """The NVRTC library, what it must be loaded after, and the headers that go with it."""

    library: Path
    builtins: Path | None
    include_dirs: tuple[Path, ...]


def _wheel_roots() -> list[Path]:
    """Folders of the `nvidia` namespace package that can hold `lib`, `include` and `bin`."""
    spec = importlib.util.find_spec("nvidia")
    places = list(spec.submodule_search_locations or ()) if spec else []
    roots = [
        child for place in places for child in sorted(Path(place).glob("*"), reverse=True) if child.is_dir()
    ]
    return sorted(roots, key=lambda r: not re.fullmatch(r"cu\d+", r.name))


def _system_roots() -> list[Path]:
    variables = environment()
    named = [Path(value) for name in ("CUDA_HOME", "CUDA_PATH") if (value := variables.get(name))]
    return [root for root in [*named, Path("/usr/local/cuda")] if root.is_dir()]


def toolkit_roots() -> list[Path]:
    """Folders that may hold a toolkit's `bin`: wheels, those that the environment names, the usual place."""
    return [*_wheel_roots(), *_system_roots()]


def _first_library(folder: Path, stem: str) -> Path | None:
    libraries = [p for p in folder.glob(f"{stem}.so*") if ".alt." not in p.name]
    return max(libraries, key=lambda p: (len(p.name), p.name), default=None)


def _completed(include: Path) -> tuple[Path, ...]:
    """A header folder and what some wheels leave out: CCCL, for cooperative groups, and `crt`, for `mma.h`."""
    places = [root / "include" for root in (include.parent, *_wheel_roots(), *_system_roots())]
    folders = [folder for place in places for folder in (place / "cccl", place)]
    complete = [include]
    for header in (_CCCL_HEADER, _CRT_HEADER):
        if not any((folder / header).is_file() for folder in complete):
            complete += [folder.resolve() for folder in folders if (folder / header).is_file()][:1]
    return tuple(complete)


def include_dirs(beside: Path | None = None) -> tuple[Path, ...]:
    """The toolkit's header folders: those next to `beside` if they are complete, else the first complete ones."""
    roots = [*([beside] if beside else []), *_wheel_roots(), *_system_roots()]
    for root in roots:
        if (root / "include" / "cuda_fp16.h").is_file():
            return _completed((root / "include").resolve())
    return ()


@cache
def find_nvrtc() -> Nvrtc:
    """The NVRTC to use. Raises `CompilerMissing` when there is none."""
    for root in toolkit_roots():
        for folder in (root / "lib", root / "lib64"):
            if library := _first_library(folder, "libnvrtc"):
                return Nvrtc(library, _first_library(folder, "libnvrtc-builtins"), include_dirs(root))
    raise CompilerMissing(f"No NVRTC library was found; {HOW_TO_GET}")


@cache
def find_nvcc() -> Path:
    """The `nvcc` to use. Raises `CompilerMissing` when there is none."""
    on_path = find_program("nvcc")
    candidates = [root / "bin" / "nvcc" for root in toolkit_roots()]
    for path in [*candidates, *([Path(on_path)] if on_path else [])]:
        if os.access(path, os.X_OK):
            return path
    raise CompilerMissing(f"nvcc was not found; {HOW_TO_GET}")


def exact_arch(arch: str) -> str:
    """What to call an architecture when code for exactly it is wanted: wgmma and the like need `sm_90a`."""
    return "sm_90a" if arch == "sm_90" else arch
