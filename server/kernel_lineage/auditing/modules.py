"""Classes of torch that a module derives from or makes: `torch.nn.Module` and its like, forwards alone."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any

from kernel_gate.dtypes import DTYPES
from kernel_lineage.auditing.tensors import DTypeName, Tensor, stored
from kernel_lineage.auditing.torch_values import Layer


class Generator:
    """`torch.Generator`: the run's seed decides what is drawn."""

    def __init__(self, *_args: Any, **_kwargs: Any) -> None:
        """It belongs to no device."""

    def manual_seed(self, _seed: int) -> Generator:
        """The generator."""
        return self


class Module:
    """`torch.nn.Module`."""

    def __init__(self, *_args: Any, **_kwargs: Any) -> None:
        """Without the hooks of torch's own."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.forward(*args, **kwargs)  # type: ignore[attr-defined]

    def register_buffer(self, name: str, value: Any, persistent: bool = True) -> None:  # noqa: ARG002
        """A tensor that is no parameter."""
        setattr(self, name, value)

    register_parameter = register_buffer

    def named_parameters(self, prefix: str = "") -> Iterator[tuple[str, Tensor]]:
        """All tensors, those of modules within it among them."""
        for name, value in vars(self).items():
            if isinstance(value, Tensor):
                yield f"{prefix}{name}", value
            elif isinstance(value, Layer):
                yield from (
                    (f"{prefix}{name}.{n}", t) for n, t in value.parameters.items() if isinstance(t, Tensor)
                )
            elif isinstance(value, Module):
                yield from value.named_parameters(f"{prefix}{name}.")

    def parameters(self) -> list[Tensor]:
        """The same without names."""
        return [tensor for _, tensor in self.named_parameters()]

    def state_dict(self) -> dict[str, Tensor]:
        """The same by names."""
        return dict(self.named_parameters())

    def _itself(self, *_args: Any, **_kwargs: Any) -> Module:
        """There is one device and no training."""
        return self

    eval = train = cuda = requires_grad_ = _itself

    def to(self, *wanted: Any, **named: Any) -> Module:
        """The module with its floats in another type, where one is named."""
        for dtype in (*wanted, *named.values()):
            for tensor in self.parameters() if isinstance(dtype, DTypeName) else ():
                if DTYPES[tensor.dtype].is_float:
                    tensor.values[...] = stored(tensor.values, dtype, exact=False)
                    tensor.dtype = dtype
        return self

    def half(self) -> Module:
        """In half precision."""
        return self.to(DTypeName("float16"))

    def bfloat16(self) -> Module:
        """In bfloat16."""
        return self.to(DTypeName("bfloat16"))


class Sequential(Module):
    """`torch.nn.Sequential`, and a list of modules."""

    def __init__(self, *modules: Any) -> None:
        listed = list(modules[0]) if len(modules) == 1 and isinstance(modules[0], list | tuple) else modules
        for number, module in enumerate(listed):
            setattr(self, str(number), module)

    def __iter__(self) -> Iterator[Any]:
        return iter(list(vars(self).values()))

    def __getitem__(self, at: int) -> Any:
        return list(vars(self).values())[at]

    def __len__(self) -> int:
        return len(vars(self))

    def forward(self, value: Any) -> Any:
        """One after the other."""
        for module in self:
            value = module(value)
        return value


class Function:
    """`torch.autograd.Function`, forwards alone."""

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """What forward gives."""
        context = types.SimpleNamespace(save_for_backward=lambda *_saved: None)
        return cls.forward(context, *args)  # type: ignore[attr-defined]
