"""NumPy float64 oracles of the reductions among the assists' examples."""

from __future__ import annotations

from typing import Any

import numpy as np


def row_sums(x: Any) -> Any:
    return np.asarray(x, dtype=np.float64).sum(axis=-1)


def centred(x: Any) -> Any:
    x = np.asarray(x, dtype=np.float64)
    return x - x.mean(axis=-1, keepdims=True)


def dots(a: Any, b: Any) -> Any:
    return np.asarray(a, dtype=np.float64) @ np.asarray(b, dtype=np.float64)


def softmax(x_ptr: Any) -> Any:
    x = np.asarray(x_ptr, dtype=np.float64)
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def softmax_of_x(x: Any) -> Any:
    return softmax(x)


def of_exponentials(x: Any) -> Any:
    return softmax(x)


def unit(x: Any) -> Any:
    x = np.asarray(x, dtype=np.float64)
    return x / np.sqrt((x * x).sum(axis=-1, keepdims=True) + np.float32(0.001))


def shares(x: Any) -> Any:
    x = np.asarray(x, dtype=np.float64)
    return x / (x * x).sum(axis=-1, keepdims=True)


def column_sums(x: Any) -> Any:
    return np.asarray(x, dtype=np.float64).sum(axis=0)
