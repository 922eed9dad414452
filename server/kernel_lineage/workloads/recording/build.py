"""Host code built against the recording runtime: g++, or nvcc, in a sandbox, and what the build lacked."""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from kernel_gate.build.compile import Limits
from kernel_gate.build.contained_run import Ran, make_executable, run_contained
from kernel_gate.build.errors import ENDED_FROM_OUTSIDE, CompilerMissing
from kernel_gate.build.toolkit import find_nvcc
from kernel_gate.deadline import Threads
from kernel_gate.files.reading import read_file
from kernel_gate.files.writing import write_atomically
from kernel_gate.full_disk import MAKE_ROOM
from kernel_gate.processes.surroundings import find_program
from kernel_gate.sandbox.containment import ContainmentError
from kernel_lineage.cache_folder import everything_kept, make_private
from kernel_lineage.workloads.headers import standard_of
from kernel_lineage.workloads.recording.conjunctions import with_parts
from kernel_lineage.workloads.recording.includes import (
    headers_of_cuda,
    include_folders,
    put,
    toolkit,
    without_kernels,
)
from kernel_lineage.workloads.recording.plain import NotPlainError, as_plain, may_be_plain
from kernel_lineage.workloads.recording.salvage import LOST_MAIN, without_errors

RUNTIME = Path(__file__).parent / "runtime"
_ABSENT = RUNTIME / "absent"
_SECONDS = 150.0
_LIBRARIES = {"cublas": "cuBLAS", "cudnn": "cuDNN", "cufft": "cuFFT", "curand": "cuRAND", "cusolver": "cuSOLVER",
              "cusparse": "cuSPARSE", "cutensor": "cuTENSOR", "nccl": "NCCL", "npp": "NPP", "nvjpeg": "nvJPEG",
              "nvml": "NVML"}  # fmt: skip
"""What the names of a library's headers begin with → the library."""
_NO_HEADER = re.compile(r"fatal error: ([^:\n]+): No such file|cannot open source file \"([^\"]+)\"")
_ERROR = re.compile(
    r"^(.*?(?:\(\d+\)|:\d+(?::\d+)?)): (?:catastrophic |fatal )?error:? *(?:#[\w-]+: )?(.*)$", re.MULTILINE
)
_AT_LINE = re.compile(
    r"^([^\s:(]+)(?:\((\d{1,9})\)|:(\d{1,9}):\d+): (?:fatal )?error:? *(?:#[\w-]+: )?(.*)$", re.MULTILINE
)
_EXPANDED = re.compile(r"^([^\s:(]+):(\d{1,9}):\d+: note: in expansion of macro")
_COPYING = threading.Lock()
_TRIES = 5
"""Compilations of one text, each without what did not compile in the one before."""
_UNDEFINED = re.compile(r"undefined reference to [`']([\w.$]+)'")
_LEAST_FREE = 1 << 20
_PROGRAM = "program"
_NVCC = ("-c", "-w", "-O0", "-cudart=none", "-Xcicc", "-O0", "--expt-relaxed-constexpr",
         "--expt-extended-lambda", "-gencode=arch=compute_90a,code=compute_90a", "-Xcompiler",
         f"-w,-fpermissive,-idirafter,{_ABSENT}")  # fmt: skip
_GXX = (
    "-c",
    "-w",
    "-fpermissive",
    "-O0",
    "-include",
    "cuda_runtime.h",
    "-idirafter",
    str(_ABSENT),
)
_AS_NVCC = ("-E", "-x", "c++", "-w", "-DKLINEAGE_PLAIN", "-D__CUDACC__", "-D__NVCC__",
            "-D__CUDACC_EXTENDED_LAMBDA__", "-D__CUDACC_RELAXED_CONSTEXPR__", "-D__CUDA_ARCH_LIST__=900",
            "-D__CUDACC_VER_MAJOR__=13", "-D__CUDACC_VER_MINOR__=0", "-D__CUDACC_VER_BUILD__=0",
            "-include", "plain.h", "-idirafter", str(_ABSENT))  # fmt: skip
"""The front of g++ as nvcc calls it for host code."""
_MOST_PREPROCESSED = 64 << 20
_ZEROED = "-ftrivial-auto-var-init=zero"
"""What a function does not set is 0, and not what other code left on the stack."""
_COMPUTES = "-O1"
"""For programs, which compare results with their own on the CPU; what is called for its launches is built quicker."""
_DEFINED = ("-DNDEBUG", "-DTORCH_EXTENSION_NAME=recorded")
_JOBS = 2
# Sources of several libraries may define one function each; they still make one program.
_LINKED_WITH = ("-Wl,--no-demangle", "-Wl,-z,muldefs", "-lpthread", "-ldl", "-fopenmp")
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
    without: tuple[str, ...] = ()
    """Why parts of the code do not compile here; they are lost."""


