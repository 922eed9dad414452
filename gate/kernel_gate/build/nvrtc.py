"""NVRTC: CUDA C++ device code to PTX and cubin in this process, by ctypes.

The gate calls it inside its compiler child; it is safe to call directly on code that one trusts. Function names and
result codes are those of NVIDIA's NVRTC documentation (CUDA 13).
"""

import ctypes
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from kernel_gate.build import allowed, prelude
from kernel_gate.build.errors import BuildError, CompilerMissing, Diagnostic
from kernel_gate.build.ptxas_log import read_resources
from kernel_gate.build.standard import standard_of
from kernel_gate.build.toolkit import HOW_TO_GET, exact_arch, find_nvrtc
from kernel_gate.build.unit import Unit
from kernel_gate.devices.image import Image
from kernel_gate.processes.closing import Closing
from kernel_gate.program import Program
from kernel_gate.reasons import Reason

_SUCCESS = 0
_NAME_EXPRESSION_NOT_VALID = 9
_COMPILATION = 6
_SOURCE_NAME = "program.cu"
_DIAGNOSTIC = re.compile(r"^([^\s(][^(\n]*)\((\d+)\): (error|warning)(?: #\S+)?: (.*)$", re.MULTILINE)
_HEADER_NOT_OPENED = re.compile(
    r"""cannot open source file "([^"\n]+)"|fatal error: (\S+): (?:No such file|Permission denied)"""
)
"""What NVRTC and nvcc's front end say, and what g++ says."""
_LINE_OF_HOST_COMPILER = re.compile(rf"^{re.escape(_SOURCE_NAME)}:(\d+):\d+: fatal error", re.MULTILINE)
_OF_NAME_MAP = "__nv_name_map"
_NAME_MAP = re.compile(r"^__nv_name_map(?:\(|:)[^\n]*error[^\n]*", re.MULTILINE)
"""NVRTC's own file of the names that were asked for: an error there is about the kernel's name."""
_HOST_FUNCTION = "is considered a host function"
_ALL_ON_DEVICE = "--device-as-default-execution-space"
_ENTRY = re.compile(r"[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*")


@cache
def _library() -> ctypes.CDLL:
    """The loaded library; its builtins go first, because it looks for them by bare name."""
    nvrtc = find_nvrtc()
    try:
        if nvrtc.builtins:
            ctypes.CDLL(str(nvrtc.builtins), mode=ctypes.RTLD_GLOBAL)
        library = ctypes.CDLL(str(nvrtc.library))
    except OSError as error:
        raise CompilerMissing(f"{nvrtc.library} cannot be loaded ({error}); {HOW_TO_GET}") from error
    library.nvrtcGetErrorString.restype = ctypes.c_char_p
    return library


def load() -> tuple[Path, ...]:
    """Load the library, and give the folders of headers that compiling opens: nothing else is opened afterwards.

    Raises `CompilerMissing` when there is no NVRTC.
    """
    _library()
    return find_nvrtc().include_dirs


def nvrtc_version() -> str:
    """`13.0`."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    _check(_library().nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)))
    return f"{major.value}.{minor.value}"


def _check(code: int) -> None:
    if code != _SUCCESS:
        raise BuildError(f"NVRTC failed: {_library().nvrtcGetErrorString(code).decode()}")


def _strings(values: Sequence[str]) -> ctypes.Array[ctypes.c_char_p]:
    return (ctypes.c_char_p * len(values))(*(value.encode() for value in values))


class _Handle(Closing):
    """One `nvrtcProgram`, destroyed on exit."""

    def __init__(self, source: str, headers: dict[str, str]) -> None:
        self._value = ctypes.c_void_p()
        _check(
            _library().nvrtcCreateProgram(
                ctypes.byref(self._value),
                source.encode(),
                _SOURCE_NAME.encode(),
                len(headers),
                _strings(list(headers.values())),
                _strings(list(headers)),
            )
        )

    def close(self) -> None:
        _library().nvrtcDestroyProgram(ctypes.byref(self._value))

    def name(self, expression: str) -> None:
        """Ask for the mangled name of an expression, before compiling."""
        _check(_library().nvrtcAddNameExpression(self._value, expression.encode()))

    def compile(self, options: Sequence[str]) -> int:
        """Compile; the result code."""
        return int(_library().nvrtcCompileProgram(self._value, len(options), _strings(options)))

    def lowered(self, expression: str) -> str | None:
        """The mangled name, or None when the expression names nothing."""
        name = ctypes.c_char_p()
        code = _library().nvrtcGetLoweredName(self._value, expression.encode(), ctypes.byref(name))
        if code == _NAME_EXPRESSION_NOT_VALID or not name.value:
            return None
        _check(code)
        return name.value.decode()

    def output(self, what: str) -> bytes:
        """`PTX`, `CUBIN` or `ProgramLog`."""
        size = ctypes.c_size_t()
        _check(getattr(_library(), f"nvrtcGet{what}Size")(self._value, ctypes.byref(size)))
        data = ctypes.create_string_buffer(max(1, size.value))
        _check(getattr(_library(), f"nvrtcGet{what}")(self._value, data))
        return data.raw[: size.value]

    def log(self) -> str:
        """The compiler's messages."""
        return self.output("ProgramLog").rstrip(b"\0").decode("utf-8", "replace")


