"""What `import torch` and `import triton` give a module in its contained process: names that NumPy answers for.

Kernels and host functions of extensions are handed to whoever runs them. What is not known raises `NotEvaluableError`
when it is used; nothing is guessed.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import operator
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernel_gate.dtypes import DTYPES
from kernel_lineage.auditing.modules import Function, Generator, Module, Sequential
from kernel_lineage.auditing.operations import OPERATIONS
from kernel_lineage.auditing.queues import Capture, Event, Graph, Recorder, Stream
from kernel_lineage.auditing.tensors import DTypeName, NotEvaluableError, Tensor, dtype_of
from kernel_lineage.auditing.torch_values import Layer, Torch
from kernel_lineage.workloads.device_size import CHECKED

_OURS = ("torch", "triton")
_BINARY = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "pow": "pow", "matmul": "matmul",
    "floordiv": "floor_divide", "mod": "remainder", "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift",
    "and": "bitwise_and", "xor": "bitwise_xor", "or": "bitwise_or",
}  # fmt: skip
"""Python's operators by what the table of operations calls them."""
_UNARY = {"neg": "neg", "invert": "bitwise_not", "abs": "abs"}
_COMPARED = ("eq", "ne", "lt", "le", "gt", "ge")
_DRAWN = {"normal_": {"mean": 0.0, "std": 1.0}, "uniform_": {"a": 0.0, "b": 1.0}}
_NOTHING = frozenset(
    {"torch.manual_seed", "torch.cuda.manual_seed", "torch.cuda.manual_seed_all", "torch.cuda.synchronize",
     "torch.set_float32_matmul_precision", "torch.set_grad_enabled", "torch.cuda.empty_cache", "torch.cuda.set_device",
     "torch.cuda.set_stream", "torch.cuda.graph_pool_handle", "torch.use_deterministic_algorithms"}
)  # fmt: skip
"""Functions that change nothing here."""
_AROUND = frozenset(
    {
        "torch.no_grad",
        "torch.inference_mode",
        "torch.enable_grad",
        "torch.cuda.device",
        "torch.cuda.device_of",
        "torch.cuda.stream",
    }
)
"""What stands in `with` or above a function and changes nothing here."""
_ITSELF = frozenset(
    {"torch.compile", "torch.jit.script", "torch.nn.Parameter", "torch._dynamo.allow_in_graph"}
)
_ANSWERS = {"torch.cuda.is_available": True, "torch.cuda.current_device": 0, "torch.cuda.device_count": 1,
            "torch.cuda.get_device_capability": (9, 0), "torch.is_grad_enabled": False,
            "torch.are_deterministic_algorithms_enabled": False,
            "torch.cuda.get_device_properties": types.SimpleNamespace(
                name="NVIDIA H100", major=9, minor=0, warp_size=32, multi_processor_count=CHECKED)}  # fmt: skip

Run = Callable[[Mapping[str, Any]], Any]
"""Has a launch, or a call of a host function, run; what it gives."""


@dataclass(init=False)
class Name:
    """A name of torch, of Triton or of a package that is not there: `torch.nn.functional.relu`."""

    name: str
    world: World

    def __init__(self, name: str, world: World) -> None:
        vars(self).update(name=name, world=world)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.world.named(f"{self.name}.{name}")

    def __setattr__(self, name: str, value: Any) -> None:
        if not self.name.startswith("torch.backends"):
            raise NotEvaluableError(f"{self.name}.{name} is replaced")
        self.world.settings[f"{self.name}.{name}"] = value

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.world.called(self.name, args, kwargs)

    def __mro_entries__(self, _bases: object) -> tuple[type, ...]:
        raise NotEvaluableError(f"a class of {self.name}, which needs its package")


@dataclass(frozen=True)
class Device:
    """The one device."""

    type: str = "cuda"
    index: int = 0


@dataclass(frozen=True)
class JitKernel:
    """A Triton kernel, with what its first autotune configuration fixes."""

    name: str
    world: World
    fixed: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, grid: Any) -> Callable[..., None]:
        def launch(*args: Any, **kwargs: Any) -> None:
            meta = {**self.fixed, **kwargs}
            extents = grid(meta) if callable(grid) else grid
            extents = extents if isinstance(extents, tuple | list) else (extents,)
            self.world.launch({"launch": self.name, "grid": extents, "args": args, "kwargs": meta})

        return launch


@dataclass(frozen=True)
class Extension:
    """What `load_inline` gives: CUDA C++ whose host functions may be called."""

    source: str
    world: World

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)
        call = {"host": name, "source": self.source}
        return lambda *args: self.world.recorder.repeatable(lambda: self.world.run({**call, "args": args}))


