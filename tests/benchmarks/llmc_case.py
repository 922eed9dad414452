"""What a case of the llm.c comparison is, and the inputs that cases share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Arrays = dict[str, Any]
Reference = Callable[[Arrays], Arrays]

N, C, V = 64, 256, 512
B, T, HEADS = 2, 32, 4


@dataclass(frozen=True)
class KernelCase:
    """One kernel, how to launch it, and what it should give."""

    file: str
    kernel: str
    arguments: Arrays
    """In order; arrays are buffers, NumPy scalars go as they are."""
    grid: tuple[int, ...]
    block: tuple[int, ...]
    reference: Reference
    """float64 arguments → expected outputs."""
    shared_bytes: int = 0
    low_precision: frozenset[str] = frozenset()
    """Arguments of the file's `floatX`: bf16 where the file says so, else float."""
    template_arguments: tuple[str, ...] = ()
    compared: np.ndarray | None = None
    """Mask over the last axes of every output: elsewhere the kernel may leave anything; None: all is compared."""
    zeroed: bool = False
    """Outputs start at zero, because the kernel adds to them."""

    @property
    def name(self) -> str:
        """The kernel, with its template arguments where they name a function."""
        chosen = ", ".join(a for a in self.template_arguments if a.startswith("matmul"))
        return f"{self.kernel}<{chosen}>" if chosen else self.kernel


def floats(*shape: int) -> np.ndarray:
    """Normal values, always the same for a shape."""
    seed = sum(s * 31**i for i, s in enumerate(shape))
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def hole(*shape: int) -> np.ndarray:
    """An output before the launch."""
    return np.full(shape, np.nan, np.float32)


def ints(high: int, *shape: int) -> np.ndarray:
    """Indices below `high`."""
    return np.random.default_rng(high).integers(0, high, shape, dtype=np.int32)


def int32(value: int) -> np.int32:
    """An `int` argument."""
    return np.int32(value)


def blocks(total: int, size: int) -> tuple[int]:
    """Enough blocks of `size` threads."""
    return (-(-total // size),)


def softmax(x: np.ndarray) -> np.ndarray:
    """Along the last axis."""
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def layernorm(a: Arrays) -> Arrays:
    """Rows of `inp`, with their mean and inverse deviation."""
    x = a["inp"]
    mean, rstd = x.mean(1), 1 / np.sqrt(x.var(1) + 1e-5)
    out = (x - mean[:, None]) * rstd[:, None] * a["weight"] + a["bias"]
    return {"out": out, "mean": mean, "rstd": rstd}