def read_diagnostics(log: str, program: Program) -> tuple[Diagnostic, ...]:
    """The messages of a log of NVRTC or nvcc; lines for messages about the program's own file (`#line` may name it)."""
    diagnostics = []
    for match in _DIAGNOSTIC.finditer(log):
        file = match[1].rsplit("/", 1)[-1]
        own = file == _SOURCE_NAME or (bool(program.name) and program.name.startswith(file))
        message = match[4].strip() if own else f"{file}:{match[2]}: {match[4].strip()}"
        diagnostics.append(Diagnostic(int(match[2]) if own else None, match[3], message))
    return tuple(diagnostics)


def build_failure(program: Program, log: str) -> BuildError:
    """The error that says the first compiler error with the user's line."""
    diagnostics = read_diagnostics(log, program)
    errors = [d for d in diagnostics if d.severity == "error" and not d.message.startswith(_OF_NAME_MAP)]
    first = errors[0] if errors else None
    label = program.name or program.entry
    if header := _HEADER_NOT_OPENED.search(log):
        return _header_not_allowed(label, header[1] or header[2], diagnostics, log)
    if first is None:
        lines = [line for line in log.splitlines() if line.strip()]
        return BuildError(
            f"{label} does not compile: {lines[0] if lines else 'no message'}", diagnostics, log
        )
    place = f"{label}:{first.line + program.first_line - 1}" if first.line else label
    lacking = f"; it needs {', '.join(program.lacking)}" if program.lacking else ""
    return BuildError(f"{place}: {first.message}{lacking}", diagnostics, log)


def _header_not_allowed(label: str, header: str, diagnostics: tuple[Diagnostic, ...], log: str) -> BuildError:
    line = _LINE_OF_HOST_COMPILER.search(log)
    if line:
        diagnostics = (Diagnostic(int(line[1]), "error", f"the header {header} cannot be opened"),)
    return BuildError(
        f"{label} asks for the header {header}; only the CUDA toolkit's headers and the headers that come with the "
        f"program may be included{_remedy(header)}",
        diagnostics,
        log,
        code=Reason.SOURCE_NOT_ALLOWED,
    )


def _remedy(header: str) -> str:
    """What brings a header of the toolkit that its wheels for compiling leave out."""
    return "; cuRAND's come with pip install nvidia-curand or a whole toolkit" if "curand" in header else ""


def compile_nvrtc(program: Program, arch: str = "sm_80", *, want_cubin: bool = False) -> Image:
    """PTX (always) and cubin (if wanted) of a CUDA program's `entry` for `arch` (`sm_80`), with source lines.

    Raises `BuildError` when the code is at fault, `CompilerMissing` when there is no NVRTC.
    """
    return compile_kernels(program, [Unit()], arch, want_cubin=want_cubin)[0]