def refusal() -> str:
    """Why nothing can be recorded on this machine; "" where it can."""
    try:
        find_nvcc()
    except CompilerMissing as error:
        return str(error)
    return "" if find_program("g++") is not None else "nvcc needs a host compiler; install g++"


def readable_below(root: Path, place: Path) -> list[Path]:
    """What host code may read of its repository: all that lies in `root` but hidden files and folders, such as `.git`.

    The one that `place` lies in is readable in any case. Raises `RecordingError` where `root` holds the home folder.
    """
    root, place = root.resolve(), place.resolve()
    if Path.home().resolve().is_relative_to(root):
        raise RecordingError(
            f"{place.name} belongs to {root}, which holds the home folder: host code that is run could read all of it; "
            "move the project to a folder of its own"
        )

    def is_shown(path: Path) -> bool:
        real = path.resolve()
        inside = real.parts[len(root.parts) :] if real.is_relative_to(root) else ()
        return place.is_relative_to(path) or (bool(inside) and not inside[0].startswith("."))

    with suppress(OSError):
        return [path for path in sorted(root.iterdir()) if is_shown(path)]
    return []


def built(
    text: str, path: Path, root: Path, folder: Path, more: Sequence[Path] = (), *, computes: bool = True
) -> Built:
    """The program of a text that stands in the place of `path`, made in `folder`; `more` are its other sources.

    `computes` says whether it does work of its own on the CPU.

    Nothing but what is not hidden in `root`, the toolkit and the system's headers is read. Raises `HostBuildError` for
    code that does not compile here, `RecordingError` where nothing can be built or contained.
    """
    if why := refusal():
        raise RecordingError(why)
    shims = folder / "headers"
    shims.mkdir()
    with Threads(_JOBS) as pool:
        first = pool.submit(_compiled, text, path, root, folder, shims, 0, computes)
        others = [pool.submit(_other, p, root, folder, shims, i, computes) for i, p in enumerate(more, 1)]
        try:
            main, without = first.result()
        except RecordingError:
            pool.shutdown(wait=False, cancel_futures=True)  # no program comes of the others alone
            raise
        rest = [name for o in others if (name := o.result())]
    # What a table holds is defined in host code: as in builds of extensions, that begins before kernels' files fill it.
    hosts = {f"object{i}/unit.o" for i, p in enumerate(more, 1) if p.suffix != ".cu"}
    objects = [*(n for n in rest if n in hosts), main, *(n for n in rest if n not in hosts)]
    return replace(_linked(folder, objects), without=without)


def _other(path: Path, root: Path, folder: Path, shims: Path, number: int, computes: bool) -> str:
    """The object of another source; "" for one that does not compile: what it defines does nothing then."""
    try:
        text = read_file(path, within=root.resolve()).decode("utf-8", "replace")
    except OSError:
        return ""
    try:
        return _compiled(text, path, root, folder, shims, number, computes)[0]
    except HostBuildError:
        return ""


