"""Torch without data and without a GPU: meta tensors that say they are on `cuda:0`, every call of an operator noted.

A tensor's values do not exist, so a wrapper whose launches depend on them cannot be recorded and says so. Allocations
and fills with zero are replayed; views and sizes cost nothing; any other operator is a library call.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from kernel_gate.capture.recorder import CaptureError, Place, Recorder

_CUDA, _META = torch.device("cuda", 0), torch.device("meta")
_NEW = frozenset({"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"})
_ZEROS = frozenset({"zeros", "zeros_like", "new_zeros"})
_FILLED = frozenset({"full", "full_like", "new_full"})
_DTYPES = {
    torch.float64: "float64", torch.float32: "float32", torch.float16: "float16", torch.bfloat16: "bfloat16",
    torch.float8_e4m3fn: "float8_e4m3fn", torch.float8_e5m2: "float8_e5m2",
    torch.int64: "int64", torch.int32: "int32", torch.int16: "int16", torch.int8: "int8", torch.uint8: "uint8",
    torch.uint64: "uint64", torch.uint32: "uint32", torch.uint16: "uint16", torch.bool: "bool",
}  # fmt: skip
BY_NAME = {name: dtype for dtype, name in _DTYPES.items()}


def dtype_name(tensor: torch.Tensor) -> str:
    """The workload's name of a tensor's dtype. Raises `CaptureError`."""
    if tensor.dtype not in _DTYPES:
        raise CaptureError(f"tensors of {tensor.dtype} are not supported")
    return _DTYPES[tensor.dtype]


def place_of(tensor: torch.Tensor) -> Place:
    """Where a tensor lies."""
    itemsize = tensor.element_size()
    return Place(
        storage=int(tensor.untyped_storage()._cdata),  # noqa: SLF001 - torch has no public name for it
        offset=tensor.storage_offset() * itemsize,
        nbytes=tensor.numel() * itemsize,
        dense=tensor.is_contiguous(),
    )


class RecordingMode(TorchDispatchMode):  # type: ignore[misc]
    """Notes every operator that is called while it is active."""

    def __init__(self, recorder: Recorder, folder: Path) -> None:
        super().__init__()
        self._recorder, self._folder = recorder, str(folder.resolve())
        self._alive: list[torch.Tensor] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Run an operator on tensors without data, and note what it was."""
        given = dict(kwargs or {})
        name = str(func._schema.name).removeprefix("aten::")  # noqa: SLF001
        if "device" in given or name in {"empty", "empty_strided", *_ZEROS, *_FILLED}:
            given["device"] = _META
        if name == "_to_copy" and given.get("dtype") in (None, args[0].dtype) and len(given) <= 2:
            return args[0]
        with _inside():
            made = func(*args, **given)
        tensors = list(_tensors(made))
        self._alive += tensors
        if func.is_view or not tensors:
            return made
        self._note(name, args, given, tensors)
        return made

    def _note(
        self, name: str, args: tuple[Any, ...], given: Mapping[str, Any], made: list[torch.Tensor]
    ) -> None:
        at = self._line()
        for tensor in made:
            place = place_of(tensor)
            if not self._recorder.knows(place.storage):
                nbytes = tensor.untyped_storage().nbytes()
                self._recorder.allocated(place.storage, nbytes, dtype_name(tensor), tensor.element_size())
        value = given.get("fill_value", args[1] if len(args) > 1 else None)
        if name in _NEW:
            return
        if (
            name in _ZEROS
            or name == "zero_"
            or (name in {*_FILLED, "fill_"} and _last_number(args, value) == 0)
        ):
            self._recorder.zeroed(place_of(made[0]), name, at)
            return
        written = [place_of(tensor).storage for tensor in made]
        self._recorder.library_call(name.rstrip("_") if name != "_to_copy" else "to", at, written)

    def _line(self) -> str:
        """File and line of the program that the call comes from."""
        frame = sys._getframe(1)  # noqa: SLF001
        while frame is not None:
            file = frame.f_code.co_filename
            if file.startswith(self._folder):
                return f"{Path(file).name}:{frame.f_lineno}"
            frame = frame.f_back  # type: ignore[assignment]
        return "?"


def _last_number(args: tuple[Any, ...], value: Any) -> Any:
    """The value that a fill fills with: a keyword, or the last argument that is a number."""
    numbers = [a for a in args if isinstance(a, (int, float)) and not isinstance(a, bool)]
    return numbers[-1] if numbers else value


def _tensors(made: Any) -> Iterator[torch.Tensor]:
    if isinstance(made, torch.Tensor):
        yield made
    elif isinstance(made, (tuple, list)):
        for item in made:
            yield from _tensors(item)


_depth = 0


@contextmanager
def _inside() -> Iterator[None]:
    """Within torch's own code tensors say where they really are."""
    global _depth
    _depth += 1
    try:
        yield
    finally:
        _depth -= 1


def pretend_cuda(multiprocessors: int, capability: tuple[int, int]) -> None:
    """Change this process's torch for good: tensors are on `cuda:0`, a device like the one that will be launched on."""
    really = torch.Tensor.device.__get__
    tensor: Any = torch.Tensor
    tensor.device = property(lambda self: really(self) if _depth else _CUDA)
    tensor.is_cuda = property(lambda _self: True)
    tensor.cuda = lambda self, *_args, **_kwargs: self
    to = torch.Tensor.to

    def to_here(self: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        kept = [a for a in args if not isinstance(a, (torch.device, str))]
        rest = {k: v for k, v in kwargs.items() if k != "device"}
        return to(self, *kept, **rest) if kept or rest else self

    tensor.to = to_here
    properties = SimpleNamespace(
        name="cuda", major=capability[0], minor=capability[1], multi_processor_count=multiprocessors,
        total_memory=1 << 36, warp_size=32, max_threads_per_multi_processor=2048,
    )  # fmt: skip
    cuda: Any = torch.cuda
    answers: dict[str, Any] = {
        "_lazy_init": None, "init": None, "is_available": True, "is_initialized": True, "current_device": 0,
        "device_count": 1, "synchronize": None, "set_device": None, "get_device_capability": capability,
        "get_device_properties": properties, "get_device_name": "cuda",
        "current_stream": SimpleNamespace(cuda_stream=0, synchronize=lambda: None),
    }  # fmt: skip
    for name, answer in answers.items():
        setattr(cuda, name, lambda *_args, _answer=answer, **_kwargs: _answer)
    cuda.device = lambda *_args, **_kwargs: nullcontext()
    cuda.device_of = lambda *_args, **_kwargs: nullcontext()