def compile_kernels(
    program: Program, units: Sequence[Unit], arch: str, *, want_cubin: bool = False
) -> list[Image]:
    """One image per kernel of a CUDA program; they share PTX and cubin, and so the program's global variables.

    Raises `BuildError` when the code is at fault, `CompilerMissing` when there is no NVRTC.
    """
    label = program.name or program.entry
    for name in (unit.entry or program.entry for unit in units):
        if not _ENTRY.fullmatch(name):
            raise BuildError(f"`{name}` is not the name of a kernel", code=Reason.UNKNOWN_KERNEL)
    dirs = load()
    allowed.check_flags(program.flags)
    target = exact_arch(arch)
    target = target if want_cubin else target.replace("sm_", "compute_")
    options = [
        f"--gpu-architecture={target}",
        "-lineinfo",
        f"--pre-include={prelude.PRELUDE_NAME}",
        *(["--ptxas-options=-v"] if want_cubin else []),
        *(f"--include-path={d}" for d in dirs),
        *(f"--define-macro={k}={v}" for k, v in program.defines.items()),
        *standard_of(program),
        *program.flags,
    ]
    headers = {
        **prelude.SHIMS,
        **prelude.STAND_INS,
        prelude.PRELUDE_NAME: prelude.PRELUDE,
        **program.includes,
    }
    expressions = [unit.expression(program) for unit in units]
    source = program.source + _spaces_of_arguments(program.source, expressions)
    with _compiled(source, headers, expressions, options) as (code, log, handle):
        nameless = f"{label} has no __global__ function named"
        if code == _NAME_EXPRESSION_NOT_VALID or (code == _COMPILATION and _only_the_name(log, program)):
            raise BuildError(f"{nameless} {_unknown(expressions, log)}", log=log, code=Reason.UNKNOWN_KERNEL)
        if code == _COMPILATION:
            raise build_failure(program, log)
        _check(code)
        ptx = handle.output("PTX").rstrip(b"\0").decode()
        entries: list[str] = []
        for expression in expressions:
            entry = handle.lowered(expression)
            if entry is None or not re.search(rf"\.entry {re.escape(entry)}\(", ptx):
                raise BuildError(f"{nameless} `{expression}`", log=log, code=Reason.UNKNOWN_KERNEL)
            entries.append(entry)
        allowed.check_ptx(ptx)
        cubin = handle.output("CUBIN") if want_cubin else None
    return [image_of(entry, ptx, cubin, arch, log) for entry in entries]


def _spaces_of_arguments(source: str, expressions: Sequence[str]) -> str:
    """What brings the types into view that a kernel's own namespace defines: `detail::rows<Sum>` as callers name it."""
    spaces = {e.partition("<")[0].rpartition("::")[0] for e in expressions if "<" in e}
    defined = sorted(
        s for s in spaces if s and re.search(rf"\bnamespace\s[\w:\s]*\b{s.split('::')[-1]}\b", source)
    )
    return "".join(f"\nusing namespace {s};" for s in defined)


@contextmanager
def _compiled(
    source: str, headers: dict[str, str], expressions: Sequence[str], options: Sequence[str]
) -> Iterator[tuple[int, str, _Handle]]:
    """The result code, the log and the handle of a compilation.

    nvcc has a host compiler for functions without `__device__`: the host's members of a class, and `constexpr` ones,
    which device code may call. NVRTC has none. Where it stops at one, they are compiled as device functions.
    """
    for more in ((), (_ALL_ON_DEVICE,)):
        with _Handle(source, headers) as handle:
            for expression in expressions:
                handle.name(expression)
            code = handle.compile([*options, *more])
            log = handle.log()
            if more or code != _COMPILATION or _HOST_FUNCTION not in log:
                yield code, log, handle
                return


def _only_the_name(log: str, program: Program) -> bool:
    """Whether the kernel's name is all that the compiler complains of: code that does not compile has no names."""
    errors = [d for d in read_diagnostics(log, program) if d.severity == "error"]
    others = [d for d in errors if not d.message.startswith(_OF_NAME_MAP)]
    return _NAME_MAP.search(log) is not None and not others


def _unknown(expressions: Sequence[str], log: str) -> str:
    """Those of the names that the log complains of, or all."""
    line = _NAME_MAP.search(log)
    quoted = set(re.findall(r'"(\w+)"', line[0])) if line else set()
    named = [e for e in expressions if not quoted.isdisjoint(re.findall(r"\w+", e))]
    return " or ".join(f"`{expression}`" for expression in named or expressions)


def image_of(entry: str, ptx: str, cubin: bytes | None, arch: str, log: str) -> Image:
    """The image of one kernel of a compilation, with what the log says that it takes."""
    used = read_resources(log, entry)
    return Image(
        entry=entry,
        ptx=ptx,
        cubin=cubin,
        arch=arch,
        registers=used.registers if used else None,
        spill_bytes=used.spill_bytes if used else None,
        static_shared_bytes=used.static_shared_bytes if used else None,
        log=log,
    )
