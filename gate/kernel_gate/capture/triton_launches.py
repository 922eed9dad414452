"""Triton's launcher replaced by a recorder: `kernel[grid](…)` compiles and is noted, nothing is launched."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
import triton.language as tl
from triton.runtime.autotuner import Autotuner
from triton.runtime.jit import JITFunction

from kernel_gate.build.triton_build import compile_unit
from kernel_gate.build.unit import Unit
from kernel_gate.capture.record import CaptureRequest, Number
from kernel_gate.capture.recorder import CaptureError, Place, Recorder
from kernel_gate.capture.torch_stand_in import dtype_name, place_of
from kernel_gate.devices.image import Image
from kernel_gate.dtypes import DTYPES
from kernel_gate.program import Program

_OPTIONS = frozenset({"num_warps", "num_stages", "num_ctas", "maxnreg", "enable_fp_fusion"})
_HARMLESS = frozenset({"debug", "warmup", "stream", "grf_mode", "launch_pdl", "launch_cooperative_grid"})
"""Options that do not change the image here: of other backends, or of the launch alone."""
_DIVISOR = 16
_BY_TRITON = {dtype.triton: name for name, dtype in DTYPES.items()}


class Launches:
    """Takes Triton's place for one program; the images are shared by all shapes."""

    def __init__(self, program: Program, arch: str, asked: CaptureRequest, aligned: frozenset[str]) -> None:
        self.images: list[Image] = []
        self.recorder: Recorder | None = None
        """The recorder of the call under way."""
        self._program, self._arch, self._configs = program, arch, asked.configs
        self._want_cubin = asked.want_cubin
        self._aligned = aligned
        """Arguments of the workload whose addresses are promised to be multiples of 16."""
        self._known: dict[tuple[int, str], int] = {}

    def take_over(self) -> None:
        """Change this process's Triton for good."""
        jit: Any = JITFunction
        tuner: Any = Autotuner
        jit.run = lambda function, *args, grid, **kwargs: self.run(function, grid, args, kwargs)
        tuner.run = lambda tuned, *args, **kwargs: self.tune(tuned, args, kwargs)

    def tune(self, tuned: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """An autotuned kernel: the configuration that was asked for, else the first one that the wrapper would try."""
        entry = tuned.base_fn.__name__
        tuned.nargs = dict(zip(tuned.arg_names, args, strict=False))
        if entry in self._configs:
            chosen, hook, how = dict(self._configs[entry]), None, "as asked"
        else:
            offered = tuned.prune_configs(kwargs) if len(tuned.configs) > 1 else tuned.configs
            chosen, hook = offered[0].all_kwargs(), offered[0].pre_hook
            how = f"the first of {len(offered)}"
        self._recorder().notes.append(f"{entry}: configuration {chosen}, {how}")
        if hook is not None:
            hook({**tuned.nargs, **kwargs, **chosen})
        return tuned.fn.run(*args, **kwargs, **chosen)

    def _recorder(self) -> Recorder:
        if self.recorder is None:
            raise CaptureError("a kernel is launched while the module is imported")
        return self.recorder

    def run(self, function: Any, grid: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """One launch."""
        entry = function.__name__
        bound, options = _bind(function, args, kwargs)
        constants: dict[str, Any] = {}
        arguments, divisible, ones, operands = [], [], [], {}
        for position, parameter in enumerate(function.params):
            value = bound[parameter.name]
            if isinstance(value, tl.constexpr):
                value = value.value
            if parameter.is_constexpr or value is None:
                constants[parameter.name] = value
                continue
            slot = f"argument {position}"
            kind, operand, is_divisible = self._operand(entry, parameter, value)
            arguments.append((slot, kind))
            operands[slot] = operand
            if value is not True and isinstance(value, int) and value == 1:
                ones.append(slot)
            elif is_divisible:
                divisible.append(slot)
        unit = Unit(
            constexpr=tuple(constants.items()),
            num_warps=int(options.pop("num_warps", 4)),
            num_stages=int(options.pop("num_stages", 3)),
            arguments=tuple(arguments),
            divisible=tuple(divisible),
            ones=tuple(ones),
            entry=entry,
            by_position=True,
        )
        self._recorder().launched(
            self._image(function, unit, options), entry, _grid(entry, grid, bound), operands
        )

    def _operand(self, entry: str, parameter: Any, value: Any) -> tuple[str, Place | Number, bool]:
        """Triton's type of an argument, what it is, and whether the launcher would find it divisible by 16."""
        if isinstance(value, torch.Tensor):
            place, name = place_of(value), dtype_name(value)
            recorder = self._recorder()
            if not recorder.knows(place.storage):
                raise CaptureError(
                    f"{entry}: `{parameter.name}` is a tensor that the recorder did not see made"
                )
            promised = recorder.is_aligned(place.storage) or recorder.name_of(place.storage) in self._aligned
            return f"*{DTYPES[name].triton}", place, promised and place.offset % _DIVISOR == 0
        kind = getattr(parameter, "annotation_type", None) or _kind_of(value)
        if kind is None or kind not in _BY_TRITON:
            raise CaptureError(
                f"{entry}: `{parameter.name}` is a {type(value).__name__}, which is not supported as an argument"
            )
        divisible = isinstance(value, int) and not isinstance(value, bool) and value % _DIVISOR == 0
        return kind, Number(value=value, dtype=_BY_TRITON[kind]), divisible

    def _image(self, function: Any, unit: Unit, options: dict[str, Any]) -> int:
        if int(options.get("num_ctas", 1) or 1) != 1:
            raise CaptureError(f"{unit.entry}: clusters of blocks (num_ctas) are not supported")
        key = (id(function), repr((unit, sorted(options.items(), key=str))))
        if key not in self._known:
            self.images.append(
                compile_unit(
                    self._program, function, unit, self._arch, want_cubin=self._want_cubin, extra=options
                )
            )
            self._known[key] = len(self.images) - 1
        return self._known[key]


def _bind(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Every parameter's value, and the options."""
    names = [p.name for p in function.params]
    if len(args) > len(names):
        raise TypeError(f"{function.__name__} takes {len(names)} arguments; {len(args)} are given")
    bound = dict(zip(names, args, strict=False))
    bound |= {name: value for name, value in kwargs.items() if name in names}
    for parameter in function.params:
        if parameter.name not in bound:
            if not parameter.has_default:
                raise TypeError(f"{function.__name__}: `{parameter.name}` is not given")
            bound[parameter.name] = parameter.default
    options = {name: value for name, value in kwargs.items() if name not in names}
    if unknown := set(options) - _OPTIONS - _HARMLESS:
        raise TypeError(f"{function.__name__} has no parameter or option {', '.join(sorted(unknown))}")
    return bound, {name: value for name, value in options.items() if name in _OPTIONS}


def _kind_of(value: Any) -> str | None:
    """Triton's type of a Python number, as its launcher finds it."""
    if isinstance(value, bool):
        return DTYPES["bool"].triton
    if isinstance(value, int):
        if -(1 << 31) <= value < 1 << 31:
            return "i32"
        return "i64" if -(1 << 63) <= value < 1 << 63 else "u64"
    return "fp32" if isinstance(value, float) else None


def _grid(
    entry: str, grid: Callable[[Mapping[str, Any]], Any] | Any, bound: Mapping[str, Any]
) -> tuple[int, int, int]:
    written = grid(dict(bound)) if callable(grid) else grid
    extents = [int(extent) for extent in (written if isinstance(written, (tuple, list)) else (written,))]
    if not 1 <= len(extents) <= 3:
        raise CaptureError(f"{entry}: a grid has one to three extents, not {len(extents)}")
    extents += [1] * (3 - len(extents))
    return extents[0], extents[1], extents[2]