def _compiled(
    text: str, path: Path, root: Path, folder: Path, shims: Path, number: int, computes: bool
) -> tuple[str, tuple[str, ...]]:
    """The name of the object of one source, and why parts of it are lost. Raises `HostBuildError`, `RecordingError`."""
    cuda = number == 0 or path.suffix == ".cu"
    inner = folder / f"object{number}"  # one of its own for each of those that are compiled at once
    inner.mkdir()
    unit = inner / f"unit.{'cu' if cuda else 'cpp'}"
    with _COPYING:  # what another source has begun to copy is whole before this one is compiled
        folders, names = include_folders(text, path, root, shims)
    front = "".join(f"#include <{header}>\n" for header in headers_of_cuda(names))
    places = [RUNTIME, shims, *folders, *(() if cuda else toolkit())]
    quick = ("-Xcompiler", _COMPUTES) if computes else ()
    command = [str(find_nvcc()), *_NVCC, *quick] if cuda else ["g++", *_GXX]
    command.append(f"-std={standard_of(path, root)}")
    zeroed = ["-Xcompiler", _ZEROED] if cuda else [_ZEROED]
    readable = [*readable_below(root, path), shims, RUNTIME, *toolkit()]
    left, why = with_parts(without_kernels(text)), list[str]()
    named = [*_DEFINED, *(f"-I{place}" for place in places)]
    may_need_no_nvcc = cuda and may_be_plain(left)
    for _ in range(_TRIES):
        unit.write_text(
            f'#include "program.h"\n{front}#line 1 "{path.name}"\n{left}', "utf-8", errors="replace"
        )
        if may_need_no_nvcc:
            done = _preprocessed(command[-1], named, inner, readable)
            if (header := _NO_HEADER.search(done.output)) is not None and _put_empty(shims, header):
                why.append(_why(done, path))  # nvcc would say the same, later
                continue
            may_need_no_nvcc = False
            if not why and done.status == 0 and _is_built_plain(command[-1], computes, inner, readable):
                return f"{inner.name}/unit.o", ()
        options = [*named, "-o", "unit.o", unit.name]
        done = _contained([*command, *zeroed, *options], inner, readable)
        if done.status == 0:
            return f"{inner.name}/unit.o", tuple(why)
        if _ZEROED in done.output and zeroed:  # a g++ before 12 has no such option
            zeroed = []
            continue
        why.append(_why(done, path))
        if (header := _NO_HEADER.search(done.output)) is not None:
            # What needs a header that nobody has is lost then, and nothing else.
            if not _put_empty(shims, header):
                break
        elif (rest := _salvaged(left, path, shims, done.output)) is not None and not LOST_MAIN.search(rest):
            left = rest
        else:
            break
    raise HostBuildError(why[0] if why else f"g++ does not take {_ZEROED}")


def _put_empty(shims: Path, missing: re.Match[str]) -> bool:
    """Whether there is an empty header now for one that is missing: it is written, or was for another source."""
    name = missing[1] or missing[2]
    return put(shims, name, "#pragma once\n") or (shims / name).is_file()


def _preprocessed(standard: str, named: Sequence[str], folder: Path, readable: Sequence[Path]) -> Ran:
    """What g++ says of a source of CUDA C++ whose text it writes with all headers in it, as nvcc lets it do."""
    headers = [f"-isystem{place}" for place in toolkit()]
    return _contained(
        ["g++", standard, *_AS_NVCC, *named, *headers, "-o", "unit.ii", "unit.cu"], folder, readable
    )


def _is_built_plain(standard: str, computes: bool, folder: Path, readable: Sequence[Path]) -> bool:
    """Whether g++ alone builds what it preprocessed, as C++ whose kernels tell what they are given."""
    try:
        data = read_file(folder / "unit.ii", within=folder, most=_MOST_PREPROCESSED)
        text = as_plain(data.decode("utf-8", "replace"), [*toolkit(), RUNTIME, Path("/usr")])
    except (NotPlainError, OSError):
        return False
    (folder / "plain.ii").write_text(text, "utf-8", errors="replace")
    quick = _COMPUTES if computes else "-O0"
    options = ["-x", "c++", "-fpreprocessed", "-c", "-w", "-fpermissive", quick, _ZEROED]
    return _contained(["g++", standard, *options, "-o", "unit.o", "plain.ii"], folder, readable).status == 0


def _salvaged(text: str, path: Path, shims: Path, output: str) -> str | None:
    """The text without what does not compile, as headers in `shims` become; None where that is not to be mended."""
    left, changed = text, False
    for name, errors in _errors(output).items():
        header = Path(name).resolve()
        if name == path.name:
            left = without_errors(left, errors) or left
        elif header.is_relative_to(shims.resolve()):
            before = read_file(header, within=shims.resolve()).decode("utf-8", "replace")
            rest = without_errors(before, errors)
            if rest is not None:
                write_atomically(header, rest.encode())
                changed |= rest != before
    return left if changed or left != text else None


def _errors(output: str) -> dict[str, dict[int, str]]:
    """File → line → message of each error; one in a macro stands where the macro is used."""
    places: list[tuple[str, int, str]] = []
    for line in output.splitlines():
        if (error := _AT_LINE.match(line)) is not None:
            places.append((error[1], int(error[2] or error[3]), error[4][:200]))
        elif places and (used := _EXPANDED.match(line)) is not None:
            places[-1] = used[1], int(used[2]), places[-1][2]
    errors: dict[str, dict[int, str]] = {}
    for name, number, message in places:
        errors.setdefault(name, {}).setdefault(number, message)
    return errors


