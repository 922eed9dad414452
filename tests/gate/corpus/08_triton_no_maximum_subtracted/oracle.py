"""Softmax of rows in float64."""

import numpy as np


def softmax(x, **_):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)
