"""Triton: a Python module with a `@triton.jit` function to PTX and cubin. Runs the module: only in the compiler child.

The names, types and attributes handed to `triton.compile` are those that Triton's own launcher derives from a call.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import ModuleType
from typing import Any

from kernel_gate.build import allowed
from kernel_gate.build.descriptors import described_by, with_descriptors
from kernel_gate.build.errors import BuildError, CompilerMissing, Diagnostic
from kernel_gate.build.package import import_module, write_package
from kernel_gate.build.unit import Unit
from kernel_gate.compile_time import DTYPE, Constant
from kernel_gate.devices.image import Image
from kernel_gate.program import Program
from kernel_gate.reasons import Reason

_MODULE = "gated_program"
_REMEDIES = {
    "Block pointers have been removed": "Triton 3.8 is the last that builds them: pip install 'triton<3.9'"
}
"""What to do about some of Triton's messages."""


def load() -> None:
    """Import what compiling takes, and let Triton say once which version of ptxas it has.

    Each compilation has a cache of its own in a folder that goes with it. The key of that cache needs no digest of the
    500 MB of Triton's library, which each process would read for it. Raises `ImportError` where there is no Triton, or
    another one.
    """
    import triton
    import triton.compiler.code_generator
    from triton.backends.nvidia.compiler import get_ptxas_version
    from triton.runtime import cache

    cache.triton_key = lambda: str(triton.__version__)
    get_ptxas_version()


