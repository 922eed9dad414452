"""Values of a module as lines of JSON have them. What a contained process sends may be anything: it is checked here."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

import numpy as np

from kernel_gate.dtypes import DTYPES
from kernel_lineage.auditing.tensors import DTypeName, NotEvaluableError, Tensor, span

_KINDS = "fiub"
"""Floats, whole numbers and booleans: NumPy's letters of the elements that are taken."""


def encoded(value: Any) -> Any:
    """A value for a message. Raises `NotEvaluableError` for what has no meaning in another process."""
    if isinstance(value, Tensor):
        held = base64.b64encode(value.memory().tobytes()).decode()
        shape, strides = list(value.shape), list(value.strides)
        kind = value.values.dtype.str
        return {"tensor": held, "kind": kind, "shape": shape, "strides": strides, "dtype": value.dtype}
    if isinstance(value, DTypeName):
        return {"type": str(value)}
    if isinstance(value, list | tuple):
        return [encoded(v) for v in value]
    if isinstance(value, Mapping):
        return {"named": {str(k): encoded(v) for k, v in value.items()}}
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise NotEvaluableError(f"a value of {type(value).__name__} where a tensor or a number is needed")


def decoded(message: Any) -> Any:
    """The value of a message. Raises `NotEvaluableError` for a message that is none."""
    if isinstance(message, list):
        return [decoded(m) for m in message]
    if message is None or isinstance(message, bool | int | float | str):
        return message
    try:
        if "named" in message:
            return {str(k): decoded(v) for k, v in message["named"].items()}
        if "type" in message:
            return DTypeName(str(message["type"]))
        kind = np.dtype(message["kind"])
        shape = tuple(int(extent) for extent in message["shape"])
        strides = tuple(int(stride) for stride in message["strides"])
        held = base64.b64decode(message["tensor"], validate=True)
        if kind.kind not in _KINDS or message["dtype"] not in DTYPES or min(shape, default=0) < 0:
            raise ValueError
        if len(held) != span(shape, strides) * kind.itemsize:
            raise ValueError
        memory = np.frombuffer(held, kind).copy()
        steps = [stride * kind.itemsize for stride in strides]
        return Tensor(np.lib.stride_tricks.as_strided(memory, shape, steps), message["dtype"])
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, binascii.Error) as error:
        raise NotEvaluableError("an answer that cannot be read") from error