class _Around:
    def __enter__(self) -> _Around:
        return self

    def __exit__(self, *_error: object) -> None:
        """Nothing is undone."""

    def __call__(self, function: Any) -> Any:
        return function


_CLASSES: Mapping[str, Any] = {
    "torch.Tensor": Tensor, "torch.nn.Module": Module, "torch.nn.modules.Module": Module, "torch.device": Device,
    "torch.Generator": Generator, "torch.cuda.Stream": Stream, "torch.cuda.Event": Event,
    "torch.cuda.CUDAGraph": Graph,
    "torch.nn.Sequential": Sequential, "torch.nn.ModuleList": Sequential, "torch.autograd.Function": Function,
}  # fmt: skip


@dataclass
class World:
    """The names of one process. `torch` makes its tensors, `run` has its kernels run."""

    torch: Torch
    run: Run
    recorder: Recorder = field(default_factory=Recorder)
    settings: dict[str, Any] = field(default_factory=dict)
    """What a module set of `torch.backends`: it changes nothing here."""

    def launch(self, request: Mapping[str, Any]) -> None:
        """Have a kernel run: now, or when the graph that is captured is replayed."""
        if self.recorder.steps is None:
            self.run(request)
        else:
            self.recorder.steps.append(lambda: self.run(request))

    def named(self, name: str) -> Any:
        """What a dotted name of a package that is not there stands for."""
        package, _, last = name.rpartition(".")
        if package == "torch" and dtype_of(last) is not None:
            return DTypeName(str(dtype_of(last)))
        if name in self.settings:
            return self.settings[name]
        return _CLASSES.get(name) or Name(name, self)

    def called(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """A call of such a name. Raises `NotEvaluableError` for what needs its package."""
        match name:
            case "torch.cuda.graph":
                return Capture(self.recorder, *args, **kwargs)
            case "torch.cuda.current_stream" | "torch.cuda.default_stream":
                return Stream()
            case "torch.cuda.is_current_stream_capturing":
                return self.recorder.steps is not None
        return self.recorder.repeatable(lambda: self._called(name, args, kwargs))

    def _called(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        last = name.rpartition(".")[2]
        if name.startswith("triton."):
            return self._triton(last, args, kwargs)
        if last == "load_inline":
            sources = kwargs.get("cuda_sources", args[2] if len(args) > 2 else "")
            return Extension("\n".join(sources) if isinstance(sources, list) else str(sources), self)
        if name in _NOTHING:
            return None
        if name in _AROUND:
            return args[0] if args and callable(args[0]) else _Around()
        if name in _ITSELF:
            return args[0] if args else lambda function: function
        if name in _ANSWERS:
            return _ANSWERS[name]
        if name.startswith("torch.nn.init.") and last in _DRAWN:
            return self._drawn(last, *args, **kwargs)
        if name.startswith("torch.nn.") and not name.startswith("torch.nn.functional") and last[:1].isupper():
            return self.torch.layer(last, args, kwargs)
        if name.startswith("torch.") and (made := self.torch.create(last, args, kwargs)) is not None:
            return made
        if name.startswith("torch.") and last in OPERATIONS and name.count(".") <= 3 and "cuda" not in name:
            return self.torch.operate(last, args, kwargs)
        raise NotEvaluableError(f"{name}, which needs {name.partition('.')[0]}")

    def _triton(self, last: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        match last:
            case "jit":
                return (
                    JitKernel(args[0].__name__, self) if args else lambda one: JitKernel(one.__name__, self)
                )
            case "autotune":
                fixed = (kwargs.get("configs") or args[0])[0]
                return lambda kernel: JitKernel(kernel.name, self, {**fixed, **kernel.fixed})
            case "Config":
                return {**args[0], **{k: v for k, v in kwargs.items() if k in ("num_warps", "num_stages")}}
            case "cdiv":
                return -(-args[0] // args[1])
            case "next_power_of_2":
                return 1 << max(0, int(args[0]) - 1).bit_length()
            case "constexpr":
                return args[0]
        raise NotEvaluableError(f"triton.{last}, which needs triton")

    def _drawn(self, kind: str, tensor: Tensor, *numbers: float, **named: float) -> Tensor:
        usual = _DRAWN[kind]
        first, second = ({**usual, **dict(zip(usual, numbers, strict=False)), **named}[n] for n in usual)
        normal = kind == "normal_"
        drawn = (self.torch.rng.standard_normal if normal else self.torch.rng.random)(tensor.shape)
        values = first + (second if normal else second - first) * drawn
        tensor.values[...] = self.torch.tensor(values, tensor.dtype).values
        tensor.changes[0] += 1
        return tensor


class _Imports(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Packages as names: those that stand in for torch and Triton, and others that are not installed."""

    def __init__(self, world: World, packages: Sequence[str] = ()) -> None:
        self._world, self._packages = world, packages

    def find_spec(
        self, name: str, _path: object, _target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        if self._packages and name.partition(".")[0] not in self._packages:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        world = self._world

        class Stand(types.ModuleType):
            def __getattr__(self, name: str) -> Any:
                if name.startswith("__"):
                    raise AttributeError(name)
                return world.named(f"{spec.name}.{name}")

        return Stand(spec.name)

    def exec_module(self, _module: types.ModuleType) -> None:
        """There is nothing to run."""


def install(world: World) -> None:
    """Give this process the names, and tensors their operators. Once in a process."""
    sys.meta_path.insert(0, _Imports(world, _OURS))
    sys.meta_path.append(_Imports(world))
    torch = world.torch

    again = world.recorder.repeatable

    def operates(name: str, turned: bool = False) -> Callable[[Tensor, Any], Any]:
        return lambda one, other: again(
            lambda: torch.operate(name, (other, one) if turned else (one, other), {})
        )

    def changes(name: str) -> Callable[[Tensor, Any], Tensor]:
        return lambda one, other: again(lambda: torch.in_place(one, name, (other,), {}))

    def compares(name: str) -> Callable[[Tensor, Any], Tensor]:
        compare = getattr(operator, name)
        return lambda one, other: again(
            lambda: torch.tensor(
                compare(one.values, other.values if isinstance(other, Tensor) else other), "bool"
            )
        )

    members: dict[str, Any] = {f"__{n}__": operates(name) for n, name in _BINARY.items()}
    members |= {f"__r{n}__": operates(name, turned=True) for n, name in _BINARY.items()}
    members |= {f"__i{n}__": changes(name) for n, name in _BINARY.items() if n != "matmul"}
    members |= {f"__{n}__": compares(n) for n in _COMPARED}
    members |= {
        f"__{n}__": lambda t, name=name: again(lambda: torch.operate(name, (t,), {}))
        for n, name in _UNARY.items()
    }
    members |= {
        "__hash__": object.__hash__,
        "__getitem__": lambda t, at: again(lambda: _item(t, _index(at))),
        "__setitem__": lambda t, at, value: again(lambda: _stored(t, at, value)),
        "__index__": lambda t: int(t.values),
        "__len__": lambda t: t.shape[0],
        "__bool__": lambda t: bool(t.values),
        "__int__": lambda t: int(t.values),
        "__float__": lambda t: float(t.values),
        "__getattr__": lambda t, name: _attribute(world, t, name),
    }
    for name, member in members.items():
        setattr(Tensor, name, member)
    setattr(Layer, "__call__", lambda layer, *args, **kwargs: layer.call(*args, **kwargs))  # noqa: B010
    setattr(Layer, "__getattr__", _of_layer)  # noqa: B010


def _index(at: Any) -> Any:
    if isinstance(at, tuple):
        return tuple(_index(a) for a in at)
    return at.values if isinstance(at, Tensor) else at


def _item(tensor: Tensor, at: Any) -> Tensor:
    part = np.asarray(tensor.values[at])
    return tensor.sharing(part) if np.shares_memory(part, tensor.values) else Tensor(part, tensor.dtype)


def _stored(tensor: Tensor, at: Any, value: Any) -> None:
    tensor.values[_index(at)] = value.values if isinstance(value, Tensor) else value
    tensor.changes[0] += 1


def _attribute(world: World, tensor: Tensor, name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    facts = {
        "ndim": tensor.values.ndim,
        "device": Device(),
        "is_cuda": True,
        "data": tensor,
        "requires_grad": False,
        "_version": tensor.changes[0],
        "itemsize": DTYPES[tensor.dtype].itemsize,
    }
    if name in facts:
        return facts[name]
    if name == "T":
        return world.torch.operate("t", (tensor,), {})
    if name == "mT":
        return world.torch.operate("transpose", (tensor, -2, -1), {})
    method = world.torch.method(tensor, name)
    return lambda *args, **kwargs: world.recorder.repeatable(lambda: method(*args, **kwargs))


def _of_layer(layer: Layer, name: str) -> Any:
    if name.startswith("__") or name not in layer.parameters:
        raise AttributeError(name)
    return layer.parameters[name]