def _load_module(program: Program, folder: Path) -> ModuleType:
    """The program's module, executed. Whatever it raises is the program's fault."""
    if program.module:
        path = write_package(program, folder)
        try:
            return import_module(program, folder)
        except Exception as error:
            raise _python_failure(program, error, path) from error
    path = folder / f"{_MODULE}.py"
    path.write_text(program.source, "utf-8")
    spec = importlib.util.spec_from_file_location(_MODULE, path)
    if spec is None or spec.loader is None:
        raise BuildError(f"{program.name or program.entry} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[_MODULE] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise _python_failure(program, error, path) from error
    return module


def _python_failure(program: Program, error: BaseException, path: Path) -> BuildError:
    """What an exception says, at the deepest line that is in the program."""
    line = getattr(error, "lineno", None) if isinstance(error, SyntaxError) else None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    message = f"{type(error).__name__}: {error}"
    return _failure(program, line, message)


def _failure(program: Program, line: int | None, message: str) -> BuildError:
    label = program.name or program.entry
    place = f"{label}:{line + program.first_line - 1}" if line else label
    first = message.strip().splitlines()[0] if message.strip() else "no message"
    remedy = next((what for phrase, what in _REMEDIES.items() if phrase in message), "")
    first = f"{first}; {remedy}" if remedy else first
    return BuildError(f"{place}: {first}", (Diagnostic(line, "error", message),), message)


def _jit_function(program: Program, entry: str, module: ModuleType) -> Any:
    """The jit function of that name, behind `@triton.autotune` and `@triton.heuristics`."""
    from triton.runtime.jit import JITFunction

    candidate = getattr(module, entry, None)
    while candidate is not None and not isinstance(candidate, JITFunction):
        candidate = getattr(candidate, "fn", None)
    if candidate is None:
        raise BuildError(
            f"{program.name or program.entry} has no @triton.jit function named `{entry}`",
            code=Reason.UNKNOWN_KERNEL,
        )
    return candidate


def _bind(program: Program, function: Any, unit: Unit) -> dict[str, tuple[str, str]]:
    """Parameter name → (workload argument, Triton type): by name when all names agree, else by position."""
    constants = dict(unit.constexpr)
    free = [p.name for p in function.params if not p.is_constexpr and p.name not in constants]
    by_name = dict(unit.arguments)
    if not unit.by_position and set(free) <= set(by_name):
        return {name: (name, by_name[name]) for name in free}
    if len(free) != len(unit.arguments):
        raise BuildError(
            f"{program.name or program.entry}: `{unit.entry or program.entry}` takes {len(free)} arguments "
            f"({', '.join(free)}), the workload has {len(unit.arguments)} ({', '.join(by_name)})",
            code=Reason.ARGUMENTS_DIFFER,
        )
    return dict(zip(free, unit.arguments, strict=True))


def _as_triton(value: Constant) -> Any:
    """A dtype as Triton has it, everything else as it is."""
    import triton.language as tl

    match = DTYPE.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return value
    named = {"float8_e4m3fn": "float8e4nv", "float8_e5m2": "float8e5", "bool": "int1"}
    return getattr(tl, named.get(match[1], match[1]))


@contextmanager
def _no_assembler() -> Iterator[None]:
    """Triton stops at PTX: the assembler takes a third of the time, and the emulated device runs PTX."""
    from triton.backends.nvidia.compiler import CUDABackend

    whole = CUDABackend.add_stages

    def add_stages(self: Any, stages: dict[str, Any], *positional: Any, **named: Any) -> None:
        whole(self, stages, *positional, **named)
        stages["cubin"] = lambda _ptx, _metadata: b""

    CUDABackend.add_stages = add_stages
    try:
        yield
    finally:
        CUDABackend.add_stages = whole


def _compile_unit(program: Program, function: Any, unit: Unit, arch: str, *, want_cubin: bool) -> Image:
    """One image. Raises `BuildError` and Triton's errors."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    from triton.compiler.errors import CompilationError

    bound = _bind(program, function, unit)
    constexprs = {name: _as_triton(value) for name, value in unit.constexpr}
    signature: dict[str, str] = {}
    constants: dict[tuple[int, ...], Any] = {}
    attributes: dict[tuple[int, ...], list[list[Any]]] = {}
    taken: list[str] = []
    for index, parameter in enumerate(function.params):
        name = parameter.name
        if name not in bound:
            if name in constexprs:
                constants[(index,)] = constexprs[name]
            elif parameter.has_default:
                constants[(index,)] = parameter.default
            else:
                raise BuildError(
                    f"{program.name or program.entry}: the constexpr `{name}` has no value; give it in the launch: "
                    f"constexpr = {{ {name} = … }}",
                    code=Reason.ARGUMENTS_DIFFER,
                )
            signature[name] = "constexpr"
            continue
        argument, kind = bound[name]
        if argument in unit.ones and not parameter.do_not_specialize:
            signature[name] = "constexpr"
            constants[(index,)] = 1
            continue
        signature[name] = kind
        taken.append(argument)
        aligned = not (parameter.do_not_specialize or parameter.do_not_specialize_on_alignment)
        if argument in unit.divisible and aligned:
            attributes[(index,)] = [["tt.divisibility", 16]]
    source = ASTSource(fn=function, signature=signature, constexprs=constants, attrs=attributes)
    target = GPUTarget("cuda", int(re.sub(r"\D", "", arch)), 32)
    options = {
        **_backend_options(want_cubin),
        "num_warps": unit.num_warps,
        "num_stages": unit.num_stages,
    }
    try:
        with nullcontext() if want_cubin else _no_assembler():
            compiled = triton.compile(source, target=target, options=options)
    except CompilationError as error:
        if unit.descriptors and isinstance(error.__cause__, CompilationError):
            error, function = error.__cause__, described_by(function)
        inside = getattr(error.node, "lineno", None)
        line = _line_of_def(function) + inside - 1 if inside else None
        cause = error.error_message or (str(error.__cause__) if error.__cause__ else "") or error.message
        raise _failure(program, line, cause) from error
    metadata = compiled.metadata
    if getattr(metadata, "profile_scratch_size", 0):
        raise BuildError(
            f"{program.name or program.entry} needs profile scratch memory, which is not supported",
            code=Reason.UNSUPPORTED_PROGRAM,
        )
    ptx = compiled.asm["ptx"]
    allowed.check_ptx(ptx)
    head = re.search(rf"\.entry {re.escape(metadata.name)}\s*\((.*?)\)", ptx, re.DOTALL)
    parameters = head[1].count(".param ") if head else len(taken)
    return Image(
        entry=metadata.name,
        ptx=ptx,
        cubin=compiled.asm["cubin"] if want_cubin else None,
        arch=arch,
        block_threads=32 * unit.num_warps,
        shared_bytes=metadata.shared,
        parameters=tuple(taken),
        extra_pointers=parameters - len(taken),
        scratch_bytes=getattr(metadata, "global_scratch_size", 0) * getattr(metadata, "num_ctas", 1),
    )


def _line_of_def(function: Any) -> int:
    """The line of `def`; Triton counts the lines of its messages from there."""
    decorators = next((i for i, text in enumerate(function.raw_src) if text.lstrip().startswith("def ")), 0)
    return int(function.starting_line_number) + decorators


def _backend_options(want_cubin: bool) -> dict[str, Any]:
    """Options of the backend for a GPU, or for the emulated device.

    All lanes of a warp store a reduction's result. Where a multiplication was fused into its first addition they differ
    in the last bit, which the emulated device rightly calls a race; the compiler made it and not the program.
    """
    return {} if want_cubin else {"enable_fp_fusion": False}


def compile_triton(
    program: Program, units: list[Unit], arch: str, folder: Path, *, want_cubin: bool = True
) -> list[Image]:
    """One image per unit. Raises `BuildError` when the code is at fault, `CompilerMissing` without Triton."""
    try:
        import triton  # noqa: F401
    except ImportError as error:
        raise CompilerMissing("Triton is not installed; pip install 'kernel-lineage[triton]'") from error
    module = _load_module(program, folder)
    images = []
    for unit in units:
        function = _jit_function(program, unit.entry or program.entry, module)
        try:
            if unit.descriptors:
                function, unit = with_descriptors(function, unit)
            images.append(_compile_unit(program, function, unit, arch, want_cubin=want_cubin))
        except BuildError:
            raise
        except Exception as error:
            own = folder / (program.module or f"{_MODULE}.py")
            raise _python_failure(program, error, own) from error
    return images
