"""What the kernels should give, in float64."""

import numpy as np


def rmsnorm(x, weight, **_):
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-5) * weight


def softmax(x, **_):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def softmax_rows(x_ptr, **_):
    return softmax(x_ptr)
