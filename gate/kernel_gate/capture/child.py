"""The compiler child's part of a capture: call the wrapper on every shape, compile what it launches, tell it all."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from kernel_gate.build.errors import BuildError, CompilerMissing
from kernel_gate.build.triton_build import python_failure
from kernel_gate.capture.package import import_module, module_path, write_package
from kernel_gate.capture.record import CaptureCase, CaptureRequest, Record
from kernel_gate.capture.recorder import CaptureError, Recorder
from kernel_gate.devices.image import Image
from kernel_gate.program import Program
from kernel_gate.reasons import Reason


class Context:
    """What an autograd function's `forward` is given as `ctx`: keeps what it is told."""

    def save_for_backward(self, *_tensors: Any) -> None:
        """Nothing: no backward follows."""

    def mark_non_differentiable(self, *_tensors: Any) -> None:
        """Nothing."""

    def mark_dirty(self, *_tensors: Any) -> None:
        """Nothing."""

    def set_materialize_grads(self, _value: bool) -> None:
        """Nothing."""


def capture(
    program: Program, asked: CaptureRequest, arch: str, folder: Path
) -> tuple[list[Image], list[Record]]:
    """Images and one record per case. Raises `BuildError` and `CompilerMissing`."""
    try:
        import torch  # noqa: F401
        import triton  # noqa: F401
    except ImportError as error:
        raise CompilerMissing(
            f"a wrapper is recorded with torch and Triton, and {error.name} is not installed; pip install torch triton",
            code=Reason.TORCH_MISSING,
        ) from error
    from kernel_gate.capture.torch_stand_in import pretend_cuda
    from kernel_gate.capture.triton_launches import Launches

    pretend_cuda(asked.multiprocessors, asked.capability)
    aligned = {
        name
        for case in asked.cases
        for name, spec in case.tensors.items()
        if spec.align and spec.align % 16 == 0
    }
    launches = Launches(program, arch, asked, frozenset(aligned))
    launches.take_over()
    path = write_package(program, folder)
    try:
        module = import_module(program, folder)
    except Exception as error:
        raise python_failure(program, error, path) from error
    call = _fitting(program, module, asked.calls)
    return launches.images, [
        _record(program, module, call, asked, case, launches, folder) for case in asked.cases
    ]


def _fitting(program: Program, module: ModuleType, calls: Sequence[str]) -> Any:
    """The first call, compiled, whose function is there and takes its arguments."""
    label = program.name or program.entry
    said = []
    for text in calls:
        try:
            code = compile(text, "<the workload's call>", "eval")
        except SyntaxError as error:
            raise BuildError(f"the call `{text}` is not a Python expression: {error.msg}") from error
        node = ast.parse(text, mode="eval").body
        if not isinstance(node, ast.Call):
            raise BuildError(f"`{text}` is not a call of a function")
        name = ast.unparse(node.func)
        function: Any = module
        for part in name.split("."):
            function = getattr(function, part, None)
        if function is None:
            said.append(f"it has no `{name}`")
            continue
        try:
            keywords = {k.arg: None for k in node.keywords if k.arg}
            inspect.signature(function).bind(*node.args, **keywords)
        except (TypeError, ValueError) as error:
            if isinstance(error, TypeError):
                said.append(f"`{name}` does not take the arguments of `{text}` ({error})")
                continue
        return code
    raise BuildError(f"{label}: {'; '.join(said)}", code=Reason.UNKNOWN_KERNEL)


def _record(
    program: Program,
    module: ModuleType,
    call: Any,
    asked: CaptureRequest,
    case: CaptureCase,
    launches: Any,
    folder: Path,
) -> Record:
    import torch

    from kernel_gate.capture.torch_stand_in import BY_NAME, RecordingMode, dtype_name, place_of

    recorder = Recorder()
    launches.recorder = recorder
    names: dict[str, Any] = {**vars(module), **case.dims, **case.scalars, "ctx": Context(), "torch": torch}
    for name, spec in case.tensors.items():
        tensor = torch.empty(spec.shape, dtype=BY_NAME[spec.dtype], device="meta")
        recorder.argument(name, place_of(tensor), spec.dtype, tensor.element_size())
        names[name] = tensor
    returned = []
    try:
        with RecordingMode(recorder, folder):
            result = eval(call, names)
            given = result if isinstance(result, (tuple, list)) else (result,)
            for name, tensor in zip(asked.returns, given, strict=False):
                if name == "_":
                    continue
                if not isinstance(tensor, torch.Tensor):
                    raise CaptureError(f"{name} is returned as {type(tensor).__name__}, not as a tensor")
                want, got = case.outputs[name], (dtype_name(tensor), tuple(tensor.shape))
                if got != (want.dtype, want.shape):
                    raise CaptureError(
                        f"{name} is returned as {got[0]} {got[1]}; the workload says {want.dtype} {want.shape}"
                    )
                if recorder.returned(name, place_of(tensor), tensor.numel() * tensor.element_size()):
                    returned.append(name)
            if len(given) < len(asked.returns):
                raise CaptureError(
                    f"the call returns {len(given)} values; the workload names {len(asked.returns)}"
                )
    except CaptureError as error:
        return Record(dims=case.dims, error=str(error), unsupported=True)
    except BuildError:
        raise
    except Exception as error:  # noqa: BLE001 - any exception of foreign code is reported
        failure = python_failure(program, error, folder / module_path(program))
        return Record(dims=case.dims, error=str(failure), unsupported=_needs_data(error))
    finally:
        launches.recorder = None
    return recorder.finish(case.dims, returned, case.tensors)


def _needs_data(error: Exception) -> bool:
    """Whether torch was asked for the value of a tensor that has none."""
    return isinstance(error, (RuntimeError, NotImplementedError)) and "meta" in str(error).lower()