def _linked(folder: Path, objects: Sequence[str]) -> Built:
    runtime = _runtime_object(folder, toolkit())
    absent = folder / "absent.cpp"
    absent.write_text("", "utf-8")
    lost: tuple[str, ...] = ()
    command = ["g++", "-o", _PROGRAM, *objects, runtime.name, absent.name, *_LINKED_WITH]
    for _ in range(2):
        done = _contained(command, folder, [])
        if done.status == 0:
            make_executable(folder / _PROGRAM)
            return Built(folder / _PROGRAM, lost)
        lost = tuple(dict.fromkeys(_UNDEFINED.findall(done.output)))
        if not lost or _NO_MAIN in lost:
            break
        absent.write_text(
            "".join(
                f'extern "C" long absent_{i}() asm("{n}"); long absent_{i}() {{ return 0; }}\n'
                for i, n in enumerate(lost)
            ),
            "utf-8",
        )
    if _NO_MAIN in lost:
        raise HostBuildError("no `main` is in the text")
    raise HostBuildError(
        f"it does not link: {done.output.strip().splitlines()[-1][:200] if done.output.strip() else done.excess}"
    )


def _runtime_object(folder: Path, toolkit: Sequence[Path]) -> Path:
    """The recording runtime, compiled once for this user and toolkit."""
    sources = [RUNTIME / name for name in ("cudart.cpp", "memory.h", "device.h", "recorder.h")]
    digest = hashlib.sha256(b"".join(s.read_bytes() for s in sources) + repr(toolkit).encode()).hexdigest()[
        :16
    ]
    here, kept = folder / "cudart.o", everything_kept() / "recorder" / f"cudart-{digest}.o"
    with suppress(OSError):
        here.write_bytes(read_file(kept, most=1 << 24))
        return here
    command = [
        "g++",
        "-std=c++17",
        "-O1",
        "-w",
        "-c",
        *(f"-I{p}" for p in (RUNTIME, *toolkit)),
        "-o",
        here.name,
    ]
    done = _contained([*command, str(sources[0])], folder, [RUNTIME, *toolkit])
    if done.status != 0:
        raise RecordingError(f"the recording runtime does not compile here: {_why(done, sources[0])}")
    with suppress(OSError):
        make_private(kept.parent)
        write_atomically(kept, read_file(here, within=folder))
    return here


def _contained(command: Sequence[str], folder: Path, readable: Iterable[Path]) -> Ran:
    """Run a compiler. Raises `RecordingError` where that says nothing of the code, because something else ended it."""
    try:
        done = run_contained(command, folder, readable=readable, limits=Limits(seconds=_SECONDS))
    except ContainmentError as error:
        raise RecordingError(f"host code is not run where it cannot be contained: {error}") from error
    except OSError as error:
        raise RecordingError(f"{command[0]} cannot be started: {error.strerror or error}") from error
    check_room(folder)
    if done.status is not None and (done.status < 0 or ENDED_FROM_OUTSIDE.search(done.output)):
        raise RecordingError(f"{Path(command[0]).name} was ended from outside; try again")
    return done


def check_room(folder: Path) -> None:
    """Raises `RecordingError` for a full disk: what was to be written may not be there."""
    if shutil.disk_usage(folder).free < _LEAST_FREE:
        raise RecordingError(f"the disk of {tempfile.gettempdir()} is full; {MAKE_ROOM}")


def library_of(header: str) -> str | None:
    """The library of NVIDIA's that a header is of; None for any other header."""
    begins = (library for begin, library in _LIBRARIES.items() if header.lower().startswith(begin))
    return next(begins, None) if "/" not in header else None


def _why(done: Ran, path: Path) -> str:
    if done.excess:
        return f"compiling the host code of {path.name} {done.excess}"
    if (header := _NO_HEADER.search(done.output)) is not None:
        name = header[1] or header[2]
        if (library := library_of(name)) is not None:
            return (
                f"{path.name} uses {library} ({name}), which is not supported with this CUDA toolkit: it comes without "
                "that library. With a whole toolkit its calls do nothing, and the launches beside them are recorded"
            )
        return f"{path.name} asks for the header {name}, which is not in the repository: install it in /usr/include"
    if (error := _ERROR.search(done.output)) is not None:
        return f"the host code does not compile: {Path(error[1]).name}: {error[2][:160]}"
    lines = done.output.strip().splitlines()
    return f"the host code does not compile: {lines[-1][:160] if lines else f'status {done.status}'}"
