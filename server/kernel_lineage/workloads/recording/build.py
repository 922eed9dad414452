"""Host code built against the recording runtime: nvcc and g++ in a sandbox, and what the build lacked."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kernel_gate.build.compile import Limits
from kernel_gate.build.contained_run import Ran, make_executable, run_contained
from kernel_gate.build.errors import CompilerMissing
from kernel_gate.build.toolkit import find_nvcc, include_dirs
from kernel_gate.files.reading import read_file
from kernel_gate.files.writing import write_atomically
from kernel_gate.processes.surroundings import find_program
from kernel_gate.sandbox.containment import ContainmentError
from kernel_lineage.cache_folder import everything_kept, make_private
from kernel_lineage.workloads.preprocessed import Headers

RUNTIME = Path(__file__).parent / "runtime"
_SECONDS = 90.0
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]', re.MULTILINE)
_TORCH = re.compile(r"(?:torch|ATen|c10|THC|pybind11|Python\.h)(?:/|$)")
_NO_HEADER = re.compile(r"fatal error: ([^:\n]+): No such file|cannot open source file \"([^\"]+)\"")
_ERROR = re.compile(r"^(.*?(?:\(\d+\)|:\d+(?::\d+)?)): (?:catastrophic |fatal )?error:? *(?:#[\w-]+: )?(.*)$", re.MULTILINE)
_UNDEFINED = re.compile(r"undefined reference to [`']([\w.$]+)'")
_PROGRAM = "program"
_OBJECT = "unit.o"
_NO_MAIN = "main"


class RecordingError(Exception):
    """Nothing was recorded; the message says why and what to do."""


class HostBuildError(RecordingError):
    """The host code cannot be built here."""


@dataclass(frozen=True, slots=True)
class Built:
    """A program that records."""

    program: Path
    undefined: tuple[str, ...]
    """Functions that nothing here defines: they do nothing and give 0."""


def refusal() -> str:
    """Why nothing can be recorded on this machine; "" where it can."""
    try:
        find_nvcc()
    except CompilerMissing as error:
        return str(error)
    return "" if find_program("g++") is not None else "nvcc needs a host compiler; install g++"


def built(text: str, path: Path, root: Path, folder: Path, more: Sequence[Path] = ()) -> Built:
    """The program of a text that stands in the place of `path`, made in `folder`; `more` files are included in it.

    Nothing but `root`, the toolkit and the system's headers is read. Raises `HostBuildError` for code that does not
    compile here, `RecordingError` where nothing can be built or contained.
    """
    if why := refusal():
        raise RecordingError(why)
    shims, searched = _include_folders(text, path, root, folder)
    unit = folder / "unit.cu"
    unit.write_text(f'#include "program.h"\n#line 1 "{path.name}"\n{text}', "utf-8", errors="replace")
    toolkit = include_dirs(find_nvcc().resolve().parent.parent)
    places = [RUNTIME, shims, path.resolve().parent, *searched]
    done = _contained(
        [
            *(str(find_nvcc()), "-c", "-std=c++17", "-w", "-O0", "-cudart=none", "-Xcicc", "-O0"),
            *("-gencode=arch=compute_90a,code=compute_90a", "--expt-relaxed-constexpr", "--expt-extended-lambda"),
            *("-DNDEBUG", "-DTORCH_EXTENSION_NAME=recorded", "-Xcompiler", "-w,-fpermissive,-O1"),
            *(f"-I{place}" for place in places),
            *("-o", _OBJECT, unit.name),
        ],
        folder,
        [root, RUNTIME, *toolkit],
    )
    if done.status != 0:
        raise HostBuildError(_why(done, path))
    return _linked(folder, toolkit)


def _linked(folder: Path, toolkit: Sequence[Path]) -> Built:
    runtime = _runtime_object(folder, toolkit)
    absent = folder / "absent.cpp"
    absent.write_text("", "utf-8")
    lost: tuple[str, ...] = ()
    command = ["g++", "-o", _PROGRAM, _OBJECT, runtime.name, absent.name, "-Wl,--no-demangle", "-lpthread", "-ldl", "-fopenmp"]
    for _ in range(2):
        done = _contained(command, folder, [])
        if done.status == 0:
            make_executable(folder / _PROGRAM)
            return Built(folder / _PROGRAM, lost)
        lost = tuple(dict.fromkeys(_UNDEFINED.findall(done.output)))
        if not lost or _NO_MAIN in lost:
            break
        absent.write_text(
            "".join(f'extern "C" long absent_{i}() asm("{n}"); long absent_{i}() {{ return 0; }}\n' for i, n in enumerate(lost)),
            "utf-8",
        )
    if _NO_MAIN in lost:
        raise HostBuildError("no `main` is in the text")
    raise HostBuildError(f"it does not link: {done.output.strip().splitlines()[-1][:200] if done.output.strip() else done.excess}")


def _runtime_object(folder: Path, toolkit: Sequence[Path]) -> Path:
    """The recording runtime, compiled once for this user and toolkit."""
    sources = [RUNTIME / "cudart.cpp", RUNTIME / "recorder.h"]
    digest = hashlib.sha256(b"".join(s.read_bytes() for s in sources) + repr(toolkit).encode()).hexdigest()[:16]
    here, kept = folder / "cudart.o", everything_kept() / "recorder" / f"cudart-{digest}.o"
    with suppress(OSError):
        here.write_bytes(read_file(kept, most=1 << 24))
        return here
    command = ["g++", "-std=c++17", "-O1", "-w", "-c", *(f"-I{p}" for p in (RUNTIME, *toolkit)), "-o", here.name]
    done = _contained([*command, str(sources[0])], folder, [RUNTIME, *toolkit])
    if done.status != 0:
        raise RecordingError(f"the recording runtime does not compile here: {_why(done, sources[0])}")
    with suppress(OSError):
        make_private(kept.parent)
        write_atomically(kept, here.read_bytes())
    return here


def _contained(command: Sequence[str], folder: Path, readable: Iterable[Path]) -> Ran:
    try:
        return run_contained(command, folder, readable=readable, limits=Limits(seconds=_SECONDS))
    except ContainmentError as error:
        raise RecordingError(f"host code is not run where it cannot be contained: {error}") from error
    except OSError as error:
        raise RecordingError(f"{command[0]} cannot be started: {error.strerror or error}") from error


def _why(done: Ran, path: Path) -> str:
    if done.excess:
        return f"compiling the host code of {path.name} {done.excess}"
    if (header := _NO_HEADER.search(done.output)) is not None:
        name = header[1] or header[2]
        return f"{path.name} asks for the header {name}, which is not here: install it, or set its path in CPATH"
    if (error := _ERROR.search(done.output)) is not None:
        return f"the host code does not compile: {Path(error[1]).name}: {error[2][:160]}"
    said = done.output.strip().splitlines()
    return f"the host code does not compile: {said[-1][:160] if said else f'status {done.status}'}"


def _include_folders(text: str, path: Path, root: Path, folder: Path) -> tuple[Path, list[Path]]:
    """Where the stand-ins for PyTorch's headers are, and the folders of the repository that headers are found in."""
    shims = folder / "headers"
    shims.mkdir()
    found: dict[Path, None] = {}
    for name, at in _included(text, path, Headers(root.resolve())):
        if at is not None and str(at).endswith(f"/{name}"):
            found[Path(str(at)[: -len(name)])] = None
        elif at is None and _TORCH.match(name):
            _shim(shims, name)
    return shims, list(found)


def _shim(shims: Path, name: str) -> None:
    target = (shims / name).resolve()
    if target.is_relative_to(shims.resolve()):
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text('#pragma once\n#include "torch.h"\n', "utf-8")


def _included(text: str, path: Path, headers: Headers) -> Iterator[tuple[str, Path | None]]:
    """What a text includes, and what that includes, with where it is in the repository."""
    waiting, seen = [(text, path.resolve().parent)], {path.resolve()}
    while waiting:
        inner, folder = waiting.pop()
        for name in _INCLUDE.findall(inner):
            at = headers.at(folder, name)
            yield name, at
            if at is not None and at not in seen:
                seen.add(at)
                with suppress(OSError):
                    waiting.append((read_file(at, within=headers.root).decode("utf-8", "replace"), at.parent))
